//! HEVC by rows: decodes a single frame in bands of rows, in three threads.
//!
//! The crate `heifer` decodes a frame as a whole, in one thread, while other cores wait. Its stages are public, and this
//! module runs them as a pipeline:
//!
//! 1. [`parser`] parses the bitstream in one thread and passes its blocks on in [batches](batch::Batch).
//! 2. [`window`] predicts and transforms the blocks in another thread. It holds only some rows of the frame.
//! 3. [`loop_filter`] filters the rows that are complete, in the caller's thread.
//!
//! So the first rows become tiles while the last ones are still parsed, and memory is that of a few bands, whatever the
//! height of the frame. Only frames that are cut into HEVC tiles need a window of the whole frame.
//!
//! Source: ITU-T H.265 (08/2021).

mod batch;
mod loop_filter;
mod parser;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use edgezoom_geometry::Size;
use heifer::heifer_hevc_dec::Error;
use heifer::heifer_hevc_dec::nal::NalUnit;
use heifer::heifer_hevc_dec::params::{ParameterSets, Pps, Sps};
use heifer::heifer_hevc_dec::recon::Frame;
use heifer::heifer_isobmff::boxes::HevcConfig;

use crate::buffered::catch_panics;
use crate::{Format, SourceError};
use batch::Batch;
use window::{Unfiltered, Window};

/// The smallest number of rows of luma that are reconstructed before they are filtered and passed on.
const BAND_ROWS: u32 = 256;
/// The side of the largest coding tree block.
const MAX_BLOCK: u32 = 64;
/// Number of batches of blocks that wait for the next thread.
const WAITING_BATCHES: usize = 8;
/// Number of bands that wait for the caller.
const WAITING_BANDS: usize = 1;

/// The parameter sets of a frame.
pub struct Parameters {
    pub sps: Sps,
    pub pps: Pps,
}

impl Parameters {
    /// Returns the number of rows of coding tree blocks in a window: those of a band and the one above. If the picture is
    /// small or cut into tiles, which do not follow each other row by row, the window is the whole picture.
    fn window_rows(&self) -> u32 {
        let (_, rows) = self.sps.pic_size_in_ctbs();
        let band = 1 + (BAND_ROWS >> self.sps.log2_ctb_size).max(1);
        if self.pps.tiles.is_some() { rows } else { rows.min(band) }
    }
}

/// The limits of a frame, as its container describes it.
#[derive(Clone, Copy)]
pub struct Limits {
    pub pixels: u64,
    /// True if the frame may be cut into tiles, and is then reconstructed as a whole.
    pub has_tiles: bool,
}

/// Returns true if the frames of an item are cut into tiles, by the parameter sets in its container.
pub fn has_tiles(config: &HevcConfig) -> bool {
    let mut sets = ParameterSets::default();
    for unit in config.nal_units.iter().filter_map(|unit| NalUnit::parse(unit).ok()) {
        // The parser reports errors.
        let _ = sets.add(&unit);
    }
    sets.pps.iter().flatten().any(|pps| pps.tiles.is_some())
}

/// Returns the bytes of memory that decoding a frame without tiles takes: two for each sample of a window, of which five
/// exist at once, and the parser's state of each 4×4 pixels.
pub fn bytes(size: Size, chroma_format: u8) -> u64 {
    let half_samples = match chroma_format {
        0 => 2,
        1 => 3,
        2 => 4,
        _ => 6,
    };
    let window = u64::from(size.width) * u64::from(size.height.min(BAND_ROWS + 2 * MAX_BLOCK));
    window * half_samples * 5 + size.pixels() / 2
}

/// The messages from the parser to the window.
enum Parsed {
    /// The parameter sets, before the first blocks.
    Begin(Box<Parameters>),
    Blocks(Batch),
    /// All blocks of the picture were passed on.
    End,
    Failed(SourceError),
}

/// The messages to the caller's thread.
enum Message {
    Begin(Box<Parameters>),
    Band(Box<Unfiltered>),
    Failed(SourceError),
}

/// Reads the bands of a frame while it is decoded.
pub struct FrameBands {
    parameters: Box<Parameters>,
    messages: Receiver<Message>,
    format: &'static Format,
    is_done: bool,
}

