//! From the message to the claim: what is done once, what is done with, and what is for somebody else.

use axum::http::StatusCode;
use edgezoom_content::ContentId;
use serde_json::json;

use super::tiler::Tiler;
use super::world::{Answer, Asked, Known};
use super::{ID, finished, world};

#[tokio::test]
async fn a_job_that_is_refused_at_the_claim_is_done_with() {
    let world = world().await;
    let id: ContentId = ID.parse().unwrap();
    let answers = [StatusCode::CONFLICT, StatusCode::NOT_FOUND].map(Answer::Refuse).to_vec();
    world.known().claims.insert(id, answers);
    world.known().waiting.extend([json!({ "id": id }), json!({ "id": id })]);
    let tiler = Tiler::start(&world, &[]);
    world.until("two acknowledgements", |known| known.acks() == 2).await;
    assert!(world.known().position(|asked| matches!(asked, Asked::Fetched(_))).is_none());
    assert!(tiler.ask("/metrics").await.1.contains("edgezoom_claims_refused_total 2"));
}

#[tokio::test]
async fn a_message_that_comes_twice_is_converted_once_and_garbage_is_dropped() {
    let world = world().await;
    world.known().waiting.extend([json!("garbage"), json!({ "id": 7 })]);
    let id = world.enqueue(ID, 1, "picture");
    world.known().waiting.push_back(json!({ "id": id }));
    let tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "4")]);
    world.until("four acknowledgements", |known| known.acks() == 4).await;
    world.until("the end", Known::ended).await;
    {
        let known = world.known();
        assert_eq!(known.log.iter().filter(|asked| matches!(asked, Asked::Fetched(_))).count(), 1);
        assert!(finished(&known).is_some());
    }
    assert!(tiler.ask("/metrics").await.1.contains("edgezoom_foreign_messages_total 2"));
}

#[tokio::test]
async fn a_message_is_given_back_when_the_edge_does_not_answer_the_claim() {
    let world = world().await;
    let id: ContentId = ID.parse().unwrap();
    world.known().claims.insert(id, vec![Answer::Refuse(StatusCode::INTERNAL_SERVER_ERROR)]);
    world.known().waiting.push_back(json!({ "id": id }));
    let _tiler = Tiler::start(&world, &[]);
    world
        .until("a retry", |known| known.position(|asked| matches!(asked, Asked::Retried(_, 5))).is_some())
        .await;
    assert_eq!(world.known().acks(), 0);
}
