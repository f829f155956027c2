//! Cuts the bytes of a scan into chunks.

use std::io::{self, ErrorKind, Read};

use super::chunk::Irregular;
use super::frame::Frame;

/// The bytes of a scan, as they come.
pub struct Input<R> {
    file: R,
    /// Bytes that were read and belong to the next chunk.
    rest: Vec<u8>,
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
        Self { file, rest: Vec::new(), has_restarts }
    }

    /// Returns the next chunk of about this many bytes. With restart markers it ends at one.
    ///
    /// # Errors
    /// The file's. The inner one: it does not end with an EOI or DNL, or has other markers in its middle.
    pub fn next(&mut self, length: usize) -> io::Result<Result<Raw, Irregular>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut searched = 0;
        loop {
            // A marker is seen when both of its bytes are there.
            while let Some(at) =
                memchr::memchr(0xff, bytes.get(searched..bytes.len().saturating_sub(1)).unwrap_or_default())
            {
                let at = searched + at;
                searched = at + 2;
                match bytes.get(at + 1) {
                    Some(0) => {}
                    // The end, or DNL: libjpeg ignores a number of lines behind the picture.
                    Some(0xd9 | 0xdc) => {
                        bytes.truncate(at);
                        return Ok(Ok(Raw { bytes, is_last: true }));
                    }
                    Some(0xd0..=0xd7) if self.has_restarts => {
                        if at >= length {
                            self.rest = bytes.split_off(at + 2);
                            bytes.truncate(at + 2);
                            return Ok(Ok(Raw { bytes, is_last: false }));
                        }
                    }
                    _ => return Ok(Err(Irregular)),
                }
            }
            searched = searched.max(bytes.len().saturating_sub(1));
            if !self.has_restarts && searched > length {
                self.rest = bytes.split_off(searched);
                return Ok(Ok(Raw { bytes, is_last: false }));
            }
            let before = bytes.len();
            bytes.resize(before + READ_BYTES, 0);
            let read = loop {
                match self.file.read(&mut bytes[before..]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    result => break result?,
                }
            };
            bytes.truncate(before + read);
            if read == 0 {
                return Ok(Err(Irregular));
            }
        }
    }
}

/// Splits a chunk at its restart markers, and gives the number of MCUs of each part. The part `first` of the scan is the
/// chunk's first one. The numbers of the markers must follow each other.
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
