//! TIFF as a container: pages, broken directory chains, damaged strips, and decoding with several threads.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::io::Cursor;
use std::num::{NonZeroU32, NonZeroUsize};

use edgezoom_codecs::{AsPlanes, Bounds, DecodeOptions, DrawingOptions, Layout, SourceError, open_with};
use tiff::encoder::{Compression, DeflateLevel, TiffEncoder, colortype::RGB8};
use tiff::tags::Tag;

use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, decode, decode_within, file};

/// Returns a TIFF of pages, each with its NewSubfileType.
fn pages(pages: &[(&Picture, u32)]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut out).unwrap().with_compression(Compression::Packbits);
    for (picture, kind) in pages {
        let mut image = encoder.new_image::<RGB8>(picture.width, picture.height).unwrap();
        image.encoder().write_tag(Tag::NewSubfileType, *kind).unwrap();
        image.write_data(&picture.pixels).unwrap();
    }
    out.into_inner()
}

fn page(bytes: &[u8], page: u32) -> Result<Picture, SourceError> {
    let drawing = DrawingOptions { page: NonZeroU32::new(page), ..DrawingOptions::default() };
    let options = DecodeOptions { drawing, ..DecodeOptions::default() };
    Picture::read(&mut *open_with(file(bytes), BOUNDS, &options)?)
}

#[test]
fn a_page_number_does_not_count_reduced_versions() {
    let [first, thumbnail, second] =
        [(30, 20), (15, 10), (21, 33)].map(|(width, height)| Picture::noise(width, height, Layout::Rgb));
    let file = pages(&[(&first, 0), (&thumbnail, 1), (&second, 2)]);
    assert_eq!(decode(&file).unwrap(), first);
    assert_eq!(page(&file, 1).unwrap(), first);
    assert_eq!(page(&file, 2).unwrap(), second);
    let error = page(&file, 3).unwrap_err();
    assert_eq!(error.to_string(), "The document has no page 3: its last one is 2.");
}

/// Returns the offset of each directory, and the position of its pointer to the next one.
fn chain(file: &[u8]) -> Vec<(usize, usize)> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut directory, mut found) = (number(4), Vec::new());
    while directory != 0 {
        let entries = usize::from(u16::from_le_bytes([file[directory], file[directory + 1]]));
        let next = directory + 2 + 12 * entries;
        found.push((directory, next));
        directory = number(next);
    }
    found
}

#[test]
fn a_directory_chain_ends_at_a_loop_or_outside_the_file() {
    let [first, second] = [40, 30].map(|width| Picture::noise(width, 20, Layout::Rgb));
    let file = pages(&[(&first, 0), (&second, 0)]);
    let chain = chain(&file);
    let (begin, _) = chain[0];
    let (_, end) = chain[1];
    for next in [begin as u32, chain[1].0 as u32, u32::MAX, file.len() as u32 - 1] {
        let mut broken = file.clone();
        broken[end..end + 4].copy_from_slice(&next.to_le_bytes());
        assert_eq!(decode(&broken).unwrap(), first);
        assert_eq!(page(&broken, 2).unwrap(), second);
        assert!(matches!(page(&broken, 3), Err(SourceError::NoSuchPage { last: 2, .. })));
    }
}

/// Returns the offsets of the first picture's strips.
fn strips(file: &[u8]) -> Vec<usize> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (begin, end) = chain(file)[0];
    let mut entries = file[begin + 2..end].chunks_exact(12);
    let offsets = entries.position(|entry| entry[..2] == 273u16.to_le_bytes()).unwrap();
    let entry = begin + 2 + 12 * offsets;
    (0..number(entry + 4)).map(|index| number(number(entry + 8) + 4 * index)).collect()
}

#[test]
fn only_the_rows_above_a_damaged_strip_are_read() {
    let picture = Picture::noise(50, 64, Layout::Rgb);
    let mut bytes = files::tiff(&picture, 16, None);
    // An LZW strip begins with a clear code, which is not all ones.
    let strips = strips(&bytes);
    assert_eq!(strips.len(), 4);
    for (index, at) in strips.into_iter().enumerate() {
        let kept = bytes[at..at + 8].to_vec();
        bytes[at..at + 8].fill(0xff);
        let strict = DecodeOptions { strict: true, ..DecodeOptions::default() };
        let mut reader = open_with(file(&bytes), BOUNDS, &strict).unwrap();
        let mut rows = Vec::new();
        let mut row = vec![0; 150];
        while rows.len() < picture.pixels.len() && reader.read_rows(&mut row).is_ok() {
            rows.extend_from_slice(&row);
        }
        assert_eq!(rows.len(), index * 16 * 150);
        assert!(rows == picture.pixels[..rows.len()]);
        bytes[at..at + 8].copy_from_slice(&kept);
    }
}

