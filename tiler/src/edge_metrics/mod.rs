//! `tiler edge-metrics`: exports the Worker's counters to Prometheus. The Worker has neither memory nor a port, so it
//! writes data points into a dataset of Cloudflare's Analytics Engine. The exporter queries the dataset by SQL
//! ([`dataset`]), adds up the data points ([`totals`]), and serves `/metrics`.
//!
//! A data point becomes available some time after it was written. So each period is queried after that time, and once.

mod dataset;
mod totals;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tracing::{info, warn};
use url::Url;

use crate::secret::Secret;
use crate::service::OPEN_METRICS;
use dataset::Dataset;
pub use dataset::QueryError;
pub(crate) use totals::Totals;

/// The settings of the exporter.
#[derive(Clone, Debug)]
pub struct EdgeMetricsSettings {
    /// URL of the SQL API.
    pub url: Url,
    /// Bearer token for it.
    pub token: Secret,
    /// Name of the dataset.
    pub dataset: String,
    /// Address for `/metrics`.
    pub listen: SocketAddr,
    /// Minimum age of data points.
    pub delay: Duration,
}

/// The reason why the exporter cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EdgeMetricsError {
    /// The address is in use, or not of this machine.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The dataset's name is invalid, or there is no HTTP client.
    #[error(transparent)]
    Dataset(#[from] QueryError),
    /// The listener failed.
    #[error("cannot accept requests: {0}")]
    Serve(#[source] std::io::Error),
}

/// The totals of all data points before `until`, in seconds since the Unix epoch.
struct Counted {
    totals: Totals,
    until: u64,
}

struct Exporter {
    dataset: Dataset,
    delay: Duration,
    counted: Mutex<Counted>,
}

/// Serves until an error occurs.
///
/// # Errors
/// The exporter cannot serve. While the dataset does not respond, requests get 503 instead.
pub async fn run(settings: EdgeMetricsSettings) -> Result<(), EdgeMetricsError> {
    let EdgeMetricsSettings { url, token, dataset, listen, delay } = settings;
    let listener =
        TcpListener::bind(listen).await.map_err(|reason| EdgeMetricsError::Listen(listen, reason))?;
    info!(listen = %listener.local_addr().unwrap_or(listen), "serving edge metrics");
    let counted = Counted { totals: Totals::new(), until: seconds_ago(delay) };
    let dataset = Dataset::new(url, token, dataset)?;
    let exporter = Arc::new(Exporter { dataset, delay, counted: Mutex::new(counted) });
    let router = Router::new().route("/metrics", get(metrics)).with_state(exporter);
    axum::serve(listener, router).await.map_err(EdgeMetricsError::Serve)
}

async fn metrics(State(exporter): State<Arc<Exporter>>) -> Response {
    match exporter.count().await {
        Ok(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => {
            warn!(%error, "cannot query the dataset");
            (StatusCode::SERVICE_UNAVAILABLE, "The dataset cannot be queried.\n").into_response()
        }
    }
}

impl Exporter {
    /// Adds the data points written since the last call, and returns all totals as text.
    async fn count(&self) -> Result<String, QueryError> {
        let mut counted = self.counted.lock().await;
        let until = seconds_ago(self.delay);
        if until > counted.until {
            let rows = self.dataset.between(counted.until, until).await?;
            counted.until = until;
            for row in rows {
                counted.totals.add(&row);
            }
        }
        Ok(counted.totals.text())
    }
}

/// Returns the time `delay` ago, in seconds since the Unix epoch.
fn seconds_ago(delay: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(delay).as_secs()
}
