//! Decodes a frame of HEVC or AV1. It stays in its own planes, which are read in the same way for both codecs.

use std::borrow::Cow;
use std::ops::Range;

use edgezoom_geometry::Size;
use heifer::color::ColorParams;
use heifer::heifer_hevc_dec::decoder::{DecodeOptions, decode_picture};
use heifer::heifer_hevc_dec::{Error as HevcError, recon};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use re_rav1d::dav1d::pixel::YUVRange;
use re_rav1d::dav1d::{
    Decoder, Error, Picture, PixelLayout, PlanarImageComponent as Component, Plane, Settings,
};

use super::item::Codec;
use crate::{Format, SourceError};

/// The largest coding block. A coded frame may be that much larger than the picture that the container describes.
const BLOCK: u32 = 64;

/// A decoded frame.
pub enum Frame {
    Hevc(recon::Frame),
    /// A picture of AV1, with its one or three planes.
    Av1(Picture, Vec<Plane>),
}

/// The samples of a row of a plane.
pub enum Row<'a> {
    /// 8 bits per sample.
    Bytes(&'a [u8]),
    /// More than 8 bits per sample, or HEVC.
    Words(Cow<'a, [u16]>),
}

impl Frame {
    pub fn of_av1(picture: Picture) -> Self {
        let components: &[Component] = match picture.pixel_layout() {
            PixelLayout::I400 => &[Component::Y],
            _ => &[Component::Y, Component::U, Component::V],
        };
        let planes = components.iter().map(|&component| picture.plane(component)).collect();
        Self::Av1(picture, planes)
    }

    /// Returns the width and height in samples of luma.
    pub fn size(&self) -> (usize, usize) {
        match self {
            Self::Hevc(frame) => (frame.widths[0] as usize, frame.heights[0] as usize),
            Self::Av1(picture, _) => (picture.width() as usize, picture.height() as usize),
        }
    }

    /// Returns the number of columns and rows of luma for each sample of chroma, or `None` if the frame is grey.
    pub fn subsampling(&self) -> Option<(usize, usize)> {
        match self {
            Self::Hevc(frame) if frame.widths[1] == 0 => None,
            Self::Hevc(frame) => match frame.chroma_format {
                1 => Some((2, 2)),
                2 => Some((2, 1)),
                _ => Some((1, 1)),
            },
            Self::Av1(picture, _) => match picture.pixel_layout() {
                PixelLayout::I400 => None,
                PixelLayout::I420 => Some((2, 2)),
                PixelLayout::I422 => Some((2, 1)),
                PixelLayout::I444 => Some((1, 1)),
            },
        }
    }

    /// Returns the bits of luma and of chroma, 8 to 16.
    pub fn bit_depths(&self) -> [u32; 2] {
        match self {
            Self::Hevc(frame) => frame.bit_depth.map(|bits| u32::from(bits).clamp(8, 16)),
            Self::Av1(picture, _) => [(picture.bit_depth() as u32).clamp(8, 16); 2],
        }
    }

    /// Returns the colour coding that the frame itself gives.
    pub fn colour_coding(&self) -> ColorParams {
        match self {
            Self::Hevc(frame) => ColorParams::from_frame(frame),
            Self::Av1(picture, _) => ColorParams {
                matrix: picture.matrix_coefficients() as u16,
                full_range: picture.color_range() == YUVRange::Full,
            },
        }
    }

    /// Returns the width and height of a plane in samples.
    fn plane_size(&self, component: usize) -> (usize, usize) {
        let (width, height) = self.size();
        match (self, self.subsampling()) {
            (Self::Hevc(frame), _) => (frame.widths[component] as usize, frame.heights[component] as usize),
            (_, Some((across, down))) if component > 0 => (width.div_ceil(across), height.div_ceil(down)),
            _ => (width, height),
        }
    }

    /// Returns a row of luma (0), Cb (1) or Cr (2). Below the plane its last row is repeated.
    pub fn row(&self, component: usize, y: usize) -> Option<Row<'_>> {
        let (width, height) = self.plane_size(component);
        let y = y.min(height.checked_sub(1)?);
        match self {
            Self::Hevc(frame) => {
                frame.planes[component].get(y * width..(y + 1) * width).map(|row| Row::Words(row.into()))
            }
            Self::Av1(picture, planes) => {
                let is_chroma = component > 0;
                let stride = picture.stride(if is_chroma { Component::U } else { Component::Y }) as usize;
                let plane: &[u8] = planes.get(component)?;
                if picture.bit_depth() > 8 {
                    let (samples, _) = plane.get(y * stride..y * stride + 2 * width)?.as_chunks::<2>();
                    Some(Row::Words(samples.iter().map(|&sample| u16::from_ne_bytes(sample)).collect()))
                } else {
                    plane.get(y * stride..y * stride + width).map(Row::Bytes)
                }
            }
        }
    }

    /// Returns rows of the frame, starting at an even one, as `heifer` needs them for the conversion to RGB. Luma is
    /// padded to full samples of chroma.
    pub fn window(&self, rows: Range<usize>, params: ColorParams) -> Option<recon::Frame> {
        let (width, _) = self.size();
        let (across, down) = self.subsampling().unwrap_or((1, 1));
        let count = rows.len().next_multiple_of(down);
        let sizes = match self.subsampling() {
            Some(_) => [width.next_multiple_of(across), width.div_ceil(across), width.div_ceil(across)],
            None => [width, 0, 0],
        };
        let heights = [count, count / down, count / down];
        let mut window = recon::Frame {
            widths: sizes.map(|width| width as u32),
            heights: std::array::from_fn(|index| if sizes[index] == 0 { 0 } else { heights[index] as u32 }),
            planes: Default::default(),
            bit_depth: self.bit_depths().map(|bits| bits as u8),
            chroma_format: 0,
            full_range: params.full_range,
            matrix_coeffs: 2,
        };
        for (component, plane) in window.planes.iter_mut().enumerate() {
            let padded = sizes[component];
            if padded == 0 {
                continue;
            }
            let top = if component == 0 { rows.start } else { rows.start / down };
            plane.reserve_exact(padded * heights[component]);
            for y in top..top + heights[component] {
                let end = plane.len() + padded;
                match self.row(component, y)? {
                    Row::Bytes(row) => plane.extend(row.iter().take(padded).map(|&sample| u16::from(sample))),
                    Row::Words(row) => plane.extend(row.iter().take(padded)),
                }
                let edge = *plane.last()?;
                plane.resize(end, edge);
            }
        }
        Some(window)
    }
}

