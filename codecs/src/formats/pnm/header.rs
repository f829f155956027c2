//! The text header of PBM, PGM, PPM and PAM.
//!
//! ```text
//! P1 … P6   P6 # comment\n301 203\n255\n                                     then the samples
//! PAM       P7\nWIDTH 301\nHEIGHT 203\nDEPTH 3\nMAXVAL 255\nENDHDR\n      then the samples
//! ```
//! Source: Netpbm, pbm(5), pgm(5), ppm(5), pam(5).

use std::io::{BufRead, Read};

use crate::SourceError;

/// The format's name.
pub const NAME: &str = "PNM";

/// The bytes that a header may have, comments included. GIMP and others write a comment of a line or two.
const MAX_BYTES: u64 = 64 << 10;

/// How samples are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Text,
    /// Eight pixels a byte, rows padded.
    Bits,
    Bytes,
    /// Two bytes each, the high one first.
    Words,
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub width: u32,
    pub height: u32,
    pub channels: u16,
    /// The sample value of white.
    pub max_value: u16,
    pub coding: Coding,
    /// Whether 1 is black and 0 white.
    pub is_bitmap: bool,
}

/// Reads a header, to just before the first sample.
pub fn read(file: &mut impl BufRead) -> Result<Header, SourceError> {
    let mut file = file.take(MAX_BYTES);
    match word(&mut file)?.as_str() {
        "P7" => read_pam(&mut file),
        "P1" => plain(&mut file, 1, Coding::Text, true),
        "P2" => plain(&mut file, 1, Coding::Text, false),
        "P3" => plain(&mut file, 3, Coding::Text, false),
        "P4" => plain(&mut file, 1, Coding::Bits, true),
        "P5" => plain(&mut file, 1, Coding::Bytes, false),
        _ => plain(&mut file, 3, Coding::Bytes, false),
    }
}

fn plain(
    file: &mut impl BufRead,
    channels: u16,
    coding: Coding,
    is_bitmap: bool,
) -> Result<Header, SourceError> {
    let (width, height) = (parse(&word(file)?)?, parse(&word(file)?)?);
    let most = if is_bitmap { 1 } else { parse(&word(file)?)? };
    Header { width, height, channels, max_value: 1, coding, is_bitmap }.with_max_value(most)
}

fn read_pam(file: &mut impl BufRead) -> Result<Header, SourceError> {
    let mut header =
        Header { width: 0, height: 0, channels: 0, max_value: 1, coding: Coding::Bytes, is_bitmap: false };
    let mut most = 255;
    loop {
        match word(file)?.as_str() {
            "ENDHDR" => return header.with_max_value(most),
            "WIDTH" => header.width = parse(&word(file)?)?,
            "HEIGHT" => header.height = parse(&word(file)?)?,
            "DEPTH" => header.channels = u16::try_from(parse(&word(file)?)?).unwrap_or(u16::MAX),
            "MAXVAL" => most = parse(&word(file)?)?,
            // TUPLTYPE repeats what DEPTH says.
            _ => {}
        }
    }
}

impl Header {
    fn with_max_value(self, max_value: u32) -> Result<Self, SourceError> {
        let max_value = u16::try_from(max_value).ok().filter(|&value| value > 0);
        let max_value =
            max_value.ok_or_else(|| SourceError::corrupt(NAME, "its maximum value is not 1 to 65535"))?;
        let coding =
            if self.coding == Coding::Bytes && max_value > 255 { Coding::Words } else { self.coding };
        Ok(Self { max_value, coding, ..self })
    }
}

/// The next word, and the one space after it.
fn word(file: &mut impl BufRead) -> Result<String, SourceError> {
    let mut word = String::new();
    loop {
        let Some(&byte) = file.fill_buf()?.first() else {
            return Err(SourceError::corrupt(NAME, "it ends in its header"));
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
    word.parse().map_err(|_| SourceError::corrupt(NAME, "its header has something else than a number"))
}

/// The error of a file that ends before its last row.
pub fn too_short() -> SourceError {
    SourceError::corrupt(NAME, "it ends before its last row")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_may_stand_anywhere_between_words() {
        let mut file = b"P6 # made by hand\n# twice\n3\n2 # height\n65535\nrest".as_slice();
        let header = read(&mut file).unwrap();
        assert_eq!(
            (header.width, header.height, header.max_value, header.coding),
            (3, 2, 65535, Coding::Words)
        );
        assert_eq!(file, b"rest");
    }

    #[test]
    fn what_is_no_header_is_an_error() {
        for header in ["P6 1", "P6 a 1 255 ", "P5 1 1 0 ", "P7\nWIDTH 1\n", "P6 1 1 65536 "] {
            assert!(read(&mut header.as_bytes()).is_err(), "{header}");
        }
    }
}
