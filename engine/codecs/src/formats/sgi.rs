//! Silicon Graphics pictures (IRIS RGB), row by row. The lowest row is stored first, and each channel is a plane, so rows are
//! found from the end.
//!
//! ```text
//! 0     2        3       4           6      8       10        12           104
//! 01da  storage  bytes   dimensions  width  height  channels  …            colormap: u32, 0 for all but old files
//! u16   u8       u8: 1,2 u16         u16    u16     u16                    then zeros up to 512
//!
//! storage 0   the rows of the first channel, of the second …
//! storage 1   the offset of each of those rows: u32, the length of each: u32; then rows of runs
//!             n (7 bits) with the bit above it: n samples follow; without it: one follows, n times; 0: the end
//! ```
//! All numbers are big-endian. The number of a run has as many bytes as a sample.
//!
//! Source: Paul Haeberli, "The SGI Image File Format", version 1.00.

use std::io::Read;
use std::sync::Arc;

use crate::colour::samples::round_16;
use crate::format::{Decoded, Input, Open};
use crate::formats::section::{self, Section};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "SGI",
    media_types: &["image/x-rgb", "image/sgi"],
    endings: &["sgi", "rgb", "rgba", "bw"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| matches!(head, [0x01, 0xda, 0 | 1, 1 | 2, 0, 1..=3, ..]),
    open: Open::Directly(open),
};

const HEADER_BYTES: usize = 512;

struct Rows {
    height: u32,
    file: Arc<SourceFile>,
    /// Number of channels that are read. Grey with opacity has two.
    channels: usize,
    /// Bytes per sample.
    bytes: usize,
    /// The start and the length of each row of each channel, if rows are compressed.
    runs: Option<Vec<(u32, u32)>>,
    packed: Vec<u8>,
    /// A row of a channel.
    row: Vec<u8>,
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let mut start = Section::all(&file).buffered(64 << 10);
    let header: [u8; HEADER_BYTES] =
        section::array(&mut start).map_err(|_| FORMAT.corrupt("it ends in its header"))?;
    let [_, _, storage, bytes, _, dimensions, w0, w1, h0, h1, c0, c1, ..] = header;
    let number = |high, low| u32::from(u16::from_be_bytes([high, low]));
    let height = if dimensions == 1 { 1 } else { number(h0, h1) };
    let stored_channels = if dimensions < 3 { 1 } else { number(c0, c1) };
    let size = bounds.admit(number(w0, w1), height)?;
    if header.get(104..108) != Some(&[0; 4]) {
        return Err(FORMAT.unsupported("its pixels are indices into a colour table of the screen"));
    }
    if stored_channels == 0 {
        return Err(SourceError::Empty);
    }
    // Channels after the fourth have no meaning.
    let channels = stored_channels.min(4) as usize;
    let runs = match storage {
        0 => None,
        _ => {
            let rows = channels as u64 * u64::from(size.height);
            bounds.admit_memory(rows * 8, "finding the rows of an SGI")?;
            let all = u64::from(stored_channels) * u64::from(size.height) * 4;
            let mut lengths = Section::new(&file, HEADER_BYTES as u64 + all, all).buffered(64 << 10);
            let mut row = || {
                Ok((
                    u32::from_be_bytes(section::array(&mut start)?),
                    u32::from_be_bytes(section::array(&mut lengths)?),
                ))
            };
            let runs: std::io::Result<Vec<(u32, u32)>> = (0..rows).map(|_| row()).collect();
            Some(runs.map_err(|_| too_short())?)
        }
    };
    let bytes = usize::from(bytes);
    let row = vec![0; size.width as usize * bytes];
    let mut rows = Rows { height, file, channels, bytes, runs, packed: Vec::new(), row };
    let layout = match channels {
        1 => Layout::Grey,
        3 => Layout::Rgb,
        _ => Layout::Rgba,
    };
    let mut left = height;
    Ok(Decoded::rows(size, layout, move |out| {
        left -= 1;
        rows.read_into(left, layout.channels(), out)
    }))
}

