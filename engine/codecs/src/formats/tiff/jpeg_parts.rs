//! JPEGs that are split or assembled: the header before the first scan, and files whose tables are elsewhere.

use std::io::{BufRead, Error, ErrorKind, Read, Result, Seek, SeekFrom};

use edgezoom_jpeg::markers::{self, FrameComponent, FrameHeader, Markers};

use super::directory::Tiff;

/// Maximum number of bytes before the first scan.
pub const HEADER_BYTES: u64 = 1 << 20;
/// Number of bytes read from the file at once.
const BLOCK_BYTES: usize = 128 << 10;

/// The header of a JPEG.
pub struct JpegHeader {
    /// Offset of the height, which the width follows.
    pub size_at: usize,
    /// Width and height of an MCU in pixels.
    pub mcu: (u32, u32),
    /// Number of MCUs between restart markers, 0 if there are none.
    pub restart_interval: u32,
    /// Offset of the scan's data. `None`: there is no scan.
    pub scan_at: Option<usize>,
}

/// Some bytes, followed by a part of the file, as one file.
pub struct Spliced {
    head: Vec<u8>,
    tiff: Tiff,
    /// Offset of the part in the file.
    begin: u64,
    /// Length of the part in bytes.
    length: u64,
    position: u64,
    /// The bytes from `block_at` on.
    block: Vec<u8>,
    block_at: u64,
}

/// Reads the header of a JPEG.
pub fn read_header(bytes: &[u8]) -> Option<JpegHeader> {
    let mut markers = Markers::new(bytes);
    if markers.next_code().ok()?? != 0xd8 {
        return None;
    }
    let mut header = JpegHeader { size_at: 0, mcu: (8, 8), restart_interval: 0, scan_at: None };
    while let Ok(Some(code)) = markers.next_code() {
        let at = markers.position() as usize;
        let segment = markers.segment().ok()??;
        match (code, &*segment) {
            (0xdd, &[high, low, ..]) => header.restart_interval = u16::from_be_bytes([high, low]).into(),
            (0xda, _) => {
                header.scan_at = Some(markers.position() as usize);
                break;
            }
            (code, segment) if markers::is_frame(code) => {
                let FrameHeader { components, .. } = FrameHeader::parse(segment)?;
                header.size_at = at + 3;
                let most = |factor: fn(&FrameComponent) -> u8| components.iter().map(factor).max();
                // A scan of one component has blocks, whatever its sampling.
                let side = |factor: Option<u8>| {
                    if components.len() == 1 { 8 } else { 8 * u32::from(factor.unwrap_or(1).max(1)) }
                };
                header.mcu =
                    (side(most(|component| component.across)), side(most(|component| component.down)));
            }
            _ => {}
        }
    }
    Some(header)
}

impl Spliced {
    pub fn new(tiff: Tiff, head: Vec<u8>, begin: u64, length: u64) -> Self {
        Self { head, tiff, begin, length, position: 0, block: Vec::new(), block_at: 0 }
    }
}

impl BufRead for Spliced {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        let in_block = self.position.checked_sub(self.block_at).and_then(|place| usize::try_from(place).ok());
        if in_block.is_none_or(|place| place >= self.block.len()) {
            self.block_at = self.position;
            let head = usize::try_from(self.position).ok().and_then(|position| self.head.get(position..));
            match head {
                Some(head) if !head.is_empty() => {
                    self.block.clear();
                    self.block.extend_from_slice(head);
                }
                _ => {
                    let place = self.position - self.head.len() as u64;
                    let left = self.length.saturating_sub(place).min(BLOCK_BYTES as u64);
                    self.block.resize(left as usize, 0);
                    let read = self.tiff.read_up_to(self.begin.saturating_add(place), &mut self.block);
                    self.block.truncate(read.map_err(Error::other)?);
                }
            }
        }
        let place = (self.position - self.block_at) as usize;
        Ok(self.block.get(place..).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.position += bytes as u64;
    }
}

impl Read for Spliced {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let block = self.fill_buf()?;
        let bytes = block.len().min(into.len());
        into[..bytes].copy_from_slice(&block[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl Seek for Spliced {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let end = self.head.len() as u64 + self.length;
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => end.checked_add_signed(by),
        };
        self.position = to.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
