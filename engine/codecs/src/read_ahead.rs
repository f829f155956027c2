//! A picture that a thread of its own decodes, band by band, while the rows of the band before are read. So a decoder
//! that keeps one core busy runs beside the encoding of tiles.

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{mem, thread};

use edgezoom_geometry::Size;

use crate::buffered::catch_panics;
use crate::row_reader::BandBuffer;
use crate::{Damage, Format, Layout, RowReader, SourceError};

/// A message from the decoding thread.
enum Message {
    /// The picture's size and layout, before its first band.
    Begin(Size, Layout),
    /// Its next rows.
    Band(Vec<u8>),
    /// The error that ends it.
    Failed(SourceError),
}

/// The end of the channel at which the decoding thread hands over its bands.
pub struct BandSender {
    messages: Sender<Message>,
    /// One buffer for each band that may be sent before another one has been read.
    read: Receiver<Vec<u8>>,
}

/// The reader of a picture that is being decoded.
pub struct ReadAhead {
    format: &'static Format,
    size: Size,
    layout: Layout,
    messages: Receiver<Message>,
    /// Returns a buffer to the thread for each band that has been read.
    read: Sender<Vec<u8>>,
    reuses_buffers: bool,
    has_band: bool,
    band: BandBuffer,
    /// Number of bytes of the picture that have not been read.
    left: u64,
    damage: Option<Damage>,
}

impl BandSender {
    /// Says how large the picture is and what its pixels are made of. Call it once, before the first band.
    ///
    /// # Errors
    /// The picture is no longer read.
    pub fn begin(&self, size: Size, layout: Layout) -> Result<(), SourceError> {
        self.pass(Message::Begin(size, layout))
    }

    /// Passes on the next rows, or in [`Layout::YCbCr420`] the next pairs of rows, without gaps. Waits while enough
    /// bands are unread. Returns a buffer for the next band.
    ///
    /// # Errors
    /// The picture is no longer read.
    pub fn send(&self, band: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        self.pass(Message::Band(band))?;
        self.read.recv().map_err(|_| unread())
    }

    fn pass(&self, message: Message) -> Result<(), SourceError> {
        self.messages.send(message).map_err(|_| unread())
    }
}

fn unread() -> SourceError {
    io::Error::from(ErrorKind::BrokenPipe).into()
}

impl ReadAhead {
    /// Starts a thread that decodes a picture, and waits until it knows the size. Up to three bands are in memory: one
    /// that is being decoded, one that waits, and one that is being read. A panic of the decoder counts as a broken
    /// file.
    ///
    /// # Errors
    /// Those of the decoder before its first band, or no thread can be started.
    pub fn start(
        format: &'static Format,
        decode: impl FnOnce(&BandSender) -> Result<(), SourceError> + Send + 'static,
    ) -> Result<Self, SourceError> {
        Self::with_bands(format, 3, false, decode)
    }

    /// Starts a thread as [`ReadAhead::start`] does, which decodes into `buffers` buffers in turn. With one, a band is
    /// decoded only when the one before has been read.
    ///
    /// # Errors
    /// As for [`ReadAhead::start`].
    pub fn with_buffers(
        format: &'static Format,
        buffers: usize,
        decode: impl FnOnce(&BandSender) -> Result<(), SourceError> + Send + 'static,
    ) -> Result<Self, SourceError> {
        Self::with_bands(format, buffers, true, decode)
    }

