//! Time from request to ready of a 12-megapixel JPEG on loopback, by phase. The tiler's metrics give the phases;
//! "queue" is the rest: from the request until a tiler starts, and from the end until the polling client sees it.
//!
//! Then time from last byte to ready: a 216-megapixel JPEG arrives at 20 MB/s and is rendered and uploaded meanwhile.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};

const RUNS: usize = 9;
/// Runs of the large picture, about ten seconds each.
const LARGE_RUNS: usize = 3;
const BYTES_PER_SECOND: f64 = 20e6;
const PHASES: [&str; 4] = ["fetch", "render", "upload", "report"];

/// Times of one run.
struct Run {
    total: Duration,
    phases: [Duration; 4],
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let sources = SourceServer::start()?;
    let jpeg = picture::jpeg(&picture::photograph(4243, 2828, 12))?;
    eprintln!("a JPEG of 12 megapixels, {:.1} MB", jpeg.len() as f64 / 1e6);
    let system = System::start(Options { release: true, ..Options::default() })?;
    let client = Client::new(system.url())?;
    let mut runs = vec![];
    for number in 0..=RUNS {
        let source = sources.serve("photograph.jpg", Source::file("image/jpeg", jpeg.clone()));
        let before = phase_sums(&client, &system).await?;
        let begun = Instant::now();
        let course = client.convert(&source).await?;
        let total = begun.elapsed();
        course.ready()?;
        let after = phase_sums(&client, &system).await?;
        let mut phases = [Duration::ZERO; 4];
        for (phase, (after, before)) in phases.iter_mut().zip(after.into_iter().zip(before)) {
            *phase = after.saturating_sub(before);
        }
        if number > 0 {
            runs.push(Run { total, phases }); // the first run warms up
        }
    }
    println!("request to ready, median of {RUNS} runs: {:.0} ms", median(&runs, |run| run.total));
    println!("  queue   {:5.0} ms", median(&runs, |run| run.total.saturating_sub(run.phases.iter().sum())));
    for (number, name) in PHASES.into_iter().enumerate() {
        println!("  {name:7} {:5.0} ms", median(&runs, |run| run.phases[number]));
    }
    let all: Vec<String> = runs.iter().map(|run| run.total.as_millis().to_string()).collect();
    println!("all runs, in ms: {}", all.join(" "));
    drop(system);
    from_the_last_byte(&sources).await
}

/// Measures the time from a large picture's last byte until it is ready.
async fn from_the_last_byte(sources: &SourceServer) -> Result<()> {
    let jpeg = Bytes::from(fs::read(large_picture()?)?);
    let time = Duration::from_secs_f64(jpeg.len() as f64 / BYTES_PER_SECOND);
    let system = System::start(Options { release: true, ..Options::default() })?;
    let client = Client::new(system.url())?;
    let mut after_last_byte = vec![];
    for number in 0..LARGE_RUNS {
        let file = Source::file("image/jpeg", jpeg.clone());
        let source = sources.serve(&format!("large-{number}.jpg"), file.at(BYTES_PER_SECOND));
        client.convert(&source).await?.ready()?;
        let last_byte = sources.sent_at(&source).context("it was not sent completely")?;
        after_last_byte.push(last_byte.elapsed());
    }
    after_last_byte.sort();
    let all: Vec<String> = after_last_byte.iter().map(|time| time.as_millis().to_string()).collect();
    println!(
        "216 megapixels at 20 MB/s ({:.1} s): ready {:.0} ms after the last byte (limit: 1000); all runs: {}",
        time.as_secs_f64(),
        after_last_byte[after_last_byte.len() / 2].as_secs_f64() * 1000.0,
        all.join(" ")
    );
    Ok(())
}

/// Returns the path of the picture, which the benchmark `pyramid` makes.
fn large_picture() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).context("the benchmark does not run from a target folder")?;
    Ok(target.join("bench/pictures/JPEG-4-2-0-216-MP.jpg"))
}

/// Returns the median in milliseconds.
fn median(runs: &[Run], of: impl Fn(&Run) -> Duration) -> f64 {
    let mut times: Vec<Duration> = runs.iter().map(of).collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// Returns the tiler's total time in each phase.
async fn phase_sums(client: &Client, system: &System) -> Result<[Duration; 4]> {
    let text = client.get(&format!("http://{}/metrics", system.tiler()?.address)).await?.text();
    let mut sums = [Duration::ZERO; 4];
    for (sum, phase) in sums.iter_mut().zip(PHASES) {
        let name = format!("edgezoom_job_phase_seconds_sum{{phase=\"{phase}\",kind=\"picture\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name));
        *sum = Duration::from_secs_f64(value.with_context(|| format!("no {name}in {text}"))?.parse()?);
    }
    Ok(sums)
}
