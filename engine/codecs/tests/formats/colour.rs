//! Conversion from other colour spaces to sRGB, compared with Little CMS in libvips. No difference should be visible.
//!
//! The reference converts with more bits, so single pixels may differ where colours are clipped. 99 % of the pixels
//! must be within [`NEAR`].

use std::fs;

use edgezoom_test_support::likeness::{Tolerance, colours, delta_e};

use crate::variant::{Variant, variant};

/// Maximum ΔE for 99 % of the pixels. A trained eye sees this difference only side by side.
const NEAR: f64 = 2.0;
/// Accepted difference between channels, which detects a small wrong part.
const TOLERANCE: Tolerance = Tolerance::lossy(0.9, 18, 1.7);

#[rustfmt::skip]
const PROFILES: &[Variant] = &[
    variant("p3 jpeg", "f.jpg", "vips icc_transform vivid.png t.v p3 && vips jpegsave t.v f.jpg --Q 95 --subsample-mode off", LCMS),
    variant("p3 jpeg progressive", "f.jpg", "vips icc_transform vivid.png t.v p3 && vips jpegsave t.v f.jpg --Q 95 --interlace", LCMS),
    variant("p3 jpeg beyond srgb", "f.jpg", "vips icc_transform vivid.png t.png p3 && exiftool -q -icc_profile -b t.png > p.icc && convert vivid.png -profile p.icc -quality 97 -sampling-factor 4:4:4 f.jpg", LCMS),
    variant("p3 png", "f.png", "vips icc_transform vivid.png f.png p3", LCMS),
    variant("p3 png 16 bits", "f.png", "vips icc_transform vivid.png f.png p3 --depth 16", LCMS),
    variant("p3 png with opacity", "f.png", "vips icc_transform clear.png f.png p3", LCMS),
    variant("p3 tiff 16 bits", "f.tif", "vips icc_transform vivid.png f.tif p3 --depth 16", LCMS),
    variant("p3 tiff 16 bits in tiles", "f.tif", "vips icc_transform vivid.png t.v p3 --depth 16 && vips bandjoin_const t.v a.v 65535 && vips tiffsave a.v f.tif --tile --tile-width 64 --tile-height 64", LCMS),
    variant("p3 tiff", "f.tif", "vips icc_transform vivid.png f.tif p3", LCMS),
    variant("p3 webp", "f.webp", "vips icc_transform vivid.png t.v p3 && vips webpsave t.v f.webp --lossless", LCMS),
    variant("p3 avif", "f.avif", "vips icc_transform vivid.png t.png p3 && avifenc -s 8 -y 444 --min 0 --max 8 t.png f.avif", "avifdec f.avif d.png && vips icc_transform d.png shown.png srgb --embedded"),
    variant("p3 avif by code points", "f.avif", "vips icc_transform vivid.png t.png p3 && avifenc -s 8 -y 444 --ignore-icc --cicp 12/13/6 --min 0 --max 8 t.png f.avif", "cp vivid.png shown.png"),
    variant("p3 heic", "f.heic", "vips icc_transform vivid.png t.png p3 && heif-enc -q 95 -p chroma=444 t.png -o f.heic", "heif-convert f.heic d.png && vips icc_transform d.png shown.png srgb --embedded"),
    variant("p3 jxl", "f.jxl", "vips icc_transform vivid.png t.png p3 && cjxl --quiet -d 0 t.png f.jxl", "cp vivid.png shown.png"),
    variant("p3 jxl lossy", "f.jxl", "vips icc_transform vivid.png t.png p3 && cjxl --quiet -d 0.3 t.png f.jxl", "cp vivid.png shown.png"),
    variant("adobe rgb jpeg", "f.jpg", "vips icc_transform vivid.png t.v /usr/share/color/icc/compatibleWithAdobeRGB1998.icc && vips jpegsave t.v f.jpg --Q 95 --subsample-mode off", LCMS),
    variant("adobe rgb beyond srgb", "f.png", "convert vivid.png -profile /usr/share/color/icc/compatibleWithAdobeRGB1998.icc f.png", LCMS),
    variant("l-star rgb tiff", "f.tif", "vips icc_transform vivid.png f.tif /usr/share/color/icc/LStar-RGB.icc", LCMS),
    variant("grey by its own curve", "f.png", "convert grey.png -profile /usr/share/color/icc/Gray.icc f.png", LCMS),
    variant("grey jpeg by its own curve", "f.jpg", "convert grey.png -profile /usr/share/color/icc/Gray.icc -quality 95 f.jpg", LCMS),
    variant("srgb by a profile", "f.jpg", "convert vivid.png -profile /usr/share/color/icc/sRGB.icc -quality 97 -sampling-factor 4:4:4 f.jpg", LCMS),
    variant("png by its gamma", "f.png", "convert vivid.png -colorspace RGB -depth 16 -define png:include-chunk=gAMA -set gamma 1.0 f.png", "cp vivid.png shown.png"),
    variant("cmyk jpeg", "f.jpg", "vips icc_transform vivid.png t.v cmyk && vips jpegsave t.v f.jpg --Q 97", LCMS),
    variant("cmyk tiff", "f.tif", "vips icc_transform vivid.png f.tif cmyk", LCMS),
    variant("cmyk tiff in tiles", "f.tif", "vips icc_transform vivid.png t.v cmyk && vips tiffsave t.v f.tif --tile --tile-width 64 --tile-height 64 --compression lzw", LCMS),
    variant("cmyk jpeg without a profile", "f.jpg", "convert vivid.png -colorspace CMYK -quality 97 f.jpg", "convert f.jpg -colorspace sRGB shown.png"),
    variant("cmyk tiff without a profile", "f.tif", "convert vivid.png -colorspace CMYK f.tif", "cp vivid.png shown.png"),
];
const LCMS: &str = "vips icc_transform f.* shown.png srgb --embedded --intent perceptual";

