//! Recovery from failures: sources that fail for a while, contents that are retried, renderers that are killed, tilers
//! that die or stop.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Course, Options, Source, SourceServer, System, picture, processes};
use image::{DynamicImage, RgbImage};
use rustix::process::Signal;

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
    let source = sources.serve("shaky.jpg", source.over(Duration::from_secs(1), 20));
    let answer = client.ask(&source).await?;
    let mut course = Course::default();
    course.see(answer.json()?)?;
    client.follow(&mut course).await?; // polling by id starts no attempt
    equals(&client, &course, photograph).await?;
    assert!(course.stages().contains(&"waiting"), "{:?}", course.stages());
    assert_eq!(sources.hits(&source), 2 + 3, "downloads must resume");
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
    let requested = Instant::now();
    let retried = client.get(&format!("/v1/content/{}?retry=1", course.id()?)).await?;
    assert_eq!(retried.header("cache-control"), "no-store");
    let mut course = Course::default();
    course.see(retried.json()?)?;
    client.follow(&mut course).await?;
    assert!(requested.elapsed() < Duration::from_secs(60), "{:?}", requested.elapsed());
    equals(&client, &course, photograph).await
}

#[tokio::test]
async fn a_content_whose_renderer_is_killed_twice_becomes_ready() -> Result<()> {
    let sources = SourceServer::start()?;
    let system = System::start(Options { lease: Duration::from_secs(600), ..Options::default() })?;
    let client = Client::new(system.url())?;
    let (photograph, file) = photograph()?;
    // A renderer runs while the source arrives.
    let source = sources.serve("slow.jpg", Source::file("image/jpeg", file).over(Duration::from_secs(3), 50));
    let mut course = Course::default();
    course.see(client.ask(&source).await?.json()?)?;
    for attempt in [1, 2] {
        let begun = Instant::now();
        let renderer = loop {
            if let Some(renderer) = processes::renderers(system.tiler()?.process)?.first() {
                break *renderer;
            }
            ensure!(begun.elapsed() < Duration::from_secs(60), "attempt {attempt} does not start");
            course.see(client.content(&course.id()?).await?)?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        processes::signal(renderer, Signal::KILL)?;
        let begun = Instant::now();
        while processes::renderers(system.tiler()?.process)?.contains(&renderer) {
            ensure!(begun.elapsed() < Duration::from_secs(10), "the renderer is not reaped");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    client.follow(&mut course).await?;
    equals(&client, &course, photograph).await?;
    assert!(course.ready()?["dzi"]["url"].as_str().is_some_and(|url| url.ends_with("/3.dzi")), "{course:?}");
    Ok(())
}

/// A system with a conversion in progress: the picture arrives slowly.
struct Scene {
    system: System,
    client: Client,
    photograph: RgbImage,
    course: Course,
}

/// Duration of the download.
const ARRIVAL: Duration = Duration::from_secs(6);

impl Scene {
    /// Starts the conversion and waits until it renders.
    async fn set(lease: Duration) -> Result<Self> {
        let sources = SourceServer::start()?;
        let system = System::start(Options { lease, ..Options::default() })?;
        let client = Client::new(system.url())?;
        let photograph = picture::photograph(3600, 2400, 8);
        let file = Source::file("image/jpeg", picture::jpeg(&photograph)?);
        let source = sources.serve("large.jpg", file.over(ARRIVAL, 100));
        let mut course = Course::default();
        course.see(client.ask(&source).await?.json()?)?;
        client.follow_until(&mut course, |content| content["stage"] == "rendering").await?;
        Ok(Self { system, client, photograph, course })
    }

    /// Waits for the end: the second attempt's pyramid is complete, and nothing of the first is stored.
    async fn end(mut self) -> Result<()> {
        self.client.follow(&mut self.course).await?;
        let content = self.course.ready()?;
        let pyramid = Pyramid::fetch(&self.client, content).await?;
        pyramid.equals(&DynamicImage::from(self.photograph).into_rgba8(), 32.0)?;
        assert!(pyramid.url.ends_with("/2.dzi"), "{}", pyramid.url);
        let id = self.course.id()?;
        let stored = self.system.stored(&format!("{id}/")).await?;
        assert_eq!(stored, [format!("{id}/2.szi")], "objects of the first attempt are left");
        Ok(())
    }
}

#[tokio::test]
async fn a_killed_tiler_is_replaced_once_its_lease_runs_out() -> Result<()> {
    let scene = Scene::set(Duration::from_secs(3)).await?;
    let killed = scene.system.tiler()?;
    processes::signal(killed.process, Signal::KILL)?;
    while scene.system.tiler()?.process == killed.process {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(scene.system.log().contains("the tiler ended: signal: 9"), "the death must be logged");
    scene.end().await
}

#[tokio::test]
async fn a_stopped_tiler_hands_its_job_back_immediately() -> Result<()> {
    let scene = Scene::set(Duration::from_secs(600)).await?; // longer than this test
    let told = Instant::now();
    processes::signal(scene.system.tiler()?.process, Signal::TERM)?;
    let (client, id) = (scene.client.clone(), scene.course.id()?);
    while client.content(&id).await?["stage"] != "queued" {
        ensure!(told.elapsed() < Duration::from_secs(30), "the tiler keeps its job");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.end().await
}
