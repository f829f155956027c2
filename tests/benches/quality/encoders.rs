//! The compared encoders.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use edgezoom_jpeg::encoder::{Encoder, Input};
use edgezoom_jpeg::quantisation::Quantisation;
use edgezoom_pyramid::codecs::{Bounds, open_with};
use edgezoom_pyramid::{Dzi, Options, TileCoord, TileOutput, TileSource};
use image::RgbImage;
use image::imageops::{crop_imm, replace};
use mozjpeg::{ColorSpace, Compress, Decompress};

use crate::pictures::{LEVELS, Picture};

/// Side of a tile in pixels.
const TILE: u32 = 512;
/// Timed runs of a fast encoder; the shortest counts.
const RUNS: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Ours,
    /// libjpeg-turbo with the standard's tables, as libvips' `jpegsave` and `dzsave` call it.
    Libjpeg,
    /// mozjpeg with its own tables and trellis quantisation, without progressive scans.
    Mozjpeg,
}

/// A level as it was encoded and decoded again.
pub struct Encoded {
    pub bytes: usize,
    pub shown: RgbImage,
    /// Encoding time in nanoseconds.
    pub time: f64,
}

impl Contender {
    pub const ALL: [Self; 3] = [Self::Ours, Self::Libjpeg, Self::Mozjpeg];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours, Q82",
            Self::Libjpeg => "libvips (libjpeg-turbo), Q75",
            Self::Mozjpeg => "mozjpeg, Q80",
        }
    }

    pub fn default_quality(self) -> u8 {
        match self {
            Self::Ours => 82,
            Self::Libjpeg => 75,
            Self::Mozjpeg => 80,
        }
    }

    /// Returns the qualities between which bytes are interpolated. Mozjpeg is slow, and not compared where sources are
    /// JPEGs.
    pub fn qualities(self, is_jpeg: bool) -> &'static [u8] {
        match self {
            // A JPEG's own steps are kept down to lower qualities.
            Self::Ours if is_jpeg => &[50, 60, 70, 76, 82],
            Self::Mozjpeg if is_jpeg => &[],
            Self::Ours => &[60, 66, 70, 74, 78, 82, 86],
            Self::Libjpeg => &[75, 82],
            Self::Mozjpeg => &[76, 80, 86],
        }
    }

    /// Encodes the levels of a picture, largest first.
    pub fn encode(self, picture: &Picture, levels: &[RgbImage], quality: u8) -> Result<Vec<Encoded>> {
        match self {
            Self::Ours => {
                let mut encoded = ours(picture, levels, quality)?;
                let quantisation = Quantisation::of_quality(quality, true);
                let mut encoder = Encoder::new(Input::Rgb, &quantisation, true);
                for (level, encoded) in levels.iter().zip(&mut encoded) {
                    encoded.time = (0..RUNS)
                        .map(|_| {
                            timed(level, &mut |tile| encode_ours(&mut encoder, tile)).map(|timed| timed.1)
                        })
                        .collect::<Result<Vec<_>>>()?
                        .into_iter()
                        .fold(f64::INFINITY, f64::min);
                }
                Ok(encoded)
            }
            Self::Libjpeg => tiled(levels, RUNS, |tile| encode_libjpeg(tile, quality, true)),
            Self::Mozjpeg => tiled(levels, 1, |tile| encode_libjpeg(tile, quality, false)),
        }
    }
}

/// Receives the tiles of a pyramid in memory.
#[derive(Default)]
struct Tiles {
    dzi: Mutex<Option<Dzi>>,
    tiles: Mutex<Vec<(TileCoord, Vec<u8>)>>,
}

impl TileOutput for Tiles {
    fn begin(&self, dzi: &Dzi) -> std::io::Result<()> {
        *self.dzi.lock().map_err(|_| std::io::Error::other("a thread failed"))? = Some(*dzi);
        Ok(())
    }

    fn tile(&self, coord: TileCoord, bytes: &[u8]) -> std::io::Result<()> {
        let mut tiles = self.tiles.lock().map_err(|_| std::io::Error::other("a thread failed"))?;
        tiles.push((coord, bytes.to_vec()));
        Ok(())
    }
}

