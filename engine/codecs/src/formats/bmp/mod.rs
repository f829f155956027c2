//! Windows and OS/2 bitmaps, row by row, as browsers show them. Most are stored from the bottom up, so each row is read
//! at its own offset. A compressed file is first scanned once for the starts of rows.
//!
//! ```text
//! 0     2          6         10              14
//! "BM"  file size  reserved  offset of rows  size of the header that follows: 12 to 64 (OS/2), 40 to 124 (Windows)
//! "BA"  an array of bitmaps (OS/2): 14 bytes, then the first of them
//! ```
//! Source: Microsoft, "Bitmap Storage", BITMAPFILEHEADER; OS/2 Presentation Manager Programming Reference,
//! BITMAPFILEHEADER2 and BITMAPARRAYFILEHEADER2.

mod header;
mod pixels;
mod rle;
use std::sync::Arc;

use crate::format::{Decoded, Input, Open};
use crate::formats::section::ReadAt;
use crate::{Bounds, Format, Reading, RowReader, SourceError, SourceFile};
use header::{Encoding, Header};
use pixels::PixelRows;
use rle::RleRows;

pub(crate) static FORMAT: Format = Format {
    name: "BMP",
    media_types: &["image/bmp"],
    endings: &["bmp"],
    reading: Reading::Rows,
    in_order: false,
    signature: is_bmp,
    open: Open::Directly(open),
};

const FILE_HEADER_BYTES: usize = 14;

/// "BM" alone could also begin a text about BMX, so the size of the second header, one of a few small numbers, is
/// checked too.
fn is_bmp(head: &[u8]) -> bool {
    match head {
        [b'B', b'A', rest @ ..] => rest.get(FILE_HEADER_BYTES - 2..).is_some_and(is_bitmap),
        _ => is_bitmap(head),
    }
}

fn is_bitmap(head: &[u8]) -> bool {
    matches!(head, [b'B', b'M', _, _, _, _, _, _, _, _, _, _, _, _, 12..=124, 0, 0, 0, ..])
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = file.into_inner();
    let mut at = 0;
    let mut head = [0; FILE_HEADER_BYTES];
    file.read_with_zeros(at, &mut head)?;
    if head.starts_with(b"BA") {
        at = FILE_HEADER_BYTES as u64;
        file.read_with_zeros(at, &mut head)?;
    }
    let [.., o0, o1, o2, o3] = head;
    // This counts from the start of the file in an array, too.
    let rows_at = u64::from(u32::from_le_bytes([o0, o1, o2, o3]));
    let header = Header::read(&file, at + FILE_HEADER_BYTES as u64, Some(rows_at))?;
    let size = bounds.admit(header.width, header.height)?;
    let file = Arc::new(file);
    let reader: Box<dyn RowReader> = match header.encoding {
        Encoding::Plain => Box::new(PixelRows::open(file, header, size)?),
        Encoding::Runs(kind) => Box::new(RleRows::open(file, header, kind, size)?),
    };
    Ok(Decoded::of(reader))
}

