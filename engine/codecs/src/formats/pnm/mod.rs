//! Netpbm formats, row by row: PBM, PGM and PPM, as text or binary, PAM, and PFM.
//!
//! ```text
//! P1 … P6   P6 # comment\n301 203\n255\n                                     then the samples
//! PAM       P7\nWIDTH 301\nHEIGHT 203\nDEPTH 3\nMAXVAL 255\nENDHDR\n      then the samples
//! ```
//! Source: Netpbm, pbm(5), pgm(5), ppm(5), pam(5), pfm(5), <https://netpbm.sourceforge.net/doc/>.

mod pfm;

use std::io::{BufRead, BufReader, Read};

use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "PNM",
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

/// The largest number of bytes in a header, comments included. GIMP and others write a comment of a line or two.
const MAX_HEADER_BYTES: u64 = 64 << 10;

/// The form of stored samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Text,
    /// Eight pixels per byte, with padded rows.
    Bits,
    Bytes,
    /// Two bytes each, the high one first.
    Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    width: u32,
    height: u32,
    channels: u16,
    /// The sample value of white.
    max_value: u16,
    coding: Coding,
    /// True if 1 is black and 0 white.
    is_bitmap: bool,
}

struct Rows {
    header: Header,
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
    let header = Header::read(&mut file)?;
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
    let mut rows = Rows { header, file, stored: vec![0; stored], samples: vec![0; samples] };
    Ok(Decoded::rows(size, layout, move |out| rows.read_into(out)))
}

impl Rows {
    /// Reads the next row into `samples`.
    fn read_row(&mut self) -> Result<(), SourceError> {
        if self.header.coding == Coding::Text {
            // In a text bitmap, digits need no space between them.
            let one_digit = self.header.is_bitmap;
            for sample in &mut self.samples {
                *sample = number(&mut self.file, one_digit)?;
            }
            return Ok(());
        }
        self.file.read_exact(&mut self.stored).map_err(|_| FORMAT.ends_early())?;
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

    /// Converts a sample to 8 bits.
    fn to_8_bits(&self, sample: u16) -> u8 {
        let max = u32::from(self.header.max_value);
        let value = (u32::from(sample).min(max) * 255 + max / 2) / max;
        // In a bitmap 1 is black.
        if self.header.is_bitmap { 255 - value as u8 } else { value as u8 }
    }

    fn read_into(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        if self.header.coding == Coding::Bytes && self.header.max_value == 255 && self.header.channels != 2 {
            return self.file.read_exact(out).map_err(|_| FORMAT.ends_early());
        }
        self.read_row()?;
        if self.header.channels == 2 {
            for (out, pixel) in out.as_chunks_mut::<4>().0.iter_mut().zip(self.samples.as_chunks::<2>().0) {
                let [grey, alpha] = pixel.map(|sample| self.to_8_bits(sample));
                *out = [grey, grey, grey, alpha];
            }
        } else {
            out.iter_mut().zip(&self.samples).for_each(|(out, &sample)| *out = self.to_8_bits(sample));
        }
        Ok(())
    }
}

/// Reads the next number of a text, or only its next digit.
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
    value.map(|value| value as u16).ok_or_else(|| FORMAT.ends_early())
}

impl Header {
    /// Reads a header, up to the first sample.
    fn read(file: &mut impl BufRead) -> Result<Self, SourceError> {
        let mut file = file.take(MAX_HEADER_BYTES);
        match word(&mut file)?.as_str() {
            "P7" => Self::read_pam(&mut file),
            "P1" => Self::read_plain(&mut file, 1, Coding::Text, true),
            "P2" => Self::read_plain(&mut file, 1, Coding::Text, false),
            "P3" => Self::read_plain(&mut file, 3, Coding::Text, false),
            "P4" => Self::read_plain(&mut file, 1, Coding::Bits, true),
            "P5" => Self::read_plain(&mut file, 1, Coding::Bytes, false),
            _ => Self::read_plain(&mut file, 3, Coding::Bytes, false),
        }
    }

    fn read_plain(
        file: &mut impl BufRead,
        channels: u16,
        coding: Coding,
        is_bitmap: bool,
    ) -> Result<Self, SourceError> {
        let (width, height) = (parse(&word(file)?)?, parse(&word(file)?)?);
        let most = if is_bitmap { 1 } else { parse(&word(file)?)? };
        Self { width, height, channels, max_value: 1, coding, is_bitmap }.with_max_value(most)
    }

    fn read_pam(file: &mut impl BufRead) -> Result<Self, SourceError> {
        let mut header =
            Self { width: 0, height: 0, channels: 0, max_value: 1, coding: Coding::Bytes, is_bitmap: false };
        let mut most = 255;
        loop {
            match word(file)?.as_str() {
                "ENDHDR" => return header.with_max_value(most),
                "WIDTH" => header.width = parse(&word(file)?)?,
                "HEIGHT" => header.height = parse(&word(file)?)?,
                "DEPTH" => header.channels = u16::try_from(parse(&word(file)?)?).unwrap_or(u16::MAX),
                "MAXVAL" => most = parse(&word(file)?)?,
                // TUPLTYPE only repeats DEPTH.
                _ => {}
            }
        }
    }

    fn with_max_value(self, max_value: u32) -> Result<Self, SourceError> {
        let max_value = u16::try_from(max_value).ok().filter(|&value| value > 0);
        let max_value = max_value.ok_or_else(|| FORMAT.corrupt("its maximum value is not 1 to 65535"))?;
        let coding =
            if self.coding == Coding::Bytes && max_value > 255 { Coding::Words } else { self.coding };
        Ok(Self { max_value, coding, ..self })
    }
}

/// Reads the next word, and one space after it.
fn word(file: &mut impl BufRead) -> Result<String, SourceError> {
    let mut word = String::new();
    loop {
        let Some(&byte) = file.fill_buf()?.first() else {
            return Err(FORMAT.ends_in_header());
        };
        match byte {
            b'#' if word.is_empty() => {
                file.skip_until(b'\n')?;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                file.consume(1);
                if !word.is_empty() {
                    return Ok(word);
                }
                continue;
            }
            byte => word.push(char::from(byte)),
        }
        file.consume(1);
    }
}

fn parse(word: &str) -> Result<u32, SourceError> {
    word.parse().map_err(|_| FORMAT.corrupt("a number in its header is invalid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_may_be_anywhere_between_words() {
        let mut file = b"P6 # made by hand\n# twice\n3\n2 # height\n65535\nrest".as_slice();
        let header = Header::read(&mut file).unwrap();
        assert_eq!(
            (header.width, header.height, header.max_value, header.coding),
            (3, 2, 65535, Coding::Words)
        );
        assert_eq!(file, b"rest");
    }

    #[test]
    fn invalid_headers_are_refused() {
        for header in ["P6 1", "P6 a 1 255 ", "P5 1 1 0 ", "P7\nWIDTH 1\n", "P6 1 1 65536 "] {
            assert!(Header::read(&mut header.as_bytes()).is_err(), "{header}");
        }
    }
}
