//! The file of a source: one of the system's, bytes in memory, or anything that is read at an offset. One of the system's
//! may still be growing: a download is written to it while it is read here. A read of bytes
//! that have not arrived waits for them, so decoders need not know. They see the end of the file only when it is
//! complete.
//!
//! A channel announces the length of the file, in words of eight bytes ([`announcement`]). Waiting is a read of that
//! channel: it takes no CPU time, and no additional system call that the sandbox would have to permit.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Marks the last word of the channel.
const IS_COMPLETE: u64 = 1 << 63;
/// Number of bytes of the channel read at once. The last of several words counts.
const CHANNEL_BYTES: usize = 512;

use crate::{Cancel, positioned};

/// Bytes that are read at an offset, from several threads at once.
///
/// ```
/// use std::io;
///
/// use edgezoom_codecs::{Bounds, ReadAt, SourceFile, open};
///
/// /// A picture in pieces.
/// struct Pieces(Vec<&'static [u8]>);
///
/// impl ReadAt for Pieces {
///     fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
///         let mut start = 0;
///         for piece in &self.0 {
///             if let Some(there) = offset.checked_sub(start).and_then(|at| piece.get(at as usize..))
///                 && !there.is_empty()
///             {
///                 return there.read_at(into, 0);
///             }
///             start += piece.len() as u64;
///         }
///         Ok(0)
///     }
///
///     fn length(&self) -> io::Result<u64> {
///         Ok(self.0.iter().map(|piece| piece.len() as u64).sum())
///     }
/// }
///
/// # fn main() -> Result<(), edgezoom_codecs::SourceError> {
/// let file = SourceFile::of(Pieces(vec![b"P5 1 ", b"2 255\n", b"ab"]));
/// let picture = open(file, Bounds::default())?;
/// assert_eq!((picture.size().width, picture.size().height), (1, 2));
/// # Ok(())
/// # }
/// ```
pub trait ReadAt: Send + Sync {
    /// Fills the beginning of `into` with the bytes at an offset. Returns their number: 0 only at the end.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the number of all bytes.
    ///
    /// # Errors
    /// It cannot be found.
    fn length(&self) -> io::Result<u64>;
}

impl ReadAt for [u8] {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let there = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let bytes = there.len().min(into.len());
        into[..bytes].copy_from_slice(&there[..bytes]);
        Ok(bytes)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// A file that is read from its start. Clones are the same file.
#[derive(Clone)]
pub struct SourceFile {
    store: Store,
    growth: Option<Arc<Growth>>,
    cancel: Option<Cancel>,
    /// Position of the next read, if the file grows: its writer may move the position of the file itself.
    position: u64,
    /// True if the position counts although the file does not grow.
    is_apart: bool,
}

#[derive(Clone)]
enum Store {
    File(Arc<File>),
    Other(Arc<dyn ReadAt>),
}

/// The progress of a growing file.
struct Growth {
    bytes: AtomicU64,
    is_complete: AtomicBool,
    /// Final length of the file, if known.
    announced: Option<u64>,
    channel: Mutex<Channel>,
}

struct Channel {
    reader: Box<dyn Read + Send>,
    /// The part of a word read so far.
    word: Vec<u8>,
}

/// Returns the channel's word for a file of `bytes` bytes that is complete or not.
#[must_use]
pub fn announcement(bytes: u64, is_complete: bool) -> [u8; 8] {
    let bytes = bytes.min(IS_COMPLETE - 1);
    (if is_complete { bytes | IS_COMPLETE } else { bytes }).to_le_bytes()
}

impl From<File> for SourceFile {
    fn from(file: File) -> Self {
        // On Windows, reads at an offset move the file's own position.
        let is_apart = cfg!(windows);
        Self { store: Store::File(Arc::new(file)), growth: None, cancel: None, position: 0, is_apart }
    }
}

impl From<Vec<u8>> for SourceFile {
    fn from(bytes: Vec<u8>) -> Self {
        Self::of(Memory(bytes))
    }
}

struct Memory(Vec<u8>);

impl ReadAt for Memory {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.as_slice().read_at(into, offset)
    }

