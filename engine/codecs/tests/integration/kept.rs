//! Formats whose decoders keep much of a picture: decoding with little memory gives the same pixels, or is refused.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::{Command, Stdio};

use edgezoom_codecs::{
    AsPlanes, Bounds, Damage, DecodeOptions, Layout, RowReader, SourceError, TemporaryFile, prepare, ycbcr420,
};

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, Jpeg};
use edgezoom_test_support::likeness::{Tolerance, compare};
use edgezoom_test_support::reference::{Detail, Judge, packages};

const LIBWEBP: Judge = Judge { set: "webp", version: || packages(&["webp"]) };

/// Size limit of the temporary file, in bytes. More than any picture here needs.
const FILE_BYTES: u64 = 1 << 30;

fn open(
    bytes: &[u8],
    memory: u64,
    file_bytes: Option<u64>,
    options: &DecodeOptions,
) -> Result<Box<dyn RowReader>, SourceError> {
    let mut file = files::file(bytes);
    let mut prepared = prepare(&mut file, None)?;
    if let Some(bytes) = file_bytes {
        prepared = prepared.with_temporary_file(TemporaryFile::new(tempfile::tempfile().unwrap(), bytes));
    }
    prepared.open(file, Bounds { memory, ..BOUNDS }, options)
}

fn read(bytes: &[u8], memory: u64) -> Picture {
    let mut reader = open(bytes, memory, Some(FILE_BYTES), &DecodeOptions::default()).unwrap();
    Picture::read(&mut *reader).unwrap()
}

fn read_planes(bytes: &[u8], memory: u64) -> Vec<u8> {
    let options = DecodeOptions { planes: AsPlanes::Halved, ..DecodeOptions::default() };
    let mut reader = open(bytes, memory, Some(FILE_BYTES), &options).unwrap();
    assert_eq!(reader.layout(), Layout::YCbCr420);
    let size = reader.size();
    let mut rows = vec![
        0;
        Layout::YCbCr420.row_bytes(size.width)
            * size.height.next_multiple_of(ycbcr420::ROWS) as usize
    ];
    reader.read_rows(&mut rows).unwrap();
    rows
}

#[test]
fn interlaced_png_of_all_kinds_and_sizes_is_decoded_from_the_file() {
    for (width, height) in [(1, 1), (2, 3), (4, 1), (5, 9), (8, 8), (33, 17), (301, 203)] {
        for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
            for sample_bytes in [1, 2] {
                let picture = Picture::noise(width, height, layout);
                let mut file = Vec::new();
                files::interlaced_png(&picture, height, sample_bytes, &mut file);
                // The whole picture in memory, parts in memory, parts in the file.
                let whole = picture.pixels.len() as u64;
                for memory in [1 << 30, 3 * whole, 0] {
                    let read = read(&file, memory);
                    assert!(read == picture, "{width}x{height}, {layout:?}, {sample_bytes}, {memory} bytes");
                }
            }
        }
    }
}

/// Cuts the last marker off a JPEG. Such a file is decoded by libjpeg, which keeps the coefficients.
fn without_end(mut file: Vec<u8>) -> Vec<u8> {
    file.truncate(file.len() - 2);
    file
}

#[test]
fn a_progressive_jpeg_that_libjpeg_decodes_looks_as_one_decoded_by_rows() {
    for layout in [Layout::Grey, Layout::Rgb] {
        let picture = Picture::photo(403, 301, layout);
        let whole = files::jpeg(&picture, Jpeg { progressive: true, ..Jpeg::default() });
        assert!(read(&without_end(whole.clone()), 1 << 30) == read(&whole, 0), "{layout:?}");
    }
}

#[test]
fn a_picture_that_does_not_fit_into_the_memory_is_refused() {
    let picture = Picture::photo(300, 200, Layout::Rgb);
    let mut interlaced = Vec::new();
    files::interlaced_png(&picture, 200, 1, &mut interlaced);
    let progressive = files::jpeg(&picture, Jpeg { progressive: true, ..Jpeg::default() });
    let refusal = |file: &[u8], memory, file_bytes| {
        let error = open(file, memory, file_bytes, &DecodeOptions::default()).err().unwrap();
        assert!(matches!(error, SourceError::TooMuchMemory { .. }), "{error}");
        error.to_string()
    };
    for file_bytes in [None, Some(1000)] {
        assert!(refusal(&interlaced, 2000, file_bytes).contains("an interlaced PNG"));
    }
    assert!(open(&progressive, 2000, None, &DecodeOptions::default()).is_ok(), "it is decoded by rows");
    // No other format has a use for the temporary file.
    let clear = Picture::photo(300, 200, Layout::Rgba);
    for (name, file) in [
        ("a progressive JPEG", without_end(progressive)),
        ("a WebP", webp(&clear, &["-q", "75"])),
        ("a JPEG XL", encoded(&picture, "cjxl", &["--quiet", "-e", "1", "in.png", "out.jxl"])),
        ("a HEIF", encoded(&picture, "avifenc", &["-s", "10", "in.png", "out.avif"])),
    ] {
        // The pixels would fit, but decoding them takes more.
        let message = refusal(&file, 185_000, Some(FILE_BYTES));
        assert!(message.contains(name), "{message}");
    }
}