/// Builds the pyramid of a picture and decodes its largest levels.
fn ours(picture: &Picture, levels: &[RgbImage], quality: u8) -> Result<Vec<Encoded>> {
    let options = Options { quality, tile_size: TILE, threads: NonZeroUsize::MIN, ..Options::default() };
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), &picture.file)?;
    let output = Tiles::default();
    TileSource::open(&options, |decode| open_with(fs::File::open(file.path())?, Bounds::default(), decode))?
        .build(&options, &output)?;
    let dzi = output.dzi.into_inner().ok().flatten().context("no pyramid")?;
    let tiles = output.tiles.into_inner().ok().context("no tiles")?;
    let shown = (0..LEVELS).zip(levels).map(|(number, level)| {
        let level_number = dzi.max_level() - number;
        let mut encoded =
            Encoded { bytes: 0, shown: RgbImage::new(level.width(), level.height()), time: 0.0 };
        for (coord, bytes) in tiles.iter().filter(|(coord, _)| coord.level == level_number) {
            encoded.bytes += bytes.len();
            let (left, top) = (i64::from(coord.column * TILE), i64::from(coord.row * TILE));
            replace(&mut encoded.shown, &decode(bytes)?, left, top);
        }
        ensure!(encoded.bytes > 0, "a level without tiles");
        Ok(encoded)
    });
    shown.collect()
}

/// Encodes and decodes the tiles of each level.
fn tiled(
    levels: &[RgbImage],
    runs: usize,
    mut encode: impl FnMut(&RgbImage) -> Result<Vec<u8>>,
) -> Result<Vec<Encoded>> {
    let of_level = |level: &RgbImage| {
        let (tiles, mut time) = timed(level, &mut encode)?;
        for _ in 1..runs {
            time = time.min(timed(level, &mut encode)?.1);
        }
        let mut shown = RgbImage::new(level.width(), level.height());
        for ((left, top), tile) in places(level).zip(&tiles) {
            replace(&mut shown, &decode(tile)?, left.into(), top.into());
        }
        Ok(Encoded { bytes: tiles.iter().map(Vec::len).sum(), shown, time })
    };
    levels.iter().map(of_level).collect()
}

/// Encodes all tiles of a level, and returns the nanoseconds that it took.
fn timed(
    level: &RgbImage,
    encode: &mut impl FnMut(&RgbImage) -> Result<Vec<u8>>,
) -> Result<(Vec<Vec<u8>>, f64)> {
    let tiles: Vec<RgbImage> =
        places(level).map(|(left, top)| crop_imm(level, left, top, TILE, TILE).to_image()).collect();
    let begun = Instant::now();
    let encoded = tiles.iter().map(encode).collect::<Result<_>>()?;
    Ok((encoded, begun.elapsed().as_secs_f64() * 1e9))
}

fn places(level: &RgbImage) -> impl Iterator<Item = (u32, u32)> + use<> {
    let (across, down) = (level.width().div_ceil(TILE), level.height().div_ceil(TILE));
    (0..down).flat_map(move |row| (0..across).map(move |column| (column * TILE, row * TILE)))
}

fn encode_ours(encoder: &mut Encoder, tile: &RgbImage) -> Result<Vec<u8>> {
    encoder.begin(tile.width(), tile.height());
    tile.as_raw().chunks_exact(3 * tile.width() as usize).for_each(|row| encoder.row(row));
    Ok(encoder.finish().to_vec())
}

/// Encodes with 4:2:0 chroma by libjpeg-turbo's code and tables, or with all that mozjpeg adds but progressive scans.
pub fn encode_libjpeg(tile: &RgbImage, quality: u8, is_plain: bool) -> Result<Vec<u8>> {
    let mut encoder = Compress::new(ColorSpace::JCS_RGB);
    if is_plain {
        encoder.set_fastest_defaults();
    }
    encoder.set_size(tile.width() as usize, tile.height() as usize);
    encoder.set_quality(quality.into());
    encoder.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    let mut started = encoder.start_compress(Vec::new())?;
    started.write_scanlines(tile.as_raw())?;
    Ok(started.finish()?)
}

/// Decodes as libjpeg-turbo and browsers do.
pub fn decode(file: &[u8]) -> Result<RgbImage> {
    let mut started = Decompress::new_mem(file)?.rgb()?;
    let (width, height) = (u32::try_from(started.width())?, u32::try_from(started.height())?);
    let pixels = started.read_scanlines::<u8>()?;
    RgbImage::from_raw(width, height, pixels).context("too few pixels")
}
