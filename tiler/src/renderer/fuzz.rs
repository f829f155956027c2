//! Fuzz targets for the renderer with hostile sources, and for its parent with a hostile renderer. Each function takes
//! any bytes, and panics if an invariant is broken. The tests below run them briefly on mutated inputs; the programs in
//! `tests/fuzz/` run them under libFuzzer. Pictures are rendered by the renderer's own code but in this process, so
//! that the fuzzer sees the coverage; `tests/integration/fuzz.rs` renders in the sandboxed process.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::num::{NonZeroU32, NonZeroUsize};

use bytes::BytesMut;
use edgezoom_codecs::{Mosaic, SourceFile, TemporaryFile};
use edgezoom_content::{Credits, FailureCode, Size};
use url::Url;

use super::child;
use super::description::{self, DescriptionRequest, Lead, Target};
use super::error::RenderError;
use super::lists::{self, ListRequest};
use super::protocol::FrameWriter;
use super::reported;
use super::request::{RenderOptions, RenderRequest};
use super::validator::FrameValidator;
use super::{Listed, Output};
use crate::limits::Limits;

/// Takes the output of a renderer process.
///
/// # Panics
/// A pyramid ends before it begins.
pub fn frames(bytes: &[u8]) {
    let mut validator = FrameValidator::new(request(0));
    let mut received = BytesMut::from(bytes);
    let mut has_begun = false;
    while let Ok(Some(output)) = validator.next(&mut received) {
        has_begun |= matches!(output, Output::Started(_));
        assert!(has_begun || matches!(output, Output::Coarse(_)), "{output:?} before the pyramid");
    }
}

/// Reads the description of a picture.
///
/// # Panics
/// It leads to no URL, or nowhere without a reason.
pub fn description(bytes: &[u8]) {
    for url in [None, Some("https://a.example/b/info.json#page=2".to_owned())] {
        let request = DescriptionRequest { url, page: NonZeroU32::new(2), is_of_manifest: false };
        match description::read(bytes, &request) {
            Ok(Some(Lead { target, credits, tiles })) => {
                let url = match target {
                    Target::Description(url) | Target::Picture(url, _) => Some(url),
                    Target::Tiles => {
                        assert!(tiles.is_some(), "it leads nowhere");
                        None
                    }
                };
                let corners = tiles.iter().flat_map(|tiles| {
                    let (columns, rows) = tiles.mosaic.grid();
                    [tiles.url(0, 0), tiles.url(columns - 1, rows - 1)]
                });
                for url in url.into_iter().chain(corners) {
                    assert!(Url::parse(&url).is_ok(), "{url}");
                }
                // The parent cleans the process' answer again.
                let json = serde_json::to_string(&credits).unwrap_or_default();
                assert_eq!(serde_json::from_str::<Credits>(&json).ok(), Some(*credits));
            }
            Ok(None) => {}
            Err(failure) => assert!(failure.message.ends_with('.'), "{failure:?}"),
        }
    }
}

/// Reads a list of pictures.
///
/// # Panics
/// What is written about it is not what its parent reads.
pub fn list(bytes: &[u8]) {
    let request = ListRequest { url: Some("https://a.example/b/list.csv".to_owned()) };
    let (mut written, mut count) = (Vec::new(), 0);
    assert!(lists::write(bytes, &request, &mut written).is_ok());
    for line in written.split_inclusive(|byte| *byte == b'\n') {
        assert!(serde_json::from_slice::<Listed>(line).is_ok(), "{}", String::from_utf8_lossy(line));
        count += 1;
    }
    assert!(count <= 3 * bytes.len() + 1, "{count} of {} bytes", bytes.len());
}

/// Renders a file of any format as the process does, except for the sandbox and PDFium.
///
/// # Panics
/// Rendering fails without a reason, or the parent refuses the output.
pub fn picture(bytes: &[u8]) {
    rendered(bytes, request(bytes.len() as u64));
}

/// Renders a file with four tiles as the process does.
///
/// # Panics
/// As [`picture`].
pub fn tiles(bytes: &[u8]) {
    let side = |side: u32| Size { width: side, height: side };
    let mosaic = Some(Mosaic { size: side(20), tile: side(10), overlap: 1 });
    rendered(bytes, RenderRequest { mosaic, ..request(bytes.len() as u64) });
}

