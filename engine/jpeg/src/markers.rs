//! The markers of a JPEG, and the segments that most of them begin.
//!
//! ```text
//! marker   ff code          any number of ff may precede it; alone: SOI d8, EOI d9, RST0–7 d0–d7, TEM 01; all others begin a segment
//! segment  length: u16      counts itself, big-endian
//! frame    SOF0–15 c0–cf    length  precision: u8  height: u16  width: u16  components: u8  { id: u8  across: u4  down: u4  steps: u8 }
//! scan     SOS da           length  components: u8  { id: u8  dc: u4  ac: u4 }  first: u8  last: u8  high: u4  low: u4
//! ```
//! The coded bytes of a scan follow its segment. In them each ff is followed by a zero or the code of a restart marker, so that the
//! next marker can be found without decoding.
//!
//! Source: ITU-T T.81, annex B: B.1.1 for markers, B.2.2 for the frame, B.2.3 for the scan.

use std::io::{self, BufRead};

/// Reads the markers of a file.
pub struct Markers<R> {
    file: R,
    position: u64,
}

/// The segment of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bits of a sample.
    pub precision: u8,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
    /// Number of components that it announces.
    pub count: u8,
    /// Those that it describes.
    pub components: Vec<FrameComponent>,
}

/// A component as a frame describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameComponent {
    /// The name by which scans refer to it.
    pub id: u8,
    /// Blocks of an MCU across.
    pub across: u8,
    /// Blocks of an MCU down.
    pub down: u8,
    /// Number of its quantisation table.
    pub steps: u8,
}

/// Returns true if the code begins the segment of a frame. DHT, JPG (reserved) and DAC are among those codes.
#[must_use]
pub fn is_frame(code: u8) -> bool {
    matches!(code, 0xc0..=0xcf) && !matches!(code, 0xc4 | 0xc8 | 0xcc)
}

/// Returns true if the code begins no segment.
#[must_use]
pub fn is_alone(code: u8) -> bool {
    matches!(code, 0x01 | 0xd0..=0xd9)
}

impl<R: BufRead> Markers<R> {
    /// Reads from the start of a file.
    pub fn new(file: R) -> Self {
        Self { file, position: 0 }
    }

    /// Returns the number of bytes read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the file, behind what was read.
    pub fn into_inner(self) -> R {
        self.file
    }

    /// Returns the code of the marker that begins here. `None`: there is something else.
    ///
    /// # Errors
    /// The file's. It ends here.
    pub fn next_code(&mut self) -> io::Result<Option<u8>> {
        if self.bytes()? != [0xff] {
            return Ok(None);
        }
        self.code().map(|code| Some(code).filter(|&code| code != 0))
    }

    /// Returns the code of the next marker. Skips the bytes before it, as libjpeg does.
    ///
    /// # Errors
    /// The file's. It ends before a marker.
    pub fn find_code(&mut self) -> io::Result<u8> {
        loop {
            self.position += self.file.skip_until(0xff)? as u64;
            match self.code()? {
                0 => {}
                code => return Ok(code),
            }
        }
    }

    /// Reads the segment that the last marker begins, without its length. `None`: the length is too small to count itself.
    ///
    /// # Errors
    /// The file's. It ends in the segment.
    pub fn segment(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(length) = u16::from_be_bytes(self.bytes()?).checked_sub(2) else { return Ok(None) };
        let mut segment = vec![0; length.into()];
        self.file.read_exact(&mut segment)?;
        self.position += u64::from(length);
        Ok(Some(segment))
    }

    /// Returns the first byte that is not ff.
    fn code(&mut self) -> io::Result<u8> {
        loop {
            match self.bytes()? {
                [0xff] => {}
                [code] => return Ok(code),
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }
}

impl FrameHeader {
    /// Parses a segment. `None`: it is too short.
    #[must_use]
    pub fn parse(segment: &[u8]) -> Option<Self> {
        let (&[precision, h1, h2, w1, w2, count], rest) = segment.split_first_chunk()?;
        let component = |&[id, factors, steps]: &[u8; 3]| FrameComponent {
            id,
            across: factors >> 4,
            down: factors & 15,
            steps,
        };
        Some(Self {
            precision,
            width: u16::from_be_bytes([w1, w2]),
            height: u16::from_be_bytes([h1, h2]),
            count,
            components: rest.as_chunks().0.iter().take(count.into()).map(component).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_behind_coded_bytes_and_fill_bytes() {
        let file = [0xff, 0xd8, 0xff, 0xff, 0xda, 0, 3, 7, 0x12, 0xff, 0, 0xff, 0xd0, 5, 0xff, 0xd9];
        let mut markers = Markers::new(&file[..]);
        assert_eq!(markers.next_code().unwrap(), Some(0xd8));
        assert_eq!(markers.next_code().unwrap(), Some(0xda));
        assert_eq!((markers.segment().unwrap(), markers.position()), (Some(vec![7]), 8));
        assert_eq!((markers.find_code().unwrap(), markers.position()), (0xd0, 13));
        assert_eq!(markers.next_code().unwrap(), None, "a coded byte");
        assert_eq!(markers.next_code().unwrap(), Some(0xd9));
        assert!(markers.find_code().is_err() && markers.next_code().is_err());
    }

    #[test]
    fn a_segment_is_whole_or_an_error() {
        assert_eq!(Markers::new(&[0, 1][..]).segment().unwrap(), None);
        assert_eq!(Markers::new(&[0, 2][..]).segment().unwrap(), Some(Vec::new()));
        assert!(Markers::new(&[0, 4, 1][..]).segment().is_err());
    }
}
