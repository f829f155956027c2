//! Compares the files of `tiler convert` with those of libvips' `dzsave` for the same options: names, descriptors, and
//! pixels.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use edgezoom_codecs::Layout;
use edgezoom_content::{Size, TileFormat};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg};
use edgezoom_test_support::likeness::Tolerance;
use edgezoom_test_support::pyramid::decode;
use edgezoom_test_support::reference::{Detail, Judge, packages};
use serde_json::Value;
use tempfile::TempDir;

const VIPS: Judge = Judge { set: "dzsave", version: || packages(&["libvips-tools"]) };
const LAYOUTS: [&str; 5] = ["dz", "zoomify", "google", "iiif", "iiif3"];

/// A photograph with white to its right, and nearly white below.
fn picture(layout: Layout) -> Picture {
    let photo = Picture::photo(170, 130, layout);
    Picture::new(301, 203, layout, |x, y| {
        let mut pixel = [if y < 130 { 255 } else { 252 }; 4];
        if x < photo.width && y < photo.height {
            pixel[..layout.channels()].copy_from_slice(photo.at(x, y));
        }
        pixel
    })
}

fn folder_with(picture: &Picture) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.png"), files::png(picture, |_| {})).unwrap();
    folder
}

fn tiler(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.current_dir(folder).arg("convert").args(args);
    command
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", error(&output));
}

fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns all files below a folder by their paths.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

type Tree = BTreeMap<String, Vec<u8>>;

/// Converts `in.png` to `ours/out`, and returns the files but those with second names, which libvips does not write.
fn ours(folder: &Path, options: &[&str]) -> Tree {
    let _ = fs::remove_dir_all(folder.join("ours"));
    fs::create_dir(folder.join("ours")).unwrap();
    succeed(tiler(folder, &["in.png", "-o", "ours/out"]).args(options));
    let mut files = tree(&folder.join("ours"));
    files.retain(|name, _| !is_second_name(name));
    files
}

/// Converts `in.png` with libvips.
fn theirs(folder: &Path, options: &[&str]) -> Tree {
    let _ = fs::remove_dir_all(folder.join("vips"));
    fs::create_dir(folder.join("vips")).unwrap();
    let mut vips = Command::new("vips");
    succeed(vips.current_dir(folder).args(["dzsave", "in.png", "vips/out"]).args(options));
    // libvips 8.14 names the whole picture by its size, 8.18 as clients do.
    let Size { width, height } = picture(Layout::Grey).size();
    let whole = format!("/0,0,{width},{height}/");
    let files = tree(&folder.join("vips")).into_iter();
    let mut files: Tree = files.map(|(name, file)| (name.replace(&whole, "/full/"), file)).collect();
    if !options.contains(&"--properties") {
        files.retain(|name, _| !name.ends_with("vips-properties.xml"));
    }
    files
}

/// Returns true for the name by which clients of IIIF ask for a region that is not scaled.
fn is_second_name(name: &str) -> bool {
    name.contains("/full/0/") || name.contains("/max/0/")
}

/// Checks that both programs write the same files with the same pixels.
fn assert_alike(folder: &Path, options: &[&str]) {
    assert_alike_but(folder, options, "");
}

fn assert_alike_but(folder: &Path, options: &[&str], left_out: &str) {
    let is_jpeg = options.iter().any(|option| option.contains(".jp"));
    let tolerance = if is_jpeg { Tolerance::lossy(6.0, 60, 12.0) } else { Tolerance::up_to(2) };
    assert_alike_within(folder, options, left_out, tolerance);
}

fn assert_alike_within(folder: &Path, options: &[&str], left_out: &str, tolerance: Tolerance) {
    let mut own = ours(folder, options);
    own.remove(left_out);
    let living = LazyLock::new(|| {
        let mut files = theirs(folder, options);
        files.remove(left_out);
        files
    });
    let is_old = || Command::new("vips").arg("--version").output().unwrap().stdout.starts_with(b"vips-8.14");
    let name = options.join(" ").replace("--", "");
    let listed = VIPS.file(&format!("{name}.txt"), || list(&living, is_old()).into_bytes());
    let (ours, theirs) = (list(&own, false), String::from_utf8(listed).unwrap());
    assert!(ours == theirs, "{}", VIPS.signed(format!("{options:?}:\n{ours}\n{theirs}")));
    let theirs = VIPS.picture(&name, Detail::Lattice, || Some(sheet(&living))).unwrap();
    theirs.compare(&sheet(&own), tolerance).unwrap_or_else(|why| panic!("{options:?}: {why}"));
}

