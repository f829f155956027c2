//! ZSoft PCX, row by row.
//!
//! ```text
//! 0      1        2          3     4                       12    16                64  65      66
//! 0a     version  encoding   bits  xmin, ymin, xmax, ymax  dpi   palette           0   planes  bytes a row and plane
//! u8     u8       u8: 1 RLE  u8    4 × u16                 2×u16 16 × r g b        u8  u8      u16, then zeros up to 128
//!
//! a row  all bytes of the first plane, of the second …     11nnnnnn b: the byte b, n times; any other byte: itself
//! end    0c, 256 × r g b                                   the palette of 8 bits in one plane, 769 bytes before the end
//! ```
//! Numbers are little-endian. Bits and planes decide what a pixel is:
//!
//! | bits × planes | a pixel is |
//! |---|---|
//! | 1 × 1 | black (0) or white (1), whatever the palette: Pillow, for example, writes a palette of blacks |
//! | 1 × 2 to 4 | an index into the header's palette, its lowest bit in the first plane |
//! | 2 × 1, 4 × 1 | an index into the header's palette, packed from the left |
//! | 8 × 1 | an index into the palette at the end, or grey if there is none |
//! | 8 × 3, 8 × 4 | red, green, blue, and alpha, as ImageMagick writes it |
//!
//! Source: ZSoft PCX File Format Technical Reference Manual, revision 5 (1991), "ZSoft .PCX File Header Format",
//! "Decoding .PCX Files", "Palette Information Description".

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::section::array;
use crate::format::{Decoded, Input, Open};
use crate::{Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "PCX",
    media_types: &["image/vnd.zbrush.pcx", "image/x-pcx"],
    endings: &["pcx"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| matches!(head, [0x0a, 0 | 2..=5, 0 | 1, 1 | 2 | 4 | 8, ..]),
    open: Open::Directly(open),
};

const HEADER_BYTES: usize = 128;

/// The palette at the end of the file: a mark, then 256 colours.
const TRAILER_BYTES: usize = 1 + 256 * 3;
const TRAILER_MARK: u8 = 0x0c;

/// The version whose header has no palette. It means the default colours of an EGA.
const VERSION_WITHOUT_PALETTE: u8 = 3;
const EGA: [[u8; 3]; 16] = [
    [0, 0, 0],
    [0, 0, 170],
    [0, 170, 0],
    [0, 170, 170],
    [170, 0, 0],
    [170, 0, 170],
    [170, 85, 0],
    [170, 170, 170],
    [85, 85, 85],
    [85, 85, 255],
    [85, 255, 85],
    [85, 255, 255],
    [255, 85, 85],
    [255, 85, 255],
    [255, 255, 85],
    [255, 255, 255],
];

/// The kinds of pixels.
enum Pixel {
    BlackOrWhite,
    Palette(Vec<[u8; 3]>),
    /// A byte per channel, in planes.
    Channels,
}

struct Rows {
    channels: usize,
    pixel: Pixel,
    bits: usize,
    plane_bytes: usize,
    is_compressed: bool,
    file: BufReader<SourceFile>,
    /// The planes of a row, one after the other.
    planes: Vec<u8>,
    /// The byte that is repeated, and how many times more. A run may continue in the next row.
    run: (u8, usize),
}

fn open(Input { mut file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let header: [u8; HEADER_BYTES] = array(&mut file).map_err(|_| FORMAT.corrupt("it ends in its header"))?;
    let [_, version, encoding, bits, left0, left1, top0, top1, right0, right1, bottom0, bottom1, ..] = header;
    let [planes, plane_bytes0, plane_bytes1] = [header[65], header[66], header[67]];
    let side = |start: [u8; 2], end: [u8; 2]| {
        u32::from(u16::from_le_bytes(end)).checked_sub(u16::from_le_bytes(start).into()).map(|last| last + 1)
    };
    let (width, height) =
        side([left0, left1], [right0, right1]).zip(side([top0, top1], [bottom0, bottom1])).unwrap_or((0, 0));
    let size = bounds.admit(width, height)?;
    let (layout, pixel) = match (bits, planes) {
        (1, 1) => (Layout::Grey, Pixel::BlackOrWhite),
        (1, 2..=4) | (2 | 4, 1) if version == VERSION_WITHOUT_PALETTE => {
            (Layout::Rgb, Pixel::Palette(EGA.to_vec()))
        }
        (1, 2..=4) | (2 | 4, 1) => (Layout::Rgb, Pixel::Palette(header[16..64].as_chunks().0.to_vec())),
        (8, 1) => match read_trailer(&mut file)? {
            Some(palette) => (Layout::Rgb, Pixel::Palette(palette)),
            None => (Layout::Grey, Pixel::Channels),
        },
        (8, 3) => (Layout::Rgb, Pixel::Channels),
        (8, 4) => (Layout::Rgba, Pixel::Channels),
        _ => return Err(FORMAT.unsupported(format_args!("it has {planes} planes of {bits} bits"))),
    };
    let (bits, planes) = (usize::from(bits), usize::from(planes));
    let plane_bytes = usize::from(u16::from_le_bytes([plane_bytes0, plane_bytes1]));
    if plane_bytes * 8 < size.width as usize * bits {
        return Err(FORMAT.corrupt("its rows are shorter than its width"));
    }
    let (is_compressed, planes) = (encoding != 0, vec![0; plane_bytes * planes]);
    let channels = layout.channels();
    let mut rows = Rows { channels, pixel, bits, plane_bytes, is_compressed, file, planes, run: (0, 0) };
    Ok(Decoded::rows(size, layout, move |row| rows.read_row(row)))
}

/// Reads the palette at the end of the file. Returns `None` if there is none, or only all greys in order. Leaves the file after
/// its header.
fn read_trailer(file: &mut BufReader<SourceFile>) -> Result<Option<Vec<[u8; 3]>>, SourceError> {
    let mut trailer = [0; TRAILER_BYTES];
    let end = file.seek(SeekFrom::End(0))?;
    let has_room = end >= (HEADER_BYTES + TRAILER_BYTES) as u64;
    if has_room {
        file.seek(SeekFrom::Start(end - TRAILER_BYTES as u64))?;
        file.read_exact(&mut trailer)?;
    }
    file.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
    let [mark, colours @ ..] = &trailer;
    let palette = colours.as_chunks::<3>().0;
    let is_grey = palette.iter().zip(0..=u8::MAX).all(|(colour, grey)| *colour == [grey; 3]);
    Ok((has_room && *mark == TRAILER_MARK && !is_grey).then(|| palette.to_vec()))
}

impl Rows {
    /// Reads the planes of the next row.
    fn read_planes(&mut self) -> Result<(), SourceError> {
        if !self.is_compressed {
            return self.file.read_exact(&mut self.planes).map_err(|_| too_short());
        }
        let mut rest = self.planes.as_mut_slice();
        while !rest.is_empty() {
            let (value, left) = &mut self.run;
            if *left == 0 {
                *value = byte(&mut self.file)?;
                *left = 1;
                if *value >= 0xc0 {
                    *left = usize::from(*value & 0x3f);
                    *value = byte(&mut self.file)?;
                }
            }
            let (now, later) = rest.split_at_mut(rest.len().min(*left));
            now.fill(*value);
            *left -= now.len();
            rest = later;
        }
        Ok(())
    }

    /// Returns a pixel's index into the palette.
    fn index(&self, x: usize) -> usize {
        let (at, shift) = (x * self.bits / 8, 8 - self.bits - x * self.bits % 8);
        let mask = 0xff >> (8 - self.bits);
        let planes = self.planes.chunks_exact(self.plane_bytes).enumerate();
        planes.map(|(plane, bytes)| usize::from(bytes[at] >> shift & mask) << (plane * self.bits)).sum()
    }

    fn read_row(&mut self, row: &mut [u8]) -> Result<(), SourceError> {
        self.read_planes()?;
        let pixels = row.chunks_exact_mut(self.channels).enumerate();
        match &self.pixel {
            Pixel::BlackOrWhite => pixels.for_each(|(x, out)| out.fill(255 * self.index(x) as u8)),
            Pixel::Palette(palette) => {
                pixels.for_each(|(x, out)| out.copy_from_slice(&palette[self.index(x)]));
            }
            Pixel::Channels => {
                for (channel, plane) in self.planes.chunks_exact(self.plane_bytes).enumerate() {
                    let samples = row.iter_mut().skip(channel).step_by(self.channels);
                    samples.zip(plane).for_each(|(out, &sample)| *out = sample);
                }
            }
        }
        Ok(())
    }
}

fn byte(file: &mut BufReader<SourceFile>) -> Result<u8, SourceError> {
    array::<1>(file).map(|[byte]| byte).map_err(|_| too_short())
}

fn too_short() -> SourceError {
    FORMAT.corrupt("it ends before its last row")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use edgezoom_geometry::Size;

    use super::*;
    use crate::Bounds;

    /// Returns a file of 3×2 pixels.
    fn pcx(version: u8, encoding: u8, [bits, planes, plane_bytes]: [u8; 3], rest: &[u8]) -> Vec<u8> {
        let mut file = vec![0x0a, version, encoding, bits, 5, 0, 7, 0, 7, 0, 8, 0, 72, 0, 72, 0];
        file.extend((0..48).map(|index| index + 100));
        file.extend([0, planes, plane_bytes, 0]);
        file.resize(HEADER_BYTES, 0);
        file.extend(rest);
        file
    }

    fn read(bytes: &[u8]) -> Result<(Layout, Vec<u8>), SourceError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut rows = crate::open(file, Bounds::default())?;
        assert_eq!(rows.size(), Size { width: 3, height: 2 });
        let mut pixels = vec![0; rows.layout().row_bytes(3) * 2];
        rows.read_rows(&mut pixels)?;
        Ok((rows.layout(), pixels))
    }

    #[test]
    fn a_bitmap_is_black_and_white() {
        let file = pcx(2, 0, [1, 1, 2], &[0b1010_0000, 0, 0b0100_0000, 0]);
        assert_eq!(read(&file).unwrap(), (Layout::Grey, vec![255, 0, 255, 0, 255, 0]));
    }

    #[test]
    fn runs_may_cross_planes_and_rows() {
        let file = pcx(5, 1, [8, 3, 4], &[0xc0 + 23, 9, 0xc1, 200]);
        let mut expected = vec![9; 18];
        assert_eq!(read(&file).unwrap(), (Layout::Rgb, expected.clone()));
        // An empty run; then the last pixel's blue in place of the padding.
        let file = pcx(5, 1, [8, 3, 4], &[0xc0, 1, 0xc0 + 22, 9, 7, 0]);
        expected[17] = 7;
        assert_eq!(read(&file).unwrap().1, expected);
    }

    #[test]
    fn indices_are_packed_or_spread_over_planes() {
        let header = |index: u8| [100 + 3 * index, 101 + 3 * index, 102 + 3 * index];
        let expected: Vec<u8> = [3, 0, 2, 1, 1, 0].into_iter().flat_map(header).collect();
        let packed = pcx(5, 0, [2, 1, 2], &[0b1100_1000, 0, 0b0101_0000, 0]);
        let nibbles = pcx(5, 0, [4, 1, 2], &[0x30, 0x20, 0x11, 0]);
        let planes = pcx(5, 0, [1, 2, 2], &[0b1000_0000, 0, 0b1010_0000, 0, 0b1100_0000, 0, 0, 0]);
        for file in [packed, nibbles, planes] {
            assert_eq!(read(&file).unwrap(), (Layout::Rgb, expected.clone()));
        }
        // Version 3 has no palette.
        let ega = pcx(3, 0, [4, 1, 2], &[0x4f, 0x20, 0x11, 0]);
        assert_eq!(read(&ega).unwrap().1[..6], [170, 0, 0, 255, 255, 255]);
    }

    #[test]
    fn eight_bits_are_grey_unless_a_palette_of_colours_follows() {
        let pixels = [1, 2, 3, 0, 4, 5, 6, 0];
        let grey = (Layout::Grey, vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(read(&pcx(5, 0, [8, 1, 4], &pixels)).unwrap(), grey);
        let trailer = |mark: u8, of: fn(u8) -> [u8; 3]| {
            let colours: Vec<u8> = (0..=255).flat_map(of).collect();
            pcx(5, 0, [8, 1, 4], &[&pixels[..], &[mark], &colours].concat())
        };
        assert_eq!(read(&trailer(TRAILER_MARK, |index| [index; 3])).unwrap(), grey);
        assert_eq!(read(&trailer(TRAILER_MARK + 1, |index| [255 - index; 3])).unwrap(), grey);
        let (layout, pixels) = read(&trailer(TRAILER_MARK, |index| [index, 0, 255])).unwrap();
        assert_eq!((layout, &pixels[..6]), (Layout::Rgb, [1, 0, 255, 2, 0, 255].as_slice()));
    }

    #[test]
    fn broken_files_are_errors() {
        let whole = pcx(5, 1, [8, 3, 4], &[0xc0 + 24, 9]);
        for end in [1, 100, HEADER_BYTES, HEADER_BYTES + 1] {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
        assert!(read(&pcx(5, 0, [8, 3, 2], &[0; 12])).is_err(), "rows that are too short");
        assert!(read(&pcx(5, 0, [2, 4, 2], &[0; 16])).is_err(), "an unknown kind");
        let mut empty = whole;
        empty[8] = 0;
        assert!(matches!(read(&empty), Err(SourceError::Empty)), "its right edge is left of its left edge");
    }
}
