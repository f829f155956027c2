//! Damaged and unusual files, compared with Chromium's rendering in an `<img>`. `make.py` makes the files and lists
//! those in which part of the picture is missing.

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

/// Accepted difference from Chromium's rendering.
const TOLERANCE: Tolerance = Tolerance::lossy(0.4, 6, 1.1);

struct Sample {
    name: String,
    bytes: Vec<u8>,
    /// True if part of the picture is missing.
    is_damaged: bool,
    /// Chromium's rendering, with opacity. `None` if Chromium refuses the file.
    shown: Option<Picture>,
}

#[test]
fn damaged_and_unusual_files_look_as_in_chromium() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for sample in SAMPLES.iter() {
        let Some(shown) = sample.shown.as_ref().filter(|shown| has_pixels(shown)) else { continue };
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
fn check(sample: &Sample, shown: &Picture) -> Result<(), String> {
    let side = shown.width.max(shown.height);
    let (ours, damage) = read(&sample.bytes, side, false).map_err(|error| error.to_string())?;
    if (ours.width, ours.height) != (shown.width, shown.height) {
        return Err(format!("the size is {:?} and should be {:?}", ours.size(), shown.size()));
    }
    if damage.is_some() != sample.is_damaged {
        return Err(format!("its damage is {damage:?}"));
    }
    if read(&sample.bytes, side, true).is_ok() == sample.is_damaged {
        return Err("a strict reader must refuse exactly the damaged files".to_owned());
    }
    // Chromium does not show the last rows of a JPEG without an end marker.
    let is_partial = sample.is_damaged || sample.name.ends_with("without-end.jpg");
    let (ours, shown) = if is_partial { complete_rows(&ours, shown) } else { (ours, shown.clone()) };
    compare(&ours, &shown, TOLERANCE).map_err(|why| format!("{why}, {damage:?}"))
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

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let photo = files::png(&Picture::photo(160, 120, Layout::Rgb), |_| {});
    fs::write(folder.path().join("photo.png"), photo).unwrap();
    let made = Command::new("python3").args(["-c", include_str!("make.py")]).current_dir(&folder).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let table = String::from_utf8(made.stdout).unwrap();
    let mut samples: Vec<Sample> = table
        .lines()
        .map(|line| {
            let (name, state) = line.split_once(' ').unwrap();
            let bytes = fs::read(folder.path().join(name)).unwrap();
            Sample { name: name.to_owned(), bytes, is_damaged: state == "missing", shown: None }
        })
        .collect();
    let shown = by_chromium(&samples, folder.path());
    samples.iter_mut().zip(shown).for_each(|(sample, shown)| sample.shown = shown);
    samples
});

/// Renders each file in an `<img>` in Chromium.
fn by_chromium(samples: &[Sample], folder: &Path) -> Vec<Option<Picture>> {
    let address = |sample: &Sample| {
        // Chromium ignores the media type of all formats except SVG.
        let media_type = if sample.name.ends_with(".svg") { "image/svg+xml" } else { "image/png" };
        (sample.name.clone(), format!("data:{media_type};base64,{}", STANDARD.encode(&sample.bytes)))
    };
    let addresses: Vec<_> = samples.iter().map(address).collect();
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
    assert!(shown.iter().map(|(name, _)| name).eq(samples.iter().map(|sample| &sample.name)));
    shown.into_iter().map(|(_, png)| png.and_then(|png| picture(&png))).collect()
}

/// Decodes a data URL. Returns `None` if it has no PNG, as from an empty canvas.
fn picture(address: &str) -> Option<Picture> {
    let encoded = address.strip_prefix("data:image/png;base64,")?;
    Some(decode(&STANDARD.decode(encoded).unwrap()).unwrap())
}
