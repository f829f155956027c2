//! Damaged and unusual files, compared with Chromium's rendering in an `<img>`. `make.py` makes the files and lists
//! those in which part of the picture is missing.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use edgezoom_codecs::{Damage, DecodeOptions, DrawingOptions, Layout, SourceError, open_with};

use crate::chromium;
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, BOUNDS, decode};
use edgezoom_test_support::likeness::{Tolerance, colours, compare};
use edgezoom_test_support::reference::{Detail, Judge, Reference, packages};

const CHROMIUM: Judge = Judge { set: "damaged", version: chromium::version };
/// The encoders of the intact files.
const ENCODERS: Judge = Judge {
    set: "damaged/encoded",
    version: || packages(&["imagemagick", "libavif-bin", "libjpeg-turbo-progs", "webp"]),
};

/// Accepted difference from Chromium's rendering.
const TOLERANCE: Tolerance = Tolerance::lossy(0.4, 6, 1.1);

/// Files that Chromium shows wrongly (`docs/limits.md`), with a file that shows the same picture.
const OTHERWISE: [(&str, &str); 1] = [("no-offset.bmp", "24.bmp")];

struct Sample {
    name: String,
    bytes: Vec<u8>,
    /// True if part of the picture is missing.
    is_damaged: bool,
    /// Chromium's rendering, with opacity. `None` if Chromium refuses the file.
    shown: Option<Reference>,
}

