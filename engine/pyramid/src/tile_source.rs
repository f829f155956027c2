//! Opens a picture and chooses the format of its tiles.

use edgezoom_codecs::{
    Centred, Damage, DecodeOptions, Flattened, LateMetadata, Layout, RowReader, SourceError, Thumbnail,
    Turned, Vectors, is_opaque,
};
use edgezoom_geometry::{Dzi, Scale, Size, TileFormat};
use edgezoom_text::Text;

use crate::background::Background;
use crate::build_error::BuildError;
use crate::builder::{Wanted, build};
use crate::coarse::Coarse;
use crate::{Angle, Options, TileLayout, TileOutput};

/// A complete pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    /// Description of the pyramid.
    pub dzi: Dzi,
    /// Damage of the picture's file: the part that is missing.
    pub damage: Option<Damage>,
    /// Physical size of a pixel.
    pub scale: Option<Scale>,
}

/// An open picture with the format of its tiles.
pub struct TileSource {
    reader: Box<dyn RowReader>,
    format: TileFormat,
    thumbnail: Option<Thumbnail>,
    text: Option<Text>,
    vectors: Option<Box<dyn Vectors>>,
    metadata: LateMetadata,
}

impl TileSource {
    /// Opens a picture and chooses the format of its tiles. `open` returns a reader that starts at the first row. It is
    /// called a second time if the picture had to be read for the choice.
    ///
    /// Unless [`Options::format`] is set, tiles are PNG if any pixel is not opaque, or if the picture has few colours and
    /// the layout's files state their format; otherwise they are JPEG. For JPEG the picture is flattened onto the
    /// background.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be opened or read.
    pub fn open(
        options: &Options,
        mut open: impl FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError>,
    ) -> Result<Self, SourceError> {
        let decode = options.decode_options();
        let (mut text, mut vectors, mut metadata) = (None, None, LateMetadata::default());
        let mut open = || {
            let mut reader = open(&decode)?;
            (text, vectors) = (reader.take_text(), reader.take_vectors());
            metadata = reader.take_metadata();
            Ok::<_, SourceError>(reader)
        };
        let mut reader = open()?;
        // Many pictures have an opacity channel that is opaque everywhere, and their tiles would be several times
        // larger as PNG. So the picture is read up to the first pixel that is not opaque, which takes less time than
        // encoding PNG.
        if options.format.is_none() && reader.layout() == Layout::Rgba && !reader.needs_opacity() {
            let is_opaque = is_opaque(&mut *reader)?;
            // A temporary file serves one reader at a time.
            drop(reader);
            reader = open()?;
            if is_opaque {
                reader = Box::new(Flattened::onto(options.background, reader));
            }
        }
        let format = options.format.unwrap_or(match reader.layout() {
            Layout::Rgba => TileFormat::Png,
            _ if reader.has_few_colours() && options.layout == TileLayout::Dz => TileFormat::Png,
            Layout::Grey | Layout::Rgb | Layout::YCbCr420 => TileFormat::Jpg,
        });
        if format == TileFormat::Jpg {
            reader = Box::new(Flattened::onto(options.background, reader));
        }
        if options.angle != Angle::D0 {
            reader = Box::new(Turned::new(reader, options.angle.orientation()));
        }
        if options.centre {
            let side = square(reader.size(), options.tile_size)?;
            let background = Background::new(options, reader.layout());
            reader = Box::new(Centred::new(reader, side, background.pixel()));
        }
        let is_in_place = options.angle == Angle::D0 && !options.centre;
        let vectors = vectors.filter(|_| is_in_place);
        let text = text.filter(|_| !options.centre);
        Ok(Self { reader, format, thumbnail: None, text, vectors, metadata })
    }

    /// Returns the pages of a document as vectors, once, if
    /// [`DrawingOptions::vectors`](edgezoom_codecs::DrawingOptions::vectors) asks for them and the picture is neither turned nor centred. Draw
    /// them when the pyramid is built.
    pub fn take_vectors(&mut self) -> Option<Box<dyn Vectors>> {
        self.vectors.take()
    }

    /// Sets the thumbnail that [coarse pictures](TileOutput::coarse) show below the rows read so far.
    #[must_use]
    pub fn with_thumbnail(self, thumbnail: Option<Thumbnail>) -> Self {
        Self { thumbnail, ..self }
    }

    /// Builds the pyramid.
    ///
    /// # Errors
    /// Returns the first error. The output may have received tiles before.
    pub fn build(mut self, options: &Options, output: &dyn TileOutput) -> Result<Built, BuildError> {
        let dzi = options.dzi(self.reader.orientation().turned(self.reader.size()), self.format);
        let text = self.text.take().map(|text| text.bounded(dzi.size));
        let coarse = options.coarse_every.map(|every| Coarse { every, thumbnail: self.thumbnail.take() });
        let wanted = Wanted {
            quality: options.quality,
            threads: options.threads,
            previews: options.previews,
            coarse: coarse.as_ref(),
            text: text.as_ref(),
            first_level: options.depth.first_level(&dzi),
            shrink: options.region_shrink,
            background: Background::new(options, self.reader.layout()),
        };
        let scale = self.reader.scale();
        let damage = build(self.reader, &dzi, wanted, output)?;
        output.metadata(self.metadata.read())?;
        Ok(Built { dzi, damage, scale })
    }
}

/// Returns the side of the smallest square of whole tiles, at every level, that holds a picture.
fn square(size: Size, tile_size: u32) -> Result<u32, SourceError> {
    let longest = size.width.max(size.height);
    let tiles = longest.div_ceil(tile_size).next_power_of_two();
    let side = u64::from(tiles) * u64::from(tile_size);
    match u32::try_from(side) {
        Ok(side) if side <= Options::MAX_CENTRED => Ok(side),
        _ => Err(SourceError::TooLong { size, side: Options::MAX_CENTRED }),
    }
}
