//! Modern formats: WebP, AVIF, HEIC, JPEG XL, JPEG 2000.

use crate::variant::{Variant, check_all, variant};

const PHOTO: &str = "cp photo.png shown.png";
const CLEAR: &str = "cp clear.png shown.png";
const ROUNDED: &str = "cp rounded.png shown.png";

#[rustfmt::skip]
const WEBP: &[Variant] = &[
    variant("webp lossy", "f.webp", "cwebp -quiet -q 90 photo.png -o f.webp", DWEBP),
    variant("webp lossless", "f.webp", "cwebp -quiet -lossless -z 3 photo.png -o f.webp", PHOTO),
    variant("webp lossy with opacity", "f.webp", "cwebp -quiet -q 90 clear.png -o f.webp", DWEBP),
    variant("webp lossless with opacity", "f.webp", "cwebp -quiet -lossless -z 3 -exact clear.png -o f.webp", CLEAR),
    variant("webp animated", "f.webp", "img2webp -lossy -q 90 photo.png vivid.png -o f.webp 2>/dev/null || img2webp -lossy -q 90 photo.png photo.png -o f.webp", "vips copy f.webp[n=1] shown.png"),
    variant("webp animated lossless", "f.webp", "convert photo.png -negate n.png; img2webp -lossless photo.png n.png -o f.webp", PHOTO),
];
const DWEBP: &str = "dwebp -quiet f.webp -o shown.png";

#[rustfmt::skip]
const AVIF: &[Variant] = &[
    variant("avif", "f.avif", "avifenc -s 8 --min 10 --max 20 photo.png f.avif", AVIFDEC),
    variant("avif 4:2:2", "f.avif", "avifenc -s 8 -y 422 --min 10 --max 20 photo.png f.avif", AVIFDEC),
    variant("avif 4:4:4", "f.avif", "avifenc -s 8 -y 444 --min 10 --max 20 photo.png f.avif", AVIFDEC),
    variant("avif grey", "f.avif", "avifenc -s 8 -y 400 --min 10 --max 20 grey.png f.avif", AVIFDEC),
    variant("avif lossless", "f.avif", "avifenc -s 8 --lossless photo.png f.avif", PHOTO),
    variant("avif 10 bits", "f.avif", "avifenc -s 8 -d 10 --min 10 --max 20 deep.png f.avif", AVIFDEC),
    variant("avif 12 bits", "f.avif", "avifenc -s 8 -d 12 -y 444 --min 10 --max 20 deep.png f.avif", AVIFDEC),
    variant("avif in video's range", "f.avif", "avifenc -s 8 -r limited --min 10 --max 20 photo.png f.avif", AVIFDEC),
    variant("avif in bt.709", "f.avif", "avifenc -s 8 --cicp 1/13/1 --min 10 --max 20 photo.png f.avif", AVIFDEC),
    variant("avif with opacity", "f.avif", "avifenc -s 8 --min 10 --max 20 clear.png f.avif", AVIFDEC),
    variant("avif with opacity multiplied", "f.avif", "avifenc -s 8 -y 444 -p --min 0 --max 5 clear.png f.avif", AVIFDEC),
    variant("avif grid", "f.avif", "convert photo.png -resize 512x512! b.png && vips crop b.png a.png 0 0 512 512 && avifenc -s 8 --grid 2x2 --min 10 --max 20 a.png f.avif", AVIFDEC),
    variant("avif grid with opacity", "f.avif", "convert clear.png -resize 512x512! b.png && avifenc -s 8 --grid 2x2 --min 10 --max 20 b.png f.avif", AVIFDEC),
    variant("avif grid of odd size", "f.avif", "vips crop photo.png a.png 0 0 131 131 && vips crop photo.png b.png 131 0 131 131 && avifenc -s 8 -y 444 --grid 2x1 --min 10 --max 20 a.png b.png f.avif", AVIFDEC),
    variant("avif cropped", "f.avif", "avifenc -s 8 -y 444 --crop 30,20,200,100 --min 10 --max 20 photo.png f.avif", "avifdec f.avif t.png && vips crop t.png shown.png 30 20 200 100"),
    variant("avif turned", "f.avif", "avifenc -s 8 --irot 1 --min 10 --max 20 photo.png f.avif", "avifdec f.avif t.png && vips rot t.png shown.png d270"),
    variant("avif mirrored", "f.avif", "avifenc -s 8 --imir 1 --min 10 --max 20 photo.png f.avif", "avifdec f.avif t.png && vips flip t.png shown.png horizontal"),
];
const AVIFDEC: &str = "avifdec f.avif shown.png";

