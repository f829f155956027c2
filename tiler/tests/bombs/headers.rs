//! Small files of every format with a false size in the header, a megabyte of padding in the middle, or parts repeated
//! thousands of times.

use std::path::Path;

use super::Bomb;

/// Folder of the fuzz tests' corpus.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

/// Sizes of the files in the corpus: of most, of photographs, of the DICOM file, of the icon.
const SIZES: [(u32, u32); 4] = [(20, 14), (40, 28), (8, 6), (16, 16)];
/// False sizes to write to the headers.
const FALSE_SIZES: [(u32, u32); 6] =
    [(u32::MAX, u32::MAX), (65_535, 65_535), (0x7fff_ffff, 1), (1, 0x7fff_ffff), (30_000, 30_000), (0, 0)];
/// Maximum length of a header, in bytes.
const MAX_HEADER: usize = 700;

/// Encodes a number as a format stores it.
type NumberEncoding = fn(u32) -> Vec<u8>;
const NUMBER_ENCODINGS: [NumberEncoding; 5] = [
    |number| number.to_be_bytes().to_vec(),
    |number| number.to_le_bytes().to_vec(),
    |number| u16::try_from(number).unwrap_or(u16::MAX).to_be_bytes().to_vec(),
    |number| u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes().to_vec(),
    |number| number.to_string().into_bytes(),
];

/// Returns ten bombs for each file in the corpus, or four if the header stores the size as bit fields.
pub fn all() -> Vec<Bomb> {
    let files = std::fs::read_dir(Path::new(CORPUS)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    let bombs = files.iter().flat_map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = std::fs::read(path).unwrap();
        let middle = file.len() / 2;
        let repeated = |from: usize, to: usize, times: usize| {
            [&file[..to], &file[from..to].repeat(times), &file[to..]].concat()
        };
        let mut bombs = vec![
            Bomb::new(format!("{name} with a megabyte of zeros"), with(&file, middle, &[0; 1 << 20])),
            Bomb::new(format!("{name} with a megabyte of ones"), with(&file, middle, &[0xff; 1 << 20])),
            Bomb::new(format!("{name} a thousand times"), file.repeat(1000)),
            Bomb::new(format!("{name}, its last part over and over"), repeated(middle, file.len(), 2000)),
        ];
        for (width, height) in FALSE_SIZES {
            if let Some(resized) = resized(&file, width, height) {
                bombs.push(Bomb::new(format!("{name} of {width} × {height}"), resized));
            }
        }
        bombs
    });
    bombs.collect()
}

fn with(file: &[u8], at: usize, more: &[u8]) -> Vec<u8> {
    [&file[..at], more, &file[at..]].concat()
}

/// Replaces the width and height in a file's header. Finds them as two- or four-byte numbers or decimal digits within
/// twelve bytes of each other, or within 100 bytes for digits. Returns `None` if the header has no such pair.
fn resized(file: &[u8], width: u32, height: u32) -> Option<Vec<u8>> {
    let head = &file[..file.len().min(MAX_HEADER)];
    for encode in NUMBER_ENCODINGS {
        for (own_width, own_height) in SIZES {
            let (from, to) = (encode(own_width), encode(own_height));
            let near = if from.len() == 2 && from[0].is_ascii_digit() { 100 } else { 12 };
            for (one, other) in [((&from, width), (&to, height)), ((&to, height), (&from, width))] {
                let Some(at) = find(head, one.0, 0) else { continue };
                let Some(next) = find(head, other.0, at + one.0.len()) else { continue };
                if next - at > near {
                    continue;
                }
                return Some(
                    [
                        &file[..at],
                        &encode(one.1),
                        &file[at + one.0.len()..next],
                        &encode(other.1),
                        &file[next + other.0.len()..],
                    ]
                    .concat(),
                );
            }
        }
    }
    None
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let at = bytes.get(from..)?.windows(wanted.len()).position(|window| window == wanted)?;
    Some(from + at)
}
