//! X pixmaps, row by row: C source code with a string for each row and some characters for each pixel.
//!
//! ```text
//! /* XPM */
//! static char * name[] = {
//! "16 7 2 1",                    width, height, colours, characters a pixel
//! "  c None s background",       the characters, then keys and values: c colour, g grey, g4 4 greys, m mono, s name
//! ". c #FF0000 m black",
//! "  ..  ..  ..  .." };
//! ```
//! Source: Arnaud Le Hors, "XPM Manual", version 3.4i (1996), chapter 2; X Window System, XParseColor(3), and its file
//! `rgb.txt`.

use std::collections::HashMap;
use std::io::BufReader;

use super::section::array;
use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "XPM",
    media_types: &["image/x-xpixmap"],
    endings: &["xpm"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| head.starts_with(b"/* XPM */") || head.starts_with(b"/*XPM*/"),
    open: Open::Directly(open),
};

/// The largest number of characters per pixel.
const MAX_CHARACTERS: usize = 8;
/// The largest number of bytes in a string that is not a row.
const MAX_TEXT_BYTES: usize = 4096;
/// Bytes of memory that a colour takes in the table.
const COLOUR_BYTES: u64 = 64;

/// The characters of a pixel, padded with zeros.
type Key = [u8; MAX_CHARACTERS];

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut texts = Texts { file };
    let header = texts.next(MAX_TEXT_BYTES)?;
    let header = String::from_utf8_lossy(&header);
    let mut numbers = header.split_ascii_whitespace().map(str::parse::<u32>);
    let mut number =
        || numbers.next().and_then(Result::ok).ok_or_else(|| FORMAT.corrupt("its size is not a number"));
    let size = bounds.admit(number()?, number()?)?;
    let (count, characters) = (number()?, number()? as usize);
    if !(1..=MAX_CHARACTERS).contains(&characters) {
        return Err(FORMAT.unsupported(format_args!("it has {characters} characters per pixel")));
    }
    bounds.admit_memory(u64::from(count) * COLOUR_BYTES, "the colours of an XPM")?;
    let mut colours = HashMap::new();
    for _ in 0..count {
        let text = texts.next(MAX_TEXT_BYTES)?;
        let (key, values) =
            text.split_at_checked(characters).ok_or_else(|| FORMAT.corrupt("a colour is too short"))?;
        colours.insert(key_of(key), colour_of(&String::from_utf8_lossy(values)));
    }
    let is_opaque = colours.values().all(|&[.., alpha]| alpha == 255);
    let layout = if is_opaque { Layout::Rgb } else { Layout::Rgba };
    let (step, row_bytes) = (layout.channels(), size.width as usize * characters);
    Ok(Decoded::rows(size, layout, move |out| {
        let text = texts.next(row_bytes + MAX_TEXT_BYTES)?;
        if text.len() < row_bytes {
            return Err(FORMAT.corrupt("a row is too short"));
        }
        for (out, key) in out.chunks_exact_mut(step).zip(text.chunks_exact(characters)) {
            let colour = colours.get(&key_of(key)).copied().unwrap_or([0, 0, 0, 255]);
            out.copy_from_slice(colour.get(..step).unwrap_or_default());
        }
        Ok(())
    }))
}

fn key_of(characters: &[u8]) -> Key {
    let mut key = Key::default();
    key.iter_mut().zip(characters).for_each(|(key, &character)| *key = character);
    key
}

/// Reads the strings of the source code.
struct Texts {
    file: BufReader<SourceFile>,
}

impl Texts {
    /// Reads the next string, of at most `most` bytes.
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
                _ if text.len() == most => return Err(FORMAT.corrupt("one of its strings is too long")),
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
        let byte = array::<1>(&mut self.file).map_err(|_| FORMAT.corrupt("it ends before its last row"))?;
        Ok(byte[0])
    }
}

