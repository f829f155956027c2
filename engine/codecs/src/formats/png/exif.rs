//! A PNG's `eXIf` chunk, which may be behind the pixels: ImageMagick writes it there. A decoder reaches it only after
//! the last row, but the orientation is needed before the first.
//!
//! ```text
//! chunk  length: u32  type: 4 bytes  content  CRC: u32        numbers are big-endian
//! ```
//! Only the headers of chunks are read, by offset, so the file's position does not change. Encoders split the pixels
//! into thousands of IDAT chunks of equal length, with nothing between them. So the search leaps: if a chunk header of
//! the same length is exactly n chunks further on, all chunks between are skipped at once.
//!
//! Source: PNG Specification (Third Edition), 5.3 (chunk layout), 11.3.4.5 (eXIf).

use std::iter;

use crate::formats::ifd::orientation_of_exif;
use crate::row_reader::Wrapper;
use crate::{Orientation, RowReader, SourceError, SourceFile};

/// Offset of the first chunk.
const SIGNATURE_BYTES: u64 = 8;
/// Number of bytes of a chunk's length and type.
const HEADER_BYTES: u64 = 8;
/// Number of bytes of a chunk's checksum, behind its content.
const CHECKSUM_BYTES: u64 = 4;
/// Maximum number of bytes of EXIF. In JPEG it has to fit into a segment of 64 KiB.
const MAX_BYTES: u32 = 1 << 20;
/// Maximum number of headers that are read: a file with more was made to waste time.
const MAX_HEADERS: usize = 1 << 20;

/// A chunk of a file.
pub struct Chunk {
    pub kind: [u8; 4],
    /// Offset of its content.
    pub start: u64,
    /// Number of bytes of its content.
    pub length: u32,
}

/// Returns the chunks up to the end or to a broken one, of those with pixels only some.
pub fn chunks(file: &SourceFile) -> impl Iterator<Item = Chunk> + use<'_> {
    let mut at = SIGNATURE_BYTES;
    let mut last = None;
    // Number of chunks like the last one to skip at once.
    let mut leap = 1;
    let next = move || {
        let header = header(file, at)?;
        let [a, b, c, d, kind @ ..] = header;
        let length = u32::from_be_bytes([a, b, c, d]);
        let chunk = Chunk { kind, start: at + HEADER_BYTES, length };
        let next = HEADER_BYTES + u64::from(length) + CHECKSUM_BYTES;
        if kind == *b"IDAT" && last == Some(header) {
            let far = at.saturating_add(next.saturating_mul(leap));
            if self::header(file, far) == Some(header) {
                (at, leap) = (far, leap.saturating_mul(2));
            } else if leap > 1 {
                leap /= 2;
            } else {
                at += next;
            }
        } else {
            at += next;
        }
        last = Some(header);
        Some(chunk)
    };
    iter::from_fn(next).take(MAX_HEADERS).take_while(|chunk| chunk.kind != *b"IEND")
}

/// Finds the first block of EXIF. A broken chunk ends the search: the decoder will report it. If the file is still
/// growing, searches only before the pixels.
pub fn find(file: &SourceFile) -> Option<Vec<u8>> {
    let there = |chunk: &Chunk| chunk.kind != *b"IDAT" || !file.is_growing();
    let is_exif = |chunk: &Chunk| chunk.kind == *b"eXIf" && chunk.length <= MAX_BYTES;
    let exif = chunks(file).take_while(there).find(is_exif)?;
    let mut block = vec![0; exif.length as usize];
    file.read_exact_at(&mut block, exif.start).ok()?;
    Some(block)
}

/// Reads a chunk's length and type.
fn header(file: &SourceFile, at: u64) -> Option<[u8; HEADER_BYTES as usize]> {
    let mut header = [0; HEADER_BYTES as usize];
    file.read_exact_at(&mut header, at).ok()?;
    Some(header)
}

/// The reader of a PNG that is still arriving and may have EXIF behind its pixels. It is read as upright, which most
/// pictures are. If EXIF turns out to say otherwise, the picture has to be read again.
pub struct LateExif {
    reader: Box<dyn RowReader>,
    source: SourceFile,
    rows_left: u32,
}

impl LateExif {
    pub fn wrap(reader: Box<dyn RowReader>, source: SourceFile) -> Box<dyn RowReader> {
        let rows_left = reader.size().height;
        Box::new(Self { reader, source, rows_left })
    }
}

impl Wrapper for LateExif {
    fn source(&self) -> &dyn RowReader {
        &*self.reader
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.reader.read_rows(into)?;
        let row_bytes = self.reader.layout().row_bytes(self.reader.size().width).max(1);
        let rows = u32::try_from(into.len() / row_bytes).unwrap_or(u32::MAX);
        let is_last = self.rows_left > 0 && self.rows_left <= rows;
        self.rows_left = self.rows_left.saturating_sub(rows);
        if is_last {
            self.source.length_when_complete()?;
            let exif = find(&self.source);
            if exif.is_some_and(|exif| orientation_of_exif(&exif) != Orientation::UPRIGHT) {
                return Err(SourceError::NeedsWhole);
            }
        }
        Ok(())
    }
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
