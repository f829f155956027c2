//! One client that asks for more than all tilers can do, and another one that asks for pictures, meanwhile and after.
//!
//! The flood, the one process that stands for all of Cloudflare, and the tiler share this machine's cores, which they
//! do not where the service is deployed. So the flood comes over one connection, or two, which asks as soon as it has
//! its answer: it is as fast as that process can answer, and another client's calls wait for one of its asks, not for
//! a crowd of them. The usual time is that of another system on the machine at the same moment, so that the flood's
//! own processor time counts for both; what its answers and conversions delay counts against the service.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};
use futures::{StreamExt, TryStreamExt};

/// A second client's picture is ready within so many times its usual time.
const PATIENCE: u32 = 3;

/// How a second client fared.
#[derive(Debug)]
struct Fairness {
    /// How many of the flood's asks were taken.
    taken: usize,
    /// Its times while the flood arrived, each with the usual one.
    meanwhile: Vec<[Duration; 2]>,
    /// Its times when all of the flood was asked for, each with the usual one.
    after: Vec<[Duration; 2]>,
}

impl Fairness {
    fn check(&self) -> Result<()> {
        ensure!(!self.meanwhile.is_empty(), "nothing was asked for meanwhile");
        for (times, when) in [(&self.meanwhile, "while the flood arrived"), (&self.after, "after the flood")]
        {
            // All together: a machine that compiles beside the tests holds up one of many by seconds.
            let [time, usual] = [0, 1].map(|which| times.iter().map(|times| times[which]).sum::<Duration>());
            ensure!(time <= usual * PATIENCE, "{time:?} instead of {usual:?} {when}: {self:?}");
        }
        Ok(())
    }
}

/// A client's time, and the usual one: that of a system without a flood at the same moment. A machine does not stay as
/// it was.
async fn compare(client: &Client, control: &Client, sources: &SourceServer) -> Result<[Duration; 2]> {
    let (time, usual) = tokio::try_join!(time_of(client, sources), time_of(control, sources))?;
    Ok([time, usual])
}

/// Serves a picture that takes a second to download, and measures how long a client waits for it to be converted.
async fn time_of(client: &Client, sources: &SourceServer) -> Result<Duration> {
    let picture = picture::jpeg(&picture::photograph(1200, 900, 6))?;
    let source =
        sources.serve("good.jpg", Source::file("image/jpeg", picture).over(Duration::from_secs(1), 10));
    let begun = Instant::now();
    client.convert(&source).await?.ready()?;
    Ok(begun.elapsed())
}

/// Asks for `urls` new pictures from all of a /48, and meanwhile for some from elsewhere, one after the other with a
/// pause between them.
async fn flood(urls: u64, connections: usize, pause: Duration) -> Result<Fairness> {
    let (system, sources) = (System::start(Options::default())?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let other = client.at("203.0.113.7");
    let quiet = System::shared()?;
    let control = Client::new(quiet.url())?;
    compare(&other, &control, &sources).await?; // the first one of a system is slower

    // Each takes longer than all that the other client waits for: two of them at once would keep the tiler busy.
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
    ensure!(converted > 0, "the first client's pictures are converted all the same");
    let fairness = Fairness { taken, meanwhile, after };
    println!("{urls} asked for in {lasted:?}, {converted} begun: {fairness:?}");
    Ok(fairness)
}

#[tokio::test]
async fn a_flood_from_a_whole_network_keeps_another_client_waiting_for_no_more_than_a_moment() -> Result<()> {
    let fairness = flood(100, 1, Duration::ZERO).await?;
    ensure!(fairness.taken == 100, "{} are taken", fairness.taken);
    fairness.check()
}

#[tokio::test]
#[ignore = "takes minutes on an idle machine"]
async fn a_flood_of_twenty_thousand() -> Result<()> {
    // The pause keeps the other client within its own limit of new contents in a minute.
    let urls = std::env::var("EDGEZOOM_FLOOD").map_or(Ok(20_000), |text| text.parse())?;
    flood(urls, 2, Duration::from_secs(5)).await?.check()
}
