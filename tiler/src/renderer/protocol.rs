//! The frames that a child writes and its parent reads: a byte for the kind, the length of what follows as a 32-bit
//! little-endian number, and that.
//!
//! | kind | content |
//! |---|---|
//! | `B` begun | the version of this protocol, one byte; the [`Dzi`] as JSON |
//! | `P` progress | how many rows are read, 32 bits |
//! | `T` tile | level, column and row, 32 bits each; the file |
//! | `F` finished | nothing |
//! | `X` failed | the [`Failure`] as JSON |

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::{Mutex, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use edgezoom_content::{Dzi, Failure};

use edgezoom_pyramid::TileCoord as Place;

/// Parent and child are one executable, but an executable may be replaced between two starts.
const VERSION: u8 = 1;
/// The bytes before a frame's content.
const HEAD: usize = 5;
/// The bytes before the file in a tile's frame.
const PLACE: usize = 12;
/// The bytes that a frame other than a tile's may have.
const MOST_BYTES: usize = 4 << 10;

/// A frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Begun(Dzi),
    Progress(u32),
    Tile(Place, Bytes),
    Finished,
    Failed(Failure),
}

/// How a child broke the protocol.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    #[error("a frame of kind {0:#04x}")]
    Kind(u8),
    #[error("a frame of {bytes} bytes, where {most} are the most")]
    Length { bytes: usize, most: usize },
    #[error("a frame of kind {0:?} that cannot be read")]
    Content(char),
    #[error("{0}")]
    Order(&'static str),
}

/// The child's end. Threads take turns frame by frame.
pub struct Frames {
    pipe: Mutex<File>,
}

impl Frames {
    pub fn new(pipe: File) -> Self {
        Self { pipe: Mutex::new(pipe) }
    }

    pub fn begun(&self, dzi: &Dzi) -> io::Result<()> {
        self.send(b'B', &[VERSION], &serde_json::to_vec(dzi)?)
    }

    pub fn progress(&self, rows: u32) -> io::Result<()> {
        self.send(b'P', &rows.to_le_bytes(), &[])
    }

    pub fn tile(&self, place: Place, file: &[u8]) -> io::Result<()> {
        let mut head = [0; PLACE];
        for (to, number) in head.chunks_exact_mut(4).zip([place.level, place.column, place.row]) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        self.send(b'T', &head, file)
    }

    pub fn finished(&self) -> io::Result<()> {
        self.send(b'F', &[], &[])
    }

    pub fn failed(&self, failure: &Failure) -> io::Result<()> {
        self.send(b'X', &[], &serde_json::to_vec(failure)?)
    }

    fn send(&self, kind: u8, first: &[u8], rest: &[u8]) -> io::Result<()> {
        let length = u32::try_from(first.len() + rest.len()).map_err(io::Error::other)?.to_le_bytes();
        let head = [kind, length[0], length[1], length[2], length[3]];
        let mut slices = [IoSlice::new(&head), IoSlice::new(first), IoSlice::new(rest)];
        let mut left = slices.as_mut_slice();
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        while left.iter().any(|slice| !slice.is_empty()) {
            match pipe.write_vectored(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Takes the next frame out of what was received, if it is there as a whole.
pub fn take_frame(received: &mut BytesMut, most_tile_bytes: usize) -> Result<Option<Message>, Breach> {
    let Some(&[kind, a, b, c, d]) = received.first_chunk::<HEAD>() else { return Ok(None) };
    let bytes = u32::from_le_bytes([a, b, c, d]) as usize;
    let most = match kind {
        b'T' => PLACE + most_tile_bytes,
        b'B' | b'P' | b'F' | b'X' => MOST_BYTES,
        other => return Err(Breach::Kind(other)),
    };
    if bytes > most {
        return Err(Breach::Length { bytes, most });
    }
    if received.len() < HEAD + bytes {
        received.reserve(HEAD + bytes - received.len());
        return Ok(None);
    }
    received.advance(HEAD);
    let content = received.split_to(bytes).freeze();
    read(kind, content).ok_or(Breach::Content(char::from(kind))).map(Some)
}

fn read(kind: u8, mut content: Bytes) -> Option<Message> {
    match kind {
        b'B' => {
            let (&version, dzi) = content.split_first()?;
            (version == VERSION).then(|| serde_json::from_slice(dzi).ok()).flatten().map(Message::Begun)
        }
        b'P' => content.try_get_u32_le().ok().filter(|_| content.is_empty()).map(Message::Progress),
        b'T' => {
            let mut number = || content.try_get_u32_le().ok();
            let place = Place { level: number()?, column: number()?, row: number()? };
            (!content.is_empty()).then_some(Message::Tile(place, content))
        }
        b'F' => content.is_empty().then_some(Message::Finished),
        _ => serde_json::from_slice(&content).ok().map(Message::Failed),
    }
}
