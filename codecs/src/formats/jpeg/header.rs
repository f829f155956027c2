//! Reads a JPEG's markers up to its first scan, for what has to be known before libjpeg decodes: the picture's size,
//! and whether libjpeg will buffer the coefficients of the whole picture, which its Rust binding does not say. Of such a
//! picture the scans are counted too.
//!
//! ```text
//! marker   ff code          alone: SOI d8, EOI d9, RST0–7 d0–d7, TEM 01; all others begin a segment
//! segment  length: u16      counts itself, big-endian
//! frame    SOF0–15 c0–cf    length  precision: u8  height: u16  width: u16  components: u8 …
//! scan     SOS da           length  components: u8 …
//! ```
//! Source: ITU-T T.81, annex B: B.1.1 for markers, B.2.2 for the frame, B.2.3 for the scan.

use std::io::{self, BufRead, ErrorKind, Read};

use super::FORMAT;
use crate::SourceError;

/// What the markers up to the first scan say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub width: u16,
    pub height: u16,
    /// Whether the picture is progressive, or its first scan does not have all components.
    pub is_buffered: bool,
    /// The scans of a buffered picture, counted up to one more than [`MAX_SCANS`].
    pub scans: u32,
}

/// The scans that a picture may have. libjpeg goes through the whole picture for each, and a scan may be as short as
/// twelve bytes. Encoders write ten or so; libvips stops at a hundred too.
pub const MAX_SCANS: u32 = 100;

/// Reads the header. `None` for a file without a frame and a scan: libjpeg reports what is wrong.
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
            // Start of image, restarts and TEM stand alone; an end here means there was no scan.
            0xd8 | 0x01 | 0xd0..=0xd7 => continue,
            0xd9 => return Ok(None),
            // Among the codes of frames: DHT, JPG (reserved) and DAC.
            0xc4 | 0xc8 | 0xcc => segment::<0>(file)?.0,
            code @ 0xc0..=0xcf => {
                // The frame: precision, height, width, number of components.
                let (length, [_, h1, h2, w1, w2, count]) = segment::<6>(file)?;
                let (width, height) = (u16::from_be_bytes([w1, w2]), u16::from_be_bytes([h1, h2]));
                let is_progressive = code & 3 == 2;
                header = Some(Header { width, height, is_buffered: is_progressive, scans: 1 });
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

/// Checks the scans of a picture.
pub fn admit_scans(markers: Header) -> Result<(), SourceError> {
    if markers.scans > MAX_SCANS {
        return Err(SourceError::too_complex(FORMAT.name, format!("it has more than {MAX_SCANS} scans")));
    }
    Ok(())
}

/// Checks the scans of a JPEG in memory.
pub fn admit_scans_of(mut file: &[u8]) -> Result<(), SourceError> {
    read(&mut file)?.map_or(Ok(()), admit_scans)
}

/// The number of scans after the first one, whose header begins here, up to [`MAX_SCANS`]. In a scan's coded bytes each
/// `ff` is followed by a zero, so that markers can be found without decoding (ITU-T T.81, B.1.1.5).
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

/// No error where the file ends: libjpeg says what is missing.
fn unless_cut_off(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::UnexpectedEof { Ok(()) } else { Err(error) }
}

/// The code of the next marker. Bytes before it are skipped, as libjpeg does.
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

/// A segment's first bytes, and how many are left after them.
pub fn segment<const N: usize>(file: &mut impl BufRead) -> io::Result<(u64, [u8; N])> {
    let mut length = [0; 2];
    file.read_exact(&mut length)?;
    let mut first = [0; N];
    file.read_exact(&mut first)?;
    Ok((u64::from(u16::from_be_bytes(length)).saturating_sub(2 + N as u64), first))
}

/// Skips so many bytes.
pub fn skip(file: &mut impl BufRead, bytes: u64) -> io::Result<()> {
    io::copy(&mut file.by_ref().take(bytes), &mut io::sink())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of three components and 256 by 512 pixels, and a scan of so many components.
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
