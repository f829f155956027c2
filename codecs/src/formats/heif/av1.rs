//! The pictures of AVIF: a frame of AV1 or a grid of frames, and another for alpha.
//!
//! Source: AV1 Image File Format (AVIF) 1.1.0, section 4 (auxiliary images); ISO/IEC 23008-12, 6.6.2.3 (grids).

use heifer::Image;
use heifer::color::{ColorParams, frame_to_rgba_into};
use heifer::heifer_hevc_dec::recon::Frame;
use heifer::heifer_isobmff::boxes::{ColorInfo, Property};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use re_rav1d::dav1d::{
    Decoder, Error, Picture, PixelLayout, PlanarImageComponent as Component, Settings, pixel::YUVRange,
};

use crate::{Format, SourceError};

/// How deep grids may be nested.
const MAX_DEPTH: u32 = 4;
/// The rows that are converted to RGBA at once, and the rows around them that chroma is interpolated with. Both even.
const BAND_ROWS: usize = 64;
const MARGIN_ROWS: usize = 2;

/// Decodes the primary picture.
pub fn decode(
    file: &HeifFile<'_>,
    format: &'static Format,
    max_pixels: u64,
) -> Result<Image<u8>, SourceError> {
    Pictures { file, format, max_pixels }.item(file.primary_id, 0)
}

struct Pictures<'a> {
    file: &'a HeifFile<'a>,
    format: &'static Format,
    max_pixels: u64,
}

