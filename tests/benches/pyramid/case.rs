//! The cases: pictures of common kinds and their tile settings. libvips encodes the pictures once, from a seed, so that
//! no file comes from the code under test.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use edgezoom_tests::picture::texture::{Content, Texture};

/// A picture file.
#[derive(Clone, Copy)]
pub struct Picture {
    pub name: &'static str,
    pub extension: &'static str,
    pub content: Content,
    pub width: u32,
    pub height: u32,
    pub likeness: Likeness,
    pub encoder: Encoder,
    /// True if its orientation tag rotates it.
    pub turned: bool,
    /// True if a single core must decode it, as one bit stream.
    pub is_stream: bool,
}

/// The reference of a pyramid's PSNR.
#[derive(Clone, Copy)]
pub enum Likeness {
    /// The picture itself.
    Picture,
    /// The TIFF in strips with the same pixels, because this benchmark cannot decode the picture.
    Strips,
    /// None.
    Unmeasured,
}

/// The encoder of a picture, which reads a PPM from standard input.
#[derive(Clone, Copy)]
pub enum Encoder {
    /// A libvips command and its options.
    Vips(&'static [&'static str]),
    /// A shell command whose first argument is the file.
    Shell(&'static str),
}

use Encoder::Vips;

/// A picture and its tile settings.
pub struct Case {
    pub picture: Picture,
    pub tile_size: u32,
    pub overlap: u32,
    pub quality: u8,
    /// True to run on one thread.
    pub single: bool,
    /// Number of runs without `--quick`.
    runs: usize,
}

pub const JPEG_50: Picture = Picture {
    name: "JPEG 4:2:0, 50 MP",
    extension: "jpg",
    width: 8660,
    height: 5774,
    content: Content::Texture,
    likeness: Likeness::Picture,
    encoder: Vips(&["jpegsave", "--Q=88", "--subsample-mode=on"]),
    turned: false,
    is_stream: true,
};
const JPEG_216: Picture = Picture { name: "JPEG 4:2:0, 216 MP", width: 18_000, height: 12_000, ..JPEG_50 };
/// As wide as the previous one, to show what does not depend on the height.
const JPEG_1000: Picture =
    Picture { name: "JPEG 4:2:0, 1 gigapixel", width: 18_000, height: 55_556, ..JPEG_50 };
const JPEG_444: Picture = Picture {
    name: "JPEG 4:4:4, 50 MP",
    encoder: Vips(&["jpegsave", "--Q=92", "--subsample-mode=off"]),
    ..JPEG_50
};
const JPEG_PROGRESSIVE: Picture = Picture {
    name: "JPEG progressive, 50 MP",
    encoder: Vips(&["jpegsave", "--Q=88", "--subsample-mode=on", "--interlace"]),
    ..JPEG_50
};
const PNG_100: Picture = Picture {
    name: "PNG, 100 MP",
    extension: "png",
    width: 10_000,
    height: 10_000,
    // libpng's filter heuristic, as most writers use.
    encoder: Vips(&["pngsave", "--filter=all", "--compression=6"]),
    ..JPEG_50
};
const TIFF_STRIPS: Picture = Picture {
    name: "TIFF strips, 400 MP",
    extension: "tif",
    width: 20_000,
    height: 20_000,
    encoder: Vips(&["tiffsave"]),
    ..JPEG_50
};
const TIFF_TILES: Picture = Picture {
    name: "TIFF JPEG tiles, 400 MP",
    likeness: Likeness::Strips,
    encoder: Vips(&[
        "tiffsave",
        "--tile",
        "--tile-width=256",
        "--tile-height=256",
        "--compression=jpeg",
        "--Q=88",
    ]),
    ..TIFF_STRIPS
};

/// Returns all cases, those with a target first.
pub fn all() -> Vec<Case> {
    let case = Case::new;
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
        // A run takes half a minute, and its memory is what counts.
        case(JPEG_1000, 0),
    ]
}

impl Case {
    /// Returns a case with libvips' default settings.
    pub fn new(picture: Picture, runs: usize) -> Self {
        Self { picture, tile_size: 254, overlap: 1, quality: 75, single: false, runs }
    }

    /// Returns the case with the tiler's default grid.
    pub fn with_default_grid(self) -> Self {
        Self { tile_size: 512, overlap: 0, ..self }
    }

    pub fn name(&self) -> String {
        let threads = if self.single { ", one thread" } else { "" };
        let Self { picture: Picture { content, name, .. }, tile_size, overlap, quality, .. } = self;
        format!("{}{name}; tiles {tile_size}+{overlap}, Q{quality}{threads}", content.name())
    }

    /// Returns the number of runs after the warm-up; 0 if the warm-up counts.
    pub fn runs(&self, quick: bool) -> usize {
        if quick { self.runs.min(1) } else { self.runs }
    }
}

impl Picture {
    pub fn path(&self, folder: &Path) -> PathBuf {
        let name = format!("{}{}", self.content.name(), self.name);
        let words: Vec<&str> =
            name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        folder.join(format!("{}.{}", words.join("-"), self.extension))
    }

    /// Returns the file to compare the pyramid with.
    pub fn reference(&self, folder: &Path) -> Option<PathBuf> {
        match self.likeness {
            Likeness::Picture => Some(self.path(folder)),
            Likeness::Strips => Some(TIFF_STRIPS.path(folder)),
            Likeness::Unmeasured => None,
        }
    }

    /// Creates the file if it does not exist.
    pub fn make(&self, folder: &Path) -> Result<()> {
        let path = self.path(folder);
        if path.exists() {
            return Ok(());
        }
        eprintln!("bench | making {}", path.display());
        let growing = folder.join(format!("growing.{}", self.extension));
        let mut encoder = self.encoder.command(&growing);
        let mut encoder = encoder.stdin(Stdio::piped()).spawn().with_context(|| format!("{encoder:?}"))?;
        let mut pixels = BufWriter::with_capacity(1 << 20, encoder.stdin.take().context("no pipe")?);
        write!(pixels, "P6\n{} {}\n255\n", self.width, self.height)?;
        Texture::new(self.content)?.write(self.width, self.height, &mut pixels)?;
        drop(pixels);
        ensure!(encoder.wait()?.success(), "cannot make {}", path.display());
        if self.turned {
            let mut exiftool = Command::new("exiftool");
            exiftool.args(["-quiet", "-overwrite_original", "-n", "-Orientation=6"]).arg(&growing);
            ensure!(
                exiftool.status().context("exiftool")?.success(),
                "cannot set the orientation of {}",
                path.display()
            );
        }
        Ok(std::fs::rename(growing, path)?)
    }
}

impl Encoder {
    fn command(self, file: &Path) -> Command {
        match self {
            Self::Vips(words) => {
                let mut vips = Command::new("vips");
                vips.args(&words[..1]).arg("stdin").arg(file).args(&words[1..]);
                vips
            }
            Self::Shell(line) => {
                let mut shell = Command::new("sh");
                shell.args(["-ec", line, "sh"]).arg(file);
                shell
            }
        }
    }
}
