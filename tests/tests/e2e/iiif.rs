//! IIIF's validator (<https://github.com/IIIF/image-validator>) accepts the service at level 2 of the Image API 3.0,
//! and OpenSeadragon, Mirador and Leaflet-IIIF show a picture by IIIF, in a browser on another origin. Mirador finds a
//! word of a document and shows its page.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{Client, Source, SourceServer, System, picture, programs};
use image::DynamicImage;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::sources::document;

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

const WIDTH: u32 = 2700;
const HEIGHT: u32 = 2100;
const COLUMNS: u32 = 4;
const ROWS: u32 = 3;

/// Returns the colour of a cell: different from the other cells and from page backgrounds.
fn colour(column: u32, row: u32) -> [u8; 3] {
    [40 + 60 * column as u8, 220 - 75 * row as u8, if (column + row).is_multiple_of(2) { 60 } else { 180 }]
}

#[tokio::test(flavor = "multi_thread")]
async fn three_viewers_show_a_picture_by_iiif() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let field = picture::cells(WIDTH, HEIGHT, (WIDTH / COLUMNS, HEIGHT / ROWS), colour);
    let source = sources.serve("field.jpg", Source::file("image/jpeg", picture::jpeg(&field)?));
    let course = Client::new(system.url())?.convert(&source).await?;
    let id = course.ready()?["id"].as_str().context("no id")?;
    let base = format!("{}/iiif/{id}", system.url());
    let cells = || (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (column, row)));
    let colours: Vec<_> = cells().map(|(column, row)| colour(column, row)).collect();
    let seen = programs::run_in_browser(
        "iiif.mjs",
        json!({ "base": base, "colours": colours, "mirador": mirador() }),
    )
    .await?;

    for viewer in ["openseadragon", "mirador", "leaflet"] {
        let Value::Array(requests) = &seen[viewer]["requests"] else { panic!("{seen}") };
        let paths: Vec<_> = requests.iter().filter_map(|request| request["path"].as_str()).collect();
        assert!(requests.iter().all(|request| request["status"] == 200), "{viewer}: {requests:?}");
        let is_full_scale = |path: &&str| path.contains(",512,512/512,512/0/default.jpg");
        assert!(paths.iter().any(is_full_scale), "{viewer} requested no tile of full size: {paths:?}");
        let places: Vec<Option<(f64, f64)>> = serde_json::from_value(seen[viewer]["whole"].clone())?;
        for ((column, row), place) in cells().zip(&places) {
            let (x, y) = place.with_context(|| format!("{viewer} does not show {column}, {row}: {seen}"))?;
            let of = |column: u32, row: u32| places[(row * COLUMNS + column) as usize].unwrap_or_default();
            assert!(column == 0 || x > of(column - 1, row).0 + 0.02, "{viewer}, {column}, {row}: {seen}");
            assert!(row == 0 || y > of(column, row - 1).1 + 0.02, "{viewer}, {column}, {row}: {seen}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn mirador_finds_a_word_and_shows_its_page() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let pages = [("0.8 0 0", "alpha"), ("0 0.8 0", "beta"), ("0 0 0.8", "gamma")].map(|(colour, word)| {
        format!("{colour} rg 0 0 200 200 re f 1 g BT /F1 24 Tf 20 100 Td ({word} ray) Tj ET")
    });
    let source = sources
        .serve("rays.pdf", Source::file("application/pdf", document(&pages.each_ref().map(String::as_str))));
    let course = Client::new(system.url())?.convert(&source).await?;
    let id = course.ready()?["id"].as_str().context("no id")?;
    let base = format!("{}/iiif/{id}", system.url());
    let colours = [[204, 0, 0], [0, 204, 0], [0, 0, 204]];
    let seen = programs::run_in_browser(
        "iiif.mjs",
        json!({ "base": base, "colours": colours, "mirador": mirador(), "word": "gamma" }),
    )
    .await?;
    let is_seen = |page: usize, at: &str| !seen[at][page].is_null();
    assert!(is_seen(0, "before") && !is_seen(2, "before"), "{seen}");
    assert!(is_seen(2, "after") && !is_seen(0, "after"), "{seen}");
    Ok(())
}

/// Returns the path of Mirador's script.
fn mirador() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewers/mirador-4.0.0/dist/mirador.min.js")
}
