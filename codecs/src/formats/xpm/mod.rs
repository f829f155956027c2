//! X pixmaps, row by row: C source code, a text for each row, some characters a pixel.
//!
//! ```text
//! /* XPM */
//! static char * name[] = {
//! "16 7 2 1",                    width, height, colours, characters a pixel
//! "  c None s background",       the characters, then keys and values: c colour, g grey, g4 4 greys, m mono, s a name
//! ". c #FF0000 m black",
//! "  ..  ..  ..  .." };
//! ```
//! Source: Arnaud Le Hors, "XPM Manual", version 3.4i (1996), chapter 2.

mod colours;

use std::collections::HashMap;
use std::io::{BufReader, Read};

use edgezoom_geometry::Size;

use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, RowReader, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "XPM",
    media_types: &["image/x-xpixmap"],
    endings: &["xpm"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| head.starts_with(b"/* XPM */") || head.starts_with(b"/*XPM*/"),
    open: Open::Directly(open),
};

/// The characters that a pixel may have, and the bytes of a text that is no row.
const MAX_CHARACTERS: usize = 8;
const MAX_TEXT_BYTES: usize = 4096;
/// The memory that a colour takes, its place in the table included, in bytes.
const COLOUR_BYTES: u64 = 64;

/// A pixel's characters, filled up with zeros.
type Key = [u8; MAX_CHARACTERS];

struct Rows {
    size: Size,
    characters: usize,
    layout: Layout,
    colours: HashMap<Key, [u8; 4]>,
    texts: Texts,
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut texts = Texts { file };
    let header = texts.next(MAX_TEXT_BYTES)?;
    let header = String::from_utf8_lossy(&header);
    let mut numbers = header.split_ascii_whitespace().map(str::parse::<u32>);
    let mut number =
        || numbers.next().and_then(Result::ok).ok_or_else(|| FORMAT.corrupt("its size is no number"));
    let size = bounds.admit(number()?, number()?)?;
    let (count, characters) = (number()?, number()? as usize);
    if !(1..=MAX_CHARACTERS).contains(&characters) {
        return Err(FORMAT.unsupported(format_args!("a pixel has {characters} characters")));
    }
    bounds.admit_memory(u64::from(count) * COLOUR_BYTES, "the colours of an XPM")?;
    let mut colours = HashMap::new();
    for _ in 0..count {
        let text = texts.next(MAX_TEXT_BYTES)?;
        let (key, values) =
            text.split_at_checked(characters).ok_or_else(|| FORMAT.corrupt("a colour is too short"))?;
        colours.insert(key_of(key), colours::of(&String::from_utf8_lossy(values)));
    }
    let is_opaque = colours.values().all(|&[.., alpha]| alpha == 255);
    let layout = if is_opaque { Layout::Rgb } else { Layout::Rgba };
    Ok(Decoded::plain(Rows { size, characters, layout, colours, texts }))
}

fn key_of(characters: &[u8]) -> Key {
    let mut key = Key::default();
    key.iter_mut().zip(characters).for_each(|(key, &character)| *key = character);
    key
}

/// The texts of the source code, one after the other.
struct Texts {
    file: BufReader<SourceFile>,
}

impl Texts {
    /// The next text, of at most so many bytes.
    fn next(&mut self, most: usize) -> Result<Vec<u8>, SourceError> {
        let mut last = 0;
        loop {
            match (last, self.byte()?) {
                (_, b'"') => break,
                (b'/', b'*') => {
                    self.skip_comment()?;
                    last = 0;
                }
                (_, byte) => last = byte,
            }
        }
        let mut text = Vec::new();
        loop {
            match self.byte()? {
                b'"' => return Ok(text),
                _ if text.len() == most => return Err(FORMAT.corrupt("one of its texts is too long")),
                b'\\' => text.push(self.byte()?),
                byte => text.push(byte),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), SourceError> {
        let mut last = 0;
        loop {
            match (last, self.byte()?) {
                (b'*', b'/') => return Ok(()),
                (_, byte) => last = byte,
            }
        }
    }

    fn byte(&mut self) -> Result<u8, SourceError> {
        let mut byte = [0];
        self.file.read_exact(&mut byte).map_err(|_| FORMAT.corrupt("it ends before its last row"))?;
        Ok(byte[0])
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
        let step = self.layout.channels();
        let row_bytes = self.size.width as usize * self.characters;
        for out in into.chunks_exact_mut(self.layout.row_bytes(self.size.width)) {
            let text = self.texts.next(row_bytes + MAX_TEXT_BYTES)?;
            if text.len() < row_bytes {
                return Err(FORMAT.corrupt("a row is too short"));
            }
            for (out, key) in out.chunks_exact_mut(step).zip(text.chunks_exact(self.characters)) {
                let colour = self.colours.get(&key_of(key)).copied().unwrap_or([0, 0, 0, 255]);
                out.copy_from_slice(colour.get(..step).unwrap_or_default());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated::{self, read};

    const FILE: &str = "/* XPM */\nstatic char *a[] = {\n/* 2 by \"2\" */\n\"2 2 2 2\",\n\
        \"ab c #ff0000\",\n\"\\\"c c None\",\n\"ab\\\"c\",\"abab\"};";

    #[test]
    fn characters_are_colours() {
        let expected = [255, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 255, 255, 0, 0, 255];
        assert_eq!(read(FILE.as_bytes()).unwrap(), (2, Layout::Rgba, expected.to_vec()));
        let opaque = FILE.replace("None", "gray100");
        assert_eq!(read(opaque.as_bytes()).unwrap().1, Layout::Rgb);
    }

    #[test]
    fn changed_files_end_in_a_picture_or_an_error() {
        mutated::check(FILE.as_bytes(), FILE.len());
    }
}