/// Returns the format of a tile, or `None` for a descriptor.
fn format_of(name: &str) -> Option<TileFormat> {
    match name.rsplit_once('.')?.1 {
        "png" => Some(TileFormat::Png),
        "webp" => Some(TileFormat::Webp),
        "jpg" | "jpeg" => Some(TileFormat::Jpg),
        _ => None,
    }
}

/// Returns the name of each file, with the size of a tile or the facts of a descriptor.
fn list(files: &Tree, is_of_libvips_8_14: bool) -> String {
    let says = |(name, file): (&String, &Vec<u8>)| match format_of(name) {
        Some(format) => {
            let tile = decode(format, file);
            format!("{name} {}x{}\n", tile.width, tile.height)
        }
        None => format!("{name} {}\n", facts(name, file, is_of_libvips_8_14).join(" ")),
    };
    files.iter().map(says).collect()
}

/// Returns all tiles below each other.
fn sheet(files: &Tree) -> Picture {
    let tiles = files.iter().filter_map(|(name, file)| Some(decode(format_of(name)?, file)));
    let tiles: Vec<Picture> = tiles.collect();
    let width = tiles.iter().map(|tile| tile.width).max().unwrap();
    let mut pixels = Vec::new();
    for tile in &tiles {
        for y in 0..tile.height {
            pixels.extend((0..tile.width).flat_map(|x| rgba(tile, x, y)));
            pixels.resize(pixels.len() + 4 * (width - tile.width) as usize, 0);
        }
    }
    Picture { width, height: tiles.iter().map(|tile| tile.height).sum(), layout: Layout::Rgba, pixels }
}

fn rgba(picture: &Picture, x: u32, y: u32) -> [u8; 4] {
    match *picture.at(x, y) {
        [grey] => [grey, grey, grey, 255],
        [red, green, blue] => [red, green, blue, 255],
        [red, green, blue, alpha] => [red, green, blue, alpha],
        _ => panic!("a pixel of no layout"),
    }
}

/// Returns what a descriptor says, in a form that does not depend on white space, the order of members and the program.
fn facts(name: &str, descriptor: &[u8], is_of_libvips_8_14: bool) -> Vec<String> {
    let text = std::str::from_utf8(descriptor).unwrap();
    if name.ends_with(".json") {
        let mut info: Value = serde_json::from_str(text).unwrap();
        let factors = info["tiles"][0]["scaleFactors"].as_array_mut().unwrap();
        if is_of_libvips_8_14 {
            factors.push((1_u64 << factors.len()).into()); // it leaves out the last
        }
        // The member is optional where the format is JPEG.
        info.as_object_mut().unwrap().remove("extraFormats");
        return vec![info.to_string()];
    }
    if name.ends_with("vips-properties.xml") {
        let squeezed: String = text.split_whitespace().collect();
        return ["width", "height"]
            .map(|name| {
                let (_, rest) =
                    squeezed.split_once(&format!("<name>{name}</name><valuetype=\"gint\">")).unwrap();
                format!("{name} {}", rest.split('<').next().unwrap())
            })
            .to_vec();
    }
    let mut facts: Vec<String> = text
        .split(|character: char| character.is_whitespace() || "<>/".contains(character))
        .filter(|word| word.contains('=') && !word.contains("xmlns") && !word.contains("http"))
        .map(str::to_owned)
        .collect();
    facts.sort();
    facts
}

#[test]
fn every_layout_has_the_files_of_libvips_at_every_depth() {
    let folder = folder_with(&picture(Layout::Rgb));
    for layout in LAYOUTS {
        let common = ["--layout", layout, "--tile-size", "64", "--overlap", "0", "--suffix"];
        assert_alike(folder.path(), &[&common[..], &[".png"]].concat());
        let other_depth = if layout == "dz" { "onetile" } else { "onepixel" };
        for depth in [other_depth, "one"] {
            assert_alike(folder.path(), &[&common[..], &[".jpg[Q=90]", "--depth", depth]].concat());
        }
    }
}

