//! Farbfeld, row by row.
//!
//! ```text
//! 0           8           12           16
//! "farbfeld"  width: u32  height: u32  pixels: red, green, blue, alpha, each u16; all numbers are big-endian
//! ```
//! Source: farbfeld(5), <https://tools.suckless.org/farbfeld/>.

use std::io::Read;

use super::section::array;
use crate::colour::samples::round_16;
use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError};

pub(crate) static FORMAT: Format = Format {
    name: "Farbfeld",
    media_types: &[],
    endings: &["ff"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(b"farbfeld"),
    open: Open::Directly(open),
};

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let too_short = || FORMAT.corrupt("it ends before its last row");
    let [.., w0, w1, w2, w3, h0, h1, h2, h3] = array::<16>(&mut file).map_err(|_| too_short())?;
    let size = bounds.admit(u32::from_be_bytes([w0, w1, w2, w3]), u32::from_be_bytes([h0, h1, h2, h3]))?;
    let mut row = vec![0; size.width as usize * 8];
    Ok(Decoded::rows(size, Layout::Rgba, move |out| {
        file.read_exact(&mut row).map_err(|_| too_short())?;
        for (out, &sample) in out.iter_mut().zip(row.as_chunks::<2>().0) {
            *out = round_16(u16::from_be_bytes(sample));
        }
        Ok(())
    }))
}
