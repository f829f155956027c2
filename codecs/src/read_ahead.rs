//! A picture that a thread of its own decodes, band by band, while the rows of the band before are read. So a decoder
//! that keeps one core busy runs beside the encoding of tiles, and at most three bands are in memory: one that is being
//! decoded, one that waits, and one that is being read.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use edgezoom_geometry::Size;

use crate::buffered::catch_panics;
use crate::error::FormatName;
use crate::{Layout, RowReader, SourceError};

/// The bands that wait until they are read.
const WAITING: usize = 1;

/// What the decoding thread passes on.
enum Message {
    /// The picture's size and layout, before its first band.
    Begin(Size, Layout),
    /// Its next rows.
    Band(Vec<u8>),
    /// There are no more.
    Failed(SourceError),
}

/// Takes the bands of a picture from the thread that decodes it.
pub struct Bands {
    sender: SyncSender<Message>,
}

/// The reader of a picture that is being decoded.
pub struct ReadAhead {
    format: FormatName,
    size: Size,
    layout: Layout,
    messages: Receiver<Message>,
    band: Vec<u8>,
    /// How many bytes of the band have been read.
    used: usize,
    /// How many bytes of the picture have not been read.
    left: u64,
}

impl Bands {
    /// Says how large the picture is and what its pixels are made of. To be called once, before the first band.
    ///
    /// # Errors
    /// When the picture is no longer read.
    pub fn begin(&self, size: Size, layout: Layout) -> Result<(), SourceError> {
        self.pass(Message::Begin(size, layout))
    }

    /// Takes the next rows, or in [`Layout::YCbCr420`] the next pairs of rows, without gaps. Waits while enough bands
    /// are unread.
    ///
    /// # Errors
    /// When the picture is no longer read.
    pub fn send(&self, band: Vec<u8>) -> Result<(), SourceError> {
        self.pass(Message::Band(band))
    }

    fn pass(&self, message: Message) -> Result<(), SourceError> {
        self.sender.send(message).map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe).into())
    }
}

impl ReadAhead {
    /// Starts a thread that decodes a picture, and waits until it knows the size. A panic of the decoder counts as a
    /// broken file.
    ///
    /// # Errors
    /// Those of the decoder before its first band, and when no thread can be started.
    pub fn start(
        format: FormatName,
        decode: impl FnOnce(&Bands) -> Result<(), SourceError> + Send + 'static,
    ) -> Result<Self, SourceError> {
        let (sender, messages) = sync_channel(WAITING);
        thread::Builder::new().name("decoder".into()).spawn(move || {
            let bands = Bands { sender };
            if let Err(error) = catch_panics(format.0, || decode(&bands)) {
                // Fails when the picture is no longer read.
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
                Ok(Self { format, size, layout, messages, band: Vec::new(), used: 0, left })
            }
            Ok(Message::Failed(error)) => Err(error),
            Ok(Message::Band(_)) | Err(_) => Err(format.corrupt("it has no size")),
        }
    }
}

impl RowReader for ReadAhead {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        // A band of planes may extend below the picture; what lies there is never shown.
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let mut rest = &mut into[..wanted];
        while !rest.is_empty() {
            if self.used == self.band.len() {
                // The buffer is freed before the thread fills another.
                self.band = Vec::new();
                self.band = match self.messages.recv() {
                    Ok(Message::Band(band)) => band,
                    Ok(Message::Failed(error)) => return Err(error),
                    Ok(Message::Begin(..)) | Err(_) => {
                        return Err(self.format.corrupt("it ends before its last row"));
                    }
                };
                self.used = 0;
            }
            let count = rest.len().min(self.band.len() - self.used);
            let (to, later) = rest.split_at_mut(count);
            to.copy_from_slice(&self.band[self.used..self.used + count]);
            self.used += count;
            rest = later;
        }
        self.left -= wanted as u64;
        Ok(())
    }
}