#[test]
fn a_layout_has_the_tile_size_of_libvips() {
    let folder = folder_with(&picture(Layout::Grey));
    for layout in &LAYOUTS[1..] {
        assert_alike(folder.path(), &["--layout", layout, "--suffix", ".jpg"]);
    }
    let transparent = folder_with(&Picture::photo(170, 130, Layout::Rgba));
    assert_alike(transparent.path(), &["--layout", "google", "--suffix", ".png"]);
    assert_alike(
        folder.path(),
        &["--tile-size", "254", "--overlap", "1", "--suffix", ".jpeg[Q=95]", "--properties"],
    );
}

#[test]
fn levels_of_a_narrow_picture_share_a_name_in_iiif_2() {
    let folder = folder_with(&Picture::photo(3, 300, Layout::Rgb));
    let options = ["--layout", "iiif", "--depth", "onepixel", "--tile-size", "64", "--suffix", ".png"];
    let ours = ours(folder.path(), &options);
    let names = |files: &Tree| -> String {
        let names: BTreeSet<_> = files.keys().map(|name| name.replace("/0,0,3,300/", "/full/")).collect();
        names.into_iter().map(|name| name + "\n").collect()
    };
    let theirs = VIPS.file("narrow.txt", || names(&theirs(folder.path(), &options)).into_bytes());
    assert_eq!(names(&ours), String::from_utf8(theirs).unwrap(), "{}", VIPS.signed(String::new()));
    assert_eq!(decode(TileFormat::Png, &ours["out/full/1,/0/default.png"]).height, 38);
    succeed(tiler(folder.path(), &["in.png", "-o", "out.zip"]).args(options));
    let archive = zip::ZipArchive::new(File::open(folder.path().join("out.zip")).unwrap()).unwrap();
    let names = archive.file_names().filter(|name| !is_second_name(name.as_deref().unwrap()));
    assert_eq!(names.count(), ours.len());
}

#[test]
fn a_picture_is_turned_as_libvips_turns_it() {
    let folder = folder_with(&picture(Layout::Rgb));
    for angle in ["d90", "d180", "d270"] {
        assert_alike(
            folder.path(),
            &["--angle", angle, "--tile-size", "64", "--overlap", "1", "--suffix", ".png"],
        );
    }
    assert_alike(
        folder.path(),
        &["--angle", "d90", "--layout", "google", "--tile-size", "64", "--suffix", ".png"],
    );
}

#[test]
fn labels_are_chosen_as_libvips_chooses_them() {
    // Patches of whole labels, of which some pixels are others, at an odd size.
    let labels = Picture::new(301, 203, Layout::Grey, |x, y| {
        let hash = (x / 3).wrapping_mul(31).wrapping_add((y / 2).wrapping_mul(57)) % 5;
        [if (x * 7 + y * 3) % 11 == 0 { 9 } else { hash as u8 }; 4]
    });
    let folder = folder_with(&labels);
    for shrink in ["mode", "nearest", "median", "max", "min"] {
        let options = ["--region-shrink", shrink, "--tile-size", "64", "--overlap", "1", "--suffix", ".png"];
        assert_alike_within(folder.path(), &options, "", Tolerance::EXACT);
    }
}

#[test]
fn webp_tiles_show_what_png_shows() {
    for layout in [Layout::Grey, Layout::Rgb, Layout::Rgba] {
        let folder = folder_with(&picture(layout));
        let options = ["--tile-size", "64", "--overlap", "1", "--suffix"];
        let with = |suffix| ours(folder.path(), &[&options[..], &[suffix]].concat());
        let (exact, [high, low]) = (with(".png"), [".webp[Q=95]", ".webp[Q=20]"].map(with));
        let bytes = |files: &Tree| files.values().map(Vec::len).sum::<usize>();
        assert!(bytes(&low) < bytes(&high) && exact.len() == high.len() && exact.len() == low.len());
        assert!(high["out.dzi"].windows(13).any(|text| text == b"Format=\"webp\""));
        for (name, file) in exact.iter().filter(|(name, _)| name.ends_with("png")) {
            let webp = decode(TileFormat::Webp, &high[&name.replace(".png", ".webp")]);
            let (exact, size) = (decode(TileFormat::Png, file), webp.size());
            assert_eq!(exact.size(), size, "{name}");
            let far = |x, y| {
                rgba(&exact, x, y).iter().zip(rgba(&webp, x, y)).any(|(one, other)| one.abs_diff(other) > 40)
            };
            let places = (0..size.height).flat_map(|y| (0..size.width).map(move |x| (x, y)));
            let count = places.filter(|&(x, y)| rgba(&exact, x, y)[3] > 0 && far(x, y)).count();
            assert!(count as u64 * 50 <= size.pixels(), "{name}: {count} of {size:?}");
        }
    }
}

