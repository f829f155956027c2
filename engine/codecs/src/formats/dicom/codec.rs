//! The numbers of the first frame's pixels, row by row, decompressed.
//!
//! Source: DICOM PS3.5, 8 (pixels), 10 and annex A (transfer syntaxes).

use std::io::Read;
use std::sync::Arc;

use edgezoom_geometry::Size;
use jpeg_decoder::{CodingProcess, Decoder};
use jpegls::CodecError;

use super::elements::{Elements, Place, tag};
use super::run_length::{self, Plane};
use super::{FORMAT, too_short};
use crate::buffered::catch_panics;
use crate::colour::samples::round_16;
use crate::format::Decoded;
use crate::formats::jpeg;
use crate::formats::section::{Section, SharedBytes};
use crate::{Bounds, DecodeOptions, Layout, RowReader, SourceError, SourceFile};

/// The form of pixels, from the header.
#[derive(Clone, Copy, Debug)]
pub struct Pixel {
    pub size: Size,
    /// Samples per pixel: 1 or 3.
    pub samples: usize,
    /// Bits in which a sample is stored.
    pub allocated: u16,
    /// Bits of a sample that count.
    pub stored: u16,
    pub is_signed: bool,
    pub is_planar: bool,
    pub is_subsampled: bool,
}

/// A source of numbers.
pub enum Codec {
    Stored {
        file: Arc<SourceFile>,
        pixels: Place,
        pixel: Pixel,
        is_big_endian: bool,
        read: u32,
    },
    Runs {
        planes: Vec<Plane>,
        pixel: Pixel,
    },
    /// A decoder of 8-bit samples.
    Bytes {
        reader: Box<dyn RowReader>,
        row: Vec<u8>,
    },
    Numbers {
        numbers: Vec<i32>,
        read: usize,
    },
    /// A picture in colour that needs no conversion.
    Final(Box<Decoded>),
}

const RUN_LENGTH: &str = "1.2.840.10008.1.2.5";
const DEFLATED: &str = "1.2.840.10008.1.2.1.99";

impl Codec {
    pub fn open(
        file: &Arc<SourceFile>,
        elements: &Elements,
        pixel: Pixel,
        bounds: Bounds,
        options: &DecodeOptions,
    ) -> Result<Self, SourceError> {
        let syntax = elements.text(tag::TRANSFER_SYNTAX).unwrap_or_default();
        if !elements.is_encapsulated {
            if syntax == DEFLATED {
                return Err(FORMAT.unsupported("all of it is compressed by deflate"));
            }
            let Some(&pixels) = elements.pixels.first() else { return Err(too_short()) };
            let (file, is_big_endian) = (Arc::clone(file), elements.is_big_endian);
            return Ok(Self::Stored { file, pixels, pixel, is_big_endian, read: 0 });
        }
        let frame = first_frame(file, elements)?;
        match syntax.as_str() {
            RUN_LENGTH => {
                let [part] = *frame else { return Err(FORMAT.unsupported("its runs are split into parts")) };
                let count = pixel.samples * usize::from(pixel.allocated / 8);
                Ok(Self::Runs { planes: run_length::planes(file, part, count)?, pixel })
            }
            // JPEG of 8 and of 12 bits.
            "1.2.840.10008.1.2.4.50" | "1.2.840.10008.1.2.4.51" => {
                let frame = SharedBytes::file(joined(file, &frame, bounds)?);
                let decoded = jpeg::open_shared(frame, bounds, options)?;
                same_size(decoded.reader.as_ref(), pixel)?;
                if decoded.reader.layout() != Layout::Grey || pixel.samples != 1 {
                    return Ok(Self::Final(Box::new(decoded)));
                }
                Ok(Self::Bytes { reader: decoded.reader, row: Vec::new() })
            }
            // Lossless JPEG by any predictor, or by the first one.
            "1.2.840.10008.1.2.4.57" | "1.2.840.10008.1.2.4.70" => {
                lossless_jpeg(&joined(file, &frame, bounds)?, pixel, bounds)
            }
            // JPEG-LS, lossless or nearly so.
            "1.2.840.10008.1.2.4.80" | "1.2.840.10008.1.2.4.81" => {
                jpeg_ls(joined(file, &frame, bounds)?, pixel, bounds)
            }
            // JPEG 2000, lossless or lossy, and high-throughput JPEG 2000.
            "1.2.840.10008.1.2.4.90"
            | "1.2.840.10008.1.2.4.91"
            | "1.2.840.10008.1.2.4.201"
            | "1.2.840.10008.1.2.4.202"
            | "1.2.840.10008.1.2.4.203" => jpeg_2000(&joined(file, &frame, bounds)?, pixel, bounds),
            other => Err(FORMAT.unsupported(format_args!("its pixels are compressed by {}", name(other)))),
        }
    }

