//! Peak memory of a renderer for large pictures, at the default options. The JPEG test compares 200 megapixels with a
//! tenth of that. The other pictures are just high enough that keeping all rows would exceed the limit, because more
//! rows would only take longer. The format that uses a temporary file is tested with a lower memory limit.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, Write};
use std::process::{Command, Stdio};

use edgezoom_codecs::Layout;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::RenderOptions;
use edgezoom_tiler::renderer::request::RenderRequest;

use edgezoom_test_support::files::{self, Jpeg};
use edgezoom_test_support::{Picture, large};

/// Maximum memory of a renderer, in MiB.
const MAX_MEMORY: u64 = 150;

/// Returns limits with a quarter of the default memory, so that a quarter of the pixels needs a temporary file.
fn small() -> Limits {
    Limits { renderer_memory: Limits::default().renderer_memory / 4, ..Limits::default() }
}

/// Renders a file in a renderer process and returns the peak resident memory of the process, in MiB.
fn peak(source: File) -> u64 {
    peak_within(source, &Limits::default())
}

fn peak_within(source: File, limits: &Limits) -> u64 {
    let request = RenderRequest::new(&RenderOptions::default(), limits, None).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tiler"))
        .arg("render")
        .arg(serde_json::to_string(&request).unwrap())
        .stdin(source)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (mut frames, mut peak) = (vec![0; 1 << 20], 0);
    // Read after each chunk of output, because the process must still exist. Its last output follows the last tile, so
    // this includes the memory for all tiles.
    while stdout.read(&mut frames).unwrap() > 0 {
        peak = high_water_mark(child.id()).unwrap_or(0).max(peak);
    }
    assert!(child.wait().unwrap().success());
    assert!(peak > 0, "/proc has no VmHWM of the process");
    peak
}

fn high_water_mark(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? >> 10)
}

#[test]
fn a_baseline_jpeg_of_200_megapixels_is_rendered_in_150_mib_and_takes_as_much_as_one_of_20() {
    let [low, high] = [1_000, 10_000].map(|height| {
        let mut file = tempfile::tempfile().unwrap();
        files::large_jpeg(20_000, height, &mut file);
        peak(file)
    });
    println!("JPEG: {low} MiB and {high} MiB");
    assert!(high <= MAX_MEMORY, "{high} MiB");
    // The difference depends on scheduling: up to 8 strips of 512 KiB at the full size, the same again for all lower
    // levels, and 6 decoder chunks of 2 MiB each are in use at once. The additional rows would take 257 MiB.
    assert!(high <= low + 24, "{low} MiB at 1,000 rows, {high} MiB at 10,000");
}

#[test]
fn a_turned_jpeg_is_rendered_in_150_mib() {
    let exif = files::exif(6);
    // The rows of tiles in memory are widest if the long side is stored horizontally. The coefficients of the
    // progressive JPEG would exceed the memory limit.
    for (progressive, height) in [(false, 5_000), (true, 4_000)] {
        let mut file = tempfile::tempfile().unwrap();
        files::large_jpeg_of(20_000, height, Jpeg { progressive, exif: Some(&exif) }, &mut file);
        let peak = peak_within(file, &small());
        println!("turned JPEG, progressive {progressive}: {peak} MiB");
        assert!(peak <= MAX_MEMORY, "{peak} MiB");
    }
}

#[test]
fn an_interlaced_png_that_exceeds_the_memory_is_rendered_in_150_mib() {
    let mut file = tempfile::tempfile().unwrap();
    files::interlaced_png(&Picture::photo(20_000, 64, Layout::Rgb), 4_000, 1, BufWriter::new(&mut file));
    let peak = peak_within(file, &small());
    println!("interlaced PNG: {peak} MiB");
    assert!(peak <= MAX_MEMORY, "{peak} MiB");
}

#[test]
fn a_png_is_rendered_in_150_mib() {
    // A picture with opacity has PNG tiles, whose encoders take more memory.
    for (layout, height) in [(Layout::Rgb, 3_000), (Layout::Rgba, 2_000)] {
        let mut file = tempfile::tempfile().unwrap();
        files::large_png(20_000, height, layout, &mut file);
        let peak = peak(file);
        println!("PNG, {layout:?}: {peak} MiB");
        assert!(peak <= MAX_MEMORY, "{peak} MiB");
    }
}

#[test]
fn a_format_stored_row_by_row_is_rendered_in_50_mib() {
    const WIDTH: u16 = 20_000;
    const HEIGHT: u16 = 1_000;
    let mut file = tempfile::tempfile().unwrap();
    let row = [10, 120, 230].repeat(WIDTH.into());
    let mut writer = BufWriter::new(&file);
    writer.write_all(format!("P6 {WIDTH} {HEIGHT} 255\n").as_bytes()).unwrap();
    (0..HEIGHT).for_each(|_| writer.write_all(&row).unwrap());
    drop(writer);
    file.rewind().unwrap();
    let peak = peak(file);
    println!("PPM: {peak} MiB");
    assert!(peak <= 50, "{peak} MiB");
}

#[test]
fn a_heic_in_a_grid_is_rendered_in_100_mib() {
    let cell = Picture::photo(512, 512, Layout::Rgb);
    let peak = peak(files::file(&large::heic_grid(&cell, 32, 6)));
    println!("HEIC: {peak} MiB");
    assert!(peak <= 100, "{peak} MiB");
}

#[test]
fn a_jpeg_2000_in_tiles_is_rendered_in_200_mib() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.png"), files::png(&Picture::photo(1024, 1024, Layout::Rgb), |_| {}))
        .unwrap();
    let mut command = Command::new("opj_compress");
    command.args(["-i", "t.png", "-I", "-r", "20", "-o", "t.j2k"]).current_dir(folder.path());
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    let tile = fs::read(folder.path().join("t.j2k")).unwrap();
    let peak = peak(files::file(&large::jpeg2000_tiles(&tile, 20, 4)));
    println!("JPEG 2000: {peak} MiB");
    assert!(peak <= 200, "{peak} MiB");
}

#[test]
fn a_jpeg_2000_without_tiles_is_rendered_in_100_mib() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.png"), files::png(&Picture::photo(1024, 1024, Layout::Rgb), |_| {}))
        .unwrap();
    let mut command = Command::new("opj_compress");
    command.args(["-i", "t.png", "-I", "-r", "60", "-SOP", "-c", large::JPEG2000_PRECINCTS, "-o", "t.j2k"]);
    assert!(command.current_dir(folder.path()).stdout(Stdio::null()).status().unwrap().success());
    let tile = fs::read(folder.path().join("t.j2k")).unwrap();
    let peak = peak(files::file(&large::jpeg2000_untiled(&tile, 20, 2)));
    println!("JPEG 2000 without tiles: {peak} MiB");
    assert!(peak <= 100, "{peak} MiB");
}
