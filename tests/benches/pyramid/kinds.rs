//! The cases of `--kinds`: every format of large pictures, each with noise, text and a photograph.

use crate::case::{Case, Encoder, JPEG_50, Likeness, Picture};
use Encoder::{Shell, Vips};
use edgezoom_tests::picture::texture::Content;

/// End of the names of formats with the tiler's default grid, in place of libvips'.
const DEFAULT_GRID: &str = "512+0";

/// Sides of 50 megapixels that are whole MCUs, as those of most cameras: a turn keeps the blocks of such pictures.
const WHOLE_MCUS: (u32, u32) = (8672, 5776);

/// Number of runs without `--quick`.
const RUNS: usize = 3;

/// Name, file extension and encoder.
#[rustfmt::skip]
const FORMATS: &[(&str, &str, Encoder)] = &[
    ("JPEG 4:2:0", "jpg", Vips(&["jpegsave", "--Q=88", "--subsample-mode=on"])),
    ("JPEG 4:2:0, 512+0", "jpg", Vips(&["jpegsave", "--Q=88", "--subsample-mode=on"])),
    ("JPEG 4:2:2", "jpg", Shell("cjpeg -quality 88 -sample 2x1 -outfile \"$1\"")),
    ("JPEG 4:4:0", "jpg", Shell("cjpeg -quality 88 -sample 1x2 -outfile \"$1\"")),
    ("JPEG 4:4:4", "jpg", Vips(&["jpegsave", "--Q=92", "--subsample-mode=off"])),
    ("JPEG 4:4:4, 512+0", "jpg", Vips(&["jpegsave", "--Q=92", "--subsample-mode=off"])),
    ("JPEG grey", "jpg", Shell("cjpeg -quality 88 -grayscale -outfile \"$1\"")),
    ("JPEG grey, 512+0", "jpg", Shell("cjpeg -quality 88 -grayscale -outfile \"$1\"")),
    ("JPEG 4:2:0, turned", "jpg", Vips(&["jpegsave", "--Q=88", "--subsample-mode=on"])),
    ("JPEG 4:2:0, turned, 512+0", "jpg", Vips(&["jpegsave", "--Q=88", "--subsample-mode=on"])),
    ("JPEG 4:4:4, turned", "jpg", Vips(&["jpegsave", "--Q=92", "--subsample-mode=off"])),
    ("JPEG progressive", "jpg", Vips(&["jpegsave", "--Q=88", "--subsample-mode=on", "--interlace"])),
    ("PNG", "png", Vips(&["pngsave", "--filter=all", "--compression=6"])),
    ("TIFF plain", "tif", Vips(&["tiffsave"])),
    ("TIFF PackBits", "tif", Vips(&["tiffsave", "--compression=packbits"])),
    ("TIFF LZW in strips", "tif", Vips(&["tiffsave", "--compression=lzw", "--predictor=horizontal"])),
    ("TIFF LZW in tiles", "tif", Vips(&["tiffsave", "--compression=lzw", "--predictor=horizontal", "--tile", "--tile-width=256", "--tile-height=256"])),
    ("TIFF deflate in strips", "tif", Vips(&["tiffsave", "--compression=deflate", "--predictor=horizontal"])),
    ("TIFF deflate in tiles", "tif", Vips(&["tiffsave", "--compression=deflate", "--predictor=horizontal", "--tile", "--tile-width=256", "--tile-height=256"])),
    ("TIFF zstd in tiles", "tif", Vips(&["tiffsave", "--compression=zstd", "--predictor=horizontal", "--tile", "--tile-width=256", "--tile-height=256"])),
    ("TIFF JPEG 4:2:0 in tiles", "tif", Vips(&["tiffsave", "--compression=jpeg", "--Q=88", "--tile", "--tile-width=256", "--tile-height=256"])),
    ("TIFF JPEG 4:4:4 in tiles", "tif", Vips(&["tiffsave", "--compression=jpeg", "--Q=92", "--tile", "--tile-width=256", "--tile-height=256"])),
    ("TIFF WebP in tiles", "tif", Vips(&["tiffsave", "--compression=webp", "--Q=80", "--tile", "--tile-width=256", "--tile-height=256"])),
    ("WebP", "webp", Vips(&["webpsave", "--Q=80"])),
    ("AVIF", "avif", Shell(AVIF)),
    ("HEIC", "heic", Shell("vips pngsave stdin \"$1.png\" --compression=1 && heif-enc -p preset=ultrafast -q 60 -o \"$1\" \"$1.png\" && rm \"$1.png\"")),
    ("JPEG 2000", "jp2", Vips(&["jp2ksave"])),
    ("JPEG XL", "jxl", Vips(&["jxlsave", "--effort=3"])),
];

/// Uses the libvips of PyPI: no decoder reads AVIFs of this width from Debian's libaom 3.6.
const AVIF: &str = "vips pngsave stdin \"$1.png\" --compression=1
\"$(dirname \"$1\")/../python/bin/python\" -c 'import sys, pyvips
pyvips.Image.new_from_file(sys.argv[1] + \".png\").heifsave(sys.argv[1], compression=\"av1\", effort=1, Q=60)' \"$1\"
rm \"$1.png\"";

/// Prefixes of the names of formats that a single core must decode, as one bit stream.
const STREAMS: [&str; 3] = ["JPEG 4", "JPEG progressive", "PNG"];

/// Returns all cases.
pub fn all() -> Vec<Case> {
    let contents = [Content::Noise, Content::Text, Content::Photograph];
    let cases = FORMATS.iter().flat_map(|&(name, extension, encoder)| {
        contents.map(|content| {
            let (likeness, turned) = (Likeness::Unmeasured, name.contains("turned"));
            let is_aligned = turned && name.ends_with(DEFAULT_GRID);
            let (width, height) = if is_aligned { WHOLE_MCUS } else { (JPEG_50.width, JPEG_50.height) };
            let is_stream = STREAMS.iter().any(|stream| name.starts_with(stream));
            let picture =
                Picture { name, extension, content, width, height, likeness, encoder, turned, is_stream };
            let case = Case::new(picture, RUNS);
            if name.ends_with(DEFAULT_GRID) { case.with_default_grid() } else { case }
        })
    });
    cases.collect()
}

/// Returns the cases of `--wheel`: common formats, and arrays, in two grids.
pub fn of_wheel() -> Vec<Case> {
    let chosen = ["JPEG 4:2:0", "PNG", "TIFF LZW in strips", "AVIF"];
    let chosen = FORMATS.iter().filter(|(name, ..)| chosen.contains(name)).copied();
    let formats: Vec<_> = chosen.chain([("array", "ppm", Shell("cat >\"$1\""))]).collect();
    let cases = formats.into_iter().flat_map(|(name, extension, encoder)| {
        [Content::Noise, Content::Text, Content::Photograph].into_iter().flat_map(move |content| {
            let picture = Picture { name, extension, encoder, content, ..pixels(content) };
            [Case::new(picture, RUNS), Case::new(picture, RUNS).with_default_grid()]
        })
    });
    cases.collect()
}

/// Returns a picture that is trivial to decode.
pub fn pixels(content: Content) -> Picture {
    let (name, extension) = ("TIFF plain", "tif");
    Picture {
        name,
        extension,
        content,
        likeness: Likeness::Unmeasured,
        encoder: Vips(&["tiffsave"]),
        ..JPEG_50
    }
}
