//! What is measured: pictures of the usual kinds, and how they are tiled. The pictures are made once, from a seed, by
//! libvips' encoders, so that no file comes from the code that is measured.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::texture::Texture;

/// A picture file.
#[derive(Clone, Copy)]
pub struct Picture {
    name: &'static str,
    extension: &'static str,
    pub width: u32,
    pub height: u32,
    /// Whether the likeness is measured with the TIFF in strips, which has the same pixels: this one cannot be read here.
    unreadable: bool,
    /// libvips' command that writes it, and its options.
    saver: &'static [&'static str],
}

/// A picture and how it is tiled.
pub struct Case {
    pub picture: Picture,
    pub tile_size: u32,
    pub quality: u8,
    /// Whether one thread does all.
    pub single: bool,
    /// How often it is run, when there is time.
    runs: usize,
}

const JPEG_50: Picture = Picture {
    name: "JPEG 4:2:0, 50 MP",
    extension: "jpg",
    width: 8660,
    height: 5774,
    unreadable: false,
    saver: &["jpegsave", "--Q=88", "--subsample-mode=on"],
};
const JPEG_216: Picture = Picture { name: "JPEG 4:2:0, 216 MP", width: 18_000, height: 12_000, ..JPEG_50 };
/// As wide as the one before: what does not depend on the height shows here.
const JPEG_1000: Picture =
    Picture { name: "JPEG 4:2:0, 1 gigapixel", width: 18_000, height: 55_556, ..JPEG_50 };
const JPEG_444: Picture =
    Picture { name: "JPEG 4:4:4, 50 MP", saver: &["jpegsave", "--Q=92", "--subsample-mode=off"], ..JPEG_50 };
const JPEG_PROGRESSIVE: Picture = Picture {
    name: "JPEG progressive, 50 MP",
    saver: &["jpegsave", "--Q=88", "--subsample-mode=on", "--interlace"],
    ..JPEG_50
};
const PNG_100: Picture = Picture {
    name: "PNG, 100 MP",
    extension: "png",
    width: 10_000,
    height: 10_000,
    unreadable: false,
    // libpng's own choice of filters, which most writers leave it to.
    saver: &["pngsave", "--filter=all", "--compression=6"],
};
const TIFF_STRIPS: Picture = Picture {
    name: "TIFF strips, 400 MP",
    extension: "tif",
    width: 20_000,
    height: 20_000,
    unreadable: false,
    saver: &["tiffsave"],
};
const TIFF_TILES: Picture = Picture {
    name: "TIFF JPEG tiles, 400 MP",
    unreadable: true,
    saver: &["tiffsave", "--tile", "--tile-width=256", "--tile-height=256", "--compression=jpeg", "--Q=88"],
    ..TIFF_STRIPS
};

/// All cases, the bounds of the engine first.
pub fn all() -> Vec<Case> {
    let case = |picture, runs| Case { picture, tile_size: 254, quality: 75, single: false, runs };
    let large_tiles = |picture, runs| Case { tile_size: 510, quality: 82, ..case(picture, runs) };
    vec![
        case(JPEG_50, 5),
        case(JPEG_216, 3),
        Case { single: true, ..case(JPEG_50, 3) },
        case(JPEG_444, 3),
        case(JPEG_PROGRESSIVE, 3),
        case(PNG_100, 3),
        case(TIFF_STRIPS, 2),
        case(TIFF_TILES, 2),
        large_tiles(JPEG_50, 3),
        large_tiles(JPEG_216, 2),
        // A run of half a minute; its memory is what counts.
        case(JPEG_1000, 0),
    ]
}

impl Case {
    pub fn name(&self) -> String {
        let threads = if self.single { ", one thread" } else { "" };
        format!("{}; tiles {}+1, Q{}{threads}", self.picture.name, self.tile_size, self.quality)
    }

    /// How often it is run after the first time. 0: the first time counts.
    pub fn runs(&self, quick: bool) -> usize {
        if quick { self.runs.min(1) } else { self.runs }
    }
}

impl Picture {
    pub fn path(&self, folder: &Path) -> PathBuf {
        let words: Vec<&str> =
            self.name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        folder.join(format!("{}.{}", words.join("-"), self.extension))
    }

    /// The file that a pyramid is compared with.
    pub fn reference(&self, folder: &Path) -> PathBuf {
        if self.unreadable { TIFF_STRIPS.path(folder) } else { self.path(folder) }
    }

    /// Makes the file, unless it is there.
    pub fn make(&self, folder: &Path) -> Result<()> {
        let path = self.path(folder);
        if path.exists() {
            return Ok(());
        }
        eprintln!("bench | making {}", path.display());
        let growing = folder.join(format!("growing.{}", self.extension));
        let [saver, options @ ..] = self.saver else { return Ok(()) };
        let mut vips = Command::new("vips");
        vips.args([saver, "stdin"]).arg(&growing).args(options);
        let mut vips = vips.stdin(Stdio::piped()).spawn().context("vips")?;
        let mut pixels = BufWriter::with_capacity(1 << 20, vips.stdin.take().context("no pipe")?);
        write!(pixels, "P6\n{} {}\n255\n", self.width, self.height)?;
        Texture::new().write(self.width, self.height, &mut pixels)?;
        drop(pixels);
        ensure!(vips.wait()?.success(), "vips did not make {}", path.display());
        Ok(std::fs::rename(growing, path)?)
    }
}