/// Renders a file, and reads the output as the parent does.
fn rendered(bytes: &[u8], request: RenderRequest) {
    let Ok(mut written) = render(bytes, &request) else { return };
    let mut received = BytesMut::new();
    let mut chunk = vec![0; 64 << 10];
    let mut validator = FrameValidator::new(request);
    loop {
        match validator.next(&mut received) {
            Ok(Some(Output::Finished { .. })) => return,
            Ok(Some(_)) => {}
            Ok(None) => {
                let read = written.read(&mut chunk).unwrap_or(0);
                assert!(read > 0, "the output ends before the last frame");
                received.extend_from_slice(&chunk[..read]);
            }
            Err(RenderError::Reported(failure)) => {
                let has_reason = failure.code != FailureCode::Internal && failure.message.ends_with('.');
                assert!(has_reason, "{failure:?}");
                return;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Renders into a file. Returns only errors of the machine.
fn render(bytes: &[u8], request: &RenderRequest) -> std::io::Result<File> {
    let mut source = tempfile::tempfile()?;
    source.write_all(bytes)?;
    source.rewind()?;
    let again = || source.try_clone().map(SourceFile::from);
    let sources = [again()?, again()?, again()?];
    let mut prepared = match request.mosaic {
        Some(mosaic) => Ok(mosaic.prepare()),
        None => edgezoom_codecs::prepare(&mut again()?, None),
    };
    let temporary = TemporaryFile::new(tempfile::tempfile()?, request.file);
    prepared = prepared.map(|prepared| prepared.with_temporary_file(temporary));
    let mut written = tempfile::tempfile()?;
    let frames = FrameWriter::new(written.try_clone()?);
    if let Err(error) = child::render(sources, prepared, request, &frames) {
        frames.failed(&reported::of_build(&error))?;
    }
    written.rewind()?;
    Ok(written)
}

fn request(bytes: u64) -> RenderRequest {
    let mut options =
        RenderOptions { threads: NonZeroUsize::MIN, previews: true, ..RenderOptions::default() };
    options.coarse_every = Some(std::time::Duration::ZERO);
    options.drawing.page_width = 256;
    options.drawing.svg_side = 256;
    let limits = Limits {
        pixels: 1_000_000,
        drawn_pixels: 250_000,
        page_pixels: 250_000,
        renderer_memory: 256 << 20,
        renderer_file: 64 << 20,
        ..Limits::default()
    };
    match RenderRequest::new(&options, &limits, Some(bytes)) {
        Ok(request) => request,
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn the_parent_and_the_renderer_withstand_any_bytes() {
        hunt(&[
            Target {
                name: "frames",
                run: frames,
                seeds: &[
                    b"B\x65\0\0\0\x04{\"size\":{\"width\":1,\"height\":1},\"tileSize\":512,\"tileOverlap\"\
                        :0,\"tileFormat\":\"jpg\"}",
                    b"P\x04\0\0\0\x01\0\0\0",
                    b"T\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xd8\xff\xe0",
                    b"V\x05\0\0\0\x01\xff\xd8\xff\xe0",
                    b"R\x10\0\0\0{\"credit\":\"Ann\"}",
                    b"F\0\0\0\0",
                    b"X\x26\0\0\0{\"code\":\"too-complex\",\"message\":\"a.\"}",
                ],
            },
            Target {
                name: "description",
                run: description,
                seeds: &[
                    br#"{"@context":"http://iiif.io/api/image/3/context.json","id":"https://a.example/b","width":9,"height":"6","profile":"level0","sizes":[{"width":3,"height":2}]}"#,
                    br#"{"protocol":"http://iiif.io/api/image","@id":"//c/d?e","width":9,"height":6,"profile":["level2",{"maxArea":7}],"attribution":[{"@value":"<b>g</b>","@language":"en"}],"license":["h"]}"#,
                    br#"{"@context":["http://iiif.io/api/presentation/3/context.json"],"type":"Manifest","requiredStatement":{"value":{"en":["g"]}},"rights":"https://creativecommons.org/licenses/by/4.0/","items":[{},{"items":[{"items":[{"body":[{"type":"Choice","items":[{"type":"Image","id":"e.jpg","service":{"id":"f/","type":"ImageService2"}}]}]}]}]}]}"#,
                    br#"{"@context":"http://iiif.io/api/image/3/context.json","id":"b","width":9,"height":6,"profile":"level0","tiles":[{"width":4,"height":2,"scaleFactors":[1,2]}]}"#,
                    br#"<?xml version="1.0"?><Image xmlns="http://schemas.microsoft.com/deepzoom/2008" TileSize="254" Overlap="1" Format="jpg" Url="c_files/"><Size Width="900" Height="600"/></Image>"#,
                    br#"{"@context":"http://iiif.io/api/presentation/2/context.json","@type":"sc:Manifest","sequences":[{"canvases":[0,{"images":[{"resource":{"@type":"oa:Choice","default":{"@type":"dctypes:Image","@id":"e.jpg"}}}]}]}]}"#,
                ],
            },
            Target {
                name: "tiles",
                run: tiles,
                seeds: &[
                    b"D\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\
                        \x00\x00\x00\x00\x00\x00\x00\x00\x00\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\
                        \x02\x00\x00\x00\x01\x08\x00\x00\x00\x00\xd1I V\x00\x00\x00\x0bIDATx\x9cc\x10h\x00\x00\x00\
                        \xa3\x00\x91\x0ee+\xb0\x00\x00\x00\x00IEND\xaeB`\x82GIF",
                ],
            },
            Target {
                name: "list",
                run: list,
                seeds: &[
                    b"url;title\n\"https://a.example/1\";\"b \"\"c\"\"\"\n",
                    br#"{"url":"https://a.example/1","alt":"b"}"#,
                    b"<urlset><url><loc>https://a.example/&amp;&#x20;</loc><i:image><i:loc>d</i:loc></i:image></url></urlset>",
                    br#"{"@context":"","type":"Manifest","label":{"en":["a"]},"items":[{"items":[{"items":[{"body":{"type":"Image","id":"b"}}]}]},{}]}"#,
                    br#"{"@context":"","type":"Collection","items":[{"id":"a"},{}]}"#,
                ],
            },
            // A few small files. `tests/integration/fuzz.rs` and the corpus have files of each format.
            Target {
                name: "picture",
                run: picture,
                seeds: &[
                    b"P3 3 2 255 255 0 0 0 255 0 0 0 255 9 8 7 6 5 4 3 2 1",
                    b"#define a_width 8\n#define a_height 2\nstatic char a_bits[] = { 0x10, 0xff };",
                    b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='4' height=\
                        '5' fill='url(#a)'/></svg>",
                    b"farbfeld\0\0\0\x01\0\0\0\x01\0\x01\0\x02\0\x03\xff\xff",
                    b"qoif\0\0\0\x02\0\0\0\x02\x04\0\xfe\x01\x02\x03\xc2\0\0\0\0\0\0\0\x01",
                ],
            },
        ]);
    }
}
