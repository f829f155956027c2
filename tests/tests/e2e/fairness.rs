//! One client floods the service with more requests than the tilers can serve, while and after which another client
//! converts pictures.
//!
//! Unlike in deployment, the flood, the process that emulates Cloudflare, and the tiler share this machine's cores. So
//! the flood uses one or two connections, each making its next request after a response: it is as fast as that process,
//! and another client waits for one of its requests, not for many. The usual time is measured in another system on the
//! same machine at the same time, so that the flood's CPU time slows down both; only delays by the service itself
//! count.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::{Client, Course, Options, Source, SourceServer, System, picture};
use futures::{StreamExt, TryStreamExt};

/// Maximum ratio of a second client's time to its usual time.
const PATIENCE: u32 = 3;

/// Times of a second client.
#[derive(Debug)]
struct Fairness {
    /// Number of the flood's requests that were accepted.
    taken: usize,
    /// Times during the flood, each with the usual one.
    meanwhile: Vec<[Duration; 2]>,
    /// Times after the flood, each with the usual one.
    after: Vec<[Duration; 2]>,
}

impl Fairness {
    fn check(&self) -> Result<()> {
        ensure!(!self.meanwhile.is_empty(), "no picture was converted during the flood");
        for (times, when) in [(&self.meanwhile, "during the flood"), (&self.after, "after the flood")] {
            // The sum, because a machine that also compiles can delay a single one by seconds.
            let [time, usual] = [0, 1].map(|which| times.iter().map(|times| times[which]).sum::<Duration>());
            ensure!(time <= usual * PATIENCE, "{time:?} instead of {usual:?} {when}: {self:?}");
        }
        Ok(())
    }
}

/// Measures a client's time, and at the same time the usual one in a system without a flood.
async fn compare(client: &Client, control: &Client, sources: &SourceServer) -> Result<[Duration; 2]> {
    let (time, usual) = tokio::try_join!(time_of(client, sources), time_of(control, sources))?;
    Ok([time, usual])
}

/// Measures the conversion of a picture that takes a second to download.
async fn time_of(client: &Client, sources: &SourceServer) -> Result<Duration> {
    let picture = picture::jpeg(&picture::photograph(1200, 900, 6))?;
    let source =
        sources.serve("good.jpg", Source::file("image/jpeg", picture).over(Duration::from_secs(1), 10));
    let begun = Instant::now();
    client.convert(&source).await?.ready()?;
    Ok(begun.elapsed())
}

/// Requests `urls` new pictures from addresses in one /48, while another client converts pictures with a pause between
/// them.
async fn flood(urls: u64, connections: usize, pause: Duration) -> Result<Fairness> {
    let (system, sources) = (System::start(Options::default())?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let other = client.at("203.0.113.7");
    let quiet = System::shared()?;
    let control = Client::new(quiet.url())?;
    compare(&other, &control, &sources).await?; // the first conversion of a system is slower

    // Each takes longer than the whole test: two of them could block the tiler.
    let slow = picture::jpeg(&picture::photograph(1200, 900, 6))?;
    let slow = sources.serve("slow.jpg", Source::file("image/jpeg", slow).over(Duration::from_secs(60), 60));
    let asks = (0..urls).map(|number| {
        let attacker = client.at(format!("2001:db8:1:{number:x}::{number:x}"));
        let source = format!("{slow}?{number}");
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
            times.push(compare(&other, &control, &sources).await?);
            tokio::time::sleep(pause).await;
        }
        anyhow::Ok(times)
    };
    let begun = Instant::now();
    let (statuses, meanwhile) = tokio::try_join!(attack, meanwhile)?;
    let lasted = begun.elapsed();
    ensure!(statuses.iter().all(|status| *status == 301 || *status == 503), "{statuses:?}");
    let taken = statuses.iter().filter(|status| **status == 301).count();
    let mut after = vec![];
    for _ in 0..3 {
        after.push(compare(&other, &control, &sources).await?);
    }
    let converted = sources.hits(&slow);
    ensure!(converted > 0, "the flood's pictures must be converted too");
    let fairness = Fairness { taken, meanwhile, after };
    println!("{urls} requests in {lasted:?}, {converted} started: {fairness:?}");
    Ok(fairness)
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
    let arriving = Source::file("image/x-portable-bitmap", bitmap).over(Duration::from_secs(120), 240);
    let answer = first.ask(&sources.serve("large.pbm", arriving)).await?;
    ensure!(answer.status == 301, "{}", answer.text());
    let mut course = Course::default();
    course.see(answer.json()?)?;
    first.follow_until(&mut course, |content| content["stage"] == "rendering").await?;
    // The edge has handled the report with the size when the next one follows.
    let reported = course.seen.last().map(|content| content["progress"].clone());
    first.follow_until(&mut course, |content| Some(&content["progress"]) != reported.as_ref()).await?;
    let next = sources.url("next.jpg");
    let refused = first.ask(&next).await?;
    ensure!(refused.status == 503 && refused.text().contains("tile limit"), "{}", refused.text());
    ensure!(other.ask(&next).await?.status == 301, "another client is not concerned");
    ensure!(first.content(&course.id()?).await?["stage"] == "rendering", "it has not arrived");
    Ok(())
}

#[tokio::test]
async fn a_flood_from_one_network_hardly_delays_another_client() -> Result<()> {
    let fairness = flood(100, 1, Duration::ZERO).await?;
    ensure!(fairness.taken == 100, "{} were accepted", fairness.taken);
    fairness.check()
}

#[tokio::test]
#[ignore = "takes minutes on an idle machine"]
async fn a_flood_of_twenty_thousand_hardly_delays_another_client() -> Result<()> {
    // The pause keeps the other client below its own rate limit.
    let urls = std::env::var("EDGEZOOM_FLOOD").map_or(Ok(20_000), |text| text.parse())?;
    flood(urls, 2, Duration::from_secs(5)).await?.check()
}