/// Reads rows until the end or the first error.
fn rows_read(bytes: &[u8], row_bytes: usize, options: &DecodeOptions) -> Vec<u8> {
    let mut reader = open_with(file(bytes), BOUNDS, options).unwrap();
    let (mut rows, mut row) = (Vec::new(), vec![0; row_bytes]);
    while rows.len() < reader.size().height as usize * row_bytes && reader.read_rows(&mut row).is_ok() {
        rows.extend_from_slice(&row);
    }
    rows
}

#[test]
fn a_damaged_deflate_strip_yields_the_same_rows_with_any_number_of_threads() {
    const ROW: usize = 400 * 3;
    let mut picture = Picture::noise(400, 1300, Layout::Rgb);
    // Only 100 values, so that Deflate uses Huffman codes instead of storing the bytes.
    picture.pixels.iter_mut().for_each(|value| *value %= 100);
    let mut out = Cursor::new(Vec::new());
    let deflate = Compression::Deflate(DeflateLevel::Balanced);
    let mut encoder = TiffEncoder::new(&mut out).unwrap().with_compression(deflate);
    let mut image = encoder.new_image::<RGB8>(400, 1300).unwrap();
    image.rows_per_strip(100).unwrap();
    image.write_data(&picture.pixels).unwrap();
    let mut bytes = out.into_inner();
    let strips = strips(&bytes);
    assert_eq!(strips.len(), 13);
    let options = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        DecodeOptions { threads, strict: true, ..DecodeOptions::default() }
    };
    // A damaged strip yields as many rows next to other strips as when decoded alone.
    let mut rows = Vec::new();
    for damaged in strips.iter().flat_map(|strip| [strip + 1, strip + 60_000]) {
        let kept = bytes[damaged..damaged + 20_000].to_vec();
        bytes[damaged..damaged + 20_000].fill(0xff);
        let alone = rows_read(&bytes, ROW, &options(1));
        for threads in [2, 3, 13] {
            assert!(rows_read(&bytes, ROW, &options(threads)) == alone, "{threads} threads");
        }
        rows.push(alone.len() / ROW);
        bytes[damaged..damaged + 20_000].copy_from_slice(&kept);
    }
    assert!(rows.iter().any(|rows| rows % 100 > 0), "{rows:?}");
    for threads in [1, 2, 3, 13] {
        assert!(rows_read(&bytes, ROW, &options(threads)) == picture.pixels, "{threads} threads");
    }
}

#[test]
fn threads_and_memory_do_not_change_the_pixels() {
    for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
        let picture = Picture::photo(333, 217, layout);
        for rows in [1, 10, 217] {
            let bytes = files::tiff(&picture, rows, None);
            for threads in [1, 2, 7] {
                let threads = NonZeroUsize::new(threads).unwrap();
                let options = DecodeOptions { threads, ..DecodeOptions::default() };
                let mut reader = open_with(file(&bytes), BOUNDS, &options).unwrap();
                assert_eq!(Picture::read(&mut *reader).unwrap(), picture);
            }
            let bounds = Bounds { memory: 400_000 + 217 * 333 * 8, ..BOUNDS };
            assert_eq!(decode_within(&bytes, bounds).unwrap(), picture);
        }
    }
    let whole = files::tiff(&Picture::photo(333, 217, Layout::Rgb), 217, None);
    let error = decode_within(&whole, Bounds { memory: 333 * 217 * 3, ..BOUNDS }).unwrap_err();
    assert!(matches!(error, SourceError::TooMuchMemory { .. }), "{error}");
}

/// A grey TIFF of one strip that is stored in this compression.
fn strip(width: u32, height: u32, compression: u32, stored: &[u8]) -> Vec<u8> {
    strip_of(1, 1, width, height, compression, stored)
}

