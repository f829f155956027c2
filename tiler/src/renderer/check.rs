//! What a parent makes of a child's frames: a child may have been taken over by the picture it decodes, so each frame is
//! compared with what was ordered and with what has come. What passes is what a good child could have said.

use bytes::{Bytes, BytesMut};
use edgezoom_content::{Dzi, Failure, TileFormat};

use super::order::Order;
use super::protocol::{self, Breach, Message};
use super::{Output, Tile};
use crate::pyramid::Place;

/// The characters of a failure's message that are passed on.
const MESSAGE_CHARACTERS: usize = 300;

/// What has come from one child.
pub struct Check {
    order: Order,
    begun: Option<Begun>,
}

/// What a frame amounts to.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    Output(Output),
    Failed(Failure),
}

struct Begun {
    dzi: Dzi,
    /// For each level which tiles have come, row by row, a bit each.
    seen: Vec<Vec<u64>>,
    missing: u64,
}

impl Check {
    pub fn new(order: Order) -> Self {
        Self { order, begun: None }
    }

    /// Takes the next frame out of what was received, if it is there as a whole.
    pub fn frame(&self, received: &mut BytesMut) -> Result<Option<Message>, Breach> {
        protocol::take_frame(received, self.order.most_tile_bytes())
    }

    pub fn take(&mut self, message: Message) -> Result<Verdict, Breach> {
        match message {
            Message::Begun(dzi) => self.begin(dzi).map(Verdict::Output),
            Message::Progress(rows) => {
                let height = self.begun()?.dzi.size.height;
                let done = f64::from(rows.min(height)) / f64::from(height);
                Ok(Verdict::Output(Output::Progress(done)))
            }
            Message::Tile(place, bytes) => self.begun()?.tile(place, bytes).map(Verdict::Output),
            Message::Finished => {
                let begun = self.begun()?;
                if begun.missing > 0 {
                    return Err(Breach::Order("the end before all tiles"));
                }
                Ok(Verdict::Output(Output::Finished(begun.dzi)))
            }
            Message::Failed(failure) => Ok(Verdict::Failed(clean(&failure))),
        }
    }

    fn begun(&mut self) -> Result<&mut Begun, Breach> {
        self.begun.as_mut().ok_or(Breach::Order("something before the beginning"))
    }

    fn begin(&mut self, dzi: Dzi) -> Result<Output, Breach> {
        let Order { options, pixels, side, .. } = self.order;
        let size = dzi.size;
        let is_ordered = dzi == self.order.dzi(size, dzi.tile_format)
            && options.format.is_none_or(|format| format == dzi.tile_format);
        let is_within = size.width > 0 && size.height > 0 && size.width.max(size.height) <= side;
        if self.begun.is_some() || !is_ordered || !is_within || size.pixels() > pixels {
            return Err(Breach::Order("a pyramid that was not ordered"));
        }
        let seen = (0..=dzi.max_level())
            .map(|level| dzi.grid(level))
            .map(|(columns, rows)| vec![0; (u64::from(columns) * u64::from(rows)).div_ceil(64) as usize])
            .collect();
        self.begun = Some(Begun { dzi, seen, missing: dzi.tile_count() });
        Ok(Output::Begun(dzi))
    }
}

impl Begun {
    fn tile(&mut self, place: Place, bytes: Bytes) -> Result<Output, Breach> {
        let Place { level, column, row } = place;
        let seen = self.seen.get_mut(level as usize).ok_or(Breach::Order("a tile of no level"))?;
        let (columns, rows) = self.dzi.grid(level);
        if column >= columns || row >= rows {
            return Err(Breach::Order("a tile outside its level"));
        }
        let index = u64::from(row) * u64::from(columns) + u64::from(column);
        let (word, bit) = ((index / 64) as usize, 1 << (index % 64));
        if seen[word] & bit != 0 {
            return Err(Breach::Order("a tile for the second time"));
        }
        if !is_of(self.dzi.tile_format, &bytes) {
            return Err(Breach::Order("a tile of another format"));
        }
        seen[word] |= bit;
        self.missing -= 1;
        Ok(Output::Tile(Tile { level, column, row, bytes }))
    }
}

/// Whether a file begins as its format does, so that nothing else is ever served under that name.
fn is_of(format: TileFormat, file: &[u8]) -> bool {
    match format {
        TileFormat::Jpg => file.starts_with(&[0xff, 0xd8, 0xff]),
        TileFormat::Png => file.starts_with(b"\x89PNG\r\n\x1a\n"),
    }
}

/// A failure whose message is one line of bounded length.
fn clean(failure: &Failure) -> Failure {
    let message: String = failure
        .message
        .chars()
        .filter(|character| !character.is_control())
        .take(MESSAGE_CHARACTERS)
        .collect();
    Failure::new(failure.code, message)
}
