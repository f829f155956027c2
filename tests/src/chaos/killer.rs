//! Kills and suspends processes of a running system.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use rustix::process::Signal;

use super::fault::Victim;
use super::proxy::FaultProxy;
use crate::processes;

/// Time to wait for a process of a kind: renderers live for less than a second.
const WAIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(4);

/// Waits for a process of a kind in the system with this state directory and kills it. Returns false if there was none,
/// or a content has its last chance.
///
/// # Errors
/// `/proc` cannot be read.
pub async fn kill(state: &Path, victim: Victim, proxy: &FaultProxy, random: &mut Rng) -> Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < WAIT && !proxy.is_a_last_chance() {
        let found = match victim {
            Victim::Tiler => processes::tilers(state)?,
            Victim::Renderer => each(&processes::tilers(state)?, processes::renderers)?,
            Victim::Browser => each(&processes::tilers(state)?, processes::browsers)?,
            Victim::Edge => processes::edge(state)?,
        };
        let chosen = match victim {
            Victim::Edge => found, // the runtime and wrangler, which depends on it
            _ => random.choice(found).into_iter().collect(),
        };
        let mut killed = 0;
        for process in chosen {
            killed += usize::from(processes::signal(process, Signal::KILL).is_ok()); // fails if it has ended
        }
        if killed > 0 {
            return Ok(true);
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(false)
}

/// Suspends a tiler for this time, or until a content has its last chance, which may be with this tiler. Returns false
/// if there was no tiler.
///
/// # Errors
/// `/proc` cannot be read.
pub async fn stop(state: &Path, time: Duration, proxy: &FaultProxy, random: &mut Rng) -> Result<bool> {
    let Some(tiler) = random.choice(processes::tilers(state)?) else { return Ok(false) };
    if processes::signal(tiler, Signal::STOP).is_err() {
        return Ok(false);
    }
    let begun = Instant::now();
    while begun.elapsed() < time && !proxy.is_a_last_chance() {
        tokio::time::sleep(LOOK).await;
    }
    let _ = processes::signal(tiler, Signal::CONT); // fails if it was killed
    Ok(true)
}

fn each(tilers: &[u32], of: impl Fn(u32) -> Result<Vec<u32>>) -> Result<Vec<u32>> {
    Ok(tilers.iter().map(|tiler| of(*tiler)).collect::<Result<Vec<_>>>()?.concat())
}
