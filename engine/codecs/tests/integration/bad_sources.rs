//! Sources that are truncated, broken, in no known format, or mislabelled fail quickly and with the right error.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use edgezoom_codecs::{Bounds, Damage, DecodeOptions, Layout, SourceError};
use proptest::prelude::*;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg, decode, decode_within};

fn is_too_large(error: &SourceError) -> bool {
    use SourceError as E;
    matches!(error, E::TooManyPixels { .. } | E::TooLong { .. } | E::TooMuchMemory { .. } | E::OutOfMemory)
}

fn one_of_each() -> Vec<(&'static str, Vec<u8>)> {
    let picture = Picture::photo(301, 203, Layout::Rgb);
    let grey = Picture::photo(301, 203, Layout::Grey);
    let frame = gif::Frame::from_indexed_pixels(301, 203, grey.pixels, None);
    vec![
        ("jpeg", files::jpeg(&picture, Jpeg::default())),
        ("progressive jpeg", files::jpeg(&picture, Jpeg { progressive: true, exif: None })),
        ("png", files::png(&picture, |_| {})),
        ("webp", files::webp(&picture, None)),
        ("gif", files::gif((301, 203), &frame)),
        ("bmp", files::bmp(&picture)),
        ("tiff", files::tiff(&picture, 16, None)),
    ]
}

/// Returns the decoded picture and the damage, if part of it is missing.
fn read(bytes: &[u8]) -> Result<(Picture, Option<Damage>), SourceError> {
    let mut source = edgezoom_codecs::open(files::file(bytes), BOUNDS)?;
    let picture = Picture::read(&mut *source)?;
    Ok((picture, source.damage()))
}

fn is_refused_when_strict(bytes: &[u8]) -> bool {
    let options = DecodeOptions { strict: true, ..DecodeOptions::default() };
    let read = edgezoom_codecs::open_with(files::file(bytes), BOUNDS, &options)
        .and_then(|mut source| Picture::read(&mut *source));
    matches!(read, Err(SourceError::Corrupt { .. }))
}

/// Formats that may be refused when truncated: a TIFF's directory is usually at its end.
const MAY_BE_REFUSED: &[&str] = &["tiff"];

#[test]
fn a_file_that_is_cut_off_anywhere_is_shown_as_far_as_possible() {
    for (format, bytes) in one_of_each() {
        let (whole, damage) = read(&bytes).unwrap();
        assert_eq!(damage, None, "{format}");
        for tenths in 1..=9 {
            let cut = &bytes[..bytes.len() * tenths / 10];
            assert!(is_refused_when_strict(cut), "{format} at {tenths}0 %");
            let may_be_refused = tenths == 1 || MAY_BE_REFUSED.contains(&format);
            let (shown, damage) = match read(cut) {
                Err(SourceError::Corrupt { .. }) if may_be_refused => continue,
                shown => shown.unwrap_or_else(|error| panic!("{format} at {tenths}0 %: {error}")),
            };
            match damage {
                Some(Damage::FromRow { row, rows }) => {
                    assert_eq!(rows, 203, "{format}");
                    let row = row as usize;
                    assert!(row.abs_diff(203 * tenths / 10) < 25, "{format} at {tenths}0 %: row {row}");
                    let pixels = match format {
                        "bmp" => 203 - row..203, // stored from the bottom up
                        _ => 0..row,
                    };
                    let bytes = pixels.start * whole.row_bytes()..pixels.end * whole.row_bytes();
                    if shown.layout == whole.layout {
                        assert!(
                            shown.pixels[bytes.clone()] == whole.pixels[bytes],
                            "{format} at {tenths}0 %"
                        );
                    }
                }
                Some(damage) => assert_eq!((format, damage), ("progressive jpeg", Damage::Partial)),
                None => panic!("{format} at {tenths}0 % is reported as complete"),
            }
        }
    }
}

#[test]
fn a_jpeg_with_a_damaged_part_is_shown_up_to_it() {
    let mut bytes = files::jpeg(&Picture::photo(301, 203, Layout::Rgb), Jpeg::default());
    let end = bytes.len() - 2;
    bytes.drain(end - 2000..end);
    assert!(bytes.ends_with(&[0xff, 0xd9]));
    let (_, damage) = read(&bytes).unwrap();
    assert!(matches!(damage, Some(Damage::FromRow { row: 150..203, rows: 203 })), "{damage:?}");
    assert!(is_refused_when_strict(&bytes));
}

