//! The pictures, in groups. Photographs come from Debian's package `mate-backgrounds`; the others are computed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use edgezoom_pyramid::codecs::{Bounds, DecodeOptions, DrawingOptions, open_with};
use edgezoom_test_pictures::texture::{Content, random};
use image::imageops::crop_imm;
use image::{Rgb, RgbImage};

use crate::encoders::{decode, encode_libjpeg};

/// Number of levels that are compared.
pub const LEVELS: u32 = 3;
const PHOTOGRAPHS: &str = "/usr/share/backgrounds/mate/nature";
/// Side of the computed pictures in pixels.
const SIDE: u32 = 1024;

/// A source, and its pixels as libjpeg decodes them.
pub struct Picture {
    pub name: String,
    /// The source's file.
    pub file: Vec<u8>,
    pixels: RgbImage,
}

/// Pictures of a kind.
pub struct Group {
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Photographs at half size, which shows nothing of the JPEG that they were.
    Photographs,
    Text,
    Scan,
    Map,
    Noise,
    /// Photographs at half size as JPEGs of this quality.
    Jpeg(u8),
    /// Photographs as they came.
    AsTheyCame,
}

#[rustfmt::skip]
pub fn groups() -> Vec<Group> {
    [
        ("photographs", Kind::Photographs), ("text", Kind::Text), ("scan", Kind::Scan), ("map", Kind::Map), ("noise", Kind::Noise),
        ("JPEG of Q75", Kind::Jpeg(75)), ("JPEG of Q85", Kind::Jpeg(85)), ("JPEG of Q92", Kind::Jpeg(92)), ("JPEG as it came", Kind::AsTheyCame),
    ].into_iter().map(|(name, kind)| Group { name, kind }).collect()
}

impl Group {
    /// Returns true if its sources are JPEGs.
    pub fn is_jpeg(&self) -> bool {
        matches!(self.kind, Kind::Jpeg(_) | Kind::AsTheyCame)
    }

    /// Reads or computes the pictures one by one.
    pub fn pictures(&self) -> Result<Vec<Picture>> {
        match self.kind {
            Kind::Photographs => {
                photographs()?.iter().map(|path| Ok(plain(name(path), half(path)?))).collect()
            }
            Kind::Text => Ok(vec![plain("text".into(), square(&Content::Text.pixels()?))]),
            Kind::Noise => Ok(vec![plain("noise".into(), square(&Content::Noise.pixels()?))]),
            Kind::Scan => Ok(vec![plain("scan".into(), scan(&square(&Content::Text.pixels()?)))]),
            Kind::Map => Ok(vec![plain("map".into(), drawn(&map())?)]),
            Kind::Jpeg(quality) => {
                let made = |path: &Path| {
                    let file = encode_libjpeg(&half(path)?, quality, true)?;
                    Ok(Picture { name: format!("{}-{quality}", name(path)), pixels: decode(&file)?, file })
                };
                photographs()?.iter().step_by(2).map(|path| made(path)).collect()
            }
            Kind::AsTheyCame => {
                let read = |path: &Path| {
                    let file = fs::read(path)?;
                    Ok(Picture { name: format!("{}-full", name(path)), pixels: decode(&file)?, file })
                };
                photographs()?.iter().step_by(2).map(|path| read(path)).collect()
            }
        }
    }
}

impl Picture {
    /// Returns the largest levels.
    pub fn levels(&self) -> Vec<RgbImage> {
        let next = |level: &RgbImage| Some(half_of(level));
        std::iter::successors(Some(self.pixels.clone()), next).take(LEVELS as usize).collect()
    }
}

