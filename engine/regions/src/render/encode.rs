//! Reduces colours and writes files.

use edgezoom_geometry::Size;
use edgezoom_jpeg::encoder::{Encoder, Input};
use edgezoom_jpeg::quantisation::Quantisation;
use edgezoom_jpeg::ycbcr420::Pair;
use image_webp::WebPEncoder;
use png::{BitDepth, Compression};

use crate::rendering::{Colours, Format, Rendering};

use super::canvas::Kind;
use super::picture::Picture;

/// Quality of JPEGs: that of tiles by default.
const QUALITY: u8 = 82;
/// Luma from which on a pixel is white.
const WHITE_FROM: u8 = 128;

/// Pixels with their samples side by side.
struct Pixels {
    /// 1: grey. 2: grey and alpha. 3: RGB. 4: RGBA.
    channels: usize,
    samples: Vec<u8>,
}

impl Picture {
    /// Returns the file. `None`: an encoder fails.
    pub fn encode(self, rendering: &Rendering) -> Option<Vec<u8>> {
        let size = self.size;
        if (rendering.format, rendering.colours, self.kind) == (Format::Jpg, Colours::Colour, Kind::YCbCr420)
        {
            return Some(self.encode_ycbcr420());
        }
        let is_bitonal = rendering.colours == Colours::Bitonal;
        let mut pixels = self.into_pixels(rendering.colours == Colours::Colour);
        if is_bitonal {
            let channels = pixels.channels;
            for pixel in pixels.samples.chunks_exact_mut(channels) {
                pixel[0] = if pixel[0] >= WHITE_FROM { 255 } else { 0 };
            }
        }
        match rendering.format {
            Format::Jpg => Some(jpeg(size, &pixels)),
            Format::Png => png(size, &pixels, is_bitonal && pixels.channels == 1).ok(),
            Format::WebP => webp(size, &pixels).ok(),
        }
    }

    /// Encodes planes as they are.
    fn encode_ycbcr420(&self) -> Vec<u8> {
        let Size { width, height } = self.size;
        let mut encoder = Encoder::new(Input::YCbCr420, &Quantisation::of_quality(QUALITY, true), true);
        let [luma, cb, cr] = self.planes.as_slice() else { return Vec::new() };
        encoder.begin(width, height);
        let chroma = cb.rows().zip(cr.rows()).flat_map(|pair| [pair, pair]);
        for (row, (luma, (cb, cr))) in luma.rows().zip(chroma).enumerate() {
            let pair = Pair { luma: [luma, luma], chroma: [cb, cr] };
            encoder.ycbcr420_row(&pair, row % 2 == 1, &(0..width));
        }
        encoder.finish().to_vec()
    }

    /// Makes pixels in colour or grey.
    fn into_pixels(mut self, in_colour: bool) -> Pixels {
        let is_opaque =
            self.planes.get(3).is_none_or(|alpha| alpha.samples.iter().all(|&alpha| alpha == 255));
        if is_opaque {
            self.planes.truncate(3);
        }
        let has_luma = matches!(self.kind, Kind::Grey | Kind::YCbCr420);
        let mut planes = self.planes.into_iter().map(|plane| plane.samples);
        let first = planes.next().unwrap_or_default();
        let (Some(second), Some(third)) = (planes.next(), planes.next()) else {
            return Pixels { channels: 1, samples: first };
        };
        let channels = if in_colour { 3 } else { 1 } + usize::from(!is_opaque);
        let alpha = planes.next().unwrap_or_default();
        let mut samples = vec![0; first.len() * channels];
        let colours = first.iter().zip(&second).zip(&third).enumerate();
        for (pixel, (at, ((&first, &second), &third))) in samples.chunks_exact_mut(channels).zip(colours) {
            let rgb = if has_luma { rgb([first, second, third]) } else { [first, second, third] };
            let opacity = alpha.get(at).copied().unwrap_or(255);
            let rgb = if opacity == 255 { rgb } else { rgb.map(|value| unmultiplied(value, opacity)) };
            match pixel {
                [grey] => *grey = luma(rgb),
                [grey, alpha] => (*grey, *alpha) = (luma(rgb), opacity),
                [red, green, blue] => [*red, *green, *blue] = rgb,
                [red, green, blue, alpha] => ([*red, *green, *blue], *alpha) = (rgb, opacity),
                _ => {}
            }
        }
        Pixels { channels, samples }
    }
}

fn jpeg(Size { width, height }: Size, pixels: &Pixels) -> Vec<u8> {
    let input = if pixels.channels == 1 { Input::Grey } else { Input::Rgb };
    let mut encoder = Encoder::new(input, &Quantisation::of_quality(QUALITY, true), true);
    encoder.begin(width, height);
    pixels.samples.chunks_exact(width as usize * pixels.channels).for_each(|row| encoder.row(row));
    encoder.finish().to_vec()
}

/// Encodes as PNG: with one bit a pixel if it is black and white.
fn png(
    Size { width, height }: Size,
    pixels: &Pixels,
    is_bitonal: bool,
) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(match pixels.channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    encoder.set_compression(Compression::Fast);
    if is_bitonal {
        encoder.set_depth(BitDepth::One);
        let bits = |bits: &[u8]| bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | (bit & 0x80) >> at);
        let rows = pixels.samples.chunks_exact(width as usize);
        let samples: Vec<u8> = rows.flat_map(|row| row.chunks(8).map(bits)).collect();
        encoder.write_header()?.write_image_data(&samples)?;
    } else {
        encoder.set_depth(BitDepth::Eight);
        encoder.write_header()?.write_image_data(&pixels.samples)?;
    }
    Ok(file)
}

fn webp(Size { width, height }: Size, pixels: &Pixels) -> Result<Vec<u8>, image_webp::EncodingError> {
    let mut file = Vec::new();
    let colours = match pixels.channels {
        1 => image_webp::ColorType::L8,
        2 => image_webp::ColorType::La8,
        3 => image_webp::ColorType::Rgb8,
        _ => image_webp::ColorType::Rgba8,
    };
    WebPEncoder::new(&mut file).encode(&pixels.samples, width, height, colours)?;
    Ok(file)
}

/// Returns the luma of ITU-R BT.601 of a colour.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    ((19_595 * u32::from(red) + 38_470 * u32::from(green) + 7_471 * u32::from(blue) + (1 << 15)) >> 16) as u8
}

/// Returns the colour of JPEG's YCbCr (ITU-T T.871).
fn rgb([luma, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (luma, cb, cr) = (i32::from(luma) << 16 | 1 << 15, i32::from(cb) - 128, i32::from(cr) - 128);
    let red = luma + 91_881 * cr;
    let green = luma - 22_554 * cb - 46_802 * cr;
    let blue = luma + 116_130 * cb;
    [red, green, blue].map(|value| (value >> 16).clamp(0, 255) as u8)
}

/// Divides a value by alpha.
fn unmultiplied(value: u8, alpha: u8) -> u8 {
    let alpha = u32::from(alpha);
    (u32::from(value) * 255 + alpha / 2).checked_div(alpha).map_or(0, |value| value.min(255) as u8)
}
