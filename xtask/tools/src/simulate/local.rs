//! `cargo xtask simulate --against-local`: the model beside this machine. It gets its numbers from conversions one at a time
//! (`tests/benches/load/burst.rs`), and has to foretell what a burst of them does, when they share slots and cores.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::parameters::{Parameters, Platform, Source, Spread, Tiler};
use super::percentiles::Percentiles;
use super::world::World;

/// How far the model may be off.
const TOLERANCE: f64 = 0.2;
/// Courses that are put together: when a tiler's pulls come is chance.
const COURSES: u64 = 40;

/// What was measured. Times of the platform in milliseconds, those of contents in seconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measured {
    cores: f64,
    jobs: usize,
    poll_ms: u64,
    megapixels: f64,
    api_call_ms: f64,
    edge_call_ms: f64,
    /// The processor time of a conversion, in the tiler and in all else.
    cpu_ms: f64,
    /// The cores that the service keeps busy when it has nothing to do.
    idle: f64,
    alone: Course,
    burst: Course,
}

/// Some conversions.
#[derive(Debug, Deserialize)]
struct Course {
    /// From the ask until each was claimed, and until it was ready.
    claimed: Vec<f64>,
    ready: Vec<f64>,
    /// The cores that other programs kept busy meanwhile.
    elsewhere: f64,
}

/// A figure that was measured and foretold.
#[derive(Debug)]
pub(super) struct Compared {
    what: String,
    measured: f64,
    simulated: f64,
}

/// Compares and prints.
pub(super) fn compare(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let measured: Measured = serde_json::from_str(&text).context("not what the benchmark writes")?;
    let rows = rows(&measured)?;
    println!("{}", measured.summary());
    println!("| | measured | simulated | ratio |\n|---|---|---|---|");
    for row in &rows {
        println!("| {} | {:.2} | {:.2} | {:.2} |", row.what, row.measured, row.simulated, row.ratio());
    }
    ensure!(rows.iter().all(Compared::is_near), "the model is off by more than {:.0} %", TOLERANCE * 100.0);
    Ok(())
}

impl Measured {
    /// The model of this machine, as conversions one at a time show it, while others keep so many cores busy.
    fn parameters(&self, elsewhere: f64) -> Parameters {
        let exactly = |median: f64| Spread { median: median.max(0.0), sigma: 0.0 };
        let deployed = Parameters::deployed();
        let claimed = Percentiles::of(self.alone.claimed.iter().copied()).half * 1000.0;
        let ready = Percentiles::of(self.alone.ready.iter().copied()).half * 1000.0;
        // On average a message waits for half a round of pulls.
        let send = claimed - (self.poll_ms as f64 + self.api_call_ms) / 2.0 - self.edge_call_ms;
        // On one machine to wait for the source's host, the store and the edge is to wait for a processor: all of the time
        // counts as computing.
        let working = ready - claimed - self.edge_call_ms;
        let platform = Platform {
            send: exactly(send),
            api_call: exactly(self.api_call_ms),
            edge_call: exactly(self.edge_call_ms),
            kv_write: exactly(self.edge_call_ms),
            lost_per_million: 0.0,
            kv_failures_per_million: 0.0,
            ..deployed.platform
        };
        let cores = (self.cores - self.idle - elsewhere).max(self.cores / 10.0);
        let tiler = Tiler {
            cores,
            jobs: self.jobs,
            threads: self.cpu_ms / working.max(1.0),
            poll_ms: self.poll_ms,
            life: None,
            ..deployed.tiler
        };
        let source = Source {
            share: 1.0,
            fetch: exactly(0.0),
            size: exactly(self.megapixels),
            cpu: self.cpu_ms,
            cpu_per_megapixel: 0.0,
            upload: exactly(0.0),
            bad: 0.0,
            busy: 0.0,
        };
        Parameters { platform, tiler, sources: vec![source], rules: deployed.rules }
    }

    fn summary(&self) -> String {
        let Tiler { cores, threads, .. } = self.parameters(self.burst.elsewhere).tiler;
        format!(
            "{} conversions of {:.0} megapixels at once, {} slots; each takes {:.0} ms of processor time, {threads:.1} \
             cores when alone, of {cores:.1} (others kept {:.1} busy)\n",
            self.burst.ready.len(),
            self.megapixels,
            self.jobs,
            self.cpu_ms,
            self.burst.elsewhere,
        )
    }
}

/// The figures, measured and foretold.
pub(super) fn rows(measured: &Measured) -> Result<Vec<Compared>> {
    let mut rows = vec![];
    let alone = simulated(&measured.parameters(measured.alone.elsewhere), 1)?;
    let burst = simulated(&measured.parameters(measured.burst.elsewhere), measured.burst.ready.len())?;
    let of = |course: &Course| Percentiles::of(course.ready.iter().copied());
    let mut row = |what: &str, measured, simulated| {
        rows.push(Compared { what: what.to_owned(), measured, simulated });
    };
    row("one at a time: ask to ready, s, p50", of(&measured.alone).half, alone.ready.half);
    row("at once: ask to ready, s, p50", of(&measured.burst).half, burst.ready.half);
    row("at once: ask to ready, s, p95", of(&measured.burst).most, burst.ready.most);
    let last = measured.burst.ready.iter().copied().fold(0.0, f64::max);
    let count = measured.burst.ready.len() as f64;
    row("at once: conversions a minute", count / last * 60.0, count / burst.last * 60.0);
    Ok(rows)
}

struct Foretold {
    ready: Percentiles,
    /// When the last one was ready, on average.
    last: f64,
}

/// What the model says of so many conversions at once.
fn simulated(parameters: &Parameters, count: usize) -> Result<Foretold> {
    let (mut all, mut last) = (vec![], 0.0);
    for seed in 0..COURSES {
        let world = World::run(parameters, 1, f64::INFINITY, count, seed)?;
        let over = world.contents.iter().filter_map(|content| content.over.map(|over| (content, over)));
        let ready: Vec<f64> = over.map(|(content, over)| (over - content.asked) as f64 / 1000.0).collect();
        last += ready.iter().copied().fold(0.0, f64::max) / COURSES as f64;
        all.extend(ready);
    }
    Ok(Foretold { ready: Percentiles::of(all.into_iter()), last })
}

impl Compared {
    fn ratio(&self) -> f64 {
        self.simulated / self.measured
    }

    pub(super) fn is_near(&self) -> bool {
        (self.ratio() - 1.0).abs() <= TOLERANCE
    }
}
