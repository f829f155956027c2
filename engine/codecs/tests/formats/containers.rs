//! Simple formats, textures, icons and high dynamic range: Netpbm, QOI, farbfeld, TGA, ICO, ICNS, DDS, HDR, EXR.

use crate::variant::{Variant, check_all, variant};

const PHOTO: &str = "cp photo.png shown.png";
const VIVID: &str = "cp vivid.png shown.png";
const CLEAR: &str = "cp clear.png shown.png";
const ROUNDED: &str = "cp rounded.png shown.png";
const MAGICK: &str = "convert 'f.*[0]' -depth 8 shown.png";

#[rustfmt::skip]
const PNM: &[Variant] = &[
    variant("pbm", "f.pbm", "pngtopnm grey.png | pgmtopbm > f.pbm", PNMTOPNG),
    variant("pbm as text", "f.pbm", "pngtopnm grey.png | pgmtopbm | pnmtoplainpnm > f.pbm", PNMTOPNG),
    variant("pgm", "f.pgm", "pngtopnm grey.png > f.pgm", "cp grey.png shown.png"),
    variant("pgm as text", "f.pgm", "pngtopnm grey.png | pnmtoplainpnm > f.pgm", "cp grey.png shown.png"),
    variant("ppm", "f.ppm", "pngtopnm photo.png > f.ppm", PHOTO),
    variant("ppm as text", "f.ppm", "pngtopnm photo.png | pnmtoplainpnm > f.ppm", PHOTO),
    variant("ppm 16 bits", "f.ppm", "pngtopnm deep.png > f.ppm", ROUNDED),
    variant("pfm", "f.pfm", "vips flip photo.png u.v vertical && vips colourspace u.v l.v scrgb && vips ppmsave l.v f.pfm", PHOTO),
    variant("pfm big-endian", "f.pfm", "pngtopnm photo.png | pamtopfm -endian=big > f.pfm", PFM),
    variant("pfm grey", "f.pfm", "pngtopnm grey.png | pamtopfm -endian=little > f.pfm && cp grey.png photo.png", PFM),
    variant("ppm of few shades", "f.ppm", "pngtopnm photo.png | pamdepth 100 > f.ppm", MAGICK),
    variant("pam with opacity", "f.pam", "pngtopam -alphapam clear.png > f.pam", CLEAR),
    variant("pam grey with opacity", "f.pam", "convert clear.png -colorspace Gray f.pam", MAGICK),
];
// Netpbm does not convert the linear values to sRGB, and libvips writes the rows from the top.
const PFM: &str = "vips colourspace photo.png c.v srgb && vips linear c.v l.v 0.00392156862745 0 && vips copy l.v m.v --interpretation scrgb && vips colourspace m.v shown.png srgb";
const PNMTOPNG: &str = "pnmtopng f.pbm > shown.png";

#[rustfmt::skip]
const PLAIN: &[Variant] = &[
    variant("qoi", "f.qoi", "pngtopam photo.png | pamtoqoi > f.qoi", PHOTO),
    variant("qoi with opacity", "f.qoi", "pngtopam -alphapam clear.png | pamtoqoi > f.qoi", CLEAR),
    variant("qoi of vivid colours", "f.qoi", "pngtopam vivid.png | pamtoqoi > f.qoi", VIVID),
    variant("farbfeld", "f.ff", "png2ff < clear.png > f.ff", CLEAR),
    variant("farbfeld 16 bits", "f.ff", "png2ff < deep.png > f.ff", ROUNDED),
];

