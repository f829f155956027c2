//! Chaos testing: converts contents while tilers, renderers, browsers and the Workers runtime are killed, requests
//! broken, delayed and rejected, the tilers' disk is full, KV is stale, and all clocks are wrong. Every content must
//! become ready exactly once, with every tile and without falling progress, and nothing else may remain in the store,
//! on disk, or running.
//!
//! `cargo xtask chaos --seed 1` runs it; the end-to-end tests include a small run.

mod content;
mod disk;
mod fault;
mod killer;
mod proxy;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use futures::StreamExt;
use serde_json::Value;

use crate::pyramid::Pyramid;
use crate::{Client, Course, Options, SourceServer, System, processes};
use content::Content;
use disk::Disk;
use fault::Fault;
use proxy::FaultProxy;

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed of the sources and faults.
    pub seed: u64,
    /// Number of contents.
    pub contents: usize,
    /// Number of faults.
    pub faults: usize,
    /// True if some contents are web pages.
    pub pages: bool,
    /// True if the edge is killed too, which costs seconds each time.
    pub edge: bool,
}

/// Returns seed, contents and faults of `cargo xtask chaos`.
///
/// # Errors
/// `EDGEZOOM_CHAOS` has not three numbers.
pub fn plan() -> Result<[usize; 3]> {
    let plan =
        std::env::var("EDGEZOOM_CHAOS").context("run `cargo xtask chaos`, which sets EDGEZOOM_CHAOS")?;
    let numbers = plan.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    numbers.try_into().ok().with_context(|| format!("EDGEZOOM_CHAOS must be three numbers, not {plan}"))
}

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// Number of faults that hit a process or request.
    pub met: usize,
    /// Number of faults that hit nothing.
    pub missed: usize,
    /// Violated expectations.
    pub broken: Vec<String>,
    /// Sum of all contents' attempts.
    pub attempts: u64,
    time: Duration,
}

/// Lease of the tilers, from which the Worker derives other times.
const LEASE: Duration = Duration::from_secs(6);
/// Size of the tilers' disk in MiB: much more than the sources of nine contents take.
const DISK: u32 = 64;
/// Number of concurrent contents: more than the tilers have slots.
const AT_ONCE: usize = 9;
/// Time limit of a content: several leases, pauses, and restarts of the edge on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);
/// Time limit for leftovers in the store: the Worker sweeps after five leases.
const SWEPT: Duration = Duration::from_secs(100);
/// Pause between polls of a content.
const INTERVAL: Duration = Duration::from_millis(150);

/// Runs a plan.
///
/// # Errors
/// The system does not start or cannot be inspected. Violated expectations are in the summary.
pub async fn run(plan: Plan) -> Result<Summary> {
    let mut random = Rng::with_seed(plan.seed);
    let sources = SourceServer::start()?;
    let proxy = FaultProxy::start(sources.url("").trim_end_matches('/').to_owned()).await?;
    // Chosen now because tilers are ready only once they reach the edge through the proxy.
    let port = xtask::dev::free_port(0)?;
    proxy.set_edge(&format!("http://127.0.0.1:{port}"));
    let faults_at = Some(proxy.port());
    let options = Options {
        tilers: 3,
        lease: LEASE,
        port,
        faults_at,
        disk: Some(DISK),
        wrong_clocks: true,
        ..Options::default()
    };
    let mut system = System::start(options)?;
    let disk = Disk::of(&system)?;
    let contents = content::serve(&sources, &mut random, plan.contents, plan.pages)?;
    let mut faults = fault::plan(&mut random, plan.faults, LEASE);
    if !plan.edge {
        faults.iter_mut().filter(|fault| **fault == Fault::Kill(fault::Victim::Edge)).for_each(|fault| {
            *fault = Fault::Kill(fault::Victim::Renderer);
        });
    }
    let begun = Instant::now();
    let (state, token) = (system.state(), system.token()?);
    let chaos = Chaos { plan, client: Client::new(system.url())?, proxy, state, token, disk };
    let mut summary = chaos.convert(&contents, faults, random).await?;
    summary.broken.extend(chaos.left_over(&system, &contents).await?);
    summary.broken.extend(end(&mut system, &chaos.disk)?);
    summary.time = begun.elapsed();
    if !summary.broken.is_empty() {
        eprintln!("{}", system.log());
    }
    Ok(summary)
}

