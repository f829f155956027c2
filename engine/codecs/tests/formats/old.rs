//! Older formats: JPEG, PNG, GIF, BMP, PCX, SGI, X bitmaps and pixmaps.

use crate::variant::{Variant, check_all, variant};

const VIPS: &str = "vips copy f.* shown.png";
const MAGICK: &str = "convert 'f.*[0]' -depth 8 shown.png";

/// Script that makes an Ultra HDR file with a kind of primary picture in `ultra_hdr.py`.
macro_rules! ultra_hdr {
    ($kind:literal) => {
        concat!("/usr/bin/python3 - ", $kind, " <<'END'\n", include_str!("ultra_hdr.py"), "\nEND")
    };
}

#[rustfmt::skip]
const JPEG: &[Variant] = &[
    variant("jpeg baseline", "f.jpg", "vips jpegsave photo.png f.jpg --Q 90", VIPS),
    variant("jpeg without subsampling", "f.jpg", "vips jpegsave photo.png f.jpg --Q 95 --subsample-mode off", VIPS),
    variant("jpeg progressive", "f.jpg", "vips jpegsave photo.png f.jpg --interlace", VIPS),
    variant("jpeg grey", "f.jpg", "vips jpegsave grey.png f.jpg --Q 90", VIPS),
    variant("jpeg grey progressive", "f.jpg", "vips jpegsave grey.png f.jpg --interlace", VIPS),
    variant("jpeg arithmetic", "f.jpg", "pngtopnm photo.png | cjpeg -arithmetic -outfile f.jpg", DJPEG),
    variant("jpeg arithmetic progressive", "f.jpg", "pngtopnm photo.png | cjpeg -arithmetic -progressive -outfile f.jpg", DJPEG),
    variant("jpeg in rgb", "f.jpg", "pngtopnm photo.png | cjpeg -rgb -quality 90 -outfile f.jpg", DJPEG),
    variant("jpeg with restarts", "f.jpg", "pngtopnm photo.png | cjpeg -restart 1 -outfile f.jpg", DJPEG),
    variant("jpeg in scans", "f.jpg", "pngtopnm photo.png | cjpeg -scans /dev/fd/3 -outfile f.jpg 3<<'END'\n0; 1; 2;\nEND", DJPEG),
    variant("jpeg in two scans", "f.jpg", "pngtopnm photo.png | cjpeg -optimize -restart 1 -scans /dev/fd/3 -outfile f.jpg 3<<'END'\n0; 1 2;\nEND", DJPEG),
    variant("jpeg in two scans, the last of luma", "f.jpg", "pngtopnm photo.png | cjpeg -sample 2x1 -scans /dev/fd/3 -outfile f.jpg 3<<'END'\n1 2; 0;\nEND", DJPEG),
    variant("jpeg 4:1:1", "f.jpg", "pngtopnm photo.png | cjpeg -sample 4x1 -outfile f.jpg", DJPEG),
    variant("jpeg 4:4:0", "f.jpg", "pngtopnm photo.png | cjpeg -sample 1x2 -outfile f.jpg", DJPEG),
    variant("jpeg turned", "f.jpg", "convert photo.png -orient RightTop -quality 90 f.jpg && exiftool -q -overwrite_original -n -Orientation=6 f.jpg", "vips autorot f.jpg shown.png"),
    // Files with a second picture: from stereo cameras, and from phones, where it is a gain map.
    variant("jpeg of several pictures", "f.jpg", MULTI_PICTURE, "vips copy one.jpg shown.png"),
    variant("jpeg with a gain map behind it", "f.jpg", GAIN_MAP, "vips copy one.jpg shown.png"),
    variant("ultra hdr", "f.jpg", ultra_hdr!("plain"), "vips copy one.jpg shown.png"),
    variant("ultra hdr progressive", "f.jpg", ultra_hdr!("progressive"), "vips copy one.jpg shown.png"),
    variant("ultra hdr of a phone", "f.jpg", ultra_hdr!("phone"), "vips autorot one.jpg t.v && vips icc_transform t.v shown.png srgb --embedded --intent perceptual"),
];
const MULTI_PICTURE: &str = "vips jpegsave photo.png one.jpg --Q 95 && vips jpegsave vivid.png two.jpg && /usr/bin/python3 -c 'from PIL import Image; Image.open(\"one.jpg\").save(\"f.jpg\", \"MPO\", save_all=True, append_images=[Image.open(\"two.jpg\")], quality=\"keep\")'";
const GAIN_MAP: &str =
    "vips jpegsave photo.png one.jpg --Q 95 && vips jpegsave grey.png map.jpg && cat one.jpg map.jpg > f.jpg";
