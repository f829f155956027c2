//! A picture of a page: cropped to what the page shows, blanked where something covers it, and encoded anew, so that no
//! byte of the source is passed on.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use edgezoom_jpeg::encoder::{Encoder, Input};
use edgezoom_jpeg::quantisation::Quantisation;
use hayro_interpret::kurbo::{Affine, Point, Rect};
use resvg::tiny_skia::{ColorU8, IntSize, Pixmap};

use crate::covers::{Cover, hide_together};
use crate::limits::{MAX_COVERED_PIXELS, MAX_PICTURE_PIXELS};
use crate::notation::transform;
use crate::refusal::Refusal;

/// Quality of JPEG. It is that of the tiles, by which the picture is compared.
const QUALITY: u8 = 82;
/// Number of colours up to which a picture is a drawing, which JPEG would blur.
const FEW_COLOURS: usize = 256;
/// Maximum side of a JPEG.
const MAX_SIDE: u32 = 65_535;
/// Maximum number of pixels of a picture that is PNG in any case: it is drawn enlarged.
const SMALL: u64 = 64 * 64;
/// Difference of colours, of 255, that is not seen.
const NEAR: u8 = 8;

/// A picture of a page.
pub struct Picture {
    width: u32,
    height: u32,
    /// Red, green, blue and opacity of each pixel.
    pixels: Vec<u8>,
    /// From pixels to the page.
    place: Affine,
    /// False if its pixels show as squares.
    smooth: bool,
    /// Empty until it is encoded.
    url: String,
    /// True if all pixels had about the same colour, once it is encoded.
    is_plain: bool,
}

impl Picture {
    /// Makes a picture of RGBA pixels. Returns `None` if their number is wrong, or they are too many.
    pub fn new(width: u32, height: u32, pixels: Vec<u8>, place: Affine, smooth: bool) -> Option<Self> {
        let count = u64::from(width) * u64::from(height);
        let is_small = width.max(height) <= MAX_SIDE && count <= MAX_PICTURE_PIXELS;
        let is_valid = count > 0 && is_small && pixels.len() as u64 == count * 4;
        (is_valid && place.is_finite() && place.determinant().abs() > 1e-12).then(|| Self {
            width,
            height,
            pixels,
            place,
            smooth,
            url: String::new(),
            is_plain: false,
        })
    }

    pub fn pixel_count(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Drops the pixels outside a rectangle of the page. Returns the picture's place, or `None` if nothing is left.
    pub fn crop(&mut self, shown: Rect) -> Option<Rect> {
        let whole = Rect::new(0.0, 0.0, f64::from(self.width), f64::from(self.height));
        // One more pixel each way: browsers smooth across the edge.
        let needed =
            self.place.inverse().transform_rect_bbox(shown).inflate(1.0, 1.0).expand().intersect(whole);
        if needed.is_zero_area() || !self.place.transform_rect_bbox(whole).overlaps(shown) {
            return None;
        }
        if needed != whole {
            let (left, width) = (needed.x0 as usize, needed.width() as usize);
            let rows = self.pixels.chunks_exact(self.width as usize * 4);
            let rows = rows.skip(needed.y0 as usize).take(needed.height() as usize);
            self.pixels = rows.flat_map(|row| &row[left * 4..(left + width) * 4]).copied().collect();
            (self.width, self.height) = (width as u32, needed.height() as u32);
            self.place *= Affine::translate((needed.x0, needed.y0));
        }
        let left = Rect::new(0.0, 0.0, f64::from(self.width), f64::from(self.height));
        Some(self.place.transform_rect_bbox(left))
    }

    /// Returns the shape that hides what is below the picture.
    pub fn cover(&self) -> Option<Cover> {
        let (width, height) = (f64::from(self.width), f64::from(self.height));
        let corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
        let corners = corners.map(|corner| self.place * Point::from(corner));
        self.is_opaque().then(|| Cover::new(corners.to_vec(), [255; 3])).flatten()
    }

    /// Gives the pixels below these covers one colour. Returns the number of pixels that it looked at.
    pub fn hide<'a>(&mut self, covers: impl Iterator<Item = &'a Cover>) -> Result<u64, Refusal> {
        let whole = Rect::new(0.0, 0.0, f64::from(self.width), f64::from(self.height));
        let to_pixels = self.place.inverse();
        let mut looked_at = 0;
        let covers: Vec<_> = covers.collect();
        for cover in &covers {
            let within = to_pixels.transform_rect_bbox(cover.bounds()).expand().intersect(whole);
            looked_at += within.area() as u64;
            if looked_at > MAX_COVERED_PIXELS {
                return Err(Refusal::Pictures);
            }
            for y in within.y0 as usize..within.y1 as usize {
                for x in within.x0 as usize..within.x1 as usize {
                    // With its neighbours, which a browser mixes in where the cover ends.
                    let (x0, y0) = (x as f64 - 1.0, y as f64 - 1.0);
                    let around = [(x0, y0), (x0 + 3.0, y0), (x0 + 3.0, y0 + 3.0), (x0, y0 + 3.0)];
                    let around = around.map(|corner| self.place * Point::from(corner));
                    let at = (y * self.width as usize + x) * 4;
                    let mut is_hidden = cover.holds(&around);
                    if !is_hidden && covers.len() > 1 && cover.holds(&[around[0].midpoint(around[2])]) {
                        looked_at += covers.len() as u64;
                        is_hidden = hide_together(&covers, &around);
                    }
                    if is_hidden && let Some(pixel) = self.pixels.get_mut(at..at + 3) {
                        pixel.copy_from_slice(&cover.colour);
                    }
                }
            }
        }
        Ok(looked_at)
    }

