//! Regular pictures have the rows that the `png` crate gives, also those of damaged files.

use std::io::{BufReader, Cursor, Seek, Write};

use ::png::{ColorType, Compression, Encoder, Filter};

use super::{Again, open_rows};
use crate::format::READ_BYTES;
use crate::{Bounds, Orientation, SourceError, SourceFile};

const SMALL: (u32, u32) = (131, 217);
/// More than a MiB, unless it is grey: such a picture is inflated in a thread of its own.
const LARGE: (u32, u32) = (501, 801);

fn file((width, height): (u32, u32), color: ColorType, filter: Filter, is_noise: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_filter(filter);
    encoder.set_compression(Compression::Balanced);
    let random = |at: usize| (at as u32).wrapping_mul(2_654_435_769) >> 24;
    let bytes = color.samples() * (width * height) as usize;
    let soft = |at: usize| at as u32 % 1021 / 5 + random(at) % 5;
    let pixels: Vec<_> =
        (0..bytes).map(|at| if is_noise { random(at * at) } else { soft(at) } as u8).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    out
}

/// Returns the rows up to the first error, and that error.
fn rows(file: &[u8], threads: Option<usize>) -> (Vec<Vec<u8>>, Option<String>) {
    let again = threads.map(|threads| {
        let mut copy = tempfile::tempfile().unwrap();
        copy.write_all(file).unwrap();
        copy.rewind().unwrap();
        Again { file: SourceFile::from(copy), threads }
    });
    let message = |error: SourceError| Some(error.to_string());
    // The rows of a damaged file depend on the number of bytes that are read at once.
    let file = BufReader::with_capacity(READ_BYTES, Cursor::new(file.to_vec()));
    let mut reader = match open_rows(file, again, Orientation::UPRIGHT, Bounds::default(), None) {
        Ok(decoded) => decoded.reader,
        Err(error) => return (Vec::new(), message(error)),
    };
    let mut rows = Vec::new();
    for _ in 0..reader.size().height {
        let mut row = vec![0; reader.layout().row_bytes(reader.size().width)];
        if let Err(error) = reader.read_rows(&mut row) {
            return (rows, message(error));
        }
        rows.push(row);
    }
    (rows, None)
}

#[test]
fn regular_pictures_have_the_rows_of_the_crate() {
    use ColorType as C;
    for color in [C::Grayscale, C::GrayscaleAlpha, C::Rgb, C::Rgba] {
        for filter in
            [Filter::NoFilter, Filter::Sub, Filter::Up, Filter::Avg, Filter::Paeth, Filter::Adaptive]
        {
            let file = file(SMALL, color, filter, false);
            let expected = rows(&file, None);
            assert!(expected.1.is_none());
            assert!(rows(&file, Some(1)) == expected, "{color:?}, {filter:?}");
        }
    }
    for (color, is_noise) in [(C::Rgb, false), (C::Rgba, true)] {
        let file = file(LARGE, color, Filter::Adaptive, is_noise);
        assert!(rows(&file, Some(2)) == rows(&file, None), "{color:?} in two threads");
    }
}

/// Damages a file: changes some bytes, or cuts it off.
fn damage(file: &mut Vec<u8>, seed: u32) {
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below.max(1)
    };
    match random(8) {
        0 => file.truncate(50 + random(file.len() - 50)),
        1 => {
            let at = 50 + random(file.len() - 50);
            file.drain(at..(at + 1 + random(20)).min(file.len()));
        }
        kind => {
            for _ in 0..kind / 2 {
                let at = 33 + random(file.len() - 33);
                file[at] ^= 1 << random(8);
            }
        }
    }
}

#[test]
fn damaged_pictures_have_the_rows_of_the_crate() {
    let originals = [
        file(LARGE, ColorType::Rgb, Filter::Adaptive, false),
        file(LARGE, ColorType::Rgba, Filter::Paeth, true),
        file(SMALL, ColorType::Grayscale, Filter::Avg, false),
    ];
    let count = std::env::var("EDGEZOOM_FUZZ_FILES").map_or(24, |count| count.parse().unwrap());
    let mut partial = 0;
    for seed in 0..count {
        let mut file = originals[seed as usize % originals.len()].clone();
        damage(&mut file, seed);
        let expected = rows(&file, None);
        partial += u32::from(!expected.0.is_empty() && expected.1.is_some());
        let found = rows(&file, Some(1 + seed as usize % 2));
        assert!(
            found.0 == expected.0 && found.1.is_some() == expected.1.is_some(),
            "{seed}: {} rows and {:?} instead of {} rows and {:?}",
            found.0.len(),
            found.1,
            expected.0.len(),
            expected.1
        );
    }
    assert!(partial > count / 4, "{partial} of {count} files are damaged behind their first row");
}
