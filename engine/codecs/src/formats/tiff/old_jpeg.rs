//! Old-style JPEG (Compression 6): tables and data are anywhere in the file. They are assembled to one JPEG here.
//!
//! Some files have a whole JPEG of which the strips are parts (JPEGInterchangeFormat). Others have tables that tags
//! point to, and strips with nothing but a scan's data, each a restart interval. Some programs wrote strips or tiles
//! that are whole JPEGs: these are read as in the new style. Tiles of nothing but data are refused.
//!
//! Source: TIFF 6.0, section 22; libtiff's tif_ojpeg.c for the variants that programs write.

use std::io::Cursor;

use super::directory::{Directory, Tiff};
use super::jpeg::{EOI, SOI};
use super::jpeg_parts::{HEADER_BYTES, Spliced, read_header};
use super::picture::{Picture, check_size};
use super::{FORMAT, tag, undecodable};
use crate::format::Decoded;
use crate::{Bounds, SourceError};

/// Returns true if the strips or tiles are JPEGs, as in the new style.
pub fn are_whole(tiff: &mut Tiff, picture: &Picture) -> Result<bool, SourceError> {
    let stored = picture.chunks.iter().find(|(_, length)| *length > 0);
    let Some(&(offset, _)) = stored.filter(|_| picture.is_tiled || picture.chunks.len() > 1) else {
        return Ok(false);
    };
    let mut start = [0; 3];
    let read = tiff.read_up_to(offset, &mut start)?;
    Ok(start[..read] == [SOI[0], SOI[1], 0xff])
}

pub fn open(
    mut tiff: Tiff,
    directory: &Directory,
    picture: &Picture,
    bounds: Bounds,
) -> Result<Decoded, SourceError> {
    if picture.is_tiled || picture.together != picture.samples || !matches!(picture.samples, 1 | 3) {
        return Err(FORMAT.unsupported("it is old-style JPEG in tiles or planes"));
    }
    let begin = tiff.first_or(directory, tag::JPEG_FORMAT, 0);
    if begin > 0 && is_whole(&mut tiff, begin)? {
        // Its length is often wrong: the last strip may end later.
        let length = tiff.first_or(directory, tag::JPEG_FORMAT_LENGTH, u64::MAX);
        let end = picture.chunks.iter().map(|&(offset, length)| offset.saturating_add(length)).max();
        let length = length.max(end.unwrap_or(0).saturating_sub(begin));
        let length = length.min(tiff.length.saturating_sub(begin));
        let file = Spliced::new(tiff, Vec::new(), begin, length);
        return check_size(crate::formats::jpeg::open_reader(file, bounds)?, picture);
    }
    let file = assemble(&mut tiff, directory, picture, bounds)?;
    check_size(crate::formats::jpeg::open_reader(Cursor::new(file), bounds)?, picture)
}

/// Returns true if a JPEG with a scan begins at this offset.
fn is_whole(tiff: &mut Tiff, begin: u64) -> Result<bool, SourceError> {
    let left = tiff.length.saturating_sub(begin);
    let mut head = vec![0; left.min(HEADER_BYTES) as usize];
    let read = tiff.read_up_to(begin, &mut head)?;
    head.truncate(read);
    Ok(read_header(&head).is_some_and(|header| header.scan_at.is_some()))
}

/// Assembles a JPEG from the tables and strips.
fn assemble(
    tiff: &mut Tiff,
    directory: &Directory,
    picture: &Picture,
    bounds: Bounds,
) -> Result<Vec<u8>, SourceError> {
    let bytes =
        picture.chunks.iter().fold(0, |sum: u64, &(_, length)| sum.saturating_add(length.min(tiff.length)));
    bounds.admit_memory(bytes, "decoding the strips or tiles of the TIFF")?;
    let (across, down) = sampling(tiff, directory, picture)?;
    let mcus = |pixels: u32, factor: u8| pixels.div_ceil(8 * u32::from(factor));
    let in_strip = u64::from(mcus(picture.size.width, across)) * u64::from(mcus(picture.chunk.height, down));
    let stated = tiff.first_or(directory, tag::JPEG_RESTART_INTERVAL, 0);
    let interval = if stated > 0 && stated < in_strip { stated } else { in_strip };
    let has_intervals = picture.chunks.len() > 1 || stated > 0;
    let mut file = header(tiff, directory, picture, if has_intervals { interval } else { 0 })?;
    let intervals = in_strip.div_ceil(interval.max(1));
    for (strip, &(offset, length)) in picture.chunks.iter().enumerate() {
        let is_marked = matches!(file.last_chunk::<2>(), Some([0xff, 0xd0..=0xd7]));
        if strip > 0 && !is_marked {
            file.extend([0xff, 0xd0 + ((strip as u64 * intervals - 1) % 8) as u8]);
        }
        let begin = file.len();
        file.resize(begin + length.min(tiff.length.saturating_sub(offset)) as usize, 0);
        let read = tiff.read_up_to(offset, &mut file[begin..])?;
        file.truncate(begin + read);
    }
    file.extend(EOI);
    Ok(file)
}

