//! Renderings beside libvips' crop and resize of the source.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use edgezoom_regions::{Rendering, Turn};
use edgezoom_test_pictures::photograph;
use edgezoom_test_support::Picture;
use edgezoom_test_support::reference::{Detail, Judge, packages};
use image::imageops::{rotate90, rotate180, rotate270};
use image::{DynamicImage, RgbaImage};

use crate::pyramid::{Kind, Pyramid, rendering};

const VIPS: Judge = Judge { set: "regions", version: || packages(&["libvips-tools"]) };
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
    let source = photograph(601, 440, 7);
    let folder = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let [png, v] = ["source.png", "source.v"].map(|name| folder.path().join(name).display().to_string());
        source.save(&png).unwrap();
        vips(&["copy", &png, &v]);
        folder
    });
    let levels = DynamicImage::ImageRgb8(source.clone()).to_rgba8();
    let pyramids = [(Kind::Jpeg420, 256, 0), (Kind::Jpeg444, 126, 1), (Kind::Png, 256, 0)]
        .map(|(kind, tile_size, overlap)| Pyramid::new(levels.clone(), kind, tile_size, overlap));
    let places =
        [[0, 0, 601, 440], [0, 0, 256, 192], [200, 120, 240, 320], [351, 173, 250, 267], [1, 400, 120, 40]];
    for (number, region) in places.into_iter().enumerate() {
        for percent in [30, 51, 87] {
            let size = [region[2] * percent / 100, region[3] * percent / 100];
            let name = format!("{region:?} {percent}").replace(['[', ']'], "");
            let show = || {
                let scaled = scaled(folder.path(), region, size);
                Some(Picture::without_opacity(scaled.width(), scaled.height(), 4, &scaled))
            };
            let expected = VIPS.picture(&name, Detail::Lattice, show).unwrap();
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
                let shown = Picture::without_opacity(shown.width(), shown.height(), 4, &shown);
                let likeness = expected.picture.psnr(&expected.of(&shown).unwrap());
                assert!(likeness >= LEAST, "{}", VIPS.signed(format!("{name} % {turn:?}: {likeness:.1} dB")));
            }
        }
    }
}
