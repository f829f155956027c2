//! The browser's tests of share pages, embeds and the other pages, which elsewhere run against a stand-in of the service, against
//! the real one: what the stand-in gets wrong is found here.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use edgezoom_tests::{Options, System, browser};
use tokio::process::Command;

#[tokio::test]
async fn pages_and_embeds_work_in_a_browser() -> Result<()> {
    let system = System::start(Options { allow_networks: "127.0.0.0/8", ..Options::default() })?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tests = std::fs::read_dir(root.join("edge/viewer/tests"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"));
    let mut command = Command::new(root.join("node_modules/.bin/node"));
    command.args(["--test", "--test-reporter=tap"]).args(tests).kill_on_drop(true);
    command.env("EDGEZOOM_BASE_URL", system.url()).env("EDGEZOOM_CHROMIUM", browser::program()?);
    let output = command.stdin(Stdio::null()).output().await.context("node")?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", system.log());
    let passed = said.lines().find_map(|line| line.strip_prefix("# pass ")?.parse::<u32>().ok());
    assert!(passed >= Some(40), "{said}");
    Ok(())
}
