//! Makes coarse pictures for viewers that wait for the pyramid: the rows of a low level that exist so far and, below them, the
//! picture's thumbnail if it has one.
//!
//! All levels grow together, a few rows at a time, so the picture gets sharper from the top. An encoder thread holds it in a few
//! MB and encodes it from time to time. Nothing is decoded twice.

use std::io;
use std::time::{Duration, Instant};

use edgezoom_codecs::{Layout, Orientation, Thumbnail};
use edgezoom_geometry::{Size, TileFormat};

use crate::TileOutput;
use crate::geometry::Level;
use crate::strip::Strip;
use crate::tile_encoder::{Encoding, TileEncoder};
use crate::turn::turn;

/// Upper bound of the longer side. The largest level within it is used.
pub const MAX_SIDE: u32 = 1024;
/// JPEG quality, lower than for tiles because the picture is seen for seconds.
const QUALITY: u8 = 70;

/// Settings of coarse pictures.
pub struct Coarse {
    /// Shortest interval between two.
    pub every: Duration,
    /// Shown below the rows that exist.
    pub thumbnail: Option<Thumbnail>,
}

/// Makes the coarse pictures of one build.
pub struct CoarseMaker<'a> {
    level: &'a Level,
    encoding: Encoding,
    output: &'a dyn TileOutput,
    every: Duration,
    last: Instant,
    canvas: Canvas,
    has_thumbnail: bool,
    /// Number of the level's rows so far.
    rows: u32,
}

/// A picture in RGB, as it is stored.
struct Canvas {
    size: Size,
    pixels: Vec<u8>,
}

impl Coarse {
    /// Begins the coarse picture of a pyramid. `levels` must not be empty.
    pub fn start<'a>(
        &self,
        levels: &'a [Level],
        encoding: Encoding,
        output: &'a dyn TileOutput,
    ) -> CoarseMaker<'a> {
        let is_small = |level: &&Level| level.columns.side.max(level.rows.side) <= MAX_SIDE;
        let level = levels.iter().rfind(is_small).unwrap_or(&levels[0]);
        let size = Size { width: level.columns.side, height: level.rows.side };
        let thumbnail = self.thumbnail.as_ref().filter(|found| found.orientation == encoding.orientation);
        let canvas = match thumbnail {
            Some(thumbnail) => Canvas::of_thumbnail(thumbnail, size),
            None => Canvas::new(size),
        };
        let (every, last) = (self.every, Instant::now());
        CoarseMaker {
            level,
            encoding,
            output,
            every,
            last,
            canvas,
            has_thumbnail: thumbnail.is_some(),
            rows: 0,
        }
    }
}

impl CoarseMaker<'_> {
    /// Adds a strip of any level. A level's strips must be added in order.
    pub fn take(&mut self, strip: &Strip) -> io::Result<()> {
        let Strip::Rows(strip) = strip else { return Ok(()) };
        if strip.level != self.level.number {
            return Ok(());
        }
        let Self { canvas, rows, encoding, level, .. } = self;
        strip.for_each_row(encoding.layout, level, |row| {
            canvas.set_row(*rows, row, encoding.layout);
            *rows += 1;
            Ok(())
        })?;
        if self.last.elapsed() < self.every {
            return Ok(());
        }
        if !self.has_thumbnail {
            self.canvas.fill_below(self.rows);
        }
        let file = self.canvas.encode(self.encoding.orientation)?;
        self.last = Instant::now();
        self.output.coarse(&file)
    }
}

/// Encodes a thumbnail as the coarse picture (JPEG).
///
/// # Errors
/// Returns an error if it cannot be encoded.
pub fn coarse_of_thumbnail(thumbnail: &Thumbnail) -> io::Result<Vec<u8>> {
    let mut size = thumbnail.picture;
    while size.width.max(size.height) > MAX_SIDE {
        size = Size { width: size.width.div_ceil(2), height: size.height.div_ceil(2) };
    }
    Canvas::of_thumbnail(thumbnail, size).encode(thumbnail.orientation)
}

impl Canvas {
    fn new(size: Size) -> Self {
        Self { size, pixels: vec![255; 3 * size.pixels() as usize] }
    }

