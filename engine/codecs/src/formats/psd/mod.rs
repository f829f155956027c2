//! Photoshop documents, PSD and PSB (large documents), row by row: the merged picture, which Photoshop stores besides
//! the layers. Each channel is a plane. The next row of every plane is found in the file, so memory is a few rows.
//!
//! The channels depend on the document's mode:
//!
//! | mode | channels |
//! |---|---|
//! | bitmap | 1 is black |
//! | grey, duotone | the lightness; the specification does not describe a duotone's inks, so it is shown in grey |
//! | indexed | a palette's index |
//! | RGB, L\*a\*b\* | three; a\* and b\* have their zero in the middle |
//! | CMYK | four; 255 is no ink |
//! | multichannel | inks, as many as there are: cyan, magenta, yellow, black; 255 is no ink |
//!
//! One more channel is the opacity, if the document says that the merged picture has it. Photoshop blends such pixels
//! with white before it stores them, which is undone here. Samples of 32 bits are linear light.
//!
//! Source: Adobe Photoshop File Formats Specification (November 2019), "Photoshop File Format".

mod convert;
mod header;
mod planes;

use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::formats::section;
use crate::{Format, Reading, SourceError};
use convert::Converter;
use header::Header;
use planes::Planes;

pub(crate) static FORMAT: Format = Format {
    name: "PSD",
    media_types: &["image/vnd.adobe.photoshop", "image/x-photoshop"],
    endings: &["psd", "psb"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| matches!(head, [b'8', b'B', b'P', b'S', 0, 1 | 2, ..]),
    open: Open::Directly(open),
};

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let header = Header::read(&file)?;
    let size = bounds.admit(header.width, header.height)?;
    if !header.has_merged_picture {
        return Err(FORMAT.unsupported(
            "it was saved without its merged picture. Save it with \"Maximize Compatibility\" turned on",
        ));
    }
    let profile = header.profile.as_deref().and_then(Profile::of_icc);
    let mut converter = Converter::new(&header, profile.as_ref())?;
    let mut planes = Planes::open(&file, &header, converter.planes(), bounds)?;
    let mut stored = vec![vec![0; header.row_bytes()]; converter.planes()];
    let profile = profile.filter(|_| !converter.gives_srgb());
    let decoded = Decoded::rows(size, converter.layout(), move |out| {
        for (plane, row) in stored.iter_mut().enumerate() {
            planes.read_row(plane, row)?;
        }
        converter.convert(&stored, out);
        Ok(())
    });
    Ok(Decoded { profile, ..decoded })
}

#[cfg(test)]
mod tests;