const DJPEG: &str = "djpeg f.jpg | pnmtopng > shown.png";

#[rustfmt::skip]
const PNG: &[Variant] = &[
    variant("png rgb", "f.png", "cp photo.png f.png", VIPS),
    variant("png rgba", "f.png", "cp clear.png f.png", VIPS),
    variant("png 16 bits", "f.png", "cp deep.png f.png", ROUNDED),
    variant("png 16 bits interlaced", "f.png", "convert deep.png -interlace PNG f.png", ROUNDED),
    variant("png 16 bits with opacity", "f.png", "convert clear.png -depth 16 PNG64:f.png", VIPS_8),
    variant("png interlaced", "f.png", "vips pngsave photo.png f.png --interlace", VIPS),
    variant("png interlaced palette", "f.png", "vips pngsave photo.png f.png --palette --interlace", MAGICK_PNG),
    variant("png grey 1 bit", "f.png", "pngtopnm grey.png | pgmtopbm | pnmtopng > f.png", MAGICK_PNG),
    variant("png grey 2 bits", "f.png", "pngtopnm grey.png | pamdepth 3 | pnmtopng > f.png", MAGICK_PNG),
    variant("png grey 4 bits", "f.png", "pngtopnm grey.png | pamdepth 15 | pnmtopng > f.png", MAGICK_PNG),
    variant("png grey 16 bits", "f.png", "convert grey.png -depth 16 -define png:bit-depth=16 f.png", VIPS_8),
    variant("png grey with opacity", "f.png", "convert clear.png -colorspace Gray -define png:color-type=4 f.png", MAGICK_PNG),
    variant("png palette 1 bit", "f.png", "vips pngsave photo.png f.png --palette --bitdepth 1", MAGICK_PNG),
    variant("png palette 2 bits", "f.png", "vips pngsave photo.png f.png --palette --bitdepth 2", MAGICK_PNG),
    variant("png palette 4 bits", "f.png", "vips pngsave photo.png f.png --palette --bitdepth 4", MAGICK_PNG),
    variant("png palette 8 bits", "f.png", "vips pngsave photo.png f.png --palette", MAGICK_PNG),
    variant("png palette with opacity", "f.png", "vips pngsave clear.png f.png --palette", MAGICK_PNG),
    variant("png with a transparent colour", "f.png", "convert vivid.png -transparent white PNG24:f.png", MAGICK_PNG),
    variant("png turned", "f.png", "cp photo.png f.png && exiftool -q -overwrite_original -n -Orientation=8 f.png", "vips rot photo.png shown.png d270"),
    // ImageMagick writes EXIF after the pixels, and the orientation only there.
    variant("png turned behind its pixels", "f.png", "vips jpegsave photo.png t.jpg --Q 95 && exiftool -q -overwrite_original -n -Orientation=6 t.jpg && convert t.jpg f.png && exiftool -v3 f.png | tr -d '\\n' | grep -q 'PNG IDAT.*PNG eXIf'", "vips autorot t.jpg shown.png"),
];
/// Reference picture: 16 bits rounded to 8.
const ROUNDED: &str = "cp rounded.png shown.png";
const VIPS_8: &str = "convert f.png -depth 8 shown.png";
const MAGICK_PNG: &str = "convert f.png -depth 8 shown.png";

#[rustfmt::skip]
const GIF: &[Variant] = &[
    variant("gif", "f.gif", "vips gifsave photo.png f.gif", VIPS_FIRST),
    variant("gif interlaced", "f.gif", "convert photo.png -interlace GIF f.gif", VIPS_FIRST),
    variant("gif with transparency", "f.gif", "vips gifsave clear.png f.gif", VIPS_FIRST),
    variant("gif animated", "f.gif", "convert -delay 10 photo.png '(' photo.png -negate ')' f.gif", VIPS_FIRST),
    variant("gif 87a", "f.gif", "convert photo.png GIF87:f.gif", VIPS_FIRST),
];
const VIPS_FIRST: &str = "vips copy f.gif[n=1] shown.png";