/// Returns the sampling factors of luma.
fn sampling(tiff: &mut Tiff, directory: &Directory, picture: &Picture) -> Result<(u8, u8), SourceError> {
    let factors = tiff.list(directory, tag::YCBCR_SUBSAMPLING)?.unwrap_or_else(|| vec![2, 2]);
    let factors: Vec<u8> = factors.iter().filter_map(|&factor| u8::try_from(factor).ok()).collect();
    Ok(match (picture.samples, factors.as_slice()) {
        (3, &[across @ 1..=4, down @ 1..=4, ..]) => (across, down),
        _ => (1, 1),
    })
}

/// Returns the header of a JPEG, up to the data of its scan, from the tables that tags point to. `interval` is the
/// number of MCUs between restart markers, or 0.
fn header(
    tiff: &mut Tiff,
    directory: &Directory,
    picture: &Picture,
    interval: u64,
) -> Result<Vec<u8>, SourceError> {
    let (across, down) = sampling(tiff, directory, picture)?;
    let mut file = SOI.to_vec();
    tables(tiff, directory, tag::JPEG_Q_TABLES, &mut file)?;
    tables(tiff, directory, tag::JPEG_DC_TABLES, &mut file)?;
    tables(tiff, directory, tag::JPEG_AC_TABLES, &mut file)?;
    let components = picture.samples as u8;
    segment(&mut file, 0xc0, |content| {
        content.push(8);
        for side in [picture.size.height, picture.size.width] {
            content.extend(u16::try_from(side).map_err(|_| undecodable())?.to_be_bytes());
        }
        content.push(components);
        for component in 0..components {
            let sampling = if component == 0 { across << 4 | down } else { 0x11 };
            content.extend([component + 1, sampling, component]);
        }
        Ok(())
    })?;
    if interval > 0 {
        let interval = u16::try_from(interval).map_err(|_| undecodable())?;
        segment(&mut file, 0xdd, |content| {
            content.extend(interval.to_be_bytes());
            Ok(())
        })?;
    }
    segment(&mut file, 0xda, |content| {
        content.push(components);
        (0..components).for_each(|component| content.extend([component + 1, component << 4 | component]));
        content.extend([0, 63, 0]);
        Ok(())
    })?;
    Ok(file)
}

/// Appends the tables of a tag, one for each component.
fn tables(tiff: &mut Tiff, directory: &Directory, tag: u16, file: &mut Vec<u8>) -> Result<(), SourceError> {
    let offsets = tiff.list(directory, tag)?.unwrap_or_default();
    for (number, offset) in (0u8..4).zip(offsets) {
        if tag == tag::JPEG_Q_TABLES {
            let mut table = [0; 64];
            tiff.read_at(offset, &mut table)?;
            segment(file, 0xdb, |content| {
                content.push(number);
                content.extend(table);
                Ok(())
            })?;
            continue;
        }
        let mut counts = [0; 16];
        tiff.read_at(offset, &mut counts)?;
        let mut values = vec![0; counts.iter().map(|&count| usize::from(count)).sum()];
        tiff.read_at(offset.saturating_add(16), &mut values)?;
        let class = if tag == tag::JPEG_AC_TABLES { 0x10 } else { 0 };
        segment(file, 0xc4, |content| {
            content.push(class | number);
            content.extend(counts);
            content.extend(values);
            Ok(())
        })?;
    }
    Ok(())
}

/// Appends a segment: its marker, its length, its content.
fn segment(
    file: &mut Vec<u8>,
    code: u8,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    let mut content = Vec::new();
    write(&mut content)?;
    let length = u16::try_from(content.len() + 2).map_err(|_| undecodable())?;
    file.extend([0xff, code]);
    file.extend(length.to_be_bytes());
    file.extend(content);
    Ok(())
}