/// A TIFF of one strip with these samples and this PhotometricInterpretation.
fn strip_of(
    samples: u32,
    photometric: u32,
    width: u32,
    height: u32,
    compression: u32,
    stored: &[u8],
) -> Vec<u8> {
    let entry = |tag: u16, value: u32| {
        [&tag.to_le_bytes()[..], &4_u16.to_le_bytes(), &1_u32.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    let entries = [
        entry(256, width),
        entry(257, height),
        entry(258, 8),
        entry(259, compression),
        entry(262, photometric),
        entry(273, 8 + 2 + 9 * 12 + 4),
        entry(277, samples),
        entry(278, height),
        entry(279, stored.len() as u32),
    ];
    [&b"II\x2a\0\x08\0\0\0"[..], &9_u16.to_le_bytes(), &entries.concat(), &[0; 4], stored].concat()
}

#[test]
fn a_grey_strip_of_jpeg_with_too_many_scans_is_refused() {
    let picture = Picture::new(64, 48, Layout::Grey, |_, _| [90; 4]);
    let jpeg = files::jpeg(&picture, files::Jpeg { progressive: true, exif: None });
    let last = jpeg.windows(2).rposition(|marker| marker == [0xff, 0xda]).unwrap()..jpeg.len() - 2;
    let with_scans = |more: usize| {
        let jpeg = [&jpeg[..last.end], &jpeg[last.clone()].repeat(more), &[0xff, 0xd9]].concat();
        decode(&strip(64, 48, 7, &jpeg))
    };
    assert_eq!(with_scans(80).unwrap(), picture);
    let error = with_scans(100).unwrap_err();
    assert!(matches!(error, SourceError::TooComplex { .. }), "{error}");
}

/// A scanner rounds the size of a level and that of its JPEG differently.
#[test]
fn a_jpeg_may_lack_a_few_columns_and_rows_of_its_strip() {
    for (layout, samples, photometric) in [(Layout::Grey, 1, 1), (Layout::Rgb, 3, 6)] {
        let picture = Picture::photo(109, 83, layout);
        let jpeg = files::jpeg(&picture, files::Jpeg::default());
        let expected = decode(&jpeg).unwrap();
        let read = |width: u32, height: u32, planes| {
            let strip = strip_of(samples, photometric, width, height, 7, &jpeg);
            let options = DecodeOptions { planes, ..DecodeOptions::default() };
            let mut reader = open_with(file(&strip), BOUNDS, &options)?;
            let layout = reader.layout();
            let mut pixels = vec![7; layout.row_bytes(width) * layout.rows_read(height) as usize];
            reader.read_rows(&mut pixels).map(|()| pixels)
        };
        for (width, height) in [(110, 84), (124, 83), (109, 98)] {
            let pixels = read(width, height, AsPlanes::Never).unwrap();
            for (y, row) in pixels.chunks_exact(layout.row_bytes(width)).enumerate() {
                let kept = if y < 83 { expected.row_bytes() } else { 0 };
                assert!(row[kept..].iter().all(|&sample| sample == 128), "row {y} of {width}×{height}");
                assert!(row[..kept] == expected.pixels[y * kept..][..kept], "row {y} of {width}×{height}");
            }
            read(width, height, AsPlanes::Averaged).unwrap();
        }
        let both = [AsPlanes::Never, AsPlanes::Averaged];
        for (width, height, planes) in
            [(125, 83, &both[..]), (109, 99, &both[..1]), (108, 83, &both), (140, 120, &both)]
        {
            for &planes in planes {
                let error = read(width, height, planes).unwrap_err();
                assert!(matches!(error, SourceError::Corrupt { .. }), "{width}×{height}: {error}");
            }
        }
    }
}

#[test]
fn a_strip_of_jpeg_2000_with_hundreds_of_components_is_refused() {
    // A codestream of one tile without data: ITU-T T.800, annex A.
    let with_components = |count: u8| {
        let length = 38 + 3 * u16::from(count);
        let mut stored = [&[0xff, 0x4f, 0xff, 0x51][..], &length.to_be_bytes(), &[0, 0]].concat();
        for number in [64_u32, 48, 0, 0, 64, 48, 0, 0] {
            stored.extend(number.to_be_bytes());
        }
        stored.extend([0, count]);
        stored.extend([7, 1, 1].repeat(count.into()));
        stored.extend([0xff, 0x52, 0, 12, 0, 0, 0, 1, 0, 5, 4, 4, 0, 1]);
        stored.extend([&[0xff, 0x5c, 0, 19, 0x40][..], &[0x40; 16]].concat());
        stored.extend([0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x93, 0xff, 0xd9]);
        decode(&strip(64, 48, 34_712, &stored))
    };
    assert_eq!((with_components(1).unwrap().width, with_components(5).unwrap().width), (64, 64));
    let error = with_components(200).unwrap_err();
    assert!(matches!(error, SourceError::Corrupt { .. }), "{error}");
}
