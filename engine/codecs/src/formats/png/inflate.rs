//! The rows of a PNG as they are stored, each behind the number of its filter, inflated in bands by a thread of their
//! own. So inflating, which no other thread can share, runs beside everything else.
//!
//! The `png` crate reads the chunks and inflates, in the same steps as its own reader of rows. A damaged file has the
//! same rows.

use std::io::{BufRead, BufReader, ErrorKind};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ::png::{BitDepth, ColorType, Decoded, DecodingError, Info, StreamingDecoder, UnfilterRegion, chunk};

use super::unfilter::{ROWS, undo};
use super::{ENDS_EARLY, FORMAT, error};
use crate::buffered::catch_panics;
use crate::format::READ_BYTES;
use crate::{SourceError, SourceFile};

/// Bytes of a band.
const BAND_BYTES: usize = 256 << 10;
/// Bytes of a row, as several are in memory.
const LONGEST_ROW: usize = 1 << 20;
/// Bytes of the smallest picture that has a thread.
const THREAD_BYTES: u64 = 1 << 20;
/// Bands in memory: one that is inflated, one that waits, one that is read.
const BANDS: usize = 3;
/// Minimum free bytes before inflating: the decoder writes 8 KiB at once, and refers to the last 32 KiB, which must
/// stay unchanged.
const FREE_BYTES: usize = (32 + 8) << 10;

/// The rows of a picture with 8 bits a sample.
pub struct Rows {
    bands: Bands,
    band: Band,
    /// Number of its bytes that were read.
    read: usize,
    row_bytes: usize,
    pixel_bytes: usize,
    /// The row above the next ones, and these.
    rows: Vec<u8>,
    /// The next of them to give, counted from 1, and the end of those that are restored.
    next: usize,
    end: usize,
}

/// Whole rows, and room behind them that is used again.
#[derive(Default)]
struct Band {
    bytes: Vec<u8>,
    end: usize,
}

enum Bands {
    Here(Box<Inflater>),
    OfThread { bands: Receiver<Result<Band, SourceError>>, read: Sender<Band> },
}

impl Rows {
    /// Begins to read. `None`: this is for regular pictures only.
    pub fn open(file: &SourceFile, info: &Info<'_>, threads: usize) -> Result<Option<Self>, SourceError> {
        let pixel_bytes = info.color_type.samples();
        let row_bytes = (info.width as usize).saturating_mul(pixel_bytes);
        let is_regular = info.bit_depth == BitDepth::Eight
            && info.color_type != ColorType::Indexed
            && info.trns.is_none()
            && !info.interlaced
            && info.animation_control.is_none()
            && info.frame_control.is_none();
        if !is_regular || row_bytes >= LONGEST_ROW {
            return Ok(None);
        }
        let inflater = Inflater::open(file.apart(), row_bytes + 1, info.height)?;
        let bands = if threads > 1 && inflater.left > THREAD_BYTES {
            Bands::start(inflater)?
        } else {
            Bands::Here(Box::new(inflater))
        };
        let rows = vec![0; (1 + ROWS) * row_bytes];
        Ok(Some(Self {
            bands,
            band: Band::default(),
            read: 0,
            row_bytes,
            pixel_bytes,
            rows,
            next: 1,
            end: 1,
        }))
    }

    /// Returns the next row.
    pub fn next(&mut self) -> Result<&[u8], SourceError> {
        if self.next == self.end {
            self.restore()?;
        }
        let begin = self.next * self.row_bytes;
        self.next += 1;
        Ok(&self.rows[begin..begin + self.row_bytes])
    }

    /// Restores the next rows of the band.
    fn restore(&mut self) -> Result<(), SourceError> {
        if self.read == self.band.end {
            self.band = self.bands.next(mem::take(&mut self.band))?;
            self.read = 0;
        }
        let Self { row_bytes, pixel_bytes, rows, .. } = self;
        rows.copy_within((self.end - 1) * *row_bytes..self.end * *row_bytes, 0);
        let (above, out) = rows.split_at_mut(*row_bytes);
        let left = &self.band.bytes[self.read..self.band.end];
        let stored = &left[..left.len().min(ROWS * (*row_bytes + 1))];
        let count = undo(stored, *pixel_bytes, above, out);
        if count == 0 {
            let number = left.first().copied().unwrap_or_default();
            return Err(FORMAT.corrupt(format_args!("Unknown filter method {number}.")));
        }
        self.read += count * (*row_bytes + 1);
        self.next = 1;
        self.end = 1 + count;
        Ok(())
    }
}

