//! Some bytes and a part of the file behind them, as one file: a JPEG whose tables are elsewhere.

use std::io::{BufRead, Error, ErrorKind, Read, Result, Seek, SeekFrom};

use super::directory::Tiff;

/// How many bytes are read at once.
const BLOCK_BYTES: usize = 128 << 10;

pub struct Spliced {
    head: Vec<u8>,
    tiff: Tiff,
    /// Where the part begins, and how many bytes it has.
    begin: u64,
    length: u64,
    position: u64,
    /// The bytes from `block_at` on.
    block: Vec<u8>,
    block_at: u64,
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