/// Encodes a picture, `in.png`, with a program. Its last argument is the output.
fn encoded(picture: &Picture, program: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.png"), files::png(picture, |_| {})).unwrap();
    let status =
        Command::new(program).args(arguments).current_dir(folder.path()).stdout(Stdio::null()).status();
    assert!(status.unwrap().success(), "{program} {arguments:?}");
    std::fs::read(folder.path().join(arguments.last().unwrap())).unwrap()
}

/// Encodes a WebP with libwebp's `cwebp`.
fn webp(picture: &Picture, arguments: &[&str]) -> Vec<u8> {
    encoded(picture, "cwebp", &[&["-quiet"], arguments, &["in.png", "-o", "out.webp"]].concat())
}

#[test]
fn lossless_webp_is_decoded_with_every_transform() {
    let few = |count: u32| {
        Picture::new(301, 203, Layout::Rgb, move |x, y| {
            let index = (x / 7 + y / 5 * 3 + x * y / 300) % count;
            [(index * 37) as u8, (index * 91 + 5) as u8, (index * 151 + 9) as u8, 255]
        })
    };
    let pictures = [
        Picture::photo(301, 203, Layout::Rgb),
        Picture::photo(640, 11, Layout::Rgba),
        Picture::noise(67, 31, Layout::Rgba),
        Picture::photo(1, 1, Layout::Rgb),
        Picture::photo(1, 300, Layout::Rgb),
        few(1),
        few(2),
        few(4),
        few(13),
        few(200),
        few(1000),
    ];
    for (number, picture) in pictures.iter().enumerate() {
        // At level 9 the encoder tries all combinations of transforms, which takes seconds with all pixels.
        let (half_width, half_height) = (picture.width.div_ceil(2), picture.height.div_ceil(2));
        let quarter =
            Picture::new(half_width, half_height, picture.layout, |x, y| picture.colour(2 * x, 2 * y));
        for (level, picture) in [("0", picture), ("4", picture), ("9", &quarter)] {
            let file = webp(picture, &["-lossless", "-exact", "-z", level]);
            let read = read(&file, 1 << 30);
            assert_eq!((read.width, read.height), (picture.width, picture.height));
            // The encoder drops the alpha channel of an opaque picture.
            let shown = Picture::new(picture.width, picture.height, read.layout, |x, y| {
                let pixel = picture.at(x, y);
                [pixel[0], pixel[1], pixel[2], pixel.get(3).copied().unwrap_or(255)]
            });
            assert!(read == shown, "picture {number} at level {level}");
        }
    }
}

