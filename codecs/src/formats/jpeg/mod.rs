//! JPEG, row by row, with libjpeg (mozjpeg) and its SIMD.
//!
//! Baseline pictures are decoded as they are read, in a few rows of memory. Progressive pictures, and those with a scan
//! for each component, are complete only at the end of the file: libjpeg buffers the coefficients of the whole picture,
//! which is checked against the bounds first.
//!
//! Source: ITU-T T.81 (the codec), ITU-T T.871 (JFIF).

mod decompressor;
mod error_manager;
mod header;
mod segments;
pub mod ycbcr420;

use std::io::{BufRead, Seek, SeekFrom};

use edgezoom_content::Size;
use mozjpeg::decompress::{DecompressBuilder, DecompressStarted};
use mozjpeg::{ColorSpace, Decompress};

use crate::colour::cmyk::CmykConverter;
use crate::colour::icc::Profile;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Bounds, Format, Layout, Orientation, Reading, RowReader, SourceError};
use error_manager::{NAME, catch_errors};
use ycbcr420::YCbCr420Reader;

pub(crate) static FORMAT: Format = Format {
    name: NAME,
    media_types: &["image/jpeg"],
    endings: &["jpg", "jpeg"],
    reading: Reading::Rows,
    signature: |head| head.starts_with(&[0xff, 0xd8, 0xff]),
    open: Open::Directly(open),
};

/// A JPEG in grey or RGB.
struct Rows<R> {
    size: Size,
    layout: Layout,
    decoder: DecompressStarted<R>,
}

/// A JPEG in CMYK.
struct CmykRows<R> {
    size: Size,
    decoder: DecompressStarted<R>,
    /// Whether 255 means no ink, as in files of Adobe's programs.
    is_inverted: bool,
    converter: CmykConverter,
    rows: Vec<u8>,
}

/// Opens a JPEG that is a file of its own.
fn open(Input { mut file, bounds, options }: Input<'_>) -> Result<Decoded, SourceError> {
    if options.ycbcr420 {
        let markers = read_markers(&mut file, bounds)?;
        let header = read_header(&mut file)?;
        let size = bounds.admit(side(header.width()), side(header.height()))?;
        // Turning and colour conversion work on pixels, not on planes.
        let is_upright = orientation(&header) == Orientation::UPRIGHT;
        let is_srgb = !profile(&header).is_some_and(|profile| profile.changes(Layout::Rgb));
        let as_planes = is_upright && is_srgb && ycbcr420::is_ycbcr420(&header);
        let is_admitted = admits_coefficients(&header, markers, size, bounds).is_ok();
        drop(header);
        file.seek(SeekFrom::Start(0))?;
        if as_planes && is_admitted {
            return Ok(Decoded::plain(YCbCr420Reader::open(file.into_inner(), size)?));
        }
    }
    open_reader(file, bounds)
}

/// Opens a JPEG from a reader that is at its start.
pub fn open_reader<R>(mut file: R, bounds: Bounds) -> Result<Decoded, SourceError>
where
    R: BufRead + Seek + 'static,
{
    let markers = read_markers(&mut file, bounds)?;
    let header = read_header(file)?;
    let size = bounds.admit(side(header.width()), side(header.height()))?;
    admits_coefficients(&header, markers, size, bounds)?;
    let (orientation, profile) = (orientation(&header), profile(&header));
    let is_inverted = segments::has_adobe_marker(&header);
    let reader: Box<dyn RowReader> = match header.color_space() {
        ColorSpace::JCS_GRAYSCALE => {
            Box::new(Rows { size, layout: Layout::Grey, decoder: catch_errors(|| header.grayscale())? })
        }
        ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB => {
            Box::new(Rows { size, layout: Layout::Rgb, decoder: catch_errors(|| header.rgb())? })
        }
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => {
            let decoder = catch_errors(|| header.to_colorspace(ColorSpace::JCS_CMYK))?;
            let converter = CmykConverter::new(profile.as_ref());
            Box::new(CmykRows { size, decoder, is_inverted, converter, rows: Vec::new() })
        }
        _ => return Err(FORMAT.unsupported("its colour space is unknown")),
    };
    Ok(Decoded { reader, orientation, profile })
}