#[test]
fn colours_are_right_to_the_eye() {
    let mut wrong = Vec::new();
    for variant in PROFILES {
        match distances(variant) {
            Ok((typical, nearly_all)) => {
                println!("{:32} ΔE mean {typical:5.2}, 99 % within {nearly_all:5.2}", variant.name);
                if nearly_all > NEAR {
                    wrong.push(format!("{}: 99 % are within ΔE {nearly_all:.2}", variant.name));
                }
            }
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), PROFILES.len(), wrong.join("\n"));
}

/// Returns the mean and the 99th percentile of ΔE.
fn distances(variant: &Variant) -> Result<(f64, f64), String> {
    let (ours, theirs) = variant.pictures()?;
    theirs.compare(&ours, TOLERANCE).map_err(|why| format!("{}: {why}", variant.name))?;
    let (ours, theirs) = (theirs.of(&ours)?, theirs.picture);
    let pairs = colours(&ours).zip(colours(&theirs)).filter(|(one, other)| one[3] == 255 && other[3] == 255);
    let mut distances: Vec<f64> =
        pairs.map(|([r1, g1, b1, _], [r2, g2, b2, _])| delta_e([r1, g1, b1], [r2, g2, b2])).collect();
    distances.sort_by(f64::total_cmp);
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    Ok((mean, distances[distances.len() * 99 / 100]))
}

#[test]
fn sixteen_bits_of_a_wide_gamut_are_not_banded() {
    // Dark shades in a gamut far wider than sRGB, which 8 bits would divide into fewer steps than sRGB does.
    let folder = crate::variant::folder("banding");
    crate::variant::script(
        &folder,
        "vips grey g.v 256 64 && vips linear g.v l.v 40 0 && vips bandjoin 'l.v l.v l.v' b.v && vips copy b.v s.v --interpretation srgb \
         && vips cast s.v u.v uchar && vips icc_transform s.v f.png /usr/share/color/icc/LStar-RGB.icc --depth 16 --input-profile srgb",
    );
    let picture = crate::variant::read(&folder.join("f.png")).unwrap();
    let shades: std::collections::BTreeSet<[u8; 4]> = colours(&picture).collect();
    assert!(shades.len() >= 41, "{} shades of 41", shades.len());
    fs::remove_dir_all(folder).unwrap();
}
