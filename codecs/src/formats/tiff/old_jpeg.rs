//! Old-style JPEG (Compression 6): tables and data are anywhere in the file. They are assembled to one JPEG here.
//!
//! Some files have a whole JPEG of which the strips are parts (JPEGInterchangeFormat). Others have tables that tags
//! point to, and strips with nothing but a scan's data, each a restart interval.
//!
//! Source: TIFF 6.0, section 22; libtiff's tif_ojpeg.c for the variants that programs write.

use std::io::Cursor;

use super::directory::{Directory, Tiff};
use super::jpeg_parts::{HEADER_BYTES, Spliced, read_header};
use super::picture::{Picture, check_size};
use super::{FORMAT, tag, undecodable};
use crate::format::Decoded;
use crate::{Bounds, SourceError};

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
    let mut tables = Vec::new();
    if begin > 0 {
        let length = tiff.first_or(directory, tag::JPEG_FORMAT_LENGTH, u64::MAX);
        let left = tiff.length.saturating_sub(begin);
        tables.resize(left.min(HEADER_BYTES) as usize, 0);
        let read = tiff.read_up_to(begin, &mut tables)?;
        tables.truncate(read);
        if let Some(header) = read_header(&tables)
            && header.scan_at.is_some()
        {
            // A whole JPEG. Its length is often wrong: the last strip may end later.
            let end = picture.chunks.iter().map(|&(offset, length)| offset.saturating_add(length)).max();
            let length = length.max(end.unwrap_or(0).saturating_sub(begin)).min(left);
            let file = Spliced::new(tiff, Vec::new(), begin, length);
            return check_size(crate::formats::jpeg::open_reader(file, bounds)?, picture);
        }
    }
    let file = assemble(&mut tiff, directory, picture, bounds)?;
    check_size(crate::formats::jpeg::open_reader(Cursor::new(file), bounds)?, picture)
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
    let factors = tiff.list(directory, tag::YCBCR_SUBSAMPLING)?.unwrap_or_else(|| vec![2, 2]);
    let factors: Vec<u8> = factors.iter().filter_map(|&factor| u8::try_from(factor).ok()).collect();
    let (across, down) = match (picture.samples, factors.as_slice()) {
        (3, &[across @ 1..=4, down @ 1..=4, ..]) => (across, down),
        _ => (1, 1),
    };
    let mut file = vec![0xff, 0xd8];
    tables(tiff, directory, tag::JPEG_Q_TABLES, &mut file)?;
    tables(tiff, directory, tag::JPEG_DC_TABLES, &mut file)?;
    tables(tiff, directory, tag::JPEG_AC_TABLES, &mut file)?;
    let side = |side: u32| u16::try_from(side).map(u16::to_be_bytes).map_err(|_| undecodable());
    let components = picture.samples as u8;
    segment(&mut file, 0xc0, |content| {
        content.push(8);
        content.extend(side(picture.size.height)?);
        content.extend(side(picture.size.width)?);
        content.push(components);
        for component in 0..components {
            let sampling = if component == 0 { across << 4 | down } else { 0x11 };
            content.extend([component + 1, sampling, component]);
        }
        Ok(())
    })?;
    let mcus = |pixels: u32, factor: u8| pixels.div_ceil(8 * u32::from(factor));
    let in_strip = mcus(picture.size.width, across) * mcus(picture.chunk.height, down);
    let stated = tiff.first_or(directory, tag::JPEG_RESTART_INTERVAL, 0) as u32;
    let interval = if stated > 0 && stated < in_strip { stated } else { in_strip };
    if picture.chunks.len() > 1 || stated > 0 {
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
    let intervals = u64::from(in_strip.div_ceil(interval.max(1)));
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
    file.extend([0xff, 0xd9]);
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
