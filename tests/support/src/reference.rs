//! References: what other programs make of the tests' sources. They are committed in `tests/references/`, so that a new
//! version of such a program, a judge, fails no test.
//!
//! `EDGEZOOM_JUDGES=1` asks the programs of this machine instead, and `EDGEZOOM_JUDGES=remake` also commits what they
//! say. [`docs/maintaining.md`](../../../docs/maintaining.md#judges) has the commands.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use edgezoom_codecs::Layout;
use edgezoom_geometry::Size;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::likeness::{Tolerance, compare};
use crate::{Picture, files};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where references come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Committed,
    Living,
    Remade,
}

static MODE: LazyLock<Mode> = LazyLock::new(|| match std::env::var("EDGEZOOM_JUDGES").as_deref() {
    Ok("remake") => Mode::Remade,
    Ok("1") => Mode::Living,
    _ => Mode::Committed,
});

/// The programs that make a set of references.
#[derive(Clone, Copy)]
pub struct Judge {
    /// The folder of the set in `tests/references/`.
    pub set: &'static str,
    /// Returns the names and versions of the programs.
    pub version: fn() -> String,
}

/// The pixels of a picture that are committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Whole,
    /// An eighth of the pixels, as they are. Each row and each column of a block of 8×8 has one.
    Lattice,
    /// Means of squares of 4×4 pixels, for edges that each renderer smooths in another way.
    Means,
}

/// The picture that a judge shows.
pub struct Reference {
    /// The size of the whole picture.
    pub size: Size,
    pub picture: Picture,
    detail: Detail,
    pub judge: Judge,
}

impl Judge {
    /// Returns the picture that `show` makes, or `None` if the judge refuses the source.
    pub fn picture(
        self,
        name: &str,
        detail: Detail,
        show: impl FnOnce() -> Option<Picture>,
    ) -> Option<Reference> {
        let path = self.path(name, "webp");
        if *MODE == Mode::Committed {
            let (size, picture) = stored(&self.committed(&path))?;
            return Some(Reference { size, picture, detail, judge: self });
        }
        let whole = show();
        if *MODE == Mode::Remade {
            let new = whole.as_ref().map(|whole| (whole.size(), detail.of(whole)));
            let old = fs::read(&path).ok().map(|file| stored(&file));
            if old.as_ref() != Some(&new) {
                self.commit(&path, &new.as_ref().map_or(Vec::new(), |(size, picture)| file(*size, picture)));
                self.show_change(name, old.flatten(), new);
            }
        }
        // A lattice saves bytes, so a living judge is compared with all pixels.
        let detail = if detail == Detail::Lattice { Detail::Whole } else { detail };
        whole.map(|whole| Reference { size: whole.size(), picture: detail.of(&whole), detail, judge: self })
    }

    /// Returns a reference that no version of the judge changes, and that is not committed.
    #[must_use]
    pub fn shows(self, picture: Picture) -> Reference {
        Reference { size: picture.size(), picture, detail: Detail::Whole, judge: self }
    }

    /// Returns the file that `make` makes. Its name has its ending.
    pub fn file(self, name: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let is_text = name.ends_with(".txt");
        let path = self.path(name, if is_text { "" } else { "gz" });
        let unpack = |file: Vec<u8>| {
            let mut unpacked = Vec::new();
            GzDecoder::new(file.as_slice()).read_to_end(&mut unpacked).unwrap();
            unpacked
        };
        if *MODE == Mode::Committed {
            let file = self.committed(&path);
            return if is_text { file } else { unpack(file) };
        }
        let made = make();
        if *MODE == Mode::Remade {
            let mut pack = GzEncoder::new(Vec::new(), Compression::best());
            pack.write_all(&made).unwrap();
            let file = if is_text { made.clone() } else { pack.finish().unwrap() };
            if fs::read(&path).ok().as_ref() != Some(&file) {
                self.commit(&path, &file);
                println!("{}/{name} has changed", self.set);
            }
        }
        made
    }

