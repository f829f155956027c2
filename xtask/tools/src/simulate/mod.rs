//! `cargo xtask simulate`: how long conversions take, how many tilers they need and what they cost, at loads that no machine
//! here can make. The rules are the real ones (`content::conversion`); queue, KV, network and tilers are models with
//! published latencies and limits ([`parameters`]). A seed makes each course the same again.
//!
//! | module | what it models |
//! |---|---|
//! | [`parameters`] | the numbers |
//! | [`world`] | the clock, clients, Durable Objects, KV |
//! | [`queue`] | the queue, and limits of calls |
//! | [`tilers`], [`jobs`] | pulls, downloads, cores, uploads, deaths |
//! | [`cost`] | what is used, and prices |
//! | [`local`] | the model beside what was measured on this machine |

mod cost;
mod jobs;
mod local;
mod parameters;
mod percentiles;
mod queue;
mod tilers;
mod world;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use cost::Cost;
use parameters::Parameters;
use percentiles::Percentiles;
use world::World;

/// The options of `cargo xtask simulate`.
#[derive(clap::Args)]
pub struct Options {
    /// Conversions a minute
    #[arg(long, value_delimiter = ',', default_value = "10,1000,100000")]
    loads: Vec<f64>,
    /// The tilers; without it, as few as are enough
    #[arg(long)]
    tilers: Option<usize>,
    /// The cores of a tiler's machine
    #[arg(long, default_value_t = 8.0)]
    cores: f64,
    /// The conversions that a tiler does at once
    #[arg(long, default_value_t = 32)]
    jobs: usize,
    /// What is enough: 95 of 100 contents wait for a tiler no longer than so many seconds
    #[arg(long, default_value_t = 5.0)]
    wait: f64,
    /// Pulls count among the account's API calls, of which it has 1,200 in five minutes
    #[arg(long)]
    api_limit: bool,
    /// As `cargo xtask bench service`: one picture at a time, with everything on one machine
    #[arg(long)]
    local: bool,
    /// Measure conversions on this machine, and compare the model with them
    #[arg(long)]
    against_local: bool,
    /// Compare with what was measured before
    #[arg(long)]
    measured: Option<PathBuf>,
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a load comes to.
#[derive(Debug)]
struct Outcome {
    tilers: usize,
    /// Of all cores.
    busy: f64,
    /// From the ask until a tiler has claimed it, in seconds, and until it is ready.
    wait: Percentiles,
    ready: Percentiles,
    longest_queue: usize,
    /// Asks that got 503.
    refused: usize,
    /// Calls that the queue or the API refused for their rate, for each conversion.
    calls_refused: f64,
    api_calls_per_second: f64,
    cost: Cost,
    /// What the calls of a million conversions cost, by part.
    million: Vec<(&'static str, f64)>,
}

/// The asks that a load is judged by: ten minutes of it, but enough to have percentiles of, and no more than can be waited for.
const ASKS: (f64, f64) = (2_000.0, 120_000.0);
/// The pause between two asks on one machine: the one before is over.
const LOCAL_LOAD: f64 = 6.0;

/// Simulates and prints.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.loads.iter().all(|load| *load > 0.0), "a load has to be more than 0");
    if let Some(file) = &options.measured {
        return local::compare(file);
    }
    ensure!(!options.against_local, "`cargo xtask simulate --against-local` measures first");
    if options.local {
        let outcome = simulate(&Parameters::on_one_machine(), 1, LOCAL_LOAD, options.seed)?;
        println!("ask to ready, median: {:.0} ms", outcome.ready.half * 1000.0);
        println!("until it is claimed: {:.0} ms", outcome.wait.half * 1000.0);
        return Ok(());
    }
    let mut parameters = Parameters::deployed();
    (parameters.tiler.cores, parameters.tiler.jobs) = (options.cores, options.jobs);
    parameters.platform.api_calls = options.api_limit.then_some(1_200.0);
    println!(
        "| a minute | tilers | cores busy | claimed after s (p50, p95, p99) | ready after s (p50, p95, p99) | queue | 503 | refused calls | API calls/s | calls $ a month | tilers $ | storing $ |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut parts = vec![];
    for load in &options.loads {
        let outcome = match options.tilers {
            Some(tilers) => simulate(&parameters, tilers, *load, options.seed)?,
            None => enough(&parameters, *load, options.wait, options.seed)?,
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

/// As few tilers as are enough: between those that the cores need and twice as many, halving the interval.
fn enough(parameters: &Parameters, load: f64, wait: f64, seed: u64) -> Result<Outcome> {
    let work: f64 = parameters.sources.iter().map(|source| source.share * source.mean_cpu()).sum();
    let least = (load / 60_000.0 * work / parameters.tiler.cores).ceil().max(1.0) as usize;
    let is_enough = |outcome: &Outcome| outcome.wait.most <= wait && outcome.refused == 0;
    let (mut low, mut high) = (least.saturating_sub(1), least);
    let mut found = simulate(parameters, high, load, seed)?;
    while !is_enough(&found) {
        ensure!(high < least * 64, "{load} conversions a minute are too many, whatever the number of tilers");
        low = high;
        high = (high * 3).div_ceil(2).max(high + 1);
        found = simulate(parameters, high, load, seed)?;
    }
    // A twentieth more or less is nothing.
    while high - low > 1 + low / 20 {
        let middle = low.midpoint(high);
        let tried = simulate(parameters, middle, load, seed)?;
        if is_enough(&tried) {
            (high, found) = (middle, tried);
        } else {
            low = middle;
        }
    }
    Ok(found)
}

fn simulate(parameters: &Parameters, tilers: usize, load: f64, seed: u64) -> Result<Outcome> {
    let asks = (load * 10.0).clamp(ASKS.0, ASKS.1);
    let world = World::run(parameters, tilers, load, asks as usize, seed)?;
    // The first half finds idle tilers: a load that lasts is judged by the second.
    let lasting = &world.contents[world.contents.len() / 2..];
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1000.0;
    let wait = lasting.iter().filter_map(|content| Some(seconds(content.asked, content.claimed?)));
    let ready = lasting.iter().filter(|content| content.ready);
    let ready = ready.filter_map(|content| Some(seconds(content.asked, content.over?)));
    let conversions = (world.contents.len() - world.refused).max(1) as f64;
    let asking = asks / load * 60_000.0;
    let cores = tilers as f64 * parameters.tiler.cores;
    let busy: f64 = world.tilers.iter().map(|tiler| tiler.busy).sum();
    Ok(Outcome {
        tilers,
        busy: busy / asking / cores,
        wait: Percentiles::of(wait),
        ready: Percentiles::of(ready),
        longest_queue: world.longest_queue,
        refused: world.refused,
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
            "| {load} | {} | {:.0} % | {} | {} | {} | {} | {:.2} | {:.1} | {platform:.0} | {tilers:.0} | {storing:.0} |",
            self.tilers,
            self.busy * 100.0,
            self.wait.text(),
            self.ready.text(),
            self.longest_queue,
            self.refused,
            self.calls_refused,
            self.api_calls_per_second,
        )
    }
}

#[cfg(test)]
mod tests;
