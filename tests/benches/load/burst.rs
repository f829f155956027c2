//! What `cargo xtask simulate --against-local` compares with its model: conversions one at a time, from which the model gets
//! its numbers, and a burst of them, which it has to foretell. The times are the Worker's own, from its data points, so that
//! no client has to look all the time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture, processes};
use futures::future::try_join_all;
use serde_json::{Value, json};

/// Conversions one at a time, after one that warms up.
const ALONE: usize = 12;
/// Conversions at once.
const BURST: usize = 30;
/// Calls of each kind whose time is measured.
const CALLS: usize = 30;
/// How long the service is looked at while it has nothing to do.
const IDLE: Duration = Duration::from_secs(4);
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
    let system = System::start(Options { release, ..Options::default() })?;
    let jpeg = picture::jpeg(&picture::photograph(SIDES.0, SIDES.1, 12))?;
    let (client, token) = (Client::new(system.url())?, system.token()?);
    let mut scene = Scene { system, client, sources: SourceServer::start()?, jpeg, token, done: 0 };
    scene.convert(1).await?;
    let idle = scene.idle().await?;
    let alone = scene.timed(ALONE, 1).await?;
    let report = r#"{"attempt":1,"outcome":"handed-back"}"#;
    let edge_call = scene.call("/internal/content/00000000000/report", report).await?;
    let pull = r#"{"batch_size":1,"visibility_timeout_ms":1000}"#;
    let api_call = scene.call("/accounts/local/queues/edgezoom-jobs/messages/pull", pull).await?;
    let burst = scene.timed(BURST, BURST).await?;
    let figures = json!({
        "cores": std::thread::available_parallelism()?.get(),
        "jobs": JOBS, "pollMs": POLL_MS, "megapixels": f64::from(SIDES.0 * SIDES.1) / 1e6,
        "apiCallMs": api_call, "edgeCallMs": edge_call, "idle": idle, "cpuMs": (alone.busy - idle) * alone.seconds / ALONE as f64 * 1000.0,
        "alone": times(&alone), "burst": times(&burst),
    });
    fs::create_dir_all(file.parent().context("no folder")?)?;
    fs::write(file, serde_json::to_string_pretty(&figures)?)?;
    println!("{} conversions measured: {}", ALONE + BURST, file.display());
    Ok(())
}

fn times(Times { claimed, ready, busy, elsewhere, seconds }: &Times) -> Value {
    json!({ "claimed": claimed, "ready": ready, "busy": busy, "elsewhere": elsewhere, "seconds": seconds })
}

impl Scene {
    /// Has contents converted that are asked for at once, and waits until all are ready.
    async fn convert(&mut self, count: usize) -> Result<()> {
        let source = || self.sources.serve("picture.jpg", Source::file("image/jpeg", self.jpeg.clone()));
        let sources: Vec<String> = (0..count).map(|_| source()).collect();
        try_join_all(sources.iter().map(|source| self.client.ask(source))).await?;
        self.done += count;
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
        let (begun, ours, all) = (Instant::now(), self.cpu()?, machine()?);
        for _ in 0..count / at_once {
            self.convert(at_once).await?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let (busy, all) = ((self.cpu()? - ours) / seconds, (machine()? - all) / seconds);
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

    /// The cores that the service keeps busy when it has nothing to do.
    async fn idle(&self) -> Result<f64> {
        let (begun, before) = (Instant::now(), self.cpu()?);
        tokio::time::sleep(IDLE).await;
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
        times.sort_by(f64::total_cmp);
        Ok(times[CALLS / 2])
    }

    /// The processor time of all of the service's processes so far, in seconds, with those that have ended.
    fn cpu(&self) -> Result<f64> {
        let mut ticks = 0.0;
        for id in processes::of(self.system.state().path())? {
            let Ok(text) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue }; // it has ended
            let fields = text.rsplit_once(") ").context("no name")?.1.split(' ').skip(11).take(4);
            ticks += fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
        }
        Ok(ticks / TICKS)
    }
}

/// Of Linux, in a second.
const TICKS: f64 = 100.0;

/// The processor time of the machine so far, in seconds, without what it was idle.
fn machine() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let fields: Vec<f64> = text
        .lines()
        .next()
        .context("no line")?
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system; then idle and waiting; then interrupts.
    Ok((fields.iter().take(3).sum::<f64>() + fields.iter().skip(5).take(3).sum::<f64>()) / TICKS)
}