impl Pictures<'_> {
    fn corrupt(&self, reason: impl std::fmt::Display) -> SourceError {
        self.format.corrupt(reason)
    }

    /// A picture with its alpha, rotated, mirrored and cropped.
    fn item(&self, id: ItemId, depth: u32) -> Result<Image<u8>, SourceError> {
        let mut image = self.coded(id, depth)?;
        let auxiliary = self.file.referencing_items(id, b"auxl");
        if let Some(&alpha) = auxiliary.iter().find(|&&other| self.is_alpha(other)) {
            let alpha = self.coded(alpha, depth)?;
            if (alpha.width, alpha.height) != (image.width, image.height) {
                return Err(self.format.unsupported("its alpha plane has another size"));
            }
            let is_premultiplied = !self.file.referenced_items(id, b"prem").is_empty();
            let (pixels, _) = image.data.as_chunks_mut::<4>();
            for (pixel, &[alpha, ..]) in pixels.iter_mut().zip(alpha.data.as_chunks::<4>().0) {
                pixel[3] = alpha;
                if is_premultiplied {
                    let unmultiplied = |colour| crate::colour::samples::unmultiply(colour, alpha);
                    pixel[..3].iter_mut().for_each(|colour| *colour = unmultiplied(*colour));
                }
            }
            image.has_alpha = true;
        }
        for property in self.file.item_properties(id).map_err(|error| self.corrupt(error))? {
            image = match *property {
                Property::Rotation(quarters) if quarters != 0 => image.rotate_ccw(quarters),
                Property::Mirror(top_bottom) => image.mirror(top_bottom),
                Property::CleanAperture { width, height, horiz_offset, vert_offset } => {
                    let (x, width) = aperture(image.width, width, horiz_offset);
                    let (y, height) = aperture(image.height, height, vert_offset);
                    if width == 0 || height == 0 {
                        return Err(self.corrupt("its crop leaves nothing"));
                    }
                    image.crop(x, y, width, height)
                }
                _ => image,
            };
        }
        Ok(image)
    }

    fn is_alpha(&self, id: ItemId) -> bool {
        self.file.item_properties(id).is_ok_and(|mut properties| {
            properties.any(|property| match property {
                Property::AuxiliaryType(kind) => kind == "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                _ => false,
            })
        })
    }

    /// A picture as it is coded, without its properties.
    fn coded(&self, id: ItemId, depth: u32) -> Result<Image<u8>, SourceError> {
        let kind = self.file.item(id).map_err(|error| self.corrupt(error))?.item_type;
        match &kind.0 {
            b"av01" => self.frame(id),
            b"grid" if depth < MAX_DEPTH => self.grid(id, depth),
            _ => Err(self.format.unsupported(format_args!("a part of it is {kind}"))),
        }
    }

    fn grid(&self, id: ItemId, depth: u32) -> Result<Image<u8>, SourceError> {
        let grid = self.file.grid(id).map_err(|error| self.corrupt(error))?;
        let tiles = self.file.referenced_items(id, b"dimg");
        let columns = usize::from(grid.columns).max(1);
        let (width, height) = (grid.output_width, grid.output_height);
        if tiles.len() != columns * usize::from(grid.rows)
            || u64::from(width) * u64::from(height) > self.max_pixels
        {
            return Err(self.corrupt("its grid is invalid"));
        }
        let mut canvas = Image::filled_samples(width, height, 8, [0; 4]);
        for (index, &id) in tiles.iter().enumerate() {
            let tile = self.coded(id, depth + 1)?;
            let (x, y) = ((index % columns) * tile.width as usize, (index / columns) * tile.height as usize);
            place(&tile, &mut canvas, x, y);
        }
        Ok(canvas)
    }

    fn frame(&self, id: ItemId) -> Result<Image<u8>, SourceError> {
        let bytes = self.file.item_data(id).map_err(|error| self.corrupt(error))?.into_owned();
        let picture = self.decode_frame(bytes)?;
        let params = self.params(id, &picture);
        // The codec's size may be larger than the picture's.
        let claimed = self.file.image_size(id).map_err(|error| self.corrupt(error))?;
        let (width, height) = claimed.unwrap_or((picture.width(), picture.height()));
        if width > picture.width() || height > picture.height() {
            return Err(self.corrupt("a frame is smaller than it should be"));
        }
        paint(&picture, params, width as usize, height as usize)
            .ok_or_else(|| self.corrupt("a frame has no planes"))
    }

    fn decode_frame(&self, bytes: Vec<u8>) -> Result<Picture, SourceError> {
        if bytes.is_empty() {
            return Err(self.corrupt("a frame is empty"));
        }
        let mut settings = Settings::new();
        // A still picture has one frame. The other threads encode tiles meanwhile.
        settings.set_n_threads(1);
        settings.set_max_frame_delay(1);
        settings.set_all_layers(false);
        settings.set_frame_size_limit(u32::try_from(self.max_pixels).unwrap_or(u32::MAX));
        let mut decoder = Decoder::with_settings(&settings).map_err(|error| self.refusal(error))?;
        match decoder.send_data(bytes, None, None, None) {
            Ok(()) | Err(Error::Again) => {}
            Err(error) => return Err(self.refusal(error)),
        }
        loop {
            match decoder.get_picture() {
                Ok(picture) => return Ok(picture),
                Err(Error::Again) => match decoder.send_pending_data() {
                    Ok(()) => {
                        return decoder
                            .get_picture()
                            .map_err(|_| self.corrupt("it ends before its last row"));
                    }
                    Err(Error::Again) => {}
                    Err(error) => return Err(self.refusal(error)),
                },
                Err(error) => return Err(self.refusal(error)),
            }
        }
    }

    fn refusal(&self, error: Error) -> SourceError {
        match error {
            Error::NotEnoughMemory => SourceError::OutOfMemory,
            Error::UnsupportedBitstream => self.format.unsupported("a part of AV1"),
            _ => self.corrupt("a frame cannot be decoded"),
        }
    }

    /// The conversion from YCbCr to RGB: by the container's properties, else by the frame's.
    fn params(&self, id: ItemId, picture: &Picture) -> ColorParams {
        let own = self.file.item_properties(id).ok().and_then(|mut properties| {
            properties.find_map(|property| match property {
                Property::Color(ColorInfo::Nclx { matrix, full_range, .. }) => {
                    Some(ColorParams { matrix: *matrix, full_range: *full_range })
                }
                _ => None,
            })
        });
        own.unwrap_or_else(|| ColorParams {
            matrix: picture.matrix_coefficients() as u16,
            full_range: picture.color_range() == YUVRange::Full,
        })
    }
}

/// The start and the length of a clean aperture in one direction (ISO/IEC 14496-12, 12.1.4).
fn aperture(side: u32, (length, over): (u32, u32), (offset, offset_over): (i32, u32)) -> (u32, u32) {
    let length = f64::from(length) / f64::from(over.max(1));
    let offset = f64::from(offset) / f64::from(offset_over.max(1));
    let start = ((f64::from(side) - length) / 2.0 + offset).round().clamp(0.0, f64::from(side));
    let length = length.round().clamp(0.0, f64::from(side) - start);
    (start as u32, length as u32)
}

