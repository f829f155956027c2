//! Rows of MCUs, collected from the segments that a decoder gives in order.

use std::collections::VecDeque;
use std::io;

use super::chunk::{Irregular, Plan};
use super::frame::Frame;
use super::planes::Segment;

/// Why decoding stopped.
#[derive(Debug)]
pub enum Stop {
    /// The file is not regular from here on. Samples that were given before are right.
    Irregular,
    /// The file cannot be read.
    Io(io::Error),
}

impl From<Irregular> for Stop {
    fn from(Irregular: Irregular) -> Self {
        Self::Irregular
    }
}

/// A decoder of samples.
pub trait Source {
    /// Returns the picture's headers.
    fn frame(&self) -> &Frame;

    /// Returns the plan of the picture's MCUs.
    fn plan(&self) -> &Plan;

    /// Returns the next samples, in order. `None`: there are no more.
    ///
    /// # Errors
    /// If the picture cannot be decoded any further.
    fn next_segments(&mut self) -> Result<Option<Vec<Segment>>, Stop>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn frame(&self) -> &Frame {
        (**self).frame()
    }

    fn plan(&self) -> &Plan {
        (**self).plan()
    }

    fn next_segments(&mut self) -> Result<Option<Vec<Segment>>, Stop> {
        (**self).next_segments()
    }
}

/// The rows of MCUs of a picture, from top to bottom.
pub struct McuRows<S> {
    source: S,
    segments: VecDeque<Segment>,
    /// The next row.
    row: u32,
}

impl<S: Source> McuRows<S> {
    /// Reads what a source decodes.
    #[must_use]
    pub fn new(source: S) -> Self {
        Self { source, segments: VecDeque::new(), row: 0 }
    }

    /// Returns the picture's headers.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        self.source.frame()
    }

    /// Returns the number of rows that were read.
    #[must_use]
    pub fn row(&self) -> u32 {
        self.row
    }

    /// Reads the next row: `copy` gets its segments, from left to right.
    ///
    /// # Errors
    /// If the picture cannot be decoded any further.
    pub fn read(&mut self, mut copy: impl FnMut(&Plan, &mut Segment)) -> Result<(), Stop> {
        let across = self.source.frame().mcus().0;
        let mut end = 0;
        while end < across {
            let Some(mut segment) = self.segments.pop_front() else {
                self.segments.extend(self.source.next_segments()?.ok_or(Stop::Irregular)?);
                continue;
            };
            if segment.row != self.row || segment.mcus.start != end {
                return Err(Stop::Irregular);
            }
            end = segment.mcus.end;
            copy(self.source.plan(), &mut segment);
        }
        self.row += 1;
        Ok(())
    }
}
