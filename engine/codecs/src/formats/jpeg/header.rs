//! Reads a JPEG's markers up to its first scan, before libjpeg decodes: the picture's size, and whether libjpeg will buffer
//! the coefficients of the whole picture, which its Rust binding does not tell. Counts the scans of such a picture, and the
//! bytes of its coefficients. Finds the application segments that libjpeg saves: EXIF (APP1), the colour profile (APP2),
//! Adobe's marker (APP14).
//!
//! ```text
//! marker   ff code          alone: SOI d8, EOI d9, RST0–7 d0–d7, TEM 01; all others begin a segment
//! segment  length: u16      counts itself, big-endian
//! frame    SOF0–15 c0–cf    length  precision: u8  height: u16  width: u16  components: u8, of each:
//!                           identifier: u8  sampling factors: u4 across, u4 down  quantisation table: u8
//! scan     SOS da           length  components: u8 …
//! ```
//! Source: ITU-T T.81, annex B: B.1.1 for markers, B.2.2 for the frame, B.2.3 for the scan; CIPA DC-008 (Exif 2.3), 4.7.2;
//! ICC.1:2022, annex B.4; Adobe Technical Note 5116, section 18.

use std::io::{self, BufRead, ErrorKind, Read};

use mozjpeg::{Decompress, Marker};

use super::FORMAT;
use crate::SourceError;

/// The segments that libjpeg saves.
pub const SAVED: &[Marker] = &[EXIF, PROFILE, ADOBE];

const EXIF: Marker = Marker::APP(1);
const PROFILE: Marker = Marker::APP(2);
const ADOBE: Marker = Marker::APP(14);

/// The markers up to the first scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub width: u16,
    pub height: u16,
    /// True if the picture is progressive, or its first scan lacks components.
    pub is_buffered: bool,
    /// Number of scans of a buffered picture, counted up to one more than [`MAX_SCANS`].
    pub scans: u32,
    /// Number of bytes of the coefficients of a buffered picture.
    pub coefficients: u64,
}

/// Maximum number of scans of a picture. libjpeg goes through the whole picture for each, and a scan may be as short as twelve bytes.
/// Encoders write about ten; libvips has the same limit.
pub const MAX_SCANS: u32 = 100;

