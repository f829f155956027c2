//! Decodes tiles onto a canvas. What is below the crop is not decoded.

use std::io::Cursor;

use edgezoom_jpeg::decoder::frame::{Colours, Frame};
use edgezoom_jpeg::decoder::mcu_rows::{McuRows, Stop};
use edgezoom_jpeg::decoder::rows::{self, Rows};
use edgezoom_jpeg::decoder::sequential::{Sequential, Workspace};
use png::{ColorType, Transformations};

use super::canvas::{Kind, Tile, halved};

/// Memory that a PNG decoder may take besides a row.
const PNG_BYTES: usize = 4 << 20;

/// A tile that cannot be decoded, or is of another size or kind.
#[derive(Debug)]
pub struct Undecodable;

/// Memory that is reused from tile to tile.
#[derive(Default)]
pub struct Decoder {
    jpeg: Workspace,
    /// A row of MCUs or of pixels.
    band: Vec<u8>,
}

impl From<Stop> for Undecodable {
    fn from(_: Stop) -> Self {
        Self
    }
}

impl From<png::DecodingError> for Undecodable {
    fn from(_: png::DecodingError) -> Self {
        Self
    }
}

impl Decoder {
    /// Decodes a tile onto its part of a canvas.
    pub fn decode(&mut self, file: &[u8], tile: &mut Tile<'_>) -> Result<(), Undecodable> {
        if file.starts_with(&[0xff, 0xd8]) {
            self.decode_jpeg(file, tile)
        } else {
            self.decode_png(file, tile)
        }
    }

    fn decode_jpeg(&mut self, file: &[u8], tile: &mut Tile<'_>) -> Result<(), Undecodable> {
        let frame = self.jpeg.read_headers(&mut &*file).ok().flatten().ok_or(Undecodable)?;
        if (frame.width, frame.height) != (tile.region.width, tile.region.height) {
            return Err(Undecodable);
        }
        let scan = file.get(frame.header_bytes as usize..).ok_or(Undecodable)?;
        let is_planes = match tile.canvas.kind {
            Kind::Grey => frame.colours == Colours::Grey,
            Kind::YCbCr420 => frame.is_ycbcr420(),
            Kind::Rgb | Kind::Rgba => false,
        };
        if is_planes {
            let frame_of_planes = frame.clone();
            return copy_planes(
                McuRows::new(self.jpeg.decode(frame, scan)),
                &frame_of_planes,
                &mut self.band,
                tile,
            );
        }
        let samples = match frame.colours {
            Colours::Grey => 1,
            Colours::YCbCr | Colours::Rgb => 3,
            Colours::Cmyk | Colours::Ycck => return Err(Undecodable),
        };
        if !matches!(tile.canvas.kind, Kind::Rgb | Kind::Rgba) || !rows::can_read(&frame) {
            return Err(Undecodable);
        }
        self.band.clear();
        self.band.resize(frame.width as usize * samples, 0);
        let mut rows = Rows::new(self.jpeg.decode(frame, scan));
        for row in tile.region.top..tile.rows.end {
            rows.read_row(&mut self.band)?;
            tile.put(row, &self.band, samples);
        }
        Ok(())
    }

    fn decode_png(&mut self, file: &[u8], tile: &mut Tile<'_>) -> Result<(), Undecodable> {
        if !matches!(tile.canvas.kind, Kind::Rgb | Kind::Rgba) {
            return Err(Undecodable);
        }
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), png::Limits { bytes: PNG_BYTES });
        decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
        let mut reader = decoder.read_info()?;
        let info = reader.info();
        if (info.width, info.height) != (tile.region.width, tile.region.height) || info.interlaced {
            return Err(Undecodable);
        }
        let samples = match reader.output_color_type().0 {
            ColorType::Grayscale => 1,
            ColorType::GrayscaleAlpha => 2,
            ColorType::Rgb => 3,
            ColorType::Rgba => 4,
            ColorType::Indexed => return Err(Undecodable),
        };
        for row in tile.region.top..tile.rows.end {
            let pixels = reader.next_row()?.ok_or(Undecodable)?;
            tile.put(row, pixels.data(), samples);
        }
        Ok(())
    }
}

/// Copies the planes of a JPEG whose components are those of the canvas.
fn copy_planes(
    mut mcu_rows: McuRows<Sequential<'_, &[u8]>>,
    frame: &Frame,
    band: &mut Vec<u8>,
    tile: &mut Tile<'_>,
) -> Result<(), Undecodable> {
    let (across, down) = frame.most_blocks();
    let stride = (8 * across * frame.mcus().0) as usize;
    let height = 8 * down;
    band.resize(stride * height as usize * 3, 0);
    let region = tile.region;
    for mcu_row in 0..(tile.rows.end - region.top).div_ceil(height) {
        let pixels = region.top + mcu_row * height..region.top + (mcu_row + 1) * height;
        let planes = tile.canvas.planes.len();
        mcu_rows.read(|plan, segment| {
            let bands = band.chunks_exact_mut(stride * height as usize);
            for (component, band) in bands.enumerate().take(planes) {
                let stride = if component == 0 { stride } else { stride / across as usize };
                segment.copy_to(plan, component, band.chunks_exact_mut(stride));
            }
        })?;
        let drawn = pixels.start.max(tile.rows.start)..pixels.end.min(tile.rows.end);
        if drawn.is_empty() {
            continue;
        }
        for (plane, band) in tile.canvas.planes.iter_mut().zip(band.chunks_exact(stride * height as usize)) {
            let columns = halved(&tile.columns, plane.halvings);
            let left = (columns.start - (region.left >> plane.halvings)) as usize;
            let first = pixels.start >> plane.halvings;
            let stride = stride >> plane.halvings;
            for row in halved(&drawn, plane.halvings) {
                let start = (row - first) as usize * stride + left;
                plane.part_mut(row, columns.clone()).copy_from_slice(&band[start..start + columns.len()]);
            }
        }
    }
    Ok(())
}

impl Tile<'_> {
    /// Puts a row of pixels with this many samples each: grey, grey and alpha, RGB or RGBA.
    fn put(&mut self, row: u32, pixels: &[u8], samples: usize) {
        if !self.rows.contains(&row) {
            return;
        }
        let left = (self.columns.start - self.region.left) as usize;
        let pixels = &pixels[left * samples..][..self.columns.len() * samples];
        let kind = self.canvas.kind;
        let mut planes = self.canvas.planes.iter_mut();
        let mut part =
            || planes.next().map(|plane| plane.part_mut(row, self.columns.clone())).unwrap_or_default();
        let [red, green, blue, alpha] = [part(), part(), part(), part()];
        let places = red.iter_mut().zip(green).zip(blue).enumerate();
        for (at, ((red, green), blue)) in places {
            let (colour, opacity) = match pixels[at * samples..][..samples] {
                [grey] => ([grey; 3], 255),
                [grey, alpha] => ([grey; 3], alpha),
                [red, green, blue] => ([red, green, blue], 255),
                [red, green, blue, alpha] => ([red, green, blue], alpha),
                _ => continue,
            };
            let background = if kind == Kind::Rgba { 0 } else { 255 };
            [*red, *green, *blue] = match opacity {
                255 => colour,
                _ => colour.map(|value| over(value, background, opacity)),
            };
            if let Some(alpha) = alpha.get_mut(at) {
                *alpha = opacity;
            }
        }
    }
}

/// Returns a value on a background.
fn over(value: u8, background: u8, alpha: u8) -> u8 {
    let alpha = u32::from(alpha);
    ((u32::from(value) * alpha + u32::from(background) * (255 - alpha) + 127) / 255) as u8
}
