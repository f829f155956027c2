//! A PNG's `eXIf` chunk, which may stand behind the pixels: ImageMagick writes it there. A decoder reaches it only
//! after the last row, but the orientation is needed before the first.
//!
//! ```text
//! chunk  length: u32  type: 4 bytes  content  CRC: u32        numbers are big-endian
//! ```
//! Only the headers of chunks are read, by offset, so the file's position does not change. Encoders cut the pixels into
//! thousands of IDAT chunks of equal length, with nothing between them. So the search leaps: where a chunk header of
//! the same length stands exactly n lengths on, all chunks between are skipped at once.
//!
//! Source: PNG Specification (Third Edition), 5.3 (chunk layout), 11.3.4.5 (eXIf).

use crate::SourceFile;

/// Where the first chunk begins.
const SIGNATURE_BYTES: u64 = 8;
/// A chunk's length and type, and its checksum behind it.
const HEADER_BYTES: u64 = 8;
const CHECKSUM_BYTES: u64 = 4;
/// The bytes that EXIF may have: in JPEG it has to fit into a segment of 64 KiB.
const MAX_BYTES: u32 = 1 << 20;

/// The headers that are read: a file with more was made to waste time.
const MAX_HEADERS: u32 = 1 << 20;

/// The first block of EXIF in a PNG. A broken chunk ends the search: the decoder will report it. Of a file that is still
/// growing, only what stands before the pixels is found.
pub fn find(file: &SourceFile) -> Option<Vec<u8>> {
    let mut at = SIGNATURE_BYTES;
    let mut last = None;
    // How many chunks like the last one are skipped at once.
    let mut leap = 1;
    for _ in 0..MAX_HEADERS {
        let header = header(file, at)?;
        let [a, b, c, d, kind @ ..] = header;
        let length = u32::from_be_bytes([a, b, c, d]);
        let next = HEADER_BYTES + u64::from(length) + CHECKSUM_BYTES;
        match &kind {
            b"eXIf" if length <= MAX_BYTES => {
                let mut block = vec![0; length as usize];
                file.read_exact_at(&mut block, at + HEADER_BYTES).ok()?;
                return Some(block);
            }
            b"IEND" => return None,
            b"IDAT" if file.is_growing() => return None,
            b"IDAT" if last == Some(header) => {
                let far = at.saturating_add(next.saturating_mul(leap));
                if self::header(file, far) == Some(header) {
                    (at, leap) = (far, leap.saturating_mul(2));
                } else if leap > 1 {
                    leap /= 2;
                } else {
                    at += next;
                }
            }
            _ => at += next,
        }
        last = Some(header);
    }
    None
}

/// A chunk's length and type.
fn header(file: &SourceFile, at: u64) -> Option<[u8; HEADER_BYTES as usize]> {
    let mut header = [0; HEADER_BYTES as usize];
    file.read_exact_at(&mut header, at).ok()?;
    Some(header)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(chunks: &[(&[u8; 4], &[u8])]) -> SourceFile {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"\x89PNG\r\n\x1a\n").unwrap();
        for (kind, content) in chunks {
            file.write_all(&(content.len() as u32).to_be_bytes()).unwrap();
            file.write_all(&[kind.as_slice(), content, b"sums"].concat()).unwrap();
        }
        file.into()
    }

    #[test]
    fn the_first_block_counts_before_and_behind_the_pixels() {
        let [header, pixels, end] = [(b"IHDR", b"".as_slice()), (b"IDAT", b"eXIf"), (b"IEND", b"")];
        let [exif, other] = [(b"eXIf", b"turned".as_slice()), (b"eXIf", b"upright")];
        for chunks in [[header, exif, pixels, other, end], [header, pixels, pixels, exif, other]] {
            assert_eq!(find(&file(&chunks)).as_deref(), Some(b"turned".as_slice()));
        }
        assert_eq!(find(&file(&[header, pixels, end, exif])), None);
    }

    #[test]
    fn many_chunks_of_pixels_are_skipped() {
        let [exif, end] = [(b"eXIf", b"turned".as_slice()), (b"IEND", b"")];
        for count in 0..70 {
            let pixels = vec![(b"IDAT", b"like the others".as_slice()); count];
            let chunks = [&pixels[..], &[(b"IDAT", b"the last"), exif, end]].concat();
            assert_eq!(find(&file(&chunks)).as_deref(), Some(b"turned".as_slice()), "behind {count}");
            let chunks = [&pixels[..], &[end]].concat();
            assert_eq!(find(&file(&chunks)), None);
        }
    }

    #[test]
    fn a_file_that_is_cut_off_has_none() {
        assert_eq!(find(&file(&[(b"IHDR", b""), (b"IDAT", b"12345")])), None);
        let mut cut = tempfile::tempfile().unwrap();
        cut.write_all(b"\x89PNG\r\n\x1a\n\0\0\0\x06eXIftu").unwrap();
        assert_eq!(find(&cut.into()), None);
    }
}
