//! `tiler edge-metrics`: gives Prometheus what the Worker counts. The Worker writes data points into a dataset of Cloudflare's
//! Analytics Engine, as it has no memory of its own and no port; this asks the dataset by SQL, adds up, and answers `/metrics`.
//!
//! | file | what it does |
//! |---|---|
//! | [`dataset`] | asks for the data points of a stretch of time |
//! | [`totals`] | adds them up and writes them as Prometheus reads them |
//!
//! A data point can be asked for some time after it was written. So a stretch of time is asked for when it is as old as that,
//! and none twice.

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
use dataset::Dataset;
pub use dataset::QueryError;
pub(crate) use totals::{MEDIA_TYPE, Totals};

/// What the exporter needs to know.
#[derive(Clone, Debug)]
pub struct EdgeMetricsSettings {
    /// The address of the SQL API.
    pub url: Url,
    /// The bearer token for it.
    pub token: Secret,
    /// The name of the dataset.
    pub dataset: String,
    /// The address for `/metrics`.
    pub listen: SocketAddr,
    /// How old data points have to be.
    pub delay: Duration,
}

/// Why the exporter cannot start.
#[derive(Debug, thiserror::Error)]
pub enum EdgeMetricsError {
    /// The address is taken, or not this machine's.
    #[error("{0} cannot be listened at: {1}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The dataset's name is none.
    #[error(transparent)]
    Dataset(#[from] QueryError),
    /// The listener broke.
    #[error("no more requests can be taken: {0}")]
    Serve(#[source] std::io::Error),
}

/// What has been counted, and until when, in seconds since the Unix epoch.
struct Counted {
    totals: Totals,
    until: u64,
}

struct Exporter {
    dataset: Dataset,
    delay: Duration,
    counted: Mutex<Counted>,
}

/// Serves without end.
///
/// # Errors
/// Nothing can be served. While the dataset does not answer, requests get 503.
pub async fn run(settings: EdgeMetricsSettings) -> Result<(), EdgeMetricsError> {
    let EdgeMetricsSettings { url, token, dataset, listen, delay } = settings;
    let listener =
        TcpListener::bind(listen).await.map_err(|reason| EdgeMetricsError::Listen(listen, reason))?;
    info!(listen = %listener.local_addr().unwrap_or(listen), "edge metrics are served");
    let counted = Counted { totals: Totals::default(), until: seconds_ago(delay) };
    let dataset = Dataset::new(url, token, dataset)?;
    let exporter = Arc::new(Exporter { dataset, delay, counted: Mutex::new(counted) });
    let router = Router::new().route("/metrics", get(metrics)).with_state(exporter);
    axum::serve(listener, router).await.map_err(EdgeMetricsError::Serve)
}

async fn metrics(State(exporter): State<Arc<Exporter>>) -> Response {
    match exporter.count().await {
        Ok(text) => ([(CONTENT_TYPE, MEDIA_TYPE)], text).into_response(),
        Err(error) => {
            warn!(%error, "the dataset cannot be asked");
            (StatusCode::SERVICE_UNAVAILABLE, "The dataset cannot be asked.\n").into_response()
        }
    }
}

impl Exporter {
    /// Adds what was written since the last time.
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

/// The whole seconds since the Unix epoch, so long ago.
fn seconds_ago(delay: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(delay).as_secs()
}
