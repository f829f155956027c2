//! One client floods the service with more requests than the tilers can serve, while and after which another client
//! converts pictures.
//!
//! The flood's pictures never arrive. So if one of them had its turn before the other client's, that one would wait for
//! ever, however fast the machine is. How long the other client waits is measured with twenty thousand requests.
//!
//! Unlike in deployment, the flood, the process that emulates Cloudflare, and the tiler share this machine's cores. So
//! the flood uses one or two connections, each making its next request after a response: it is as fast as that process,
//! and another client waits for one of its requests, not for many. The usual time is measured in another system on the
//! same machine at the same time, so that the flood's CPU time slows down both; only delays by the service itself
//! count.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, eventually, picture};
use futures::{StreamExt, TryStreamExt};

/// Maximum ratio of a second client's time to its usual time.
const MOST: f64 = 3.0;

/// Converts a picture and returns the time that it took.
async fn time_of(client: &Client, sources: &SourceServer) -> Result<Duration> {
    let picture = picture::jpeg(&picture::photograph(1200, 900, 6))?;
    let source = sources.serve("good.jpg", Source::file("image/jpeg", picture));
    let begun = Instant::now();
    client.convert(&source).await?.ready()?;
    Ok(begun.elapsed())
}

/// Converts a picture during or after a flood, and one in a system without it, if there is one, at the same time. Returns
/// both times.
async fn compare(client: &Client, control: Option<&Client>, sources: &SourceServer) -> Result<[Duration; 2]> {
    let usual = async {
        match control {
            Some(control) => time_of(control, sources).await,
            None => Ok(Duration::ZERO),
        }
    };
    let (time, usual) = tokio::try_join!(time_of(client, sources), usual)?;
    Ok([time, usual])
}

/// Requests `urls` new pictures from addresses in one /48, while another client converts pictures with a pause between
/// them, and three afterwards. Returns the number of requests that were accepted, and the sums of the times of
/// [`compare`] during and after the flood.
async fn flood(
    urls: u64,
    connections: usize,
    pause: Duration,
    control: Option<&Client>,
) -> Result<(usize, [[Duration; 2]; 2])> {
    let (system, sources) = (System::start(Options::default())?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let other = client.at("203.0.113.7");
    compare(&other, control, &sources).await?; // the first conversion of a system is slower

    let picture = picture::jpeg(&picture::photograph(1200, 900, 6))?;
    let (held, gate) = Source::file("image/jpeg", picture).held(1);
    let held = sources.serve("held.jpg", held);
    let asks = (0..urls).map(|number| {
        let attacker = client.at(format!("2001:db8:1:{number:x}::{number:x}"));
        let source = format!("{held}?{number}");
        async move { attacker.ask(&source).await.map(|answer| answer.status) }
    });
    let is_over = Cell::new(false);
    let attack = async {
        let statuses: Vec<_> =
            futures::stream::iter(asks).buffer_unordered(connections).try_collect().await?;
        is_over.set(true);
        anyhow::Ok(statuses)
    };
    let meanwhile = async {
        let mut times = vec![];
        while !is_over.get() {
            times.push(compare(&other, control, &sources).await?);
            tokio::time::sleep(pause).await;
        }
        anyhow::Ok(times)
    };
    let (statuses, meanwhile) = tokio::try_join!(attack, meanwhile)?;
    ensure!(statuses.iter().all(|status| *status == 301 || *status == 503), "{statuses:?}");
    let taken = statuses.iter().filter(|status| **status == 301).count();
    let mut after = vec![];
    for _ in 0..3 {
        after.push(compare(&other, control, &sources).await?);
    }
    ensure!(!meanwhile.is_empty(), "no picture was converted during the flood");
    println!("{urls} requests, {taken} accepted: {meanwhile:?}, then {after:?}");
    let turns = sources.hits(&held);
    gate.open();
    eventually("more of the flood's pictures", async || Ok((sources.hits(&held) > turns).then_some(())))
        .await?;
    // Sums, because a machine that also compiles can delay a single one by seconds.
    let sums =
        [meanwhile, after].map(|times| [0, 1].map(|which| times.iter().map(|times| times[which]).sum()));
    Ok((taken, sums))
}

/// The tiler reports the number of tiles as soon as it knows the picture's size, and the edge counts them for the
/// client.
#[tokio::test]
async fn a_large_picture_counts_with_all_its_tiles_before_it_has_arrived() -> Result<()> {
    let sources = SourceServer::start()?;
    // A job counts 200 tiles until its size is known, and this one has 266.
    let system = System::start(Options { client_tiles_a_day: 250, ..Options::default() })?;
    let client = Client::new(system.url())?;
    let (first, other) = (client.at("203.0.113.7"), client.at("203.0.113.8"));
    let bitmap = [b"P4\n8000 6000\n".as_slice(), &vec![0x5a; 8000 / 8 * 6000]].concat();
    let (arriving, gate) = Source::file("image/x-portable-bitmap", bitmap).held(4);
    gate.pass();
    let mut course = first.begin(&sources.serve("large.pbm", arriving)).await?;
    first.follow_until(&mut course, |content| content["stage"] == "rendering").await?;
    // The edge has handled the report with the size when the next one follows.
    let reported = course.last()?["progress"].clone();
    gate.pass();
    first.follow_until(&mut course, |content| content["progress"] != reported).await?;
    let next = sources.url("next.jpg");
    let refused = first.ask(&next).await?;
    ensure!(refused.status == 503 && refused.text().contains("tile limit"), "{}", refused.text());
    ensure!(other.ask(&next).await?.status == 301, "another client is not concerned");
    ensure!(first.content(&course.id()?).await?["stage"] == "rendering", "it has not arrived");
    Ok(())
}

#[tokio::test]
async fn a_flood_from_one_network_takes_no_turn_of_another_client() -> Result<()> {
    let (taken, _) = flood(100, 1, Duration::ZERO, None).await?;
    ensure!(taken == 100, "{taken} were accepted");
    Ok(())
}

#[tokio::test]
#[ignore = "takes minutes on an idle machine"]
async fn a_flood_of_twenty_thousand_hardly_delays_another_client() -> Result<()> {
    // The pause keeps the other client below its own rate limit.
    let urls = std::env::var("EDGEZOOM_FLOOD").map_or(Ok(20_000), |text| text.parse())?;
    let quiet = System::shared()?;
    let (_, sums) = flood(urls, 2, Duration::from_secs(5), Some(&Client::new(quiet.url())?)).await?;
    for ([time, usual], when) in sums.into_iter().zip(["during", "after"]) {
        ensure!(time <= usual.mul_f64(MOST), "{time:?} instead of {usual:?} {when} the flood");
    }
    Ok(())
}