    /// Reads the numbers of the next row, pixel after pixel.
    pub fn read_row(&mut self, into: &mut [i32]) -> Result<(), SourceError> {
        match self {
            Self::Stored { file, pixels, pixel, is_big_endian, read } => {
                read_stored(file, *pixels, *pixel, *is_big_endian, *read, into)?;
                *read += 1;
            }
            Self::Runs { planes, pixel } => {
                let bytes = usize::from(pixel.allocated / 8);
                let mut row = vec![0; into.len() / pixel.samples.max(1)];
                into.fill(0);
                for (index, plane) in planes.iter_mut().enumerate() {
                    plane.read(&mut row)?;
                    let numbers = into.iter_mut().skip(index / bytes).step_by(pixel.samples);
                    numbers.zip(&row).for_each(|(number, &byte)| *number = *number << 8 | i32::from(byte));
                }
                into.iter_mut().for_each(|number| *number = pixel.extended(*number as u32));
            }
            Self::Bytes { reader, row } => {
                row.resize(into.len(), 0);
                reader.read_rows(row)?;
                into.iter_mut().zip(row).for_each(|(number, byte)| *number = i32::from(*byte));
            }
            Self::Numbers { numbers, read } => {
                let row = numbers.get(*read..*read + into.len()).ok_or_else(too_short)?;
                into.copy_from_slice(row);
                *read += into.len();
            }
            Self::Final(_) => return Err(too_short()),
        }
        Ok(())
    }
}

impl Pixel {
    /// Returns a sample without its unused bits, with its sign.
    fn extended(&self, number: u32) -> i32 {
        let unused = 32 - u32::from(self.stored);
        let number = number << unused;
        if self.is_signed { number as i32 >> unused } else { (number >> unused) as i32 }
    }

    /// Converts a sample to 8 bits.
    pub fn shade(&self, number: i32) -> u8 {
        match self.stored {
            8 => number as u8,
            // Colours of more than 8 bits are not signed.
            stored => round_16(((number as u32 as u64 * 65_535) / ((1u64 << stored) - 1)).min(65_535) as u16),
        }
    }
}

