//! Tests claims: which messages are converted, acknowledged or given back.

use axum::http::StatusCode;
use edgezoom_content::ContentId;
use serde_json::json;

use super::tiler::Tiler;
use super::world::{Call, ClaimAnswer, WorldState};
use super::{ID, finished, world};

#[tokio::test]
async fn a_message_whose_claim_is_refused_is_acknowledged() {
    let world = world().await;
    let id: ContentId = ID.parse().unwrap();
    let answers = [StatusCode::CONFLICT, StatusCode::NOT_FOUND].map(ClaimAnswer::Refuse).to_vec();
    world.state().claims.insert(id, answers);
    world.state().waiting.extend([json!({ "id": id }), json!({ "id": id })]);
    let tiler = Tiler::start(&world, &[]);
    world.until("two acknowledgements", |state| state.acks() == 2).await;
    assert!(world.state().position(|call| matches!(call, Call::Fetch(_))).is_none());
    assert!(tiler.ask("/metrics").await.1.contains("edgezoom_claims_refused_total 2"));
}

#[tokio::test]
async fn a_message_delivered_twice_is_converted_once_and_garbage_is_dropped() {
    let world = world().await;
    world.state().waiting.extend([json!("garbage"), json!({ "id": 7 })]);
    let id = world.enqueue(ID, 1, "picture");
    world.state().waiting.push_back(json!({ "id": id }));
    let tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "4")]);
    world.until("four acknowledgements", |state| state.acks() == 4).await;
    world.until("the end", WorldState::ended).await;
    {
        let state = world.state();
        assert_eq!(state.log.iter().filter(|call| matches!(call, Call::Fetch(_))).count(), 1);
        assert!(finished(&state).is_some());
    }
    assert!(tiler.ask("/metrics").await.1.contains("edgezoom_foreign_messages_total 2"));
}

#[tokio::test]
async fn a_message_is_given_back_if_the_edge_does_not_respond_to_the_claim() {
    let world = world().await;
    let id: ContentId = ID.parse().unwrap();
    world.state().claims.insert(id, vec![ClaimAnswer::Refuse(StatusCode::INTERNAL_SERVER_ERROR)]);
    world.state().waiting.push_back(json!({ "id": id }));
    let _tiler = Tiler::start(&world, &[]);
    world.until("a retry", |state| state.position(|call| matches!(call, Call::Retry(_, 5))).is_some()).await;
    assert_eq!(world.state().acks(), 0);
}