/// Reads the header. Returns `None` for a file without a frame or a scan: libjpeg reports the error.
pub fn read(file: &mut impl BufRead) -> io::Result<Option<Header>> {
    match scan(file) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

fn scan(file: &mut impl BufRead) -> io::Result<Option<Header>> {
    let mut header = None;
    let mut components = 0;
    loop {
        let length = match next_marker(file)? {
            // Start of image, restarts and TEM are not segments. An end here means that there was no scan.
            0xd8 | 0x01 | 0xd0..=0xd7 => continue,
            0xd9 => return Ok(None),
            // DHT, JPG (reserved) and DAC are among the codes of frames.
            0xc4 | 0xc8 | 0xcc => segment::<0>(file)?.0,
            code @ 0xc0..=0xcf => {
                let (frame, count, length) = read_frame(file, code & 3 == 2)?;
                header = Some(frame);
                components = count;
                length
            }
            0xda => {
                let (_, [in_scan]) = segment::<1>(file)?;
                let Some(mut header) = header else { return Ok(None) };
                header.is_buffered |= in_scan < components;
                if header.is_buffered {
                    header.scans += further_scans(file)?;
                }
                return Ok(Some(header));
            }
            _ => segment::<0>(file)?.0,
        };
        skip(file, length)?;
    }
}

/// Reads a frame. Also returns the number of its components, and the number of bytes left in the segment.
pub fn read_frame(file: &mut impl BufRead, is_progressive: bool) -> io::Result<(Header, u8, u64)> {
    // Precision, height, width, number of components.
    let (length, [_, h1, h2, w1, w2, count]) = segment::<6>(file)?;
    let (width, height) = (u16::from_be_bytes([w1, w2]), u16::from_be_bytes([h1, h2]));
    let described = length.min(u64::from(count) * 3);
    let mut components = vec![0; described as usize];
    file.read_exact(&mut components)?;
    let coefficients = coefficient_bytes(width, height, &components);
    Ok((
        Header { width, height, is_buffered: is_progressive, scans: 1, coefficients },
        count,
        length - described,
    ))
}

/// Returns the number of bytes of a picture's coefficients: 64 of 2 bytes for each block of each component, in whole MCUs.
fn coefficient_bytes(width: u16, height: u16, components: &[u8]) -> u64 {
    let (components, _) = components.as_chunks::<3>();
    let factors = components.iter().map(|[_, factors, _]| [factors >> 4, factors & 15]);
    let factors = factors.map(|factors| factors.map(|factor| u64::from(factor.max(1))));
    let max = factors.clone().fold([1, 1], |max, own| [0, 1].map(|side| max[side].max(own[side])));
    let mcus = u64::from(width).div_ceil(8 * max[0]) * u64::from(height).div_ceil(8 * max[1]);
    factors.map(|[across, down]| mcus * across * down * 128).sum()
}

/// Checks the number of scans.
pub fn admit_scans(markers: Header) -> Result<(), SourceError> {
    if markers.scans > MAX_SCANS {
        return Err(SourceError::too_complex(FORMAT.name, format!("it has more than {MAX_SCANS} scans")));
    }
    Ok(())
}

/// Checks the number of scans of a JPEG in memory.
pub fn admit_scans_of(mut file: &[u8]) -> Result<(), SourceError> {
    read(&mut file)?.map_or(Ok(()), admit_scans)
}

/// Counts the scans after the first one, whose header begins here, up to [`MAX_SCANS`]. In a scan's coded bytes each `ff`
/// is followed by a zero, so that markers can be found without decoding (ITU-T T.81, B.1.1.5).
fn further_scans(file: &mut impl BufRead) -> io::Result<u32> {
    let mut scans = 0;
    while scans < MAX_SCANS {
        match next_marker(file) {
            Ok(0xd9) => break,
            Ok(0xd8 | 0x01 | 0xd0..=0xd7) => {}
            Ok(code) => {
                scans += u32::from(code == 0xda);
                match segment::<0>(file) {
                    Ok((length, _)) => skip(file, length)?,
                    Err(error) => return unless_cut_off(error).map(|()| scans),
                }
            }
            Err(error) => return unless_cut_off(error).map(|()| scans),
        }
    }
    Ok(scans)
}

/// Ignores the end of the file: libjpeg reports what is missing.
fn unless_cut_off(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::UnexpectedEof { Ok(()) } else { Err(error) }
}

/// Returns the code of the next marker. Skips bytes before it, as libjpeg does.
pub fn next_marker(file: &mut impl BufRead) -> io::Result<u8> {
    loop {
        file.skip_until(0xff)?;
        let mut code = [0xff];
        while code[0] == 0xff {
            file.read_exact(&mut code)?;
        }
        if code[0] != 0 {
            return Ok(code[0]);
        }
    }
}

/// Reads a segment's first bytes. Returns the number of bytes behind them, too.
pub fn segment<const N: usize>(file: &mut impl BufRead) -> io::Result<(u64, [u8; N])> {
    let mut length = [0; 2];
    file.read_exact(&mut length)?;
    let mut first = [0; N];
    file.read_exact(&mut first)?;
    Ok((u64::from(u16::from_be_bytes(length)).saturating_sub(2 + N as u64), first))
}

/// Skips bytes.
pub fn skip(file: &mut impl BufRead, bytes: u64) -> io::Result<()> {
    io::copy(&mut file.by_ref().take(bytes), &mut io::sink())?;
    Ok(())
}

/// Returns the block of EXIF.
pub fn exif<R>(header: &Decompress<R>) -> Option<&[u8]> {
    segments(header, EXIF, b"Exif\0\0").next()
}

/// Returns true if the file has Adobe's marker, which means that its CMYK is inverted.
pub fn has_adobe_marker<R>(header: &Decompress<R>) -> bool {
    segments(header, ADOBE, b"Adobe").next().is_some()
}

/// Returns the colour profile. A segment has at most 64 KiB, so a profile may be in several, each with its number, counted
/// from 1, and the count. `None`: a segment is missing.
pub fn profile<R>(header: &Decompress<R>) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = segments(header, PROFILE, b"ICC_PROFILE\0").collect();
    parts.sort_by_key(|part| part.first().copied());
    let count = usize::from(*parts.first()?.get(1)?);
    let in_order = parts.iter().zip(1..=u8::MAX).all(|(part, number)| part.first() == Some(&number));
    (in_order && parts.len() == count)
        .then(|| parts.iter().flat_map(|part| part.get(2..).unwrap_or_default()).copied().collect())
}

