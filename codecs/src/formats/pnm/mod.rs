//! Netpbm's formats, row by row: PBM, PGM and PPM, as text or binary, PAM, and PFM.
//!
//! Source: Netpbm, pbm(5), pgm(5), ppm(5), pam(5), pfm(5), <https://netpbm.sourceforge.net/doc/>.

mod header;
mod pfm;

use std::io::{BufRead, BufReader, Read};

use edgezoom_geometry::Size;

use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, RowReader, SourceError, SourceFile};
use header::{Coding, Header, too_short};

pub(crate) static FORMAT: Format = Format {
    name: header::NAME,
    media_types: &[
        "image/x-portable-anymap",
        "image/x-portable-bitmap",
        "image/x-portable-graymap",
        "image/x-portable-pixmap",
    ],
    endings: &["pnm", "pbm", "pgm", "ppm", "pam", "pfm"],
    reading: Reading::Rows,
    in_order: true,
    signature: |head| {
        matches!(
            head,
            [b'P', b'1'..=b'6' | b'F' | b'f', b' ' | b'\t' | b'\r' | b'\n' | b'#', ..]
                | [b'P', b'7', b'\n', ..]
        )
    },
    open: Open::Directly(open),
};

struct Rows {
    header: Header,
    size: Size,
    layout: Layout,
    file: BufReader<SourceFile>,
    /// A row as stored.
    stored: Vec<u8>,
    /// A row's samples.
    samples: Vec<u16>,
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    if let [b'P', b'F' | b'f', ..] = file.fill_buf()? {
        return pfm::open(file.into_inner(), bounds);
    }
    let header = header::read(&mut file)?;
    let size = bounds.admit(header.width, header.height)?;
    let layout = match header.channels {
        1 => Layout::Grey,
        3 => Layout::Rgb,
        2 | 4 => Layout::Rgba,
        other => {
            return Err(FORMAT.unsupported(format_args!("it has {other} channels")));
        }
    };
    let samples = size.width as usize * usize::from(header.channels);
    let stored = match header.coding {
        Coding::Text => 0,
        Coding::Bits => samples.div_ceil(8),
        Coding::Bytes => samples,
        Coding::Words => 2 * samples,
    };
    let (stored, samples) = (vec![0; stored], vec![0; samples]);
    Ok(Decoded::plain(Rows { header, size, layout, file, stored, samples }))
}

impl Rows {
    /// Reads the next row into `samples`.
    fn read_row(&mut self) -> Result<(), SourceError> {
        if self.header.coding == Coding::Text {
            // In a bitmap as text, digits need no space between them.
            let one_digit = self.header.is_bitmap;
            for sample in &mut self.samples {
                *sample = number(&mut self.file, one_digit)?;
            }
            return Ok(());
        }
        self.file.read_exact(&mut self.stored).map_err(|_| too_short())?;
        match self.header.coding {
            Coding::Bits => {
                for (index, sample) in self.samples.iter_mut().enumerate() {
                    *sample = u16::from(self.stored[index / 8] >> (7 - index % 8) & 1);
                }
            }
            Coding::Words => {
                for (sample, &stored) in self.samples.iter_mut().zip(self.stored.as_chunks().0) {
                    *sample = u16::from_be_bytes(stored);
                }
            }
            Coding::Bytes | Coding::Text => {
                for (sample, &stored) in self.samples.iter_mut().zip(&self.stored) {
                    *sample = u16::from(stored);
                }
            }
        }
        Ok(())
    }

    /// A sample as 8 bits.
    fn to_8_bits(&self, sample: u16) -> u8 {
        let max = u32::from(self.header.max_value);
        let value = (u32::from(sample).min(max) * 255 + max / 2) / max;
        // In a bitmap 1 is black.
        if self.header.is_bitmap { 255 - value as u8 } else { value as u8 }
    }
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        for out in into.chunks_exact_mut(self.size.width as usize * self.layout.channels()) {
            self.read_row()?;
            if self.header.channels == 2 {
                for (out, pixel) in out.as_chunks_mut::<4>().0.iter_mut().zip(self.samples.as_chunks::<2>().0)
                {
                    let [grey, alpha] = pixel.map(|sample| self.to_8_bits(sample));
                    *out = [grey, grey, grey, alpha];
                }
            } else {
                for (out, &sample) in out.iter_mut().zip(&self.samples) {
                    *out = self.to_8_bits(sample);
                }
            }
        }
        Ok(())
    }
}

/// The next number of a text, or its next digit.
fn number(file: &mut BufReader<SourceFile>, one_digit: bool) -> Result<u16, SourceError> {
    let mut value: Option<u32> = None;
    while let Some(&byte) = file.fill_buf()?.first() {
        match (byte, value) {
            (b'0'..=b'9', _) => {
                let next = value.unwrap_or(0) * 10 + u32::from(byte - b'0');
                value = Some(next.min(u32::from(u16::MAX)));
            }
            (b'#', None) => {
                file.skip_until(b'\n')?;
                continue;
            }
            (byte, None) if byte.is_ascii_whitespace() => {}
            (_, Some(_)) => break,
            _ => return Err(FORMAT.corrupt("a sample is not a number")),
        }
        file.consume(1);
        if one_digit && value.is_some() {
            break;
        }
    }
    value.map(|value| value as u16).ok_or_else(too_short)
}
