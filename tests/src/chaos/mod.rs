//! Chaos: contents are converted while tilers, renderers, browsers and the edge's runtime are killed and requests are cut,
//! delayed and refused. What has to hold all the same: each content becomes ready, exactly once, with every tile, its
//! progress never falls, and nothing else is left in the store, on the disk, or running.
//!
//! `cargo xtask chaos --seed 1` runs it; a small one is among the end-to-end tests.

mod content;
mod fault;
mod killer;
mod proxy;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use futures::StreamExt;
use serde_json::Value;

use crate::helper::free_port;
use crate::pyramid::Pyramid;
use crate::{Client, Course, Options, SourceServer, System, bucket, processes};
use content::Content;
use fault::Fault;
use proxy::FaultProxy;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides about sources and faults.
    pub seed: u64,
    /// How many contents are converted.
    pub contents: usize,
    /// How much goes wrong meanwhile.
    pub faults: usize,
    /// Whether there are web pages among the contents.
    pub pages: bool,
    /// Whether the edge is killed too. Each time costs seconds.
    pub edge: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Summary {
    /// How many faults met a process or a request.
    pub met: usize,
    /// How many found nothing to meet.
    pub missed: usize,
    /// What does not hold, in words.
    pub broken: Vec<String>,
    /// How many attempts all contents took together.
    pub attempts: u64,
    time: Duration,
}

/// How long a tiler may be silent. Other times of the Worker follow from it.
const LEASE: Duration = Duration::from_secs(6);
/// How many contents are under way at once: more than the tilers have slots.
const AT_ONCE: usize = 9;
/// How long a content may take: several leases, pauses, and restarts of the edge on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);
/// How long what is left over may stay in the store: the Worker sweeps after five leases.
const SWEPT: Duration = Duration::from_secs(100);
/// The pause between two looks at a content.
const INTERVAL: Duration = Duration::from_millis(150);

/// Runs a plan.
///
/// # Errors
/// The system does not come up, or cannot be looked at. What does not hold is in the summary.
pub async fn run(plan: Plan) -> Result<Summary> {
    let mut random = Rng::with_seed(plan.seed);
    let sources = SourceServer::start()?;
    let proxy = FaultProxy::start(sources.url("").trim_end_matches('/').to_owned()).await?;
    let layout = if plan.seed.is_multiple_of(2) { "tiles" } else { "archive" };
    // Known before, because tilers are not ready before they can call the edge.
    let port = free_port()?;
    proxy.set_edge(&format!("http://127.0.0.1:{port}"));
    let faults_at = Some(proxy.port());
    let options = Options { tilers: 3, lease: LEASE, layout, port, faults_at, ..Options::default() };
    let mut system = System::start(options)?;
    let contents = content::serve(&sources, &mut random, plan.contents, plan.pages)?;
    let mut faults = fault::plan(&mut random, plan.faults, LEASE);
    if !plan.edge {
        faults.iter_mut().filter(|fault| **fault == Fault::Kill(fault::Victim::Edge)).for_each(|fault| {
            *fault = Fault::Kill(fault::Victim::Renderer);
        });
    }
    let begun = Instant::now();
    let chaos = Chaos { plan, client: Client::new(system.url())?, proxy, state: system.state() };
    let mut summary = chaos.convert(&contents, faults, random).await?;
    summary.broken.extend(chaos.left_over(&system, &contents).await?);
    summary.broken.extend(end(&mut system)?);
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
}

