//! Truevision TGA, row by row. Most files are stored from the bottom up. Uncompressed ones are read from the end.
//!
//! ```text
//! 0          1           2     3            5              7           8               12     14      16    17
//! id length  has palette type  first index  palette length entry bits  x, y origin     width  height  bits  flags
//! u8         u8          u8    u16          u16            u8          u16, u16        u16    u16     u8    u8
//!
//! type   1 palette, 2 colour, 3 grey; + 8 run-length compressed
//! flags  bits 0–3 alpha bits of a pixel, bit 4 from the right, bit 5 from the top, bits 6–7 reserved
//! ```
//! Numbers are little-endian. The header is followed by a comment, the palette and the pixels.
//!
//! Many programs leave the alpha bits zero without meaning transparency. If they are so in all pixels, the picture is opaque,
//! as in DirectXTex (`TGA_FLAGS_ALLOW_ALL_ZERO_ALPHA` is off by default) and Aseprite. Otherwise a set bit is opaque in pixels
//! of 16 bits, too; Pillow reads that bit the other way round, and stb_image ignores it.
//!
//! Source: Truevision TGA File Format Specification, version 2.0 (1991), "TGA File Header", fields 1 to 8.

use std::io::{BufReader, Read, Seek, SeekFrom};

use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Orientation, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "TGA",
    media_types: &["image/x-tga"],
    endings: &["tga"],
    reading: Reading::Rows,
    in_order: false,
    signature: is_header,
    open: Open::Directly(open),
};

const HEADER_BYTES: usize = 18;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    width: u16,
    height: u16,
    kind: Kind,
    /// True if pixels are compressed by runs.
    compressed: bool,
    /// Bits of a pixel, or of an index into the palette.
    bits: u8,
    /// Bits of a pixel that are alpha.
    alpha_bits: u8,
    from_right: bool,
    from_top: bool,
    /// Length of the comment.
    comment: u8,
    /// The palette's first index, its number of colours, and their bits.
    palette: (u16, u16, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Palette,
    Colour,
    Grey,
}

struct Rows {
    header: Header,
    file: BufReader<SourceFile>,
    palette: Vec<[u8; 4]>,
    /// The offset of the pixels, if rows are read from the end.
    backwards_from: Option<u64>,
    /// Number of rows that are still to be read.
    left: u32,
    row: Vec<u8>,
    /// A repeated pixel, and how many times more.
    run: ([u8; 4], u8),
    /// Number of literal pixels that follow.
    literal: u8,
}

impl Header {
    /// Reads a header. Returns `None` if a field is invalid: TGA has no signature, so every field is checked.
    fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let [comment, palettes, kind, f0, f1, n0, n1, entry, _, _, _, _, w0, w1, h0, h1, bits, flags] =
            *bytes;
        let number = |low, high| u16::from_le_bytes([low, high]);
        let (width, height) = (number(w0, w1), number(h0, h1));
        let compressed = kind & 8 != 0;
        let kind = match kind & !8 {
            1 => Kind::Palette,
            2 => Kind::Colour,
            3 => Kind::Grey,
            _ => return None,
        };
        let palette = (number(f0, f1), number(n0, n1), entry);
        let palette_fits = match kind {
            Kind::Palette => palettes == 1 && palette.1 > 0 && matches!(entry, 15 | 16 | 24 | 32),
            // A palette is allowed and ignored if pixels are colours.
            _ => palettes == 0 && palette == (0, 0, 0) || palettes == 1 && matches!(entry, 15 | 16 | 24 | 32),
        };
        let bits_fit = match kind {
            Kind::Palette => matches!(bits, 8 | 16),
            Kind::Grey => matches!(bits, 8 | 16),
            Kind::Colour => matches!(bits, 15 | 16 | 24 | 32),
        };
        let alpha_bits = flags & 15;
        let fits = palette_fits && bits_fit && width > 0 && height > 0;
        // A pixel of 16 bits can have one alpha bit, one of 32 bits eight.
        let flags_fit =
            flags & 0xc0 == 0 && matches!((alpha_bits, bits), (0, _) | (1, 16) | (8, 8 | 16 | 32));
        (fits && flags_fit).then_some(Self {
            width,
            height,
            kind,
            compressed,
            bits,
            alpha_bits,
            from_right: flags & 16 != 0,
            from_top: flags & 32 != 0,
            comment,
            palette,
        })
    }

    fn layout(&self) -> Layout {
        let has_alpha = match (self.kind, self.bits) {
            (Kind::Grey, 8) => return Layout::Grey,
            (Kind::Grey, _) => true,
            (Kind::Colour, _) => self.alpha_bits > 0,
            (Kind::Palette, _) => self.palette.2 == 32,
        };
        if has_alpha { Layout::Rgba } else { Layout::Rgb }
    }

    fn pixel_bytes(&self) -> usize {
        usize::from(self.bits).div_ceil(8)
    }
}