/// Reads a row of uncompressed pixels.
fn read_stored(
    file: &Arc<SourceFile>,
    pixels: Place,
    pixel: Pixel,
    is_big_endian: bool,
    row: u32,
    into: &mut [i32],
) -> Result<(), SourceError> {
    let width = pixel.size.width as usize;
    let bytes = usize::from(pixel.allocated / 8);
    let planes = if pixel.is_planar && pixel.samples > 1 { pixel.samples } else { 1 };
    let is_subsampled = pixel.is_subsampled && pixel.samples == 3 && planes == 1;
    // Two pixels have two samples of luma and one each of chroma.
    let samples = if is_subsampled { 2 * width.next_multiple_of(2) } else { into.len() / planes };
    let mut stored = vec![0; samples * bytes];
    for plane in 0..planes as u64 {
        let row = plane * u64::from(pixel.size.height) + u64::from(row);
        let at = row * stored.len() as u64;
        let mut section = Section::new(file, pixels.at.saturating_add(at), pixels.length.saturating_sub(at));
        section.read_exact(&mut stored).map_err(|_| too_short())?;
        let number = |bytes: &[u8]| {
            let join = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
            pixel.extended(match is_big_endian {
                true => bytes.iter().fold(0, join),
                false => bytes.iter().rev().fold(0, join),
            })
        };
        let numbers = stored.chunks_exact(bytes).map(number);
        if is_subsampled {
            let numbers: Vec<i32> = numbers.collect();
            let pairs = numbers
                .as_chunks()
                .0
                .iter()
                .flat_map(|&[one, other, blue, red]| [one, blue, red, other, blue, red]);
            into.iter_mut().zip(pairs).for_each(|(out, number)| *out = number);
        } else {
            let out = into.iter_mut().skip(plane as usize).step_by(planes);
            out.zip(numbers).for_each(|(out, number)| *out = number);
        }
    }
    Ok(())
}

/// Returns the fragments of the first frame: by the table of frames, or else the first of several. A single frame has
/// all fragments.
fn first_frame(file: &Arc<SourceFile>, elements: &Elements) -> Result<Vec<Place>, SourceError> {
    let [table, parts @ ..] = elements.pixels.as_slice() else { return Err(too_short()) };
    let frames = elements.text(tag::FRAMES).and_then(|frames| frames.parse::<usize>().ok()).unwrap_or(1);
    if frames <= 1 {
        return Ok(parts.to_vec());
    }
    let mut second = [0; 4];
    let mut section = Section::new(file, table.at.saturating_add(4), table.length.saturating_sub(4));
    let first_at = parts.first().map_or(0, |part| part.at);
    let is_before = |part: &&Place, second: u64| part.at - first_at < second;
    match section.read_exact(&mut second) {
        Ok(()) if second != [0; 4] => {
            let second = u32::from_le_bytes(second).into();
            Ok(parts.iter().take_while(|part| is_before(part, second)).copied().collect())
        }
        _ => Ok(parts.iter().take(1).copied().collect()),
    }
}