impl FrameBands {
    /// Starts to decode the first picture of a bitstream with start codes, as [`HeifFile::hevc_bitstream`] returns it.
    ///
    /// [`HeifFile::hevc_bitstream`]: heifer::heifer_isobmff::HeifFile::hevc_bitstream
    ///
    /// # Errors
    /// If the headers are broken or not supported, or if no thread can be started.
    pub fn start(stream: Vec<u8>, limits: Limits, format: &'static Format) -> Result<Self, SourceError> {
        let (sender, messages) = sync_channel(WAITING_BANDS);
        let (to_window, parsed) = sync_channel(WAITING_BATCHES);
        thread::Builder::new().name("hevc parser".into()).spawn(move || {
            let parse = || parser::parse(&stream, limits, &to_window).map_err(|error| refusal(format, error));
            if let Err(error) = catch_panics(format, parse) {
                // Fails when the picture is no longer read.
                let _ = to_window.send(Parsed::Failed(error));
            }
        })?;
        thread::Builder::new().name("hevc blocks".into()).spawn(move || {
            if let Err(error) = catch_panics(format, || reconstruct(&parsed, &sender, format)) {
                let _ = sender.send(Message::Failed(error));
            }
        })?;
        match messages.recv() {
            Ok(Message::Begin(parameters)) => Ok(Self { parameters, messages, format, is_done: false }),
            Ok(Message::Failed(error)) => Err(error),
            Ok(Message::Band(_)) | Err(_) => Err(format.corrupt("it has no picture")),
        }
    }

    /// Returns the width and height of the picture in samples of luma.
    pub fn size(&self) -> (u32, u32) {
        self.parameters.sps.output_size()
    }

    /// Returns the next rows, or `None` after the last one: a frame as wide as the picture, and the range of its rows that
    /// are new, starting at an even row. The other rows are only for interpolation.
    ///
    /// # Errors
    /// If the picture is broken.
    pub fn next(&mut self) -> Result<Option<(Frame, Range<usize>)>, SourceError> {
        while !self.is_done {
            match self.messages.recv() {
                Ok(Message::Band(band)) => {
                    self.is_done = band.is_last;
                    let finished = loop_filter::finish(*band, &self.parameters);
                    if finished.is_some() {
                        return Ok(finished);
                    }
                }
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::Begin(_)) | Err(_) => {
                    return Err(self.format.corrupt("it ends before its last row"));
                }
            }
        }
        Ok(None)
    }
}

/// Reconstructs the blocks that the parser passes on.
fn reconstruct(
    parsed: &Receiver<Parsed>,
    sender: &SyncSender<Message>,
    format: &'static Format,
) -> Result<(), SourceError> {
    let is_read = |message| sender.send(message).is_ok();
    let parameters = match parsed.recv() {
        Ok(Parsed::Begin(parameters)) => parameters,
        Ok(Parsed::Failed(error)) => return Err(error),
        Ok(Parsed::Blocks(_) | Parsed::End) | Err(_) => return Ok(()),
    };
    let (sps, pps) = (parameters.sps.clone(), parameters.pps.clone());
    let rows = parameters.window_rows();
    if !is_read(Message::Begin(parameters)) {
        return Ok(());
    }
    let window_sps = window::cut(&sps, rows);
    let mut window = Window::new(&window_sps, &pps, rows);
    while let Ok(message) = parsed.recv() {
        match message {
            Parsed::Blocks(batch) => {
                for event in batch.events() {
                    if window.is_below(&event) && !is_read(Message::Band(Box::new(window.advance()))) {
                        return Ok(());
                    }
                    window.apply(event).map_err(|error| refusal(format, error))?;
                }
            }
            Parsed::End => {
                is_read(Message::Band(Box::new(window.finish())));
                return Ok(());
            }
            Parsed::Failed(error) => return Err(error),
            Parsed::Begin(_) => {}
        }
    }
    Ok(())
}

/// Converts an error of the decoder.
pub fn refusal(format: &'static Format, error: Error) -> SourceError {
    match error {
        Error::Unimplemented(reason) => format.unsupported(reason),
        other => format.corrupt(other),
    }
}
