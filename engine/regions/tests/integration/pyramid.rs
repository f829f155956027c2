//! Pyramids in memory.

use std::cell::RefCell;
use std::io::Cursor;

use edgezoom_geometry::{Dzi, Size, TileFormat};
use edgezoom_jpeg::encoder::{Encoder, Input};
use edgezoom_jpeg::quantisation::Quantisation;
use edgezoom_regions::{Colours, Format, Plan, Region, RenderError, Rendering, Turn, render};
use edgezoom_test_pictures::compared::halved;
use image::imageops::crop_imm;
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};

/// The encoding of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Png,
    /// JPEG with halved chroma.
    Jpeg420,
    /// JPEG with chroma of full resolution.
    Jpeg444,
    GreyJpeg,
}

/// A picture with its levels, the largest last.
pub struct Pyramid {
    pub dzi: Dzi,
    kind: Kind,
    levels: Vec<RgbaImage>,
    /// The plan that was rendered last, and its tiles.
    last: RefCell<Option<(Plan, Vec<Vec<u8>>)>>,
}

impl Pyramid {
    pub fn new(picture: RgbaImage, kind: Kind, tile_size: u32, tile_overlap: u32) -> Self {
        let size = Size { width: picture.width(), height: picture.height() };
        let tile_format = if kind == Kind::Png { TileFormat::Png } else { TileFormat::Jpg };
        let dzi = Dzi { size, tile_size, tile_overlap, tile_format };
        let mut levels = vec![picture];
        for _ in 0..dzi.max_level() {
            levels.push(halved(&levels[levels.len() - 1]));
        }
        levels.reverse();
        Self { dzi, kind, levels, last: RefCell::default() }
    }

    /// Returns the tiles of a plan.
    pub fn tiles(&self, plan: &Plan) -> Vec<Vec<u8>> {
        let level = &self.levels[plan.level as usize];
        let tile = |(column, row)| {
            let Region { left, top, width, height } = plan.tile_region(&self.dzi, column, row);
            encode(&crop_imm(level, left, top, width, height).to_image(), self.kind)
        };
        plan.tiles().map(tile).collect()
    }

    /// Renders a file.
    pub fn render(&self, rendering: &Rendering) -> Result<Vec<u8>, RenderError> {
        let plan = Plan::new(&self.dzi, rendering)?;
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(known, _)| *known != plan) {
            *last = Some((plan.clone(), self.tiles(&plan)));
        }
        render(&self.dzi, rendering, &last.as_ref().unwrap().1)
    }

    /// Renders a picture.
    pub fn show(&self, rendering: &Rendering) -> DynamicImage {
        decode(&self.render(rendering).unwrap())
    }
}

/// Decodes a rendering.
pub fn decode(file: &[u8]) -> DynamicImage {
    if !file.starts_with(b"RIFF") {
        return image::load_from_memory(file).unwrap();
    }
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(file)).unwrap();
    let ((width, height), mut pixels) =
        (decoder.dimensions(), vec![0; decoder.output_buffer_size().unwrap()]);
    decoder.read_image(&mut pixels).unwrap();
    if decoder.has_alpha() {
        RgbaImage::from_raw(width, height, pixels).unwrap().into()
    } else {
        RgbImage::from_raw(width, height, pixels).unwrap().into()
    }
}

/// Encodes a tile.
pub fn encode(tile: &RgbaImage, kind: Kind) -> Vec<u8> {
    let (width, height) = tile.dimensions();
    let picture = DynamicImage::ImageRgba8(tile.clone());
    if kind == Kind::Png {
        let is_opaque = tile.pixels().all(|pixel| pixel.0[3] == 255);
        let picture = if is_opaque { DynamicImage::ImageRgb8(picture.to_rgb8()) } else { picture };
        let mut file = Vec::new();
        picture.write_to(&mut Cursor::new(&mut file), ImageFormat::Png).unwrap();
        return file;
    }
    let grey = picture.to_luma8();
    let (input, samples, channels) = match kind {
        Kind::GreyJpeg => (Input::Grey, grey.as_raw(), 1),
        _ => (Input::Rgba, tile.as_raw(), 4),
    };
    let halves_chroma = kind == Kind::Jpeg420;
    let mut encoder = Encoder::new(input, &Quantisation::of_quality(90, halves_chroma), halves_chroma);
    encoder.begin(width, height);
    samples.chunks_exact(width as usize * channels).for_each(|row| encoder.row(row));
    encoder.finish().to_vec()
}

/// Returns a rendering as PNG.
pub fn rendering([left, top, width, height]: [u32; 4], [w, h]: [u32; 2]) -> Rendering {
    Rendering {
        region: Region { left, top, width, height },
        size: Size { width: w, height: h },
        turn: Turn::None,
        mirrored: false,
        colours: Colours::Colour,
        format: Format::Png,
    }
}
