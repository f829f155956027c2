//! DICOM, the pictures of medicine: the first frame of a file. Pixels that are not compressed, or in runs, are read
//! row by row; JPEG by libjpeg; JPEG 2000 is buffered.
//!
//! What a pixel's number means is said by many elements, in this order: the photometric interpretation, the rescaling,
//! the window, which is what the radiologist looks at. Without a window all values from the smallest to the largest
//! are shown.
//!
//! Source: DICOM PS3.3, C.7.6.3 (pixels), C.11.1 (rescaling), C.11.2 (windows); PS3.5, 7 and 8, annexes A and G;
//! PS3.10, 7.1.

mod codec;
mod elements;
mod error;
mod palette;
mod pixel;
mod run_length;
mod window;

use edgezoom_geometry::Size;

use crate::colour::samples::from_ycbcr;
use crate::format::{Decoded, Input, Open};
use crate::formats::section;
use crate::{Format, Layout, Reading, RowReader, SourceError};
use codec::Codec;
use elements::{Elements, tag};
use error::too_short;
use palette::Palette;
use pixel::Pixel;
use window::Window;

pub(crate) static FORMAT: Format = Format {
    name: error::NAME.0,
    media_types: &["application/dicom"],
    endings: &["dcm", "dicom"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| head.get(128..132) == Some(b"DICM"),
    open: Open::Directly(open),
};

enum Meaning {
    Grey(Box<Window>),
    Palette(Palette),
    Rgb,
    YCbCr,
}

struct Rows {
    pixel: Pixel,
    meaning: Meaning,
    codec: Codec,
    numbers: Vec<i32>,
}

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
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
        return Err(FORMAT.unsupported(format_args!("its samples have {stored} bits in {allocated}")));
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
    let codec = Codec::open(&file, &elements, pixel, bounds)?;
    if let Codec::Final(decoded) = codec {
        return Ok(*decoded);
    }
    let meaning = match (photometric.as_str(), samples) {
        ("MONOCHROME1" | "MONOCHROME2" | "", 1) => {
            let is_inverted =
                photometric == "MONOCHROME1" || elements.text(tag::SHAPE).as_deref() == Some("INVERSE");
            let mut window = Window::of(&elements, pixel, is_inverted);
            if window.is_unknown() {
                window.look_at(&mut Codec::open(&file, &elements, pixel, bounds)?, pixel)?;
            }
            Meaning::Grey(Box::new(window))
        }
        ("PALETTE COLOR", 1) => Meaning::Palette(Palette::of(&elements)?),
        ("RGB", 3) => Meaning::Rgb,
        // What a JPEG 2000 has made of it is RGB.
        ("YBR_FULL" | "YBR_FULL_422" | "YBR_ICT" | "YBR_RCT", 3) => {
            if codec.gives_rgb() {
                Meaning::Rgb
            } else {
                Meaning::YCbCr
            }
        }
        _ => {
            return Err(
                FORMAT.unsupported(format_args!("its colours are {photometric:?} of {samples} samples"))
            );
        }
    };
    let numbers = vec![0; size.width as usize * samples];
    Ok(Decoded::plain(Rows { pixel, meaning, codec, numbers }))
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.pixel.size
    }

    fn layout(&self) -> Layout {
        if matches!(self.meaning, Meaning::Grey(_)) { Layout::Grey } else { Layout::Rgb }
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        for out in into.chunks_exact_mut(self.layout().row_bytes(self.pixel.size.width)) {
            self.codec.read_row(&mut self.numbers)?;
            match &self.meaning {
                Meaning::Grey(window) => {
                    out.iter_mut().zip(&self.numbers).for_each(|(out, &number)| *out = window.shade(number));
                }
                Meaning::Palette(palette) => {
                    let out = out.as_chunks_mut::<3>().0.iter_mut();
                    out.zip(&self.numbers).for_each(|(out, &number)| *out = palette.colour(number));
                }
                Meaning::Rgb | Meaning::YCbCr => {
                    out.iter_mut()
                        .zip(&self.numbers)
                        .for_each(|(out, &number)| *out = self.pixel.shade(number));
                    if matches!(self.meaning, Meaning::YCbCr) {
                        out.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| *pixel = from_ycbcr(*pixel));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
