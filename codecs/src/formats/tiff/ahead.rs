//! Reads bands that a thread decodes: while one is read, the next is decoded. Two buffers go to and fro, or one when there
//! is nothing to be gained by a second.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::{iter, mem, thread};

use edgezoom_geometry::Size;

use super::bands::{Band, Bands};
use super::{FORMAT, too_early};
use crate::buffered::catch_panics;
use crate::{Layout, RowReader, SourceError};

/// The reader of a picture that is being decoded.
pub struct Ahead {
    size: Size,
    layout: Layout,
    /// To the thread, buffers whose bytes have been read.
    empty: Sender<Vec<u8>>,
    /// How many buffers there are beside the band's.
    unused: usize,
    /// From the thread, in order.
    decoded: Receiver<Band>,
    band: Band,
    /// How many bytes of the band have been read.
    read: usize,
}

impl Ahead {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(mut bands: Bands) -> Result<Self, SourceError> {
        let (size, layout) = (bands.size(), bands.layout());
        let (empty, buffers) = channel();
        let (sender, decoded) = channel();
        let unused = bands.buffers() - 1;
        thread::Builder::new().name("bands".into()).spawn(move || {
            for buffer in buffers {
                let decoded = catch_panics(&FORMAT, || Ok(bands.decode_band(buffer)));
                let band = decoded.unwrap_or_else(Band::failed);
                if sender.send(band).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { size, layout, empty, unused, decoded, band: Band::default(), read: 0 })
    }

    /// Takes the next band, and gives the buffer of the one that has been read to the thread.
    fn next_band(&mut self) -> Result<(), SourceError> {
        let read = mem::take(&mut self.band);
        if let Some(failure) = read.failure {
            return Err(failure);
        }
        let unused = iter::repeat_with(Vec::new).take(mem::take(&mut self.unused));
        for buffer in iter::once(read.pixels).chain(unused) {
            self.empty.send(buffer).map_err(|_| too_early())?;
        }
        self.band = self.decoded.recv().map_err(|_| too_early())?;
        self.read = 0;
        Ok(())
    }
}

impl RowReader for Ahead {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, mut into: &mut [u8]) -> Result<(), SourceError> {
        while !into.is_empty() {
            let waiting = self.band.good().get(self.read..).unwrap_or_default();
            if waiting.is_empty() {
                self.next_band()?;
                continue;
            }
            let bytes = waiting.len().min(into.len());
            let (now, later) = into.split_at_mut(bytes);
            now.copy_from_slice(&waiting[..bytes]);
            self.read += bytes;
            into = later;
        }
        Ok(())
    }
}
