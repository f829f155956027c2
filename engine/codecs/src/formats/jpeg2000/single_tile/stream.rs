//! The bytes of a tile-part, and the bits of packet headers.

use std::io;

use crate::SourceError;
use crate::formats::jpeg2000::source::{NAME, Source};

/// Bytes that a stream reads at once.
const WINDOW: u64 = 256 << 10;

/// A part of a source that is read from start to end, through a window.
pub struct Stream<'a> {
    source: &'a Source,
    /// The offset of the next byte.
    pub position: u64,
    end: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> Stream<'a> {
    pub fn new(source: &'a Source, start: u64, length: u64) -> io::Result<Self> {
        let end = start.saturating_add(length).min(source.length()?);
        Ok(Self { source, position: start, end, window: Vec::new(), window_start: start })
    }

    pub fn is_at_end(&self) -> bool {
        self.position >= self.end
    }

    /// Reads a byte. Fails with `Corrupt` at the end.
    pub fn byte(&mut self) -> Result<u8, SourceError> {
        let byte = self.peek()?;
        self.position += 1;
        Ok(byte)
    }

    fn peek(&mut self) -> Result<u8, SourceError> {
        let known = |stream: &Self| {
            let offset = stream.position.checked_sub(stream.window_start)?;
            stream.window.get(usize::try_from(offset).ok()?).copied()
        };
        if self.is_at_end() {
            return Err(SourceError::corrupt(NAME, "a packet is cut off"));
        }
        if let Some(byte) = known(self) {
            return Ok(byte);
        }
        self.window.clear();
        self.window_start = self.position;
        self.source.append(self.position, WINDOW.min(self.end - self.position), &mut self.window)?;
        known(self).ok_or_else(|| SourceError::corrupt(NAME, "a packet is cut off"))
    }

    /// Reads a number of two bytes.
    pub fn number(&mut self) -> Result<u16, SourceError> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// Skips a marker and the bytes of its segment, if the marker is next. Returns true if it was.
    pub fn pass_marker(&mut self, marker: u8, behind: u64) -> Result<bool, SourceError> {
        let before = self.position;
        if !self.is_at_end() && self.byte()? == 0xff && !self.is_at_end() && self.byte()? == marker {
            self.position += behind;
            return Ok(true);
        }
        self.position = before;
        Ok(false)
    }

    /// Skips some bytes. Returns how many of them exist.
    pub fn pass(&mut self, bytes: u64) -> u64 {
        let there = bytes.min(self.end.saturating_sub(self.position));
        self.position += there;
        there
    }
}

/// The bits of a packet's header. A bit is stuffed after a byte of ones (ITU-T T.800, B.10.1).
pub struct Bits<'s, 'a> {
    stream: &'s mut Stream<'a>,
    byte: u8,
    left: u8,
}

impl<'s, 'a> Bits<'s, 'a> {
    pub fn new(stream: &'s mut Stream<'a>) -> Self {
        Self { stream, byte: 0, left: 0 }
    }

    pub fn bit(&mut self) -> Result<bool, SourceError> {
        if self.left == 0 {
            self.left = if self.byte == 0xff { 7 } else { 8 };
            self.byte = self.stream.byte()?;
        }
        self.left -= 1;
        Ok(self.byte >> self.left & 1 == 1)
    }

    /// Reads a number of at most 32 bits.
    pub fn number(&mut self, bits: u32) -> Result<u32, SourceError> {
        (0..bits).try_fold(0, |number, _| Ok(number << 1 | u32::from(self.bit()?)))
    }

    /// Ends the header at a byte boundary.
    pub fn finish(self) -> Result<(), SourceError> {
        if self.byte == 0xff {
            self.stream.byte()?;
        }
        Ok(())
    }
}
