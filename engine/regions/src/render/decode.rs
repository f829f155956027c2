//! Decodes tiles onto a canvas. What is below the crop is not decoded.

use std::io::Cursor;

use edgezoom_jpeg::decoder::frame::Colours;
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
    /// A row of pixels.
    row: Vec<u8>,
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
            let height = 8 * frame.most_blocks().1;
            return copy_planes(McuRows::new(self.jpeg.decode(frame, scan)), height, tile);
        }
        let samples = match frame.colours {
            Colours::Grey => 1,
            Colours::YCbCr | Colours::Rgb => 3,
            Colours::Cmyk | Colours::Ycck => return Err(Undecodable),
        };
        if !matches!(tile.canvas.kind, Kind::Rgb | Kind::Rgba) || !rows::can_read(&frame) {
            return Err(Undecodable);
        }
        self.row.clear();
        self.row.resize(frame.width as usize * samples, 0);
        let mut rows = Rows::new(self.jpeg.decode(frame, scan));
        for row in tile.region.top..tile.rows.end {
            rows.read_row(&mut self.row)?;
            tile.put(row, &self.row, samples);
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
    height: u32,
    tile: &mut Tile<'_>,
) -> Result<(), Undecodable> {
    let region = tile.region;
    for mcu_row in 0..(tile.rows.end - region.top).div_ceil(height) {
        let pixels = region.top + mcu_row * height..region.top + (mcu_row + 1) * height;
        let drawn = pixels.start.max(tile.rows.start)..pixels.end.min(tile.rows.end).max(tile.rows.start);
        mcu_rows.read(|plan, segment| {
            for (component, plane) in tile.canvas.planes.iter_mut().enumerate() {
                let (left, rows) = segment.rows(plan, component);
                let left = (region.left >> plane.halvings) + left as u32;
                let wanted = halved(&tile.columns, plane.halvings);
                let drawn = halved(&drawn, plane.halvings);
                for (row, samples) in (pixels.start >> plane.halvings..).zip(rows) {
                    let columns = wanted.start.max(left)..wanted.end.min(left + samples.len() as u32);
                    if drawn.contains(&row) && !columns.is_empty() {
                        let start = (columns.start - left) as usize;
                        let samples = &samples[start..start + columns.len()];
                        plane.part_mut(row, columns).copy_from_slice(samples);
                    }
                }
            }
        })?;
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