#[rustfmt::skip]
const HEIC: &[Variant] = &[
    variant("heic", "f.heic", "heif-enc -q 80 photo.png -o f.heic", HEIF),
    variant("heic 4:4:4", "f.heic", "heif-enc -q 80 -p chroma=444 photo.png -o f.heic", HEIF),
    variant("heic grey", "f.heic", "heif-enc -q 80 grey.png -o f.heic", HEIF),
    variant("heic 10 bits", "f.heic", "heif-enc -q 80 -b 10 deep.png -o f.heic", HEIF),
    variant("heic with opacity", "f.heic", "heif-enc -q 80 clear.png -o f.heic", HEIF),
    variant("heic lossless", "f.heic", "heif-enc -L -p chroma=444 --matrix_coefficients=0 photo.png -o f.heic", PHOTO),
    variant("heic turned", "f.heic", "convert photo.png -quality 95 t.jpg && exiftool -q -overwrite_original -n -Orientation=6 t.jpg && heif-enc -q 90 t.jpg -o f.heic", HEIF),
];
const HEIF: &str = "heif-convert f.heic shown.png";

/// Script that truncates a JPEG XL of several groups to four fifths.
macro_rules! cut_jxl {
    () => {
        "convert photo.png -resize 520x300! p.png && cjxl --quiet $c p.png t.jxl && head -c $(($(stat -c %s t.jxl) * 4 / 5)) t.jxl > f.jxl"
    };
}
const DJXL_PARTIAL: &str = "djxl --quiet --allow_partial_files f.jxl shown.png --bits_per_sample 8";

#[rustfmt::skip]
const JXL: &[Variant] = &[
    variant("jxl", "f.jxl", "cjxl --quiet -d 1 photo.png f.jxl", DJXL),
    variant("jxl lossless", "f.jxl", "cjxl --quiet -d 0 photo.png f.jxl", PHOTO),
    variant("jxl modular lossy", "f.jxl", "cjxl --quiet -m 1 -d 1 photo.png f.jxl", DJXL),
    variant("jxl progressive", "f.jxl", "cjxl --quiet -p -d 1 photo.png f.jxl", DJXL),
    variant("jxl grey", "f.jxl", "cjxl --quiet -d 0 grey.png f.jxl", "cp grey.png shown.png"),
    variant("jxl grey lossy", "f.jxl", "cjxl --quiet -d 1 grey.png f.jxl", DJXL),
    variant("jxl 16 bits", "f.jxl", "cjxl --quiet -d 0 deep.png f.jxl", ROUNDED),
    variant("jxl with opacity", "f.jxl", "cjxl --quiet -d 0 clear.png f.jxl", CLEAR),
    variant("jxl with opacity lossy", "f.jxl", "cjxl --quiet -d 1 clear.png f.jxl", DJXL),
    variant("jxl in a container", "f.jxl", "cjxl --quiet --container=1 -d 0 photo.png f.jxl", PHOTO),
    variant("jxl of a jpeg", "f.jxl", "vips jpegsave photo.png t.jpg --Q 90 && cjxl --quiet t.jpg f.jxl", "vips copy t.jpg shown.png"),
    variant("jxl lossy cut off", "f.jxl", concat!("c='-d 1'; ", cut_jxl!()), DJXL_PARTIAL),
    variant("jxl progressive cut off", "f.jxl", concat!("c='-p -d 1'; ", cut_jxl!()), DJXL_PARTIAL),
    variant("jxl lossless cut off", "f.jxl", concat!("c='-d 0'; ", cut_jxl!()), DJXL_PARTIAL),
    variant("jxl animated", "f.jxl", "convert -delay 10 photo.png '(' photo.png -negate ')' t.gif && cjxl --quiet -d 0 t.gif f.jxl", "vips copy t.gif[n=1] shown.png"),
];
const DJXL: &str = "djxl --quiet f.jxl shown.png --bits_per_sample 8";

/// Script that makes a kind of file with `jp2_files.py`.
macro_rules! written {
    ($kind:literal) => {
        concat!("/usr/bin/python3 - ", $kind, " <<'END'\n", include_str!("jp2_files.py"), "END")
    };
}

