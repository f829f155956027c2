//! DICOM, the pictures of medicine: the first frame of a file. Uncompressed pixels and runs are read row by row, lossy
//! JPEG by libjpeg; lossless JPEG, JPEG-LS and JPEG 2000 are buffered.
//!
//! The meaning of a pixel's number depends on several elements, in this order: the photometric interpretation, the
//! rescaling, and the window, which is what the radiologist looks at. Without a window, all values from the smallest to
//! the largest are shown.
//!
//! Source: DICOM PS3.3, C.7.6.3 (pixels), C.11.1 (rescaling), C.11.2 (windows); PS3.5, 7 and 8, annexes A and G;
//! PS3.10, 7.1.

mod codec;
mod elements;
mod lookup;
mod run_length;

use edgezoom_geometry::{Scale, ScaleBasis, ScaleUnit};

use crate::colour::samples::from_ycbcr;
use crate::format::{Decoded, Input, Open};
use crate::formats::section;
use crate::{Format, Layout, Reading, SourceError};
use codec::{Codec, Pixel};
use elements::{Elements, tag};
use lookup::{Palette, Window};

pub(crate) static FORMAT: Format = Format {
    name: "DICOM",
    media_types: &["application/dicom"],
    endings: &["dcm", "dicom"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| elements::first_element(head).is_some(),
    open: Open::Directly(open),
};

/// The conversion of numbers to colours.
enum Meaning {
    Grey(Box<Window>),
    Palette(Palette),
    Rgb,
    YCbCr,
}

fn too_short() -> SourceError {
    FORMAT.corrupt("it ends before its last row")
}
fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let file = section::share(file);
    let elements = Elements::read(&file)?;
    let number = |tag| elements.number(tag);
    let required = |tag, name| number(tag).ok_or_else(|| FORMAT.corrupt(format_args!("it has no {name}")));
    match (elements.has_pixels(), number(tag::COLUMNS)) {
        (true, _) => {}
        (false, None) => return Err(FORMAT.unsupported("it has no picture")),
        (false, Some(_)) => return Err(too_short()),
    }
    let (columns, rows) = (required(tag::COLUMNS, "columns")?, required(tag::ROWS, "rows")?);
    let size = bounds.admit(u32::from(columns), u32::from(rows))?;
    if elements.long(tag::TOTAL_COLUMNS).is_some_and(|total| total > size.width) {
        return Err(FORMAT.unsupported("it is a whole slide in tiles"));
    }
    let allocated = required(tag::BITS_ALLOCATED, "bits")?;
    let stored = number(tag::BITS_STORED).unwrap_or(allocated);
    if !matches!(allocated, 8 | 16 | 32) || stored == 0 || stored > allocated {
        return Err(FORMAT.unsupported(format_args!("it has samples of {stored} bits in {allocated}")));
    }
    let photometric = elements.text(tag::PHOTOMETRIC).unwrap_or_default();
    let samples = number(tag::SAMPLES).unwrap_or(1).into();
    let pixel = Pixel {
        size,
        samples,
        allocated,
        stored,
        is_signed: number(tag::REPRESENTATION) == Some(1),
        is_planar: number(tag::PLANAR) == Some(1),
        is_subsampled: photometric == "YBR_FULL_422",
    };
    let mut codec = Codec::open(&file, &elements, pixel, bounds, options)?;
    if let Codec::Final(decoded) = codec {
        return Ok(Decoded { scale: scale(&elements), ..*decoded });
    }
    let meaning = match (photometric.as_str(), samples) {
        ("MONOCHROME1" | "MONOCHROME2" | "", 1) => {
            let is_inverted =
                photometric == "MONOCHROME1" || elements.text(tag::SHAPE).as_deref() == Some("INVERSE");
            let mut window = Window::of(&elements, pixel, is_inverted);
            if window.is_unknown() {
                window.show_all(&mut Codec::open(&file, &elements, pixel, bounds, options)?, pixel)?;
            }
            Meaning::Grey(Box::new(window))
        }
        ("PALETTE COLOR", 1) => Meaning::Palette(Palette::of(&elements)?),
        ("RGB", 3) => Meaning::Rgb,
        ("YBR_FULL" | "YBR_FULL_422" | "YBR_ICT" | "YBR_RCT", 3) => Meaning::YCbCr,
        _ => {
            return Err(
                FORMAT.unsupported(format_args!("its colours are of a rare kind, in {samples} samples"))
            );
        }
    };
    let mut numbers = vec![0; size.width as usize * samples];
    let layout = if matches!(meaning, Meaning::Grey(_)) { Layout::Grey } else { Layout::Rgb };
    let scale = scale(&elements);
    let decoded = Decoded::rows(size, layout, move |out| {
        codec.read_row(&mut numbers)?;
        match &meaning {
            Meaning::Grey(window) => {
                out.iter_mut().zip(&numbers).for_each(|(out, &number)| *out = window.shade(number));
            }
            Meaning::Palette(palette) => {
                let out = out.as_chunks_mut::<3>().0.iter_mut();
                out.zip(&numbers).for_each(|(out, &number)| *out = palette.colour(number));
            }
            Meaning::Rgb | Meaning::YCbCr => {
                out.iter_mut().zip(&numbers).for_each(|(out, &number)| *out = pixel.shade(number));
                if matches!(meaning, Meaning::YCbCr) {
                    out.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| *pixel = from_ycbcr(*pixel));
                }
            }
        }
        Ok(())
    });
    Ok(Decoded { scale, ..decoded })
}

/// Returns the size of a pixel: Pixel Spacing, otherwise Imager Pixel Spacing, both in millimetres, down and across.
/// Source: PS3.3, 10.7.1.3.
fn scale(elements: &Elements) -> Option<Scale> {
    let of = |name, basis| match elements.decimals(name).as_slice() {
        &[down, across, ..] => Scale::new(across / 1000.0, down / 1000.0, ScaleUnit::Metre, basis),
        _ => None,
    };
    if elements.bytes(tag::SPACING).is_some() {
        return of(tag::SPACING, ScaleBasis::DicomPixelSpacing);
    }
    of(tag::IMAGER_SPACING, ScaleBasis::DicomImagerSpacing)
}

#[cfg(test)]
mod tests;