// ImageMagick does not apply the orientation.
#[rustfmt::skip]
const TGA: &[Variant] = &[
    variant("tga", "f.tga", "convert photo.png -compress None -flip -orient BottomLeft f.tga", PHOTO),
    variant("tga run-length", "f.tga", "convert vivid.png -compress RLE -flip -orient BottomLeft f.tga", VIVID),
    variant("tga with opacity", "f.tga", "convert clear.png -compress None -flip -orient BottomLeft f.tga", CLEAR),
    variant("tga from the top", "f.tga", "convert photo.png -compress None -orient TopLeft f.tga", PHOTO),
    variant("tga run-length from the top", "f.tga", "convert vivid.png -compress RLE -orient TopLeft f.tga", VIVID),
    variant("tga grey", "f.tga", "convert grey.png -compress None -orient TopLeft f.tga", "cp grey.png shown.png"),
    variant("tga grey run-length", "f.tga", "convert grey.png -compress RLE -orient TopLeft f.tga", "cp grey.png shown.png"),
    variant("tga palette", "f.tga", "convert photo.png -colors 100 -type Palette -compress None -orient TopLeft f.tga", MAGICK),
    variant("tga by netpbm", "f.tga", "pngtopam photo.png | pamtotga -rgb > f.tga", PHOTO),
    variant("tga palette by netpbm", "f.tga", "pngtopam photo.png | pnmquant 60 2>/dev/null > q.ppm && pamtotga -cmap < q.ppm > f.tga", "pnmtopng q.ppm > shown.png"),
];

const PILLOW: &str = "/usr/bin/python3 -c 'import glob; from PIL import Image; Image.open(glob.glob(\"f.*\")[0]).save(\"shown.png\")'";

/// Variant of a texture of random blocks, by its FourCC, or by its DXGI format in newer files.
macro_rules! dds {
    ($kind:literal) => {
        concat!("/usr/bin/python3 - ", $kind, " <<'END'\n", include_str!("textures.py"), "\nEND")
    };
}

/// Script that writes both the file and `shown.png`.
macro_rules! made {
    ($script:literal, $kind:literal) => {
        concat!("/usr/bin/python3 - ", $kind, " <<'END'\n", include_str!($script), "END")
    };
}

#[rustfmt::skip]
const TEXTURES: &[Variant] = &[
    variant("ico", "f.ico", "convert clear.png -resize 64x64! i.png && convert i.png -resize 16x16! s.png && convert s.png i.png f.ico", "cp i.png shown.png"),
    variant("ico of a png", "f.ico", "convert clear.png -resize 256x256! i.png && convert i.png f.ico", "cp i.png shown.png"),
    variant("ico of few colours", "f.ico", "convert photo.png -resize 48x48! -colors 16 f.ico", "convert f.ico shown.png"),
    variant("icns of 1,024 pixels", "f.icns", "/usr/bin/python3 -c 'from PIL import Image; Image.open(\"clear.png\").resize((1024, 1024)).save(\"f.icns\")'", PILLOW),
    variant("icns in runs", "f.icns", "convert clear.png -resize 48x48! i.png && convert i.png -resize 16x16! s.png && png2icns f.icns i.png s.png", "cp i.png shown.png"),
    variant("icns of 128 pixels", "f.icns", "convert clear.png -resize 128x128! i.png && png2icns f.icns i.png", "cp i.png shown.png"),
    variant("icns in jpeg 2000", "f.icns", "convert clear.png -resize 512x512! i.png && png2icns f.icns i.png", "cp i.png shown.png"),
    variant("cursor", "f.cur", "convert clear.png -resize 32x32! i.png && convert i.png f.cur", "cp i.png shown.png"),
    variant("dds bc1", "f.dds", "convert photo.png -resize 256x128! -define dds:compression=dxt1 f.dds", MAGICK),
    variant("dds bc3", "f.dds", "convert clear.png -resize 256x128! -define dds:compression=dxt5 f.dds", MAGICK),
    variant("dds bc1 with levels", "f.dds", "convert photo.png -resize 256x128! -define dds:compression=dxt1 -define dds:mipmaps=5 f.dds", MAGICK),
    variant("dds bc5", "f.dds", dds!("ATI2"), PILLOW),
    variant("dds bc7", "f.dds", dds!("98"), PILLOW),
    variant("dds bc7 in srgb", "f.dds", dds!("99"), PILLOW),
    variant("dds bc4", "f.dds", dds!("ATI1"), PILLOW),
    variant("dds bc2", "f.dds", dds!("DXT3"), PILLOW),
    variant("dds bc4 signed", "f.dds", made!("signed_blocks.py", "BC4"), AS_MADE),
    variant("dds bc5 signed", "f.dds", made!("signed_blocks.py", "BC5"), AS_MADE),
    // Pillow 9.4 decodes the older header wrongly.
    variant("dds bc4 signed in an older file", "f.dds", made!("signed_blocks.py", "BC4S"), AS_MADE),
    variant("dds bc5 signed in an older file", "f.dds", made!("signed_blocks.py", "BC5S"), AS_MADE),
    variant("dds bc6h", "f.dds", made!("light_blocks.py", "95"), AS_MADE),
    variant("dds bc6h signed", "f.dds", made!("light_blocks.py", "96"), AS_MADE),
    variant("dds luminance", "f.dds", made!("plain_textures.py", "luminance"), AS_MADE),
    variant("dds luminance of 16 bits", "f.dds", made!("plain_textures.py", "luminance-16"), AS_MADE),
    variant("dds opacity of no kind", "f.dds", made!("plain_textures.py", "alpha-of-no-kind"), AS_MADE),
    variant("dds uncompressed", "f.dds", "convert photo.png -define dds:compression=none f.dds", PHOTO),
    variant("dds uncompressed with opacity", "f.dds", "convert clear.png -define dds:compression=none f.dds", CLEAR),
];

