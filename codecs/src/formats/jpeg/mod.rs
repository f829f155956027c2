//! JPEG, row by row, through libjpeg with its SIMD.
//!
//! Baseline pictures are decoded as they are read, in a few rows of memory. Progressive ones, and those whose colours come
//! in scans of their own, are known only when the whole file is read: libjpeg keeps the coefficients of the whole picture
//! then, which is checked against the bounds first.

mod decompressor;
mod error_manager;
mod header;
mod segments;
pub mod ycbcr420;

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use edgezoom_content::Size;
use mozjpeg::decompress::{DecompressBuilder, DecompressStarted};
use mozjpeg::{ColorSpace, Decompress};

use crate::colour::cmyk::Inks;
use crate::{Bounds, DecodeOptions, Decoded, Format, Layout, Orientation, Profile, RowReader, SourceError};
use error_manager::guarded;
use ycbcr420::Planes;

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
    inks: Inks,
    rows: Vec<u8>,
}

/// Opens a JPEG that is a file of its own.
pub fn open_file(
    mut file: BufReader<File>,
    bounds: Bounds,
    wish: DecodeOptions,
) -> Result<Decoded, SourceError> {
    if wish.ycbcr420 {
        let markers = read_markers(&mut file, bounds)?;
        let header = read_header(&mut file)?;
        let size = bounds.admit(narrow(header.width()), narrow(header.height()))?;
        // What is turned, or has other colours than sRGB's, changes pixel by pixel.
        let is_upright = orientation(&header) == Orientation::UPRIGHT;
        let is_srgb = !profile(&header).is_some_and(|profile| profile.changes(Layout::Rgb));
        let ycbcr420 = is_upright && is_srgb && ycbcr420::suit(&header);
        let is_admitted = admits_coefficients(&header, markers, size, bounds).is_ok();
        drop(header);
        file.seek(SeekFrom::Start(0))?;
        if ycbcr420 && is_admitted {
            return Ok(Decoded::plain(Planes::open(file.into_inner(), size)?));
        }
    }
    open(file, bounds)
}

/// Opens a JPEG that stands at its start.
pub fn open<R>(mut file: R, bounds: Bounds) -> Result<Decoded, SourceError>
where
    R: BufRead + Seek + 'static,
{
    let markers = read_markers(&mut file, bounds)?;
    let header = read_header(file)?;
    let size = bounds.admit(narrow(header.width()), narrow(header.height()))?;
    admits_coefficients(&header, markers, size, bounds)?;
    let (orientation, profile) = (orientation(&header), profile(&header));
    let inverted = segments::is_adobes(&header);
    let strips: Box<dyn RowReader> = match header.color_space() {
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

impl<R: BufRead> RowReader for Direct<R> {
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

impl<R: BufRead> RowReader for Print<R> {
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

/// Whether a JPEG in memory can be given as planes.
pub fn suits_planes(file: &[u8]) -> bool {
    let header = guarded(|| DecompressBuilder::new().with_err(error_manager::judge()).from_mem(file));
    header.is_ok_and(|header| ycbcr420::suit(&header))
}

/// Decodes a JPEG in memory whose colours are to be RGB, to these parts of rows, which may be less than its width and height.
pub fn decode_into(file: &[u8], width: u32, rows: Vec<&mut [u8]>) -> Result<(), SourceError> {
    let header = guarded(|| DecompressBuilder::new().with_err(error_manager::judge()).from_mem(file))?;
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

/// What the markers say, if the size that they tell is admitted. The file stands at its start afterwards.
fn read_markers(
    file: &mut (impl BufRead + Seek),
    bounds: Bounds,
) -> Result<Option<header::Header>, SourceError> {
    let markers = header::read(file)?;
    if let Some(markers) = markers {
        bounds.admit(u32::from(markers.width), u32::from(markers.height))?;
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(markers)
}

fn read_header<R: BufRead>(file: R) -> Result<Decompress<R>, SourceError> {
    guarded(|| {
        DecompressBuilder::new()
            .with_err(error_manager::judge())
            .with_markers(segments::KEPT)
            .from_reader(file)
    })
}

fn orientation<R>(header: &Decompress<R>) -> Orientation {
    segments::exif(header).map_or(Orientation::UPRIGHT, Orientation::of_exif)
}

fn profile<R>(header: &Decompress<R>) -> Option<Profile> {
    segments::profile(header).and_then(|profile| Profile::of_icc(&profile))
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
