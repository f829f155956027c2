//! PNG, row by row. Interlaced pictures give their rows in seven passes and are decoded as a whole.
//!
//! An `eXIf` chunk counts wherever it stands. Many programs write it behind the pixels, so the chunks' headers are looked through
//! before the first one is decoded.

use std::fs::File;
use std::io::BufReader;

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Reader, Transformations};
use edgezoom_content::Size;

use crate::colour::icc::Wide;
use crate::colour::samples::round_16;
use crate::{Bounds, Buffered, Decoded, Format, Layout, Orientation, RowReader, SourceError};

mod colour;
mod exif;

/// What the decoder may allocate for its own purposes: a few rows, and chunks that it does not skip.
const DECODER_BYTES: usize = 64 << 20;

/// A PNG whose rows come one by one.
struct Rows {
    size: Size,
    reader: Reader<BufReader<File>>,
    kind: Kind,
    wide: Option<Wide>,
    row: Vec<u8>,
}

/// The samples that the decoder gives, with palettes and small depths already expanded.
#[derive(Clone, Copy)]
struct Kind {
    color: ColorType,
    /// Whether samples are 16 bits wide.
    wide: bool,
}

pub fn open(file: BufReader<File>, bounds: Bounds) -> Result<Decoded, SourceError> {
    let exif = exif::find(file.get_ref());
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    let mut decoder = Decoder::new_with_limits(file, Limits { bytes: DECODER_BYTES });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    let header = decoder.read_header_info().map_err(error)?;
    let size = bounds.admit(header.width, header.height)?;
    let mut reader = decoder.read_info().map_err(error)?;
    let profile = colour::profile(reader.info());
    let (color, depth) = reader.output_color_type();
    let kind = Kind { color, wide: depth == BitDepth::Sixteen };
    let mut wide = profile.as_ref().filter(|_| kind.wide).and_then(|profile| profile.wide(kind.layout()));
    // What is converted while it is wide is sRGB then.
    let profile = profile.filter(|_| wide.is_none());
    if !reader.info().interlaced {
        let strips = Box::new(Rows { size, reader, kind, wide, row: Vec::new() });
        return Ok(Decoded { strips, orientation, profile });
    }
    let mut whole = Buffered::new(size, kind.layout(), bounds)?;
    if kind.is_final() {
        reader.next_frame(&mut whole.pixels).map_err(error)?;
    } else {
        let bytes = reader.output_buffer_size().unwrap_or(usize::MAX);
        bounds.admit_memory(bytes as u64 + whole.pixels.len() as u64, "decoding an interlaced PNG")?;
        let mut samples = vec![0; bytes];
        reader.next_frame(&mut samples).map_err(error)?;
        let rows = samples.chunks_exact(kind.bytes() * size.width as usize);
        for (row, out) in
            rows.zip(whole.pixels.chunks_exact_mut(size.width as usize * kind.layout().channels()))
        {
            kind.convert(row, &mut wide, out);
        }
    }
    Ok(Decoded { strips: Box::new(whole.without_idle_opacity()), orientation, profile })
}

impl RowReader for Rows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.kind.layout()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        for out in into.chunks_exact_mut(self.size.width as usize * self.kind.layout().channels()) {
            let row = if self.kind.is_final() {
                self.reader.read_row(out).map_err(error)?
            } else {
                self.row.resize(self.kind.bytes() * self.size.width as usize, 0);
                let row = self.reader.read_row(&mut self.row).map_err(error)?;
                self.kind.convert(&self.row, &mut self.wide, out);
                row
            };
            if row.is_none() {
                return Err(SourceError::corrupt(Format::Png, "it ends before its last row"));
            }
        }
        Ok(())
    }
}

impl Kind {
    fn layout(self) -> Layout {
        match self.color {
            ColorType::Grayscale => Layout::Grey,
            ColorType::GrayscaleAlpha | ColorType::Rgba => Layout::Rgba,
            ColorType::Rgb | ColorType::Indexed => Layout::Rgb,
        }
    }

    /// The bytes of a pixel as the decoder gives it.
    fn bytes(self) -> usize {
        self.color.samples() * if self.wide { 2 } else { 1 }
    }

    /// Whether the decoder gives just the pixels that are wanted.
    fn is_final(self) -> bool {
        !self.wide && self.color != ColorType::GrayscaleAlpha
    }

    fn convert(self, samples: &[u8], wide: &mut Option<Wide>, out: &mut [u8]) {
        if let Some(wide) = wide {
            let stored = samples.as_chunks().0.iter().map(|&sample| u16::from_be_bytes(sample));
            let samples: Vec<u16> = match self.color {
                ColorType::GrayscaleAlpha => {
                    let pairs: Vec<u16> = stored.collect();
                    pairs.as_chunks().0.iter().flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect()
                }
                _ => stored.collect(),
            };
            return wide.convert(&samples, out);
        }
        let narrow = |index: usize| match samples {
            _ if !self.wide => samples[index],
            _ => round_16(u16::from_be_bytes([samples[2 * index], samples[2 * index + 1]])),
        };
        if self.color == ColorType::GrayscaleAlpha {
            let (out, _) = out.as_chunks_mut::<4>();
            for (index, out) in out.iter_mut().enumerate() {
                let grey = narrow(2 * index);
                *out = [grey, grey, grey, narrow(2 * index + 1)];
            }
        } else {
            for (index, out) in out.iter_mut().enumerate() {
                *out = narrow(index);
            }
        }
    }
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::LimitsExceeded => {
            SourceError::unsupported(Format::Png, "its rows or its metadata are too long")
        }
        DecodingError::IoError(_) => SourceError::corrupt(Format::Png, "it ends before its last row"),
        other => SourceError::corrupt(Format::Png, other),
    }
}