    fn length(&self) -> io::Result<u64> {
        self.0.as_slice().length()
    }
}

impl SourceFile {
    /// Returns bytes that are read at an offset as a file.
    #[must_use]
    pub fn of(bytes: impl ReadAt + 'static) -> Self {
        let store = Store::Other(Arc::new(bytes));
        Self { store, growth: None, cancel: None, position: 0, is_apart: true }
    }

    /// Ends reading when the flag is set.
    #[must_use]
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: Some(cancel.clone()), ..self }
    }

    /// Returns true if reading was ended by a flag.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Returns a growing file. `channel` announces its length, and `announced` is its final length, if known. If that
    /// is wrong, the caller has to discard what was read.
    #[must_use]
    pub fn growing(file: File, announced: Option<u64>, channel: impl Read + Send + 'static) -> Self {
        let channel = Mutex::new(Channel { reader: Box::new(channel), word: Vec::new() });
        let growth =
            Growth { bytes: AtomicU64::new(0), is_complete: AtomicBool::new(false), announced, channel };
        let store = Store::File(Arc::new(file));
        Self { store, growth: Some(Arc::new(growth)), cancel: None, position: 0, is_apart: false }
    }

    /// Returns the same file, from its start, with a position of its own, so that several readers can share it.
    pub(crate) fn apart(&self) -> Self {
        Self { position: 0, is_apart: true, ..self.clone() }
    }

    /// Returns the file if its own position counts.
    fn file_itself(&self) -> Option<&File> {
        match &self.store {
            Store::File(file) if self.growth.is_none() && !self.is_apart => Some(file),
            Store::File(_) | Store::Other(_) => None,
        }
    }

    /// Returns true if more bytes may arrive.
    pub(crate) fn is_growing(&self) -> bool {
        self.growth.as_ref().is_some_and(|growth| !growth.is_complete.load(Ordering::Acquire))
    }

    /// Reads at an offset, without changing the position.
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let into = match &self.growth {
            None => into,
            Some(growth) => {
                let there = growth.beyond(offset)?.saturating_sub(offset);
                let most = into.len().min(usize::try_from(there).unwrap_or(usize::MAX));
                into.get_mut(..most).unwrap_or_default()
            }
        };
        if let Some(cancel) = &self.cancel {
            cancel.check()?;
        }
        match &self.store {
            Store::File(file) => positioned::read_at(file, into, offset),
            Store::Other(bytes) => bytes.read_at(into, offset),
        }
    }

    /// Fills `into` with the bytes at an offset, as far as the file goes. Returns the number of bytes read.
    pub(crate) fn read_up_to_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < into.len() {
            match self.read_at(into.get_mut(read..).unwrap_or_default(), offset.saturating_add(read as u64)) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    /// Fills `into` with the bytes at an offset.
    pub(crate) fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self.read_up_to_at(into, offset)? {
            read if read == into.len() => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Waits until the file is complete, and returns its length.
    pub(crate) fn length_when_complete(&self) -> io::Result<u64> {
        match &self.growth {
            None => self.length(),
            Some(growth) => growth.until(|_| false),
        }
    }

    /// Returns the length of the file. Seeks to its end, because the sandbox forbids reading metadata.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match &self.growth {
            None => match &self.store {
                Store::File(file) => (&**file).seek(SeekFrom::End(0)),
                Store::Other(bytes) => bytes.length(),
            },
            Some(growth) => growth.length(),
        }
    }
}

