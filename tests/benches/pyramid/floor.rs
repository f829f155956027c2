//! What the usual libraries need for a case at least: to decode the source once, and to encode 4/3 of its pixels. They are
//! called by Debian's libvips, and write to nowhere.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use crate::case::Case;
use crate::measure;
use crate::texture::Content;

/// The pixels of all levels, for each of the picture's.
const PIXELS_OF_ALL_LEVELS: f64 = 4.0 / 3.0;

/// The runs of which the median is taken, after one that is not counted: the first reads the file from its disk.
const RUNS: usize = 3;

/// The floors of cases, and what they have in common.
pub struct Floors<'a> {
    pictures: &'a Path,
    /// What encoding takes, in seconds of all processors, for each content and quality.
    encoded: HashMap<(Content, u8), f64>,
}

impl<'a> Floors<'a> {
    /// Floors of pictures in a folder.
    pub fn new(pictures: &'a Path) -> Self {
        Self { pictures, encoded: HashMap::new() }
    }

    /// The seconds by the clock with all processors. A source that is one stream of bits takes one of them as long as it
    /// is decoded.
    pub fn seconds(&mut self, case: &Case) -> Result<f64> {
        let decoded = processor_seconds("rawsave", &case.picture.path(self.pictures), &[])?;
        let shared = (decoded + self.encoded(case)?) / thread::available_parallelism()?.get() as f64;
        Ok(if case.picture.is_stream { shared.max(decoded) } else { shared })
    }

    /// The seconds of all processors that encoding all levels takes.
    fn encoded(&mut self, case: &Case) -> Result<f64> {
        let key = (case.picture.content, case.quality);
        if let Some(known) = self.encoded.get(&key) {
            return Ok(*known);
        }
        let pixels = crate::kinds::pixels(case.picture.content);
        pixels.make(self.pictures)?;
        let pixels = pixels.path(self.pictures);
        let read = processor_seconds("rawsave", &pixels, &[])?;
        let quality = format!("--Q={}", case.quality);
        let encoded = (processor_seconds("jpegsave", &pixels, &[&quality])? - read) * PIXELS_OF_ALL_LEVELS;
        self.encoded.insert(key, encoded);
        Ok(encoded)
    }
}

/// Runs a command of libvips on a picture. Returns the seconds of all processors.
fn processor_seconds(command: &str, source: &Path, options: &[&str]) -> Result<f64> {
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