    /// Scales the part of a thumbnail that has the picture's aspect ratio to this size, with bilinear interpolation.
    fn of_thumbnail(thumbnail: &Thumbnail, size: Size) -> Self {
        let mut canvas = Self::new(size);
        let (from, _) = thumbnail.pixels.as_chunks::<3>();
        let (across, down) = (f64::from(thumbnail.size.width), f64::from(thumbnail.size.height));
        let scale = (across / f64::from(size.width)).min(down / f64::from(size.height));
        let place = |at: usize, to: u32, from: f64| {
            let at = from / 2.0 + (at as f64 + 0.5 - f64::from(to) / 2.0) * scale - 0.5;
            let at = at.clamp(0.0, from - 1.0);
            let next = (at as usize + 1).min(from as usize - 1);
            (at as usize, next, (at.fract() * 256.0) as u32)
        };
        let columns: Vec<_> = (0..size.width as usize).map(|x| place(x, size.width, across)).collect();
        let row_of = |y: usize| from.get(y * thumbnail.size.width as usize..).unwrap_or_default();
        let (pixels, _) = canvas.pixels.as_chunks_mut::<3>();
        for (y, row) in pixels.chunks_exact_mut(size.width as usize).enumerate() {
            let (upper, lower, share) = place(y, size.height, down);
            let (upper, lower) = (row_of(upper), row_of(lower));
            for (pixel, (left, right, part)) in row.iter_mut().zip(&columns) {
                let corners = [upper.get(*left), upper.get(*right), lower.get(*left), lower.get(*right)];
                let [Some(a), Some(b), Some(c), Some(d)] = corners else { continue };
                for (channel, out) in pixel.iter_mut().enumerate() {
                    let mix = |one: u8, other: u8| u32::from(one) * (256 - part) + u32::from(other) * part;
                    let (above, below) = (mix(a[channel], b[channel]), mix(c[channel], d[channel]));
                    *out = ((above * (256 - share) + below * share) >> 16) as u8;
                }
            }
        }
        canvas
    }

    /// Sets a row of pixels. Rows of planes have luma, Cb and Cr for each pixel. Flattens opacity onto white.
    fn set_row(&mut self, row: u32, from: &[u8], layout: Layout) {
        let row_bytes = 3 * self.size.width as usize;
        let start = row as usize * row_bytes;
        let Some(to) = self.pixels.get_mut(start..start + row_bytes) else { return };
        let (to, _) = to.as_chunks_mut::<3>();
        match layout {
            Layout::Grey => to.iter_mut().zip(from).for_each(|(to, grey)| *to = [*grey; 3]),
            Layout::Rgb => to.as_flattened_mut().copy_from_slice(&from[..row_bytes]),
            Layout::Rgba => {
                to.iter_mut().zip(from.as_chunks().0).for_each(|(to, pixel)| *to = on_white(*pixel));
            }
            Layout::YCbCr420 => {
                for (to, &[luma, blue, red]) in to.iter_mut().zip(from.as_chunks::<3>().0) {
                    *to = rgb(luma, blue, red);
                }
            }
        }
    }

    /// Fills the rows from `row` on with the mean colour of the rows above.
    fn fill_below(&mut self, row: u32) {
        let (above, below) = self.pixels.split_at_mut(3 * self.size.width as usize * row as usize);
        let ((above, _), (below, _)) = (above.as_chunks::<3>(), below.as_chunks_mut::<3>());
        let sums = above.iter().fold([0_u64; 3], |sums, pixel| {
            std::array::from_fn(|channel| sums[channel] + u64::from(pixel[channel]))
        });
        below.fill(sums.map(|sum| (sum / (above.len() as u64).max(1)) as u8));
    }

    /// Turns the picture upright and encodes it as JPEG.
    fn encode(&self, orientation: Orientation) -> io::Result<Vec<u8>> {
        let Size { width, height } = orientation.turned(self.size);
        let rows: Vec<&[u8]> = self.pixels.chunks_exact(3 * self.size.width as usize).collect();
        let mut upright = Vec::new();
        turn::<3>(&rows, orientation, &mut upright);
        let (format, layout, orientation) = (TileFormat::Jpg, Layout::Rgb, Orientation::UPRIGHT);
        let mut encoder = TileEncoder::new(Encoding { format, quality: QUALITY, layout, orientation });
        encoder.begin(width, height)?;
        upright.chunks_exact(3 * width as usize).try_for_each(|row| encoder.row(row))?;
        let mut file = Vec::new();
        encoder.finish(|bytes| {
            file.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(file)
    }
}

/// Flattens a pixel of red, green, blue and opacity onto white.
pub fn on_white([red, green, blue, alpha]: [u8; 4]) -> [u8; 3] {
    [red, green, blue].map(|colour| {
        let (colour, alpha) = (u32::from(colour), u32::from(alpha));
        ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    })
}

/// Converts a pixel of YCbCr to RGB (ITU-T T.871, 7) with 16 bits of fraction.
fn rgb(luma: u8, blue: u8, red: u8) -> [u8; 3] {
    let (luma, blue, red) = (i32::from(luma) << 16, i32::from(blue) - 128, i32::from(red) - 128);
    let rounded = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    [luma + 91_881 * red, luma - 22_554 * blue - 46_802 * red, luma + 116_130 * blue].map(rounded)
}