impl<R: BufRead> RowReader for Rows<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        catch_errors(|| self.decoder.read_scanlines_into(into).map(|_| ()))
    }
}

impl<R: BufRead> RowReader for CmykRows<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.rows.resize(into.len() / 3 * 4, 0);
        catch_errors(|| self.decoder.read_scanlines_into(&mut self.rows).map(|_| ()))?;
        if self.is_inverted {
            self.rows.iter_mut().for_each(|sample| *sample = 255 - *sample);
        }
        self.converter.convert(&self.rows, into);
        Ok(())
    }
}

/// Whether a JPEG in memory can be read as planes.
pub fn is_ycbcr420(file: &[u8]) -> bool {
    let header = catch_errors(|| DecompressBuilder::new().with_err(error_manager::new()).from_mem(file));
    header.is_ok_and(|header| ycbcr420::is_ycbcr420(&header))
}

/// Decodes a JPEG in memory as RGB into these rows. A row may be shorter than the picture is wide, and there may be
/// fewer of them than it is high: the rest is cropped.
pub fn decode_into(file: &[u8], width: u32, rows: Vec<&mut [u8]>) -> Result<(), SourceError> {
    admit_scans_of(file)?;
    let header = catch_errors(|| DecompressBuilder::new().with_err(error_manager::new()).from_mem(file))?;
    let is_colour = matches!(header.color_space(), ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB);
    if !is_colour || side(header.width()) != width || header.height() < rows.len() {
        return Err(FORMAT.corrupt("a strip or tile has another size or colour space than the file says"));
    }
    let mut decoder = catch_errors(|| header.rgb())?;
    let mut full_row = vec![0; Layout::Rgb.row_bytes(width)];
    for row in rows {
        if row.len() == full_row.len() {
            catch_errors(|| decoder.read_scanlines_into(row).map(|_| ()))?;
        } else {
            catch_errors(|| decoder.read_scanlines_into(&mut full_row).map(|_| ()))?;
            row.copy_from_slice(&full_row[..row.len()]);
        }
    }
    Ok(())
}

/// Reads the markers and checks the size. The file is at its start afterwards.
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
    catch_errors(|| {
        DecompressBuilder::new()
            .with_err(error_manager::new())
            .with_markers(segments::SAVED)
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
        Some(markers) if markers.is_buffered => {
            admit_scans(markers)?;
            bounds.admit_memory(coefficient_bytes(header, size), "decoding a progressive JPEG")
        }
        _ => Ok(()),
    }
}

fn admit_scans(markers: header::Header) -> Result<(), SourceError> {
    if markers.scans > header::MAX_SCANS {
        return Err(SourceError::too_complex(NAME, format!("it has more than {} scans", header::MAX_SCANS)));
    }
    Ok(())
}

/// Checks the scans of a JPEG in memory.
pub fn admit_scans_of(mut file: &[u8]) -> Result<(), SourceError> {
    header::read(&mut file)?.map_or(Ok(()), admit_scans)
}

/// The bytes that libjpeg buffers of a progressive picture: 64 coefficients of 2 bytes for each block of each
/// component.
fn coefficient_bytes<R>(header: &Decompress<R>, size: Size) -> u64 {
    let factor = |sampling: i32| u64::from(sampling.unsigned_abs().max(1));
    let components = header.components();
    let max_across = components.iter().map(|component| factor(component.h_samp_factor)).max().unwrap_or(1);
    let max_down = components.iter().map(|component| factor(component.v_samp_factor)).max().unwrap_or(1);
    components
        .iter()
        .map(|component| {
            let across = (u64::from(size.width) * factor(component.h_samp_factor)).div_ceil(8 * max_across);
            let down = (u64::from(size.height) * factor(component.v_samp_factor)).div_ceil(8 * max_down);
            across * down * 128
        })
        .sum()
}

/// A side as libjpeg gives it, at most 65,535.
fn side(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
