//! The service's HTTP endpoints. `/health`: the queue has responded to a pull recently. `/ready`: the tiler accepts
//! jobs, which a deployment waits for before it stops another tiler. `/metrics`: the service's metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use tokio::net::TcpListener;

use super::context::{PullState, ServiceContext};
use super::metrics;

/// Longest silence of the queue while the service counts as healthy: longer than a deployment of the queue.
const HEALTHY_SILENCE: Duration = Duration::from_secs(60);
/// Longest silence of the queue or the edge while the tiler counts as ready: two of the longest pauses between pulls
/// and between reports.
const READY_SILENCE: Duration = Duration::from_secs(90);

/// The body of `/health`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    version: &'static str,
    running: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_since_pull: Option<u64>,
}

impl Health {
    fn of(state: PullState, now: Instant, running: usize) -> Self {
        let (is_healthy, since) = match state {
            PullState::NeverPulled => (false, None),
            PullState::Pulled(at) => {
                let since = now.saturating_duration_since(at);
                (since <= HEALTHY_SILENCE, Some(since.as_secs()))
            }
            PullState::AtCapacity => (true, None),
        };
        let status = if is_healthy { "ok" } else { "the queue is out of reach" };
        Self { status, version: env!("CARGO_PKG_VERSION"), running, seconds_since_pull: since }
    }
}

/// Readiness to accept jobs. A tiler that is finishing its last jobs is healthy but not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    /// Queue and edge have accepted its tokens and responded recently.
    Ready,
    /// The queue or the edge has not responded yet.
    Starting,
    /// It is shutting down.
    Stopping,
    QueueOutOfReach,
    EdgeOutOfReach,
}

impl Readiness {
    /// `edge` is the time of the edge's last response.
    fn of(is_stopping: bool, queue: PullState, edge: Option<Instant>, now: Instant) -> Self {
        let is_silent = |since| now.saturating_duration_since(since) > READY_SILENCE;
        match (queue, edge) {
            _ if is_stopping => Self::Stopping,
            (PullState::NeverPulled, _) | (_, None) => Self::Starting,
            (PullState::Pulled(at), _) if is_silent(at) => Self::QueueOutOfReach,
            (_, Some(at)) if is_silent(at) => Self::EdgeOutOfReach,
            (PullState::Pulled(_) | PullState::AtCapacity, Some(_)) => Self::Ready,
        }
    }

    fn status(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::QueueOutOfReach => "the queue is out of reach",
            Self::EdgeOutOfReach => "the edge is out of reach",
        }
    }
}

/// Serves the endpoints until the future is dropped.
pub(super) async fn serve(listener: TcpListener, context: Arc<ServiceContext>) -> std::io::Result<()> {
    let router = Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(all_metrics))
        .with_state(context);
    axum::serve(listener, router).await
}

async fn health(State(context): State<Arc<ServiceContext>>) -> Response {
    let health = Health::of(context.pulls.get(), Instant::now(), context.running());
    json(health.status == "ok", &health)
}

async fn ready(State(context): State<Arc<ServiceContext>>) -> Response {
    let is_stopping = context.stopping.is_cancelled();
    let readiness =
        Readiness::of(is_stopping, context.pulls.get(), context.fleet.answered_at(), Instant::now());
    json(readiness == Readiness::Ready, &serde_json::json!({ "status": readiness.status() }))
}

fn json(is_well: bool, body: &impl Serialize) -> Response {
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(body) {
        Ok(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn all_metrics(State(context): State<Arc<ServiceContext>>) -> Response {
    match context.metrics.text(&context.load()) {
        Ok(text) => ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiler_is_healthy_if_the_queue_responded_recently_or_no_slot_is_free() {
        let now = Instant::now();
        let is_healthy =
            |state, after: u64| Health::of(state, now + Duration::from_secs(after), 0).status == "ok";
        assert!(!is_healthy(PullState::NeverPulled, 0));
        assert!(is_healthy(PullState::Pulled(now), 0));
        assert!(is_healthy(PullState::Pulled(now), 60));
        assert!(!is_healthy(PullState::Pulled(now), 61));
        assert!(is_healthy(PullState::AtCapacity, 10_000));
    }

    #[test]
    fn a_tiler_is_ready_if_queue_and_edge_respond_and_it_is_not_stopping() {
        use Readiness::*;
        let at = Instant::now();
        let now = at + Duration::from_secs(100);
        let recently = now - Duration::from_secs(50);
        for (is_stopping, queue, edge, expected) in [
            (false, PullState::NeverPulled, None, Starting),
            (false, PullState::NeverPulled, Some(recently), Starting),
            (false, PullState::Pulled(recently), None, Starting),
            (false, PullState::Pulled(recently), Some(recently), Ready),
            (false, PullState::AtCapacity, Some(recently), Ready),
            (false, PullState::Pulled(at), Some(recently), QueueOutOfReach),
            (false, PullState::Pulled(recently), Some(at), EdgeOutOfReach),
            (false, PullState::AtCapacity, Some(at), EdgeOutOfReach),
            (true, PullState::Pulled(recently), Some(recently), Stopping),
            (true, PullState::NeverPulled, None, Stopping),
        ] {
            assert_eq!(Readiness::of(is_stopping, queue, edge, now), expected, "{queue:?} {edge:?}");
        }
    }
}
