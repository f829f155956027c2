//! The floor of a case: the time that the usual libraries need to decode the source once and to encode 4/3 of its
//! pixels, measured with Debian's libvips and output to /dev/null.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use crate::case::Case;
use crate::measure;
use edgezoom_tests::picture::texture::Content;

/// Pixels of all levels relative to the picture's.
const PIXELS_OF_ALL_LEVELS: f64 = 4.0 / 3.0;

/// Number of runs after a warm-up that reads the file from disk.
const RUNS: usize = 3;

/// Computes floors; cases share the time to encode.
pub struct Floors<'a> {
    pictures: &'a Path,
    /// CPU seconds to encode, by content and quality.
    encoded: HashMap<(Content, u8), f64>,
}

impl<'a> Floors<'a> {
    /// Returns the floors of pictures in a directory.
    pub fn new(pictures: &'a Path) -> Self {
        Self { pictures, encoded: HashMap::new() }
    }

    /// Returns the floor in seconds of wall time on all cores. Decoding a single bit stream occupies one core.
    pub fn seconds(&mut self, case: &Case) -> Result<f64> {
        let decoded = cpu_seconds("rawsave", &case.picture.path(self.pictures), &[])?;
        let shared = (decoded + self.encoded(case)?) / thread::available_parallelism()?.get() as f64;
        Ok(if case.picture.is_stream { shared.max(decoded) } else { shared })
    }

    /// Returns the CPU seconds to encode all levels.
    fn encoded(&mut self, case: &Case) -> Result<f64> {
        let key = (case.picture.content, case.quality);
        if let Some(known) = self.encoded.get(&key) {
            return Ok(*known);
        }
        let pixels = crate::kinds::pixels(case.picture.content);
        pixels.make(self.pictures)?;
        let pixels = pixels.path(self.pictures);
        let read = cpu_seconds("rawsave", &pixels, &[])?;
        let quality = format!("--Q={}", case.quality);
        let encoded = (cpu_seconds("jpegsave", &pixels, &[&quality])? - read) * PIXELS_OF_ALL_LEVELS;
        self.encoded.insert(key, encoded);
        Ok(encoded)
    }
}

/// Runs a libvips command on a picture and returns the median of its CPU seconds.
fn cpu_seconds(command: &str, source: &Path, options: &[&str]) -> Result<f64> {
    let run = || {
        let mut vips = Command::new("vips");
        vips.arg(command).arg(source).arg("/dev/null").args(options);
        measure::run(&mut vips).map(|(cost, _)| cost.cpu)
    };
    run()?;
    let mut runs = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>>>()?;
    runs.sort_by(f64::total_cmp);
    runs.get(RUNS / 2).copied().context("no runs")
}
