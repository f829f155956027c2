//! QOI, row by row.
//!
//! ```text
//! 0       4           8            12        13
//! "qoif"  width: u32  height: u32  channels  colour space; numbers are big-endian, then chunks:
//!
//! 11111110 r g b          QOI_OP_RGB    11111111 r g b a        QOI_OP_RGBA
//! 00iiiiii                QOI_OP_INDEX  a colour seen before, by its hash
//! 01rrggbb                QOI_OP_DIFF   differences to the last pixel, biased by 2
//! 10gggggg rrrrbbbb       QOI_OP_LUMA   difference of green, biased by 32; of red and blue to that, biased by 8
//! 11nnnnnn                QOI_OP_RUN    the last pixel, n + 1 times
//! ```
//! Source: The Quite OK Image Format Specification, version 1.0 (2022).

use std::io::BufReader;

use super::section::array;
use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "QOI",
    media_types: &["image/qoi"],
    endings: &["qoi"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| head.starts_with(b"qoif"),
    open: Open::Directly(open),
};

type Pixel = [u8; 4];

/// The state of the decoder.
struct Pixels {
    file: BufReader<SourceFile>,
    pixel: Pixel,
    /// Earlier colours, each at the index of its hash.
    seen: [Pixel; 64],
    /// Number of times the last pixel is still repeated.
    run: u8,
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let [_, _, _, _, w0, w1, w2, w3, h0, h1, h2, h3, channels, _] = bytes::<14>(&mut file)?;
    let size = bounds.admit(u32::from_be_bytes([w0, w1, w2, w3]), u32::from_be_bytes([h0, h1, h2, h3]))?;
    let layout = match channels {
        3 => Layout::Rgb,
        4 => Layout::Rgba,
        _ => return Err(FORMAT.corrupt("it has neither 3 nor 4 channels")),
    };
    let mut pixels = Pixels { file, pixel: [0, 0, 0, 255], seen: [[0; 4]; 64], run: 0 };
    let channels = layout.channels();
    Ok(Decoded::rows(size, layout, move |row| {
        for out in row.chunks_exact_mut(channels) {
            out.copy_from_slice(&pixels.next()?[..channels]);
        }
        Ok(())
    }))
}

impl Pixels {
    fn next(&mut self) -> Result<Pixel, SourceError> {
        if self.run > 0 {
            self.run -= 1;
            return Ok(self.pixel);
        }
        let [tag] = bytes(&mut self.file)?;
        let [red, green, blue, alpha] = self.pixel;
        let moved = |colour: u8, by: u8, bias: u8| colour.wrapping_add(by).wrapping_sub(bias);
        self.pixel = match tag {
            0xfe => {
                let [red, green, blue] = bytes(&mut self.file)?;
                [red, green, blue, alpha]
            }
            0xff => bytes(&mut self.file)?,
            0x00..=0x3f => self.seen[usize::from(tag)],
            0x40..=0x7f => {
                [moved(red, tag >> 4 & 3, 2), moved(green, tag >> 2 & 3, 2), moved(blue, tag & 3, 2), alpha]
            }
            0x80..=0xbf => {
                let [others] = bytes(&mut self.file)?;
                let by = (tag & 0x3f).wrapping_sub(32);
                [
                    moved(red, by.wrapping_add(others >> 4), 8),
                    green.wrapping_add(by),
                    moved(blue, by.wrapping_add(others & 0xf), 8),
                    alpha,
                ]
            }
            0xc0..=0xfd => {
                self.run = tag & 0x3f;
                self.pixel
            }
        };
        self.seen[hash(self.pixel)] = self.pixel;
        Ok(self.pixel)
    }
}

fn hash([red, green, blue, alpha]: Pixel) -> usize {
    (usize::from(red) * 3 + usize::from(green) * 5 + usize::from(blue) * 7 + usize::from(alpha) * 11) % 64
}

fn bytes<const N: usize>(file: &mut BufReader<SourceFile>) -> Result<[u8; N], SourceError> {
    array(file).map_err(|_| FORMAT.corrupt("it ends before its last row"))
}
