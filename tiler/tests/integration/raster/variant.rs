//! Makes a file, has the engine tile it, and puts the full picture together again.

use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use edgezoom_codecs::Layout;
use edgezoom_content::{Dzi, Size, TileFormat};

use edgezoom_test_support::difference::Difference;
use edgezoom_test_support::pyramid::{read_folder, rebuilt};
use edgezoom_test_support::{Picture, files, fixture};

/// A kind of file.
#[derive(Clone, Copy)]
pub struct Variant {
    /// What is special about it. Its folder has this name too.
    pub name: &'static str,
    /// The file.
    pub file: &'static str,
    /// How it is made: a script for `sh`, of the pictures that [`originals`] writes.
    pub make: &'static str,
    /// How it is to look: a script that writes `shown.png`.
    pub shown: &'static str,
}

/// The script that says "as the original".
pub const fn variant(
    name: &'static str,
    file: &'static str,
    make: &'static str,
    shown: &'static str,
) -> Variant {
    Variant { name, file, make, shown }
}

impl Variant {
    /// What the engine makes of it, and how it is to look.
    pub fn convert(&self) -> Result<(Picture, Picture), String> {
        let folder = folder(self.name);
        made(&folder, &[self.file, "shown.png"], &(self.make, self.shown), || {
            script(&folder, self.make);
            assert!(folder.join(self.file).exists(), "{}: the script made no {}", self.name, self.file);
            script(&folder, self.shown);
        });
        let shown = fs::read(folder.join("shown.png"));
        let shown = shown.unwrap_or_else(|error| panic!("{}: no shown.png: {error}", self.name));
        let ours = tiled(&folder, self.file).map_err(|said| format!("{}: {said}", self.name))?;
        Ok((ours, read_png(&shown)))
    }

    /// Whether it comes out as it is to look, within 2 of 255 in the mean. Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let (ours, theirs) = self.convert()?;
        let difference =
            Difference::between(&ours, &theirs).map_err(|why| format!("{}: {why}", self.name))?;
        println!("{:32} mean {:5.2}, most {:3}", self.name, difference.mean, difference.most);
        match difference.mean <= 2.0 {
            true => fs::remove_dir_all(folder_path(self.name)).map_err(|error| error.to_string()),
            false => Err(format!("{}: it differs by {:.2} of 255 in the mean", self.name, difference.mean)),
        }
    }
}

/// Checks all and says of each what is wrong.
pub fn check_all(variants: &[Variant]) {
    let wrong: Vec<String> = variants.iter().filter_map(|variant| variant.check().err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), variants.len(), wrong.join("\n"));
}

fn folder_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("raster").join(name.replace([' ', ',', '/'], "-"))
}

/// An empty folder for a variant.
pub fn folder(name: &str) -> PathBuf {
    let path = folder_path(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Puts files into a folder that `make` makes there of the originals by this recipe. They are kept for the next run.
pub fn made(folder: &Path, names: &[&str], recipe: &impl Hash, make: impl FnOnce()) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    fixture::place(&cache, folder, names, &(ORIGINALS.as_slice(), recipe), || {
        originals(folder);
        make();
    });
}

/// Writes the pictures that files are made of.
pub fn originals(folder: &Path) {
    for (name, bytes) in ORIGINALS.iter() {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// These pictures: names and PNGs. Odd sides, so that halves and blocks have edges.
static ORIGINALS: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let photo = |layout| files::png(&Picture::photo(301, 203, layout), |_| {});
    let stored = Picture { width: 301, ..Picture::photo(602, 203, Layout::Rgb) };
    vec![
        ("photo.png", photo(Layout::Rgb)),
        ("clear.png", photo(Layout::Rgba)),
        ("grey.png", photo(Layout::Grey)),
        ("vivid.png", files::png(&vivid(), |_| {})),
        ("deep.png", files::png(&stored, |info| info.bit_depth = png::BitDepth::Sixteen)),
    ]
});

/// All hues, from grey to their strongest, in three lightnesses.
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

/// Runs a script in a folder.
pub fn script(folder: &Path, script: &str) {
    let output = Command::new("sh").args(["-e", "-c", script]).current_dir(folder).output().unwrap();
    assert!(
        output.status.success(),
        "this failed; `cargo xtask setup` installs what it needs:\n{script}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What `tiler convert` says of a file, at the options given.
pub fn convert(folder: &Path, file: &str, options: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).args(["convert", file, "--output", "pyramid", "--force"]).args(options);
    command.output().unwrap()
}

/// The full picture, from the tiles that the engine makes of a file.
///
/// # Errors
/// With what the engine complains of.
pub fn tiled(folder: &Path, file: &str) -> Result<Picture, String> {
    // PNG tiles lose nothing, and several of them have seams.
    let output = convert(folder, file, &["--format", "png", "--tile-size", "128", "--overlap", "1"]);
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
    }
    let descriptor = fs::read_to_string(folder.join("pyramid.dzi")).unwrap();
    let side = |name: &str| {
        let start = descriptor.find(name).unwrap() + name.len() + 2;
        descriptor[start..].split('"').next().unwrap().parse::<u32>().unwrap()
    };
    let size = Size { width: side("Width"), height: side("Height") };
    let dzi = Dzi { size, tile_size: 128, tile_overlap: 1, tile_format: TileFormat::Png };
    Ok(rebuilt(&read_folder(&folder.join("pyramid_files"), &dzi), &dzi))
}

/// A PNG of a reference decoder's: 8 bits, not a palette.
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
