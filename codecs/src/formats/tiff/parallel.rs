//! Decodes chunks with several threads. Threads live as long as a band: starting one takes less time than decoding one
//! row of tiles.

use std::sync::{Mutex, PoisonError};
use std::thread;

use super::error::NAME;
use crate::SourceError;

/// Chunks that could not be decoded: the first row of the band that is missing, and why.
pub type Failure = (u32, SourceError);

/// Does all work, a thread for each set of tools. Returns the topmost failure.
pub fn for_all<Tools: Send, Work: Send>(
    tools: &mut [Tools],
    works: Vec<Work>,
    decode: impl Fn(&mut Tools, Work) -> Result<(), Failure> + Sync,
) -> Option<Failure> {
    let threads = tools.len().min(works.len());
    let works = Mutex::new(works.into_iter());
    let work = &|tools: &mut Tools| {
        let mut topmost = None;
        loop {
            let next = works.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(work) = next else { return topmost };
            topmost = higher(topmost, decode(tools, work).err());
        }
    };
    let panicked = |_| Some((0, SourceError::corrupt(NAME, "a decoding thread stopped")));
    let (own, others) = tools.split_first_mut()?;
    thread::scope(|scope| {
        let others = others.iter_mut().take(threads.saturating_sub(1));
        let others: Vec<_> = others.map(|tools| scope.spawn(move || work(tools))).collect();
        let own = work(own);
        others.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).fold(own, higher)
    })
}

/// The one of two failures that is further up.
fn higher(one: Option<Failure>, other: Option<Failure>) -> Option<Failure> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.0 < one.0 { other } else { one }),
        (one, other) => one.or(other),
    }
}
