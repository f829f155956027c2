//! Recovery from failures: sources that fail for a while, contents that are retried, renderers that are killed, tilers
//! that die or stop.

use std::time::Duration;

use anyhow::{Context, Result};
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{
    Client, Course, Gate, Options, Source, SourceServer, System, eventually, patience, picture, processes,
};
use image::{DynamicImage, RgbImage};
use rustix::process::Signal;
use serde_json::Value;
use tokio::sync::Mutex;

fn photograph() -> Result<(RgbImage, Vec<u8>)> {
    let photograph = picture::photograph(1600, 1200, 9);
    let file = picture::jpeg(&photograph)?;
    Ok((photograph, file))
}

/// Compares a ready content's pyramid with its source.
async fn equals(client: &Client, course: &Course, photograph: RgbImage) -> Result<()> {
    let pyramid = Pyramid::fetch(client, course.ready()?).await?;
    pyramid.equals(&DynamicImage::from(photograph).into_rgba8(), 32.0)
}

#[tokio::test]
async fn a_source_that_is_down_and_closes_twice_becomes_ready_after_one_request() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let (photograph, file) = photograph()?;
    let percent = |share: usize| file.len() * share / 100;
    let cuts = [percent(30), percent(60)];
    let source = Source::file("image/jpeg", file.clone()).unavailable(2).cut_at(&cuts);
    let source = sources.serve("shaky.jpg", source);
    let course = client.convert(&source).await?; // polling by id starts no attempt
    equals(&client, &course, photograph).await?;
    assert_eq!(sources.hits(&source), 2 + 3, "downloads must resume");
    let shown = system.admin(&["show", "--json", &course.id()?])?.output()?;
    let shown: Value = serde_json::from_slice(&shown.stdout)?;
    let history = shown["conversion"]["history"].as_str().context("no history")?;
    let states: Vec<_> = history.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    let attempts =
        ["queued", "claimed 1", "waiting 1", "queued", "claimed 2", "waiting 2", "queued", "claimed 3"];
    assert_eq!(states, [&attempts[..], &["ready 3"]].concat());
    Ok(())
}

#[tokio::test]
async fn a_failed_content_whose_source_appears_becomes_ready_after_a_retry() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let source = sources.url("appears.jpg");
    let course = client.convert(&source).await?;
    assert_eq!(course.failure_code()?, "source-not-found");
    let wait = course.last()?["failure"]["retryAfter"].as_u64().unwrap_or_default();
    assert!((500..=600).contains(&wait), "{wait} s");

    let (photograph, file) = photograph()?;
    sources.put(&source, Source::file("image/jpeg", file));
    assert_eq!(client.content(&course.id()?).await?["failed"], true, "no retry was requested");
    let retried = client.get(&format!("/v1/content/{}?retry=1", course.id()?)).await?;
    assert_eq!(retried.header("cache-control"), "no-store");
    let mut course = Course::default();
    course.see(retried.json()?)?;
    client.follow(&mut course).await?; // it would take longer than that if the retry waited for its time
    equals(&client, &course, photograph).await
}

/// A conversion in progress: half of the picture has arrived, and the gate holds the rest.
struct Scene {
    client: Client,
    photograph: RgbImage,
    course: Course,
    gate: Gate,
}

impl Scene {
    /// Starts the conversion and waits until it renders.
    async fn set(system: &System) -> Result<Self> {
        let sources = SourceServer::start()?;
        let client = Client::new(system.url())?;
        let photograph = picture::photograph(3600, 2400, 8);
        let (file, gate) = Source::file("image/jpeg", picture::jpeg(&photograph)?).held(2);
        gate.pass();
        let mut course = client.begin(&sources.serve("large.jpg", file)).await?;
        client.follow_until(&mut course, |content| content["stage"] == "rendering").await?;
        Ok(Self { client, photograph, course, gate })
    }

    /// Lets the rest arrive and waits for the end: the pyramid of this attempt is complete, and nothing of the earlier
    /// ones is stored.
    async fn ends_at_attempt(mut self, system: &System, attempt: u32) -> Result<()> {
        self.gate.open();
        self.client.follow(&mut self.course).await?;
        let content = self.course.ready()?;
        let pyramid = Pyramid::fetch(&self.client, content).await?;
        pyramid.equals(&DynamicImage::from(self.photograph).into_rgba8(), 32.0)?;
        assert!(pyramid.url.ends_with(&format!("/{attempt}.dzi")), "{}", pyramid.url);
        let id = self.course.id()?;
        let stored = system.stored(&format!("{id}/")).await?;
        assert_eq!(stored, [format!("{id}/{attempt}.szi")], "objects of earlier attempts are left");
        Ok(())
    }
}

/// Held by a test that kills a part of the system whose leases outlast all tests.
static ALONE: Mutex<()> = Mutex::const_new(());

fn long_leases() -> Options {
    Options { lease: 3 * patience(), ..Options::default() }
}

#[tokio::test]
async fn a_content_whose_renderer_is_killed_twice_becomes_ready() -> Result<()> {
    let _alone = ALONE.lock().await;
    let system = System::shared_with(long_leases())?;
    let scene = Scene::set(&system).await?;
    let mut killed = vec![];
    for attempt in ["the first attempt", "the second attempt"] {
        // A renderer waits while the source arrives.
        let renderer = eventually(attempt, async || {
            let renderers = processes::renderers(system.tiler()?.process)?;
            Ok(renderers.into_iter().find(|renderer| !killed.contains(renderer)))
        });
        let renderer = renderer.await?;
        processes::signal(renderer, Signal::KILL)?;
        killed.push(renderer);
    }
    scene.ends_at_attempt(&system, 3).await
}

#[tokio::test]
async fn a_killed_tiler_is_replaced_once_its_lease_runs_out() -> Result<()> {
    let system = System::start(Options { lease: Duration::from_secs(10), ..Options::default() })?;
    let scene = Scene::set(&system).await?;
    processes::signal(system.tiler()?.process, Signal::KILL)?;
    let message = "the tiler ended: signal: 9";
    eventually(message, async || Ok(system.log().contains(message).then_some(()))).await?;
    scene.ends_at_attempt(&system, 2).await
}

#[tokio::test]
async fn a_stopped_tiler_hands_its_job_back_immediately() -> Result<()> {
    let _alone = ALONE.lock().await;
    let system = System::shared_with(long_leases())?;
    let scene = Scene::set(&system).await?;
    processes::signal(system.tiler()?.process, Signal::TERM)?;
    scene.ends_at_attempt(&system, 2).await
}
