//! IIIF's validator (<https://github.com/IIIF/image-validator>) accepts the service at level 2 of the Image API 3.0.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Source, SourceServer, System, picture};
use image::DynamicImage;
use tokio::process::Command;

/// Prints the colours of the validator's picture, by column and row.
const COLOURS: &str =
    "import json; from iiif_validator.validator import *; print(json.dumps(ValidationInfo().colorInfo))";

#[tokio::test(flavor = "multi_thread")]
async fn the_official_validator_finds_no_failure_at_level_2() -> Result<()> {
    let (printed, _) = validator(&["-c", COLOURS]).await?;
    let last = printed.lines().last().unwrap_or_default();
    let colours: Vec<Vec<[u8; 3]>> = serde_json::from_str(last).context(printed.clone())?;
    let colour = |column: u32, row: u32| colours[column as usize][row as usize];
    let squares = DynamicImage::ImageRgb8(picture::cells(1000, 1000, (100, 100), colour)).to_rgba8();

    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let source = sources.serve("squares.png", Source::file("image/png", picture::png(&squares)?));
    let course = Client::new(system.url())?.convert(&source).await?;
    let id = course.ready()?["id"].as_str().context("no id")?;
    let server = system.url().trim_start_matches("http://");
    let asked = ["--server", server, "--prefix", "iiif", "--identifier", id, "--version=3.0", "--level=2"];
    let (_, report) = validator(&[&["iiif-validate.py"], asked.as_slice()].concat()).await?;
    assert!(report.ends_with("Done (33 tests, 0 failures)\n"), "{report}");
    Ok(())
}

/// Runs Debian's Python in the validator's folder, and returns its output and its log.
async fn validator(arguments: &[&str]) -> Result<(String, String)> {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("iiif-validator");
    let mut python = Command::new("/usr/bin/python3");
    let output = python.current_dir(&folder).args(arguments).kill_on_drop(true).output().await?;
    let [printed, logged] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(output.status.success(), "{arguments:?} failed in {}:\n{printed}{logged}", folder.display());
    Ok((printed, logged))
}
