//! The first half of `cargo xtask bench regions`: makes pyramids of a grainy picture and of a photograph, writes the
//! tiles of each case for the second half (`edge/benches/regions.mjs`), and compares renderings with libvips' crop and
//! resize of the source.

#[path = "../../engine/regions/tests/integration/pyramid.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "it belongs to the tests, which use more of it")]
mod pyramid;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use edgezoom_regions::{Format, Plan, Rendering, Turn};
use edgezoom_test_pictures::compared::{decibels, mean_square};
use edgezoom_test_pictures::photograph;
use image::{DynamicImage, Rgb, RgbImage};
use ssimulacra2::{ColorPrimaries, TransferCharacteristic, compute_frame_ssimulacra2};

use pyramid::{Kind, Pyramid, rendering};

/// Size of the pictures.
const SIZE: (u32, u32) = (4096, 3072);
/// Name, region and size.
const CASES: [(&str, [u32; 4], [u32; 2]); 5] = [
    ("1,024² → 512²", [700, 700, 1024, 1024], [513, 513]),
    ("2,048×1,536 → 1,200×900", [300, 300, 2048, 1536], [1200, 900]),
    ("a place for a card, 1,200×630", [600, 300, 1800, 945], [1200, 630]),
    ("whole picture at 1,200 px", [0, 0, 4096, 3072], [1200, 900]),
    ("2 megapixels", [400, 300, 3200, 2400], [1602, 1201]),
];
/// The picture that is photographed, from Debian's `mate-backgrounds`.
const PHOTOGRAPH: &str = "/usr/share/backgrounds/mate/nature/Garden.jpg";

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench").join("regions");
    let _ = fs::remove_dir_all(&folder); // it may not exist
    println!(
        "| picture, rendering | tiles | KB of tiles | PSNR, filter alone | PSNR | SSIMULACRA2, filter alone | SSIMULACRA2 |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, picture) in [("grain", grain()), ("photograph", garden()?)] {
        measure(&folder.join(name), name, &picture)?;
    }
    Ok(())
}

/// Returns a picture whose tiles have about 80 KB.
fn grain() -> RgbImage {
    let mut picture = photograph(SIZE.0, SIZE.1, 1);
    let mut state = 1_u32;
    for value in picture.iter_mut() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *value = value.saturating_add_signed(((state >> 24) as u8 as i8) / 8);
    }
    picture
}

/// Returns the photograph, repeated in mirrors.
fn garden() -> Result<RgbImage> {
    let picture = image::open(PHOTOGRAPH).with_context(|| PHOTOGRAPH.to_owned())?.to_rgb8();
    let (width, height) = picture.dimensions();
    let mirrored =
        |at: u32, side: u32| if (at / side).is_multiple_of(2) { at % side } else { side - 1 - at % side };
    Ok(RgbImage::from_fn(SIZE.0, SIZE.1, |x, y| *picture.get_pixel(mirrored(x, width), mirrored(y, height))))
}

fn measure(folder: &Path, name: &str, picture: &RgbImage) -> Result<()> {
    fs::create_dir_all(folder)?;
    let source = folder.join("source.png");
    picture.save(&source)?;
    vips(&["copy", &text(&source), &text(&folder.join("source.v"))])?;
    // A Worker that decodes whole pictures would read these.
    fs::write(
        folder.join("source.jpg"),
        pyramid::encode(&DynamicImage::ImageRgb8(picture.clone()).to_rgba8(), Kind::Jpeg420),
    )?;
    let source = DynamicImage::ImageRgb8(picture.clone()).to_rgba8();
    let [jpeg, png] = [Kind::Jpeg420, Kind::Png].map(|kind| Pyramid::new(source.clone(), kind, 512, 0));
    for (number, (case, region, size)) in CASES.into_iter().enumerate() {
        let asked = Rendering { format: Format::Jpg, ..rendering(region, size) };
        let plan = Plan::new(&jpeg.dzi, &asked)?;
        let tiles = jpeg.tiles(&plan);
        write(&folder.join(number.to_string()), &format!("{name}, {case}"), &jpeg, &asked)?;
        let expected = scaled(folder, region, size)?;
        let mut figures = Vec::new();
        for pyramid in [&png, &jpeg] {
            let shown = pyramid.show(&rendering(region, size)).to_rgb8();
            let [one, other] =
                [&shown, &expected].map(|picture| DynamicImage::ImageRgb8(picture.clone()).to_rgba8());
            figures.push((decibels(mean_square(&one, &other, (0, 0))), score(&expected, &shown)?));
        }
        let bytes: usize = tiles.iter().map(Vec::len).sum();
        println!(
            "| {name}, {case} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} |",
            tiles.len(),
            bytes / 1000,
            figures[0].0,
            figures[1].0,
            figures[0].1,
            figures[1].1
        );
    }
    let (_, region, size) = CASES[4];
    let asked = Rendering { format: Format::Png, turn: Turn::Right, ..rendering(region, size) };
    write(&folder.join("5"), &format!("{name}, 2 megapixels of PNG as PNG, turned"), &png, &asked)
}

/// Writes a case for the second half: its name, the words of its rendering, and its tiles.
fn write(folder: &Path, name: &str, pyramid: &Pyramid, asked: &Rendering) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("name"), name)?;
    fs::write(folder.join("words"), asked.to_words(&pyramid.dzi).map(|word| word.to_string()).join(" "))?;
    for (number, tile) in pyramid.tiles(&Plan::new(&pyramid.dzi, asked)?).iter().enumerate() {
        fs::write(folder.join(format!("{number:02}.tile")), tile)?;
    }
    Ok(())
}

/// Returns a region of the source that libvips has scaled.
fn scaled(folder: &Path, [left, top, width, height]: [u32; 4], [w, h]: [u32; 2]) -> Result<RgbImage> {
    let [source, crop, out] = ["source.v", "crop.v", "out.png"].map(|name| text(&folder.join(name)));
    let [left, top] = [left, top].map(|side| side.to_string());
    vips(&["crop", &source, &crop, &left, &top, &width.to_string(), &height.to_string()])?;
    let (across, down) = (f64::from(w) / f64::from(width), f64::from(h) / f64::from(height));
    vips(&["resize", &crop, &out, &across.to_string(), "--vscale", &down.to_string()])?;
    Ok(image::open(PathBuf::from(out))?.to_rgb8())
}

fn vips(arguments: &[&str]) -> Result<()> {
    ensure!(Command::new("vips").args(arguments).status()?.success(), "vips failed");
    Ok(())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the SSIMULACRA2 score: 100 is the same picture, 90 looks the same.
fn score(reference: &RgbImage, shown: &RgbImage) -> Result<f64> {
    let frame = |picture: &RgbImage| {
        let pixels = picture.pixels().map(|Rgb(pixel)| pixel.map(|value| f32::from(value) / 255.0)).collect();
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        ssimulacra2::Rgb::new(pixels, width, height, TransferCharacteristic::SRGB, ColorPrimaries::BT709)
            .map_err(|error| anyhow!("{error:?}"))
    };
    compute_frame_ssimulacra2(frame(reference)?, frame(shown)?).map_err(|error| anyhow!("{error}"))
}
