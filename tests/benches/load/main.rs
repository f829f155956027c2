//! The local service under load: a mix of asks for contents that are known, new and bogus, at rising rates. Asks come by
//! schedule, whatever became of those before them, and times count from the schedule: a service that stands still for a
//! second makes all asks of that second late, as it does for clients.
//!
//! `--soak 30m` keeps one rate instead and looks at the memory of every process each minute, with a runtime of the Worker that
//! collects its garbage: what grows is what is kept. `--burst FILE` measures what
//! `cargo xtask simulate --against-local` compares with its model.
//!
//! The generator is on the same machine and takes its share of it, which the first line says.

mod burst;
mod latencies;
mod memory;
mod mix;
mod options;
mod processor;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::{Options as SystemOptions, System};
use tokio::time::{sleep_until, timeout};

use latencies::Latencies;
use memory::Watch;
use mix::{Kind, Mix};
use options::Options;

/// How many messages may wait: asks for more new contents are shed. Small, so that it shows.
const BACKLOG_LIMIT: u64 = 100;
/// How long answers are waited for after the last ask.
const LAST_ANSWERS: Duration = Duration::from_secs(35);
/// Past this the service has had enough: higher rates are not tried.
const TOO_SLOW: Duration = Duration::from_secs(5);
/// The new contents that a soak begins with, all at once: more than are being made at any time later. For each the local runtime
/// keeps 200 KB until its object has been idle for ten seconds, and its allocator keeps what it ever had.
const AT_ONCE: usize = 80;
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    if let Some(file) = &options.burst {
        return burst::measure(file, options.release).await;
    }
    let system = System::start(SystemOptions {
        release: options.release,
        backlog_limit: BACKLOG_LIMIT,
        tilers: options.tilers,
        collects_all_garbage: options.soak.is_some(),
        ..SystemOptions::default()
    })?;
    let mix = Mix::prepare(&system).await?;
    println!("{}", machine()?);
    match options.soak {
        Some(time) => soak(&system, &mix, options.rate, time).await,
        None => rising(&mix, &options).await,
    }
}

/// Rising rates, a row each.
async fn rising(mix: &Mix, options: &Options) -> Result<()> {
    println!("| asks a second | answered | {} | shed | failed |", Kind::ALL.map(Kind::heading).join(" | "));
    println!("|---|---|{}---|---|", "---|".repeat(Kind::ALL.len()));
    for rate in &options.rates {
        let latencies = load(mix, *rate, options.time, 1).await?;
        println!("| {rate} | {}", latencies.row(options.time));
        if latencies.worst_p99() > TOO_SLOW {
            println!("\nmore than {} s at the 99th percentile: no higher rates", TOO_SLOW.as_secs());
            break;
        }
    }
    Ok(())
}

/// One rate for so long.
async fn load(mix: &Mix, rate: f64, time: Duration, seed: u32) -> Result<Latencies> {
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(seed.into());
    let mut latencies = Latencies::default();
    let (sender, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let mut due = begin;
    loop {
        // As independent clients come.
        due += Duration::from_secs_f64(-(1.0 - random.f64()).ln() / rate);
        if due >= begin + time {
            break;
        }
        sleep_until(due.into()).await;
        let (kind, ask) = mix.ask(&mut random);
        let sender = sender.clone();
        tokio::spawn(async move {
            let status = ask.await;
            let _ = sender.send((kind, due.elapsed(), status)); // an error: nothing waits for it any more
        });
        while let Ok(answer) = answers.try_recv() {
            latencies.add(answer);
        }
    }
    drop(sender);
    let last = async {
        while let Some(answer) = answers.recv().await {
            latencies.add(answer);
        }
    };
    ensure!(timeout(LAST_ANSWERS, last).await.is_ok(), "some asks are never answered");
    Ok(latencies)
}

/// One rate, with a look at each process's memory every minute.
async fn soak(system: &System, mix: &Mix, rate: f64, time: Duration) -> Result<()> {
    let mut watch = Watch::default();
    let begin = Instant::now();
    let mut minute = 0;
    let mut random = fastrand::Rng::with_seed(0);
    let first = (0..AT_ONCE).map(|_| mix.ask_of(Kind::New, &mut random));
    futures::future::join_all(first).await;
    println!("{} min at {rate} asks a second", time.as_secs() / 60);
    while begin.elapsed() < time {
        minute += 1;
        let latencies = load(mix, rate, MINUTE.min(time), minute).await?;
        watch.look(system.state().path(), minute)?;
        println!("minute {minute}: {}", latencies.line());
        println!("{}", watch.line());
    }
    println!("\n{}", watch.verdict());
    ensure!(watch.is_flat(), "memory grows");
    Ok(())
}

/// What else the machine did, in a line.
fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    Ok(format!("{cores} cores for service, tilers and generator; load {load} before the first ask"))
}
