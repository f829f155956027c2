//! Makes a file with another program, and compares the picture that we show with that of another decoder.

use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use edgezoom_codecs::{Bounds, Layout};
use edgezoom_test_support::likeness::Tolerance;
use edgezoom_test_support::reference::{Detail, Judge, Reference, packages};
use edgezoom_test_support::{Picture, files, fixture};

/// A kind of file to test.
#[derive(Clone, Copy)]
pub struct Variant {
    /// Name of the variant and of its folder.
    pub name: &'static str,
    /// Name of the file.
    pub file: &'static str,
    /// Shell script that makes the file from the pictures that [`originals`] writes.
    pub make: &'static str,
    /// Shell script that writes the reference picture `shown.png`.
    pub shown: &'static str,
}

pub const fn variant(
    name: &'static str,
    file: &'static str,
    make: &'static str,
    shown: &'static str,
) -> Variant {
    Variant { name, file, make, shown }
}

impl Variant {
    /// Returns the picture that we show and the reference picture.
    pub fn pictures(&self) -> Result<(Picture, Reference), String> {
        let (folder, path) = (folder(self.name), folder_path(self.name).join(self.file));
        let make = || {
            made(&folder, &[self.file, "shown.png"], &(self.make, self.shown), || {
                script(&folder, self.make);
                assert!(path.exists(), "{}: the script made no {}", self.name, self.file);
                script(&folder, self.shown);
            });
        };
        let shown = || Some(read_png(&fs::read(folder.join("shown.png")).unwrap()));
        let theirs = if is_computed(self.name) {
            let file = PROGRAMS.file(&format!("{} {}", self.name, self.file), || {
                make();
                fs::read(&path).unwrap()
            });
            fs::write(&path, file).unwrap();
            PROGRAMS.picture(self.name, Detail::Lattice, shown)
        } else {
            make();
            shown().map(|shown| PROGRAMS.shows(shown))
        };
        let ours = read(&path).map_err(|said| format!("{}: {said}", self.name))?;
        Ok((ours, theirs.unwrap()))
    }

    /// Compares the picture that we show with the reference picture.
    ///
    /// # Errors
    /// They differ, or the file cannot be read.
    pub fn check(&self) -> Result<(), String> {
        let (ours, theirs) = self.pictures()?;
        theirs.compare(&ours, tolerance(self.name)).map_err(|why| format!("{}: {why}", self.name))?;
        fs::remove_dir_all(folder_path(self.name)).map_err(|error| error.to_string())
    }
}

/// The programs that make files and decode them.
pub const PROGRAMS: Judge = Judge {
    set: "formats",
    version: || {
        packages(&[
            "imagemagick",
            "libavif-bin",
            "libheif-examples",
            "libjxl-tools",
            "libopenjp2-tools",
            "libtiff-tools",
            "libvips-tools",
            "openexr",
            "openslide-tools",
            "python3-pil",
        ])
    },
};

/// Accepted differences by name prefix, of pictures that a program computes as its version does: it converts colours, or
/// transforms in floating point. Files and references are committed. Values are the measured differences, plus about a
/// fifth for lossy formats.
const COMPUTED: &[(&str, Tolerance)] = &[
    // Conversion from YCbCr rounds differently.
    ("avif", Tolerance::up_to(1)),
    ("heic", Tolerance::lossy(0.1, 2, 0.2)),
    ("heic 10 bits", Tolerance::lossy(0.5, 9, 0.7)),
    ("ultra hdr of a phone", Tolerance::up_to(1)),
    // The inverse transform is in floating point.
    ("jp2 components of", Tolerance::up_to(1)),
    ("jp2 in layers", Tolerance::up_to(1)),
    ("jp2 layers", Tolerance::up_to(1)),
    ("jp2 lossy", Tolerance::up_to(1)),
    ("jp2 order changes by layers, lossy", Tolerance::up_to(1)),
    ("jp2 precincts by component", Tolerance::up_to(1)),
    ("jp2 subsampled", Tolerance::up_to(2)),
    ("jp2 tiles cut off", Tolerance::up_to(1)),
    ("jp2 tiles lossy", Tolerance::up_to(1)),
    ("jp2 tiles subsampled", Tolerance::up_to(2)),
    ("jxl", Tolerance::up_to(1)),
    ("jxl lossless cut off", Tolerance::lossy(1.1, 7, 4.5)),
    ("jxl lossy cut off", Tolerance::lossy(1.5, 9, 5.0)),
    ("jxl of a jpeg", Tolerance::lossy(0.6, 3, 0.7)),
    ("jxl progressive cut off", Tolerance::lossy(1.5, 9, 5.0)),
    // Colours or opacity are computed.
    ("psd 32 bits", Tolerance::up_to(1)),
    ("psd cmyk", Tolerance::up_to(1)),
    ("psd lab", Tolerance::up_to(1)),
    ("psd with a profile", Tolerance::up_to(2)),
    // Decoders interpolate the shades of a block with different rounding.
    ("dds bc", Tolerance::up_to(1)),
    ("dds bc3", Tolerance::up_to(2)),
    ("dds bc6h", Tolerance::lossy(2.2, 15, 2.6)),
    ("exr b44", Tolerance::up_to(1)),
    ("exr dwa", Tolerance::up_to(1)),
    // OpenSlide blends tiles at half-pixel positions.
    ("slide bif", Tolerance::lossy(0.6, 78, 4.2)),
    ("slide ndpi", Tolerance::lossy(0.1, 6, 0.2)),
    ("slide ndpi wider than a jpeg", Tolerance::lossy(1.2, 5, 1.3)),
];

