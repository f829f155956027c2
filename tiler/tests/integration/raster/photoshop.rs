//! Photoshop documents by ImageMagick; modes and depths that it does not write are tested where they are read.

use crate::variant::{Variant, check_all, variant};

/// The merged picture, which comes before the layers.
const MAGICK: &str = "convert 'f.*[0]' -colorspace sRGB -depth 8 shown.png";
const ROUNDED: &str = "cp rounded.png shown.png";
/// As Photoshop stores opacity: the colours on white, and alpha beside them.
const ON_WHITE: &str = "convert '(' clear.png -background white -alpha remove ')' '(' clear.png -alpha extract ')' -alpha off \
     -compose CopyOpacity -composite";

#[rustfmt::skip]
const PSD: &[Variant] = &[
    variant("psd", "f.psd", "convert photo.png -compress None f.psd", MAGICK),
    variant("psd packed", "f.psd", "convert photo.png -compress RLE f.psd", MAGICK),
    variant("psd zipped", "f.psd", "convert photo.png -compress Zip f.psd", MAGICK),
    variant("psd 16 bits", "f.psd", "convert deep.png -depth 16 -compress None f.psd", ROUNDED),
    variant("psd 16 bits packed", "f.psd", "convert deep.png -depth 16 -compress RLE f.psd", ROUNDED),
    variant("psd 32 bits", "f.psd", "convert photo.png -define quantum:format=floating-point -depth 32 -colorspace RGB f.psd", MAGICK),
    variant("psd grey", "f.psd", "convert grey.png f.psd", MAGICK),
    variant("psd black and white", "f.psd", "convert grey.png -monochrome f.psd", MAGICK),
    variant("psd cmyk", "f.psd", "convert photo.png -colorspace CMYK f.psd", MAGICK),
    variant("psd lab", "f.psd", "convert photo.png -colorspace Lab f.psd", MAGICK),
    variant("psd lab 16 bits", "f.psd", "convert photo.png -colorspace Lab -depth 16 f.psd", MAGICK),
    variant("psd with a profile", "f.psd", "convert photo.png -profile /usr/share/color/icc/LStar-RGB.icc f.psd", "convert 'f.psd[0]' t.png && vips icc_transform t.png shown.png srgb --embedded --intent perceptual"),
    variant("psb", "f.psb", "convert photo.png -compress RLE f.psb", MAGICK),
    variant("psb not compressed", "f.psb", "convert photo.png -compress None f.psb", MAGICK),
];

#[test]
fn merged_pictures() {
    check_all(PSD);
}

#[test]
fn opacity_is_taken_off_the_white_that_it_was_put_on() {
    let make = format!("{ON_WHITE} f.psd");
    // Nearly transparent pixels have lost their colour to rounding, which is invisible on any background.
    check_all(&[Variant {
        name: "psd with opacity",
        file: "f.psd",
        make: make.leak(),
        shown: "cp clear.png shown.png",
    }]);
}
