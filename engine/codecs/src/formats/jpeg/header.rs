//! Reads a JPEG's markers up to its first scan, before libjpeg decodes: the picture's size, and whether libjpeg will
//! buffer the coefficients of the whole picture, which its Rust binding does not tell. Counts the scans of such a
//! picture, and the bytes of its coefficients. Finds the application segments that libjpeg saves: EXIF (APP1), the
//! colour profile (APP2).
//!
//! Source: CIPA DC-008 (Exif 2.3), 4.7.2; ICC.1:2022, annex B.4.

use std::io::{self, BufRead, ErrorKind};

use edgezoom_jpeg::markers::{self, FrameHeader, Markers};
use mozjpeg::{Decompress, Marker};

use super::FORMAT;
use crate::SourceError;

/// The segments that libjpeg saves.
pub const SAVED: &[Marker] = &[EXIF, PROFILE];

const EXIF: Marker = Marker::APP(1);
const PROFILE: Marker = Marker::APP(2);

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
    /// True if the file of a buffered picture ends in a segment.
    pub ends_in_segment: bool,
}

/// Maximum number of scans of a picture. libjpeg goes through the whole picture for each, and a scan may be as short as
/// twelve bytes. Encoders write about ten; libvips has the same limit.
pub const MAX_SCANS: u32 = 100;

/// Reads the header. Returns `None` for a file without a frame or a scan: libjpeg reports the error.
pub fn read(file: &mut impl BufRead) -> io::Result<Option<Header>> {
    match scan(file) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

fn scan(file: &mut impl BufRead) -> io::Result<Option<Header>> {
    let mut markers = Markers::new(file);
    let mut found = None;
    loop {
        match markers.find_code()? {
            // There was no scan.
            0xd9 => return Ok(None),
            code if markers::is_alone(code) => {}
            code => {
                let segment = markers.segment()?.unwrap_or_default();
                if markers::is_frame(code) {
                    let Some(frame) = FrameHeader::parse(&segment) else { return Ok(None) };
                    found = Some((Header::of(&frame, code), frame.count));
                }
                if code != 0xda {
                    continue;
                }
                let (Some((mut header, components)), Some(&in_scan)) = (found, segment.first()) else {
                    return Ok(None);
                };
                header.is_buffered |= in_scan < components;
                if header.is_buffered {
                    count_scans(&mut markers, &mut header)?;
                }
                return Ok(Some(header));
            }
        }
    }
}

impl Header {
    /// Returns the header of a picture whose frame has this code.
    pub fn of(frame: &FrameHeader, code: u8) -> Self {
        Self {
            width: frame.width,
            height: frame.height,
            is_buffered: code & 3 == 2,
            scans: 1,
            coefficients: coefficient_bytes(frame),
            ends_in_segment: false,
        }
    }
}

/// Returns the number of bytes of a picture's coefficients: 64 of 2 bytes for each block of each component, in whole
/// MCUs.
fn coefficient_bytes(FrameHeader { width, height, components, .. }: &FrameHeader) -> u64 {
    let factors = components.iter().map(|component| [component.across, component.down]);
    let factors = factors.map(|factors| factors.map(|factor| u64::from(factor.max(1))));
    let max = factors.clone().fold([1, 1], |max, own| [0, 1].map(|side| max[side].max(own[side])));
    let mcus = u64::from(*width).div_ceil(8 * max[0]) * u64::from(*height).div_ceil(8 * max[1]);
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

/// Counts the scans after the first one, up to [`MAX_SCANS`]. libjpeg reports what is missing at the end of the file.
fn count_scans(markers: &mut Markers<impl BufRead>, header: &mut Header) -> io::Result<()> {
    while header.scans <= MAX_SCANS {
        let code = match markers.find_code() {
            Ok(0xd9) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            code => code?,
        };
        if markers::is_alone(code) {
            continue;
        }
        header.scans += u32::from(code == 0xda);
        match markers.segment() {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                header.ends_in_segment = true;
                return Ok(());
            }
            segment => drop(segment?),
        }
    }
    Ok(())
}

/// Returns the block of EXIF.
pub fn exif<R>(header: &Decompress<R>) -> Option<&[u8]> {
    segments(header, EXIF, b"Exif\0\0").next()
}

/// Returns the colour profile. A segment has at most 64 KiB, so a profile may be in several, each with its number,
/// counted from 1, and the count. `None`: a segment is missing.
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
    use edgezoom_jpeg::markers::FrameComponent;

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
            let component =
                |&factors: &u8| FrameComponent { id: 1, across: factors >> 4, down: factors & 15, steps: 0 };
            let components = factors.iter().map(component).collect();
            let frame = FrameHeader { precision: 8, width: size.0, height: size.1, count: 1, components };
            assert_eq!(coefficient_bytes(&frame), blocks * 128, "{size:?}, {factors:?}");
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
