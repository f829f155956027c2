//! From a page to tiles. The renderer process reads the screenshot from a file, or through a pipe during the capture.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use edgezoom_codecs::formats::screenshot::{header, strip_header};
use edgezoom_content::{Failure, FailureCode, Size, SourceUrl, TileFormat};
use edgezoom_tiler::browser::Pages;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Built, Output, RenderOptions, Renderer};

use crate::processes;
use crate::screenshot::{settings, stream_to_file};
use crate::site::Site;

const BANDS: &str = "<!doctype html><style>body{margin:0} div{height:100px}</style><body><script>
    for (let i = 0; i < 100; i++) { const band = document.createElement('div');
      band.style.background = `rgb(${i}, ${255 - i}, 7)`; document.body.append(band) }</script>";

/// Renders to PNG tiles. Returns the size, and the colours at the centres of the tiles in column 2 of the highest
/// level.
async fn render(source: File) -> Result<(Size, Vec<[u8; 3]>), Failure> {
    let program = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let options = RenderOptions { format: Some(TileFormat::Png), ..RenderOptions::default() };
    let mut renderer = Renderer::start(program, source, &options, &Limits::default()).unwrap();
    let (mut colours, mut top) = (Vec::new(), 0);
    loop {
        match renderer.next().await.map_err(crate::failure)? {
            Output::Started(dzi) => top = dzi.max_level(),
            Output::Progress(_)
            | Output::Coarse(_)
            | Output::Preview(..)
            | Output::Text { .. }
            | Output::Vectors(_)
            | Output::PixelsOnly(_)
            | Output::Title(_)
            | Output::Credits(_) => {}
            Output::Tile(tile) if tile.level == top && tile.column == 2 => {
                colours.push((tile.row, middle(&tile.bytes)));
            }
            Output::Tile(_) => {}
            Output::Finished(Built { dzi, .. }) => {
                colours.sort_unstable();
                return Ok((dzi.size, colours.into_iter().map(|(_, colour)| colour).collect()));
            }
        }
    }
}

fn middle(png: &[u8]) -> [u8; 3] {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let channels = frame.color_type.samples();
    let at = (frame.height / 2 * frame.width + frame.width / 2) as usize * channels;
    pixels[at..at + 3].try_into().unwrap()
}

/// Returns the colours of [`BANDS`] at these positions. Tiles have 512 rows, and bands 200.
fn expected() -> Vec<[u8; 3]> {
    (0..40)
        .map(|row| {
            let first = row * 512;
            let end = (first + 512).min(20_000);
            let band = (first + (end - first) / 2) / 200;
            [band as u8, 255 - band as u8, 7]
        })
        .collect()
}

#[tokio::test]
async fn a_screenshot_is_rendered_from_a_file_and_during_the_capture() {
    let site = Site::page(BANDS);
    let url = SourceUrl::parse(&site.url("/")).unwrap();
    let pages = Pages::new(settings());
    let expected = (Size { width: 2560, height: 20_000 }, expected());

    let captured = stream_to_file(pages.open(&url, None).await.unwrap()).await.unwrap();
    assert_eq!(render(captured).await.unwrap(), expected);

    let (strips, _capturing) = pages.open(&url, None).await.unwrap().stream().unwrap();
    assert_eq!(render(strips).await.unwrap(), expected);
}

#[tokio::test]
async fn when_a_page_fails_during_the_capture_its_error_is_the_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.folder = folder.path().to_owned();
    let url = SourceUrl::parse(&Site::page(BANDS).url("/")).unwrap();
    let page = Pages::new(settings).open(&url, None).await.unwrap();
    processes::kill_renderers(folder.path());
    let (strips, capturing) = page.stream().unwrap();
    let rendering = render(strips).await.unwrap_err();
    assert_eq!(rendering.code, FailureCode::CorruptSource);
    let error = capturing.error().await.unwrap();
    assert_eq!(error.to_string(), "The page crashed the browser.");
}

#[tokio::test]
async fn a_malformed_screenshot_is_corrupt() {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 4, 3);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(&[9; 48]).unwrap();
    let strips = |width: u32, height: u32, strips: &[&[u8]]| {
        let mut file = tempfile::tempfile().unwrap();
        let mut bytes = header(Size { width, height }, &[]).to_vec();
        for strip in strips {
            bytes.extend(strip_header(strip).unwrap());
            bytes.extend(*strip);
        }
        file.write_all(&bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file
    };
    let truncated = &png[..png.len() - 30];
    assert_eq!(render(strips(4, 6, &[&png, &png])).await.unwrap().0, Size { width: 4, height: 6 });
    for (file, what) in [
        (strips(4, 6, &[&png]), "a strip is missing"),
        (strips(4, 5, &[&png, &png]), "a strip is too high"),
        (strips(5, 3, &[&png]), "a strip is too narrow"),
        (strips(4, 3, &[truncated]), "a strip is truncated"),
        (strips(4, 3, &[b"not a picture"]), "a strip is not a PNG file"),
        (strips(4, 3, &[&[]]), "a strip is empty"),
        (strips(0, 3, &[&png]), "the width is 0"),
    ] {
        assert_eq!(render(file).await.unwrap_err().code, FailureCode::CorruptSource, "{what}");
    }
}