#[test]
fn damaged_and_unusual_files_look_as_in_chromium() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let as_which = |sample: &Sample| OTHERWISE.iter().find(|(name, _)| *name == sample.name);
    for sample in SAMPLES.iter() {
        let model =
            as_which(sample).and_then(|(_, as_which)| SAMPLES.iter().find(|one| one.name == *as_which));
        let Some(shown) = model.unwrap_or(sample).shown.as_ref().filter(|shown| has_pixels(&shown.picture))
        else {
            continue;
        };
        compared += 1;
        if let Err(why) = check(sample, shown) {
            wrong.push(format!("{}: {why}", sample.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 160, "Chromium shows {compared} of {} files", SAMPLES.len());
}

#[test]
fn files_that_chromium_refuses_end_in_a_picture_or_a_corrupt_source() {
    for Sample { name, bytes, .. } in SAMPLES.iter().filter(|sample| sample.shown.is_none()) {
        match read(bytes, 100, false) {
            Ok(_) | Err(SourceError::Corrupt { .. }) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// Checks that our picture looks as in Chromium, and that damage is reported if and only if there is some.
fn check(sample: &Sample, shown: &Reference) -> Result<(), String> {
    let side = shown.size.width.max(shown.size.height);
    let (ours, damage) = read(&sample.bytes, side, false).map_err(|error| error.to_string())?;
    let ours = shown.of(&ours)?;
    if damage.is_some() != sample.is_damaged {
        return Err(format!("its damage is {damage:?}"));
    }
    if read(&sample.bytes, side, true).is_ok() == sample.is_damaged {
        return Err("a strict reader must refuse exactly the damaged files".to_owned());
    }
    // Chromium does not show the last rows of a JPEG without an end marker.
    let is_partial = sample.is_damaged || sample.name.ends_with("without-end.jpg");
    let shown = &shown.picture;
    let (ours, shown) = if is_partial { complete_rows(&ours, shown) } else { (ours, shown.clone()) };
    compare(&ours, &shown, TOLERANCE).map_err(|why| CHROMIUM.signed(format!("{why}, {damage:?}")))
}

/// Reads a file. Also returns the damage, if part of the picture is missing.
fn read(bytes: &[u8], svg_side: u32, strict: bool) -> Result<(Picture, Option<Damage>), SourceError> {
    let drawing = DrawingOptions { svg_side, ..DrawingOptions::default() };
    let options = DecodeOptions { drawing, strict, ..DecodeOptions::default() };
    let mut source = open_with(files::file(bytes), BOUNDS, &options)?;
    let picture = Picture::read(&mut *source)?;
    Ok((picture, source.damage()))
}

/// Returns the rows of both pictures that are complete in Chromium's.
fn complete_rows(ours: &Picture, theirs: &Picture) -> (Picture, Picture) {
    let opacity: Vec<u8> = colours(theirs).map(|[.., alpha]| alpha).collect();
    let shown: Vec<usize> = (0..theirs.height as usize)
        .filter(|y| !opacity[y * theirs.width as usize..][..theirs.width as usize].contains(&0))
        .collect();
    let rows = |picture: &Picture| {
        let row = |y: &usize| &picture.pixels[y * picture.row_bytes()..][..picture.row_bytes()];
        let pixels = shown.iter().flat_map(row).copied().collect();
        Picture { height: shown.len() as u32, pixels, ..*picture }
    };
    (rows(ours), rows(theirs))
}

fn has_pixels(picture: &Picture) -> bool {
    colours(picture).any(|[_, _, _, alpha]| alpha > 0)
}

/// The intact files from which `make.py` makes others, with the commands that encode `photo.png`.
const ENCODED: [(&str, &str); 14] = [
    ("420-encoded.jpg", "convert photo.png ppm:- | cjpeg -quality 88"),
    ("444-encoded.jpg", "convert photo.png ppm:- | cjpeg -quality 88 -sample 1x1"),
    ("progressive-encoded.jpg", "convert photo.png ppm:- | cjpeg -quality 88 -progressive"),
    ("restart-encoded.jpg", "convert photo.png ppm:- | cjpeg -quality 88 -restart 1"),
    ("grey-encoded.jpg", "convert photo.png ppm:- | cjpeg -quality 88 -grayscale"),
    ("arithmetic-encoded.jpg", "convert photo.png ppm:- | cjpeg -quality 88 -arithmetic"),
    ("cmyk-encoded.jpg", "convert photo.png -colorspace CMYK jpeg:-"),
    ("rows.zlib", PACK),
    (
        "interlaced-encoded.png",
        "convert photo.png -interlace PNG -define png:exclude-chunks=gAMA,cHRM PNG24:-",
    ),
    ("encoded-lossy.webp", "cwebp -quiet photo.png -o -"),
    ("encoded-lossless.webp", "cwebp -quiet -lossless photo.png -o -"),
    (
        "clear-encoded.webp",
        "convert photo.png -alpha set -channel A -fx i/w png:- | cwebp -quiet -alpha_q 20 -o - -- -",
    ),
    (
        "clear-lossless-encoded.webp",
        "convert photo.png -alpha set -channel A -fx i/w png:- | cwebp -quiet -lossless -o - -- -",
    ),
    ("encoded.avif", "avifenc -s 8 photo.png out.avif >&2 && cat out.avif"),
];

/// Compresses the rows of a PNG, without filters.
const PACK: &str = "python3 -c 'import sys, zlib; rows = open(\"photo.rgb\", \"rb\").read(); sys.stdout.buffer.write(zlib.compress(b\"\".join(b\"\\0\" + rows[at:at + 480] for at in range(0, len(rows), 480))))'";

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).current_dir(&folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let photo = Picture::photo(160, 120, Layout::Rgb);
    write("photo.rgb", &photo.pixels);
    write("photo.png", &files::png(&photo, |_| {}));
    for (name, command) in ENCODED {
        write(name, &ENCODERS.file(name, || run("sh", &["-e", "-c", command])));
    }
    let table = String::from_utf8(run("python3", &["-c", include_str!("make.py")])).unwrap();
    let made: Vec<(String, bool, Vec<u8>)> = table
        .lines()
        .map(|line| {
            let (name, state) = line.split_once(' ').unwrap();
            (name.to_owned(), state == "missing", fs::read(folder.path().join(name)).unwrap())
        })
        .collect();
    let living = LazyLock::new(|| by_chromium(&made, folder.path()));
    let show = |name: &str| CHROMIUM.picture(name, Detail::Lattice, || living[name].clone());
    let sample = |(name, is_damaged, bytes): &(String, bool, Vec<u8>)| Sample {
        name: name.clone(),
        bytes: bytes.clone(),
        is_damaged: *is_damaged,
        shown: show(name),
    };
    made.iter().map(sample).collect()
});

/// Renders each file in an `<img>` in Chromium.
fn by_chromium(files: &[(String, bool, Vec<u8>)], folder: &Path) -> HashMap<String, Option<Picture>> {
    let address = |(name, _, bytes): &(String, bool, Vec<u8>)| {
        // Chromium ignores the media type of all formats except SVG.
        let media_type = if name.ends_with(".svg") { "image/svg+xml" } else { "image/png" };
        (name.clone(), format!("data:{media_type};base64,{}", STANDARD.encode(bytes)))
    };
    let addresses: Vec<_> = files.iter().map(address).collect();
    let page = include_str!("page.html").replace("FILES", &serde_json::to_string(&addresses).unwrap());
    let path = folder.join("page.html");
    fs::write(&path, page).unwrap();
    let output = Command::new(chromium::executable())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"])
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let document = String::from_utf8_lossy(&output.stdout);
    let (_, shown) = document.split_once("<pre id=\"shown\">").unwrap();
    let (shown, _) = shown.split_once("</pre>").unwrap();
    let shown: Vec<(String, Option<String>)> = serde_json::from_str(shown).unwrap();
    shown.into_iter().map(|(name, png)| (name, png.and_then(|png| picture(&png)))).collect()
}

/// Decodes a data URL. Returns `None` if it has no PNG, as from an empty canvas.
fn picture(address: &str) -> Option<Picture> {
    let encoded = address.strip_prefix("data:image/png;base64,")?;
    Some(decode(&STANDARD.decode(encoded).unwrap()).unwrap())
}
