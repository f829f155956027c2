//! Renderings beside libvips' crop and resize of the source.

use std::path::Path;
use std::process::Command;

use edgezoom_regions::{Rendering, Turn};
use edgezoom_test_pictures::compared::{decibels, mean_square};
use edgezoom_test_pictures::photograph;
use image::imageops::{rotate90, rotate180, rotate270};
use image::{DynamicImage, RgbaImage};

use crate::pyramid::{Kind, Pyramid, rendering};

/// Likeness that the service promises, in dB.
const LEAST: f64 = 35.0;

fn vips(arguments: &[&str]) {
    let output = Command::new("vips").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a region that libvips has scaled.
fn scaled(folder: &Path, [left, top, width, height]: [u32; 4], [w, h]: [u32; 2]) -> RgbaImage {
    let [source, crop, out] =
        ["source.v", "crop.v", "out.png"].map(|name| folder.join(name).display().to_string());
    vips(&[
        "crop",
        &source,
        &crop,
        &left.to_string(),
        &top.to_string(),
        &width.to_string(),
        &height.to_string(),
    ]);
    let (across, down) = (f64::from(w) / f64::from(width), f64::from(h) / f64::from(height));
    vips(&["resize", &crop, &out, &across.to_string(), "--vscale", &down.to_string()]);
    image::open(&out).unwrap().to_rgba8()
}

#[test]
fn regions_look_as_libvips_scales_them() {
    let folder = tempfile::tempdir().unwrap();
    let source = photograph(1501, 1100, 7);
    let file = folder.path().join("source.png");
    source.save(&file).unwrap();
    vips(&["copy", &file.display().to_string(), &folder.path().join("source.v").display().to_string()]);
    let source = DynamicImage::ImageRgb8(source).to_rgba8();
    let pyramids = [(Kind::Jpeg420, 512, 0), (Kind::Jpeg444, 254, 1), (Kind::Png, 512, 0)]
        .map(|(kind, tile_size, overlap)| Pyramid::new(source.clone(), kind, tile_size, overlap));
    let places = [
        [0, 0, 1501, 1100],
        [0, 0, 640, 480],
        [500, 300, 600, 799],
        [877, 433, 624, 667],
        [3, 1001, 301, 99],
    ];
    for (number, region) in places.into_iter().enumerate() {
        for percent in [30, 51, 87] {
            let size = [region[2] * percent / 100, region[3] * percent / 100];
            let expected = scaled(folder.path(), region, size);
            // Each place and size in a pyramid of one kind, and in all turns.
            let pyramid = &pyramids[(number + percent as usize) % 3];
            for turn in Turn::ALL {
                let shown = pyramid.show(&Rendering { turn, ..rendering(region, size) }).to_rgba8();
                let shown = match turn {
                    Turn::None => shown,
                    Turn::Right => rotate270(&shown),
                    Turn::Half => rotate180(&shown),
                    Turn::Left => rotate90(&shown),
                };
                assert_eq!(shown.dimensions(), expected.dimensions());
                let likeness = decibels(mean_square(&shown, &expected, (0, 0)));
                assert!(likeness >= LEAST, "{region:?} {percent} % {turn:?}: {likeness:.1} dB");
            }
        }
    }
}