/// Decodes a whole frame. It must be at least as large as its container claims.
pub fn decode(
    file: &HeifFile<'_>,
    id: ItemId,
    (codec, size): (Codec, Size),
    threads: usize,
    format: &'static Format,
) -> Result<Frame, SourceError> {
    let max_pixels = max_pixels(size);
    let frame = match codec {
        Codec::Hevc => {
            let stream = file.hevc_bitstream(id).map_err(|error| format.corrupt(error))?;
            let options = DecodeOptions { max_pixels, ..DecodeOptions::default() };
            let refusal = |error| match error {
                HevcError::Unimplemented(reason) => format.unsupported(reason),
                other => format.corrupt(other),
            };
            Frame::Hevc(decode_picture(&stream, options).map_err(refusal)?)
        }
        Codec::Av1 => {
            let bytes = file.item_data(id).map_err(|error| format.corrupt(error))?.into_owned();
            Frame::of_av1(decode_av1(bytes, threads, max_pixels, format)?)
        }
    };
    let (width, height) = frame.size();
    if width < size.width as usize || height < size.height as usize {
        return Err(format.corrupt("a frame is smaller than its container claims"));
    }
    Ok(frame)
}

/// Returns the largest number of pixels of a coded frame that is shown in this size.
fn max_pixels(size: Size) -> u64 {
    let side = |length: u32| u64::from(length.next_multiple_of(BLOCK)) + u64::from(BLOCK);
    side(size.width) * side(size.height)
}

fn decode_av1(
    bytes: Vec<u8>,
    threads: usize,
    max_pixels: u64,
    format: &'static Format,
) -> Result<Picture, SourceError> {
    if bytes.is_empty() {
        return Err(format.corrupt("a frame is empty"));
    }
    let refusal = |error| match error {
        Error::NotEnoughMemory => SourceError::OutOfMemory,
        Error::UnsupportedBitstream => format.unsupported("it uses a part of AV1 that is not supported"),
        _ => format.corrupt("a frame cannot be decoded"),
    };
    let mut settings = Settings::new();
    settings.set_n_threads(u32::try_from(threads).unwrap_or(1).max(1));
    // A still picture has one frame.
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_frame_size_limit(u32::try_from(max_pixels).unwrap_or(u32::MAX));
    let mut decoder = Decoder::with_settings(&settings).map_err(refusal)?;
    match decoder.send_data(bytes, None, None, None) {
        Ok(()) | Err(Error::Again) => {}
        Err(error) => return Err(refusal(error)),
    }
    loop {
        match decoder.get_picture() {
            Ok(picture) => return Ok(picture),
            Err(Error::Again) => match decoder.send_pending_data() {
                Ok(()) => {
                    return decoder.get_picture().map_err(|_| format.ends_early());
                }
                Err(Error::Again) => {}
                Err(error) => return Err(refusal(error)),
            },
            Err(error) => return Err(refusal(error)),
        }
    }
}
