//! Looks at a JPEG's markers up to its first scan for the one thing that libjpeg's Rust binding does not tell before
//! decoding: whether libjpeg is going to keep the whole picture's coefficients.
//!
//! Source: ITU-T T.81, annex B.

use std::io::{self, BufRead, ErrorKind, Read};

/// Whether the picture is progressive, or its first scan has not all of its components. `false` for a file that ends
/// before its first scan: libjpeg says what is wrong with it.
pub fn is_kept_whole(file: &mut impl BufRead) -> io::Result<bool> {
    match scan(file) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        result => result,
    }
}

fn scan(file: &mut impl BufRead) -> io::Result<bool> {
    let mut components = 0;
    loop {
        let length = match next_marker(file)? {
            // Start of image, restarts and TEM stand alone; a frame's end here means there was no scan.
            0xd8 | 0x01 | 0xd0..=0xd7 => continue,
            0xd9 => return Ok(false),
            // Frames: progressive ones, and all others but the Huffman, arithmetic and reserved segments among them.
            0xc2 | 0xc6 | 0xca | 0xce => return Ok(true),
            0xc0..=0xcf => {
                let (length, frame) = segment::<6>(file)?;
                // Precision, height and width come before the number of components.
                components = frame[5];
                length
            }
            0xda => {
                let (_, [in_scan, ..]) = segment::<1>(file)?;
                return Ok(in_scan < components);
            }
            _ => segment::<0>(file)?.0,
        };
        skip(file, length)?;
    }
}

/// The code of the next marker, past whatever stands before it.
fn next_marker(file: &mut impl BufRead) -> io::Result<u8> {
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
fn segment<const N: usize>(file: &mut impl BufRead) -> io::Result<(u64, [u8; N])> {
    let mut length = [0; 2];
    file.read_exact(&mut length)?;
    let mut first = [0; N];
    file.read_exact(&mut first)?;
    Ok((u64::from(u16::from_be_bytes(length)).saturating_sub(2 + N as u64), first))
}

fn skip(file: &mut impl BufRead, bytes: u64) -> io::Result<()> {
    io::copy(&mut file.by_ref().take(bytes), &mut io::sink())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of three components, and a scan of so many.
    fn jpeg(frame: u8, in_scan: u8) -> Vec<u8> {
        let mut file = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 0xff, 0xc2];
        file.extend([0xff, frame, 0, 8, 8, 0, 1, 0, 1, 3, 0xff, 0xff, 0xda, 0, 3, in_scan]);
        file
    }

    #[test]
    fn a_baseline_picture_in_one_scan_is_decoded_as_it_is_read() {
        assert!(!is_kept_whole(&mut jpeg(0xc0, 3).as_slice()).unwrap());
    }

    #[test]
    fn progressive_pictures_and_several_scans_are_kept() {
        assert!(is_kept_whole(&mut jpeg(0xc2, 3).as_slice()).unwrap());
        assert!(is_kept_whole(&mut jpeg(0xc0, 1).as_slice()).unwrap());
    }

    #[test]
    fn a_file_without_a_scan_is_left_to_libjpeg() {
        for end in 0..14 {
            assert!(!is_kept_whole(&mut &jpeg(0xc0, 1)[..end]).unwrap());
        }
    }
}