#[test]
fn blank_tiles_are_those_of_libvips() {
    let folder = folder_with(&picture(Layout::Rgb));
    let common = ["--tile-size", "32", "--suffix", ".png", "--skip-blanks"];
    for (layout, within) in
        [("dz", "0"), ("dz", "3"), ("zoomify", "3"), ("google", "-1"), ("google", "3"), ("iiif", "3")]
    {
        let options = [&["--layout", layout, "--overlap", "0"], &common[..], &[within]].concat();
        assert_alike(folder.path(), &options);
    }
    let all = ours(folder.path(), &["--tile-size", "32", "--suffix", ".png"]).len();
    let some = ours(folder.path(), &[&common[..], &["3"]].concat()).len();
    assert!(some < all, "{some} of {all}");
}

#[test]
fn tiles_at_the_edge_of_google_have_the_background() {
    let folder = folder_with(&picture(Layout::Rgb));
    let options =
        ["--layout", "google", "--tile-size", "64", "--suffix", ".png", "--background", "255 128 0"];
    // libvips writes it with 16 bits, all of them too bright.
    assert_alike_but(folder.path(), &options, "out/blank.png");
    let ours = ours(folder.path(), &options);
    for name in ["out/blank.png", "out/3/3/4.png"] {
        assert_eq!(rgba(&decode(TileFormat::Png, &ours[name]), 63, 63), [255, 128, 0, 255]);
    }
}

#[test]
fn a_centred_picture_has_the_tiles_of_libvips() {
    let folder = folder_with(&picture(Layout::Rgb));
    for side in ["64", "99", "512"] {
        let options = ["--layout", "google", "--centre", "--tile-size", side, "--suffix", ".png"];
        assert_alike(folder.path(), &options);
    }
}

#[test]
fn transparent_pixels_show_the_background_in_jpeg() {
    let folder = folder_with(&Picture::new(60, 40, Layout::Rgba, |_, _| [9, 9, 9, 0]));
    succeed(&mut tiler(folder.path(), &["in.png", "--suffix", ".jpg", "--background", "0,0,255"]));
    let tile = decode(TileFormat::Jpg, &tree(folder.path())["in_files/6/0_0.jpg"]);
    let [red, green, blue, _] = rgba(&tile, 30, 20);
    assert!(red < 4 && green < 4 && blue > 250, "{red} {green} {blue}");
}

#[test]
fn a_zip_has_the_files_of_the_folder_in_every_layout() {
    let folder = folder_with(&picture(Layout::Rgb));
    for layout in LAYOUTS {
        let options = ["--layout", layout, "--tile-size", "64", "--force", "--suffix", ".png"];
        succeed(tiler(folder.path(), &["in.png", "-o", "out"]).args(options));
        succeed(tiler(folder.path(), &["in.png", "-o", "out.zip"]).args(options));
        let mut archive = zip::ZipArchive::new(File::open(folder.path().join("out.zip")).unwrap()).unwrap();
        archive.extract(folder.path().join("zip")).unwrap();
        let mut files = tree(folder.path());
        files.retain(|name, _| name.starts_with("out") && name != "out.zip");
        let unpacked = tree(&folder.path().join("zip"));
        let unpacked: BTreeMap<_, _> = unpacked
            .into_iter()
            .map(|(name, bytes)| (if layout == "dz" { name["out/".len()..].to_owned() } else { name }, bytes))
            .collect();
        assert!(files == unpacked, "{layout}: {:?} {:?}", files.keys(), unpacked.keys());
        fs::remove_dir_all(folder.path().join("zip")).unwrap();
        for output in ["out.dzi", "out.zip"] {
            let _ = fs::remove_file(folder.path().join(output));
        }
        for output in ["out", "out_files"] {
            let _ = fs::remove_dir_all(folder.path().join(output));
        }
    }
}

