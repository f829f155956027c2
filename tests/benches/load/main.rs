//! The local service under load: requests for known, new and invalid contents at rising rates. Requests follow a
//! schedule, whatever happened to earlier ones, and latencies count from the scheduled time: if the service stalls for
//! a second, all requests of that second are late, as they are for clients.
//!
//! `--soak 30m` keeps one rate and samples every process's memory each minute, with a Workers runtime that collects its
//! garbage, so that growth means a leak.
//!
//! The generator runs on the same machine, as the first line of output says.

mod memory;
mod requests;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use edgezoom_tests::{Options as SystemOptions, System};
use tokio::time::{sleep_until, timeout};

use memory::Watch;
use requests::{Kind, Latencies, Mix};

/// Number of queued messages above which new contents get 503. Small, so that shedding shows.
const BACKLOG_LIMIT: u64 = 100;
/// Time to wait for responses after the last request.
const LAST_ANSWERS: Duration = Duration::from_secs(35);
/// 99th percentile above which no higher rate is tried.
const TOO_SLOW: Duration = Duration::from_secs(5);
/// Number of new contents at the start of a soak, all at once: more than run at any later time. The local runtime needs
/// 200 KB for each until its object has been idle for ten seconds, and its allocator returns no memory.
const AT_ONCE: usize = 80;
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
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

/// Measures rising rates and prints a row for each.
async fn rising(mix: &Mix, options: &Options) -> Result<()> {
    println!(
        "| requests a second | answered | {} | shed | failed |",
        Kind::ALL.map(Kind::heading).join(" | ")
    );
    println!("|---|---|{}---|---|", "---|".repeat(Kind::ALL.len()));
    for rate in &options.rates {
        let latencies = load(mix, *rate, options.time, 1).await?;
        println!("| {rate} | {}", latencies.row(options.time));
        if latencies.worst_p99() > TOO_SLOW {
            println!("\nabove {} s at the 99th percentile; trying no higher rate", TOO_SLOW.as_secs());
            break;
        }
    }
    Ok(())
}

/// Makes requests at one rate.
async fn load(mix: &Mix, rate: f64, time: Duration, seed: u32) -> Result<Latencies> {
    let begin = Instant::now();
    let mut random = fastrand::Rng::with_seed(seed.into());
    let mut latencies = Latencies::default();
    let (sender, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let mut due = begin;
    loop {
        // A Poisson process, as of independent clients.
        due += Duration::from_secs_f64(-(1.0 - random.f64()).ln() / rate);
        if due >= begin + time {
            break;
        }
        sleep_until(due.into()).await;
        let (kind, request) = mix.next(&mut random);
        let sender = sender.clone();
        tokio::spawn(async move {
            let status = request.await;
            let _ = sender.send((kind, due.elapsed(), status)); // fails after the time limit
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
    ensure!(timeout(LAST_ANSWERS, last).await.is_ok(), "some requests are never answered");
    Ok(latencies)
}

/// Makes requests at one rate and samples the processes' memory every minute.
async fn soak(system: &System, mix: &Mix, rate: f64, time: Duration) -> Result<()> {
    let mut watch = Watch::default();
    let begin = Instant::now();
    let mut minute = 0;
    let mut random = fastrand::Rng::with_seed(0);
    let first = (0..AT_ONCE).map(|_| mix.request(Kind::New, &mut random));
    futures::future::join_all(first).await;
    println!("{} min at {rate} requests a second", time.as_secs() / 60);
    while begin.elapsed() < time {
        minute += 1;
        let latencies = load(mix, rate, MINUTE.min(time), minute).await?;
        watch.sample(system.state().path(), minute)?;
        println!("minute {minute}: {}", latencies.line());
        println!("{}", watch.line());
    }
    println!("\n{}", watch.verdict());
    ensure!(watch.is_flat(), "memory grows");
    Ok(())
}

/// Describes the machine in one line.
fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    Ok(format!("{cores} cores for service, tilers and generator; load {load} before the first request"))
}

struct Options {
    /// Requests a second, one rate after the other.
    rates: Vec<f64>,
    /// Duration of each rate.
    time: Duration,
    soak: Option<Duration>,
    /// Requests a second of the soak.
    rate: f64,
    tilers: usize,
    /// True to run tilers in release profile.
    release: bool,
}

const HELP: &str = "--rates 25,50,100  --seconds 20  --tilers 1  |  --soak 30m  --rate 20  |  --dev";

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            rates: vec![25.0, 50.0, 100.0, 200.0, 400.0, 800.0],
            time: Duration::from_secs(20),
            soak: None,
            rate: 20.0,
            tilers: 1,
            release: true,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value\n{HELP}"));
            match word.as_str() {
                "--bench" => {} // Cargo's
                "--dev" => options.release = false,
                "--rates" => {
                    options.rates = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--seconds" => options.time = Duration::from_secs(value()?.parse()?),
                "--soak" => {
                    let minutes = value()?.trim_end_matches('m').parse::<u64>()?;
                    options.soak = Some(Duration::from_secs(60 * minutes));
                }
                "--rate" => options.rate = value()?.parse()?,
                "--tilers" => options.tilers = value()?.parse()?,
                _ => bail!("unknown option {word}\n{HELP}"),
            }
        }
        Ok(options)
    }
}