fn photographs() -> Result<Vec<std::path::PathBuf>> {
    let mut paths = fs::read_dir(PHOTOGRAPHS)
        .context(PHOTOGRAPHS)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns a photograph at half its size.
fn half(path: &Path) -> Result<RgbImage> {
    Ok(half_of(&decode(&fs::read(path)?)?))
}

/// Returns the means of 2×2 pixels.
fn half_of(picture: &RgbImage) -> RgbImage {
    RgbImage::from_fn(picture.width().div_ceil(2), picture.height().div_ceil(2), |x, y| {
        let at = |dx: u32, dy: u32| {
            picture.get_pixel((2 * x + dx).min(picture.width() - 1), (2 * y + dy).min(picture.height() - 1))
        };
        let four = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
        Rgb([0, 1, 2]
            .map(|channel| ((four.iter().map(|pixel| u32::from(pixel[channel])).sum::<u32>() + 2) / 4) as u8))
    })
}

fn square(picture: &RgbImage) -> RgbImage {
    crop_imm(picture, 0, 0, SIDE, SIDE).to_image()
}

/// Makes a source of pixels.
fn plain(name: String, pixels: RgbImage) -> Picture {
    let header = format!("P6 {} {} 255\n", pixels.width(), pixels.height());
    Picture { name, file: [header.as_bytes(), pixels.as_raw()].concat(), pixels }
}

/// Text on paper with grain and uneven light.
fn scan(text: &RgbImage) -> RgbImage {
    RgbImage::from_fn(text.width(), text.height(), |x, y| {
        let light = 235 - 30 * i32::try_from(x.abs_diff(600)).unwrap_or_default() / 600;
        let ink = 255 - i32::from(text.get_pixel(x, y)[0]);
        Rgb([(1, 0), (2, -6), (3, -22)].map(|(seed, tint)| {
            let grain = i32::from(random(x, y, seed)) / 32 + i32::from(random(x / 3, y / 3, 4)) / 24;
            (light + tint - ink * 4 / 5 + grain - 9).clamp(0, 255) as u8
        }))
    })
}

/// Draws an SVG.
fn drawn(svg: &str) -> Result<RgbImage> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), svg)?;
    let drawing = DrawingOptions { svg_side: SIDE, ..DrawingOptions::default() };
    let options = DecodeOptions { drawing, ..DecodeOptions::default() };
    let mut reader = open_with(fs::File::open(file.path())?, Bounds::default(), &options)?;
    let size = reader.size();
    let mut pixels = vec![0; reader.layout().channels() * (size.width * size.height) as usize];
    reader.read_rows(&mut pixels)?;
    let channels = reader.layout().channels();
    let rgb: Vec<u8> = pixels.chunks_exact(channels).flat_map(|pixel| pixel[..3].to_vec()).collect();
    RgbImage::from_raw(size.width, size.height, rgb).context("too few pixels")
}

/// A street map: water, parks, houses, streets with borders, names.
fn map() -> String {
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}"><rect width="100%" height="100%" fill="#f2efe9"/>"##
    );
    let value = |index: u32, seed| f64::from(random(index, seed, 5)) * 4.0;
    svg +=
        r##"<path d="M0 700 C300 600 500 900 1024 760 L1024 860 C600 980 300 720 0 800 Z" fill="#aad3df"/>"##;
    for index in 0..6 {
        let (x, y) = (value(index, 1), value(index, 2));
        let _ = write!(svg, r##"<path d="M{x} {y} l90 10 20 70 -60 40 -70 -30 z" fill="#c8facc"/>"##);
    }
    for index in 0..900 {
        let (x, y) = ((index % 30) * 34 + 4, (index / 30) * 34 + 4);
        let (w, h) = (10.0 + value(index, 3) / 70.0, 9.0 + value(index, 4) / 80.0);
        if random(index, 6, 5) > 70 {
            let _ = write!(
                svg,
                r##"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="#d9d0c9" stroke="#c4b6ab"/>"##
            );
        }
    }
    for index in 0..40 {
        let (a, b, c, d) = (value(index, 7), value(index, 8), value(index, 9), value(index, 10));
        let (wide, colour, edge) =
            [(3, "#fff", "#bbb"), (6, "#fff", "#aaa"), (9, "#fcd6a4", "#a06b00"), (5, "#f7fabf", "#707d05")]
                [index as usize % 4];
        let path = format!("M{a} 0 C{b} 300 {c} 700 {d} 1024");
        let path = if index % 2 == 0 { path } else { format!("M0 {a} C300 {b} 700 {c} 1024 {d}") };
        let _ = write!(svg, r#"<path d="{path}" fill="none" stroke="{edge}" stroke-width="{}"/>"#, wide + 2);
        let _ = write!(svg, r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="{wide}"/>"#);
    }
    for index in 0..120 {
        let (x, y) = (value(index, 11), value(index, 12));
        let colour = ["#000", "#333", "#734a08", "#0066ff", "#c00"][index as usize % 5];
        let size = 9 + index % 5;
        let _ = write!(
            svg,
            r##"<text x="{x}" y="{y}" font-size="{size}" font-family="sans-serif" fill="{colour}" stroke="#fff" stroke-width="2" paint-order="stroke">Street {index}</text>"##
        );
    }
    svg + "</svg>"
}