impl Read for SourceFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(mut file) = self.file_itself() {
            if let Some(cancel) = &self.cancel {
                cancel.check()?;
            }
            return file.read(into);
        }
        let read = self.read_at(into, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for SourceFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if let Some(mut file) = self.file_itself() {
            return file.seek(to);
        }
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.length()?.checked_add_signed(by),
        };
        self.position =
            position.filter(|&position| position <= i64::MAX as u64).ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl Growth {
    /// Waits until the file has more than `bytes` bytes or is complete, and returns its length.
    fn beyond(&self, bytes: u64) -> io::Result<u64> {
        self.until(|there| there > bytes)
    }

    fn length(&self) -> io::Result<u64> {
        match self.announced {
            Some(announced) => Ok(announced),
            None => self.until(|_| false),
        }
    }

    fn until(&self, holds: impl Fn(u64) -> bool) -> io::Result<u64> {
        let there = || {
            let is_complete = self.is_complete.load(Ordering::Acquire);
            let bytes = self.bytes.load(Ordering::Acquire);
            (is_complete || holds(bytes)).then_some(bytes)
        };
        if let Some(bytes) = there() {
            return Ok(bytes);
        }
        // While one thread waits for the channel, the others wait for that thread.
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(bytes) = there() {
                return Ok(bytes);
            }
            if let Some(word) = channel.next()? {
                self.bytes.fetch_max(word & !IS_COMPLETE, Ordering::Release);
                self.is_complete.fetch_or(word & IS_COMPLETE != 0, Ordering::Release);
            }
        }
    }
}

impl Channel {
    /// Waits for words, and returns the last one, or `None` for a part of one.
    fn next(&mut self) -> io::Result<Option<u64>> {
        let mut bytes = [0; CHANNEL_BYTES];
        let read = match self.reader.read(&mut bytes) {
            Ok(0) => {
                return Err(io::Error::new(ErrorKind::BrokenPipe, "the source ended before it was complete"));
            }
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error),
        };
        self.word.extend_from_slice(bytes.get(..read).unwrap_or_default());
        let (words, rest) = self.word.as_chunks::<8>();
        let last = words.last().map(|word| u64::from_le_bytes(*word));
        self.word = rest.to_vec();
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    fn growing(announced: Option<u64>) -> (File, UnixStream, SourceFile) {
        let file = tempfile::tempfile().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let source = SourceFile::growing(file.try_clone().unwrap(), announced, theirs);
        (file, ours, source)
    }

    #[test]
    fn a_read_waits_for_its_bytes_and_for_the_end() {
        let (file, mut channel, mut source) = growing(None);
        file.write_all_at(b"abcdef", 0).unwrap();
        channel.write_all(&announcement(2, false)).unwrap();
        let mut two = [0; 5];
        assert_eq!(source.read(&mut two).unwrap(), 2, "bytes that are not announced are not read");
        let reader = thread::spawn(move || {
            let mut rest = Vec::new();
            source.read_to_end(&mut rest).unwrap();
            (rest, source.length().unwrap(), source.is_growing())
        });
        for bytes in 3..6 {
            // Two writes: a word may arrive in parts.
            let word = announcement(bytes, false);
            channel.write_all(&word[..3]).unwrap();
            channel.write_all(&word[3..]).unwrap();
        }
        assert!(!reader.is_finished());
        channel.write_all(&announcement(6, true)).unwrap();
        assert_eq!(reader.join().unwrap(), (b"cdef".to_vec(), 6, false));
    }

    #[test]
    fn several_threads_wait_for_bytes_further_on() {
        let (file, mut channel, source) = growing(Some(6));
        assert_eq!(source.length().unwrap(), 6);
        let readers = [1, 4].map(|offset| {
            let source = source.clone();
            thread::spawn(move || {
                let mut two = [0; 2];
                source.read_exact_at(&mut two, offset).map(|()| two)
            })
        });
        file.write_all_at(b"abcdef", 0).unwrap();
        channel.write_all(&announcement(3, false)).unwrap();
        channel.write_all(&announcement(6, true)).unwrap();
        let read = readers.map(|reader| reader.join().unwrap().unwrap());
        assert_eq!(read, [*b"bc", *b"ef"]);
        assert_eq!(source.read_at(&mut [0], 6).unwrap(), 0);
    }

    #[test]
    fn a_file_that_is_never_completed_is_an_error() {
        let (file, channel, mut source) = growing(None);
        file.write_all_at(b"abc", 0).unwrap();
        drop(channel);
        assert_eq!(source.read(&mut [0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
