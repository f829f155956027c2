//! The interface between decoders and their callers: a picture as rows of pixels. Also the readers that most formats
//! share, so that a decoder implements only what is specific to it.

use std::mem;

use edgezoom_geometry::{Damage, Scale, Size};
use edgezoom_jpeg::decoder::requantise::TileBlocks;
use edgezoom_jpeg::encoder::Piece;
use edgezoom_jpeg::quantisation::SourceSteps;
use edgezoom_text::Text;

use crate::{LateMetadata, Orientation, SourceError, Vectors, ycbcr420};

/// A picture as rows of pixels, from top to bottom.
pub trait RowReader {
    /// Returns the picture's size in pixels.
    fn size(&self) -> Size;
    /// Returns the components of a pixel.
    fn layout(&self) -> Layout;
    /// Returns how the caller has to turn the rows. They are upright unless
    /// [`DecodeOptions`](crate::DecodeOptions) allow otherwise. In [`Layout::YCbCr420`] a side that is counted from its
    /// end is even.
    fn orientation(&self) -> Orientation {
        Orientation::UPRIGHT
    }
    /// Fills `into` with the next rows, one after the other without gaps. The caller asks only for rows that are left,
    /// and in [`Layout::YCbCr420`] for full bands of [`ROWS`](edgezoom_jpeg::ycbcr420::ROWS) rows.
    ///
    /// # Errors
    /// The file cannot be read or decoded any further. Later calls return no useful pixels. The readers of
    /// [`open`](crate::open()) fail only if no row could be decoded; otherwise they report [`RowReader::damage`].
    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError>;
    /// Returns true if the picture is known to have pixels that are not opaque, so that the caller need not search for
    /// one.
    fn needs_opacity(&self) -> bool {
        false
    }
    /// Returns true if the picture has so few colours, as words in black on white, that PNG takes fewer bytes than JPEG.
    fn has_few_colours(&self) -> bool {
        false
    }
    /// Returns the damage that reading has met so far. Missing pixels are grey or transparent.
    fn damage(&self) -> Option<Damage> {
        None
    }
    /// Returns the physical size of a pixel, if the file states it.
    fn scale(&self) -> Option<Scale> {
        None
    }
    /// Returns the words in the picture, once, if [`DrawingOptions::text`](crate::DrawingOptions::text) asks for them. They
    /// come from the file, so they need [bounds](Text::bounded).
    fn take_text(&mut self) -> Option<Text> {
        None
    }
    /// Returns the pages of a document, once, if [`DrawingOptions::vectors`](crate::DrawingOptions::vectors) asks for them.
    fn take_vectors(&mut self) -> Option<Box<dyn Vectors>> {
        None
    }

    /// Returns what the file states of the picture in words, once.
    fn take_metadata(&mut self) -> LateMetadata {
        LateMetadata::default()
    }
    /// Returns what tiles in JPEG can use of a JPEG whose samples are returned as they are stored.
    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        None
    }
    /// Returns the number of rows that are best read at once: if that fails, all of them are lost.
    fn rows_at_once(&self) -> u32 {
        1
    }
}

/// A JPEG whose blocks begin at the first stored pixel.
pub struct Jpeg<'a> {
    /// Its quantisation steps. Encoders that use the same blocks can adapt their own.
    pub steps: SourceSteps,
    /// Its blocks.
    pub blocks: &'a mut dyn BlockReader,
}

/// The blocks of a JPEG, quantised again for tiles.
pub trait BlockReader {
    /// Prepares to read blocks for tiles, before any row has been read. Returns false if the picture has none of use.
    fn begin_blocks(&mut self, tiles: &TileBlocks) -> bool;
    /// Returns the blocks of the next rows: 16 in [`Layout::YCbCr420`], 8 in [`Layout::Grey`], or what is left. Fills
    /// `halved` with half as many rows of half the size. `None`: from here on the picture must be read as rows.
    ///
    /// # Errors
    /// As [`RowReader::read_rows`].
    fn read_blocks(&mut self, halved: &mut [u8]) -> Result<Option<Vec<Piece>>, SourceError>;
}

/// The components of a pixel, in bytes of 8-bit sRGB. Colours are not premultiplied with alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Grey.
    Grey,
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, alpha.
    Rgba,
    /// Planes of luma, and of chroma with half its resolution both ways, as [`ycbcr420`](edgezoom_jpeg::ycbcr420) lays
    /// them out. Used only if [`DecodeOptions`](crate::DecodeOptions) allow it.
    YCbCr420,
}