#[test]
fn a_failure_leaves_nothing_in_any_layout() {
    let whole = files::jpeg(&Picture::photo(1200, 900, Layout::Rgb), Jpeg::default());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), &whole[..whole.len() / 2]).unwrap();
    for layout in LAYOUTS {
        for output in ["out", "out.zip"] {
            let options = ["a", "-o", output, "--strict", "--layout", layout];
            let failed = tiler(folder.path(), &options).output().unwrap();
            assert_eq!((failed.status.code(), error(&failed).lines().count()), (Some(1), 1));
            assert_eq!(tree(folder.path()).len(), 1, "{layout}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn force_replaces_a_pyramid_but_no_other_folder() {
    let folder = folder_with(&picture(Layout::Rgb));
    let run = |options: &[&str]| {
        let output = tiler(folder.path(), &["in.png", "-o", "out", "--layout", "iiif3"])
            .args(options)
            .output()
            .unwrap();
        error(&output)
    };
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(folder.path().join("out/mine"), "").unwrap();
    assert_eq!(run(&["--force"]), "tiler: choose another --output: ./out is a folder without info.json\n");
    assert!(run(&[]).contains("./out exists already"));
    assert!(folder.path().join("out/mine").exists());
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    assert_eq!(run(&[]), "");
    assert_eq!(run(&["--force"]), "");
    assert!(folder.path().join("out/info.json").exists());
}

#[test]
fn each_source_of_a_list_is_converted_by_itself() {
    let folder = folder_with(&picture(Layout::Rgb));
    fs::copy(folder.path().join("in.png"), folder.path().join("b.png")).unwrap();
    fs::write(folder.path().join("broken.jpg"), "no picture").unwrap();
    fs::create_dir(folder.path().join("pyramids")).unwrap();
    let sources = ["in.png", "broken.jpg", "none.png", "-", "b.png", "./in.png", "-o", "pyramids"];
    let output = tiler(folder.path(), &sources).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = error(&output);
    let lines: Vec<&str> = said.lines().collect();
    for (line, beginning) in lines.iter().zip([
        "tiler: broken.jpg: The source has an unknown format.",
        "tiler: cannot read none.png: No such file",
        "tiler: standard input has no name: ",
        "tiler: ./in.png: in.png has the same name; ",
    ]) {
        assert!(line.starts_with(beginning), "{line}");
    }
    assert_eq!(lines.len(), 4, "{said}");
    let mut names: Vec<_> = fs::read_dir(folder.path().join("pyramids"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["b.dzi", "b_files", "in.dzi", "in_files"]);
    let nowhere = tiler(folder.path(), &["in.png", "b.png", "-o", "nowhere"]).output().unwrap();
    assert_eq!((nowhere.status.code(), error(&nowhere).lines().count()), (Some(1), 2));
}

#[test]
fn standard_input_is_a_source() {
    let folder = folder_with(&picture(Layout::Rgb));
    succeed(&mut tiler(folder.path(), &["in.png", "-o", "file"]));
    let mut cat =
        Command::new("cat").arg(folder.path().join("in.png")).stdout(Stdio::piped()).spawn().unwrap();
    succeed(tiler(folder.path(), &["-", "-o", "input"]).stdin(cat.stdout.take().unwrap()));
    cat.wait().unwrap();
    let empty = tiler(folder.path(), &["-", "-o", "empty"]).stdin(Stdio::null()).output().unwrap();
    assert!(error(&empty).starts_with("tiler: standard input: The file is empty."), "{}", error(&empty));
    let files = tree(folder.path());
    assert!(files["file_files/9/0_0.jpg"] == files["input_files/9/0_0.jpg"]);
}

#[test]
fn options_that_cannot_be_met_are_refused() {
    let folder = folder_with(&picture(Layout::Rgb));
    for (options, reason) in [
        (&["--layout", "google", "--overlap", "1"][..], "only tiles of the layout dz can overlap"),
        (&["--layout", "iiif", "--container", "szi"], "an SZI has the layout dz"),
        (&["--suffix", ".gif"], "tiles are .jpg, .jpeg, .png or .webp"),
        (&["--suffix", ".jpg", "--quality", "80"], "cannot be used with"),
        (&["--background", "red"], "a colour is one or three values from 0 to 255"),
    ] {
        let output = tiler(folder.path(), &["in.png"]).args(options).output().unwrap();
        assert!(!output.status.success() && error(&output).contains(reason), "{}", error(&output));
        assert_eq!(tree(folder.path()).len(), 1);
    }
}
