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
    /// What a second of processor time does when all cores work, as a share of what it does when one works.
    together: f64,
    jobs: usize,
    poll_ms: u64,
    megapixels: f64,
    api_call_ms: f64,
    edge_call_ms: f64,
    /// How long the Worker takes for one of many asks, and its processor time.
    ask_ms: f64,
    ask_cpu_ms: f64,
    /// The processor time of a conversion, from ask to ready, in the tiler and in all else.
    cpu_ms: f64,
    /// The cores that the service keeps busy when it has nothing to do.
    idle: f64,
    rounds: Vec<Round>,
}

/// Conversions one at a time, and then at once.
#[derive(Debug, Deserialize)]
struct Round {
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
    /// The model of this machine, as conversions one at a time show it, when so many are asked for at once and others keep so
    /// many cores busy.
    fn parameters(&self, at_once: usize, elsewhere: f64) -> Parameters {
        let exactly = |median: f64| Spread { median: median.max(0.0), sigma: 0.0 };
        let deployed = Parameters::deployed();
        let claimed = self.alone(|course| course.claimed.clone()) * 1000.0;
        let ready = self.alone(|course| course.ready.clone()) * 1000.0;
        // On average a message waits for half a round of pulls.
        let send = claimed - (self.poll_ms as f64 + self.api_call_ms) / 2.0 - self.edge_call_ms;
        // On one machine to wait for the source's host, the store and the edge is to wait for a processor: all of the time
        // counts as computing.
        let working = (ready - claimed - self.edge_call_ms).max(1.0);
        let cpu = (self.cpu_ms - self.ask_cpu_ms).max(1.0);
        let threads = cpu / working;
        let platform = Platform {
            ask: self.ask_ms,
            ask_cores: self.ask_cpu_ms / self.ask_ms.max(1.0),
            send: exactly(send),
            api_call: exactly(self.api_call_ms),
            edge_call: exactly(self.edge_call_ms),
            kv_write: exactly(self.edge_call_ms),
            lost_per_million: 0.0,
            kv_failures_per_million: 0.0,
            ..deployed.platform
        };
        let others = self.alone(|course| vec![course.elsewhere]);
        let when_alone = self.pace(self.idle + others + threads);
        let now = if at_once > 1 { self.pace(self.cores) } else { when_alone };
        let cores = (self.cores - self.idle - elsewhere).max(self.cores / 10.0) * now / when_alone;
        let tiler =
            Tiler { cores, jobs: self.jobs, threads, poll_ms: self.poll_ms, life: None, ..deployed.tiler };
        let source = Source {
            share: 1.0,
            fetch: exactly(0.0),
            size: exactly(self.megapixels),
            cpu,
            cpu_per_megapixel: 0.0,
            upload: exactly(0.0),
            bad: 0.0,
            busy: 0.0,
        };
        Parameters { platform, tiler, sources: vec![source], rules: deployed.rules }
    }

    /// The median of what all conversions one at a time have.
    fn alone(&self, of: impl Fn(&Course) -> Vec<f64>) -> f64 {
        Percentiles::of(self.rounds.iter().flat_map(|round| of(&round.alone))).half
    }

    /// What a second of processor time does while so many cores are busy: from 1 to `together`, in a straight line.
    fn pace(&self, busy: f64) -> f64 {
        let others = (busy.min(self.cores) - 1.0).max(0.0) / (self.cores - 1.0).max(1.0);
        1.0 - (1.0 - self.together.min(1.0)) * others
    }

    fn summary(&self) -> String {
        let elsewhere = Percentiles::of(self.rounds.iter().map(|round| round.burst.elsewhere)).half;
        let at_once = self.rounds.first().map_or(0, |round| round.burst.ready.len());
        let Tiler { cores, threads, .. } = self.parameters(at_once, elsewhere).tiler;
        format!(
            "{at_once} conversions of {:.0} megapixels at once, {} slots, medians of {} rounds. An ask takes {:.0} ms, a \
             conversion {:.0} ms of processor time, {threads:.1} cores when alone, of {cores:.1} (others kept \
             {elsewhere:.1} busy; a second does {:.2} when all work)\n",
            self.megapixels,
            self.jobs,
            self.rounds.len(),
            self.ask_ms,
            self.cpu_ms,
            self.together,
        )
    }
}

/// The figures, measured and foretold: medians of the rounds.
pub(super) fn rows(measured: &Measured) -> Result<Vec<Compared>> {
    let others = measured.alone(|course| vec![course.elsewhere]);
    let alone = simulated(&measured.parameters(1, others), 1)?;
    let mut rows = vec![Compared {
        what: "one at a time: ask to ready, s, p50".to_owned(),
        measured: measured.alone(|course| course.ready.clone()),
        simulated: alone.ready.half,
    }];
    let mut bursts = vec![];
    for Round { burst, .. } in &measured.rounds {
        let count = burst.ready.len();
        let foretold = simulated(&measured.parameters(count, burst.elsewhere), count)?;
        let last = burst.ready.iter().copied().fold(0.0, f64::max);
        let minute = |last: f64| count as f64 / last * 60.0;
        let ready = Percentiles::of(burst.ready.iter().copied());
        let simulated = [foretold.ready.half, foretold.ready.most, minute(foretold.last)];
        bursts.push(([ready.half, ready.most, minute(last)], simulated));
    }
    for (at, what) in
        ["ask to ready, s, p50", "ask to ready, s, p95", "conversions a minute"].iter().enumerate()
    {
        rows.push(Compared {
            what: format!("at once: {what}"),
            measured: Percentiles::of(bursts.iter().map(|(measured, _)| measured[at])).half,
            simulated: Percentiles::of(bursts.iter().map(|(_, simulated)| simulated[at])).half,
        });
    }
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
