//! Unsupported, truncated and broken files fail with the right error and a message that gives the reason, and never
//! crash.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use edgezoom_codecs::{Bounds, Damage, DecodeOptions, SourceError};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{BOUNDS, decode_within, file};

use crate::variant::{self, folder, made, originals, script};

/// Small files of each format, with the scripts that make them.
const FILES: &[(&str, &str)] = &[
    ("f.avif", "avifenc -s 8 s.png f.avif"),
    ("f.bmp", "convert s.png f.bmp"),
    ("f.cr3", CR3),
    ("f.dcm", DICOM),
    ("f.dds", "convert s.png -define dds:compression=dxt5 f.dds"),
    ("f.exr", "convert s.png -compress Zip f.exr"),
    ("f.ff", "png2ff < s.png > f.ff"),
    ("f.fits", "convert s.png f.fits"),
    ("f.gif", "convert s.png f.gif"),
    ("f.hdr", "vips colourspace s.png l.v scrgb && vips radsave l.v f.hdr"),
    ("f.heic", "heif-enc s.png -o f.heic"),
    ("f.icns", "convert s.png -resize 128x128! i.png && png2icns f.icns i.png"),
    ("f.ico", "convert s.png f.ico"),
    ("f.j2k", "opj_compress -i s.png -o f.j2k"),
    ("f.jp2", "opj_compress -i s.png -o f.jp2"),
    ("f.jpg", "convert s.png f.jpg"),
    ("f.jxl", "cjxl --quiet -d 1 s.png f.jxl"),
    ("lossless.jxl", "cjxl --quiet -d 0 s.png lossless.jxl"),
    ("f.nef", NEF),
    ("f.pam", "pngtopam s.png > f.pam"),
    ("f.pfm", "vips colourspace s.png l.v scrgb && vips ppmsave l.v f.pfm"),
    ("f.png", "cp s.png f.png"),
    ("f.ppm", "pngtopnm s.png > f.ppm"),
    ("text.ppm", "pngtopnm s.png | pnmtoplainpnm > text.ppm"),
    ("f.psd", "convert s.png -compress RLE f.psd"),
    ("f.psb", "convert s.png -compress None f.psb"),
    ("f.qoi", "pngtopam s.png | pamtoqoi > f.qoi"),
    ("f.sgi", "convert s.png f.sgi"),
    ("f.tga", "convert s.png -compress RLE f.tga"),
    ("f.tif", "convert s.png -compress LZW f.tif"),
    ("fax.tif", "convert s.png -monochrome -compress Fax fax.tif"),
    (
        "group4.tif",
        "convert s.png -monochrome -compress Fax t.tif && tiffcp -c g4 -t -w 32 -l 32 t.tif group4.tif",
    ),
    (
        "two.tif",
        "convert s.png -monochrome -compress Fax t.tif && tiffcp -c g3:2d -f lsb2msb -r 8 t.tif two.tif",
    ),
    ("zip.tif", "vips tiffsave s.png zip.tif --compression zstd --tile --tile-width 32 --tile-height 32"),
    ("tiles.j2k", "opj_compress -i s.png -t 24,24 -n 3 -o tiles.j2k"),
    ("f.webp", "cwebp -quiet s.png -o f.webp"),
    ("f.xbm", "convert s.png -monochrome f.xbm"),
    ("f.xpm", "convert s.png f.xpm"),
];

// The scripts of `cameras` and `medicine`, applied to the small picture.
const CR3: &str = concat!(
    "convert s.png large.jpg && cp large.jpg small.jpg && /usr/bin/python3 - cr3 cr3 <<'END'\n",
    include_str!("cameras.py"),
    "\nEND"
);
const NEF: &str = concat!(
    "convert s.png large.jpg && cp large.jpg small.jpg && /usr/bin/python3 - nef nef <<'END'\n",
    include_str!("cameras.py"),
    "\nEND"
);
const DICOM: &str = concat!(
    "convert s.png -colorspace Gray grey.png && cp s.png photo.png && /usr/bin/python3 - rgb <<'END'\n",
    include_str!("medicine.py"),
    "\nEND"
);

/// Names and contents of [`FILES`].
static MADE: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let folder = folder("small files");
    let names: Vec<&str> = FILES.iter().map(|(file, _)| *file).collect();
    made(&folder, &names, &FILES, || {
        script(&folder, "convert photo.png -resize 96x72! s.png");
        FILES.iter().for_each(|(_, make)| script(&folder, make));
    });
    let files = names.into_iter().map(|file| (file, fs::read(folder.join(file)).unwrap())).collect();
    fs::remove_dir_all(&folder).unwrap();
    files
});

#[test]
fn a_file_cut_off_is_corrupt_or_shown_in_part_in_every_format() {
    for (file, bytes) in MADE.iter() {
        assert!(matches!(read(bytes, false), Ok(None)), "{file}, complete");
        for tenths in [1, 3, 5, 7, 9] {
            let cut = &bytes[..bytes.len() * tenths / 10];
            let strict = read(cut, true);
            assert!(matches!(strict, Err(SourceError::Corrupt { .. })), "{file} at {tenths}0 %: {strict:?}");
            match read(cut, false) {
                Ok(damage) => assert!(damage.is_some(), "{file} at {tenths}0 % is reported as complete"),
                Err(error) => {
                    assert!(matches!(error, SourceError::Corrupt { .. }), "{file} at {tenths}0 %: {error}");
                    // 30 % of this small JPEG has no complete row of blocks.
                    let least = if *file == "f.jpg" { 5 } else { 3 };
                    let shown_in_part = ["f.bmp", "f.gif", "f.jpg", "f.pam", "f.png", "f.ppm", "tiles.j2k"];
                    assert!(tenths < least || !shown_in_part.contains(file), "{file} at {tenths}0 %");
                }
            }
        }
    }
}

