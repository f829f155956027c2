//! TIFF variants: layouts, compressions, sample formats, rare kinds, and whole slide images.

use crate::variant::{Variant, check_all, variant};

/// Script that makes a kind of file with `tiff_files.py`, and then runs another script. Uses `/usr/bin/python3`,
/// because Debian's Python has the required packages.
macro_rules! written {
    ($kind:literal $(, $also:literal)?) => {
        concat!(
            "cat > tiff_files.py <<'END'\n", include_str!("tiff_files.py"), "END\n/usr/bin/python3 tiff_files.py ", $kind $(, " && ", $also)?
        )
    };
}

const VIPS: &str = "vips copy f.tif shown.png";
const MAGICK: &str = "convert 'f.tif[0]' -depth 8 shown.png";
const PHOTO: &str = "cp photo.png shown.png";
const CLEAR: &str = "cp clear.png shown.png";

#[rustfmt::skip]
const LAYOUTS: &[Variant] = &[
    variant("tiff one strip", "f.tif", "vips tiffsave photo.png f.tif", PHOTO),
    variant("tiff many strips", "f.tif", "vips copy photo.png t.tif && tiffcp -r 7 t.tif f.tif", PHOTO),
    variant("tiff tiles", "f.tif", "vips tiffsave photo.png f.tif --tile --tile-width 64 --tile-height 32", PHOTO),
    variant("tiff planes", "f.tif", "vips copy photo.png t.tif && tiffcp -p separate t.tif f.tif", PHOTO),
    variant("tiff planes in tiles", "f.tif", "vips copy photo.png t.tif && tiffcp -p separate -t -w 64 -l 64 t.tif f.tif", PHOTO),
    variant("tiff planes with opacity", "f.tif", "vips copy clear.png t.tif && tiffcp -p separate t.tif f.tif", CLEAR),
    variant("tiff planes with an unspecified sample", "f.tif", written!("planes 2 8 0"), "vips extract_band f.tif shown.png 0 --n 3"),
    variant("tiff planes with opacity of 8 bits", "f.tif", written!("planes 2 8 2"), VIPS),
    variant("tiff planes with opacity multiplied", "f.tif", written!("planes 2 8 1"), MULTIPLIED),
    // libvips reads no tiles of planes, and grey planes with opacity in a wrong order.
    variant("tiff planes with opacity multiplied, 16 bits in tiles", "f.tif", written!("planes 2 16 1 64"), MULTIPLIED),
    variant("tiff planes with two more samples, 16 bits in tiles", "f.tif", written!("planes 2 16 2,0 64"), "vips extract_band contiguous.tif t.v 0 --n 4 && vips colourspace t.v shown.png srgb"),
    variant("tiff grey planes with opacity", "f.tif", written!("planes 1 8 2 64"), "vips copy contiguous.tif shown.png"),
    variant("tiff grey planes with an unspecified sample", "f.tif", written!("planes 1 8 0"), "vips extract_band contiguous.tif shown.png 0"),
    variant("tiff ycbcr planes with an unspecified sample", "f.tif", written!("planes 6 8 0"), "convert clear.png -alpha off shown.png"),
    variant("tiff big-endian", "f.tif", "vips copy photo.png t.tif && tiffcp -B t.tif f.tif", PHOTO),
    variant("tiff big-endian 16 bits", "f.tif", "vips copy deep.png t.tif && tiffcp -B -c lzw:2 t.tif f.tif", ROUNDED),
    variant("bigtiff", "f.tif", "vips tiffsave photo.png f.tif --bigtiff", PHOTO),
    variant("bigtiff big-endian", "f.tif", "vips copy photo.png t.tif && tiffcp -8 -B t.tif f.tif", PHOTO),
    variant("tiff pyramid", "f.tif", "vips tiffsave photo.png f.tif --tile --pyramid --tile-width 64 --tile-height 64", PHOTO),
    variant("tiff pyramid in sub-directories", "f.tif", "vips tiffsave photo.png f.tif --tile --pyramid --subifd --tile-width 64 --tile-height 64", PHOTO),
    variant("tiff pyramid, smallest first", "f.tif", "for s in 25 50 100; do convert photo.png -resize $s% $s.tif; done; tiffcp 25.tif 50.tif 100.tif f.tif", PHOTO),
    variant("tiff pages", "f.tif", "vips copy photo.png a.tif; convert vivid.png -resize 400% b.tif; tiffcp a.tif b.tif f.tif", PHOTO),
    variant("tiff turned", "f.tif", "vips copy photo.png f.tif && tiffset -s 274 6 f.tif", "vips rot photo.png shown.png d90"),
];
const MULTIPLIED: &str = "vips colourspace contiguous.tif shown.png srgb";
/// Writes four rows of 20 pixels by hand, because no available program writes this kind.
const RUN_LENGTHS: &str = "printf 'II\\52\\0\\20\\0\\0\\0\\20\\233\\230\\65\\15\\0\\217P\\11\\0\\0\\1\\3\\0\\1\\0\\0\\0\\24\\0\\0\
    \\0\\1\\1\\3\\0\\1\\0\\0\\0\\4\\0\\0\\0\\2\\1\\3\\0\\1\\0\\0\\0\\1\\0\\0\\0\\3\\1\\3\\0\\1\\0\\0\\0\\2\
    \\0\\0\\0\\6\\1\\3\\0\\1\\0\\0\\0\\0\\0\\0\\0\\21\\1\\3\\0\\1\\0\\0\\0\\10\\0\\0\\0\\25\\1\\3\\0\\1\\0\
    \\0\\0\\1\\0\\0\\0\\26\\1\\3\\0\\1\\0\\0\\0\\4\\0\\0\\0\\27\\1\\3\\0\\1\\0\\0\\0\\10\\0\\0\\0\\0\\0\\0\
    \\0' > f.tif";
