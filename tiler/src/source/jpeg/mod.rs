//! JPEG, row by row, through libjpeg with its SIMD.
//!
//! Baseline pictures are decoded as they are read, in a few rows of memory. Progressive ones, and those whose colours come
//! in scans of their own, are known only when the whole file is read: libjpeg keeps the coefficients of the whole picture
//! then, which is checked against the bounds first.

mod header;
mod verdict;

use std::io::{BufRead, Seek, SeekFrom};

use edgezoom_content::Size;
use mozjpeg::decompress::{DecompressBuilder, DecompressStarted};
use mozjpeg::{ColorSpace, Decompress, Marker};

use super::samples::{from_cmyk, from_inverted_cmyk};
use super::{Bounds, Format, Layout, Orientation, SourceError, Strips};
use verdict::guarded;

/// The marker segments that EXIF and Adobe's colour transform are in.
const EXIF: Marker = Marker::APP(1);
const ADOBE: Marker = Marker::APP(14);

/// A JPEG whose rows libjpeg gives as they are wanted.
struct Direct<R> {
    size: Size,
    layout: Layout,
    decoder: DecompressStarted<R>,
}

/// A JPEG in the four colours of print.
struct Print<R> {
    size: Size,
    decoder: DecompressStarted<R>,
    /// Whether 255 means no ink, as in all that Adobe's programs write.
    inverted: bool,
    rows: Vec<u8>,
}

pub fn open<R>(mut file: R, bounds: Bounds) -> Result<(Box<dyn Strips>, Orientation), SourceError>
where
    R: BufRead + Seek + 'static,
{
    let markers = header::read(&mut file)?;
    if let Some(markers) = markers {
        bounds.admit(u32::from(markers.width), u32::from(markers.height))?;
    }
    file.seek(SeekFrom::Start(0))?;
    let header = guarded(|| {
        DecompressBuilder::new().with_err(verdict::judge()).with_markers(&[EXIF, ADOBE]).from_reader(file)
    })?;
    let size = bounds.admit(narrow(header.width()), narrow(header.height()))?;
    if markers.is_some_and(|markers| markers.is_kept_whole) {
        bounds.admit_memory(coefficient_bytes(&header, size), "decoding a progressive JPEG")?;
    }
    let segment = |marker, name: &'static [u8]| {
        header.markers().find(|found| found.marker == marker && found.data.starts_with(name))
    };
    let orientation = segment(EXIF, b"Exif\0\0")
        .and_then(|found| found.data.get(6..))
        .map_or(Orientation::UPRIGHT, Orientation::of_exif);
    let inverted = segment(ADOBE, b"Adobe").is_some();
    let strips: Box<dyn Strips> = match header.color_space() {
        ColorSpace::JCS_GRAYSCALE => {
            Box::new(Direct { size, layout: Layout::Grey, decoder: guarded(|| header.grayscale())? })
        }
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB => {
            Box::new(Direct { size, layout: Layout::Rgb, decoder: guarded(|| header.rgb())? })
        }
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => {
            let decoder = guarded(|| header.to_colorspace(ColorSpace::JCS_CMYK))?;
            Box::new(Print { size, decoder, inverted, rows: Vec::new() })
        }
        _ => return Err(SourceError::unsupported(Format::Jpeg, "its colours are unknown")),
    };
    Ok((strips, orientation))
}

impl<R: BufRead> Strips for Direct<R> {
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

impl<R: BufRead> Strips for Print<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.rows.resize(into.len() / 3 * 4, 0);
        guarded(|| self.decoder.read_scanlines_into(&mut self.rows).map(|_| ()))?;
        let convert = if self.inverted { from_inverted_cmyk } else { from_cmyk };
        let (from, _) = self.rows.as_chunks::<4>();
        let (to, _) = into.as_chunks_mut::<3>();
        for (to, &from) in to.iter_mut().zip(from) {
            *to = convert(from);
        }
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