/// Copies the part of a tile that lies on the canvas.
fn place(tile: &Image<u8>, canvas: &mut Image<u8>, x: usize, y: usize) {
    let (tile_row, canvas_row) = (tile.width as usize * 4, canvas.width as usize * 4);
    let Some(length) = canvas_row.checked_sub(x * 4).map(|room| room.min(tile_row)) else { return };
    let rows = canvas.data.chunks_exact_mut(canvas_row).skip(y);
    for (from, to) in tile.data.chunks_exact(tile_row).zip(rows) {
        to[x * 4..x * 4 + length].copy_from_slice(&from[..length]);
    }
}

/// Converts a frame to RGBA, band by band.
fn paint(picture: &Picture, params: ColorParams, width: usize, height: usize) -> Option<Image<u8>> {
    let mut image = Image::filled_samples(width as u32, height as u32, 8, [0; 4]);
    let mut rgba = vec![0; (BAND_ROWS + 2 * MARGIN_ROWS) * width * 4];
    for (index, out) in image.data.chunks_mut(BAND_ROWS * width * 4).enumerate() {
        let top = index * BAND_ROWS;
        let margin = if top == 0 { 0 } else { MARGIN_ROWS };
        let rows = out.len() / (width * 4);
        let end = (top + rows + MARGIN_ROWS).min(picture.height() as usize);
        let frame = band(picture, params, top - margin, end)?;
        let mut lines: Vec<&mut [u8]> = rgba.chunks_exact_mut(width * 4).take(end - (top - margin)).collect();
        let count = lines.len();
        frame_to_rgba_into(&frame, params, &mut lines, width, count);
        out.copy_from_slice(rgba.get(margin * width * 4..(margin + rows) * width * 4)?);
    }
    Some(image)
}

/// Rows of a frame, from an even one on, as `heifer` converts them. Luma is padded to full chroma samples.
fn band(picture: &Picture, params: ColorParams, top: usize, end: usize) -> Option<Frame> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (across, down) = match picture.pixel_layout() {
        PixelLayout::I400 => (0, 0),
        PixelLayout::I420 => (2, 2),
        PixelLayout::I422 => (2, 1),
        PixelLayout::I444 => (1, 1),
    };
    let luma_width = width.next_multiple_of(across.max(1));
    let rows = end.checked_sub(top)?;
    let luma =
        plane(picture, Component::Y, (width, height), luma_width, (top, rows.next_multiple_of(down.max(1))))?;
    let mut frame = Frame {
        widths: [luma_width as u32, 0, 0],
        heights: [rows.next_multiple_of(down.max(1)) as u32, 0, 0],
        planes: [luma, Vec::new(), Vec::new()],
        bit_depth: [picture.bit_depth() as u8; 2],
        chroma_format: 0,
        full_range: params.full_range,
        matrix_coeffs: 2,
    };
    if across > 0 {
        let size = (width.div_ceil(across), height.div_ceil(down));
        let (from, count) = (top / down, rows.div_ceil(down));
        for (index, component) in [(1, Component::U), (2, Component::V)] {
            frame.widths[index] = size.0 as u32;
            frame.heights[index] = count as u32;
            frame.planes[index] = plane(picture, component, size, size.0, (from, count))?;
        }
    }
    Some(frame)
}

/// Rows of a plane as 16-bit samples, `padded` to a row. Samples beyond the plane repeat its edge.
fn plane(
    picture: &Picture,
    component: Component,
    (width, height): (usize, usize),
    padded: usize,
    (top, rows): (usize, usize),
) -> Option<Vec<u16>> {
    let bytes = if picture.bit_depth() > 8 { 2 } else { 1 };
    let stride = picture.stride(component) as usize;
    let plane = picture.plane(component);
    let mut samples = Vec::with_capacity(padded * rows);
    for y in top..top + rows {
        let start = y.min(height.checked_sub(1)?) * stride;
        let row = plane.get(start..start + width * bytes)?;
        if bytes == 2 {
            samples.extend(row.as_chunks().0.iter().map(|&sample| u16::from_ne_bytes(sample)));
        } else {
            samples.extend(row.iter().map(|&sample| u16::from(sample)));
        }
        let edge = *samples.last()?;
        samples.extend(std::iter::repeat_n(edge, padded - width));
    }
    Some(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crops_are_centred_and_moved() {
        assert_eq!(aperture(100, (50, 1), (0, 1)), (25, 50));
        assert_eq!(aperture(1204, (1203, 1), (-1, 2)), (0, 1203));
        assert_eq!(aperture(100, (500, 1), (0, 1)), (0, 100));
        assert_eq!(aperture(100, (10, 0), (-200, 1)), (0, 10));
    }
}
