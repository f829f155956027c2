//! `cargo xtask simulate`: time to ready, number of tilers and cost at loads beyond a test machine. The rules of a
//! conversion are the real ones (`content::conversion`); queue, KV, network and tilers are models with published
//! latencies and limits. A seed determines the result.
//!
//! | module | models |
//! |---|---|
//! | [`parameters`] | the numbers |
//! | [`cost`] | usage and prices |
//! | [`world`] | the clock, clients, Durable Objects, KV, the queue and rate limits |
//! | [`tilers`] | pulls, downloads, cores, uploads |

mod cost;
mod parameters;
mod tilers;
mod world;

use anyhow::{Result, ensure};

use cost::Cost;
use parameters::{CORES, SOURCES};
use world::World;

/// The options of `cargo xtask simulate`.
#[derive(clap::Args)]
pub struct Options {
    /// Conversions a minute
    #[arg(long, value_delimiter = ',', default_value = "10,1000,100000")]
    loads: Vec<f64>,
    /// Number of tilers [default: as few as suffice]
    #[arg(long)]
    tilers: Option<usize>,
    /// Concurrent conversions of a tiler
    #[arg(long, default_value_t = 32)]
    jobs: usize,
    /// Count pulls as API calls, of which an account has 1,200 in five minutes
    #[arg(long)]
    api_limit: bool,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The result of a load.
#[derive(Debug)]
struct Outcome {
    tilers: usize,
    /// Share of all cores.
    busy: f64,
    /// Seconds from request to claim, and to ready.
    wait: Percentiles,
    ready: Percentiles,
    longest_queue: usize,
    /// API calls over the rate limit, for a conversion.
    calls_refused: f64,
    api_calls_per_second: f64,
    cost: Cost,
    /// Cost of the calls of a million conversions, by part.
    million: Vec<(&'static str, f64)>,
}

/// Minimum and maximum number of requests, otherwise those of ten minutes: enough for percentiles, few enough to wait
/// for.
const REQUESTS: (f64, f64) = (2_000.0, 120_000.0);
/// Tilers suffice if 95 of 100 contents wait at most this many seconds for one.
const WAIT: f64 = 5.0;

/// Simulates the loads and prints their results.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.loads.iter().all(|load| *load > 0.0), "--loads must be positive");
    println!(
        "| a minute | tilers | cores busy | claimed after s (p50, p95, p99) | ready after s (p50, p95, p99) | queue | refused calls | API calls/s | calls $ a month | tilers $ | storing $ |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut parts = vec![];
    for load in &options.loads {
        let outcome = match options.tilers {
            Some(tilers) => simulate(options, tilers, *load)?,
            None => sufficient(options, *load)?,
        };
        println!("{}", outcome.row(*load));
        parts = outcome.million;
    }
    println!("\n| a million conversions | calls $ |\n|---|---|");
    for (part, dollars) in parts {
        println!("| {part} | {dollars:.2} |");
    }
    Ok(())
}

/// Returns the outcome with the fewest tilers that suffice, to a twentieth, found by bisection.
fn sufficient(options: &Options, load: f64) -> Result<Outcome> {
    let work: f64 = SOURCES.iter().map(|source| source.share * source.mean_cpu()).sum();
    let least = (load / 60_000.0 * work / CORES).ceil().max(1.0) as usize;
    let suffices = |outcome: &Outcome| outcome.wait.p95 <= WAIT;
    let (mut low, mut high) = (least.saturating_sub(1), least);
    let mut found = simulate(options, high, load)?;
    while !suffices(&found) {
        ensure!(high < least * 64, "no number of tilers suffices for {load} conversions a minute");
        low = high;
        high = (high * 3).div_ceil(2).max(high + 1);
        found = simulate(options, high, load)?;
    }
    while high - low > 1 + low / 20 {
        let middle = low.midpoint(high);
        let tried = simulate(options, middle, load)?;
        if suffices(&tried) {
            (high, found) = (middle, tried);
        } else {
            low = middle;
        }
    }
    Ok(found)
}

fn simulate(options: &Options, tilers: usize, load: f64) -> Result<Outcome> {
    let requests = (load * 10.0).clamp(REQUESTS.0, REQUESTS.1);
    let mut world = World::new(load, requests as usize, options.api_limit, options.seed);
    let busy = tilers::run(&mut world, tilers, options.jobs)?;
    // The first half starts with idle tilers; the second is typical of a lasting load.
    let lasting = &world.contents[world.contents.len() / 2..];
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1000.0;
    let wait = lasting.iter().filter_map(|content| Some(seconds(content.requested, content.claimed?)));
    let ready = lasting.iter().filter(|content| content.ready);
    let ready = ready.filter_map(|content| Some(seconds(content.requested, content.ended?)));
    let conversions = world.contents.len().max(1) as f64;
    let duration_ms = requests / load * 60_000.0;
    let cores = tilers as f64 * CORES;
    Ok(Outcome {
        tilers,
        busy: busy / duration_ms / cores,
        wait: Percentiles::of(wait),
        ready: Percentiles::of(ready),
        longest_queue: world.longest_queue,
        calls_refused: world.calls_refused as f64 / conversions,
        api_calls_per_second: world.used.api_calls / world.now as f64 * 1000.0,
        cost: world.used.cost(conversions, load, cores),
        million: world.used.calls().map(|(part, dollars)| (part, dollars / conversions * 1e6)).to_vec(),
    })
}

impl Outcome {
    fn row(&self, load: f64) -> String {
        let Cost { platform, tilers, storing } = self.cost;
        format!(
            "| {load} | {} | {:.0} % | {} | {} | {} | {:.2} | {:.1} | {platform:.0} | {tilers:.0} | {storing:.0} |",
            self.tilers,
            self.busy * 100.0,
            self.wait.text(),
            self.ready.text(),
            self.longest_queue,
            self.calls_refused,
            self.api_calls_per_second,
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct Percentiles {
    p50: f64,
    p95: f64,
    p99: f64,
}

impl Percentiles {
    /// Computes the percentiles of unsorted values; NaN if there are none.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = values.len().saturating_sub(1);
            values.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
        };
        Self { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }

    fn text(&self) -> String {
        format!("{:.1}, {:.1}, {:.1}", self.p50, self.p95, self.p99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(seed: u64) -> Options {
        Options { loads: vec![], tilers: None, jobs: 32, api_limit: false, seed }
    }

    #[test]
    fn a_seed_determines_the_outcome() {
        let course = |seed| format!("{:?}", simulate(&options(seed), 2, 60.0).unwrap());
        assert_eq!(course(7), course(7));
        assert_ne!(course(7), course(8));
    }

    #[test]
    fn half_of_a_sufficient_number_of_tilers_is_insufficient() {
        let found = sufficient(&options(1), 2_000.0).unwrap();
        assert!(found.wait.p95 <= WAIT && found.busy < 1.0, "{found:?}");
        let half = simulate(&options(1), found.tilers / 2, 2_000.0).unwrap();
        assert!(half.wait.p95 > 30.0, "{half:?}");
    }

    #[test]
    fn refused_api_calls_are_counted() {
        let options = Options { jobs: 2, api_limit: true, ..options(1) };
        let outcome = simulate(&options, 40, 600.0).unwrap();
        assert!(outcome.calls_refused > 0.1, "{outcome:?}");
    }
}