impl Bands {
    /// Starts a thread that inflates.
    fn start(mut inflater: Inflater) -> Result<Self, SourceError> {
        let (sender, bands) = channel();
        let (read, buffers) = channel();
        for _ in 0..BANDS {
            let _ = read.send(Band::default()); // never fails: the other end is here
        }
        thread::Builder::new().name("inflate".to_owned()).spawn(move || {
            // Ends when the picture is no longer read.
            while let Ok(buffer) = buffers.recv() {
                let band = catch_panics(&FORMAT, || inflater.next(buffer));
                let is_last = band.is_err();
                if sender.send(band).is_err() || is_last {
                    break;
                }
            }
        })?;
        Ok(Self::OfThread { bands, read })
    }

    /// Returns the next band, and takes the memory of one that has been read.
    fn next(&mut self, buffer: Band) -> Result<Band, SourceError> {
        match self {
            Self::Here(inflater) => inflater.next(buffer),
            Self::OfThread { bands, read } => {
                if buffer.end > 0 {
                    let _ = read.send(buffer); // fails if the thread has ended
                }
                bands.recv().unwrap_or_else(|_| Err(FORMAT.corrupt(ENDS_EARLY)))
            }
        }
    }
}

/// A file's stored rows.
struct Inflater {
    file: BufReader<SourceFile>,
    decoder: StreamingDecoder,
    /// Bytes of a row with the number of its filter.
    stored_bytes: usize,
    /// Bytes that have not been inflated.
    left: u64,
    /// The inflated bytes behind the last band, and the number of them that the decoder needs no more.
    begun: Vec<u8>,
    free: usize,
    /// The error that ends the rows.
    failure: Option<SourceError>,
}

impl Inflater {
    /// Reads the headers.
    fn open(file: SourceFile, stored_bytes: usize, height: u32) -> Result<Self, SourceError> {
        let mut decoder = StreamingDecoder::new();
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let mut file = BufReader::with_capacity(READ_BYTES, file);
        loop {
            let input = file.fill_buf()?;
            if input.is_empty() {
                return Err(FORMAT.corrupt(ENDS_EARLY));
            }
            let (consumed, decoded) = decoder.update(input, None).map_err(error)?;
            file.consume(consumed);
            if matches!(decoded, Decoded::ChunkBegin(_, chunk::IDAT)) {
                break;
            }
        }
        let left = stored_bytes as u64 * u64::from(height);
        Ok(Self { file, decoder, stored_bytes, left, begun: Vec::new(), free: 0, failure: None })
    }

    /// Inflates some whole rows into a buffer.
    fn next(&mut self, Band { bytes: mut band, .. }: Band) -> Result<Band, SourceError> {
        let rows = (BAND_BYTES / self.stored_bytes / ROWS * ROWS).max(ROWS);
        let wanted = rows * self.stored_bytes;
        let mut region = UnfilterRegion { available: self.free, filled: self.begun.len() };
        let most = region.filled as u64 + self.left;
        let room = (wanted.max(region.filled) + FREE_BYTES) as u64;
        band.resize(room.min(most) as usize, 0);
        band[..region.filled].copy_from_slice(&self.begun);
        while region.available < wanted && self.failure.is_none() {
            if self.left == 0 {
                region.available = region.filled;
                break;
            }
            let failure = match self.inflate(&mut band, &mut region) {
                Ok(Decoded::ImageDataFlushed) => FORMAT.corrupt("its pixels end early"),
                Ok(_) => continue,
                Err(failure) => {
                    // The rows that came before the end of a file are whole.
                    if matches!(&failure, DecodingError::IoError(end) if end.kind() == ErrorKind::UnexpectedEof)
                    {
                        region.available = region.filled;
                    }
                    error(failure)
                }
            };
            self.failure = Some(failure);
        }
        let end = region.available.min(wanted) / self.stored_bytes * self.stored_bytes;
        if end == 0 {
            let end = || FORMAT.corrupt(ENDS_EARLY);
            return Err(self.failure.take().unwrap_or_else(end));
        }
        self.begun.clear();
        self.begun.extend_from_slice(&band[end..region.filled]);
        self.free = region.available - end;
        Ok(Band { bytes: band, end })
    }

    /// Inflates as far as the decoder goes at once.
    fn inflate(&mut self, band: &mut Vec<u8>, region: &mut UnfilterRegion) -> Result<Decoded, DecodingError> {
        let input = self.file.fill_buf()?;
        if input.is_empty() {
            return Err(DecodingError::IoError(ErrorKind::UnexpectedEof.into()));
        }
        let before = region.filled;
        let (consumed, decoded) = self.decoder.update(input, Some(&mut region.as_buf(band)))?;
        self.file.consume(consumed);
        self.left -= (region.filled - before) as u64;
        Ok(decoded)
    }
}
