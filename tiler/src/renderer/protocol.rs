//! The frames that a renderer process writes and its parent reads. Numbers are little-endian.
//!
//! ```text
//! offset  bytes  meaning
//!      0      1  kind, a letter of the table below
//!      1      4  length of the content
//!      5      …  content
//! ```
//!
//! | kind | content |
//! |---|---|
//! | `B` begin | version of this protocol, one byte; the [`Dzi`] as JSON |
//! | `P` progress | number of rows read, 32 bits |
//! | `T` tile | level, column and row, 32 bits each; the tile's file |
//! | `V` preview | kind, one byte: 0 for the large one, 1 for the thumbnail; the file |
//! | `C` coarse | file with a coarse picture of the rows read so far |
//! | `D` document's words | a [`Text`] as JSON, with gzip |
//! | `N` name | the title that the file states, as text |
//! | `R` rights | the [`Credits`](edgezoom_content::Credits) that the file states, as JSON |
//! | `F` finished | the [`Ending`] as JSON |
//! | `G` graphics | the [vectors](super::vectors) of a page, after `F`: if they cost too much, the tiles are complete |
//! | `O` only pixels | the number of a page without vectors, 32 bits, and the reason: a few words in lower case |
//! | `X` failed | the [`Failure`] as JSON |
//! | `W` web browser needed | the [`BrowserDrawing`] as JSON |

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::{Mutex, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use edgezoom_codecs::{BrowserDrawing, Damage, Metadata, PageVectors, PixelsOnly};
use edgezoom_content::{Dzi, Failure, PreviewKind, Scale};
use edgezoom_pyramid::{TileCoord, TileOutput};
use edgezoom_text::{MAX_PACKED_BYTES, Text};
use serde::{Deserialize, Serialize};

use super::labels::Labels;
use super::text;
use super::vectors;

/// Version of this protocol. Parent and child run the same executable, but the file may be replaced between two starts.
pub const PROTOCOL_VERSION: u8 = 12;
/// Number of bytes before a frame's content.
const HEADER_BYTES: usize = 5;
/// Number of bytes before the file in a tile's frame.
const POSITION_BYTES: usize = 12;
/// Maximum content of a frame without a picture, in bytes.
const MAX_CONTROL_BYTES: usize = 4 << 10;
/// Maximum content of a frame with metadata, in bytes: more than [`Metadata`] of any characters in JSON.
const MAX_METADATA_BYTES: usize = 64 << 10;

/// Maximum content of a preview's frame, in bytes: twice the size of its pixels, which no encoder comes near.
const MAX_PREVIEW_BYTES: usize = 2 * 4 * 1200 * 1200;

/// Maximum content of a coarse picture's frame, in bytes: more than the size of its pixels.
const MAX_COARSE_BYTES: usize = 4 * 1024 * 1024;

/// A frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    Begin(Dzi),
    Progress(u32),
    Tile(TileCoord, Bytes),
    Preview(PreviewKind, Bytes),
    Coarse(Bytes),
    Text(Bytes),
    Title(Bytes),
    Credits(Bytes),
    Finished(Ending),
    Vectors(Bytes),
    PixelsOnly(PixelsOnly),
    Failed(Failure),
    NeedsBrowser(BrowserDrawing),
}

/// Facts about a picture that are known at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The part that is missing because the file is damaged.
    pub damage: Option<Damage>,
    /// Physical size of a pixel.
    pub scale: Option<Scale>,
    /// True if all pages must have vectors: otherwise the pixels are too few.
    pub halved: bool,
}

/// The way in which a renderer process broke the protocol, for the log.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A frame's first byte is not a known kind.
    #[error("a frame of the unknown kind {0:#04x}")]
    UnknownKind(u8),
    /// A frame is longer than its kind may be.
    #[error("a frame of {bytes} bytes, more than the {max} allowed")]
    TooLong {
        /// Length of the frame's content.
        bytes: usize,
        /// Maximum length for its kind.
        max: usize,
    },
    /// A frame's content cannot be parsed.
    #[error("a frame of kind {0:?} that cannot be parsed")]
    Malformed(char),
    /// A frame does not match the request, or the frames before it.
    #[error("{0}")]
    Unexpected(&'static str),
}

/// The renderer process's end of the pipe. Threads take turns frame by frame.
pub struct FrameWriter {
    pipe: Mutex<File>,
}

impl FrameWriter {
    pub fn new(pipe: File) -> Self {
        Self { pipe: Mutex::new(pipe) }
    }

    pub fn finished(&self, ending: Ending) -> io::Result<()> {
        self.write(b'F', &[], &serde_json::to_vec(&ending)?)
    }

    pub fn vectors(&self, page: &PageVectors) -> io::Result<()> {
        self.write(b'G', &vectors::head(page), page.svg.as_bytes())
    }

