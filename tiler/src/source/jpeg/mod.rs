//! JPEG, row by row, through libjpeg with its SIMD.
//!
//! Baseline pictures are decoded as they are read, in a few rows of memory. Progressive ones, and those whose colours come
//! in scans of their own, are known only when the whole file is read: libjpeg keeps the coefficients of the whole picture
//! then, which is checked against the bounds first.

mod header;
mod segments;
mod verdict;

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};

use edgezoom_content::Size;
use mozjpeg::decompress::{DecompressBuilder, DecompressStarted};
use mozjpeg::{ColorSpace, Decompress};

use super::inks::Inks;
use super::{Bounds, Decoded, Format, Layout, Orientation, Profile, SourceError, Strips};
use verdict::guarded;

/// A JPEG whose rows libjpeg gives as they are wanted.
struct Direct {
    size: Size,
    layout: Layout,
    decoder: DecompressStarted<BufReader<File>>,
}

/// A JPEG in the four colours of print.
struct Print {
    size: Size,
    decoder: DecompressStarted<BufReader<File>>,
    /// Whether 255 means no ink, as in all that Adobe's programs write.
    inverted: bool,
    inks: Inks,
    rows: Vec<u8>,
}

pub fn open(mut file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let markers = header::read(&mut file)?;
    if let Some(markers) = markers {
        bounds.admit(u32::from(markers.width), u32::from(markers.height))?;
    }
    file.seek(SeekFrom::Start(0))?;
    let header = guarded(|| {
        DecompressBuilder::new().with_err(verdict::judge()).with_markers(segments::KEPT).from_reader(file)
    })?;
    let size = bounds.admit(narrow(header.width()), narrow(header.height()))?;
    if markers.is_some_and(|markers| markers.is_kept_whole) {
        bounds.admit_memory(coefficient_bytes(&header, size), "decoding a progressive JPEG")?;
    }
    let orientation = segments::exif(&header).map_or(Orientation::UPRIGHT, Orientation::of_exif);
    let profile = segments::profile(&header).and_then(|profile| Profile::of_icc(&profile));
    let inverted = segments::is_adobes(&header);
    let strips: Box<dyn Strips> = match header.color_space() {
        ColorSpace::JCS_GRAYSCALE => {
            Box::new(Direct { size, layout: Layout::Grey, decoder: guarded(|| header.grayscale())? })
        }
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB => {
            Box::new(Direct { size, layout: Layout::Rgb, decoder: guarded(|| header.rgb())? })
        }
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => {
            let decoder = guarded(|| header.to_colorspace(ColorSpace::JCS_CMYK))?;
            Box::new(Print { size, decoder, inverted, inks: Inks::new(profile.as_ref()), rows: Vec::new() })
        }
        _ => return Err(SourceError::unsupported(Format::Jpeg, "its colours are unknown")),
    };
    Ok(Decoded { strips, orientation, profile })
}

impl Strips for Direct {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        guarded(|| self.decoder.read_scanlines_into(into).map(|_| ()))
    }
}

impl Strips for Print {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.rows.resize(into.len() / 3 * 4, 0);
        guarded(|| self.decoder.read_scanlines_into(&mut self.rows).map(|_| ()))?;
        if self.inverted {
            self.rows.iter_mut().for_each(|ink| *ink = 255 - *ink);
        }
        self.inks.convert(&self.rows, into);
        Ok(())
    }
}

/// What libjpeg keeps of a picture that it cannot decode as it reads: 64 coefficients of 2 bytes for each block of each
/// component.
fn coefficient_bytes<R>(header: &Decompress<R>, size: Size) -> u64 {
    let factor = |sampling: i32| u64::from(sampling.unsigned_abs().max(1));
    let components = header.components();
    let most_across = components.iter().map(|component| factor(component.h_samp_factor)).max().unwrap_or(1);
    let most_down = components.iter().map(|component| factor(component.v_samp_factor)).max().unwrap_or(1);
    components
        .iter()
        .map(|component| {
            let across = (u64::from(size.width) * factor(component.h_samp_factor)).div_ceil(8 * most_across);
            let down = (u64::from(size.height) * factor(component.v_samp_factor)).div_ceil(8 * most_down);
            across * down * 128
        })
        .sum()
}

/// A side as libjpeg gives it: at most 65,535.
fn narrow(side: usize) -> u32 {
    u32::try_from(side).unwrap_or(u32::MAX)
}