    fn with_bands(
        format: &'static Format,
        bands: usize,
        reuses_buffers: bool,
        decode: impl FnOnce(&BandSender) -> Result<(), SourceError> + Send + 'static,
    ) -> Result<Self, SourceError> {
        let (sender, messages) = channel();
        let (read, buffers) = channel();
        for _ in 1..bands {
            // Never fails: the other end is here.
            let _ = read.send(Vec::new());
        }
        thread::Builder::new().name("decoder".into()).spawn(move || {
            let bands = BandSender { messages: sender, read: buffers };
            if let Err(error) = catch_panics(format, || decode(&bands)) {
                // Fails if the picture is no longer read.
                let _ = bands.pass(Message::Failed(error));
            }
        })?;
        match messages.recv() {
            Ok(Message::Begin(size, layout)) => {
                let left = match layout {
                    Layout::YCbCr420 => {
                        2 * layout.row_bytes(size.width) as u64 * u64::from(size.height.div_ceil(2))
                    }
                    _ => layout.row_bytes(size.width) as u64 * u64::from(size.height),
                };
                let band = BandBuffer::default();
                Ok(Self {
                    format,
                    size,
                    layout,
                    messages,
                    read,
                    reuses_buffers,
                    has_band: false,
                    band,
                    left,
                    damage: None,
                })
            }
            Ok(Message::Failed(error)) => Err(error),
            Ok(Message::Band(_)) | Err(_) => Err(format.corrupt("it has no size")),
        }
    }

    /// Sets the damage, for decoders that know it before the first row.
    pub fn with_damage(self, damage: Option<Damage>) -> Self {
        Self { damage, ..self }
    }
}

impl RowReader for ReadAhead {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn damage(&self) -> Option<Damage> {
        self.damage
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        // A band of planes may extend below the picture; what is there is never shown.
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let Self { format, messages, read, reuses_buffers, has_band, band, .. } = self;
        band.read_rows(&mut into[..wanted], |buffer| {
            if mem::replace(has_band, true) {
                let buffer = if *reuses_buffers {
                    buffer
                } else {
                    drop(buffer); // now, before the thread fills another
                    Vec::new()
                };
                // Fails if the thread has ended.
                let _ = read.send(buffer);
            }
            match messages.recv() {
                Ok(Message::Band(band)) => Ok(band),
                Ok(Message::Failed(error)) => Err(error),
                Ok(Message::Begin(..)) | Err(_) => Err(format.ends_early()),
            }
        })?;
        self.left -= wanted as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;
    use crate::formats::screenshot;

    /// Reads rows that are a band each. Returns the most that were being decoded beyond the one that was being read.
    fn most_ahead(buffers: Option<usize>) -> u8 {
        let begun = Arc::new(AtomicU8::new(0));
        let counter = Arc::clone(&begun);
        let decode = move |bands: &BandSender| {
            bands.begin(Size { width: 4, height: 9 }, Layout::Grey)?;
            let mut band = Vec::new();
            for row in 1..=9 {
                counter.store(row, Ordering::SeqCst);
                band.clear();
                band.resize(4, row);
                band = bands.send(band)?;
            }
            Ok(())
        };
        let mut reader = match buffers {
            Some(buffers) => ReadAhead::with_buffers(&screenshot::FORMAT, buffers, decode).unwrap(),
            None => ReadAhead::start(&screenshot::FORMAT, decode).unwrap(),
        };
        let mut most = 0;
        for row in 1..=9 {
            let mut pixels = [0; 4];
            reader.read_rows(&mut pixels[..2]).unwrap();
            most = most.max(begun.load(Ordering::SeqCst) - row);
            reader.read_rows(&mut pixels[2..]).unwrap();
            assert_eq!(pixels, [row; 4]);
        }
        most
    }

    #[test]
    fn no_more_bands_are_decoded_than_may_be_in_memory() {
        assert_eq!(most_ahead(Some(1)), 0);
        assert!(most_ahead(Some(2)) <= 1);
        assert!(most_ahead(None) <= 2);
    }

    #[test]
    fn what_fails_or_panics_is_reported_after_the_bands_before() {
        let start = |then: fn() -> Result<(), SourceError>| {
            ReadAhead::start(&screenshot::FORMAT, move |bands| {
                bands.begin(Size { width: 4, height: 2 }, Layout::Grey)?;
                bands.send(vec![7; 4])?;
                then()
            })
        };
        for then in [|| Err(SourceError::Empty), || panic!("out of bounds"), || Ok(())] {
            let mut reader = start(then).unwrap();
            let mut row = [0; 4];
            reader.read_rows(&mut row).unwrap();
            assert_eq!(row, [7; 4]);
            assert!(reader.read_rows(&mut row).is_err());
        }
        assert!(ReadAhead::start(&screenshot::FORMAT, |_| Err(SourceError::Empty)).is_err());
    }
}
