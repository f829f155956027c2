//! What the usual libraries need for a case at least: to decode the source once, and to encode 4/3 of its pixels. They are
//! called by Debian's libvips, and write to nowhere.

use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::Result;

use crate::case::Case;
use crate::measure::{self, Cost};

/// The pixels of all levels, for each of the picture's.
const PIXELS_OF_ALL_LEVELS: f64 = 4.0 / 3.0;

/// The seconds by the clock with all processors. A source that is one stream of bits takes one of them as long as it is decoded.
pub fn seconds(case: &Case, pictures: &Path) -> Result<f64> {
    let decoded = vips("rawsave", &case.picture.path(pictures), &[])?;
    let pixels = crate::kinds::pixels(case.picture.content);
    pixels.make(pictures)?;
    let pixels = pixels.path(pictures);
    let read = vips("rawsave", &pixels, &[])?;
    let quality = format!("--Q={}", case.quality);
    let encoded = (vips("jpegsave", &pixels, &[&quality])?.cpu - read.cpu) * PIXELS_OF_ALL_LEVELS;
    let shared = (decoded.cpu + encoded) / thread::available_parallelism()?.get() as f64;
    Ok(if case.picture.is_stream { shared.max(decoded.cpu) } else { shared })
}

/// Runs a command of libvips on a picture.
fn vips(command: &str, source: &Path, options: &[&str]) -> Result<Cost> {
    let mut vips = Command::new("vips");
    vips.arg(command).arg(source).arg("/dev/null").args(options);
    measure::run(&mut vips).map(|(cost, _)| cost)
}