#[test]
fn a_damaged_picture_is_still_turned_and_colour_managed() {
    let picture = Picture::photo(400, 300, Layout::Rgb);
    for orientation in [2, 3, 6] {
        let block = files::exif(orientation);
        let file = files::jpeg(&picture, Jpeg { exif: Some(&block), progressive: false });
        let (whole, _) = read(&file).unwrap();
        let (shown, damage) = read(&file[..file.len() / 2]).unwrap();
        let Some(Damage::FromRow { row, rows: 300 }) = damage else { panic!("{damage:?}") };
        assert_eq!(shown.size(), whole.size());
        let (inside, outside) = match orientation {
            2 => ((9, row - 9), (9, 290)),
            3 => ((9, 299 - (row - 9)), (9, 9)),
            _ => ((299 - (row - 9), 9), (9, 9)),
        };
        assert_eq!(shown.at(inside.0, inside.1), whole.at(inside.0, inside.1), "{orientation}");
        assert_eq!(shown.at(outside.0, outside.1), [128; 3], "{orientation}");
    }
}

#[test]
fn harmless_defects_of_a_jpeg_are_ignored() {
    let picture = Picture::photo(64, 48, Layout::Rgb);
    let plain = files::jpeg(&picture, Jpeg::default());
    let expected = decode(&plain).unwrap();
    let trailing = [plain.as_slice(), b"what a camera appends"].concat();
    assert_eq!(decode(&trailing).unwrap(), expected);
    // Extraneous bytes between two segments, which libjpeg reports as a warning.
    let mut extraneous = plain;
    extraneous.splice(20..20, [0, 0, 0]);
    assert_eq!(decode(&extraneous).unwrap(), expected);
}

#[test]
fn a_file_that_is_not_a_picture_is_unsupported() {
    for bytes in [
        b"".as_slice(),
        b"a",
        b"Dear reader, this is a text.\n",
        b"BMX is a kind of cycling, and this is a text about it.",
        b"<html><body>Not found</body></html>",
        b"%PDF-1.7\n",
        &[0; 1000],
    ] {
        let error = decode(bytes).unwrap_err();
        let is_unsupported =
            matches!(error, SourceError::NoBytes | SourceError::Unknown { .. } | SourceError::NoPdf);
        assert!(is_unsupported, "{:?}: {error}", bytes.get(..10));
    }
}

#[test]
fn error_messages_are_sentences_without_paths() {
    let truncated = &files::jpeg(&Picture::photo(64, 48, Layout::Rgb), Jpeg::default())[..640];
    let message = decode(truncated).unwrap_err().to_string();
    assert_eq!(message, "The JPEG is cut off or broken: it ends before its last row.");
    let message = decode(b"").unwrap_err().to_string();
    assert_eq!(message, "The file is empty.");
}

#[test]
fn a_header_with_an_excessive_size_is_refused_before_anything_is_allocated() {
    let picture = Picture::photo(16, 16, Layout::Rgb);
    let mut jpeg = files::jpeg(&picture, Jpeg::default());
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
    let mut progressive = files::jpeg(&picture, Jpeg { progressive: true, exif: None });
    let frame = progressive.windows(2).position(|marker| marker == [0xff, 0xc2]).unwrap();
    progressive[frame + 5..frame + 9].copy_from_slice(&[0xea, 0x60, 0xea, 0x60]);
    let mut bmp = files::bmp(&picture);
    bmp[18..26].copy_from_slice(&[0, 0xf0, 0, 0, 0, 0xf0, 0, 0]);
    let frame = gif::Frame::from_indexed_pixels(1, 1, vec![0], None);
    let gif = files::gif((u16::MAX, u16::MAX), &frame);

    let started = Instant::now();
    for bytes in [jpeg, progressive.clone(), bmp, gif] {
        assert!(is_too_large(&decode(&bytes).unwrap_err()));
    }
    // The memory limit still applies if the pixel limit is lifted.
    let bounds = Bounds { pixels: u64::MAX, ..BOUNDS };
    let error = decode_within(&progressive, bounds).unwrap_err();
    assert!(is_too_large(&error));
    assert!(error.to_string().contains("progressive"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(60), "gigapixels were decoded first");
}

#[test]
fn a_side_beyond_the_limit_is_refused() {
    let long = files::png(&Picture::photo(2000, 1, Layout::Grey), |_| {});
    let error = decode_within(&long, Bounds { side: 1999, ..BOUNDS }).unwrap_err();
    assert!(is_too_large(&error));
    assert_eq!(error.to_string(), "The picture has 2000×1 pixels, more than the 1999 allowed per side.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Decoding a modified file ends with a picture or an error. A panic would only end the renderer process, but is
    /// still a bug.
    #[test]
    fn broken_files_end_in_a_picture_or_an_error(
        which in 0usize..7, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        static FILES: OnceLock<Vec<(&str, Vec<u8>)>> = OnceLock::new();
        let (_, mut bytes) = FILES.get_or_init(one_of_each)[which].clone();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        let bounds = Bounds { pixels: 20_000_000, memory: 200 << 20, ..BOUNDS };
        let _ = decode_within(&bytes, bounds);
    }
}