impl Chaos {
    /// Converts all contents, among faults.
    async fn convert(&self, contents: &[Content], faults: Vec<Fault>, mut random: Rng) -> Result<Summary> {
        let mut shares = vec![vec![]; contents.len()];
        for (number, fault) in faults.into_iter().enumerate() {
            shares[number * contents.len() / self.plan.faults.max(1)].push(fault);
        }
        let random_of_each: Vec<Rng> = contents.iter().map(|_| random.fork()).collect();
        let all = contents.iter().zip(shares).zip(random_of_each).map(|((content, faults), random)| async {
            // The faults of a content meet whatever is under way then.
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
        eprintln!("chaos | {unmet} troubles met no request");
        for (id, attempts) in record.finished.iter().filter(|(_, attempts)| attempts.len() != 1) {
            summary.broken.push(format!("{id}: several attempts were accepted: {attempts:?}"));
        }
        Ok(summary)
    }

    /// Makes faults, one after the other. Gives how many met a process.
    async fn make(&self, faults: Vec<Fault>, mut random: Rng) -> Result<usize> {
        let mut met = 0;
        for fault in faults {
            tokio::time::sleep(Duration::from_millis(random.u64(0..1500))).await;
            let state = self.state.path();
            // A content whose attempt dies with nothing beside it is called the cause, rightly.
            let begun = Instant::now();
            while self.proxy.is_a_last_chance() && begun.elapsed() < PATIENCE {
                tokio::time::sleep(INTERVAL).await;
            }
            met += usize::from(match fault {
                Fault::Kill(victim) => killer::kill(state, victim, &self.proxy, &mut random).await?,
                Fault::Stop(time) => killer::stop(state, time, &self.proxy, &mut random).await?,
                Fault::Request(channel, trouble) => {
                    self.proxy.arm(channel, trouble);
                    false // the proxy counts it when it meets a request
                }
            });
        }
        Ok(met)
    }

    /// Asks for a content and follows it until it is ready, then looks at all of it. Gives the attempt that made it.
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
            // While the edge is down there is no answer, or a poor one.
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
                // The edge may have been killed just now.
                Err(error) if Instant::now() > deadline => return Err(error.context("its pyramid")),
                Err(_) => tokio::time::sleep(INTERVAL).await,
            }
        };
        content.check(&pyramid)?;
        attempt(&ready)
    }

    /// What is in the store and should not be, or the other way round, once all had time to be swept; and contents that are not
    /// what they were.
    async fn left_over(&self, system: &System, contents: &[Content]) -> Result<Vec<String>> {
        let mut expected = BTreeSet::new();
        let mut broken = vec![];
        for content in contents {
            let answer = self.ask(&self.proxy.source(&content.url)).await?;
            if answer["ready"] != true {
                broken.push(format!("it does not stay ready: {answer}"));
                continue;
            }
            expected.extend(self.keys(system, &answer).await?);
        }
        let deadline = Instant::now() + SWEPT;
        loop {
            let stored: BTreeSet<String> = bucket::keys(system, "").await?.into_iter().collect();
            if let Some(missing) = expected.difference(&stored).next() {
                bail!("{missing} is not in the store");
            }
            let more: Vec<&String> = stored.difference(&expected).collect();
            if more.is_empty() {
                return Ok(broken);
            }
            if Instant::now() > deadline {
                broken.push(format!(
                    "{} objects are left in the store, such as {:?}",
                    more.len(),
                    more.first()
                ));
                return Ok(broken);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Asks for a content, while the edge may be starting anew.
    async fn ask(&self, source: &str) -> Result<Value> {
        let begun = Instant::now();
        loop {
            match self.client.ask(source).await.and_then(|answer| answer.json()) {
                Err(_) if begun.elapsed() < PATIENCE => tokio::time::sleep(INTERVAL).await,
                answer => return answer,
            }
        }
    }

    /// The keys of a content that is ready.
    async fn keys(&self, system: &System, content: &Value) -> Result<Vec<String>> {
        let id = content["id"].as_str().context("no id")?;
        if self.plan.seed.is_multiple_of(2) {
            return Pyramid::fetch(&self.client, content).await?.keys(&format!("{}/cache/", system.url()));
        }
        Ok(vec![format!("{id}/{}.szi", attempt(content)?)])
    }
}

/// The attempt that made a content, which its address names.
fn attempt(content: &Value) -> Result<u64> {
    let url = content["dzi"]["url"].as_str().context("no address")?;
    let name = url.rsplit('/').next().and_then(|name| name.strip_suffix(".dzi"));
    Ok(name.context("another address")?.parse()?)
}

/// Ends the system, and gives what is left of it: processes, and files in the tilers' folder for them.
fn end(system: &mut System) -> Result<Vec<String>> {
    let state = system.state();
    system.end(rustix::process::Signal::TERM)?;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (running, files) = (processes::of(state.path())?, entries(&System::temporary(state.path()))?);
        if running.is_empty() && files.is_empty() {
            return Ok(vec![]);
        }
        if Instant::now() > deadline {
            return Ok(vec![format!("these are left: processes {running:?}, files {files:?}")]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn entries(folder: &Path) -> Result<Vec<std::ffi::OsString>> {
    Ok(std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<_>>()?)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { met, missed, broken, attempts, time } = self;
        let seconds = time.as_secs();
        writeln!(f, "{met} faults met something, {missed} did not; {attempts} attempts in {seconds} s")?;
        if broken.is_empty() {
            return f.write_str("all contents are ready, once each, with every tile; nothing is left over");
        }
        broken.iter().try_for_each(|broken| writeln!(f, "✗ {broken}"))
    }
}