    /// Encodes the picture. Returns its length.
    pub fn encode(&mut self) -> Result<usize, Refusal> {
        let (kind, file) = if self.is_opaque() && !self.is_drawing() {
            ("jpeg", self.jpeg())
        } else {
            ("png", self.png().ok_or(Refusal::Picture)?)
        };
        let first: Vec<u8> = self.pixels.iter().take(4).copied().collect();
        let is_near = |pixel: &[u8]| first.iter().zip(pixel).all(|(one, other)| one.abs_diff(*other) <= NEAR);
        self.is_plain = self.pixels.chunks_exact(4).all(is_near);
        self.url = format!("data:image/{kind};base64,{}", STANDARD.encode(file));
        Ok(self.url.len())
    }

    /// Returns true if all its pixels have about the same colour.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// From its pixels to the page.
    pub fn place(&self) -> Affine {
        self.place
    }

    /// Returns false if its pixels show as squares.
    pub fn is_smooth(&self) -> bool {
        self.smooth
    }

    /// Returns its pixels, whose colours are multiplied by their opacity.
    pub fn pixmap(&self) -> Option<Pixmap> {
        let premultiplied = |pixel: &[u8; 4]| {
            let [red, green, blue, alpha] = *pixel;
            ColorU8::from_rgba(red, green, blue, alpha).premultiply()
        };
        let pixels = self.pixels.as_chunks::<4>().0.iter().map(premultiplied);
        let pixels =
            pixels.flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]).collect();
        Pixmap::from_vec(pixels, IntSize::from_wh(self.width, self.height)?)
    }

    /// Writes its element.
    pub fn write(&self, unit: f64, svg: &mut String) {
        let style = if self.smooth { "" } else { r#" style="image-rendering:pixelated""# };
        let _ = write!(
            svg,
            r#"<image width="{}" height="{}" preserveAspectRatio="none"{style} transform="{}" href="{}"/>"#,
            self.width,
            self.height,
            transform(self.place, 1.0, unit),
            self.url
        );
    }

    fn is_opaque(&self) -> bool {
        self.pixels.chunks_exact(4).all(|pixel| pixel[3] == 255)
    }

    /// Returns true if it is small, or has few colours.
    fn is_drawing(&self) -> bool {
        let mut colours = std::collections::HashSet::new();
        let mut last = None;
        let is_new = |pixel: &&[u8]| {
            let colour = Some([pixel[0], pixel[1], pixel[2]]);
            last != colour && {
                last = colour;
                colours.insert(colour)
            }
        };
        self.pixel_count() <= SMALL || self.pixels.chunks_exact(4).filter(is_new).nth(FEW_COLOURS).is_none()
    }

    fn jpeg(&self) -> Vec<u8> {
        let mut encoder = Encoder::new(Input::Rgba, &Quantisation::of_quality(QUALITY, false), false);
        encoder.begin(self.width, self.height);
        self.pixels.chunks_exact(self.width as usize * 4).for_each(|row| encoder.row(row));
        encoder.finish().to_vec()
    }

    fn png(&self) -> Option<Vec<u8>> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&self.pixels).ok()?;
        writer.finish().ok()?;
        Some(file)
    }
}
