//! The measurement for `cargo xtask simulate --against-local`: conversions one at a time, from which the model takes its numbers, and bursts,
//! which it must predict. Times come from the Worker's data points, so no client has to poll. The timing of a tiler's pulls and of other
//! programs is random, so there are several rounds, of which the medians count.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture, processes};
use futures::future::try_join_all;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::processor;

/// Number of rounds.
const ROUNDS: usize = 3;
/// Conversions one at a time in each round.
const ALONE: usize = 10;
/// Concurrent conversions.
const BURST: usize = 30;
/// Number of timed calls of each kind.
const CALLS: usize = 30;
/// Duration of the measurement of the idle service.
const IDLE: Duration = Duration::from_secs(5);
/// Interval between polls of the status.
const POLL: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(600);
/// Settings of `cargo xtask dev`.
const POLL_MS: u64 = 100;
const JOBS: usize = 2;
const SIDES: (u32, u32) = (3000, 2000);

struct Scene {
    system: System,
    client: Client,
    sources: SourceServer,
    jpeg: Vec<u8>,
    token: String,
    /// Number of contents that are or will be ready.
    done: usize,
}

/// Times of some conversions in seconds.
#[derive(Default)]
struct Times {
    claimed: Vec<f64>,
    ready: Vec<f64>,
    /// Cores used by the service, and by other programs.
    busy: f64,
    elsewhere: f64,
    /// Total time.
    seconds: f64,
}

/// Measures and writes the figures as JSON.
pub async fn measure(file: &Path, release: bool) -> Result<()> {
    let together = processor::together()?;
    let mut scene = Scene::start(release).await?;
    let [ask, ask_cpu] = scene.requests().await?;
    let report = r#"{"attempt":1,"outcome":"handed-back"}"#;
    let edge_call = scene.call("/internal/content/00000000000/report", report).await?;
    let pull = r#"{"batch_size":1,"visibility_timeout_ms":1000}"#;
    let api_call = scene.call("/accounts/local/queues/edgezoom-jobs/messages/pull", pull).await?;
    let (mut rounds, mut idles, mut cpu) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let idle = scene.idle().await?;
        let alone = scene.timed(ALONE, 1).await?;
        let burst = scene.timed(BURST, BURST).await?;
        cpu.push((alone.busy - idle) * alone.seconds / ALONE as f64 * 1000.0);
        idles.push(idle);
        rounds.push(json!({ "alone": times(&alone), "burst": times(&burst) }));
    }
    let figures = json!({
        "cores": std::thread::available_parallelism()?.get(), "together": together,
        "jobs": JOBS, "pollMs": POLL_MS, "megapixels": f64::from(SIDES.0 * SIDES.1) / 1e6,
        "apiCallMs": api_call, "edgeCallMs": edge_call, "askMs": ask, "askCpuMs": ask_cpu,
        "idle": median(idles), "cpuMs": median(cpu), "rounds": rounds,
    });
    fs::create_dir_all(file.parent().context("the file has no directory")?)?;
    fs::write(file, serde_json::to_string_pretty(&figures)?)?;
    println!("{} conversions measured: {}", ROUNDS * (ALONE + BURST), file.display());
    Ok(())
}