/// No-op for files that the available programs refuse: the `make` script writes `shown.png` too.
const AS_MADE: &str = "true";
/// Decodes a file with OpenEXR's library.
const EXR: &str = "convert f.exr -colorspace sRGB -depth 8 shown.png";

#[rustfmt::skip]
const LIGHT: &[Variant] = &[
    variant("hdr", "f.hdr", "vips colourspace photo.png l.v scrgb && vips radsave l.v f.hdr", PHOTO),
    variant("exr", "f.exr", "convert photo.png -colorspace RGB f.exr", PHOTO),
    variant("exr uncompressed", "f.exr", "convert photo.png -colorspace RGB -compress None f.exr", PHOTO),
    variant("exr zip", "f.exr", "convert photo.png -colorspace RGB -compress Zip f.exr", PHOTO),
    variant("exr piz", "f.exr", "convert photo.png -colorspace RGB -compress Piz f.exr", PHOTO),
    variant("exr dwaa", "f.exr", "convert photo.png -resize 150x101! -colorspace RGB t.exr && exrmaketiled -z dwaa t.exr f.exr", EXR),
    variant("exr dwab", "f.exr", "convert photo.png -resize 150x101! -colorspace RGB t.exr && exrmaketiled -z dwab t.exr f.exr", EXR),
    variant("exr b44", "f.exr", "convert photo.png -resize 150x101! -colorspace RGB -compress B44 f.exr", EXR),
    variant("exr run-length", "f.exr", "convert photo.png -colorspace RGB -compress RLE f.exr", PHOTO),
    variant("exr in tiles", "f.exr", "convert photo.png -colorspace RGB t.exr && exrmaketiled -t 64 64 t.exr f.exr", PHOTO),
    variant("exr pyramid", "f.exr", "convert photo.png -colorspace RGB t.exr && exrmaketiled -m -t 64 64 t.exr f.exr", PHOTO),
    variant("exr with opacity", "f.exr", "vips colourspace clear.png l.v scrgb && vips premultiply l.v p.v --max-alpha 255 && vips linear p.v q.v '1 1 1 0.003921568627' '0 0 0 0' && vips cast q.v f.v float && vips copy f.v q.tif && convert q.tif f.exr", CLEAR),
];

#[test]
fn netpbm() {
    check_all(PNM);
}

#[test]
fn qoi_and_farbfeld() {
    check_all(PLAIN);
}

#[test]
fn tga() {
    check_all(TGA);
}

#[test]
fn icons_and_textures() {
    check_all(TEXTURES);
}

#[test]
fn light() {
    check_all(LIGHT);
}
