//! Pictures too large to encode in a test: one encoded grid cell or tile, repeated many times.

use heifer::EncodeOptions;
use heifer::heifer_isobmff::HeifFile;
use heifer::heifer_isobmff::writer::{HeifWriter, ImageSpec};

use crate::Picture;

/// Returns a HEIC grid, as phones write it, that has this RGB picture in each cell.
pub fn heic_grid(cell: &Picture, columns: u16, rows: u16) -> Vec<u8> {
    let (width, height) = (cell.width, cell.height);
    let coded = heifer::encode_rgb8(width, height, &cell.pixels, &EncodeOptions::default()).unwrap();
    let file = HeifFile::parse(&coded).unwrap();
    let config = file.hevc_config(file.primary_id).unwrap().unwrap().clone();
    let item = file.item_data(file.primary_id).unwrap();
    let mut slices = Vec::new();
    let mut rest = &*item;
    while let Some((length, later)) = rest.split_first_chunk() {
        let (slice, later) = later.split_at(u32::from_be_bytes(*length) as usize);
        slices.push(slice.to_vec());
        rest = later;
    }
    let mut writer = HeifWriter::new();
    let image = ImageSpec { hidden: true, ..ImageSpec::new(width, height, config, &slices) };
    let cells: Vec<u32> =
        (0..u32::from(columns) * u32::from(rows)).map(|_| writer.add_image(&image)).collect();
    let (width, height) = (width * u32::from(columns), height * u32::from(rows));
    writer.add_grid(rows, columns, width, height, &cells, None, None);
    writer.finish()
}

/// Precinct sizes for `opj_compress -c`, for the input of [`jpeg2000_untiled`].
pub const JPEG2000_PRECINCTS: &str = "[256,256],[256,256],[256,256],[128,128],[64,64],[32,32]";

/// Returns an untiled JPEG 2000 that repeats `tile`: a bare codestream of 1,024×1,024 pixels in one tile and one layer,
/// with [`JPEG2000_PRECINCTS`] and an SOP marker before each packet. A packet does not depend on other precincts, so it
/// can be copied.
pub fn jpeg2000_untiled(tile: &[u8], columns: u32, rows: u32) -> Vec<u8> {
    let at = |bytes: &[u8]| tile.windows(bytes.len()).position(|found| found == bytes).unwrap();
    let (siz, cod, first) = (at(&[0xff, 0x51]), at(&[0xff, 0x52]), at(&[0xff, 0x90]));
    let mut file = tile[..first].to_vec();
    for (field, count) in [(0, columns), (1, rows), (4, columns), (5, rows)] {
        file[siz + 6 + 4 * field..][..4].copy_from_slice(&(1024 * count).to_be_bytes());
    }
    file[cod + 4] &= !2; // no SOP markers
    let mut stream = &tile[at(&[0xff, 0x93]) + 2..tile.len() - 2];
    let mut packets = Vec::new();
    for number in 1u16.. {
        let marker = [&[0xff, 0x91, 0, 4], &number.to_be_bytes()[..]].concat();
        let end = stream.windows(6).position(|found| found == marker).unwrap_or(stream.len());
        packets.push(&stream[6..end]);
        stream = &stream[end..];
        if stream.is_empty() {
            break;
        }
    }
    let mut packets = packets.into_iter();
    let start = file.len();
    file.extend_from_slice(&[0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x93]);
    // Precincts along each side of the tile, by resolution level.
    for side in [1, 1, 1, 1, 2, 4] {
        for _component in 0..3 {
            let precincts: Vec<&[u8]> = packets.by_ref().take(side * side).collect();
            for _ in 0..rows {
                precincts.chunks(side).for_each(|row| (0..columns).for_each(|_| file.extend(row.concat())));
            }
        }
    }
    let length = u32::try_from(file.len() - start).unwrap();
    file[start + 6..start + 10].copy_from_slice(&length.to_be_bytes());
    file.extend_from_slice(&[0xff, 0xd9]);
    file
}

/// Returns a tiled JPEG 2000 that repeats `tile`: a bare codestream of one tile whose sides are multiples of 64.
pub fn jpeg2000_tiles(tile: &[u8], columns: u32, rows: u32) -> Vec<u8> {
    let at = |marker: u8| tile.windows(2).position(|bytes| bytes == [0xff, marker]).unwrap();
    let (siz, first, end) = (at(0x51), at(0x90), tile.len() - 2);
    let mut file = tile[..first].to_vec();
    for (field, count) in [(0, columns), (1, rows)] {
        let field = &mut file[siz + 6 + 4 * field..][..4];
        let side = u32::from_be_bytes((&*field).try_into().unwrap());
        field.copy_from_slice(&(side * count).to_be_bytes());
    }
    for number in 0..columns * rows {
        let start = file.len();
        file.extend_from_slice(&tile[first..end]);
        file[start + 4..start + 6].copy_from_slice(&u16::try_from(number).unwrap().to_be_bytes());
    }
    file.extend_from_slice(&tile[end..]);
    file
}
