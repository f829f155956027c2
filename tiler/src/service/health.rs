//! Whether the service does what it is there for: whether the queue was heard of lately. Answered with the metrics to
//! whoever watches over the machine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use tokio::net::TcpListener;

use super::Workshop;
use super::metrics;

/// The pull loop's sign of life.
#[derive(Default)]
pub(super) struct Pulse(Mutex<Beat>);

/// What the pull loop did last.
#[derive(Clone, Copy, Debug, Default)]
enum Beat {
    /// It has not reached the queue yet.
    #[default]
    NeverPulled,
    /// It pulled, then.
    Pulled(Instant),
    /// It has its hands full, and asks for nothing until a job ends.
    Full,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    version: &'static str,
    running: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_since_pull: Option<u64>,
}

/// How long the queue may be out of reach before that is called unwell: longer than a deployment on the other side.
const PATIENCE: Duration = Duration::from_secs(60);

impl Pulse {
    pub(super) fn pulled(&self) {
        self.set(Beat::Pulled(Instant::now()));
    }

    pub(super) fn full(&self) {
        self.set(Beat::Full);
    }

    fn set(&self, beat: Beat) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = beat;
    }

    fn get(&self) -> Beat {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Health {
    fn of(beat: Beat, now: Instant, running: usize) -> Self {
        let (well, since) = match beat {
            Beat::NeverPulled => (false, None),
            Beat::Pulled(at) => {
                let since = now.saturating_duration_since(at);
                (since <= PATIENCE, Some(since.as_secs()))
            }
            Beat::Full => (true, None),
        };
        let status = if well { "ok" } else { "the queue is out of reach" };
        Self { status, version: env!("CARGO_PKG_VERSION"), running, seconds_since_pull: since }
    }
}

/// Answers `/health` and `/metrics` for good.
pub(super) async fn serve(listener: TcpListener, workshop: Arc<Workshop>) -> std::io::Result<()> {
    let router =
        Router::new().route("/health", get(health)).route("/metrics", get(figures)).with_state(workshop);
    axum::serve(listener, router).await
}

async fn health(State(workshop): State<Arc<Workshop>>) -> Response {
    let health = Health::of(workshop.pulse.get(), Instant::now(), workshop.running());
    let status = if health.status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&health) {
        Ok(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn figures(State(workshop): State<Arc<Workshop>>) -> Response {
    match workshop.metrics.text(workshop.running()) {
        Ok(text) => ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_to_have_heard_of_the_queue_lately_or_to_have_the_hands_full() {
        let now = Instant::now();
        let well = |beat, after: u64| Health::of(beat, now + Duration::from_secs(after), 0).status == "ok";
        assert!(!well(Beat::NeverPulled, 0));
        assert!(well(Beat::Pulled(now), 0));
        assert!(well(Beat::Pulled(now), 60));
        assert!(!well(Beat::Pulled(now), 61));
        assert!(well(Beat::Full, 10_000));
    }
}
