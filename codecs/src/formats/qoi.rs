//! QOI, pixel by pixel as it is read.
//!
//! Source: the QOI specification, version 1.0.

use std::fs::File;
use std::io::{BufReader, Read};

use edgezoom_content::Size;

use crate::{Bounds, Decoded, Format, Layout, RowReader, SourceError};

type Pixel = [u8; 4];

struct Rows {
    size: Size,
    layout: Layout,
    file: BufReader<File>,
    pixel: Pixel,
    /// Colours that came before, each at the place that its hash gives it.
    seen: [Pixel; 64],
    /// How often the last pixel is still to be repeated.
    run: u8,
}

pub fn open(mut file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let [_, _, _, _, w0, w1, w2, w3, h0, h1, h2, h3, channels, _] = bytes::<14>(&mut file)?;
    let size = bounds.admit(u32::from_be_bytes([w0, w1, w2, w3]), u32::from_be_bytes([h0, h1, h2, h3]))?;
    let layout = match channels {
        3 => Layout::Rgb,
        4 => Layout::Rgba,
        _ => return Err(SourceError::corrupt(Format::Qoi, "it has neither 3 nor 4 channels")),
    };
    Ok(Decoded::plain(Rows { size, layout, file, pixel: [0, 0, 0, 255], seen: [[0; 4]; 64], run: 0 }))
}

impl Rows {
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
        self.seen[place(self.pixel)] = self.pixel;
        Ok(self.pixel)
    }
}

fn place([red, green, blue, alpha]: Pixel) -> usize {
    (usize::from(red) * 3 + usize::from(green) * 5 + usize::from(blue) * 7 + usize::from(alpha) * 11) % 64
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let channels = self.layout.channels();
        for out in into.chunks_exact_mut(channels) {
            out.copy_from_slice(&self.next()?[..channels]);
        }
        Ok(())
    }
}

fn bytes<const N: usize>(file: &mut BufReader<File>) -> Result<[u8; N], SourceError> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)
        .map_err(|_| SourceError::corrupt(Format::Qoi, "it ends before its last row"))?;
    Ok(bytes)
}
