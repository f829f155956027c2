//! Reports of the queue's length to the edge.

use edgezoom_content::protocol::{Backlog, Capacity};

use super::tiler::Tiler;
use super::world::{Call, Source, WorldState};
use super::{ID, world};

fn reported(state: &WorldState) -> Vec<u64> {
    let backlogs = state.log.iter().filter_map(|call| match call {
        Call::Backlog(Backlog { messages, capacity: Some(Capacity { slots: 1, .. }) }) => Some(*messages),
        _ => None,
    });
    backlogs.collect()
}

#[tokio::test]
async fn the_length_of_the_queue_is_reported_with_the_number_of_slots() {
    let world = world().await;
    world.state().backlog = 12_345;
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "1")]);
    world.until("the backlog", |state| reported(state).contains(&12_345)).await;
    assert_eq!(reported(&world.state()).len(), 1, "once in ten seconds");
}

#[tokio::test]
async fn the_length_is_reported_again_while_nothing_can_be_pulled() {
    let world = world().await;
    world.state().backlog = 7;
    world.state().sources.insert("silence".to_owned(), Source::Silence);
    world.enqueue(ID, 1, "silence");
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "1")]);
    world.until("the backlog, twice", |state| reported(state) == [7, 7]).await;
}