    pub fn pixels_only(&self, PixelsOnly { page, reason }: &PixelsOnly) -> io::Result<()> {
        self.write(b'O', &page.to_le_bytes(), reason.as_bytes())
    }

    pub fn failed(&self, failure: &Failure) -> io::Result<()> {
        self.write(b'X', &[], &serde_json::to_vec(failure)?)
    }

    pub fn needs_browser(&self, drawing: &BrowserDrawing) -> io::Result<()> {
        self.write(b'W', &[], &serde_json::to_vec(drawing)?)
    }

    /// Writes a frame whose content is in two parts, so that a tile's file need not be copied.
    fn write(&self, kind: u8, first: &[u8], rest: &[u8]) -> io::Result<()> {
        let length = u32::try_from(first.len() + rest.len()).map_err(io::Error::other)?.to_le_bytes();
        let header = [kind, length[0], length[1], length[2], length[3]];
        let mut slices = [IoSlice::new(&header), IoSlice::new(first), IoSlice::new(rest)];
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

impl TileOutput for FrameWriter {
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        self.write(b'B', &[PROTOCOL_VERSION], &serde_json::to_vec(dzi)?)
    }

    fn progress(&self, rows: u32) -> io::Result<()> {
        self.write(b'P', &rows.to_le_bytes(), &[])
    }

    fn tile(&self, coord: TileCoord, file: &[u8]) -> io::Result<()> {
        let mut position = [0; POSITION_BYTES];
        for (to, number) in position.chunks_exact_mut(4).zip([coord.level, coord.column, coord.row]) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        self.write(b'T', &position, file)
    }

    fn preview(&self, kind: PreviewKind, file: &[u8]) -> io::Result<()> {
        let number = match kind {
            PreviewKind::Large => 0,
            PreviewKind::Thumbnail => 1,
        };
        self.write(b'V', &[number], file)
    }

    fn coarse(&self, file: &[u8]) -> io::Result<()> {
        self.write(b'C', &[], file)
    }

    fn text(&self, text: Text) -> io::Result<()> {
        text::pack(&text)?.map_or(Ok(()), |packed| self.write(b'D', &[], &packed))
    }

    fn metadata(&self, metadata: Metadata) -> io::Result<()> {
        let Labels { title, credits } = metadata.into();
        if let Some(title) = title {
            self.write(b'N', &[], title.as_str().as_bytes())?;
        }
        credits.map_or(Ok(()), |credits| self.write(b'R', &[], &serde_json::to_vec(&credits)?))
    }
}

/// Takes the next frame from the buffer. Returns `None` while it is incomplete.
///
/// # Errors
/// The bytes are not a frame, or the frame is longer than allowed.
pub fn read_frame(received: &mut BytesMut, max_tile_bytes: usize) -> Result<Option<Frame>, ProtocolError> {
    let Some(&[kind, a, b, c, d]) = received.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let bytes = u32::from_le_bytes([a, b, c, d]) as usize;
    let max = match kind {
        b'T' => POSITION_BYTES + max_tile_bytes,
        b'V' => MAX_PREVIEW_BYTES,
        b'C' => MAX_COARSE_BYTES,
        b'D' => MAX_PACKED_BYTES,
        b'G' => vectors::MAX_PAGE_BYTES,
        b'R' | b'W' => MAX_METADATA_BYTES,
        b'B' | b'P' | b'N' | b'O' | b'F' | b'X' => MAX_CONTROL_BYTES,
        other => return Err(ProtocolError::UnknownKind(other)),
    };
    if bytes > max {
        return Err(ProtocolError::TooLong { bytes, max });
    }
    if received.len() < HEADER_BYTES + bytes {
        received.reserve(HEADER_BYTES + bytes - received.len());
        return Ok(None);
    }
    received.advance(HEADER_BYTES);
    let content = received.split_to(bytes).freeze();
    parse(kind, content).ok_or(ProtocolError::Malformed(char::from(kind))).map(Some)
}

fn parse(kind: u8, mut content: Bytes) -> Option<Frame> {
    match kind {
        b'B' => {
            let (&version, dzi) = content.split_first()?;
            (version == PROTOCOL_VERSION)
                .then(|| serde_json::from_slice(dzi).ok())
                .flatten()
                .map(Frame::Begin)
        }
        b'P' => content.try_get_u32_le().ok().filter(|_| content.is_empty()).map(Frame::Progress),
        b'T' => {
            let mut number = || content.try_get_u32_le().ok();
            let coord = TileCoord { level: number()?, column: number()?, row: number()? };
            (!content.is_empty()).then_some(Frame::Tile(coord, content))
        }
        b'V' => {
            let kind = match content.try_get_u8().ok()? {
                0 => PreviewKind::Large,
                1 => PreviewKind::Thumbnail,
                _ => return None,
            };
            (!content.is_empty()).then_some(Frame::Preview(kind, content))
        }
        b'C' => (!content.is_empty()).then_some(Frame::Coarse(content)),
        b'D' => Some(Frame::Text(content)),
        b'N' => Some(Frame::Title(content)),
        b'R' => Some(Frame::Credits(content)),
        b'G' => Some(Frame::Vectors(content)),
        b'O' => {
            let page = content.try_get_u32_le().ok()?;
            let reason = String::from_utf8(content.into()).ok()?;
            Some(Frame::PixelsOnly(PixelsOnly { page, reason }))
        }
        b'F' => serde_json::from_slice(&content).ok().map(Frame::Finished),
        b'W' => serde_json::from_slice(&content).ok().map(Frame::NeedsBrowser),
        _ => serde_json::from_slice(&content).ok().map(Frame::Failed),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use edgezoom_content::{FailureCode, ScaleBasis, ScaleUnit, Size, TileFormat};
    use edgezoom_text::{Page, Rect};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_arrive_as_written_even_byte_by_byte() {
        let dzi = Dzi {
            size: Size { width: 700, height: 300 },
            tile_size: 510,
            tile_overlap: 1,
            tile_format: TileFormat::Jpg,
        };
        let mut pipe = tempfile::tempfile().unwrap();
        let frames = FrameWriter::new(pipe.try_clone().unwrap());
        frames.begin(&dzi).unwrap();
        frames.progress(7).unwrap();
        frames.tile(TileCoord { level: 3, column: 2, row: 1 }, b"file").unwrap();
        frames.preview(PreviewKind::Thumbnail, b"small").unwrap();
        frames.coarse(b"so far").unwrap();
        let scale = Scale::new(2.5e-7, 2.5e-7, ScaleUnit::Metre, ScaleBasis::Aperio);
        let endings = [
            Ending::default(),
            Ending { damage: Some(Damage::FromRow { row: 7, rows: 300 }), scale: None, halved: true },
            Ending { damage: None, scale, halved: false },
        ];
        endings.iter().for_each(|ending| frames.finished(*ending).unwrap());
        let text = Text { pages: vec![Page::new(Rect::new(0, 0, 1, 1)); 2], ..Text::default() };
        frames.text(Text::default()).unwrap(); // no words, no frame
        frames.text(text.clone()).unwrap();
        let words = |words: &str| Some(words.to_owned());
        let metadata = Metadata { title: words("A\ntitle"), rights: words("\0Mine"), ..Metadata::default() };
        frames.metadata(Metadata { creator: words("\u{202e}"), ..Metadata::default() }).unwrap(); // none
        frames.metadata(metadata).unwrap();
        let page = PageVectors { page: 0, pages: 1, at: Rect::new(0, 0, 1, 1), svg: "page".to_owned() };
        frames.vectors(&page).unwrap();
        let scan = PixelsOnly { page: 7, reason: "a scan".to_owned() };
        frames.pixels_only(&scan).unwrap();
        let failure = Failure::new(FailureCode::Internal, "sorry");
        frames.failed(&failure).unwrap();

        let mut written = Vec::new();
        pipe.rewind().unwrap();
        pipe.read_to_end(&mut written).unwrap();
        let (mut received, mut read) = (BytesMut::new(), Vec::new());
        for byte in written {
            received.extend_from_slice(&[byte]);
            read.extend(read_frame(&mut received, 4).unwrap());
        }
        let tile = Frame::Tile(TileCoord { level: 3, column: 2, row: 1 }, Bytes::from_static(b"file"));
        let preview = Frame::Preview(PreviewKind::Thumbnail, Bytes::from_static(b"small"));
        let coarse = Frame::Coarse(Bytes::from_static(b"so far"));
        let finished = endings.map(Frame::Finished);
        let expected =
            [[Frame::Begin(dzi), Frame::Progress(7), tile, preview, coarse].as_slice(), &finished].concat();
        let text = Frame::Text(text::pack(&text).unwrap().unwrap().into());
        let title = Frame::Title(Bytes::from_static(b"A title"));
        let credits = Frame::Credits(Bytes::from_static(br#"{"credit":"Mine"}"#));
        let vectors = Frame::Vectors([&vectors::head(&page), b"page".as_slice()].concat().into());
        let scan = Frame::PixelsOnly(scan);
        let expected = [expected, vec![text, title, credits, vectors, scan, Frame::Failed(failure)]].concat();
        assert_eq!(read, expected);
        assert!(received.is_empty());
    }

    #[test]
    fn a_frame_longer_than_allowed_is_refused_by_its_header() {
        for kind in [b'T', b'V', b'C', b'D', b'R', b'G', b'O', b'B', b'P', b'F', b'X'] {
            let mut received = BytesMut::from(&[kind, 0xff, 0xff, 0xff, 0xff][..]);
            assert!(matches!(read_frame(&mut received, 1000), Err(ProtocolError::TooLong { .. })));
            assert!(received.capacity() < 100);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut received = BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = read_frame(&mut received, 1000) {}
        }
    }
}
