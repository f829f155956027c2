//! `cargo xtask simulate --against-local`: compares the model with this machine. Its numbers come from conversions one at a time, measured
//! by `tests/benches/load/burst.rs`, and it must predict a burst of conversions, which share slots and cores.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Percentiles;
use super::parameters::{LogNormal, Parameters, Platform, Source, Tiler};
use super::world::World;

/// Allowed relative error of the model.
const TOLERANCE: f64 = 0.2;
/// Number of simulations for each prediction: the time of a tiler's pulls is random.
const SIMULATIONS: u64 = 40;

/// The measurement. Times of the platform are in milliseconds, times of contents in seconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measured {
    cores: f64,
    /// Work done in a second of CPU time when all cores are busy, relative to one busy core.
    together: f64,
    jobs: usize,
    poll_ms: u64,
    megapixels: f64,
    api_call_ms: f64,
    edge_call_ms: f64,
    /// The Worker's time for one of many requests, and its CPU time.
    ask_ms: f64,
    ask_cpu_ms: f64,
    /// CPU time of a conversion from request to ready, of all processes.
    cpu_ms: f64,
    /// Cores used by the idle service.
    idle: f64,
    rounds: Vec<Round>,
}

/// Conversions one at a time, then concurrently.
#[derive(Debug, Deserialize)]
struct Round {
    alone: Run,
    burst: Run,
}

/// Some conversions.
#[derive(Debug, Deserialize)]
struct Run {
    /// Times from request to claim, and to ready.
    claimed: Vec<f64>,
    ready: Vec<f64>,
    /// Cores used by other programs.
    elsewhere: f64,
}

/// A measured and predicted figure.
#[derive(Debug)]
pub(super) struct Compared {
    what: String,
    measured: f64,
    simulated: f64,
}

/// Compares and prints. Fails if the model is off by more than the tolerance.
pub(super) fn compare(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let measured: Measured = serde_json::from_str(&text).context("not a result of the benchmark")?;
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
    /// Derives the model of this machine from conversions one at a time, for `at_once` concurrent ones while other programs use
    /// `elsewhere` cores.
    fn parameters(&self, at_once: usize, elsewhere: f64) -> Parameters {
        let exactly = |median: f64| LogNormal { median: median.max(0.0), sigma: 0.0 };
        let deployed = Parameters::deployed();
        let claimed = self.alone(|course| course.claimed.clone()) * 1000.0;
        let ready = self.alone(|course| course.ready.clone()) * 1000.0;
        // On average a message waits for half a pull interval.
        let send = claimed - (self.poll_ms as f64 + self.api_call_ms) / 2.0 - self.edge_call_ms;
        // On one machine, waiting for source, store and edge means waiting for a core: all of the time counts as work.
        let working = (ready - claimed - self.edge_call_ms).max(1.0);
        let cpu = (self.cpu_ms - self.ask_cpu_ms).max(1.0);
        let threads = cpu / working;
        let platform = Platform {
            request: self.ask_ms,
            request_cores: self.ask_cpu_ms / self.ask_ms.max(1.0),
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

    /// Returns a median over all conversions one at a time.
    fn alone(&self, of: impl Fn(&Run) -> Vec<f64>) -> f64 {
        Percentiles::of(self.rounds.iter().flat_map(|round| of(&round.alone))).p50
    }

    /// Interpolates the work done in a second of CPU time while `busy` cores are busy, from 1 to `together`.
    fn pace(&self, busy: f64) -> f64 {
        let others = (busy.min(self.cores) - 1.0).max(0.0) / (self.cores - 1.0).max(1.0);
        1.0 - (1.0 - self.together.min(1.0)) * others
    }

    fn summary(&self) -> String {
        let elsewhere = Percentiles::of(self.rounds.iter().map(|round| round.burst.elsewhere)).p50;
        let at_once = self.rounds.first().map_or(0, |round| round.burst.ready.len());
        let Tiler { cores, threads, .. } = self.parameters(at_once, elsewhere).tiler;
        format!(
            "{at_once} concurrent conversions of {:.0} megapixels, {} slots, medians of {} rounds. A request takes {:.0} ms, \
             a conversion {:.0} ms of CPU time on {threads:.1} cores when alone, of {cores:.1} (other programs used \
             {elsewhere:.1}; with all cores busy a second does {:.2} of the work)\n",
            self.megapixels,
            self.jobs,
            self.rounds.len(),
            self.ask_ms,
            self.cpu_ms,
            self.together,
        )
    }
}

/// Returns the measured and predicted figures: medians of the rounds.
pub(super) fn rows(measured: &Measured) -> Result<Vec<Compared>> {
    let others = measured.alone(|course| vec![course.elsewhere]);
    let alone = simulated(&measured.parameters(1, others), 1)?;
    let mut rows = vec![Compared {
        what: "one at a time: time to ready, s, p50".to_owned(),
        measured: measured.alone(|course| course.ready.clone()),
        simulated: alone.ready.p50,
    }];
    let mut bursts = vec![];
    for Round { burst, .. } in &measured.rounds {
        let count = burst.ready.len();
        let predicted = simulated(&measured.parameters(count, burst.elsewhere), count)?;
        let last = burst.ready.iter().copied().fold(0.0, f64::max);
        let minute = |last: f64| count as f64 / last * 60.0;
        let ready = Percentiles::of(burst.ready.iter().copied());
        let simulated = [predicted.ready.p50, predicted.ready.p95, minute(predicted.last)];
        bursts.push(([ready.p50, ready.p95, minute(last)], simulated));
    }
    for (at, what) in
        ["time to ready, s, p50", "time to ready, s, p95", "conversions a minute"].iter().enumerate()
    {
        rows.push(Compared {
            what: format!("at once: {what}"),
            measured: Percentiles::of(bursts.iter().map(|(measured, _)| measured[at])).p50,
            simulated: Percentiles::of(bursts.iter().map(|(_, simulated)| simulated[at])).p50,
        });
    }
    Ok(rows)
}

struct Prediction {
    ready: Percentiles,
    /// Mean time at which the last content is ready.
    last: f64,
}

/// Simulates `count` concurrent conversions.
fn simulated(parameters: &Parameters, count: usize) -> Result<Prediction> {
    let (mut all, mut last) = (vec![], 0.0);
    for seed in 0..SIMULATIONS {
        let world = World::run(parameters, 1, f64::INFINITY, count, seed)?;
        let ended = world.contents.iter().filter_map(|content| Some(content.ended? - content.requested));
        let ready: Vec<f64> = ended.map(|ms| ms as f64 / 1000.0).collect();
        last += ready.iter().copied().fold(0.0, f64::max) / SIMULATIONS as f64;
        all.extend(ready);
    }
    Ok(Prediction { ready: Percentiles::of(all.into_iter()), last })
}

impl Compared {
    fn ratio(&self) -> f64 {
        self.simulated / self.measured
    }

    pub(super) fn is_near(&self) -> bool {
        (self.ratio() - 1.0).abs() <= TOLERANCE
    }
}
