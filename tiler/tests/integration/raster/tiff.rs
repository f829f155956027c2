//! TIFF, of which everybody has a kind of his own.

use crate::variant::{Variant, check_all, variant};

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
    variant("tiff big-endian", "f.tif", "vips copy photo.png t.tif && tiffcp -B t.tif f.tif", PHOTO),
    variant("tiff big-endian 16 bits", "f.tif", "vips copy deep.png t.tif && tiffcp -B -c lzw:2 t.tif f.tif", DEEP),
    variant("bigtiff", "f.tif", "vips tiffsave photo.png f.tif --bigtiff", PHOTO),
    variant("bigtiff big-endian", "f.tif", "vips copy photo.png t.tif && tiffcp -8 -B t.tif f.tif", PHOTO),
    variant("tiff pyramid", "f.tif", "vips tiffsave photo.png f.tif --tile --pyramid --tile-width 64 --tile-height 64", PHOTO),
    variant("tiff pyramid in sub-directories", "f.tif", "vips tiffsave photo.png f.tif --tile --pyramid --subifd --tile-width 64 --tile-height 64", PHOTO),
    variant("tiff pyramid, smallest first", "f.tif", "for s in 25 50 100; do convert photo.png -resize $s% $s.tif; done; tiffcp 25.tif 50.tif 100.tif f.tif", PHOTO),
    variant("tiff pages", "f.tif", "vips copy photo.png a.tif; convert vivid.png -resize 400% b.tif; tiffcp a.tif b.tif f.tif", PHOTO),
    variant("tiff turned", "f.tif", "vips copy photo.png f.tif && tiffset -s 274 6 f.tif", "vips rot photo.png shown.png d90"),
];
/// Four rows of 20 pixels by hand: of the programs at hand, none writes this kind.
const RUN_LENGTHS: &str = "printf 'II\\52\\0\\20\\0\\0\\0\\20\\233\\230\\65\\15\\0\\217P\\11\\0\\0\\1\\3\\0\\1\\0\\0\\0\\24\\0\\0\
    \\0\\1\\1\\3\\0\\1\\0\\0\\0\\4\\0\\0\\0\\2\\1\\3\\0\\1\\0\\0\\0\\1\\0\\0\\0\\3\\1\\3\\0\\1\\0\\0\\0\\2\
    \\0\\0\\0\\6\\1\\3\\0\\1\\0\\0\\0\\0\\0\\0\\0\\21\\1\\3\\0\\1\\0\\0\\0\\10\\0\\0\\0\\25\\1\\3\\0\\1\\0\
    \\0\\0\\1\\0\\0\\0\\26\\1\\3\\0\\1\\0\\0\\0\\4\\0\\0\\0\\27\\1\\3\\0\\1\\0\\0\\0\\10\\0\\0\\0\\0\\0\\0\
    \\0' > f.tif";
const DEEP: &str = "convert deep.png -depth 8 shown.png";

#[rustfmt::skip]
const COMPRESSIONS: &[Variant] = &[
    variant("tiff lzw", "f.tif", "vips tiffsave photo.png f.tif --compression lzw", PHOTO),
    variant("tiff lzw predicted", "f.tif", "vips tiffsave photo.png f.tif --compression lzw --predictor horizontal", PHOTO),
    variant("tiff lzw 16 bits predicted", "f.tif", "vips tiffsave deep.png f.tif --compression lzw --predictor horizontal", DEEP),
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
    variant("tiff 16 bits", "f.tif", "vips tiffsave deep.png f.tif --tile", DEEP),
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
