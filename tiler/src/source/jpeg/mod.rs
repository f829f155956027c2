//! JPEG, row by row, through libjpeg with its SIMD.
//!
//! Baseline pictures are decoded as they are read, in a few rows of memory. Progressive ones, and those whose colours come
//! in scans of their own, are known only when the whole file is read: libjpeg keeps the coefficients of the whole picture
//! then, which is checked against the bounds first.

mod decompressor;
mod header;
pub mod planes;
mod verdict;

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use edgezoom_content::Size;
use mozjpeg::decompress::{DecompressBuilder, DecompressStarted};
use mozjpeg::{ColorSpace, Decompress, Marker};

use super::samples::{from_cmyk, from_inverted_cmyk};
use super::{Bounds, Format, Layout, Orientation, SourceError, Strips, Wish};
use planes::Planes;
use verdict::guarded;

/// The marker segments that EXIF and Adobe's colour transform are in.
const EXIF: Marker = Marker::APP(1);
const ADOBE: Marker = Marker::APP(14);

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
    rows: Vec<u8>,
}

pub fn open(
    mut file: BufReader<File>,
    bounds: Bounds,
    wish: Wish,
) -> Result<(Box<dyn Strips>, Orientation), SourceError> {
    let markers = header::read(&mut file)?;
    if let Some(markers) = markers {
        bounds.admit(u32::from(markers.width), u32::from(markers.height))?;
    }
    if wish.may_be_planes {
        file.seek(SeekFrom::Start(0))?;
        let header = read_header(&mut file)?;
        let size = bounds.admit(narrow(header.width()), narrow(header.height()))?;
        let is_upright = orientation(&header) == Orientation::UPRIGHT;
        if is_upright && planes::suit(&header) && admits_coefficients(&header, markers, size, bounds).is_ok()
        {
            drop(header);
            file.seek(SeekFrom::Start(0))?;
            return Ok((Box::new(Planes::open(file.into_inner(), size)?), Orientation::UPRIGHT));
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let header = read_header(file)?;
    let size = bounds.admit(narrow(header.width()), narrow(header.height()))?;
    admits_coefficients(&header, markers, size, bounds)?;
    let orientation = orientation(&header);
    let inverted = segment(&header, ADOBE, b"Adobe").is_some();
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
        let convert = if self.inverted { from_inverted_cmyk } else { from_cmyk };
        let (from, _) = self.rows.as_chunks::<4>();
        let (to, _) = into.as_chunks_mut::<3>();
        for (to, &from) in to.iter_mut().zip(from) {
            *to = convert(from);
        }
        Ok(())
    }
}

/// Whether a JPEG in memory can be given as planes.
pub fn suits_planes(file: &[u8]) -> bool {
    let header = guarded(|| DecompressBuilder::new().with_err(verdict::judge()).from_mem(file));
    header.is_ok_and(|header| planes::suit(&header))
}

/// Decodes a JPEG in memory whose colours are to be RGB, to these parts of rows, which may be less than its width and height.
pub fn decode_into(file: &[u8], width: u32, rows: Vec<&mut [u8]>) -> Result<(), SourceError> {
    let header = guarded(|| DecompressBuilder::new().with_err(verdict::judge()).from_mem(file))?;
    let is_colour = matches!(header.color_space(), ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB);
    if !is_colour || narrow(header.width()) != width || header.height() < rows.len() {
        return Err(SourceError::corrupt(Format::Jpeg, "its size or colours are not what is told of them"));
    }
    let mut decoder = guarded(|| header.rgb())?;
    let mut whole = vec![0; Layout::Rgb.row_bytes(width)];
    for row in rows {
        if row.len() == whole.len() {
            guarded(|| decoder.read_scanlines_into(row).map(|_| ()))?;
        } else {
            guarded(|| decoder.read_scanlines_into(&mut whole).map(|_| ()))?;
            row.copy_from_slice(&whole[..row.len()]);
        }
    }
    Ok(())
}

fn read_header<R: BufRead>(file: R) -> Result<Decompress<R>, SourceError> {
    guarded(|| {
        DecompressBuilder::new().with_err(verdict::judge()).with_markers(&[EXIF, ADOBE]).from_reader(file)
    })
}

fn orientation<R>(header: &Decompress<R>) -> Orientation {
    segment(header, EXIF, b"Exif\0\0").map_or(Orientation::UPRIGHT, Orientation::of_exif)
}

/// What follows a segment's name, if there is such a segment.
fn segment<'a, R>(header: &'a Decompress<R>, marker: Marker, name: &'static [u8]) -> Option<&'a [u8]> {
    header.markers().filter(|found| found.marker == marker).find_map(|found| found.data.strip_prefix(name))
}

fn admits_coefficients<R>(
    header: &Decompress<R>,
    markers: Option<header::Header>,
    size: Size,
    bounds: Bounds,
) -> Result<(), SourceError> {
    match markers {
        Some(markers) if markers.is_kept_whole => {
            bounds.admit_memory(coefficient_bytes(header, size), "decoding a progressive JPEG")
        }
        _ => Ok(()),
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