fn times(Times { claimed, ready, busy, elsewhere, seconds }: &Times) -> Value {
    json!({ "claimed": claimed, "ready": ready, "busy": busy, "elsewhere": elsewhere, "seconds": seconds })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Scene {
    async fn start(release: bool) -> Result<Self> {
        let system = System::start(Options { release, ..Options::default() })?;
        let jpeg = picture::jpeg(&picture::photograph(SIDES.0, SIDES.1, 12))?;
        let (client, token) = (Client::new(system.url())?, system.token()?);
        let mut scene = Self { system, client, sources: SourceServer::start()?, jpeg, token, done: 0 };
        scene.ask(1).await?;
        scene.all_ready().await?;
        Ok(scene)
    }

    /// Requests `count` new contents concurrently.
    async fn ask(&mut self, count: usize) -> Result<()> {
        let source = || self.sources.serve("picture.jpg", Source::file("image/jpeg", self.jpeg.clone()));
        let sources: Vec<String> = (0..count).map(|_| source()).collect();
        try_join_all(sources.iter().map(|source| self.client.ask(source))).await?;
        self.done += count;
        Ok(())
    }

    /// Waits until all requested contents are ready.
    async fn all_ready(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.ready().await? < self.done {
            ensure!(Instant::now() < deadline, "timeout waiting for conversions: {}", self.system.log());
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Returns the number of ready contents on the status page.
    async fn ready(&self) -> Result<usize> {
        let status = self.client.get("/internal/status").await?.json()?;
        let states = status["contents"].as_array().context("no contents")?;
        let ready = states
            .iter()
            .find(|row| row["state"] == "ready")
            .map_or(0.0, |row| row["count"].as_f64().unwrap_or(0.0));
        Ok(ready as usize)
    }

    /// Measures `count` conversions, `at_once` of them concurrently.
    async fn timed(&mut self, count: usize, at_once: usize) -> Result<Times> {
        tokio::time::sleep(Duration::from_secs(2)).await; // separates their data points from earlier ones
        let from = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let (begun, ours, all) = (Instant::now(), self.cpu()?, processor::of_machine()?);
        for _ in 0..count / at_once {
            self.ask(at_once).await?;
            self.all_ready().await?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let (busy, all) = ((self.cpu()? - ours) / seconds, (processor::of_machine()? - all) / seconds);
        let sql = format!(
            "SELECT blob1, blob2, blob3, double2 FROM edgezoom WHERE timestamp >= toDateTime({from}) FORMAT JSON"
        );
        let rows =
            self.client.post_as("/accounts/local/analytics_engine/sql", &self.token, sql).await?.json()?;
        let mut times = Times { busy, elsewhere: (all - busy).max(0.0), seconds, ..Times::default() };
        for row in rows["data"].as_array().context("no data points")? {
            let seconds = row["double2"].as_f64().context("no time")?;
            let labels = ["blob1", "blob2", "blob3"].map(|name| row[name].as_str().unwrap_or_default());
            match labels {
                ["content", "claimed", "queued"] => times.claimed.push(seconds),
                ["answer", "ready", _] => times.ready.push(seconds),
                _ => {}
            }
        }
        ensure!(
            times.ready.len() == count && times.claimed.len() == count,
            "data points are missing: {rows}"
        );
        Ok(times)
    }

    /// Measures the Worker's time and CPU time for each of many concurrent requests, until the queue has the message, in milliseconds. The
    /// tiler is suspended meanwhile.
    async fn requests(&mut self) -> Result<[f64; 2]> {
        let tiler = self.system.tiler()?.process;
        processes::signal(tiler, Signal::STOP)?;
        let (begun, before) = (Instant::now(), self.cpu()?);
        self.ask(BURST).await?;
        while self.messages().await? < BURST {
            ensure!(begun.elapsed() < PATIENCE, "timeout waiting for the queue");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), self.cpu()? - before);
        processes::signal(tiler, Signal::CONT)?;
        self.all_ready().await?;
        Ok([seconds, cpu].map(|all| all / BURST as f64 * 1000.0))
    }

    /// Returns the number of queued messages.
    async fn messages(&self) -> Result<usize> {
        let metrics = "/accounts/local/queues/edgezoom-jobs/metrics";
        let answer = self.client.get_as(metrics, &self.token).await?.json()?;
        Ok(answer["result"]["backlog_count"].as_f64().context("no count")? as usize)
    }

    /// Returns the cores used by the service while it only answers status requests.
    async fn idle(&self) -> Result<f64> {
        let (begun, before) = (Instant::now(), self.cpu()?);
        while begun.elapsed() < IDLE {
            self.ready().await?;
            tokio::time::sleep(POLL).await;
        }
        Ok((self.cpu()? - before) / begun.elapsed().as_secs_f64())
    }

    /// Returns the median time of a call in milliseconds.
    async fn call(&self, path: &str, body: &'static str) -> Result<f64> {
        let mut times = vec![];
        for _ in 0..CALLS {
            let begun = Instant::now();
            self.client.post_as(path, &self.token, body).await?;
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        Ok(median(times))
    }

    fn cpu(&self) -> Result<f64> {
        processor::of_system(self.system.state().path())
    }
}
