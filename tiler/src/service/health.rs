//! `/health`: whether the queue has answered a pull lately. `/ready`: whether the tiler takes jobs, which a deployment waits
//! for before it stops another one. `/metrics`: the service's metrics.

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

use super::context::ServiceContext;
use super::metrics;
use super::pull_monitor::PullState;
use super::readiness::Readiness;

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    version: &'static str,
    running: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_since_pull: Option<u64>,
}

/// How long the queue may be out of reach while the service counts as healthy: longer than a deployment of the queue.
const MAX_SILENCE: Duration = Duration::from_secs(60);

impl Health {
    fn of(state: PullState, now: Instant, running: usize) -> Self {
        let (is_healthy, since) = match state {
            PullState::NeverPulled => (false, None),
            PullState::Pulled(at) => {
                let since = now.saturating_duration_since(at);
                (since <= MAX_SILENCE, Some(since.as_secs()))
            }
            PullState::AtCapacity => (true, None),
        };
        let status = if is_healthy { "ok" } else { "the queue is out of reach" };
        Self { status, version: env!("CARGO_PKG_VERSION"), running, seconds_since_pull: since }
    }
}

/// Answers `/health`, `/ready` and `/metrics`, without end.
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
    json(readiness == Readiness::Ready, &serde_json::json!({ "status": readiness.words() }))
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
    fn healthy_is_a_recent_answer_of_the_queue_or_no_free_slot() {
        let now = Instant::now();
        let is_healthy =
            |state, after: u64| Health::of(state, now + Duration::from_secs(after), 0).status == "ok";
        assert!(!is_healthy(PullState::NeverPulled, 0));
        assert!(is_healthy(PullState::Pulled(now), 0));
        assert!(is_healthy(PullState::Pulled(now), 60));
        assert!(!is_healthy(PullState::Pulled(now), 61));
        assert!(is_healthy(PullState::AtCapacity, 10_000));
    }
}