impl Rows {
    /// Reads a row of all channels. Rows are counted from the bottom.
    fn read_into(&mut self, row: u32, step: usize, out: &mut [u8]) -> Result<(), SourceError> {
        for channel in 0..self.channels {
            self.read_row(channel, row)?;
            // Grey with opacity becomes three equal colours and alpha.
            let places = match (self.channels, channel) {
                (2, 0) => 0..3,
                (2, _) => 3..4,
                _ => channel..channel + 1,
            };
            for place in places {
                let out = out.iter_mut().skip(place).step_by(step);
                match self.bytes {
                    1 => out.zip(&self.row).for_each(|(out, &sample)| *out = sample),
                    _ => out.zip(self.row.as_chunks().0).for_each(|(out, &sample)| {
                        *out = round_16(u16::from_be_bytes(sample));
                    }),
                }
            }
        }
        Ok(())
    }

    /// Reads a row of a channel.
    fn read_row(&mut self, channel: usize, row: u32) -> Result<(), SourceError> {
        let number = channel as u64 * u64::from(self.height) + u64::from(row);
        let Some(runs) = &self.runs else {
            let at = HEADER_BYTES as u64 + number * self.row.len() as u64;
            return Section::new(&self.file, at, u64::MAX).read_exact(&mut self.row).map_err(|_| too_short());
        };
        let &(start, length) = runs.get(number as usize).ok_or_else(too_short)?;
        // The worst encoding takes twice the bytes of each sample, and one more for the end.
        if length as usize > self.row.len() * 2 + 1024 {
            return Err(FORMAT.corrupt("a compressed row is too long"));
        }
        self.packed.resize(length as usize, 0);
        let mut section = Section::new(&self.file, start.into(), length.into());
        section.read_exact(&mut self.packed).map_err(|_| too_short())?;
        unpack(&self.packed, &mut self.row, self.bytes)
            .ok_or_else(|| FORMAT.corrupt("a compressed row is too short"))
    }
}

/// Decompresses a row of samples of `bytes` bytes. Returns `None` if there are too few.
fn unpack(packed: &[u8], row: &mut [u8], bytes: usize) -> Option<()> {
    let mut packed = packed.chunks_exact(bytes);
    let mut row = row.chunks_exact_mut(bytes);
    while row.len() > 0 {
        let control = *packed.next()?.last()?;
        let count = usize::from(control & 0x7f);
        match control & 0x80 {
            _ if count == 0 => return None,
            0 => {
                let sample = packed.next()?;
                row.by_ref().take(count).for_each(|out| out.copy_from_slice(sample));
            }
            _ => {
                for out in row.by_ref().take(count) {
                    out.copy_from_slice(packed.next()?);
                }
            }
        }
    }
    Some(())
}

fn too_short() -> SourceError {
    FORMAT.corrupt("it ends before its last row")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated;

    #[test]
    fn runs_repeat_samples_of_one_or_two_bytes() {
        let mut row = [0; 5];
        assert_eq!(unpack(&[0x83, 1, 2, 3, 2, 9, 0], &mut row, 1), Some(()));
        assert_eq!(row, [1, 2, 3, 9, 9]);
        assert_eq!(unpack(&[0, 0x81, 1, 2, 0, 1, 3, 4], &mut row[..4], 2), Some(()));
        assert_eq!(row[..4], [1, 2, 3, 4]);
        assert_eq!(unpack(&[0x83, 1, 2], &mut row, 1), None);
        assert_eq!(unpack(&[2, 9, 0, 7], &mut row, 1), None);
    }

    #[test]
    fn mutated_files_end_in_a_picture_or_an_error() {
        let mut file = vec![0x01, 0xda, 1, 1, 0, 3, 0, 3, 0, 2, 0, 3];
        file.resize(HEADER_BYTES, 0);
        // Six rows, each of 2 bytes and an end, all at the same offset.
        file.extend([[0, 0, 2, 48]; 6].concat());
        file.extend([[0, 0, 0, 3]; 6].concat());
        file.extend([3, 77, 0]);
        assert_eq!(mutated::read(&file).unwrap(), (3, Layout::Rgb, vec![77; 18]));
        mutated::check(&file, 120);
    }
}
