//! The edges of drawings and of a PDF's page, as vectors in three engines: sharp, where the pixels have them, and at 64 times
//! within two screen pixels of their places.

use std::collections::BTreeMap;

use anyhow::Result;
use edgezoom_tests::{programs, system};
use serde_json::json;

/// Maximum distance of an edge from its place at 64 times, in screen pixels. Coordinates in an SVG are whole numbers.
const MAX_DISTANCE: f64 = 2.0;

#[tokio::test]
async fn an_edge_of_a_drawing_and_of_a_page_is_in_its_place_at_64_times() -> Result<()> {
    let seen = programs::run_script("vectors.mjs", json!({ "tiler": system::built("tiler")? })).await?;
    let engines: BTreeMap<String, BTreeMap<String, Vec<f64>>> = serde_json::from_value(seen)?;
    assert_eq!(engines.keys().collect::<Vec<_>>(), ["Chromium", "Firefox", "WebKit"]);
    for (engine, documents) in engines {
        assert_eq!(documents.keys().collect::<Vec<_>>(), ["icon.svg", "page.pdf", "sheet.svg"]);
        for (document, distances) in documents {
            assert!(
                distances.iter().all(|distance| distance.abs() <= MAX_DISTANCE),
                "{document} in {engine}: {distances:?}"
            );
        }
    }
    Ok(())
}
