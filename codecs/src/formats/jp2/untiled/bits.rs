//! The bytes of a part of a file, and the bits of packet headers in them. Memory is a window, however long the part is.

use crate::SourceError;
use crate::formats::jp2::error::NAME;
use crate::formats::jp2::source::Source;

/// The bytes that are read at once.
const WINDOW: u64 = 256 << 10;

/// A part of a file that is read from start to end.
pub struct Stream<'a> {
    source: &'a Source,
    /// Where the next byte lies, and where the part ends.
    pub position: u64,
    end: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> Stream<'a> {
    pub fn new(source: &'a Source, start: u64, length: u64) -> Self {
        let end = start.saturating_add(length).min(source.length);
        Self { source, position: start, end, window: Vec::new(), window_start: start }
    }

    pub fn is_at_end(&self) -> bool {
        self.position >= self.end
    }

    /// The next byte. An error of the kind `Corrupt` at the end.
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
            return Err(NAME.corrupt("a packet is cut off"));
        }
        if let Some(byte) = known(self) {
            return Ok(byte);
        }
        self.window.clear();
        self.window_start = self.position;
        self.source.append(self.position, WINDOW.min(self.end - self.position), &mut self.window)?;
        known(self).ok_or_else(|| NAME.corrupt("a packet is cut off"))
    }

    /// A number of two bytes.
    pub fn number(&mut self) -> Result<u16, SourceError> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// Passes over a marker if it is there, with as many bytes behind it.
    pub fn pass_marker(&mut self, marker: u8, behind: u64) -> Result<bool, SourceError> {
        let before = self.position;
        if !self.is_at_end() && self.byte()? == 0xff && !self.is_at_end() && self.byte()? == marker {
            self.position += behind;
            return Ok(true);
        }
        self.position = before;
        Ok(false)
    }

    /// Passes over so many bytes. Returns how many of them there are.
    pub fn pass(&mut self, bytes: u64) -> u64 {
        let there = bytes.min(self.end.saturating_sub(self.position));
        self.position += there;
        there
    }
}

/// The bits of a packet's header. After a byte of ones a bit is stuffed (ITU-T T.800, B.10.1).
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

    /// A number of so many bits, 32 at most.
    pub fn number(&mut self, bits: u32) -> Result<u32, SourceError> {
        (0..bits).try_fold(0, |number, _| Ok(number << 1 | u32::from(self.bit()?)))
    }

    /// Ends the header at a full byte.
    pub fn finish(self) -> Result<(), SourceError> {
        if self.byte == 0xff {
            self.stream.byte()?;
        }
        Ok(())
    }
}