impl Layout {
    /// Returns the number of samples in a pixel.
    #[must_use]
    pub fn channels(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb | Self::YCbCr420 => 3,
            Self::Rgba => 4,
        }
    }

    /// Returns the number of bytes in a row of pixels.
    #[must_use]
    pub fn row_bytes(self, width: u32) -> usize {
        match self {
            Self::YCbCr420 => 3 * ycbcr420::stride(width) / 2,
            _ => width as usize * self.channels(),
        }
    }

    /// Returns the number of rows to read at once for a caller that wants `rows`. Planes are read in bands of 16 rows,
    /// of which the last may extend below the picture.
    #[must_use]
    pub fn rows_read(self, rows: u32) -> u32 {
        match self {
            Self::YCbCr420 => rows.next_multiple_of(ycbcr420::ROWS),
            _ => rows,
        }
    }
}

/// A reader of a decoder that returns one row at a time.
pub(crate) struct Rows<F> {
    pub(crate) size: Size,
    pub(crate) layout: Layout,
    /// Fills the next row.
    pub(crate) read_row: F,
}

impl<F: FnMut(&mut [u8]) -> Result<(), SourceError>> RowReader for Rows<F> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        into.chunks_exact_mut(self.layout.row_bytes(self.size.width)).try_for_each(&mut self.read_row)
    }
}

/// A band of rows that is being read, for decoders that return several rows at a time.
#[derive(Default)]
pub(crate) struct BandBuffer {
    bytes: Vec<u8>,
    read: usize,
}

impl BandBuffer {
    /// Fills `into` from this band and those that follow. `next` gets the buffer that has been read and returns the
    /// next band.
    pub(crate) fn read_rows(
        &mut self,
        mut into: &mut [u8],
        mut next: impl FnMut(Vec<u8>) -> Result<Vec<u8>, SourceError>,
    ) -> Result<(), SourceError> {
        while !into.is_empty() {
            if self.read == self.bytes.len() {
                self.read = 0;
                self.bytes = next(mem::take(&mut self.bytes))?;
            }
            let left = &self.bytes[self.read..];
            let (now, later) = into.split_at_mut(left.len().min(into.len()));
            now.copy_from_slice(&left[..now.len()]);
            self.read += now.len();
            into = later;
        }
        Ok(())
    }
}

/// A source whose upright picture is turned once more.
pub struct Turned {
    source: Box<dyn RowReader>,
    by: Orientation,
}

impl Turned {
    /// Turns a source, which must not be in [`Layout::YCbCr420`].
    #[must_use]
    pub fn new(source: Box<dyn RowReader>, by: Orientation) -> Self {
        Self { source, by }
    }
}

impl Wrapper for Turned {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn orientation(&self) -> Orientation {
        self.source.orientation().then(self.by)
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        self.source.as_jpeg()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.source.read_rows(into)
    }
}

/// A reader that changes the rows of another one. It overrides what it changes; everything else comes from the source,
/// but nothing of a JPEG's own.
pub(crate) trait Wrapper {
    fn source(&self) -> &dyn RowReader;

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError>;

    fn size(&self) -> Size {
        self.source().size()
    }

    fn layout(&self) -> Layout {
        self.source().layout()
    }

    fn orientation(&self) -> Orientation {
        self.source().orientation()
    }

    fn needs_opacity(&self) -> bool {
        self.source().needs_opacity()
    }

    fn has_few_colours(&self) -> bool {
        self.source().has_few_colours()
    }

    fn damage(&self) -> Option<Damage> {
        self.source().damage()
    }

    fn scale(&self) -> Option<Scale> {
        self.source().scale()
    }

    fn take_text(&mut self) -> Option<Text> {
        None
    }

    fn take_vectors(&mut self) -> Option<Box<dyn Vectors>> {
        None
    }

    fn take_metadata(&mut self) -> LateMetadata {
        LateMetadata::default()
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        None
    }

    fn rows_at_once(&self) -> u32 {
        self.source().rows_at_once()
    }
}

impl<W: Wrapper> RowReader for W {
    fn size(&self) -> Size {
        Wrapper::size(self)
    }

    fn layout(&self) -> Layout {
        Wrapper::layout(self)
    }

    fn orientation(&self) -> Orientation {
        Wrapper::orientation(self)
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        Wrapper::read_rows(self, into)
    }

    fn needs_opacity(&self) -> bool {
        Wrapper::needs_opacity(self)
    }

    fn has_few_colours(&self) -> bool {
        Wrapper::has_few_colours(self)
    }

    fn damage(&self) -> Option<Damage> {
        Wrapper::damage(self)
    }

    fn scale(&self) -> Option<Scale> {
        Wrapper::scale(self)
    }

    fn take_text(&mut self) -> Option<Text> {
        Wrapper::take_text(self)
    }

    fn take_vectors(&mut self) -> Option<Box<dyn Vectors>> {
        Wrapper::take_vectors(self)
    }

    fn take_metadata(&mut self) -> LateMetadata {
        Wrapper::take_metadata(self)
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        Wrapper::as_jpeg(self)
    }

    fn rows_at_once(&self) -> u32 {
        Wrapper::rows_at_once(self)
    }
}
