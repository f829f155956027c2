//! From ask to ready: how long a client waits for a 12-megapixel JPEG from loopback, and where that time goes. The phases
//! are what the tiler counted; the queue has what remains: from the ask until a tiler begins, and from the end until the
//! client, which looks every few milliseconds, sees it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use edgezoom_tests::{Client, Options, Source, SourceServer, System, picture};

const RUNS: usize = 9;
const PHASES: [&str; 4] = ["fetch", "render", "upload", "report"];

/// The times of one run.
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
            runs.push(Run { total, phases }); // the first one warms up
        }
    }
    println!("ask to ready, median of {RUNS} runs: {:.0} ms", median(&runs, |run| run.total));
    println!("  queue   {:5.0} ms", median(&runs, |run| run.total.saturating_sub(run.phases.iter().sum())));
    for (number, name) in PHASES.into_iter().enumerate() {
        println!("  {name:7} {:5.0} ms", median(&runs, |run| run.phases[number]));
    }
    let all: Vec<String> = runs.iter().map(|run| run.total.as_millis().to_string()).collect();
    println!("all runs, in ms: {}", all.join(" "));
    Ok(())
}

/// In milliseconds.
fn median(runs: &[Run], of: impl Fn(&Run) -> Duration) -> f64 {
    let mut times: Vec<Duration> = runs.iter().map(of).collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// What the tiler has spent in each phase so far.
async fn phase_sums(client: &Client, system: &System) -> Result<[Duration; 4]> {
    let text = client.get(&format!("http://{}/metrics", system.tiler()?.address)).await?.text();
    let mut sums = [Duration::ZERO; 4];
    for (sum, phase) in sums.iter_mut().zip(PHASES) {
        let name = format!("edgezoom_job_phase_seconds_sum{{phase=\"{phase}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name));
        *sum = Duration::from_secs_f64(value.with_context(|| format!("no {name}in {text}"))?.parse()?);
    }
    Ok(sums)
}
