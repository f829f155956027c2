//! Tests the endpoints for the operator, and messages about missing settings.

use std::process::Command;

use axum::http::StatusCode;

use super::tiler::Tiler;
use super::world::{Call, Source};
use super::{ID, world};

#[tokio::test]
async fn health_shows_whether_the_queue_is_in_reach() {
    let world = world().await;
    world.state().queue = StatusCode::TOO_MANY_REQUESTS;
    let tiler = Tiler::start(&world, &[]);
    tiler.logged("cannot pull from the queue").await;
    let (status, body) = tiler.ask("/health").await;
    assert_eq!(status, 503, "{body}");
    assert!(!tiler.ask("/metrics").await.1.contains("edgezoom_pull_errors_total 0"));

    world.state().queue = StatusCode::OK;
    tiler.until("/health", |status, body| status == 200 && body.contains(r#""status":"ok""#)).await;
}

#[tokio::test]
async fn a_tiler_is_ready_from_the_first_responses_of_queue_and_edge_until_it_stops() {
    let world = world().await;
    world.state().queue = StatusCode::TOO_MANY_REQUESTS;
    world.state().sources.insert("silence".into(), Source::Silence);
    let tiler = Tiler::start(&world, &[("EDGEZOOM_DRAIN_SECONDS", "60")]);
    assert_eq!(tiler.ask("/ready").await, (503, r#"{"status":"starting"}"#.to_owned()));
    world.state().queue = StatusCode::OK;
    world.enqueue(ID, 1, "silence");
    tiler.until("/ready", |status, body| (status, body) == (200, r#"{"status":"ready"}"#)).await;
    world.until("its job", |state| state.position(|call| matches!(call, Call::Fetch(_))).is_some()).await;
    tiler.terminate();
    tiler.until("/ready", |status, body| (status, body) == (503, r#"{"status":"stopping"}"#)).await;
    assert_eq!(tiler.ask("/health").await.0, 200, "it is healthy while it finishes its jobs");
}

#[test]
fn a_missing_setting_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_tiler"))
        .arg("serve")
        .env_clear()
        .env("EDGEZOOM_EDGE_URL", "http://127.0.0.1:1")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "tiler: EDGEZOOM_TILER_TOKEN is not set\n");
}
