//! How much memory a renderer takes for pictures of 200 megapixels, at the default options.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::RenderOptions;
use edgezoom_tiler::renderer::order::Order;
use edgezoom_tiler::source::Layout;

use support::files;

/// The most that a renderer may take, in MiB.
const MOST: u64 = 150;

/// Renders a file as the parent would, and gives the most memory that the process had resident at any time, in MiB.
fn peak(source: File) -> u64 {
    let order = Order::new(&RenderOptions::default(), &Limits::default()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tiler"))
        .arg("render")
        .arg(serde_json::to_string(&order).unwrap())
        .stdin(source)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (mut frames, mut peak) = (vec![0; 1 << 20], 0);
    // The mark is looked at after each read: what the last tiles take is in it, as they come before the end.
    while stdout.read(&mut frames).unwrap() > 0 {
        peak = high_water_mark(child.id()).unwrap_or(0).max(peak);
    }
    assert!(child.wait().unwrap().success());
    assert!(peak > 0, "the kernel tells no high-water mark");
    peak
}

fn high_water_mark(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? >> 10)
}

#[test]
fn a_baseline_jpeg_of_200_megapixels_is_rendered_in_150_mib() {
    let mut file = tempfile::tempfile().unwrap();
    files::large_jpeg(20_000, 10_000, &mut file);
    let peak = peak(file);
    println!("JPEG: {peak} MiB");
    assert!(peak <= MOST, "{peak} MiB");
}

#[test]
fn a_png_of_200_megapixels_is_rendered_in_150_mib() {
    // With opacity the tiles are PNG too, whose encoders take more; the height adds nothing but time.
    for (layout, height) in [(Layout::Rgb, 10_000), (Layout::Rgba, 2_000)] {
        let mut file = tempfile::tempfile().unwrap();
        files::large_png(20_000, height, layout, &mut file);
        let peak = peak(file);
        println!("PNG, {layout:?}: {peak} MiB");
        assert!(peak <= MOST, "{peak} MiB");
    }
}

#[test]
fn memory_does_not_grow_with_the_height() {
    let [low, high] = [2_000, 20_000].map(|height| {
        let mut file = tempfile::tempfile().unwrap();
        files::large_jpeg(8_000, height, &mut file);
        peak(file)
    });
    assert!(high <= low + low / 5, "{low} MiB at 2,000 rows, {high} MiB at 20,000");
}
