//! Photoshop documents written by ImageMagick. The unit tests of the decoder cover the modes and depths that it cannot
//! write.

use crate::variant::{Variant, check_all, variant};

/// Decodes the merged picture, which ImageMagick lists before the layers.
const MAGICK: &str = "convert 'f.*[0]' -colorspace sRGB -depth 8 shown.png";
const ROUNDED: &str = "cp rounded.png shown.png";
/// Makes the channels as Photoshop stores them: the colours blended with white, and alpha.
const ON_WHITE: &str = "convert '(' clear.png -background white -alpha remove ')' '(' clear.png -alpha extract ')' -alpha off \
     -compose CopyOpacity -composite";

#[rustfmt::skip]
const PSD: &[Variant] = &[
    variant("psd", "f.psd", "convert photo.png -compress None f.psd", MAGICK),
    variant("psd packed", "f.psd", "convert photo.png -compress RLE f.psd", MAGICK),
    variant("psd zipped", "f.psd", "convert photo.png -compress Zip f.psd", MAGICK),
    variant("psd 16 bits", "f.psd", "convert deep.png -depth 16 -compress None f.psd", ROUNDED),
    variant("psd 16 bits packed", "f.psd", "convert deep.png -depth 16 -compress RLE f.psd", ROUNDED),
    variant("psd 32 bits", "f.psd", "convert vivid.png -define quantum:format=floating-point -depth 32 -colorspace RGB f.psd", MAGICK),
    variant("psd grey", "f.psd", "convert grey.png f.psd", MAGICK),
    variant("psd black and white", "f.psd", "convert grey.png -monochrome f.psd", MAGICK),
    variant("psd cmyk", "f.psd", "convert vivid.png -colorspace CMYK f.psd", MAGICK),
    variant("psd lab", "f.psd", "convert vivid.png -colorspace Lab f.psd", MAGICK),
    variant("psd lab 16 bits", "f.psd", "convert vivid.png -colorspace Lab -depth 16 f.psd", MAGICK),
    variant("psd with a profile", "f.psd", "convert vivid.png -profile /usr/share/color/icc/LStar-RGB.icc f.psd", "convert 'f.psd[0]' t.png && vips icc_transform t.png shown.png srgb --embedded --intent perceptual"),
    variant("psb", "f.psb", "convert photo.png -compress RLE f.psb", MAGICK),
    variant("psb not compressed", "f.psb", "convert photo.png -compress None f.psb", MAGICK),
];

#[test]
fn merged_pictures() {
    check_all(PSD);
}

#[test]
fn the_blending_of_colours_with_white_is_undone() {
    let make = format!("{ON_WHITE} f.psd");
    // Rounding changes the colours of almost transparent pixels, which is invisible on any background.
    check_all(&[Variant {
        name: "psd with opacity",
        file: "f.psd",
        make: make.leak(),
        shown: "cp clear.png shown.png",
    }]);
}
