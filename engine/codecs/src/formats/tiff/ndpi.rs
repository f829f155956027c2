//! NDPI, of Hamamatsu's slide scanners: each level is one JPEG, often wider than the 65,535 pixels that a JPEG may
//! have. It has restart markers, and a table of their places: the data between two of them becomes a JPEG of its own, a
//! row of a few MCUs, as in OpenSlide.
//!
//! Source: openslide.org/formats/hamamatsu; ITU-T T.81, B.2.4.4 and E.2.4 for restart intervals.

use edgezoom_geometry::Size;

use super::directory::{Directory, Tiff};
use super::jpeg::Grid;
use super::jpeg_parts::{HEADER_BYTES, read_header};
use super::{FORMAT, tag, undecodable};
use crate::SourceError;

/// Number of bytes searched for restart markers at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Splits a level into JPEGs beside and below each other. A level without restart markers stays as it is.
pub fn grid(tiff: &mut Tiff, directory: &Directory, whole: Grid) -> Result<Grid, SourceError> {
    let &[(begin, length)] = whole.chunks.as_slice() else { return Ok(whole) };
    let mut head = vec![0; length.min(HEADER_BYTES) as usize];
    let read = tiff.read_up_to(begin, &mut head)?;
    head.truncate(read);
    let header = read_header(&head).ok_or_else(undecodable)?;
    let Some(scan_at) = header.scan_at.filter(|_| header.size_at > 0) else { return Err(undecodable()) };
    if header.restart_interval == 0 {
        return Ok(whole);
    }
    let size = whole.size;
    let (across, down) = header.mcu;
    let mcus_across = size.width.div_ceil(across);
    // Intervals that do not divide a row are not beside each other.
    let interval = match header.restart_interval {
        interval if mcus_across.is_multiple_of(interval) => interval,
        _ => return Ok(whole),
    };
    let chunk = Size { width: interval * across, height: down };
    let count = u64::from(mcus_across / interval) * u64::from(size.height.div_ceil(down));
    let end = begin + length.min(tiff.length.saturating_sub(begin));
    let first = begin + scan_at as u64;
    let starts = match stored_starts(tiff, directory, begin, first, count)? {
        Some(starts) => starts,
        None => search(tiff, first, end, count)?,
    };
    let ends = starts.iter().skip(1).copied().chain([end]);
    let chunks = starts.iter().zip(ends).map(|(&start, end)| (start, end.saturating_sub(start))).collect();
    head.truncate(scan_at);
    let sides = [chunk.height, chunk.width].map(|side| u16::try_from(side).unwrap_or(u16::MAX).to_be_bytes());
    let place = head.get_mut(header.size_at..header.size_at + 4).ok_or_else(undecodable)?;
    place.copy_from_slice(sides.as_flattened());
    Ok(Grid { size, chunk, chunks, tables: head, is_scan: true })
}

/// Reads the offsets of all restart intervals, if the file has them.
fn stored_starts(
    tiff: &mut Tiff,
    directory: &Directory,
    begin: u64,
    first: u64,
    count: u64,
) -> Result<Option<Vec<u64>>, SourceError> {
    let Some(starts) = tiff.list(directory, tag::MCU_STARTS)? else { return Ok(None) };
    let high = tiff.list(directory, tag::MCU_STARTS_HIGH)?.unwrap_or_default();
    let high = high.into_iter().map(|high| high << 32).chain(std::iter::repeat(0));
    let starts: Vec<u64> =
        starts.into_iter().zip(high).map(|(low, high)| begin.saturating_add(low | high)).collect();
    let is_known = starts.len() as u64 == count && starts.first() == Some(&first) && starts.is_sorted();
    Ok(is_known.then_some(starts))
}

/// Searches a scan's data for restart markers.
fn search(tiff: &mut Tiff, first: u64, end: u64, count: u64) -> Result<Vec<u64>, SourceError> {
    let mut starts = vec![first];
    let mut block = vec![0; BLOCK_BYTES];
    let mut at = first;
    while at < end && (starts.len() as u64) < count {
        let bytes = tiff.read_up_to(at, &mut block)?;
        let markers = block[..bytes].windows(2).enumerate();
        let markers = markers.filter(|(_, pair)| pair[0] == 0xff && matches!(pair[1], 0xd0..=0xd7));
        starts.extend(markers.map(|(index, _)| at + index as u64 + 2));
        if bytes < 2 {
            break;
        }
        // A marker may span two blocks.
        at += bytes as u64 - 1;
    }
    starts.truncate(count as usize);
    if starts.len() as u64 != count {
        return Err(FORMAT.corrupt("restart markers of its JPEG are missing"));
    }
    Ok(starts)
}
