//! Opens a picture for its tiles: decides between JPEG and PNG, and between RGB and YCbCr.

use edgezoom_codecs::{
    Damage, DecodeOptions, Flattened, Layout, RowReader, SourceError, Thumbnail, is_opaque,
};
use edgezoom_geometry::{Dzi, TileFormat};

use crate::build_error::BuildError;
use crate::builder::{Wanted, build};
use crate::coarse::Coarse;
use crate::{Options, TileOutput};

/// A pyramid that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its description.
    pub dzi: Dzi,
    /// What is missing of the picture, because its file is damaged.
    pub damage: Option<Damage>,
}

/// A picture whose tile format is decided.
pub struct TileSource {
    reader: Box<dyn RowReader>,
    format: TileFormat,
    thumbnail: Option<Thumbnail>,
}

impl TileSource {
    /// Opens a picture and decides about the format of its tiles. `open` returns a reader of the picture from its first
    /// row. It is called once, or a second time if the picture has to be read for the decision.
    ///
    /// Tiles are PNG if a pixel of the picture is not opaque, else JPEG, unless [`Options::format`] says which. For
    /// JPEG the picture is flattened onto white.
    ///
    /// # Errors
    /// When the picture cannot be opened or read.
    pub fn open(
        options: &Options,
        mut open: impl FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError>,
    ) -> Result<Self, SourceError> {
        let decode = options.decode_options();
        let mut reader = open(&decode)?;
        // Many pictures have an opacity channel that is opaque everywhere, and PNG would make their tiles several times
        // as large as JPEG. So a picture of which this is not known is read up to the first pixel that is not opaque.
        // That takes less time than encoding it as PNG.
        if options.format.is_none() && reader.layout() == Layout::Rgba && !reader.needs_opacity() {
            let is_opaque = is_opaque(&mut *reader)?;
            // A temporary file serves one reader at a time.
            drop(reader);
            reader = open(&decode)?;
            if is_opaque {
                reader = Box::new(Flattened::new(reader));
            }
        }
        let format = options.format.unwrap_or(match reader.layout() {
            Layout::Rgba => TileFormat::Png,
            Layout::Grey | Layout::Rgb | Layout::YCbCr420 => TileFormat::Jpg,
        });
        if format == TileFormat::Jpg {
            reader = Box::new(Flattened::new(reader));
        }
        Ok(Self { reader, format, thumbnail: None })
    }

    /// Shows this thumbnail in [coarse pictures](TileOutput::coarse), where the picture's own rows are not there yet.
    #[must_use]
    pub fn with_thumbnail(self, thumbnail: Option<Thumbnail>) -> Self {
        Self { thumbnail, ..self }
    }

    /// Builds the pyramid. `output` has got its description before the first tile.
    ///
    /// # Errors
    /// The first one that occurred. The output may have taken tiles before.
    pub fn build(mut self, options: &Options, output: &dyn TileOutput) -> Result<Built, BuildError> {
        let dzi = options.dzi(self.reader.orientation().turned(self.reader.size()), self.format);
        let coarse = options.coarse_every.map(|every| Coarse { every, thumbnail: self.thumbnail.take() });
        let wanted = Wanted {
            quality: options.quality,
            threads: options.threads,
            previews: options.previews,
            coarse: coarse.as_ref(),
        };
        let damage = build(self.reader, &dzi, wanted, output)?;
        Ok(Built { dzi, damage })
    }
}
