//! One client that asks for more than all tilers can do, and another one that asks for one picture.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};
use futures::{StreamExt, TryStreamExt};

/// A second client's picture is ready within so many times its usual time.
const PATIENCE: u32 = 3;

fn picture() -> Result<Source> {
    let picture = picture::jpeg(&picture::photograph(1200, 900, 6))?;
    Ok(Source::file("image/jpeg", picture).over(Duration::from_secs(1), 10))
}

/// How long a client waits for a picture.
async fn time_of(client: &Client, source: &str) -> Result<Duration> {
    let begun = Instant::now();
    client.convert(source).await?.ready()?;
    Ok(begun.elapsed())
}

/// Asks for `urls` new pictures from all of a /48, and then for one from elsewhere. Gives how many were taken, and the times of
/// that one before and after.
async fn flood(urls: u64) -> Result<(usize, Duration, Duration)> {
    let (system, sources) = (System::start(Options::default())?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let other = client.at("203.0.113.7");
    let usual = time_of(&other, &sources.serve("usual.jpg", picture()?)).await?;

    // Each takes longer than all that the other client waits for: two of them at once would keep the tiler busy.
    let slow = sources.serve("slow.jpg", picture()?.over(Duration::from_secs(60), 60));
    let asks = (0..urls).map(|number| {
        let attacker = client.at(format!("2001:db8:1:{number:x}::{number:x}"));
        let source = format!("{slow}?{number}");
        async move { attacker.ask(&source).await.map(|answer| answer.status) }
    });
    let statuses: Vec<_> = futures::stream::iter(asks).buffer_unordered(64).try_collect().await?;
    ensure!(statuses.iter().all(|status| *status == 301 || *status == 503), "{statuses:?}");
    let taken = statuses.iter().filter(|status| **status == 301).count();

    let meanwhile = time_of(&other, &sources.serve("meanwhile.jpg", picture()?)).await?;
    let begun = sources.hits(&slow);
    ensure!(begun > 0, "the first client's pictures are converted all the same");
    println!(
        "{urls} asked for, {taken} taken, {begun} begun; the other one: usually {usual:?}, meanwhile {meanwhile:?}"
    );
    Ok((taken, usual, meanwhile))
}

#[tokio::test]
async fn a_flood_from_a_whole_network_keeps_another_client_waiting_for_no_more_than_a_moment() -> Result<()> {
    let (taken, usual, meanwhile) = flood(100).await?;
    ensure!(taken == 100, "{taken} are taken");
    ensure!(meanwhile <= usual * PATIENCE, "{meanwhile:?} instead of {usual:?}");
    Ok(())
}

#[tokio::test]
#[ignore = "takes minutes on an idle machine"]
async fn a_flood_of_twenty_thousand() -> Result<()> {
    let (_, usual, meanwhile) = flood(20_000).await?;
    ensure!(meanwhile <= usual * PATIENCE, "{meanwhile:?} instead of {usual:?}");
    Ok(())
}
