//! CPU time: of a system, of the machine, and the work done when all cores are busy.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use edgezoom_tests::{picture, processes};

/// Clock ticks of Linux in a second.
const TICKS: f64 = 100.0;
/// Duration of a trial of the cores.
const TRIAL: Duration = Duration::from_millis(1500);

/// Returns the CPU seconds of all processes of the system with this state directory, including ended children.
pub fn of_system(state: &Path) -> Result<f64> {
    let mut ticks = 0.0;
    for id in processes::of(state)? {
        let Ok(text) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue }; // it has ended
        let fields = text.rsplit_once(") ").context("no name")?.1.split(' ').skip(11).take(4);
        ticks += fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
    }
    Ok(ticks / TICKS)
}

/// Returns the CPU seconds of the whole machine since boot.
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
    // user, nice, system, (idle, iowait,) irq, softirq, steal
    Ok((fields.iter().take(3).sum::<f64>() + fields.iter().skip(5).take(3).sum::<f64>()) / TICKS)
}

/// Returns the work done in a second of CPU time when all cores are busy, relative to one busy core: 1 for independent cores, less for
/// hardware threads or a shared cache.
pub fn together() -> Result<f64> {
    let cores = std::thread::available_parallelism()?.get();
    let at_once = |count: usize| -> Result<f64> {
        let threads: Vec<_> = (0..count).map(|_| std::thread::spawn(pace)).collect();
        let paces =
            threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?);
        Ok(paces.collect::<Result<Vec<_>>>()?.iter().sum::<f64>() / count as f64)
    };
    at_once(1)?; // warms up
    Ok(at_once(cores)? / at_once(1)?)
}

/// Returns the number of pictures that this thread encodes in a second of CPU time.
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

/// Returns the CPU seconds of this thread.
fn of_thread() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse().context("no time")?;
    Ok(nanoseconds / 1e9)
}