fn segments<'a, R>(
    header: &'a Decompress<R>,
    marker: Marker,
    name: &'static [u8],
) -> impl Iterator<Item = &'a [u8]> {
    header
        .markers()
        .filter(move |found| found.marker == marker)
        .filter_map(|found| found.data.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame of three components and 256 by 512 pixels, and a scan of `in_scan` components.
    fn jpeg(frame: u8, in_scan: u8) -> Vec<u8> {
        let mut file = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 0xff, 0xc2];
        file.extend([0xff, frame, 0, 8, 8, 2, 0, 1, 0, 3, 0xff, 0xff, 0xda, 0, 3, in_scan]);
        file
    }

    #[test]
    fn the_scans_of_a_progressive_picture_are_counted_up_to_the_limit() {
        let scans = |more: usize| {
            let coded = [0x12, 0xff, 0, 0xff, 0xd0, 0x34, 0xff, 0xda, 0, 3, 1];
            let file = [jpeg(0xc2, 3), coded.repeat(more), vec![0xff, 0xd9, 0xff, 0xda]].concat();
            read(&mut &*file).unwrap().unwrap().scans
        };
        assert_eq!([0, 9, 99, 100, 5000].map(scans), [1, 10, 100, 101, 101]);
    }

    #[test]
    fn coefficients_are_counted_in_whole_mcus() {
        for (size, factors, blocks) in [
            ((16, 16), &[0x11][..], 4),
            ((17, 16), &[0x22, 0x11, 0x11], 2 * 6),
            ((16, 17), &[0x11, 0x11, 0x11], 6 * 3),
            ((33, 8), &[0x41, 0x11, 0x11], 2 * 6),
            ((65_535, 65_535), &[0x11, 0x11, 0x11, 0x11], 8192 * 8192 * 4),
            ((8, 8), &[0x00], 1),
        ] {
            let components: Vec<u8> = factors.iter().flat_map(|factors| [1, *factors, 0]).collect();
            assert_eq!(coefficient_bytes(size.0, size.1, &components), blocks * 128, "{size:?}, {factors:?}");
        }
    }

    fn is_buffered(file: &[u8]) -> bool {
        read(&mut &*file).unwrap().unwrap().is_buffered
    }

    #[test]
    fn the_size_is_that_of_the_frame() {
        let header = read(&mut jpeg(0xc0, 3).as_slice()).unwrap().unwrap();
        assert_eq!((header.width, header.height), (256, 512));
    }

    #[test]
    fn a_baseline_picture_in_one_scan_is_decoded_as_it_is_read() {
        assert!(!is_buffered(&jpeg(0xc0, 3)));
    }

    #[test]
    fn progressive_pictures_and_several_scans_are_buffered() {
        assert!(is_buffered(&jpeg(0xc2, 3)));
        assert!(is_buffered(&jpeg(0xc0, 1)));
    }

    #[test]
    fn a_file_without_a_scan_is_left_to_libjpeg() {
        let file = jpeg(0xc0, 1);
        for end in 0..file.len() {
            assert_eq!(read(&mut &file[..end]).unwrap(), None);
        }
    }
}