/// Returns the bytes of a frame's fragments.
fn joined(file: &Arc<SourceFile>, parts: &[Place], bounds: Bounds) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    for part in parts {
        bounds.admit_memory(bytes.len() as u64 + part.length, "holding a compressed DICOM")?;
        let section = Section::new(file, part.at, part.length);
        section.buffered(64 << 10).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn same_size(reader: &dyn RowReader, pixel: Pixel) -> Result<(), SourceError> {
    match reader.size() == pixel.size {
        true => Ok(()),
        false => Err(other_picture()),
    }
}

fn other_picture() -> SourceError {
    FORMAT.corrupt("its header and its compressed picture have different sizes")
}

fn lossless_jpeg(bytes: &[u8], pixel: Pixel, bounds: Bounds) -> Result<Codec, SourceError> {
    let broken = |_| FORMAT.corrupt("its lossless JPEG is invalid");
    // The decoder keeps differences, samples and two copies of them.
    bounds.admit_memory(pixel.size.pixels() * pixel.samples as u64 * 16, "decoding a lossless JPEG")?;
    let samples = catch_panics(&FORMAT, || {
        let mut decoder = Decoder::new(bytes);
        decoder.read_info().map_err(broken)?;
        let info = decoder.info().ok_or_else(too_short)?;
        let size = (u32::from(info.width), u32::from(info.height));
        if size != (pixel.size.width, pixel.size.height) || info.coding_process != CodingProcess::Lossless {
            return Err(other_picture());
        }
        decoder.decode().map_err(broken)
    })?;
    let count = pixel.size.pixels() as usize * pixel.samples;
    let numbers = match (samples.len() / count, samples.len() % count) {
        (1, 0) => samples.iter().map(|&sample| pixel.extended(sample.into())).collect(),
        (2, 0) => {
            let numbers = samples.as_chunks().0.iter().map(|&sample| u16::from_ne_bytes(sample));
            numbers.map(|number| pixel.extended(number.into())).collect()
        }
        _ => return Err(other_picture()),
    };
    Ok(Codec::Numbers { numbers, read: 0 })
}

fn jpeg_ls(mut bytes: Vec<u8>, pixel: Pixel, bounds: Bounds) -> Result<Codec, SourceError> {
    if pixel.samples != 1 {
        return Err(FORMAT.unsupported("its colours are compressed by JPEG-LS"));
    }
    bounds.admit_memory(pixel.size.pixels() * 6, "decoding a JPEG-LS")?;
    // Bytes of ones may precede a marker (ITU-T T.81, B.1.1.2), but the crate expects none before the last.
    let end = bytes.windows(2).rposition(|marker| marker == [0xff, 0xd9]).unwrap_or_default();
    let fill = bytes.iter().take(end).rev().take_while(|byte| **byte == 0xff).count();
    bytes.drain(end - fill..end);
    let decode = || jpegls::decode(&bytes, pixel.size.width, pixel.size.height);
    let (numbers, ..) = catch_panics(&FORMAT, || {
        decode().map_err(|error| match error {
            CodecError::Unsupported(_) => FORMAT.unsupported("its JPEG-LS has restart markers or tables"),
            _ => FORMAT.corrupt("its JPEG-LS is invalid"),
        })
    })?;
    let numbers = numbers.into_iter().map(|number| pixel.extended(number.into())).collect();
    Ok(Codec::Numbers { numbers, read: 0 })
}

#[cfg(feature = "modern")]
fn jpeg_2000(bytes: &[u8], pixel: Pixel, bounds: Bounds) -> Result<Codec, SourceError> {
    if pixel.samples != 1 {
        let decoded = catch_panics(&FORMAT, || crate::formats::jpeg2000::decode(bytes, bounds))?;
        same_size(decoded.reader.as_ref(), pixel)?;
        return Ok(Codec::Final(Box::new(decoded)));
    }
    crate::formats::jpeg2000::admit_components_of(bytes)?;
    // All bits are needed for the window.
    bounds.admit_memory(pixel.size.pixels() * 20, "decoding a JPEG 2000")?;
    let broken = |_| FORMAT.corrupt("its JPEG 2000 is invalid");
    let numbers = catch_panics(&FORMAT, || {
        let samples = crate::formats::jpeg2000::high_throughput_samples(bytes, pixel.size, bounds)?;
        if let Some(samples) = samples {
            return Ok(samples.iter().map(|&sample| pixel.extended(sample as u32)).collect());
        }
        let image =
            hayro_jpeg2000::Image::new(bytes, &hayro_jpeg2000::DecodeSettings::default()).map_err(broken)?;
        if (image.width(), image.height()) != (pixel.size.width, pixel.size.height) {
            return Err(other_picture());
        }
        let mut context = hayro_jpeg2000::DecoderContext::default();
        let decoded = image.decode(&mut context).map_err(broken)?;
        let component = decoded.components().first().ok_or_else(too_short)?;
        Ok(component.samples().iter().map(|&sample| pixel.extended(sample.round() as i32 as u32)).collect())
    })?;
    Ok(Codec::Numbers { numbers, read: 0 })
}

#[cfg(not(feature = "modern"))]
fn jpeg_2000(_: &[u8], _: Pixel, _: Bounds) -> Result<Codec, SourceError> {
    Err(FORMAT.unsupported("its pixels are compressed by JPEG 2000"))
}

/// Returns the name of a compression that is not supported (DICOM PS3.6, table A-1).
fn name(syntax: &str) -> &str {
    match syntax {
        "1.2.840.10008.1.2.4.110" | "1.2.840.10008.1.2.4.111" | "1.2.840.10008.1.2.4.112" => "JPEG XL",
        _ if syntax.starts_with("1.2.840.10008.1.2.4.10") => "video",
        other => other,
    }
}
