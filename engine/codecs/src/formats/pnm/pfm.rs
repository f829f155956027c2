//! PFM: floats without an upper limit, the lowest row first, tone-mapped.
//!
//! ```text
//! PF\n 301 203\n -1.0\n floats           "PF" is RGB, "Pf" grey; a negative scale means little-endian
//! ```
//! Source: Netpbm, pfm(5).

use edgezoom_geometry::Size;

use super::FORMAT;
use crate::colour::tone_mapping;
use crate::format::Decoded;
use crate::{Bounds, Layout, RowReader, SourceError, SourceFile};

/// The largest number of bytes in a header: four words, with comments between them.
const MAX_HEADER_BYTES: usize = 4096;
/// Bytes that are read at once, unless a row has more.
const BLOCK_BYTES: usize = 1 << 16;
const SAMPLE_BYTES: usize = 4;

struct Header {
    width: u32,
    height: u32,
    layout: Layout,
    is_little_endian: bool,
    /// Length of the header.
    bytes: usize,
}

/// Reads blocks of rows, because reading each row at an offset would be slow.
struct Rows {
    size: Size,
    header: Header,
    file: SourceFile,
    /// Number of rows that are still to be read. They are the first in the file.
    left: u32,
    /// A block of stored rows.
    stored: Vec<u8>,
}

pub fn open(file: SourceFile, bounds: Bounds) -> Result<Decoded, SourceError> {
    let mut head = [0; MAX_HEADER_BYTES];
    let bytes = file.read_at(&mut head, 0)?;
    let header = header(head.get(..bytes).unwrap_or_default())?;
    let size = bounds.admit(header.width, header.height)?;
    Ok(Decoded::plain(Rows { size, header, file, left: size.height, stored: Vec::new() }))
}

fn header(head: &[u8]) -> Result<Header, SourceError> {
    let broken = || FORMAT.corrupt("a number in its header is invalid");
    let mut at = 0;
    let mut word = || {
        let rest = loop {
            let rest = head.get(at..)?;
            let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
            at += start;
            let rest = rest.get(start..)?;
            if !rest.starts_with(b"#") {
                break rest;
            }
            at += rest.iter().position(|&byte| byte == b'\n')?;
        };
        let length = rest.iter().position(u8::is_ascii_whitespace)?;
        // One space ends a word, and after the last word the rows begin.
        at += length + 1;
        std::str::from_utf8(rest.get(..length)?).ok()
    };
    let layout = if word() == Some("PF") { Layout::Rgb } else { Layout::Grey };
    let mut number = || word().and_then(|word| word.parse::<u32>().ok()).ok_or_else(broken);
    let (width, height) = (number()?, number()?);
    // Only the sign of the scale matters. Its size is in the author's units.
    let scale = word().and_then(|word| word.parse::<f32>().ok()).ok_or_else(broken)?;
    Ok(Header { width, height, layout, is_little_endian: scale < 0.0, bytes: at })
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.header.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.header.layout.row_bytes(self.size.width);
        let stored_bytes = row_bytes * SAMPLE_BYTES;
        let block_rows = (BLOCK_BYTES / stored_bytes).max(1);
        for block in into.chunks_mut(block_rows * row_bytes) {
            let rows = block.len() / row_bytes;
            self.left = u32::try_from(rows)
                .ok()
                .and_then(|rows| self.left.checked_sub(rows))
                .ok_or_else(|| FORMAT.ends_early())?;
            self.stored.resize(rows * stored_bytes, 0);
            let start = self.header.bytes as u64 + u64::from(self.left) * stored_bytes as u64;
            self.file.read_exact_at(&mut self.stored, start).map_err(|_| FORMAT.ends_early())?;
            for (out, stored) in
                block.chunks_exact_mut(row_bytes).zip(self.stored.rchunks_exact(stored_bytes))
            {
                let is_little = self.header.is_little_endian;
                let linear = |&sample: &[u8; SAMPLE_BYTES]| {
                    if is_little { f32::from_le_bytes(sample) } else { f32::from_be_bytes(sample) }
                };
                let samples = stored.as_chunks().0;
                if self.header.layout == Layout::Grey {
                    for (out, sample) in out.iter_mut().zip(samples) {
                        [*out, ..] = tone_mapping::map([linear(sample); 3]);
                    }
                } else {
                    for (out, [red, green, blue]) in
                        out.as_chunks_mut().0.iter_mut().zip(samples.as_chunks().0)
                    {
                        *out = tone_mapping::map([linear(red), linear(green), linear(blue)]);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_begin_after_one_space() {
        let read = header(b"PF\n3 2\n-1.0\n\n\n").unwrap();
        assert_eq!((read.width, read.height, read.layout, read.bytes), (3, 2, Layout::Rgb, 12));
        assert!(read.is_little_endian);
        let read = header(b"PF\n#by a\n# program\n3 2\n1\n#").unwrap();
        assert_eq!((read.width, read.height, read.bytes), (3, 2, 25));
        let read = header(b"Pf 3 2 1 \0").unwrap();
        assert_eq!((read.layout, read.is_little_endian, read.bytes), (Layout::Grey, false, 9));
    }

    #[test]
    fn headers_that_are_cut_off_or_without_numbers_are_refused() {
        for head in ["PF", "PF\n3 2\n-1.0", "PF\n3 x\n1\n", "PF\n-3 2\n1\n", "PF\n3 2\none\n", "PF\n# 3"] {
            assert!(header(head.as_bytes()).is_err(), "{head:?}");
        }
    }
}
