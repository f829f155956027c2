//! Farbfeld, row by row.
//!
//! ```text
//! 0           8           12           16
//! "farbfeld"  width: u32  height: u32  pixels: red, green, blue, alpha, each u16; all numbers are big-endian
//! ```
//! Source: farbfeld(5), <https://tools.suckless.org/farbfeld/>.

use std::io::{BufReader, Read};

use edgezoom_geometry::Size;

use crate::colour::samples::round_16;
use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, RowReader, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "Farbfeld",
    media_types: &[],
    endings: &["ff"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(b"farbfeld"),
    open: Open::Directly(open),
};

struct Rows {
    size: Size,
    file: BufReader<SourceFile>,
    row: Vec<u8>,
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut head = [0; 16];
    file.read_exact(&mut head).map_err(|_| too_short())?;
    let [.., w0, w1, w2, w3, h0, h1, h2, h3] = head;
    let size = bounds.admit(u32::from_be_bytes([w0, w1, w2, w3]), u32::from_be_bytes([h0, h1, h2, h3]))?;
    Ok(Decoded::plain(Rows { size, file, row: vec![0; size.width as usize * 8] }))
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgba
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        for out in into.chunks_exact_mut(self.row.len() / 2) {
            self.file.read_exact(&mut self.row).map_err(|_| too_short())?;
            for (out, &sample) in out.iter_mut().zip(self.row.as_chunks::<2>().0) {
                *out = round_16(u16::from_be_bytes(sample));
            }
        }
        Ok(())
    }
}

fn too_short() -> SourceError {
    FORMAT.corrupt("it ends before its last row")
}