/// Reads a file and returns the damage, if part of the picture is missing.
fn read(bytes: &[u8], strict: bool) -> Result<Option<Damage>, SourceError> {
    let options = DecodeOptions { strict, ..DecodeOptions::default() };
    edgezoom_codecs::open_with(file(bytes), BOUNDS, &options)
        .and_then(|mut source| Picture::read(&mut *source).map(|_| source.damage()))
}

#[test]
fn pixels_sides_and_memory_are_bounded_in_every_format() {
    for (file, bytes) in MADE.iter() {
        for bounds in [Bounds { pixels: 96 * 72 - 1, ..BOUNDS }, Bounds { side: 95, ..BOUNDS }] {
            let error = decode_within(bytes, bounds).unwrap_err();
            let bounded = matches!(error, SourceError::TooManyPixels { .. } | SourceError::TooLong { .. });
            assert!(bounded, "{file}: {error}");
        }
    }
}

#[test]
fn formats_that_need_the_whole_picture_in_memory_fail_without_it() {
    let held = [
        "f.avif", "f.dds", "f.exr", "f.ff", "f.gif", "f.hdr", "f.heic", "f.icns", "f.ico", "f.jp2", "f.jxl",
        "f.qoi", "f.sgi", "f.tga", "f.webp", "f.xbm", "f.xpm",
    ];
    for (file, bytes) in MADE.iter() {
        let bounds = Bounds { memory: 4 << 10, ..BOUNDS };
        let result = decode_within(bytes, bounds);
        if held.contains(file) {
            let error = result.unwrap_err();
            let too_large = matches!(error, SourceError::TooMuchMemory { .. } | SourceError::OutOfMemory);
            assert!(too_large, "{file}: {error}");
        } else if matches!(*file, "f.bmp" | "f.ppm" | "f.pam" | "text.ppm") {
            assert!(result.is_ok(), "{file} is decoded row by row");
        }
    }
}

#[test]
fn changed_bytes_end_in_a_picture_or_an_error() {
    // A panic would be safe, because it ends only the renderer process, but it gives a worse message than an error.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let bounds = Bounds { pixels: 4_000_000, side: 20_000, memory: 64 << 20, ..BOUNDS };
    for (file, bytes) in MADE.iter() {
        for round in 0..60 {
            let mut changed = bytes.clone();
            for _ in 0..=random(5) {
                // Change the header in half of the rounds, because it has more influence than the pixels.
                let among = if round % 2 == 0 { changed.len().min(200) } else { changed.len() };
                changed[random(among)] = random(256) as u8;
            }
            if let Err(error) = decode_within(&changed, bounds) {
                let blames_us = matches!(error, SourceError::NeedsWhole | SourceError::Io(_));
                assert!(!blames_us, "{file}: {error}");
            }
        }
    }
}

/// Makes a file with a script, and returns the message of its error.
fn complaint(folder: &Path, make: &str, file: &str) -> String {
    script(folder, make);
    variant::read(&folder.join(file)).err().unwrap_or_else(|| panic!("{file} was read"))
}

#[test]
fn errors_name_the_unsupported_variant() {
    let folder = folder("not read");
    originals(&folder);
    let says = |make: &str, file: &str, what: &str| {
        let said = complaint(&folder, make, file);
        assert!(said.contains(what), "{file}: {said}");
    };
    says(
        "vips copy photo.png lerc.tif && tiffset -s 259 34887 lerc.tif",
        "lerc.tif",
        "This kind of TIFF cannot be read",
    );
    says(
        "vips copy photo.png log.tif && tiffset -s 259 34676 log.tif",
        "log.tif",
        "This kind of TIFF cannot be read: its compression is LogLuv",
    );
    says(
        "vips colourspace photo.png l.v scrgb && vips radsave l.v t.hdr && sed s/-Y/+X/\\;s/+X/-Y/2 t.hdr > turned.hdr",
        "turned.hdr",
        "This kind of HDR cannot be read",
    );
    says("convert clear.png clear.pcx", "clear.pcx", "This kind of PCX cannot be read");
    says(
        "printf '\\0\\0\\0\\030ftypmif1\\0\\0\\0\\0mif1heic' > empty.heic",
        "empty.heic",
        "The HEIC is cut off or broken",
    );
    says("printf 'P6 3 2 70000\\n' > odd.ppm", "odd.ppm", "The PNM is cut off or broken");
    says("printf '%%!PS-Adobe-3.0 EPSF-3.0\\n' > drawing.eps", "drawing.eps", "This is PostScript (EPS)");
    says("printf '\\0\\0\\0\\030ftypisom\\0\\0\\002\\0isomiso2' > film.mp4", "film.mp4", "This is a video");
    says(": > empty.jpg", "empty.jpg", "The file is empty");
    says("printf 'Dear reader' > text.jpg", "text.jpg", "The source has an unknown format");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_wrong_extension_does_not_matter() {
    let folder = folder("wrong extension");
    originals(&folder);
    script(&folder, "cwebp -quiet -lossless -z 3 photo.png -o photo.jpg");
    variant::read(&folder.join("photo.jpg")).unwrap();
    fs::remove_dir_all(folder).unwrap();
}
