//! X bitmaps, row by row: C source code with a black and white picture.
//!
//! ```text
//! #define name_width 16
//! #define name_height 7
//! static char name_bits[] = { 0xff, 0x01, … };     a row: bytes, or with "short" 16-bit numbers, the lowest bit first
//! ```
//! 1 is black. Source: X Window System, XReadBitmapFile(3).

use std::io::{BufRead, BufReader, Read};

use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "XBM",
    media_types: &["image/x-xbitmap"],
    endings: &["xbm"],
    reading: Reading::Rows,
    in_order: false,
    signature: is_xbm,
    open: Open::Directly(open),
};

/// The largest number of bytes before the numbers, where programs write licences.
const MAX_HEADER_BYTES: u64 = 64 << 10;
/// The largest number of bytes between two numbers.
const MAX_GAP: usize = 4096;

/// Returns true if a file begins like a bitmap, perhaps after comments: with definitions of a width and a height.
fn is_xbm(head: &[u8]) -> bool {
    let mut text = head;
    while let Some(comment) = text.trim_ascii_start().strip_prefix(b"/*") {
        let Some(end) = comment.windows(2).position(|mark| mark == b"*/") else { return false };
        text = &comment[end + 2..];
    }
    let text = text.trim_ascii_start();
    let start = text.get(..text.len().min(1024)).unwrap_or_default();
    start.starts_with(b"#define") && find(start, b"_width") && find(start, b"_height")
}

fn find(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut header = Vec::new();
    (&mut file).take(MAX_HEADER_BYTES).read_until(b'{', &mut header)?;
    if header.last() != Some(&b'{') {
        return Err(FORMAT.corrupt("it ends in its header"));
    }
    let text = String::from_utf8_lossy(&header);
    let mut words = text.split_ascii_whitespace();
    let (mut width, mut height) = (0, 0);
    while let Some(word) = words.next() {
        if word == "#define" {
            let (name, value) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let side = match name {
                _ if name.ends_with("width") => &mut width,
                _ if name.ends_with("height") => &mut height,
                _ => continue,
            };
            *side = value.parse().map_err(|_| FORMAT.corrupt("its size is not a number"))?;
        }
    }
    let size = bounds.admit(width, height)?;
    let bits = if text.split_ascii_whitespace().any(|word| word == "short") { 16 } else { 8 };
    Ok(Decoded::rows(size, Layout::Grey, move |row| {
        for pixels in row.chunks_mut(bits) {
            let number = number(&mut file)?;
            for (bit, out) in pixels.iter_mut().enumerate() {
                *out = if number >> bit & 1 == 1 { 0 } else { 255 };
            }
        }
        Ok(())
    }))
}

/// Reads the next number of the list.
fn number(file: &mut BufReader<SourceFile>) -> Result<u16, SourceError> {
    let (mut word, mut gap) = (String::new(), 0);
    loop {
        let mut byte = [0];
        if file.read(&mut byte)? == 0 {
            return Err(FORMAT.corrupt("it ends before its last row"));
        }
        match byte {
            [byte] if byte.is_ascii_alphanumeric() && word.len() < 16 => word.push(char::from(byte)),
            [b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t' | b';'] if !word.is_empty() => break,
            [b'}'] => return Err(FORMAT.corrupt("it ends before its last row")),
            [b',' | b' ' | b'\n' | b'\r' | b'\t'] if gap < MAX_GAP => gap += 1,
            _ => return Err(not_a_number()),
        }
    }
    let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let number = match hexadecimal {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    // Extra bits are dropped, as by a C compiler.
    number.map(|number| number as u16).map_err(|_| not_a_number())
}

fn not_a_number() -> SourceError {
    FORMAT.corrupt("one of its numbers is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated;

    #[test]
    fn a_bitmap_is_recognised_by_the_definitions_of_its_size() {
        assert!(is_xbm(
            b"/* a * comment */\n#define a_width 16\n#define a_height 7\nstatic char a_bits[] = {"
        ));
        for text in
            [b"#define width".as_slice(), b"#include <a_width h> _height", b"/*", b"", b"#define a_width 3\n"]
        {
            assert!(!is_xbm(text), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn the_lowest_bit_is_left_and_one_is_black() {
        let file =
            b"#define a_width 9\n#define a_height 2\nstatic char a_bits[] = {\n 0x05, 0x01,0xff,\n0 };";
        let (width, layout, pixels) = mutated::read(file).unwrap();
        assert_eq!((width, layout), (9, Layout::Grey));
        assert_eq!(pixels[..9], [0, 255, 0, 255, 255, 255, 255, 255, 0]);
        assert_eq!(pixels[9..], [0, 0, 0, 0, 0, 0, 0, 0, 255]);
        let text = String::from_utf8_lossy(file).replace("static char", "static short");
        assert_eq!(mutated::read(text.as_bytes()).unwrap().2[9..11], [0, 255]);
        mutated::check(file, file.len());
    }
}
