//! Processor time: what a system has used, what the machine has, and what its cores do when all of them work.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use edgezoom_tests::{picture, processes};

/// Of Linux, in a second.
const TICKS: f64 = 100.0;
/// How long cores are tried out.
const TRIAL: Duration = Duration::from_millis(1500);

/// The processor time of all processes of the system that keeps its state there, in seconds, with those that have ended.
pub fn of_system(state: &Path) -> Result<f64> {
    let mut ticks = 0.0;
    for id in processes::of(state)? {
        let Ok(text) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue }; // it has ended
        let fields = text.rsplit_once(") ").context("no name")?.1.split(' ').skip(11).take(4);
        ticks += fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
    }
    Ok(ticks / TICKS)
}

/// The processor time of the machine so far, in seconds, without what it was idle.
pub fn of_machine() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let fields: Vec<f64> = text
        .lines()
        .next()
        .context("no line")?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system; then idle and waiting; then interrupts, and what a host took for others.
    Ok((fields.iter().take(3).sum::<f64>() + fields.iter().skip(5).take(3).sum::<f64>()) / TICKS)
}

/// How much a second of processor time does when all cores work, as a share of what it does when one works: 1 where each
/// core is one of its own, less where two are threads of one or share its cache.
pub fn together() -> Result<f64> {
    let cores = std::thread::available_parallelism()?.get();
    let at_once = |count: usize| -> Result<f64> {
        let threads: Vec<_> = (0..count).map(|_| std::thread::spawn(pace)).collect();
        let paces = threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread died"))?);
        Ok(paces.collect::<Result<Vec<_>>>()?.iter().sum::<f64>() / count as f64)
    };
    at_once(1)?; // the clock rises, and code is read
    Ok(at_once(cores)? / at_once(1)?)
}

/// How many pictures this thread encodes in a second of processor time.
fn pace() -> Result<f64> {
    let picture = picture::photograph(512, 512, 1);
    let (begun, before) = (Instant::now(), of_thread()?);
    let mut encoded = 0.0;
    while begun.elapsed() < TRIAL {
        picture::jpeg(&picture)?;
        encoded += 1.0;
    }
    Ok(encoded / (of_thread()? - before))
}

/// The processor time of this thread, in seconds.
fn of_thread() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse().context("no time")?;
    Ok(nanoseconds / 1e9)
}
