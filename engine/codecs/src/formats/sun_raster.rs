//! Sun raster files, row by row.
//!
//! ```text
//! 0         4      8       12    16      20    24        28              32
//! 59a66a95  width  height  bits  length  type  map type  map's length    map: all reds, all greens, all blues
//!
//! type   0, 1 plain pixels, 2 runs, 3 plain pixels, red first
//! a row  pixels of 1 (black is 1), 8, 24 (blue, green, red) or 32 bits (an unused byte first), padded to 16 bits
//! runs   80 n b: the byte b, n + 1 times   80 00: the byte 80   any other byte: itself
//! ```
//! All numbers are u32 and big-endian. Source: Sun Microsystems, rasterfile(5).

use std::io::{BufReader, Read};

use crate::format::{Decoded, Input, Open};
use crate::formats::section::array;
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "Sun raster",
    media_types: &["image/x-sun-raster", "image/x-cmu-raster"],
    endings: &["ras", "sun"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(&[0x59, 0xa6, 0x6a, 0x95]),
    open: Open::Directly(open),
};

/// Marks a run.
const RUN: u8 = 0x80;
/// Bytes of the largest colour map.
const MAP_BYTES: u32 = 256 * 3;

struct Rows {
    bits: u32,
    is_red_first: bool,
    is_compressed: bool,
    palette: Vec<[u8; 3]>,
    file: BufReader<SourceFile>,
    row: Vec<u8>,
    /// The byte that is repeated, and how many times more.
    run: (u8, usize),
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let ends = |_| FORMAT.corrupt("it ends in its header");
    let header: [u8; 32] = array(&mut file).map_err(ends)?;
    let mut numbers = [0; 8];
    numbers
        .iter_mut()
        .zip(header.as_chunks().0)
        .for_each(|(number, &bytes)| *number = u32::from_be_bytes(bytes));
    let [_, width, height, bits, _, kind, map_kind, map_bytes] = numbers;
    let size = bounds.admit(width, height)?;
    if !matches!(bits, 1 | 8 | 24 | 32) {
        return Err(FORMAT.unsupported(format_args!("it has {bits} bits per pixel")));
    }
    if kind > 3 {
        return Err(FORMAT.unsupported(format_args!("it has type {kind}")));
    }
    let mut map = vec![0; map_bytes.min(MAP_BYTES) as usize];
    file.read_exact(&mut map).map_err(ends)?;
    file.seek_relative(i64::from(map_bytes) - map.len() as i64)?;
    let (reds, rest) = map.split_at(map.len() / 3);
    let (greens, blues) = rest.split_at(rest.len() / 2);
    let colours = reds.iter().zip(greens).zip(blues).map(|((&red, &green), &blue)| [red, green, blue]);
    let palette = if map_kind == 1 && bits <= 8 { colours.collect() } else { Vec::new() };
    let row_bytes = (u64::from(width) * u64::from(bits)).div_ceil(16) * 2;
    let (is_compressed, is_red_first) = (kind == 2, kind == 3);
    let row = vec![0; row_bytes as usize];
    let mut rows = Rows { bits, is_red_first, is_compressed, palette, file, row, run: (0, 0) };
    let layout = if bits <= 8 && rows.palette.is_empty() { Layout::Grey } else { Layout::Rgb };
    Ok(Decoded::rows(size, layout, move |out| rows.read_into(layout.channels(), out)))
}

impl Rows {
    fn read_row(&mut self) -> Result<(), SourceError> {
        if !self.is_compressed {
            return self.file.read_exact(&mut self.row).map_err(too_short);
        }
        let mut rest = self.row.as_mut_slice();
        while !rest.is_empty() {
            let (value, left) = &mut self.run;
            if *left == 0 {
                ([*value], *left) = (array(&mut self.file).map_err(too_short)?, 1);
                if *value == RUN {
                    let [count] = array(&mut self.file).map_err(too_short)?;
                    if count > 0 {
                        ([*value], *left) =
                            (array(&mut self.file).map_err(too_short)?, usize::from(count) + 1);
                    }
                }
            }
            let (now, later) = rest.split_at_mut(rest.len().min(*left));
            now.fill(*value);
            *left -= now.len();
            rest = later;
        }
        Ok(())
    }

    /// Writes the shade or the colour of an index.
    fn write(&self, index: u8, out: &mut [u8]) {
        match self.palette.get(usize::from(index)) {
            Some(colour) => out.copy_from_slice(colour),
            None if self.palette.is_empty() && self.bits == 1 => out.fill(255 * (1 - index)),
            None if self.palette.is_empty() => out.fill(index),
            None => out.fill(0),
        }
    }

    fn read_into(&mut self, step: usize, out: &mut [u8]) -> Result<(), SourceError> {
        self.read_row()?;
        let out = out.chunks_exact_mut(step);
        match self.bits {
            1 => {
                let bits = self.row.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
                out.zip(bits).for_each(|(out, index)| self.write(index, out));
            }
            8 => out.zip(&self.row).for_each(|(out, &index)| self.write(index, out)),
            bits => {
                for (out, pixel) in out.zip(self.row.chunks_exact(bits as usize / 8)) {
                    // An unused byte comes first.
                    out.copy_from_slice(pixel.last_chunk::<3>().unwrap_or(&[0; 3]));
                    if !self.is_red_first {
                        out.reverse();
                    }
                }
            }
        }
        Ok(())
    }
}

fn too_short(_: std::io::Error) -> SourceError {
    FORMAT.corrupt("it ends before its last row")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated::{self, read};

    fn raster(bits: u8, kind: u8, map: &[u8], rows: &[u8]) -> Vec<u8> {
        let numbers = [3, 2, bits, 0, kind, u8::from(!map.is_empty()), map.len() as u8];
        let mut file = vec![0x59, 0xa6, 0x6a, 0x95];
        file.extend(numbers.iter().flat_map(|&number| [0, 0, 0, number]));
        file.extend(map);
        file.extend(rows);
        file
    }

    #[test]
    fn pixels_of_1_8_24_and_32_bits_are_read() {
        let bits = raster(1, 1, &[], &[0b1010_0000, 0, 0b0100_0000, 0]);
        assert_eq!(read(&bits).unwrap(), (3, Layout::Grey, vec![0, 255, 0, 255, 0, 255]));
        let indices = raster(8, 1, &[1, 2, 3, 4, 5, 6], &[0, 1, 1, 99, 0, 0, 9, 99]);
        let expected = vec![1, 3, 5, 2, 4, 6, 2, 4, 6, 1, 3, 5, 1, 3, 5, 0, 0, 0];
        assert_eq!(read(&indices).unwrap(), (3, Layout::Rgb, expected));
        let row = [1, 2, 3, 1, 2, 3, 1, 2, 3, 0];
        assert_eq!(read(&raster(24, 1, &[], &[row, row].concat())).unwrap().2[..6], [3, 2, 1, 3, 2, 1]);
        assert_eq!(
            read(&raster(32, 3, &[], &[[9, 1, 2, 3]; 6].concat())).unwrap().2[..6],
            [1, 2, 3, 1, 2, 3]
        );
    }

    #[test]
    fn runs_may_cross_rows() {
        let file = raster(8, 2, &[], &[5, RUN, 0, RUN, 4, 7, 9]);
        assert_eq!(read(&file).unwrap().2, [5, RUN, 7, 7, 7, 7]);
        mutated::check(&file, 40);
    }
}