#[rustfmt::skip]
const BMP: &[Variant] = &[
    variant("bmp 24 bits", "f.bmp", "convert photo.png BMP3:f.bmp", MAGICK),
    variant("bmp 24 bits os 2", "f.bmp", "convert photo.png BMP2:f.bmp", MAGICK),
    variant("bmp palette 8 bits", "f.bmp", "convert photo.png -colors 200 -type Palette BMP3:f.bmp", MAGICK),
    variant("bmp palette 4 bits", "f.bmp", "convert photo.png -colors 16 -type Palette BMP3:f.bmp", MAGICK),
    variant("bmp palette 1 bit", "f.bmp", "convert photo.png -monochrome BMP3:f.bmp", MAGICK),
    variant("bmp run-length", "f.bmp", "convert vivid.png -colors 60 -type Palette -compress RLE BMP3:f.bmp", MAGICK),
    variant("bmp 16 bits", "f.bmp", "convert photo.png -define bmp:subtype=RGB565 f.bmp", MAGICK),
    variant("bmp with opacity", "f.bmp", "convert clear.png f.bmp", MAGICK),
];

#[rustfmt::skip]
const PCX: &[Variant] = &[
    variant("pcx 24 bits", "f.pcx", "convert photo.png f.pcx", MAGICK),
    variant("pcx 24 bits not compressed", "f.pcx", "convert photo.png -compress None f.pcx", MAGICK),
    variant("pcx at a distance", "f.pcx", "pngtopnm photo.png | ppmtopcx -24bit -xpos 7 -ypos 9 > f.pcx", "cp photo.png shown.png"),
    variant("pcx palette 8 bits", "f.pcx", "convert photo.png -colors 200 -type Palette f.pcx", MAGICK),
    variant("pcx palette 4 bits", "f.pcx", "convert photo.png -colors 16 +dither ppm:- | ppmtopcx -packed > f.pcx", MAGICK),
    variant("pcx palette 2 bits", "f.pcx", "convert photo.png -colors 4 +dither ppm:- | ppmtopcx -packed > f.pcx", MAGICK),
    variant("pcx palette 4 planes", "f.pcx", "convert photo.png -colors 16 +dither ppm:- | ppmtopcx > f.pcx", MAGICK),
    variant("pcx palette 3 planes", "f.pcx", "convert photo.png -colors 8 +dither ppm:- | ppmtopcx > f.pcx", MAGICK),
    variant("pcx palette 2 planes", "f.pcx", "convert photo.png -colors 4 +dither ppm:- | ppmtopcx > f.pcx", MAGICK),
    // ImageMagick 6 inverts it.
    variant("pcx black and white", "f.pcx", "pngtopnm grey.png | pgmtopbm | ppmtopcx > f.pcx", "pcxtoppm f.pcx | pnmtopng > shown.png"),
];

#[rustfmt::skip]
const WORKSTATIONS: &[Variant] = &[
    variant("sgi", "f.sgi", "convert photo.png f.sgi", MAGICK),
    variant("sgi not compressed", "f.sgi", "convert photo.png -compress None f.sgi", MAGICK),
    variant("sgi with opacity", "f.sgi", "convert clear.png f.sgi", MAGICK),
    variant("sgi grey", "f.sgi", "convert grey.png f.sgi", MAGICK),
    variant("sgi 16 bits", "f.sgi", "convert deep.png -depth 16 f.sgi", ROUNDED),
    variant("sgi 16 bits not compressed", "f.sgi", "convert deep.png -depth 16 -compress None f.sgi", ROUNDED),
    variant("sgi by netpbm", "f.sgi", "pngtopnm vivid.png | pnmtosgi > f.sgi", "cp vivid.png shown.png"),
    variant("xbm", "f.xbm", "convert grey.png -monochrome f.xbm", MAGICK),
    variant("xbm by netpbm", "f.xbm", "pngtopnm grey.png | pgmtopbm | pbmtoxbm > f.xbm", MAGICK),
    variant("xpm", "f.xpm", "convert photo.png -colors 60 f.xpm", MAGICK),
    variant("xpm of two characters", "f.xpm", "convert photo.png -colors 5000 f.xpm", MAGICK),
    variant("xpm with transparency", "f.xpm", "convert clear.png -colors 60 f.xpm", MAGICK),
    variant("xpm by netpbm", "f.xpm", "pngtopnm photo.png | pnmquant 50 | ppmtoxpm > f.xpm", MAGICK),
];

#[test]
fn jpeg() {
    check_all(JPEG);
}

#[test]
fn png() {
    check_all(PNG);
}

#[test]
fn gif() {
    check_all(GIF);
}

#[test]
fn bmp() {
    check_all(BMP);
}

#[test]
fn pcx() {
    check_all(PCX);
}

#[test]
fn workstations() {
    check_all(WORKSTATIONS);
}
