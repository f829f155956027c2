//! A visitor with a browser pastes a URL, sees the progress and the picture, and zooms in. Also runs the browser tests
//! of pages and embeds, which otherwise use a fake service, against the real one, to find mistakes of the fake.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use edgezoom_tests::{Options, Source, SourceServer, System, picture, programs};
use serde_json::{Value, json};
use tokio::process::Command;

/// The aspect ratio of the window, so that the picture fills it.
const WIDTH: u32 = 5400;
const HEIGHT: u32 = 4200;
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
    let file = Source::file("image/jpeg", picture::jpeg(&field)?).over(Duration::from_secs(6), 60);
    let source = sources.serve("field.jpg", file);
    let whole: Vec<(u32, u32, [u8; 3])> =
        (0..16).map(|place| (place % 4, place / 4)).map(|(x, y)| (x, y, colour(x, y))).collect();
    // After zooming in, each quarter of the window shows one of the four middle cells. The navigator covers the lower
    // right corner.
    let closer = [((0, 0), (1, 1)), ((3, 0), (2, 1)), ((0, 3), (1, 2)), ((2, 2), (2, 2))]
        .map(|((x, y), (column, row))| (x, y, colour(column, row)));
    let wanted = json!({
        "service": system.url(), "source": source, "whole": whole, "closer": closer, "level": HIGHEST_LEVEL,
    });
    let seen = programs::run_in_browser("zoom.mjs", wanted).await?;

    assert_eq!(seen["complaints"], json!([]), "messages in the browser's console");
    assert_eq!(seen["failedTiles"], json!([]));
    let progress: Vec<f64> = serde_json::from_value(seen["progress"].clone())?;
    assert!(progress.len() >= 3 && progress.is_sorted(), "the progress bar showed {progress:?}");
    let address = seen["address"].as_str().context("no address")?;
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

#[tokio::test]
async fn pages_and_embeds_work_in_a_browser() -> Result<()> {
    let system = System::start(Options { allow_networks: "127.0.0.0/8", ..Options::default() })?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tests = fs::read_dir(root.join("edge/viewer/tests"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        // The others use no service, or only the fake one.
        .filter(|path| {
            fs::read_to_string(path).is_ok_and(|test| {
                (test.contains("setUp(") && !test.contains("startFake")) || test.contains("startService(")
            })
        });
    let mut command = Command::new(root.join("node_modules/.bin/node"));
    command.args(["--test", "--test-reporter=tap", "--test-concurrency=2"]).args(tests).kill_on_drop(true);
    command.env("EDGEZOOM_BASE_URL", system.url()).env("EDGEZOOM_CHROMIUM", programs::chromium()?);
    let output = command.stdin(Stdio::null()).output().await.context("node")?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", system.log());
    let passed = said.lines().find_map(|line| line.strip_prefix("# pass ")?.parse::<u32>().ok());
    assert!(passed >= Some(35), "{said}");
    Ok(())
}
