//! What the edge is told of the queue.

use edgezoom_content::protocol::Backlog;

use super::tiler::Tiler;
use super::world::{Asked, Known, Source};
use super::{ID, world};

fn told(known: &Known) -> Vec<u64> {
    let backlogs = known.log.iter().filter_map(|asked| match asked {
        Asked::Backlog(Backlog { messages }) => Some(*messages),
        _ => None,
    });
    backlogs.collect()
}

#[tokio::test]
async fn the_edge_is_told_how_much_waits() {
    let world = world().await;
    world.known().backlog = 12_345;
    let _tiler = Tiler::start(&world, &[]);
    world.until("the backlog", |known| told(known).contains(&12_345)).await;
    assert_eq!(told(&world.known()).len(), 1, "once in ten seconds");
}

#[tokio::test]
async fn it_is_told_on_while_nothing_can_be_pulled() {
    let world = world().await;
    world.known().backlog = 7;
    world.known().sources.insert("silence".to_owned(), Source::Silence);
    world.enqueue(ID, 1, "silence");
    let _tiler = Tiler::start(&world, &[("EDGEZOOM_JOBS", "1")]);
    world.until("the backlog, twice", |known| told(known) == [7, 7]).await;
}