#[test]
fn lossy_webp_has_the_pixels_of_libwebp() {
    for (width, height) in [(301, 203), (300, 202), (400, 1), (1, 401), (17, 16)] {
        let picture = Picture::photo(width, height, Layout::Rgb);
        for quality in ["20", "75", "100"] {
            let name = format!("{width}x{height} {quality}");
            let file = LIBWEBP.file(&format!("{name}.webp"), || webp(&picture, &["-q", quality]));
            let shown = LIBWEBP.picture(&name, Detail::Lattice, || Some(dwebp(&file))).unwrap();
            shown
                .compare(&read(&file, 1 << 30), Tolerance::EXACT)
                .unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}

#[test]
fn webp_that_is_cut_off_has_its_first_rows() {
    let photo = Picture::photo(300, 400, Layout::Rgb);
    let clear = Picture::new(300, 400, Layout::Rgba, |x, y| {
        let [red, green, blue, _] = photo.colour(x, y);
        [red, green, blue, (x / 2) as u8]
    });
    let lossless = ["-lossless", "-exact", "-z", "4"].as_slice();
    let lossy = ["-q", "75"].as_slice();
    for (picture, arguments) in [(&photo, lossless), (&clear, lossless), (&photo, lossy), (&clear, lossy)] {
        let file = webp(picture, arguments);
        let whole = read(&file, 1 << 30);
        let cut = &file[..file.len() * 3 / 4];
        let mut reader = open(cut, 1 << 30, None, &DecodeOptions::default()).unwrap();
        let part = Picture::read(&mut *reader).unwrap();
        let Some(Damage::FromRow { row, rows: 400 }) = reader.damage() else {
            panic!("{:?}", reader.damage())
        };
        assert!((100..400).contains(&row), "{row}");
        let (there, missing) = part.pixels.split_at(picture.layout.row_bytes(300) * row as usize);
        assert!(there == &whole.pixels[..there.len()], "{arguments:?}");
        let value = if picture.layout == Layout::Rgba { 0 } else { 128 };
        assert!(missing.iter().all(|&sample| sample == value));
        let strict = DecodeOptions { strict: true, ..DecodeOptions::default() };
        let strict = open(cut, 1 << 30, None, &strict).and_then(|mut reader| Picture::read(&mut *reader));
        assert!(strict.is_err());
    }
}

/// The first frame is at (20, 10), and its canvas has no other pixels.
#[test]
fn the_first_frame_of_an_animated_webp_is_on_its_canvas() {
    let picture = Picture::photo(60, 40, Layout::Rgb);
    let coded = webp(&picture, &["-lossless", "-exact"]);
    let u24 = |number: u32| number.to_le_bytes()[..3].to_vec();
    let chunk = |name: &[u8; 4], content: &[u8]| {
        [name, (content.len() as u32).to_le_bytes().as_slice(), content].concat()
    };
    let frame = [u24(10), u24(5), u24(59), u24(39), u24(100), vec![0], coded[12..].to_vec()].concat();
    let canvas = [vec![0x12, 0, 0, 0], u24(99), u24(79)].concat();
    let chunks = [chunk(b"VP8X", &canvas), chunk(b"ANIM", &[0; 6]), chunk(b"ANMF", &frame)].concat();
    let file = chunk(b"RIFF", &[b"WEBP".as_slice(), &chunks].concat());
    let shown = Picture::new(100, 80, Layout::Rgba, |x, y| match (x.checked_sub(20), y.checked_sub(10)) {
        (Some(x @ ..60), Some(y @ ..40)) => picture.colour(x, y),
        _ => [0; 4],
    });
    assert!(read(&file, 1 << 30) == shown);
}

/// Decodes a WebP with libwebp's `dwebp`.
fn dwebp(file: &[u8]) -> Picture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.webp");
    std::fs::write(&path, file).unwrap();
    let output = Command::new("dwebp").args(["-quiet", "-o", "-"]).arg(&path).output().unwrap();
    files::decode(&output.stdout).unwrap()
}

#[test]
fn lossy_webp_looks_the_same_as_planes_and_as_rgb() {
    let picture = Picture::photo(320, 208, Layout::Rgb);
    let file = webp(&picture, &["-q", "90"]);
    let (rgb, planes) = (read(&file, 1 << 30), read_planes(&file, 1 << 30));
    let rows: Vec<_> = ycbcr420::pairs(&planes, 320).collect();
    let shown = Picture::new(320, 208, Layout::Rgb, |x, y| {
        let pair = &rows[y as usize / 2];
        let sample = |row: &[u8], x: u32| f64::from(row[x as usize]);
        let luma = sample(pair.luma[y as usize % 2], x);
        let [blue, red] = pair.chroma.map(|row| sample(row, x / 2) - 128.0);
        let colour = |value: f64| value.round().clamp(0.0, 255.0) as u8;
        // ITU-T T.871, section 7.
        [
            colour(luma + 1.402 * red),
            colour(luma - 0.344_14 * blue - 0.714_14 * red),
            colour(luma + 1.772 * blue),
            0,
        ]
    });
    compare(&shown, &rgb, Tolerance::lossy(0.6, 3, 0.9)).unwrap();
}

#[test]
fn broken_webp_never_panics() {
    let picture = Picture::photo(120, 90, Layout::Rgb);
    for arguments in [["-lossless", "-z", "6"].as_slice(), &["-q", "75"]] {
        let file = webp(&picture, arguments);
        for at in (12..file.len()).step_by(17) {
            let mut broken = file.clone();
            broken[at] ^= 0xa5;
            let _ = open(&broken, 1000, None, &DecodeOptions::default())
                .and_then(|mut reader| Picture::read(&mut *reader));
            let _ = open(&file[..at], 1000, None, &DecodeOptions::default())
                .and_then(|mut reader| Picture::read(&mut *reader));
        }
    }
}
