//! Tilers in containers: the Worker starts as many as there is work for.

use std::time::Duration;

use anyhow::{Context, Result};
use edgezoom_tests::chaos::plan;
use edgezoom_tests::{Source, SourceServer, picture, programs, system};
use serde_json::json;

/// The number of contents, one of which takes seconds.
const CONTENTS: u32 = 41;

#[tokio::test(flavor = "multi_thread")]
async fn containers_start_and_end_with_the_work_and_lose_nothing() -> Result<()> {
    let sources = SourceServer::start()?;
    let serve = |number: u32| {
        let file = picture::jpeg(&picture::photograph(900, 700, number))?;
        let source = Source::file("image/jpeg", file).over(Duration::from_secs(1), 10);
        Ok(sources.serve(&format!("{number}.jpg"), source))
    };
    let pictures: Vec<_> = (1..CONTENTS).map(serve).collect::<Result<_>>()?;
    let file = picture::jpeg(&picture::photograph(900, 700, 0))?;
    let slow = sources.serve("slow.jpg", Source::file("image/jpeg", file).over(Duration::from_secs(8), 40));
    let arguments = json!({ "tiler": system::built("tiler")?, "pictures": pictures, "slow": slow });
    let seen = programs::run_script("../containers/fleet.mjs", arguments).await?;
    assert_eq!(seen["contents"], CONTENTS, "{seen}");
    assert!(seen["starts"].as_u64().context("no starts")? >= 4, "{seen}");
    println!("{seen}");
    Ok(())
}

/// Runs the plan of `cargo xtask chaos --containers`: seed, contents, faults.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes of chaos"]
async fn by_plan() -> Result<()> {
    let [seed, contents, faults] = plan()?;
    let sources = SourceServer::start()?;
    let serve = |number: usize| {
        let file = picture::jpeg(&picture::photograph(900, 700, number as u32))?;
        let source = Source::file("image/jpeg", file).over(Duration::from_secs(2), 20);
        Ok(sources.serve(&format!("{number}.jpg"), source))
    };
    let pictures: Vec<_> = (0..contents).map(serve).collect::<Result<_>>()?;
    let tiler = system::built("tiler")?;
    let arguments = json!({ "tiler": tiler, "pictures": pictures, "seed": seed, "faults": faults });
    let seen = programs::run_script("../containers/chaos.mjs", arguments).await?;
    assert_eq!(seen["contents"], contents, "{seen}");
    println!("seed {seed}: {seen}");
    Ok(())
}
