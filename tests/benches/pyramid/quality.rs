//! The output: its size, and the PSNR of the tiles of full size.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use image::{ImageReader, Limits, RgbImage};

use crate::case::Case;

/// Pictures above this take minutes and gigabytes to compare.
const MOST_PIXELS: u64 = 500_000_000;
/// Maximum number of compared tiles, evenly spread.
const MOST_TILES: usize = 1000;
const THREADS: usize = 2;

#[derive(Clone, Copy, Debug)]
pub struct Quality {
    pub files: u64,
    pub megabytes: f64,
    /// PSNR in decibels, if there is a reference and it is not too large.
    pub psnr: Option<f64>,
}

/// Measures the pyramid `out` in a directory, and compares it with a picture.
pub fn of(source: Option<&Path>, folder: &Path, case: &Case) -> Result<Quality> {
    let levels = folder.join("out_files");
    let (mut files, mut bytes, mut top) = (0, 0, 0_u32);
    for level in fs::read_dir(&levels)? {
        let level = level?;
        if level.file_type()?.is_file() {
            continue; // libvips' properties
        }
        top = top.max(level.file_name().to_str().and_then(|name| name.parse().ok()).unwrap_or_default());
        for file in fs::read_dir(level.path()).with_context(|| format!("{:?}", level.path()))? {
            files += 1;
            bytes += file?.metadata()?.len();
        }
    }
    let pixels = u64::from(case.picture.width) * u64::from(case.picture.height);
    let top = levels.join(top.to_string());
    let source = source.filter(|_| pixels <= MOST_PIXELS);
    let psnr = source.map(|source| psnr(&read(source)?, &top, case)).transpose()?;
    Ok(Quality { files, megabytes: bytes as f64 / 1e6, psnr })
}

fn psnr(source: &RgbImage, level: &Path, case: &Case) -> Result<f64> {
    let tile_size = case.tile_size;
    let columns = source.width().div_ceil(tile_size);
    let all = (columns * source.height().div_ceil(tile_size)) as usize;
    let step = all.div_ceil(MOST_TILES) | 1;
    let next = AtomicUsize::new(0);
    let compare = || -> Result<(u64, u64)> {
        let mut sums = (0_u64, 0_u64);
        loop {
            let tile = next.fetch_add(step, Ordering::Relaxed);
            if tile >= all {
                return Ok(sums);
            }
            let (column, row) = (tile as u32 % columns, tile as u32 / columns);
            let shown = read(&level.join(format!("{column}_{row}.jpg")))?;
            let (squares, values) = squares(source, &shown, (column * tile_size, row * tile_size), case)?;
            sums = (sums.0 + squares, sums.1 + values);
        }
    };
    let (mut squares, mut values) = (0, 0);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(compare)).collect();
        for thread in threads {
            let Ok(sums) = thread.join() else { bail!("a comparison failed") };
            let sums = sums?;
            (squares, values) = (squares + sums.0, values + sums.1);
        }
        Ok(())
    })?;
    Ok(10.0 * (255.0_f64.powi(2) * values as f64 / squares.max(1) as f64).log10())
}

/// Returns the sum of squared differences between a tile without overlap and the source, and the number of values.
fn squares(
    source: &RgbImage,
    tile: &RgbImage,
    (left, top): (u32, u32),
    &Case { tile_size, overlap, .. }: &Case,
) -> Result<(u64, u64)> {
    let (width, height) = (tile_size.min(source.width() - left), tile_size.min(source.height() - top));
    let (skip_x, skip_y) = (left.min(overlap), top.min(overlap)); // tiles overlap wherever there is a neighbour
    ensure!(tile.width() >= width + skip_x && tile.height() >= height + skip_y, "a tile is too small");
    let mut sum = 0;
    for y in 0..height {
        let row =
            |picture: &RgbImage, x: u32, y: u32| (y as usize * picture.width() as usize + x as usize) * 3;
        let (one, other) = (row(source, left, top + y), row(tile, skip_x, skip_y + y));
        let values = 3 * width as usize;
        let pairs = source.as_raw()[one..one + values].iter().zip(&tile.as_raw()[other..other + values]);
        sum += pairs.map(|(one, other)| u64::from(one.abs_diff(*other)).pow(2)).sum::<u64>();
    }
    Ok((sum, 3 * u64::from(width) * u64::from(height)))
}

fn read(path: &Path) -> Result<RgbImage> {
    let mut reader = ImageReader::open(path).with_context(|| path.display().to_string())?;
    reader.limits(Limits::no_limits());
    Ok(reader.decode().with_context(|| path.display().to_string())?.into_rgb8())
}
