//! Tests renderers whose source is still arriving.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use edgezoom_codecs::Layout;
use edgezoom_content::Failure;
use edgezoom_tiler::fetch::Arrival;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use tokio::sync::watch;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg, file};

use crate::renderer::{TILER, finished, render};

/// Renders a source of which three quarters have arrived. The rest arrives once `holds` is true for an output, or after the
/// renderer has waited for a while.
async fn render_arriving(
    bytes: &[u8],
    limits: &Limits,
    holds: impl Fn(&Output) -> bool,
) -> Result<Vec<Output>, Failure> {
    render_arriving_with(bytes, &RenderOptions::default(), limits, holds).await
}

async fn render_arriving_with(
    bytes: &[u8],
    options: &RenderOptions,
    limits: &Limits,
    holds: impl Fn(&Output) -> bool,
) -> Result<Vec<Output>, Failure> {
    let announced = Some(bytes.len() as u64);
    let arrived = |bytes, is_complete| Arrival {
        beginning: 1,
        file: Arc::new(file(&[])),
        bytes,
        announced,
        is_complete,
    };
    let first = Arrival { file: Arc::new(file(bytes)), ..arrived(bytes.len() as u64 / 4 * 3, false) };
    let (sender, arrivals) = watch::channel(Some(first.clone()));
    let mut renderer = Renderer::start_arriving(Path::new(TILER), &first, arrivals, options, limits).unwrap();
    let mut outputs = Vec::new();
    let complete = || sender.send_replace(Some(arrived(bytes.len() as u64, true)));
    let mut is_complete = false;
    loop {
        match tokio::time::timeout(Duration::from_millis(1600), renderer.next()).await {
            Ok(output) => outputs.push(output.map_err(crate::failure)?),
            Err(_) if is_complete => {}
            Err(_) => {
                complete();
                is_complete = true;
            }
        }
        match outputs.last() {
            Some(Output::Finished { .. }) => return Ok(outputs),
            Some(output) if !is_complete && holds(output) => {
                complete();
                is_complete = true;
            }
            _ => {}
        }
    }
}

fn tiles(outputs: Vec<Output>) -> Vec<(u32, u32, u32, Vec<u8>)> {
    let mut tiles: Vec<_> = outputs
        .into_iter()
        .filter_map(|output| match output {
            Output::Tile(tile) => Some((tile.level, tile.column, tile.row, tile.bytes.to_vec())),
            _ => None,
        })
        .collect();
    tiles.sort();
    tiles
}

#[tokio::test]
async fn an_arriving_source_yields_tiles_before_its_last_byte_and_the_same_pyramid() {
    let picture = Picture::photo(1700, 2100, Layout::Rgb);
    let sources = [
        files::jpeg(&picture, Jpeg::default()),
        files::png(&picture, |_| {}),
        files::png(&Picture::photo(900, 1300, Layout::Rgba), |_| {}),
        files::tiff(&picture, 16, None),
    ];
    for (number, source) in sources.into_iter().enumerate() {
        let limits = Limits::default();
        let whole = tiles(render(file(&source), &RenderOptions::default(), &limits).await.unwrap());
        let is_tile = |output: &Output| matches!(output, Output::Tile(_));
        assert_eq!(tiles(render_arriving(&source, &limits, is_tile).await.unwrap()), whole, "{number}");
    }
}

#[tokio::test]
async fn an_arriving_picture_yields_a_coarse_picture_before_its_last_byte() {
    let picture = Picture::photo(1700, 2100, Layout::Rgb);
    let options = RenderOptions { coarse_every: Some(Duration::ZERO), ..RenderOptions::default() };
    let is_coarse = |output: &Output| matches!(output, Output::Coarse(_));
    for progressive in [false, true] {
        let source = files::jpeg(&picture, Jpeg { progressive, ..Jpeg::default() });
        // The source is completed only after a coarse picture, or after a while.
        let outputs = render_arriving_with(&source, &options, &Limits::default(), is_coarse).await.unwrap();
        let first = outputs.iter().position(is_coarse).unwrap();
        let last_tile = outputs.iter().rposition(|output| matches!(output, Output::Tile(_))).unwrap();
        assert!(first < last_tile);
        if progressive {
            assert!(first < outputs.iter().position(|output| matches!(output, Output::Started(_))).unwrap());
        }
    }
}

#[tokio::test]
async fn waiting_for_the_source_does_not_count_as_idle_time() {
    let source = files::jpeg(&Picture::photo(900, 1300, Layout::Rgb), Jpeg::default());
    let limits = Limits { renderer_idle: Duration::from_secs(1), ..Limits::default() };
    finished(&render_arriving(&source, &limits, |_| false).await.unwrap());
}

#[tokio::test]
async fn a_png_with_an_orientation_at_its_end_must_be_rendered_again() {
    let upright = files::png(&Picture::photo(900, 1300, Layout::Rgb), |_| {});
    let with_exif = |orientation| {
        let block = files::exif(orientation);
        let mut file = upright[..upright.len() - 12].to_vec();
        file.extend((block.len() as u32).to_be_bytes());
        let chunk = [b"eXIf".as_slice(), &block].concat();
        file.extend(&chunk);
        file.extend([0; 4]); // the checksum, which is ignored
        file.extend(&upright[upright.len() - 12..]);
        file
    };
    let any = |_: &Output| true;
    finished(&render_arriving(&with_exif(1), &Limits::default(), any).await.unwrap());
    let failure = render_arriving(&with_exif(6), &Limits::default(), any).await.unwrap_err();
    assert_eq!(failure.message, "The source has to be read again, as a whole.");
}