struct Chaos {
    plan: Plan,
    client: Client,
    proxy: FaultProxy,
    state: Arc<tempfile::TempDir>,
    /// The tilers' token, which also controls the local KV.
    token: String,
    disk: Disk,
}

impl Chaos {
    /// Converts all contents under faults.
    async fn convert(&self, contents: &[Content], faults: Vec<Fault>, mut random: Rng) -> Result<Summary> {
        let mut shares = vec![vec![]; contents.len()];
        for (number, fault) in faults.into_iter().enumerate() {
            shares[number * contents.len() / self.plan.faults.max(1)].push(fault);
        }
        let random_of_each: Vec<Rng> = contents.iter().map(|_| random.fork()).collect();
        let all = contents.iter().zip(shares).zip(random_of_each).map(|((content, faults), random)| async {
            // A content's faults hit whatever runs at the time.
            let converted = async {
                let converted = self.convert_one(content).await;
                converted.inspect_err(|error| eprintln!("chaos | ✗ {}: {error:#}", content.url))
            };
            let (converted, met) = tokio::join!(converted, self.make(faults, random));
            (converted.map_err(|error| format!("{}: {error:#}", content.url)), met)
        });
        let mut summary = Summary { met: 0, missed: 0, broken: vec![], attempts: 0, time: Duration::ZERO };
        let mut all = futures::stream::iter(all).buffer_unordered(AT_ONCE);
        let (begun, mut ended) = (Instant::now(), 0);
        while let Some((converted, met)) = all.next().await {
            summary.met += met?;
            ended += 1;
            let seconds = begun.elapsed().as_secs();
            match converted {
                Ok(attempt) => {
                    summary.attempts += attempt;
                    eprintln!("chaos | {seconds} s: {ended} of {}, at attempt {attempt}", contents.len());
                }
                Err(broken) => summary.broken.push(broken),
            }
        }
        let unmet = self.proxy.disarm();
        let record = self.proxy.record();
        summary.met += record.met;
        summary.missed = self.plan.faults.saturating_sub(summary.met);
        eprintln!("chaos | {unmet} armed faults hit no request");
        for (id, attempts) in record.finished.iter().filter(|(_, attempts)| attempts.len() != 1) {
            summary.broken.push(format!("{id}: several attempts were accepted: {attempts:?}"));
        }
        Ok(summary)
    }

    /// Causes faults one after the other. Returns the number that hit a process.
    async fn make(&self, faults: Vec<Fault>, mut random: Rng) -> Result<usize> {
        let mut met = 0;
        for fault in faults {
            tokio::time::sleep(Duration::from_millis(random.u64(0..1500))).await;
            let state = self.state.path();
            // The service rightly blames a content whose attempt dies while alone on its tiler.
            let begun = Instant::now();
            while self.proxy.is_a_last_chance() && begun.elapsed() < PATIENCE {
                tokio::time::sleep(INTERVAL).await;
            }
            met += usize::from(match fault {
                Fault::Kill(victim) => killer::kill(state, victim, &self.proxy, &mut random).await?,
                Fault::Stop(time) => killer::stop(state, time, &self.proxy, &mut random).await?,
                Fault::Fill(time) => self.disk.fill(time, &self.proxy).await?,
                Fault::Stale(time) => self.make_kv_stale(time).await,
                Fault::Request(channel, trouble) => {
                    self.proxy.arm(channel, trouble);
                    false // the proxy counts it when it hits a request
                }
            });
        }
        Ok(met)
    }

    /// Makes the local KV stale. Returns false if the edge is down.
    async fn make_kv_stale(&self, time: Duration) -> bool {
        let path = format!("/internal/kv/stale?milliseconds={}", time.as_millis());
        let answer = self.client.post_as(&path, &self.token, "").await;
        let is_stale = answer.is_ok_and(|answer| answer.status == 204);
        if is_stale {
            eprintln!("chaos | KV is stale for {time:?}");
        }
        is_stale
    }

