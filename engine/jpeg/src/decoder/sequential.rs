//! Decodes a scan on the calling thread: for small pictures of which there are many, such as the tiles of a TIFF. Each
//! thread decodes some of them.

use std::io::{self, BufRead, Read};

use super::chunk::{Chunk, Irregular, MCUS, Plan, Scan};
use super::frame::{self, Frame};
use super::huffman::Tables;
use super::input::{Input, intervals};
use super::mcu_rows::{Source, Stop};
use super::planes::{Segment, transform};

/// MCUs decoded at once. Their coefficients stay in the cache until they are transformed.
const MCUS_AT_ONCE: usize = 8 * MCUS;
/// Bytes of the scan read at once.
const BYTES_AT_ONCE: usize = 16 << 10;
/// MCUs of the longest restart interval, as the coefficients of an interval are in memory at once.
const LONGEST_INTERVAL: u32 = 8192;

/// Memory and Huffman tables that are reused from picture to picture.
#[derive(Default)]
pub struct Workspace {
    tables: Tables,
    chunk: Chunk,
}

impl Workspace {
    /// Reads headers as [`frame::read`] does. `None`, too, for a picture with long restart intervals.
    ///
    /// # Errors
    /// The reader's.
    pub fn read_headers(&mut self, file: &mut impl BufRead) -> io::Result<Option<Frame>> {
        let frame = frame::read_with(file, &mut self.tables)?;
        Ok(frame.filter(|frame| frame.restart_interval <= LONGEST_INTERVAL))
    }

    /// Begins to decode a picture. The file is at the first byte of the scan.
    pub fn decode<R: Read>(&mut self, frame: Frame, file: R) -> Sequential<'_, R> {
        self.chunk.begin_scan();
        Sequential {
            plan: Plan::new(&frame),
            input: Some(Input::new(file, frame.restart_interval > 0)),
            frame,
            chunk: &mut self.chunk,
            mcu: 0,
            restarts: 0,
        }
    }
}

/// A picture that is decoded on the calling thread.
pub struct Sequential<'a, R> {
    frame: Frame,
    plan: Plan,
    /// The rest of the scan. `None`: it has been read to its end.
    input: Option<Input<R>>,
    chunk: &'a mut Chunk,
    /// MCUs that were decoded.
    mcu: u32,
    /// Restart intervals that were decoded.
    restarts: u64,
}

impl<R: Read> Sequential<'_, R> {
    /// Decodes restart intervals.
    fn decode_intervals(&mut self) -> Result<(), Stop> {
        let input = self.input.as_mut().ok_or(Irregular)?;
        let raw = input.next(BYTES_AT_ONCE).map_err(Stop::Io)??;
        let parts = intervals(&self.frame, &raw, self.restarts)?;
        self.restarts += parts.len() as u64;
        self.chunk.decode_intervals(&self.frame, &self.plan, parts.into_iter())?;
        if raw.is_last {
            self.input = None;
        }
        Ok(())
    }

    /// Decodes this many MCUs of a scan without restart markers.
    fn decode(&mut self, count: usize) -> Result<(), Stop> {
        self.chunk.forget_mcus();
        loop {
            let scan = if self.input.is_some() { Scan::GoesOn } else { Scan::Ends };
            self.chunk.decode_on(&self.frame, &self.plan, count, scan)?;
            if self.chunk.mcus == count {
                return Ok(());
            }
            let input = self.input.as_mut().ok_or(Irregular)?;
            let raw = input.next(BYTES_AT_ONCE).map_err(Stop::Io)??;
            self.chunk.append(&raw.bytes)?;
            if raw.is_last {
                self.input = None;
            }
        }
    }
}

impl<R: Read> Source for Sequential<'_, R> {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn next_segments(&mut self) -> Result<Option<Vec<Segment>>, Stop> {
        let (across, down) = self.frame.mcus();
        let left = across * down - self.mcu;
        if left == 0 {
            return Ok(None);
        }
        if self.frame.restart_interval > 0 {
            self.decode_intervals()?;
        } else {
            self.decode(MCUS_AT_ONCE.min(left as usize))?;
        }
        let segments = transform(&self.frame, &self.plan, self.chunk, self.mcu);
        self.mcu += self.chunk.mcus as u32;
        Ok(Some(segments))
    }
}