/// Returns the colour of an entry: the value of the key `c`, or else of the keys for grey, or for black and white.
fn colour_of(entry: &str) -> [u8; 4] {
    let words: Vec<&str> = entry.split_ascii_whitespace().collect();
    let is_key = |word: &str| matches!(word, "c" | "g" | "g4" | "m" | "s");
    let value = |key: &str| {
        let start = words.iter().position(|word| *word == key)? + 1;
        // A name may have several words.
        let words: Vec<&str> = words.iter().skip(start).copied().take_while(|word| !is_key(word)).collect();
        (!words.is_empty()).then(|| words.concat())
    };
    let value = ["c", "g", "g4", "m"].into_iter().find_map(value).unwrap_or_default();
    if value.eq_ignore_ascii_case("none") || value.eq_ignore_ascii_case("transparent") {
        return [0; 4];
    }
    // Unknown names are black.
    let [red, green, blue] =
        value.strip_prefix('#').map_or_else(|| named(&value), numbered).unwrap_or_default();
    [red, green, blue, 255]
}

/// Returns a colour of 3, 6, 9 or 12 hexadecimal digits.
fn numbered(digits: &str) -> Option<[u8; 3]> {
    let each = digits.len() / 3;
    if !digits.is_ascii() || !digits.len().is_multiple_of(3) || !(1..=4).contains(&each) {
        return None;
    }
    let channel = |index: usize| {
        let digits = digits.get(index * each..(index + 1) * each)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let most = (1u32 << (4 * each)) - 1;
        u8::try_from((number * 255 + most / 2) / most).ok()
    };
    Some([channel(0)?, channel(1)?, channel(2)?])
}

/// Returns a colour by its name in `rgb.txt`. Most names have four shades, at 100, 93.2, 80.4 and 54.5 % of the colour. Greys
/// are numbered in percent.
fn named(name: &str) -> Option<[u8; 3]> {
    let name = name.to_ascii_lowercase().replace("grey", "gray");
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let base = name.strip_suffix(digits)?;
    let number = digits.parse::<u32>().ok();
    if let ("gray", Some(percent @ 0..=100)) = (base, number) {
        return Some([((percent * 255 + 50) / 100) as u8; 3]);
    }
    let percent = match number {
        None | Some(1) => 1000,
        Some(2) => 932,
        Some(3) => 804,
        Some(4) => 545,
        Some(_) => return None,
    };
    let (_, hex) =
        NAMES.split_ascii_whitespace().filter_map(|pair| pair.split_once('=')).find(|pair| pair.0 == base)?;
    let colour = numbered(hex)?;
    Some(colour.map(|channel| ((u32::from(channel) * percent + 500) / 1000) as u8))
}

