//! Tilers that die or are stopped in the middle of a conversion: another one finishes it, and nothing of the first
//! is to be seen.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::pyramid::Pyramid;
use edgezoom_tests::{Client, Course, Options, Source, SourceServer, System, picture, processes};
use image::{DynamicImage, RgbImage};
use rustix::process::Signal;

/// A system whose tilers take their time: a picture that arrives slowly and is rendered meanwhile, one upload at once.
struct Scene {
    system: System,
    client: Client,
    photograph: RgbImage,
    course: Course,
    layout: &'static str,
}

/// How long the picture takes to arrive.
const ARRIVAL: Duration = Duration::from_secs(6);

impl Scene {
    /// Sets it, with the conversion so far that tiles are in the store.
    async fn set(lease: Duration, layout: &'static str) -> Result<Self> {
        let sources = SourceServer::start()?;
        let system = System::start(Options { lease, layout, uploads: 1, ..Options::default() })?;
        let client = Client::new(system.url())?;
        let photograph = picture::photograph(3600, 2400, 8);
        let file = Source::file("image/jpeg", picture::jpeg(&photograph)?);
        let source = sources.serve("large.jpg", file.over(ARRIVAL, 100));
        let mut course = Course::default();
        course.see(client.ask(&source).await?.json()?)?;
        client.follow_until(&mut course, |content| content["stage"] == "rendering").await?;
        let tiles = format!("{}/1_files/", course.id()?);
        while layout == "tiles" && system.stored(&tiles).await?.len() < 5 {
            let content = client.content(&course.id()?).await?;
            ensure!(content["ready"] == false, "it was too quick to be disturbed");
            course.see(content)?;
        }
        Ok(Self { system, client, photograph, course, layout })
    }

    /// Follows the conversion to its end: it is whole, by a later attempt, and of the first nothing is left.
    async fn end(mut self) -> Result<()> {
        self.client.follow(&mut self.course).await?;
        let content = self.course.ready()?;
        let pyramid = Pyramid::fetch(&self.client, content).await?;
        pyramid.equals(&DynamicImage::from(self.photograph).into_rgba8(), 32.0)?;
        assert!(pyramid.url.ends_with("/2.dzi"), "{}", pyramid.url);
        let id = self.course.id()?;
        let stored = self.system.stored(&format!("{id}/")).await?;
        let expected = match self.layout {
            "tiles" => pyramid.keys(&format!("{}/cache/", self.system.url()))?,
            _ => vec![format!("{id}/2.szi")],
        };
        assert_eq!(stored, expected, "something is left");
        Ok(())
    }
}

#[tokio::test]
async fn a_killed_tiler_is_replaced_once_its_lease_runs_out() -> Result<()> {
    for layout in ["tiles", "archive"] {
        replace_killed_tiler(layout).await?;
    }
    Ok(())
}

async fn replace_killed_tiler(layout: &'static str) -> Result<()> {
    let scene = Scene::set(Duration::from_secs(3), layout).await?;
    let killed = scene.system.tiler()?;
    processes::signal(killed.process, Signal::KILL)?;
    while scene.system.tiler()?.process == killed.process {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(scene.system.log().contains("the tiler ended: signal: 9"), "its death is logged");
    scene.end().await
}

#[tokio::test]
async fn a_tiler_that_is_stopped_hands_its_job_back_at_once() -> Result<()> {
    let scene = Scene::set(Duration::from_secs(600), "tiles").await?; // far longer than this test waits
    let told = Instant::now();
    processes::signal(scene.system.tiler()?.process, Signal::TERM)?;
    let (client, id) = (scene.client.clone(), scene.course.id()?);
    while client.content(&id).await?["stage"] != "queued" {
        ensure!(told.elapsed() < Duration::from_secs(10), "it keeps its job");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.end().await
}