/// Accepted differences from references that no version of a program changes: the original, or a copy of samples. Files
/// and references are made anew. Variants without a prefix in either table are exact.
const ROUNDED: &[(&str, Tolerance)] = &[
    ("avif lossless", Tolerance::EXACT),
    ("heic lossless", Tolerance::up_to(1)),
    ("jp2 components of two wavelets in tiles", Tolerance::up_to(1)), // large, and like that without tiles
    ("jpeg of several pictures", Tolerance::lossy(0.1, 3, 0.4)),
    ("jxl animated", Tolerance::up_to(1)),
    ("jxl grey", Tolerance::up_to(1)),
    ("jxl in a container", Tolerance::up_to(1)),
    ("jxl lossless", Tolerance::EXACT),
    ("jxl 16 bits", Tolerance::up_to(1)),
    ("jxl with opacity", Tolerance::up_to(1)),
    ("tiff ycbcr", Tolerance::up_to(2)),
    ("tiff lossy jpeg 2000", Tolerance::up_to(2)),
    // Colours or opacity are computed.
    ("hdr", Tolerance::up_to(1)),
    ("tiff lab", Tolerance::lossy(0.9, 4, 1.3)),
    ("tiff opacity multiplied", Tolerance::up_to(1)),
    ("tiff planes with opacity multiplied", Tolerance::up_to(1)),
    ("tiff ycbcr planes", Tolerance::up_to(3)),
    // The reference truncates to 8 bits, and the engine rounds.
    ("bmp 16 bits", Tolerance::up_to(1)),
    ("ppm of few shades", Tolerance::up_to(1)),
    ("tiff 10 bits", Tolerance::up_to(1)),
    ("tiff 12 bits", Tolerance::up_to(1)),
    ("tiff 14 bits", Tolerance::up_to(1)),
    ("tiff 16 bits, signed", Tolerance::up_to(1)),
    ("tiff 64 bits, signed", Tolerance::up_to(1)),
    ("tiff heights", Tolerance::up_to(1)),
    ("tiff palette", Tolerance::up_to(1)),
    ("tiff palette with opacity", Tolerance::EXACT),
    ("tiff satellite", Tolerance::up_to(1)),
    ("dicom jpeg-ls nearly lossless", Tolerance::up_to(2)),
    ("exr", Tolerance::up_to(1)),
];

/// Returns the row of a table with the longest prefix of a name.
fn row(table: &[(&str, Tolerance)], name: &str) -> Option<(usize, Tolerance)> {
    let matching = table.iter().filter(|(beginning, _)| name.starts_with(beginning));
    matching.map(|&(beginning, tolerance)| (beginning.len(), tolerance)).max_by_key(|&(length, _)| length)
}

fn is_computed(name: &str) -> bool {
    let length = |table| row(table, name).map_or(0, |(length, _)| length);
    length(COMPUTED) > length(ROUNDED)
}