/// Opens the bitmap of an icon, and returns it with the offset of the mask after its rows. Its header counts the rows
/// twice.
pub(super) fn open_in_icon(
    file: &Arc<SourceFile>,
    at: u64,
    bounds: Bounds,
) -> Result<(PixelRows, u64), SourceError> {
    let mut header = Header::read(file, at, None)?;
    if header.encoding != Encoding::Plain {
        return Err(FORMAT.unsupported("it is compressed, in an icon"));
    }
    header.height /= 2;
    let size = bounds.admit(header.width, header.height)?;
    let mask_at = header.rows_at.saturating_add(header.stride().saturating_mul(size.height.into()));
    Ok((PixelRows::open(Arc::clone(file), header, size)?, mask_at))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use edgezoom_geometry::Size;

    use super::*;
    use crate::{Damage, Layout};

    /// Returns a file of 3×2 pixels.
    fn bmp(size: u32, bits: u16, compression: u32, height: i32, rest: &[u8]) -> Vec<u8> {
        let mut file = b"BM\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend(size.to_le_bytes());
        file.extend(3_u32.to_le_bytes());
        file.extend(height.to_le_bytes());
        file.extend([7, 0]); // planes: readers ignore this number
        file.extend(bits.to_le_bytes());
        file.extend(compression.to_le_bytes());
        file.resize(FILE_HEADER_BYTES + size as usize, 0);
        file.extend(rest);
        file
    }

    fn read(bytes: &[u8]) -> Result<(Layout, Vec<u8>, Option<Damage>), SourceError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut rows = crate::open(file, Bounds::default())?;
        assert_eq!(rows.size(), Size { width: 3, height: 2 });
        let mut pixels = vec![0; rows.layout().row_bytes(3) * 2];
        rows.read_rows(&mut pixels)?;
        Ok((rows.layout(), pixels, rows.damage()))
    }

    const BGR: [u8; 24] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 0, 0];

    #[test]
    fn rows_are_read_from_the_bottom_up_or_from_the_top_down() {
        let (lower, upper) = ([3, 2, 1, 6, 5, 4, 9, 8, 7], [13, 12, 11, 16, 15, 14, 19, 18, 17]);
        for size in [16, 40, 42, 64, 108, 124] {
            let (layout, pixels, damage) = read(&bmp(size, 24, 0, 2, &BGR)).unwrap();
            assert_eq!((layout, damage), (Layout::Rgb, None), "{size}");
            assert_eq!(pixels, [upper, lower].concat(), "{size}");
        }
        assert_eq!(read(&bmp(40, 24, 0, -2, &BGR)).unwrap().1, [lower, upper].concat());
    }

    #[test]
    fn a_file_that_is_cut_off_lacks_its_upper_rows() {
        let (_, pixels, damage) = read(&bmp(40, 24, 0, 2, &BGR[..20])).unwrap();
        assert_eq!(damage, Some(Damage::FromRow { row: 1, rows: 2 }));
        assert_eq!(pixels, [[128; 9], [3, 2, 1, 6, 5, 4, 9, 8, 7]].concat());
        assert_eq!(read(&bmp(40, 24, 0, 2, &BGR[..21])).unwrap().2, None, "only the padding is missing");
        assert!(read(&bmp(40, 24, 0, 2, &BGR[..8])).is_err());
    }

    #[test]
    fn an_index_beyond_a_short_palette_is_black() {
        let mut file = bmp(40, 8, 0, -2, &[1, 2, 3, 0, 4, 5, 6, 0, 0, 1, 2, 0, 1, 0, 9, 0]);
        file[46] = 2; // colours
        let expected = [3, 2, 1, 6, 5, 4, 0, 0, 0, 6, 5, 4, 3, 2, 1, 0, 0, 0];
        assert_eq!(read(&file).unwrap(), (Layout::Rgb, expected.to_vec(), None));
    }

    #[test]
    fn alpha_is_ignored_if_it_is_zero_everywhere() {
        let masks: Vec<u8> =
            [0xff_0000_u32, 0xff00, 0xff, 0xff00_0000].into_iter().flat_map(u32::to_le_bytes).collect();
        let file = |alpha: u8| {
            let pixels = [[1, 2, 3, 0]; 5].as_flattened().to_vec();
            bmp(40, 32, 6, 2, &[masks.clone(), pixels, vec![1, 2, 3, alpha]].concat())
        };
        assert_eq!(read(&file(0)).unwrap().1, [3, 2, 1].repeat(6));
        let (layout, pixels, _) = read(&file(200)).unwrap();
        assert_eq!((layout, &pixels[8..16]), (Layout::Rgba, [3, 2, 1, 200, 3, 2, 1, 0].as_slice()));
        let mut overlapping = file(0);
        overlapping[FILE_HEADER_BYTES + 40] = 1;
        assert!(read(&overlapping).is_err());
    }

    #[test]
    fn a_palette_that_says_no_length_reaches_into_the_rows() {
        let mut file = bmp(40, 8, 0, -2, &[1, 2, 3, 0, 4, 5, 6, 0, 1, 0, 2, 0, 2, 0, 1, 0]);
        file[10] = 54 + 8; // the rows, of which the first is also the third colour
        let expected = [6, 5, 4, 3, 2, 1, 2, 0, 1, 2, 0, 1, 3, 2, 1, 6, 5, 4];
        assert_eq!(read(&file).unwrap(), (Layout::Rgb, expected.to_vec(), None));
    }

    #[test]
    fn runs_repeat_pixels_move_the_position_and_end_the_picture() {
        let palette: Vec<u8> = (0..=255).flat_map(|index| [index, 0, 9, 0]).collect();
        let rle8 = |codes: &[u8]| bmp(40, 8, 1, 2, &[&palette, codes].concat());
        let blue = |pixels: &[u8]| pixels.chunks(3).map(|pixel| (pixel[2], pixel[0])).collect::<Vec<_>>();
        // The lower row: 7 twice. Then, one pixel into the upper row: 8 and 9, and 5 beyond its end.
        let (layout, pixels, damage) =
            read(&rle8(&[2, 7, 0, 0, 0, 2, 1, 0, 0, 3, 8, 9, 5, 0, 0, 1])).unwrap();
        assert_eq!(blue(&pixels), [(0, 0), (8, 9), (9, 9), (7, 9), (7, 9), (0, 0)]);
        assert_eq!((layout, damage), (Layout::Rgb, None));
        let (_, pixels, damage) = read(&rle8(&[3, 7, 0, 0, 2, 8])).unwrap();
        assert_eq!(blue(&pixels), [(8, 9), (8, 9), (128, 128), (7, 9), (7, 9), (7, 9)]);
        assert_eq!(damage, Some(Damage::FromRow { row: 1, rows: 2 }));
        assert!(read(&rle8(&[2, 7])).is_err());
    }
}