const ROUNDED: &str = "cp rounded.png shown.png";

#[rustfmt::skip]
const COMPRESSIONS: &[Variant] = &[
    variant("tiff lzw", "f.tif", "vips tiffsave photo.png f.tif --compression lzw", PHOTO),
    variant("tiff lzw predicted", "f.tif", "vips tiffsave photo.png f.tif --compression lzw --predictor horizontal", PHOTO),
    variant("tiff lzw 16 bits predicted", "f.tif", "vips tiffsave deep.png f.tif --compression lzw --predictor horizontal", ROUNDED),
    variant("tiff deflate", "f.tif", "vips tiffsave photo.png f.tif --compression deflate --tile", PHOTO),
    variant("tiff packbits", "f.tif", "vips tiffsave photo.png f.tif --compression packbits", PHOTO),
    variant("tiff jpeg", "f.tif", "vips tiffsave photo.png f.tif --compression jpeg --Q 90 --tile", VIPS),
    variant("tiff jpeg in strips", "f.tif", "vips tiffsave photo.png f.tif --compression jpeg --Q 90", VIPS),
    variant("tiff jpeg in rgb", "f.tif", "vips copy photo.png t.tif && tiffcp -c jpeg:r:90 t.tif f.tif", VIPS),
    variant("tiff jpeg grey", "f.tif", "vips tiffsave grey.png f.tif --compression jpeg --Q 90 --tile", VIPS),
    variant("tiff zstd", "f.tif", "vips tiffsave photo.png f.tif --compression zstd --predictor horizontal", PHOTO),
    variant("tiff webp", "f.tif", "vips tiffsave photo.png f.tif --compression webp --Q 90 --tile", VIPS),
    variant("tiff webp lossless", "f.tif", "vips tiffsave photo.png f.tif --compression webp --lossless --tile", PHOTO),
    variant("tiff ccitt group 4", "f.tif", "vips tiffsave grey.png f.tif --compression ccittfax4 --bitdepth 1", MAGICK),
    variant("tiff ccitt group 4 in strips", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g4 -r 16 t.tif f.tif", MAGICK),
    variant("tiff ccitt group 4 in tiles", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g4 -t -w 64 -l 64 t.tif f.tif", MAGICK),
    variant("tiff ccitt group 4 from the lowest bit", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g4 -f lsb2msb t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g3:1d t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3 in strips", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g3:1d -r 16 t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3 filled", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g3:1d:fill t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3 in two dimensions", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g3:2d t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3 in two dimensions, filled", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g3:2d:fill -r 50 t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3 from the lowest bit", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1; tiffcp -c g3:2d -f lsb2msb t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3, white is 0", "f.tif", "vips tiffsave grey.png t.tif --bitdepth 1 --miniswhite; tiffcp -c g3:2d t.tif f.tif", MAGICK),
    variant("tiff ccitt group 3 of photographs", "f.tif", "convert photo.png -monochrome -compress Fax f.tif", MAGICK),
    variant("tiff ccitt run lengths", "f.tif", RUN_LENGTHS, MAGICK),
    variant("tiff lzw from the lowest bit", "f.tif", "vips copy photo.png t.tif; tiffcp -c lzw -f lsb2msb t.tif f.tif", PHOTO),
    variant("tiff packbits from the lowest bit", "f.tif", "vips copy photo.png t.tif; tiffcp -c packbits -f lsb2msb t.tif f.tif", PHOTO),
    variant("tiff deflate from the lowest bit", "f.tif", "vips copy photo.png t.tif; tiffcp -c zip -f lsb2msb t.tif f.tif", PHOTO),
    variant("tiff stored from the lowest bit", "f.tif", "vips copy photo.png t.tif; tiffcp -c none -f lsb2msb t.tif f.tif", PHOTO),
];

#[rustfmt::skip]
const SAMPLES: &[Variant] = &[
    variant("tiff 1 bit", "f.tif", "vips tiffsave grey.png f.tif --bitdepth 1", MAGICK),
    variant("tiff 1 bit, white is 0", "f.tif", "vips tiffsave grey.png f.tif --bitdepth 1 --miniswhite", MAGICK),
    variant("tiff 2 bits", "f.tif", "vips tiffsave grey.png f.tif --bitdepth 2", MAGICK),
    variant("tiff 4 bits", "f.tif", "vips tiffsave grey.png f.tif --bitdepth 4", MAGICK),
    variant("tiff grey", "f.tif", "vips tiffsave grey.png f.tif", "cp grey.png shown.png"),
    variant("tiff grey, white is 0", "f.tif", "vips tiffsave grey.png f.tif --miniswhite", "cp grey.png shown.png"),
    variant("tiff grey with opacity", "f.tif", "convert clear.png -colorspace Gray f.tif", MAGICK),
    variant("tiff opacity", "f.tif", "vips tiffsave clear.png f.tif", CLEAR),
    variant("tiff opacity multiplied", "f.tif", "convert clear.png -alpha associate -compress LZW t.tif; vips premultiply clear.png p.v && vips cast p.v u.v uchar && vips copy u.v f.tif && tiffset -s 338 1 1 f.tif", CLEAR),
    variant("tiff 16 bits", "f.tif", "vips tiffsave deep.png f.tif --tile", ROUNDED),
    variant("tiff 32 bits", "f.tif", "vips linear photo.png l.v 16843009 0 && vips cast l.v c.v uint && vips copy c.v f.tif", PHOTO),
    variant("tiff floats", "f.tif", "vips linear photo.png l.v 0.00392156862745 0 && vips copy l.v f.tif --interpretation multiband", PHOTO),
    variant("tiff floats predicted", "f.tif", "convert photo.png -define quantum:format=floating-point -depth 32 t.tif && tiffcp -c zip:3 t.tif f.tif", PHOTO),
    variant("tiff half floats", "f.tif", "convert photo.png -define quantum:format=floating-point -depth 16 f.tif", PHOTO),
    variant("tiff doubles", "f.tif", "convert photo.png -define quantum:format=floating-point -depth 64 f.tif", PHOTO),
    variant("tiff palette", "f.tif", "convert photo.png -colors 100 -type Palette f.tif", MAGICK),
    variant("tiff palette 4 bits lzw", "f.tif", "convert photo.png -colors 16 -type Palette -depth 4 -compress LZW f.tif", MAGICK),
    variant("tiff palette in tiles", "f.tif", "convert photo.png -colors 250 -type Palette t.tif && tiffcp -t -w 64 -l 64 t.tif f.tif", MAGICK),
    variant("tiff ycbcr", "f.tif", "convert photo.png -colorspace YCbCr -compress LZW f.tif", PHOTO),
    variant("tiff lab", "f.tif", "vips colourspace photo.png l.v labq 2>/dev/null; vips colourspace photo.png f.tif lab 2>/dev/null; convert photo.png -colorspace Lab f.tif", PHOTO),
    variant("tiff with infrared", "f.tif", "vips copy clear.png f.tif && tiffset -s 338 1 0 f.tif", "convert clear.png -alpha off shown.png"),
];

const GREY: &str = "cp grey.png shown.png";
const LIBTIFF: &str = "tiff2rgba f.tif o.tif && vips extract_band o.tif shown.png 0 --n 3";
/// No-op for files whose `make` script writes `shown.png` too.
const AS_MADE: &str = "true";
/// Renders level 0 with OpenSlide.
const OPENSLIDE: &str = "openslide-write-png f.tif 0 0 0 301 203 shown.png";

#[rustfmt::skip]
const ODD: &[Variant] = &[
    variant("tiff 10 bits", "f.tif", written!("bits 10"), MAGICK),
    variant("tiff 12 bits", "f.tif", written!("bits 12"), MAGICK),
    variant("tiff 14 bits, big-endian", "f.tif", written!("bits 14 '>'"), MAGICK),
    variant("tiff 24 bits", "f.tif", written!("bits 24"), GREY),
    variant("tiff 24 bits, big-endian", "f.tif", written!("bits 24 '>'"), GREY),
    variant("tiff 64 bits", "f.tif", written!("bits 64"), GREY),
    variant("tiff 8 bits, signed", "f.tif", written!("signed 8"), GREY),
    variant("tiff 16 bits, signed", "f.tif", written!("signed 16"), MAGICK),
    variant("tiff 64 bits, signed", "f.tif", written!("signed 64"), GREY),
    variant("tiff ycbcr 4:2:0", "f.tif", written!("ycbcr 2 2"), LIBTIFF),
    variant("tiff ycbcr 4:2:2", "f.tif", written!("ycbcr 2 1"), LIBTIFF),
    variant("tiff ycbcr 4:1:1", "f.tif", written!("ycbcr 4 1"), LIBTIFF),
    variant("tiff ycbcr 4:4:0", "f.tif", written!("ycbcr 1 2"), LIBTIFF),
    variant("tiff ycbcr 4 by 4", "f.tif", written!("ycbcr 4 4"), LIBTIFF),
    variant("tiff lzw of the old order", "f.tif", written!("old-lzw"), "tiffcp -c none f.tif t.tif && vips copy t.tif shown.png"),
    variant("tiff old-style jpeg in parts", "f.tif", written!("old-jpeg"), LIBTIFF),
    variant("tiff old-style jpeg", "f.tif", written!("old-jpeg-whole"), "djpeg t.jpg | pnmtopng > shown.png"),
    variant("tiff old-style jpeg without tags", "f.tif", written!("old-jpeg-bare"), LIBTIFF),
    variant("tiff old-style jpeg in tiles of whole jpegs", "f.tif", written!("old-jpegs 128 96"), AS_MADE),
    variant("tiff old-style jpeg in strips of whole jpegs", "f.tif", written!("old-jpegs 301 64"), AS_MADE),
    variant("tiff lzma", "f.tif", "vips copy photo.png t.tif && tiffcp -c lzma:2 t.tif f.tif", PHOTO),
    variant("tiff lzma in tiles", "f.tif", "vips copy photo.png t.tif && tiffcp -c lzma -t -w 64 -l 64 t.tif f.tif", PHOTO),
    variant("tiff jpeg 2000", "f.tif", written!("jp2"), PHOTO),
    variant("tiff lossy jpeg 2000", "f.tif", written!("jp2-lossy"), PHOTO),
    variant("tiff jpeg xl", "f.tif", written!("jxl"), PHOTO),
    variant("tiff palette with opacity", "f.tif", written!("palette-with-opacity"), AS_MADE),
    variant("tiff one large tile", "f.tif", "vips copy photo.png t.tif && tiffcp -c lzw -t -w 1024 -l 512 t.tif f.tif", PHOTO),
    variant("tiff one large tile, deflate", "f.tif", "vips copy photo.png t.tif && tiffcp -c zip:2 -t -w 512 -l 1024 t.tif f.tif", PHOTO),
    variant("tiff satellite", "f.tif", written!("satellite"), AS_MADE),
    variant("tiff heights", "f.tif", written!("heights"), AS_MADE),
    variant("tiff of three bands", "f.tif", "vips tiffsave photo.png f.tif && tiffset -s 262 1 f.tif", PHOTO),
];
/// Makes a TIFF that OpenSlide recognises as a Philips slide.
const PHILIPS: &str = r#"vips tiffsave photo.png f.tif --compression jpeg --Q 90 --tile --tile-width 64 --tile-height 64
spacing="<Attribute Name='DICOM_PIXEL_SPACING'>\"0.00025\" \"0.00025\"</Attribute>"
level="<DataObject ObjectType='PixelDataRepresentation'>$spacing</DataObject>"
sequence="<Attribute Name='PIIM_PIXEL_DATA_REPRESENTATION_SEQUENCE'><Array>$level</Array></Attribute>"
scan="<DataObject ObjectType='DPScannedImage'><Attribute Name='PIM_DP_IMAGE_TYPE'>WSI</Attribute>$spacing$sequence</DataObject>"
tiffset -s 305 'Philips DP v1.0' f.tif
tiffset -s 270 "<?xml version='1.0'?><DataObject ObjectType='DPUfsImport'><Attribute Name='PIM_DP_SCANNED_IMAGES'>\
<Array>$scan</Array></Attribute></DataObject>" f.tif"#;
/// Renders a whole slide with OpenSlide, at the size that it reports, on white.
const WHOLE_SLIDE: &str = "size() { openslide-show-properties f.tif | sed -n \"s/openslide.level.0..$1: '\\(.*\\)'/\\1/p\"; }; \
    openslide-write-png f.tif 0 0 0 $(size width) $(size height) t.png && convert t.png -background white -flatten shown.png";

#[rustfmt::skip]
const SLIDES: &[Variant] = &[
    variant("slide svs", "f.tif", "vips tiffsave photo.png f.tif --compression jpeg --Q 90 --tile --pyramid --tile-width 64 --tile-height 64 && tiffset -s 270 'Aperio Image Library v11.2.1 301x203 |AppMag = 20|MPP = 0.5' f.tif", OPENSLIDE),
    variant("slide svs 33003", "f.tif", written!("jp2-ycbcr"), OPENSLIDE),
    variant("slide svs 33005", "f.tif", written!("jp2-rgb"), OPENSLIDE),
    variant("slide generic", "f.tif", "vips tiffsave photo.png f.tif --compression jpeg --Q 90 --tile --pyramid --tile-width 64 --tile-height 64", OPENSLIDE),
    variant("slide philips", "f.tif", PHILIPS, OPENSLIDE),
    variant("slide bif", "f.tif", concat!("/usr/bin/python3 - <<'END'\n", include_str!("ventana.py"), "END"), WHOLE_SLIDE),
    variant("slide ndpi", "f.tif", written!("ndpi"), MAGICK),
    variant("slide ndpi wider than a jpeg", "f.tif", written!("ndpi-wide"), AS_MADE),
    variant("slide ome", "f.tif", "vips tiffsave photo.png f.tif --compression lzw --tile --pyramid --subifd --tile-width 64 --tile-height 64 && tiffset -s 270 '<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"></OME>' f.tif", PHOTO),
];

#[test]
fn odd_kinds() {
    check_all(ODD);
}

#[test]
fn slides() {
    check_all(SLIDES);
}

#[test]
fn layouts() {
    check_all(LAYOUTS);
}

#[test]
fn compressions() {
    check_all(COMPRESSIONS);
}

#[test]
fn samples() {
    check_all(SAMPLES);
}