fn tolerance(name: &str) -> Tolerance {
    let table = if is_computed(name) { COMPUTED } else { ROUNDED };
    row(table, name).map_or(Tolerance::EXACT, |(_, tolerance)| tolerance)
}

/// Checks all variants and panics with a list of those that fail.
pub fn check_all(variants: &[Variant]) {
    let wrong: Vec<String> = variants.iter().filter_map(|variant| variant.check().err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), variants.len(), wrong.join("\n"));
}

fn folder_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("formats").join(name.replace([' ', ',', '/'], "-"))
}

/// Creates an empty folder for a variant.
pub fn folder(name: &str) -> PathBuf {
    let path = folder_path(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Places the files `names` in a folder, from the cache or by running `make` on the originals.
pub fn made(folder: &Path, names: &[&str], recipe: &impl Hash, make: impl FnOnce()) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    fixture::place(&cache, folder, names, &(ORIGINALS.as_slice(), recipe), || {
        originals(folder);
        make();
    });
}

/// Writes the pictures from which the scripts make files.
pub fn originals(folder: &Path) {
    for (name, bytes) in ORIGINALS.iter() {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Names and PNGs of the originals. Odd sizes, so that blocks and halved levels are incomplete at the edges.
static ORIGINALS: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let photo = |layout| files::png(&Picture::photo(301, 203, layout), |_| {});
    // Samples of 16 bits from pairs of bytes.
    let deep = Picture { width: 301, ..Picture::photo(602, 203, Layout::Rgb) };
    let rounded = |pair: &[u8; 2]| (f64::from(u16::from_be_bytes(*pair)) / 257.0).round() as u8;
    let rounded = Picture { pixels: deep.pixels.as_chunks().0.iter().map(rounded).collect(), ..deep.clone() };
    vec![
        ("photo.png", photo(Layout::Rgb)),
        ("clear.png", photo(Layout::Rgba)),
        ("grey.png", photo(Layout::Grey)),
        ("vivid.png", files::png(&vivid(), |_| {})),
        ("deep.png", files::png(&deep, |info| info.bit_depth = png::BitDepth::Sixteen)),
        ("rounded.png", files::png(&rounded, |_| {})),
    ]
});

/// Returns a picture of all hues, from grey to full saturation, at three levels of lightness.
fn vivid() -> Picture {
    Picture::new(240, 192, Layout::Rgb, |x, y| {
        let hue = f64::from(x) / 40.0;
        let strength = f64::from(y % 64) / 63.0;
        let light = [0.35, 0.65, 1.0][y as usize / 64];
        let channel = |offset: f64| {
            let ramp = ((hue + offset) % 6.0 - 3.0).abs() - 1.0;
            let colour = ramp.clamp(0.0, 1.0);
            (255.0 * light * (1.0 - strength * (1.0 - colour))).round() as u8
        };
        [channel(0.0), channel(4.0), channel(2.0), 255]
    })
}

/// Runs a shell script in a folder.
pub fn script(folder: &Path, script: &str) {
    let output = Command::new("sh").args(["-e", "-c", script]).current_dir(folder).output().unwrap();
    assert!(
        output.status.success(),
        "a script failed; `cargo xtask setup` installs the programs that it needs:\n{script}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Reads a file with our decoders.
///
/// # Errors
/// The message for people.
pub fn read(path: &Path) -> Result<Picture, String> {
    edgezoom_codecs::open(fs::File::open(path).unwrap(), Bounds::default())
        .and_then(|mut picture| Picture::read(&mut *picture))
        .map_err(|error| error.to_string())
}

/// Decodes a PNG from a reference decoder to 8 bits, without a palette.
pub fn read_png(bytes: &[u8]) -> Picture {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().unwrap();
    let (color, _) = reader.output_color_type();
    if color != png::ColorType::GrayscaleAlpha {
        let (width, height) = reader.info().size();
        let layout = match color {
            png::ColorType::Grayscale => Layout::Grey,
            png::ColorType::Rgba => Layout::Rgba,
            _ => Layout::Rgb,
        };
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        return Picture { width, height, layout, pixels };
    }
    let mut pairs = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pairs).unwrap();
    let (width, height) = reader.info().size();
    let pixels = pairs.chunks_exact(2).flat_map(|pair| [pair[0], pair[0], pair[0], pair[1]]).collect();
    Picture { width, height, layout: Layout::Rgba, pixels }
}
