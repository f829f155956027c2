//! Tests the reports of the queue's length to the edge.

use std::time::Duration;

use edgezoom_content::protocol::{Backlog, Capacity};

use super::tiler::Tiler;
use super::world::{Call, Source, WorldState};
use super::{ID, world};

fn reported(state: &WorldState) -> Vec<u64> {
    let backlogs = state.log.iter().filter_map(|call| match call {
        Call::Backlog(Backlog { messages, capacity: Capacity { slots: 1, .. }, .. }) => Some(*messages),
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
    assert_eq!(reported(&world.state()).len(), 1, "at most one in ten seconds");
}

#[tokio::test]
async fn the_length_is_reported_again_while_nothing_can_be_pulled() {
    let world = world().await;
    world.state().backlog = 7;
    world.state().sources.insert("silence".to_owned(), Source::Silence);
    world.enqueue(ID, 1, "silence");
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "1")]);
    world.until("the backlog, twice", |state| reported(state).starts_with(&[7, 7])).await;
}

#[tokio::test]
async fn tilers_that_share_the_queue_share_the_api_calls() {
    let world = world().await;
    world.state().tilers = 60;
    let limit = [("EDGEZOOM_API_CALLS", "12000")];
    let tiler = Tiler::start(&world, &limit);
    tiler.until("/metrics", |_, metrics| metrics.contains("edgezoom_tilers 60")).await;
    // Its share is a call every 2 seconds. Alone, it pulls every 20 ms.
    let next = world.state().pulls.len() + 1; // the pull after the one that may be due
    world.until("three pulls", |state| state.pulls.len() > next + 2).await;
    let pulls = world.state().pulls.clone();
    let taken = pulls[next + 2] - pulls[next];
    assert!(taken > Duration::from_secs(2), "two more pulls came after {taken:?}");
}

/// Returns whether each report said that its tiler leaves.
fn goodbyes(state: &WorldState) -> Vec<bool> {
    let calls = state.log.iter();
    calls
        .filter_map(|call| if let Call::Backlog(backlog) = call { Some(backlog.leaving) } else { None })
        .collect()
}

#[tokio::test]
async fn a_tiler_without_work_says_goodbye_and_exits_if_it_is_told_to() {
    let world = world().await;
    world.enqueue(ID, 1, "nothing");
    let mut tiler = Tiler::start(&world, &[("EDGEZOOM_EXIT_WHEN_IDLE", "1")]);
    assert_eq!(tiler.ended().await.code(), Some(0));
    let state = world.state();
    assert!(state.log.iter().any(|call| matches!(call, Call::Report(..))), "its job came first");
    let said = goodbyes(&state);
    assert_eq!(said.iter().filter(|leaving| **leaving).count(), 1, "{said:?}");
    assert_eq!(said.last(), Some(&true));
}

#[tokio::test]
async fn a_tiler_that_shuts_down_says_goodbye_before_its_last_job_ends() {
    let world = world().await;
    world.state().sources.insert("silence".to_owned(), Source::Silence);
    world.enqueue(ID, 1, "silence");
    let tiler = Tiler::start(&world, &[("EDGEZOOM_DRAIN_SECONDS", "60")]);
    world.until("a claim", |state| state.log.iter().any(|call| matches!(call, Call::Claim(..)))).await;
    tiler.terminate();
    world.until("a goodbye", |state| goodbyes(state).contains(&true)).await;
}

#[tokio::test]
async fn a_tiler_that_is_to_check_its_machine_ends_if_something_is_missing() {
    let world = world().await;
    let missing = [("EDGEZOOM_DOCTOR", "pdf"), ("EDGEZOOM_PDFIUM", "/nowhere/libpdfium.so")];
    assert_eq!(Tiler::start(&world, &missing).ended().await.code(), Some(1));
    assert!(world.state().log.is_empty(), "it never pulled");
}