/// The names of CSS, with the older values of five of them: gray, green, maroon, purple, lightgoldenrod.
const NAMES: &str = "
    aliceblue=f0f8ff antiquewhite=faebd7 aqua=00ffff aquamarine=7fffd4 azure=f0ffff beige=f5f5dc bisque=ffe4c4
    black=000000 blanchedalmond=ffebcd blue=0000ff blueviolet=8a2be2 brown=a52a2a burlywood=deb887 cadetblue=5f9ea0
    chartreuse=7fff00 chocolate=d2691e coral=ff7f50 cornflowerblue=6495ed cornsilk=fff8dc crimson=dc143c cyan=00ffff
    darkblue=00008b darkcyan=008b8b darkgoldenrod=b8860b darkgray=a9a9a9 darkgreen=006400 darkkhaki=bdb76b
    darkmagenta=8b008b darkolivegreen=556b2f darkorange=ff8c00 darkorchid=9932cc darkred=8b0000 darksalmon=e9967a
    darkseagreen=8fbc8f darkslateblue=483d8b darkslategray=2f4f4f darkturquoise=00ced1 darkviolet=9400d3 deeppink=ff1493
    deepskyblue=00bfff dimgray=696969 dodgerblue=1e90ff firebrick=b22222 floralwhite=fffaf0 forestgreen=228b22
    fuchsia=ff00ff gainsboro=dcdcdc ghostwhite=f8f8ff gold=ffd700 goldenrod=daa520 gray=bebebe green=00ff00
    greenyellow=adff2f honeydew=f0fff0 hotpink=ff69b4 indianred=cd5c5c indigo=4b0082 ivory=fffff0 khaki=f0e68c
    lavender=e6e6fa lavenderblush=fff0f5 lawngreen=7cfc00 lemonchiffon=fffacd lightblue=add8e6 lightcoral=f08080
    lightcyan=e0ffff lightgoldenrod=eedd82 lightgoldenrodyellow=fafad2 lightgray=d3d3d3 lightgreen=90ee90
    lightpink=ffb6c1 lightsalmon=ffa07a lightseagreen=20b2aa lightskyblue=87cefa lightslateblue=8470ff
    lightslategray=778899 lightsteelblue=b0c4de lightyellow=ffffe0 lime=00ff00 limegreen=32cd32 linen=faf0e6
    magenta=ff00ff maroon=b03060 mediumaquamarine=66cdaa mediumblue=0000cd mediumorchid=ba55d3 mediumpurple=9370db
    mediumseagreen=3cb371 mediumslateblue=7b68ee mediumspringgreen=00fa9a mediumturquoise=48d1cc mediumvioletred=c71585
    midnightblue=191970 mintcream=f5fffa mistyrose=ffe4e1 moccasin=ffe4b5 navajowhite=ffdead navy=000080 navyblue=000080
    oldlace=fdf5e6 olive=808000 olivedrab=6b8e23 orange=ffa500 orangered=ff4500 orchid=da70d6 palegoldenrod=eee8aa
    palegreen=98fb98 paleturquoise=afeeee palevioletred=db7093 papayawhip=ffefd5 peachpuff=ffdab9 peru=cd853f
    pink=ffc0cb plum=dda0dd powderblue=b0e0e6 purple=a020f0 rebeccapurple=663399 red=ff0000 rosybrown=bc8f8f royalblue=4169e1
    saddlebrown=8b4513 salmon=fa8072 sandybrown=f4a460 seagreen=2e8b57 seashell=fff5ee sienna=a0522d silver=c0c0c0
    skyblue=87ceeb slateblue=6a5acd slategray=708090 snow=fffafa springgreen=00ff7f steelblue=4682b4 tan=d2b48c
    teal=008080 thistle=d8bfd8 tomato=ff6347 turquoise=40e0d0 violet=ee82ee violetred=d02090 wheat=f5deb3 white=ffffff
    whitesmoke=f5f5f5 yellow=ffff00 yellowgreen=9acd32";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mutated::{self, read};

    const FILE: &str = "/* XPM */\nstatic char *a[] = {\n/* 2 by \"2\" */\n\"2 2 2 2\",\n\
        \"ab c #ff0000\",\n\"\\\"c c None\",\n\"ab\\\"c\",\"abab\"};";

    #[test]
    fn a_row_is_a_string_of_its_pixels_characters() {
        let expected = [255, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 255, 255, 0, 0, 255];
        assert_eq!(read(FILE.as_bytes()).unwrap(), (2, Layout::Rgba, expected.to_vec()));
        let opaque = FILE.replace("None", "gray100");
        assert_eq!(read(opaque.as_bytes()).unwrap().1, Layout::Rgb);
    }

    #[test]
    fn mutated_files_end_in_a_picture_or_an_error() {
        mutated::check(FILE.as_bytes(), FILE.len());
    }

    #[test]
    fn colours_are_numbers_or_names() {
        for (entry, colour) in [
            (" c #FF8000", [255, 128, 0, 255]),
            (" c #f80 m white", [255, 136, 0, 255]),
            ("\tc #ffff80000000", [255, 128, 0, 255]),
            (" s background c None m black", [0; 4]),
            (" m black c Light Sea Green g grey", [0x20, 0xb2, 0xaa, 255]),
            (" c gray50", [128, 128, 128, 255]),
            (" c Red3", [205, 0, 0, 255]),
            (" g4 white", [255; 4]),
            (" c nobody's", [0, 0, 0, 255]),
            (" c #ff", [0, 0, 0, 255]),
            (" c #éé", [0, 0, 0, 255]),
            ("", [0, 0, 0, 255]),
        ] {
            assert_eq!(colour_of(entry), colour, "{entry}");
        }
    }
}
