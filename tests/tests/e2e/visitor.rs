//! A visitor with a browser pastes a URL, sees the progress and the picture, and zooms in, and sees pictures in pages of
//! another site. The viewer's own tests use a fake service, which is compared with the real one here.

use std::process::Command;

use anyhow::{Context, Result};
use edgezoom_tests::{Client, Source, SourceServer, System, picture, programs, system};
use serde_json::{Value, json};

/// The aspect ratio of the window, so that the picture fills it.
const WIDTH: u32 = 5400;
const HEIGHT: u32 = 4200;
/// Number of parts in which the picture arrives.
const PARTS: usize = 20;
/// The level of full size.
const HIGHEST_LEVEL: u64 = 13;

/// Returns the colour of a cell in a 4×4 grid: different from the other cells and from page backgrounds.
fn colour(column: u32, row: u32) -> [u8; 3] {
    [40 + 60 * column as u8, 220 - 55 * row as u8, if (column + row).is_multiple_of(2) { 60 } else { 180 }]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_pastes_a_url_and_zooms_into_the_picture() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let field = picture::cells(WIDTH, HEIGHT, (WIDTH / 4, HEIGHT / 4), colour);
    let (file, _gate) = Source::file("image/jpeg", picture::jpeg(&field)?).held(PARTS);
    let source = sources.serve("field.jpg", file);
    let whole: Vec<(u32, u32, [u8; 3])> =
        (0..16).map(|place| (place % 4, place / 4)).map(|(x, y)| (x, y, colour(x, y))).collect();
    // After zooming in, each quarter of the window shows one of the four middle cells. The navigator covers the lower
    // right corner.
    let closer = [((0, 0), (1, 1)), ((3, 0), (2, 1)), ((0, 3), (1, 2)), ((2, 2), (2, 2))]
        .map(|((x, y), (column, row))| (x, y, colour(column, row)));
    let wanted = json!({
        "service": system.url(), "source": source, "parts": PARTS, "whole": whole, "closer": closer, "level": HIGHEST_LEVEL,
    });
    let seen = programs::run_in_browser("zoom.mjs", wanted).await?;

    assert_eq!(seen["complaints"], json!([]), "messages in the browser's console");
    assert_eq!(seen["failedTiles"], json!([]));
    let progress: Vec<f64> = serde_json::from_value(seen["progress"].clone())?;
    assert!(progress.len() > 2 && progress.is_sorted(), "the progress bar showed {progress:?}");
    assert_eq!((&seen["pictures"], &seen["flashes"]), (&json!(2), &json!(0)), "coarse pictures");
    let address = seen["address"].as_str().context("no address")?;
    assert_eq!(seen["assumed"], address, "of the URL without its scheme");
    let id = address.strip_prefix(system.url()).and_then(|path| path.strip_prefix('/')).unwrap_or_default();
    assert!(id.len() == 11 && id.chars().all(|c| c.is_ascii_alphanumeric()), "the browser is at {address}");

    for (view, wanted) in [("seen", whole.as_slice()), ("closer", &closer)] {
        for &(x, y, colour) in wanted {
            let shown = &seen[view][y as usize][x as usize];
            assert!(is_near(shown, colour), "{view} at {x}, {y} is {shown}: {seen}");
        }
    }
    let (before, after) = (seen["levels"]["before"].as_u64(), seen["levels"]["after"].as_u64());
    assert!(after > before && after == Some(HIGHEST_LEVEL), "levels {before:?}, then {after:?}");
    Ok(())
}

fn is_near(shown: &Value, wanted: [u8; 3]) -> bool {
    let shown: Option<[u8; 3]> = serde_json::from_value(shown.clone()).ok();
    shown.is_some_and(|shown| shown.into_iter().zip(wanted).all(|(a, b)| a.abs_diff(b) <= 8))
}

/// The viewer's own tests fill the page of a site themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_the_tiler_writes_shows_its_picture_from_a_disk() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let field = picture::cells(1800, 1400, (450, 350), colour);
    std::fs::write(folder.path().join("field.jpg"), picture::jpeg(&field)?)?;
    let viewer = concat!(env!("CARGO_MANIFEST_DIR"), "/../edge/build/site");
    let mut tiler = Command::new(system::built("tiler")?);
    tiler.current_dir(&folder).env("EDGEZOOM_VIEWER", viewer);
    let written = tiler.args(["convert", "field.jpg", "-o", "site/field", "--viewer"]).output()?;
    assert!(written.status.success(), "{written:?}");
    let whole: Vec<(u32, u32, [u8; 3])> =
        (0..12).map(|place| (place % 4, place / 4)).map(|(x, y)| (x, y, colour(x, y))).collect();
    let page = format!("file://{}/site/index.html", folder.path().display());
    let seen = programs::run_in_browser("site.mjs", json!({ "page": page, "whole": whole })).await?;
    assert_eq!(seen["complaints"], json!([]));
    for (x, y, colour) in whole {
        let shown = &seen["seen"][y as usize][x as usize];
        assert!(is_near(shown, colour), "at {x}, {y} is {shown}: {seen}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_embedded_in_pages_of_another_site() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let photograph = Source::file("image/jpeg", picture::jpeg(&picture::photograph(1500, 1000, 7))?);
    let course = Client::new(system.url())?.convert(&sources.serve("embedded.jpg", photograph)).await?;
    let asked = json!({ "service": system.url(), "content": course.ready()? });
    let seen = programs::run_in_browser("embed.mjs", asked).await?;
    assert_eq!(seen["wrongs"], json!({ "script": [], "frame": [] }));
    let dzi = &course.ready()?["dzi"];
    let read = json!({
        "width": dzi["width"], "height": dzi["height"],
        "tileOverlap": dzi["tileOverlap"], "tileSize": dzi["tileSize"],
    });
    assert_eq!(seen["descriptors"], json!([read, read]), "as XML, and as a script");
    Ok(())
}

#[tokio::test]
async fn the_fake_service_of_the_viewers_tests_answers_as_this_one() -> Result<()> {
    let (system, sources) = (System::shared()?, SourceServer::start()?);
    let client = Client::new(system.url())?;
    let file = Source::file("image/jpeg", picture::jpeg(&picture::photograph(900, 700, 8))?);
    let ready = client.convert(&sources.serve("ready.jpg", file.clone())).await?;
    ready.ready()?;
    let failed = client.convert(&sources.url("failed.jpg")).await?;
    failed.failure_code()?;
    let (held, _gate) = file.held(1);
    let mut processing = client.begin(&sources.serve("held.jpg", held)).await?;
    client.follow_until(&mut processing, |content| content["stage"] == "downloading").await?;
    let asked = json!({
        "service": system.url(), "ready": ready.id()?, "failed": failed.id()?, "processing": processing.id()?,
    });
    let differences = programs::run_script("contract.mjs", asked).await?;
    assert_eq!(differences, json!([]), "{differences:#}");
    Ok(())
}