/// Returns true if a file begins with a valid header.
fn is_header(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|head| Header::read(head).is_some())
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut head = [0; HEADER_BYTES];
    file.read_exact(&mut head).map_err(|_| too_short())?;
    let header = Header::read(&head).ok_or_else(|| FORMAT.corrupt("its header is invalid"))?;
    let size = bounds.admit(u32::from(header.width), u32::from(header.height))?;
    file.seek_relative(i64::from(header.comment))?;
    let palette = read_palette(&mut file, &header)?;
    let start = file.stream_position()?;
    let is_backwards = !header.from_top && !header.compressed;
    let row = vec![0; size.width as usize * header.pixel_bytes()];
    let backwards_from = is_backwards.then_some(start);
    let (left, run) = (size.height, ([0; 4], 0));
    let mut rows = Rows { header, file, palette, backwards_from, left, row, run, literal: 0 };
    let layout = match (header.layout(), header.kind) {
        (Layout::Rgba, _) if !rows.have_empty_alpha(start)? => Layout::Rgba,
        (Layout::Rgba, Kind::Grey) => Layout::Grey,
        (Layout::Rgba, _) => Layout::Rgb,
        (layout, _) => layout,
    };
    let orientation = Orientation::from_exif(match (header.from_right, header.from_top || is_backwards) {
        (false, true) => 1,
        (true, true) => 2,
        (true, false) => 3,
        (false, false) => 4,
    });
    let channels = layout.channels();
    let decoded = Decoded::rows(size, layout, move |out| {
        rows.read_row()?;
        for (out, stored) in out.chunks_exact_mut(channels).zip(rows.row.chunks_exact(header.pixel_bytes())) {
            out.copy_from_slice(&rows.pixel(stored)[..channels]);
        }
        Ok(())
    });
    Ok(Decoded { orientation, ..decoded })
}

fn read_palette(file: &mut BufReader<SourceFile>, header: &Header) -> Result<Vec<[u8; 4]>, SourceError> {
    let (first, count, bits) = header.palette;
    let entry = usize::from(bits).div_ceil(8);
    let mut stored = vec![0; usize::from(count) * entry];
    file.read_exact(&mut stored).map_err(|_| too_short())?;
    let mut palette = vec![[0, 0, 0, 255]; usize::from(first)];
    palette.extend(stored.chunks_exact(entry.max(1)).map(|entry| colour(entry, bits == 32)));
    Ok(palette)
}

/// Converts a stored colour: blue, green, red and alpha, or 16 bits `arrrrrgg gggbbbbb`.
fn colour(stored: &[u8], has_alpha: bool) -> [u8; 4] {
    match *stored {
        [low, high] => {
            let bits = u16::from_le_bytes([low, high]);
            let wide = |shift: u16| ((u32::from(bits >> shift & 31) * 255 + 15) / 31) as u8;
            let alpha = if has_alpha && bits >> 15 == 0 { 0 } else { 255 };
            [wide(10), wide(5), wide(0), alpha]
        }
        [blue, green, red, alpha] => [red, green, blue, if has_alpha { alpha } else { 255 }],
        [blue, green, red] => [red, green, blue, 255],
        _ => [0, 0, 0, 255],
    }
}

impl Rows {
    /// Returns true if alpha is zero in all pixels that the file has. Returns to the first row, whose offset is `start`.
    fn have_empty_alpha(&mut self, start: u64) -> Result<bool, SourceError> {
        let mut is_empty = true;
        while is_empty && self.left > 0 && self.read_row().is_ok() {
            let mut pixels = self.row.chunks_exact(self.header.pixel_bytes());
            is_empty = pixels.all(|stored| self.pixel(stored)[3] == 0);
        }
        self.file.seek(SeekFrom::Start(start))?;
        (self.left, self.run, self.literal) = (self.header.height.into(), ([0; 4], 0), 0);
        Ok(is_empty)
    }