    /// Converts a content and checks its pyramid. Returns the number of the successful attempt.
    async fn convert_one(&self, content: &Content) -> Result<u64> {
        let deadline = Instant::now() + PATIENCE;
        let mut course = Course::default();
        let source = self.proxy.source(&content.url);
        loop {
            ensure!(Instant::now() < deadline, "stuck: {:?}", course.seen);
            let answer = match course.id() {
                Ok(id) => self.client.get(&format!("/v1/content/{id}")).await,
                Err(_) => self.client.ask(&source).await,
            };
            // While the edge is down there is no response, or an error.
            if let Ok(answer) = answer
                && (answer.status == 200 || answer.status == 301)
            {
                course.see(answer.json()?)?;
                let last = course.last()?;
                if last["ready"] == true || last["failed"] == true {
                    self.proxy.forget_last_chance(&course.id()?);
                    break;
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
        let ready = course.ready()?.clone();
        let pyramid = loop {
            match Pyramid::fetch(&self.client, &ready).await {
                Ok(pyramid) => break pyramid,
                // The edge may be down.
                Err(error) if Instant::now() > deadline => return Err(error.context("its pyramid")),
                Err(_) => tokio::time::sleep(INTERVAL).await,
            }
        };
        content.check(&pyramid)?;
        attempt(&ready)
    }

    /// Returns leftovers in the store after the time for sweeping, and contents that are no longer ready. Fails if an
    /// object is missing.
    async fn left_over(&self, system: &System, contents: &[Content]) -> Result<Vec<String>> {
        let mut expected = BTreeSet::new();
        let mut broken = vec![];
        for content in contents {
            let answer = self.ask(&self.proxy.source(&content.url)).await?;
            if answer["ready"] != true {
                broken.push(format!("not ready any more: {answer}"));
                continue;
            }
            let id = answer["id"].as_str().context("no id")?;
            expected.insert(format!("{id}/{}.szi", attempt(&answer)?));
        }
        let deadline = Instant::now() + SWEPT;
        loop {
            let stored: BTreeSet<String> = system.stored("").await?.into_iter().collect();
            if let Some(missing) = expected.difference(&stored).next() {
                bail!("{missing} is not in the store");
            }
            let more: Vec<&String> = stored.difference(&expected).collect();
            if more.is_empty() {
                return Ok(broken);
            }
            if Instant::now() > deadline {
                broken.push(format!(
                    "{} leftover objects in the store, such as {:?}",
                    more.len(),
                    more.first()
                ));
                return Ok(broken);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Asks for a content, retrying while the edge restarts.
    async fn ask(&self, source: &str) -> Result<Value> {
        let begun = Instant::now();
        loop {
            match self.client.ask(source).await.and_then(|answer| answer.json()) {
                Err(_) if begun.elapsed() < PATIENCE => tokio::time::sleep(INTERVAL).await,
                answer => return answer,
            }
        }
    }
}

/// Returns the number of the attempt in a content's descriptor URL.
fn attempt(content: &Value) -> Result<u64> {
    let url = content["dzi"]["url"].as_str().context("no dzi URL")?;
    let name = url.rsplit('/').next().and_then(|name| name.strip_suffix(".dzi"));
    Ok(name.context("not a .dzi URL")?.parse()?)
}

/// Ends the system and returns what remains: processes, and files in the tilers' temporary directory.
fn end(system: &mut System, disk: &Disk) -> Result<Vec<String>> {
    let state = system.state();
    system.end(rustix::process::Signal::TERM)?;
    let deadline = Instant::now() + crate::patience();
    loop {
        let (running, files) = (processes::of(state.path())?, disk.files()?);
        if running.is_empty() && files.is_empty() {
            return Ok(vec![]);
        }
        if Instant::now() > deadline {
            return Ok(vec![format!("leftovers: processes {running:?}, files {files:?}")]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { met, missed, broken, attempts, time } = self;
        let seconds = time.as_secs();
        writeln!(f, "{met} faults hit something, {missed} did not; {attempts} attempts in {seconds} s")?;
        if broken.is_empty() {
            return f.write_str("every content is ready, exactly once and with every tile; no leftovers");
        }
        broken.iter().try_for_each(|broken| writeln!(f, "✗ {broken}"))
    }
}
