//! Photoshop documents, PSD and PSB (large documents), row by row: the merged picture, which Photoshop keeps beside the
//! layers. Each channel is a plane of its own; as rows of all planes can be found in the file, they are read side by
//! side, in the memory of a few rows.
//!
//! The header is described in `header`, the planes in `planes`. What the channels are, by the document's mode:
//!
//! | mode | channels |
//! |---|---|
//! | bitmap | 1 is black |
//! | grey, duotone | the lightness; a duotone's inks are not in the specification, so it shows as grey |
//! | indexed | a palette's index |
//! | RGB, L\*a\*b\* | three; a\* and b\* have their zero in the middle |
//! | CMYK | four; 255 is no ink |
//! | multichannel | inks: cyan, magenta, yellow, black, as far as there are any; 255 is no ink |
//!
//! One more channel is the opacity, if the document says that the merged picture has one. Photoshop has put such pixels
//! on white before it stored them, which is undone. Samples of 32 bits are linear light.
//!
//! Source: Adobe Photoshop File Formats Specification (November 2019), "Photoshop File Format".

mod error;
mod header;
mod planes;
mod row;

use edgezoom_geometry::Size;

use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::formats::section;
use crate::{Format, Layout, Reading, RowReader, SourceError};
use header::Header;
use planes::Planes;
use row::Converter;

pub(crate) static FORMAT: Format = Format {
    name: error::NAME.0,
    media_types: &["image/vnd.adobe.photoshop", "image/x-photoshop"],
    endings: &["psd", "psb"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| matches!(head, [b'8', b'B', b'P', b'S', 0, 1 | 2, ..]),
    open: Open::Directly(open),
};

struct Rows {
    size: Size,
    planes: Planes,
    converter: Converter,
    /// The next row of each plane, as stored.
    stored: Vec<Vec<u8>>,
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let header = Header::read(&file)?;
    let size = bounds.admit(header.width, header.height)?;
    if !header.has_merged_picture {
        return Err(FORMAT
            .unsupported("it was saved without its merged picture, which \"Maximize Compatibility\" adds"));
    }
    let profile = header.profile.as_deref().and_then(Profile::of_icc);
    let converter = Converter::new(&header, profile.as_ref())?;
    let row_bytes = header.row_bytes();
    let planes = Planes::open(&file, &header, converter.planes(), bounds)?;
    let stored = vec![vec![0; row_bytes]; converter.planes()];
    let profile = profile.filter(|_| !converter.gives_srgb());
    let orientation = crate::Orientation::UPRIGHT;
    Ok(Decoded { reader: Box::new(Rows { size, planes, converter, stored }), orientation, profile })
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.converter.layout()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        for out in into.chunks_exact_mut(self.layout().row_bytes(self.size.width)) {
            for (plane, row) in self.stored.iter_mut().enumerate() {
                self.planes.read_row(plane, row)?;
            }
            self.converter.convert(&self.stored, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
