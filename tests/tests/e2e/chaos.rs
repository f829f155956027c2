//! Contents become ready whatever is killed and cut meanwhile: a little of it here, more with `cargo xtask chaos`.

use anyhow::{Context, Result};
use edgezoom_tests::chaos::{Plan, run};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a minute of chaos, longer on a busy machine"]
async fn contents_become_ready_whatever_is_killed_and_cut() -> Result<()> {
    let summary = run(Plan { seed: 1, contents: 10, faults: 20, pages: false, edge: false }).await?;
    println!("{summary}");
    assert!(summary.broken.is_empty(), "{summary}");
    assert!(summary.met >= 10, "too little went wrong: {summary}");
    Ok(())
}

/// The plan that `cargo xtask chaos` names: seed, contents, faults.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes of chaos"]
async fn by_plan() -> Result<()> {
    let plan = std::env::var("EDGEZOOM_CHAOS").context("cargo xtask chaos sets EDGEZOOM_CHAOS")?;
    let numbers = plan.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let [seed, contents, faults] = numbers[..] else { anyhow::bail!("three numbers, not {plan}") };
    let summary = run(Plan { seed: seed as u64, contents, faults, pages: true, edge: true }).await?;
    println!("seed {seed}: {contents} contents, {faults} faults\n{summary}");
    assert!(summary.broken.is_empty(), "{summary}");
    Ok(())
}
