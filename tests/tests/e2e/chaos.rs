//! Conversions survive killed processes and broken connections: a small run, and the one of `cargo xtask chaos`.

use anyhow::Result;
use edgezoom_tests::chaos::{Plan, plan, run};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a minute of chaos, longer on a busy machine"]
async fn contents_become_ready_despite_kills_and_broken_connections() -> Result<()> {
    let summary = run(Plan { seed: 1, contents: 10, faults: 20, pages: false, edge: false }).await?;
    println!("{summary}");
    assert!(summary.broken.is_empty(), "{summary}");
    assert!(summary.met >= 10, "too few faults hit something: {summary}");
    Ok(())
}

/// Runs the plan of `cargo xtask chaos`: seed, contents, faults.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes of chaos"]
async fn by_plan() -> Result<()> {
    let [seed, contents, faults] = plan()?;
    let summary = run(Plan { seed: seed as u64, contents, faults, pages: true, edge: true }).await?;
    println!("seed {seed}: {contents} contents, {faults} faults\n{summary}");
    assert!(summary.broken.is_empty(), "{summary}");
    Ok(())
}