    /// Appends the judge's version to a message, if it is not that of the committed references.
    #[must_use]
    pub fn signed(self, why: String) -> String {
        if *MODE == Mode::Committed { why } else { format!("{why}, by {}", (self.version)()) }
    }

    fn folder(self) -> PathBuf {
        Path::new(REPOSITORY).join("tests/references").join(self.set)
    }

    fn path(self, name: &str, ending: &str) -> PathBuf {
        let file = format!("{}.{ending}", name.replace([' ', ',', '/', ':'], "-"));
        self.folder().join(file.trim_end_matches('.'))
    }

    fn committed(self, path: &Path) -> Vec<u8> {
        fs::read(path).unwrap_or_else(|error| {
            panic!("{}: {error}; EDGEZOOM_JUDGES=remake makes it (docs/maintaining.md)", path.display())
        })
    }

    fn commit(self, path: &Path, file: &[u8]) {
        static SIGNED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        fs::create_dir_all(self.folder()).unwrap();
        fs::write(path, file).unwrap();
        if SIGNED.lock().unwrap().insert(self.set) {
            let day = Command::new("date").args(["--utc", "+%F"]).output().unwrap().stdout;
            let made_by = format!("{}{}\n", String::from_utf8(day).unwrap(), (self.version)());
            fs::write(self.folder().join("made-by.txt"), made_by).unwrap();
        }
    }

    /// Writes the old picture, the new one and their difference side by side, below `target/judges/`.
    fn show_change(self, name: &str, old: Option<(Size, Picture)>, new: Option<(Size, Picture)>) {
        let Some((size, new)) = new else { return println!("{}/{name} is refused", self.set) };
        let (width, height) = (new.width, new.height);
        let old = old.map_or_else(|| Picture::new(0, 0, Layout::Rgb, |_, _| [0; 4]), |(_, old)| old);
        let at = |picture: &Picture, x, y| {
            if x < picture.width && y < picture.height { picture.colour(x, y) } else { [0; 4] }
        };
        let sheet = Picture::new(3 * width, height, Layout::Rgba, |x, y| {
            let (one, other) = (at(&old, x % width, y), at(&new, x % width, y));
            match x / width {
                0 => one,
                1 => other,
                _ => std::array::from_fn(|channel| match channel {
                    3 => 255,
                    _ => one[channel].abs_diff(other[channel]).saturating_mul(8),
                }),
            }
        });
        let path = Path::new(REPOSITORY).join("target/judges").join(self.set).join(format!("{name}.png"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, files::png(&sheet, |_| {})).unwrap();
        println!("{}/{name} has changed ({}×{}): see target/judges/", self.set, size.width, size.height);
    }
}

impl Reference {
    /// Compares our picture with the judge's.
    ///
    /// # Errors
    /// The sizes differ, or the pixels differ by more than the tolerance.
    pub fn compare(&self, ours: &Picture, tolerance: Tolerance) -> Result<(), String> {
        let like = |ours| compare(&ours, &self.picture, tolerance).map_err(|why| self.judge.signed(why));
        like(self.of(ours)?)
    }

