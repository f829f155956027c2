//! What a parent makes of a child's frames: a child may have been taken over by the picture it decodes, so each frame is
//! compared with what was ordered and with what has come. What passes is what a good child could have said.

use bytes::{Bytes, BytesMut};
use edgezoom_content::{Dzi, Failure, TileFormat};

use super::order::Order;
use super::protocol::{self, Breach, Message};
use super::{Output, Tile};
use edgezoom_pyramid::TileCoord as Place;

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
        let Order { ref options, pixels, side, .. } = self.order;
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

#[cfg(test)]
mod tests {
    use edgezoom_content::{FailureCode, Size};
    use proptest::prelude::*;

    use super::*;
    use crate::limits::Limits;
    use crate::renderer::RenderOptions;
    use crate::renderer::protocol::Frames;

    const SIZE: Size = Size { width: 700, height: 300 };

    fn order() -> Order {
        Order::new(&RenderOptions::default(), &Limits { side: 1000, ..Limits::default() }).unwrap()
    }

    fn tile(level: u32, column: u32, row: u32) -> Message {
        Message::Tile(Place { level, column, row }, Bytes::from_static(&[0xff, 0xd8, 0xff, 0xe0]))
    }

    fn begun() -> (Check, Dzi) {
        let dzi = order().dzi(SIZE, TileFormat::Jpg);
        let mut check = Check::new(order());
        assert_eq!(check.take(Message::Begun(dzi)), Ok(Verdict::Output(Output::Begun(dzi))));
        (check, dzi)
    }

    fn refused(check: &mut Check, message: Message) {
        assert!(matches!(check.take(message.clone()), Err(Breach::Order(_))), "{message:?}");
    }

    #[test]
    fn all_tiles_and_the_end_pass() {
        let (mut check, dzi) = begun();
        for level in 0..=dzi.max_level() {
            let (columns, rows) = dzi.grid(level);
            for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))) {
                refused(&mut check, Message::Finished);
                assert!(matches!(check.take(tile(level, column, row)), Ok(Verdict::Output(Output::Tile(_)))));
                refused(&mut check, tile(level, column, row));
            }
        }
        assert_eq!(check.take(Message::Finished), Ok(Verdict::Output(Output::Finished(dzi))));
    }

    #[test]
    fn tiles_that_do_not_exist_are_refused() {
        let (mut check, _) = begun();
        for (level, column, row) in
            [(11, 0, 0), (10, 2, 0), (10, 0, 1), (0, 1, 0), (u32::MAX, u32::MAX, u32::MAX)]
        {
            refused(&mut check, tile(level, column, row));
        }
        let page = Bytes::from_static(b"<html>");
        refused(&mut check, Message::Tile(Place { level: 10, column: 0, row: 0 }, page));
    }

    #[test]
    fn nothing_comes_before_the_beginning() {
        for message in [tile(0, 0, 0), Message::Progress(1), Message::Finished] {
            refused(&mut Check::new(order()), message);
        }
    }

    #[test]
    fn only_the_pyramid_that_was_ordered_may_begin() {
        let good = order().dzi(SIZE, TileFormat::Jpg);
        let sized = |width, height| Dzi { size: Size { width, height }, ..good };
        for dzi in [
            Dzi { tile_size: 1, ..good },
            Dzi { tile_overlap: 9, ..good },
            sized(0, 300),
            sized(700, 0),
            sized(1001, 1),
            sized(u32::MAX, u32::MAX),
        ] {
            refused(&mut Check::new(order()), Message::Begun(dzi));
        }
        let (mut check, dzi) = begun();
        refused(&mut check, Message::Begun(dzi));
        let jpeg = RenderOptions { format: Some(TileFormat::Jpg), ..RenderOptions::default() };
        let mut check = Check::new(Order::new(&jpeg, &Limits::default()).unwrap());
        refused(&mut check, Message::Begun(order().dzi(SIZE, TileFormat::Png)));
    }

    #[test]
    fn a_failure_passes_as_one_bounded_line() {
        let failure = Failure::new(FailureCode::CorruptSource, format!("a\n\x1b[1mb{}", "c".repeat(1000)));
        let Ok(Verdict::Failed(passed)) = Check::new(order()).take(Message::Failed(failure)) else {
            panic!()
        };
        assert!(passed.message.starts_with("a[1mb"));
        assert_eq!(passed.message.len(), MESSAGE_CHARACTERS);
    }

    #[test]
    fn frames_arrive_as_they_were_sent_however_they_are_cut() {
        let (check, dzi) = begun();
        let mut pipe = tempfile::tempfile().unwrap();
        let frames = Frames::new(pipe.try_clone().unwrap());
        frames.begun(&dzi).unwrap();
        frames.progress(7).unwrap();
        frames.tile(Place { level: 3, column: 2, row: 1 }, b"file").unwrap();
        frames.finished().unwrap();
        let failure = Failure::new(FailureCode::Internal, "sorry");
        frames.failed(&failure).unwrap();

        let mut sent = Vec::new();
        std::io::Seek::rewind(&mut pipe).unwrap();
        std::io::Read::read_to_end(&mut pipe, &mut sent).unwrap();
        let (mut received, mut messages) = (BytesMut::new(), Vec::new());
        for byte in sent {
            received.extend_from_slice(&[byte]);
            messages.extend(check.frame(&mut received).unwrap());
        }
        let tile = Message::Tile(Place { level: 3, column: 2, row: 1 }, Bytes::from_static(b"file"));
        let expected =
            [Message::Begun(dzi), Message::Progress(7), tile, Message::Finished, Message::Failed(failure)];
        assert_eq!(messages, expected);
        assert!(received.is_empty());
    }

    #[test]
    fn a_frame_longer_than_any_good_one_is_refused_before_it_has_come() {
        let check = Check::new(order());
        for kind in [b'T', b'B', b'P', b'F', b'X'] {
            let mut received = BytesMut::from(&[kind, 0xff, 0xff, 0xff, 0xff][..]);
            assert!(matches!(check.frame(&mut received), Err(Breach::Length { .. })));
            assert!(received.capacity() < 100);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_messages_or_a_breach(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut check = Check::new(order());
            let mut received = BytesMut::from(&bytes[..]);
            while let Ok(Some(message)) = check.frame(&mut received) {
                let _ = check.take(message);
            }
        }
    }
}
