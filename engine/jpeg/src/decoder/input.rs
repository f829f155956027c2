//! Cuts the bytes of a scan into chunks.

use std::io::{self, ErrorKind, Read};

use super::chunk::Irregular;
use super::frame::Frame;

/// The bytes of a scan, as they come.
pub struct Input<R> {
    file: R,
    /// Bytes that were read, of which those before `start` were given.
    bytes: Vec<u8>,
    start: usize,
    has_restarts: bool,
}

/// The bytes of a chunk, with stuffing and, if the scan has them, restart markers between its parts.
pub struct Raw {
    /// The bytes, without the marker behind them.
    pub bytes: Vec<u8>,
    /// True if the scan ends here.
    pub is_last: bool,
}

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

impl<R: Read> Input<R> {
    /// Begins at the first byte of a scan.
    pub fn new(file: R, has_restarts: bool) -> Self {
        Self { file, bytes: Vec::new(), start: 0, has_restarts }
    }

    /// Returns the next chunk of about this many bytes. With restart markers it ends at one.
    ///
    /// # Errors
    /// The file's. The inner one: it does not end with an EOI or DNL, or has other markers in its middle.
    pub fn next(&mut self, length: usize) -> io::Result<Result<Raw, Irregular>> {
        let mut searched = self.start;
        loop {
            let wanted = if self.has_restarts { usize::MAX } else { self.start + length };
            // A marker is seen when both of its bytes are there.
            let end = self.bytes.len().saturating_sub(1).min(wanted);
            while let Some(at) = memchr::memchr(0xff, self.bytes.get(searched..end).unwrap_or_default()) {
                let at = searched + at;
                searched = at + 2;
                match self.bytes.get(at + 1) {
                    Some(0) => {}
                    // The end, or DNL: libjpeg ignores a number of lines behind the picture.
                    Some(0xd9 | 0xdc) => return Ok(Ok(self.give(at, true))),
                    Some(0xd0..=0xd7) if self.has_restarts => {
                        if at >= self.start + length {
                            return Ok(Ok(self.give(at + 2, false)));
                        }
                    }
                    _ => return Ok(Err(Irregular)),
                }
            }
            searched = searched.max(end);
            if searched >= wanted {
                return Ok(Ok(self.give(searched, false)));
            }
            self.bytes.drain(..self.start);
            searched -= self.start;
            self.start = 0;
            let before = self.bytes.len();
            self.bytes.resize(before + READ_BYTES, 0);
            let read = loop {
                match self.file.read(&mut self.bytes[before..]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    result => break result?,
                }
            };
            self.bytes.truncate(before + read);
            if read == 0 {
                return Ok(Err(Irregular));
            }
        }
    }

    /// Returns the bytes up to this one.
    fn give(&mut self, end: usize, is_last: bool) -> Raw {
        let bytes = self.bytes[self.start..end].to_vec();
        self.start = end;
        Raw { bytes, is_last }
    }
}

/// Splits a chunk at its restart markers, and gives the number of MCUs of each part. The part `first` of the scan is
/// the chunk's first one. The numbers of the markers must follow each other.
pub fn intervals<'a>(frame: &Frame, raw: &'a Raw, first: u64) -> Result<Vec<(&'a [u8], usize)>, Irregular> {
    let bytes = &raw.bytes;
    let (mut parts, mut from, mut number) = (Vec::new(), 0, first);
    for at in memchr::memchr_iter(0xff, bytes) {
        match bytes.get(at + 1) {
            Some(&code @ 0xd0..=0xd7) if u64::from(code & 7) == number & 7 => {
                parts.push(&bytes[from..at]);
                from = at + 2;
                number += 1;
            }
            Some(0xd0..=0xd7) => return Err(Irregular),
            _ => {}
        }
    }
    if from < bytes.len() {
        parts.push(&bytes[from..]);
    }
    let (across, down) = frame.mcus();
    let interval = u64::from(frame.restart_interval);
    let left = (u64::from(across) * u64::from(down)).saturating_sub(first * interval);
    let in_all = if raw.is_last { left } else { parts.len() as u64 * interval };
    if in_all > left || in_all.div_ceil(interval.max(1)) != parts.len() as u64 {
        return Err(Irregular);
    }
    let counts = (0..).map(|part| (in_all - part * interval).min(interval) as usize);
    Ok(parts.into_iter().zip(counts).collect())
}
