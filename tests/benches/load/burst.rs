//! What `cargo xtask simulate --against-local` compares with its model: conversions one at a time, from which the model gets
//! its numbers, and bursts of them, which it has to foretell. The times are the Worker's own, from its data points, so that
//! no client has to look all the time. One round of both says little, as a tiler's pulls and other programs come by chance:
//! there are several in turn, and medians count.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture, processes};
use futures::future::try_join_all;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::processor;

/// How often all is measured.
const ROUNDS: usize = 3;
/// Conversions one at a time in each round, and one before the first.
const ALONE: usize = 10;
/// Conversions at once.
const BURST: usize = 30;
/// Calls of each kind whose time is measured.
const CALLS: usize = 30;
/// How long the service is looked at while it has nothing to do.
const IDLE: Duration = Duration::from_secs(5);
/// How often it is looked at whether all is done.
const LOOK: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(600);
/// What `cargo xtask dev` sets.
const POLL_MS: u64 = 100;
const JOBS: usize = 2;
const SIDES: (u32, u32) = (3000, 2000);

struct Scene {
    system: System,
    client: Client,
    sources: SourceServer,
    jpeg: Vec<u8>,
    token: String,
    /// The ready contents so far.
    done: usize,
}

/// The times of some conversions, in seconds.
#[derive(Default)]
struct Times {
    claimed: Vec<f64>,
    ready: Vec<f64>,
    /// Cores that the service kept busy, and cores that all else did.
    busy: f64,
    elsewhere: f64,
    /// How long all took.
    seconds: f64,
}

/// Measures, and writes the figures as JSON.
pub async fn measure(file: &Path, release: bool) -> Result<()> {
    let together = processor::together()?;
    let mut scene = Scene::start(release).await?;
    let [ask, ask_cpu] = scene.asks().await?;
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
    fs::create_dir_all(file.parent().context("no folder")?)?;
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

    /// Asks for so many new contents at once.
    async fn ask(&mut self, count: usize) -> Result<()> {
        let source = || self.sources.serve("picture.jpg", Source::file("image/jpeg", self.jpeg.clone()));
        let sources: Vec<String> = (0..count).map(|_| source()).collect();
        try_join_all(sources.iter().map(|source| self.client.ask(source))).await?;
        self.done += count;
        Ok(())
    }

    /// Waits until all are ready that were asked for.
    async fn all_ready(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.ready().await? < self.done {
            ensure!(Instant::now() < deadline, "not all become ready: {}", self.system.log());
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// How many contents are ready, by the status page.
    async fn ready(&self) -> Result<usize> {
        let status = self.client.get("/internal/status").await?.json()?;
        let states = status["contents"].as_array().context("no contents")?;
        let ready = states
            .iter()
            .find(|row| row["state"] == "ready")
            .map_or(0.0, |row| row["count"].as_f64().unwrap_or(0.0));
        Ok(ready as usize)
    }

    /// The times of conversions, so many at once.
    async fn timed(&mut self, count: usize, at_once: usize) -> Result<Times> {
        tokio::time::sleep(Duration::from_secs(2)).await; // so that data points are of another second
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
        ensure!(times.ready.len() == count && times.claimed.len() == count, "some are not measured: {rows}");
        Ok(times)
    }

    /// How long the Worker takes for each of many asks at once until the queue has its message, in milliseconds, and the
    /// processor time of that. The tiler stands still meanwhile.
    async fn asks(&mut self) -> Result<[f64; 2]> {
        let tiler = self.system.tiler()?.process;
        processes::signal(tiler, Signal::STOP)?;
        let (begun, before) = (Instant::now(), self.cpu()?);
        self.ask(BURST).await?;
        while self.messages().await? < BURST {
            ensure!(begun.elapsed() < PATIENCE, "not all are queued");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), self.cpu()? - before);
        processes::signal(tiler, Signal::CONT)?;
        self.all_ready().await?;
        Ok([seconds, cpu].map(|all| all / BURST as f64 * 1000.0))
    }

    /// How many messages the queue has.
    async fn messages(&self) -> Result<usize> {
        let metrics = "/accounts/local/queues/edgezoom-jobs/metrics";
        let answer = self.client.get_as(metrics, &self.token).await?.json()?;
        Ok(answer["result"]["backlog_count"].as_f64().context("no count")? as usize)
    }

    /// The cores that the service keeps busy when it only tells its status.
    async fn idle(&self) -> Result<f64> {
        let (begun, before) = (Instant::now(), self.cpu()?);
        while begun.elapsed() < IDLE {
            self.ready().await?;
            tokio::time::sleep(LOOK).await;
        }
        Ok((self.cpu()? - before) / begun.elapsed().as_secs_f64())
    }

    /// The median time of a call, in milliseconds.
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
