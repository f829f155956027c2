//! What is transient comes back: sources that fail for a while, contents that are asked for once more, renderers that are
//! killed.

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

async fn equals(client: &Client, course: &Course, photograph: RgbImage) -> Result<()> {
    let pyramid = Pyramid::fetch(client, course.ready()?).await?;
    pyramid.equals(&DynamicImage::from(photograph).into_rgba8(), 32.0)
}

#[tokio::test]
async fn a_source_that_is_down_and_breaks_off_twice_becomes_ready_after_one_request() -> Result<()> {
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
    client.follow(&mut course).await?; // by its id: that starts nothing
    equals(&client, &course, photograph).await?;
    assert!(course.stages().contains(&"waiting"), "{:?}", course.stages());
    assert_eq!(sources.hits(&source), 2 + 3, "a part was requested twice");
    Ok(())
}

#[tokio::test]
async fn a_source_that_appears_is_ready_soon_after_the_button() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let source = sources.url("appears.jpg");
    let course = client.convert(&source).await?;
    assert_eq!(course.failure_code()?, "source-not-found");
    let wait = course.last()?["failure"]["retryAfter"].as_u64().unwrap_or_default();
    assert!((500..=600).contains(&wait), "{wait} s");

    let (photograph, file) = photograph()?;
    sources.put(&source, Source::file("image/jpeg", file));
    assert_eq!(client.content(&course.id()?).await?["failed"], true, "no client asked for another try");
    let pressed = Instant::now();
    let retried = client.get(&format!("/v1/content/{}?retry=1", course.id()?)).await?;
    assert_eq!(retried.header("cache-control"), "no-store");
    let mut course = Course::default();
    course.see(retried.json()?)?;
    client.follow(&mut course).await?;
    assert!(pressed.elapsed() < Duration::from_secs(60), "{:?}", pressed.elapsed());
    equals(&client, &course, photograph).await
}

#[tokio::test]
async fn a_content_whose_renderer_is_killed_becomes_ready_all_the_same() -> Result<()> {
    let sources = SourceServer::start()?;
    let system = System::start(Options { lease: Duration::from_secs(600), ..Options::default() })?;
    let client = Client::new(system.url())?;
    let (photograph, file) = photograph()?;
    // As long as it arrives there is a renderer.
    let source = sources.serve("slow.jpg", Source::file("image/jpeg", file).over(Duration::from_secs(3), 50));
    let mut course = Course::default();
    course.see(client.ask(&source).await?.json()?)?;
    for attempt in [1, 2] {
        let begun = Instant::now();
        let renderer = loop {
            if let Some(renderer) = processes::renderers(system.tiler()?.process)?.first() {
                break *renderer;
            }
            ensure!(begun.elapsed() < Duration::from_secs(60), "attempt {attempt} does not begin");
            course.see(client.content(&course.id()?).await?)?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        processes::signal(renderer, Signal::KILL)?;
        let begun = Instant::now();
        while processes::renderers(system.tiler()?.process)?.contains(&renderer) {
            ensure!(begun.elapsed() < Duration::from_secs(10), "it is not reaped");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    client.follow(&mut course).await?;
    equals(&client, &course, photograph).await?;
    assert!(course.ready()?["dzi"]["url"].as_str().is_some_and(|url| url.ends_with("/3.dzi")), "{course:?}");
    Ok(())
}