    /// Reads the next row into `row`, decompressed.
    fn read_row(&mut self) -> Result<(), SourceError> {
        self.left = self.left.saturating_sub(1);
        if let Some(start) = self.backwards_from {
            let row = u64::from(self.left) * self.row.len() as u64;
            self.file.seek(SeekFrom::Start(start + row))?;
        }
        if !self.header.compressed {
            return self.file.read_exact(&mut self.row).map_err(|_| too_short());
        }
        let bytes = self.header.pixel_bytes();
        for out in self.row.chunks_exact_mut(bytes) {
            if self.run.1 == 0 && self.literal == 0 {
                let mut packet = [0];
                self.file.read_exact(&mut packet).map_err(|_| too_short())?;
                let count = (packet[0] & 0x7f) + 1;
                if packet[0] & 0x80 == 0 {
                    self.literal = count;
                } else {
                    self.file.read_exact(&mut self.run.0[..bytes]).map_err(|_| too_short())?;
                    self.run.1 = count;
                }
            }
            if self.literal > 0 {
                self.literal -= 1;
                self.file.read_exact(out).map_err(|_| too_short())?;
            } else {
                self.run.1 -= 1;
                out.copy_from_slice(&self.run.0[..bytes]);
            }
        }
        Ok(())
    }

    fn pixel(&self, stored: &[u8]) -> [u8; 4] {
        match (self.header.kind, stored) {
            (Kind::Grey, &[grey]) => [grey, grey, grey, 255],
            (Kind::Grey, &[grey, alpha]) => [grey, grey, grey, alpha],
            (Kind::Palette, &[index]) => self.palette.get(usize::from(index)).copied().unwrap_or_default(),
            (Kind::Palette, &[low, high]) => {
                let index = usize::from(u16::from_le_bytes([low, high]));
                self.palette.get(index).copied().unwrap_or_default()
            }
            (_, stored) => colour(stored, self.header.alpha_bits > 0),
        }
    }
}

fn too_short() -> SourceError {
    FORMAT.corrupt("it ends before its last row")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_header_is_checked() {
        let good = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 9, 0, 24, 0x20];
        assert!(is_header(&good));
        for (field, value) in
            [(1, 2), (2, 4), (2, 0), (12, 0), (16, 23), (17, 0x80), (17, 1), (3, 1), (7, 24)]
        {
            let mut bad = good;
            bad[field] = value;
            assert!(!is_header(&bad), "{field}: {value}");
        }
        assert!(!is_header(&good[..17]));
        assert!(!is_header(&[0; 18]));
    }

    /// Reads a picture of 2×2 pixels.
    fn read(kind: u8, bits: u8, flags: u8, pixels: &[u8]) -> (Layout, Vec<u8>) {
        let header = [0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, bits, flags];
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[&header[..], pixels].concat()).unwrap();
        let mut rows = crate::open(file, crate::Bounds::default()).unwrap();
        let mut pixels = vec![0; rows.layout().row_bytes(2) * 2];
        rows.read_rows(&mut pixels).unwrap();
        (rows.layout(), pixels)
    }

    #[test]
    fn alpha_that_would_hide_the_whole_picture_is_ignored() {
        const RED: [u8; 2] = [0x00, 0x7c];
        const OPAQUE_RED: [u8; 2] = [0x00, 0xfc];
        let is_opaque = |kind, bits, flags, pixels: &[u8], shown: &[u8]| {
            let layout = if shown.len() == 1 { Layout::Grey } else { Layout::Rgb };
            assert_eq!(read(kind, bits, flags, pixels), (layout, shown.repeat(4)), "{kind}, {bits} bits");
        };
        is_opaque(2, 16, 1, &RED.repeat(4), &[255, 0, 0]); // from the bottom up
        is_opaque(2, 16, 0x21, &RED.repeat(4), &[255, 0, 0]);
        is_opaque(10, 16, 0x21, &[&[0x83], &RED[..]].concat(), &[255, 0, 0]);
        is_opaque(2, 32, 0x28, &[1, 2, 3, 0].repeat(4), &[3, 2, 1]);
        is_opaque(3, 16, 0x28, &[9, 0].repeat(4), &[9]);
        // One visible pixel, the last in the file, makes the others transparent.
        let (layout, pixels) = read(2, 16, 0x21, &[&RED.repeat(3), &OPAQUE_RED[..]].concat());
        assert_eq!((layout, &pixels[8..]), (Layout::Rgba, &[255, 0, 0, 0, 255, 0, 0, 255][..]));
        let (layout, pixels) = read(10, 32, 0x28, &[0x82, 1, 2, 3, 0, 0x80, 1, 2, 3, 200]);
        assert_eq!((layout, &pixels[8..]), (Layout::Rgba, &[3, 2, 1, 0, 3, 2, 1, 200][..]));
    }
}