#[rustfmt::skip]
const JP2: &[Variant] = &[
    variant("jp2 lossless", "f.jp2", "opj_compress -i photo.png -o f.jp2", PHOTO),
    variant("jp2 lossy", "f.jp2", "opj_compress -i photo.png -I -r 8 -o f.jp2", OPENJPEG),
    variant("jp2 codestream", "f.j2k", "opj_compress -i photo.png -o f.j2k", PHOTO),
    variant("jp2 precincts by resolution and place", "f.jp2", "opj_compress -i photo.png -n 4 -b 32,16 -c [64,128],[32,64] -p RPCL -SOP -EPH -o f.jp2", PHOTO),
    variant("jp2 precincts by place", "f.jp2", "opj_compress -i photo.png -n 3 -c [64,64] -p PCRL -d 13,7 -o f.jp2", PHOTO),
    variant("jp2 precincts by component", "f.jp2", "opj_compress -i photo.png -c [128,128] -p CPRL -I -r 8 -o f.jp2", OPENJPEG),
    variant("jp2 layers by resolution in parts", "f.jp2", "opj_compress -i photo.png -p RLCP -TP R -I -r 30,10,4 -o f.jp2", OPENJPEG),
    variant("jp2 without arithmetic", "f.jp2", "opj_compress -i photo.png -M 1 -r 3,1 -o f.jp2", PHOTO),
    variant("jp2 with all styles", "f.jp2", "opj_compress -i photo.png -M 63 -b 4,1024 -o f.jp2", PHOTO),
    variant("jp2 grey of one resolution", "f.jp2", "opj_compress -i grey.png -n 1 -o f.jp2", "cp grey.png shown.png"),
    variant("jp2 tiles", "f.jp2", "opj_compress -i photo.png -t 64,64 -o f.jp2", PHOTO),
    variant("jp2 tiles off the grid", "f.jp2", "opj_compress -i photo.png -d 13,7 -T 5,3 -t 64,48 -o f.jp2", PHOTO),
    variant("jp2 tiles in parts", "f.jp2", "opj_compress -i photo.png -t 100,80 -TP R -p RLCP -n 3 -o f.jp2", PHOTO),
    variant("jp2 tiles lossy", "f.j2k", "opj_compress -i photo.png -I -r 8 -t 128,128 -o f.j2k", "opj_decompress -i f.j2k -o shown.png"),
    variant("jp2 tiles with opacity", "f.jp2", "opj_compress -i clear.png -t 128,128 -o f.jp2", CLEAR),
    variant("jp2 tiles cut off", "f.jp2", CUT_TILES, AS_MADE),
    variant("jp2 tiles subsampled", "f.jp2", "vips jp2ksave photo.png f.jp2 --Q 90 --subsample-mode on --tile-width 64 --tile-height 64", OPENJPEG),
    variant("jp2 grey", "f.jp2", "opj_compress -i grey.png -o f.jp2", "cp grey.png shown.png"),
    variant("jp2 with opacity", "f.jp2", "opj_compress -i clear.png -o f.jp2", CLEAR),
    variant("jp2 16 bits", "f.jp2", "opj_compress -i deep.png -o f.jp2", ROUNDED),
    variant("jp2 in layers", "f.jp2", "opj_compress -i photo.png -I -q 30,40,50 -p RLCP -o f.jp2", OPENJPEG),
    variant("jp2 subsampled", "f.jp2", "vips jp2ksave photo.png f.jp2 --Q 90 --subsample-mode on", OPENJPEG),
    // COC and QCC, in the main header and in those of tiles.
    variant("jp2 components coded differently", "f.j2k", written!("components main '-n 3' '-n 5 -b 32,32 -M 1' '-n 2 -c [64,64] -M 8'"), CODESTREAM),
    variant("jp2 components coded differently by a tile", "f.j2k", written!("components tiles '-n 3' '-n 5 -b 32,32 -M 1' '-n 2 -c [64,64] -M 8'"), CODESTREAM),
    variant("jp2 components coded differently than the main header says", "f.j2k", written!("components replaced '-n 3' '-n 5 -b 32,32 -M 1' '-n 2 -c [64,64] -M 8'"), CODESTREAM),
    variant("jp2 components coded differently in tiles", "f.j2k", written!("components tiles '-n 3 -t 160,128' '-n 5 -b 16,64 -t 160,128' '-n 2 -c [64,64] -t 160,128'"), CODESTREAM),
    variant("jp2 components coded differently than the main header says in tiles", "f.j2k", written!("components replaced '-n 3 -t 160,128' '-n 4 -t 160,128' '-n 2 -t 160,128'"), CODESTREAM),
    variant("jp2 components of two wavelets", "f.j2k", written!("components main '-n 3' '-n 5 -I' '-n 4'"), CODESTREAM),
    variant("jp2 components of two wavelets in tiles", "f.j2k", written!("components replaced '-n 3 -t 160,128' '-n 3 -I -t 160,128' '-n 4 -I -t 160,128'"), CODESTREAM),
    variant("jp2 components of the wavelet of floats", "f.j2k", written!("components tiles '-n 3 -I -r 5' '-n 5 -I -r 4' '-n 4 -I -r 9'"), CODESTREAM),
    // POC, in the main header and in those of tiles.
    variant("jp2 order changes", "f.j2k", written!("progressions main '-n 4 -c [64,64] -POC T1=0,0,1,2,3,RLCP/T1=2,0,1,3,3,CPRL/T1=3,0,1,4,1,PCRL/T1=3,1,1,4,3,RPCL'"), CODESTREAM),
    variant("jp2 order changes by a tile", "f.j2k", written!("progressions tile '-n 3 -POC T1=0,0,1,2,3,CPRL/T1=2,0,1,3,3,LRCP'"), CODESTREAM),
    variant("jp2 order changes by layers", "f.j2k", written!("layers '-r 20,5,1'"), CODESTREAM),
    variant("jp2 order changes by layers, lossy", "f.j2k", written!("layers '-I -r 20,5,3'"), CODESTREAM),
    variant("jp2 order changes in tiles", "f.j2k", written!("progressions tile '-n 3 -t 160,203 -POC T1=0,0,1,2,3,CPRL/T1=2,0,1,3,3,LRCP/T2=0,0,1,1,3,RLCP/T2=1,0,1,3,3,CPRL'"), CODESTREAM),
    variant("jp2 order changes in all tiles", "f.j2k", written!("progressions main '-n 3 -t 200,203 -POC T1=0,0,1,2,3,CPRL/T1=2,0,1,3,3,LRCP/T2=0,0,1,2,3,CPRL/T2=2,0,1,3,3,LRCP'"), CODESTREAM),
    // OpenJPEG sorts colours by their association, as T.800 (I.5.3.6) says. It calls unspecified channels opacity, and
    // does not divide by opacity.
    variant("jp2 channels bgr", "f.jp2", written!("channels BGR"), OPENJPEG),
    variant("jp2 channels gbr", "f.jp2", written!("channels GBR"), OPENJPEG),
    variant("jp2 channels brg", "f.jp2", written!("channels BRG"), OPENJPEG),
    variant("jp2 channels bgr in tiles", "f.jp2", written!("channels BGR '-t 128,128'"), OPENJPEG),
    variant("jp2 channels argb", "f.jp2", written!("channels ARGB"), OPENJPEG),
    variant("jp2 channels bgra", "f.jp2", written!("channels BGRA"), OPENJPEG),
    variant("jp2 channels grab in tiles", "f.jp2", written!("channels GRAB '-t 128,128'"), OPENJPEG),
    variant("jp2 with infrared", "f.jp2", written!("channels RGBX"), AS_MADE),
    variant("jp2 with infrared before colours", "f.jp2", written!("channels XBGR"), AS_MADE),
    variant("jp2 with infrared in tiles", "f.jp2", written!("channels XGRB '-t 128,128'"), AS_MADE),
    variant("jp2 opacity multiplied", "f.jp2", written!("channels RGBM"), AS_MADE),
    variant("jp2 opacity multiplied in tiles", "f.jp2", written!("channels MBGR '-t 128,128'"), AS_MADE),
];
const CUT_TILES: &str = concat!(
    "opj_compress -i photo.png -t 100,80 -o t.jp2 && /usr/bin/python3 - <<'END'\n",
    include_str!("cut_tiles.py"),
    "END"
);
const AS_MADE: &str = ":";
const CODESTREAM: &str = "opj_decompress -i f.j2k -o shown.png";
const OPENJPEG: &str = "opj_decompress -i f.jp2 -o shown.png";

#[test]
fn webp() {
    check_all(WEBP);
}

#[test]
fn avif() {
    check_all(AVIF);
}

#[test]
fn heic() {
    check_all(HEIC);
}

#[test]
fn jpeg_xl() {
    check_all(JXL);
}

#[test]
fn jpeg_2000() {
    check_all(JP2);
}