    /// Returns the pixels of our picture that the reference has.
    ///
    /// # Errors
    /// The sizes differ.
    pub fn of(&self, ours: &Picture) -> Result<Picture, String> {
        if ours.size() != self.size {
            let why = format!("the size is {:?} and should be {:?}", ours.size(), self.size);
            return Err(self.judge.signed(why));
        }
        Ok(self.detail.of(ours))
    }
}

impl Detail {
    fn of(self, picture: &Picture) -> Picture {
        let (width, height) = (picture.width, picture.height);
        match self {
            Self::Whole => picture.clone(),
            // 3 y takes all values modulo 8.
            Self::Lattice => Picture::new(width.div_ceil(8), height, picture.layout, |x, y| {
                picture.colour((8 * x + 3 * y % 8).min(width - 1), y)
            }),
            Self::Means => Picture::new(width.div_ceil(4), height.div_ceil(4), picture.layout, |x, y| {
                let side = |at: u32, end: u32| 4 * at..(4 * at + 4).min(end);
                let (mut sums, mut count) = ([0; 4], 0);
                for y in side(y, height) {
                    for x in side(x, width) {
                        let colour = picture.colour(x, y);
                        sums = std::array::from_fn(|channel| sums[channel] + u32::from(colour[channel]));
                        count += 1;
                    }
                }
                sums.map(|sum| ((sum + count / 2) / count) as u8)
            }),
        }
    }
}

/// Returns the names and versions of Debian's packages.
#[must_use]
pub fn packages(names: &[&str]) -> String {
    let mut query = Command::new("dpkg-query");
    let found = query.args(["--show", "--showformat=${Package} ${Version}\n"]).args(names).output();
    found.map_or_else(
        |error| error.to_string(),
        |found| String::from_utf8_lossy(&found.stdout).trim_end().to_owned(),
    )
}

/// Encodes a reference: a lossless WebP, and behind it the size of the whole picture.
fn file(size: Size, picture: &Picture) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.png"), files::png(picture, |_| {})).unwrap();
    let encoder = ["-quiet", "-lossless", "-exact", "-z", "9", "in.png", "-o", "out.webp"];
    assert!(Command::new("cwebp").args(encoder).current_dir(folder.path()).status().unwrap().success());
    let webp = fs::read(folder.path().join("out.webp")).unwrap();
    [webp.as_slice(), format!("{} {}", size.width, size.height).as_bytes()].concat()
}

/// Decodes a reference. Returns `None` for an empty file: the judge refuses the source.
fn stored(file: &[u8]) -> Option<(Size, Picture)> {
    let length = u32::from_le_bytes(*file.get(4..)?.first_chunk()?) as usize + 8;
    let (webp, size) = file.split_at(length);
    let (width, height) = std::str::from_utf8(size).unwrap().split_once(' ').unwrap();
    let size = Size { width: width.parse().unwrap(), height: height.parse().unwrap() };
    // Another decoder than ours.
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(webp)).unwrap();
    let layout = if decoder.has_alpha() { Layout::Rgba } else { Layout::Rgb };
    let ((width, height), mut pixels) =
        (decoder.dimensions(), vec![0; decoder.output_buffer_size().unwrap()]);
    decoder.read_image(&mut pixels).unwrap();
    Some((size, Picture { width, height, layout, pixels }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_has_each_row_and_each_column_and_finds_a_row_off_by_one() {
        for size in [(1, 1), (7, 5), (64, 48), (301, 203)] {
            let columns = Picture::new(size.0, size.1, Layout::Rgb, |x, y| {
                [(x % 256) as u8, (x / 256) as u8, y as u8, 255]
            });
            let mut seen = vec![size.1 < 8; size.0 as usize];
            for pixel in Detail::Lattice.of(&columns).pixels.chunks(3) {
                seen[usize::from(pixel[0]) + 256 * usize::from(pixel[1])] = true;
            }
            assert!(seen.iter().all(|&seen| seen), "{size:?}");
        }
        let photo = Picture::photo(160, 120, Layout::Rgb);
        let moved = Picture::new(160, 120, Layout::Rgb, |x, y| photo.colour(x, y.saturating_sub(1)));
        for detail in [Detail::Whole, Detail::Lattice, Detail::Means] {
            compare(&detail.of(&moved), &detail.of(&photo), Tolerance::lossy(0.4, 6, 1.1)).unwrap_err();
        }
    }

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
            let (size, picture) = (Size { width: 301, height: 9 }, Picture::photo(31, 9, layout));
            let (of, read) = stored(&file(size, &picture)).unwrap();
            assert_eq!(of, size);
            compare(&read, &picture, Tolerance::EXACT).unwrap();
        }
        assert!(stored(&[]).is_none());
    }
}
