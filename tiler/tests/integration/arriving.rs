//! Tests renderers whose source is still arriving.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use edgezoom_codecs::Layout;
use edgezoom_content::Failure;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::Arrival;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use tokio::sync::watch;

use edgezoom_test_support::files::{self, Jpeg, file};
use edgezoom_test_support::{Picture, patience};

use crate::renderer::{TILER, finished, render};

/// A renderer whose source has arrived for three quarters.
struct Arriving {
    renderer: Renderer,
    arrivals: watch::Sender<Option<Arrival>>,
    length: u64,
}

impl Arriving {
    fn start(bytes: &[u8], options: &RenderOptions, limits: &Limits) -> Self {
        let length = bytes.len() as u64;
        let first = Arrival { file: Arc::new(file(bytes)), ..arrival(length, length / 4 * 3) };
        let (arrivals, receiver) = watch::channel(Some(first.clone()));
        let renderer = Renderer::start_arriving(Path::new(TILER), &first, receiver, options, limits).unwrap();
        Self { renderer, arrivals, length }
    }

    /// Announces the rest of the source.
    fn complete(&self) {
        self.arrivals.send_replace(Some(arrival(self.length, self.length)));
    }

    /// Returns the next output. Panics if none comes.
    async fn next(&mut self) -> Result<Output, Failure> {
        let Ok(output) = tokio::time::timeout(patience(), self.renderer.next()).await else {
            panic!("no output without the rest of the source")
        };
        output.map_err(crate::failure)
    }

    /// Adds the outputs up to the last one.
    async fn finish(&mut self, outputs: &mut Vec<Output>) -> Result<(), Failure> {
        while !matches!(outputs.last(), Some(Output::Finished { .. })) {
            outputs.push(self.next().await?);
        }
        Ok(())
    }
}

/// An arrival of some of the source's bytes.
fn arrival(length: u64, bytes: u64) -> Arrival {
    Arrival {
        beginning: 1,
        file: Arc::new(file(&[])),
        bytes,
        announced: Some(length),
        is_complete: bytes == length,
        is_coded: false,
    }
}

/// Renders a source of which three quarters have arrived. The rest arrives when `holds` returns true for an output;
/// panics if it never does.
async fn render_arriving(
    bytes: &[u8],
    options: &RenderOptions,
    holds: impl Fn(&Output) -> bool,
) -> Result<Vec<Output>, Failure> {
    let mut arriving = Arriving::start(bytes, options, &Limits::default());
    let mut outputs = Vec::new();
    while !outputs.last().is_some_and(&holds) {
        outputs.push(arriving.next().await?);
    }
    arriving.complete();
    arriving.finish(&mut outputs).await?;
    Ok(outputs)
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
    ];
    for (number, source) in sources.into_iter().enumerate() {
        let options = RenderOptions::default();
        let whole = tiles(render(file(&source), &options, &Limits::default()).await.unwrap());
        let is_tile = |output: &Output| matches!(output, Output::Tile(_));
        assert_eq!(tiles(render_arriving(&source, &options, is_tile).await.unwrap()), whole, "{number}");
    }
}

#[tokio::test]
async fn an_arriving_tiff_with_its_directory_at_the_end_yields_the_same_pyramid() {
    let source = files::tiff(&Picture::photo(1700, 2100, Layout::Rgb), 16, None);
    let (options, limits) = (RenderOptions::default(), Limits::default());
    let whole = tiles(render(file(&source), &options, &limits).await.unwrap());
    let mut arriving = Arriving::start(&source, &options, &limits);
    arriving.complete();
    let mut outputs = Vec::new();
    arriving.finish(&mut outputs).await.unwrap();
    assert_eq!(tiles(outputs), whole);
}

#[tokio::test]
async fn an_arriving_picture_yields_a_coarse_picture_before_its_last_byte() {
    let picture = Picture::photo(1700, 2100, Layout::Rgb);
    let options = RenderOptions { coarse_every: Some(Duration::ZERO), ..RenderOptions::default() };
    let is_coarse = |output: &Output| matches!(output, Output::Coarse(_));
    for progressive in [false, true] {
        let source = files::jpeg(&picture, Jpeg { progressive, ..Jpeg::default() });
        let outputs = render_arriving(&source, &options, is_coarse).await.unwrap();
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
    let limits = Limits { renderer_idle: Duration::from_millis(500), ..Limits::default() };
    let mut arriving = Arriving::start(&source, &RenderOptions::default(), &limits);
    // Reads the outputs meanwhile, because a renderer whose output is not read does not count as idle.
    let end = tokio::time::timeout(3 * limits.renderer_idle, arriving.finish(&mut Vec::new())).await;
    assert!(end.is_err(), "it did not wait for the last quarter: {end:?}");
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
    let (any, options) = (|_: &Output| true, RenderOptions::default());
    finished(&render_arriving(&with_exif(1), &options, any).await.unwrap());
    let failure = render_arriving(&with_exif(6), &options, any).await.unwrap_err();
    assert_eq!(failure.message, "The source has to be read again, as a whole.");
}
