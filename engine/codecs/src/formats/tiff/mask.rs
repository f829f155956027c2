//! The mask of a map: a second picture of the same size, which says where the first one has data. The rest is
//! transparent.
//!
//! Source: TIFF 6.0, section 8 (NewSubfileType 4); GDAL's GeoTIFF driver, "Internal nodata masks".

use crate::row_reader::Wrapper;
use crate::{Layout, RowReader, SourceError};

/// A picture with a mask.
pub struct Masked {
    picture: Box<dyn RowReader>,
    /// A grey picture of the same size: 0 where there is no data.
    mask: Box<dyn RowReader>,
    pixels: Vec<u8>,
    greys: Vec<u8>,
    /// True if the mask cannot be read any further: what it would hide is shown.
    is_broken: bool,
}

impl Masked {
    /// Returns a picture that shows only what the mask permits, or the picture if they do not fit together.
    pub fn over(picture: Box<dyn RowReader>, mask: Box<dyn RowReader>) -> Box<dyn RowReader> {
        let fits = mask.layout() == Layout::Grey && mask.size() == picture.size();
        if !fits || picture.layout() == Layout::YCbCr420 {
            return picture;
        }
        Box::new(Self { picture, mask, pixels: Vec::new(), greys: Vec::new(), is_broken: false })
    }
}

impl Wrapper for Masked {
    fn source(&self) -> &dyn RowReader {
        &*self.picture
    }

    fn layout(&self) -> Layout {
        Layout::Rgba
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let (out, _) = into.as_chunks_mut::<4>();
        let layout = self.picture.layout();
        self.pixels.resize(out.len() * layout.channels(), 0);
        self.picture.read_rows(&mut self.pixels)?;
        self.greys.resize(out.len(), 0);
        self.is_broken = self.is_broken || self.mask.read_rows(&mut self.greys).is_err();
        if self.is_broken {
            self.greys.fill(255);
        }
        let pixels = self.pixels.chunks_exact(layout.channels());
        for ((out, pixel), &grey) in out.iter_mut().zip(pixels).zip(&self.greys) {
            *out = match *pixel {
                _ if grey == 0 => [0; 4],
                [grey] => [grey, grey, grey, 255],
                [red, green, blue] => [red, green, blue, 255],
                [red, green, blue, alpha] => [red, green, blue, alpha],
                _ => [0; 4],
            };
        }
        Ok(())
    }
}
