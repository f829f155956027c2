//! Small sources that would take hours or exhaust memory. Each is rendered, or fails with a code and a message, within
//! its limit of processor time. A separate test binary, because it finds the renderer processes as its own children.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a panic fails the test, and only this test uses its modules"
)]

mod headers;
mod jpeg;
mod pdf;
mod raster;
mod svg;

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use edgezoom_codecs::Layout;
use edgezoom_content::{Failure, FailureCode};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg, file};
use edgezoom_tiler::failure::of_attempt;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Built, Output, RenderOptions, Renderer};
use futures::StreamExt;

/// A small source that is expensive to render.
pub struct Bomb {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Bomb {
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

/// Returns limits that are about a tenth of the defaults, so that the tests take a tenth of the time. A bomb that
/// passes these limits would also pass the defaults, but take longer.
fn small() -> Limits {
    let usual = Limits::default();
    Limits {
        renderer_cpu: CPU,
        pixels_free: usual.pixels_free / 10,
        pixels_per_byte: usual.pixels_per_byte / 10,
        page_pixels: usual.page_pixels / 10,
        drawn_pixels: usual.drawn_pixels / 10,
        renderer_cpu_per_mib: usual.renderer_cpu_per_mib / 4,
        ..usual
    }
}

/// Limit of processor time. Less than a fortieth of the default.
const CPU: Duration = Duration::from_millis(400);
/// Longer side of drawings, in pixels. The default of 8,192 has sixteen times as many pixels.
const SVG_SIDE: u32 = 2048;

/// Bombs that are rendered with the default limits and at the default size.
const WITH_DEFAULT_LIMITS: [&str; 4] = [
    "a pattern under a transform-origin",
    "a sheet of two billion points",
    "a picture of ten gigapixels",
    "900 megapixels in one colour",
];

/// Number of bombs that are rendered concurrently.
const CONCURRENCY: usize = 2;
/// Interval between readings of a process's processor time.
const INTERVAL: Duration = Duration::from_millis(10);

/// Starts a renderer and returns it with its process id.
fn start(bytes: &[u8], limits: &Limits, svg_side: Option<u32>) -> (Renderer, u32) {
    /// Serialises the starts, so that the only new child is the renderer.
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock().unwrap();
    let mut options = RenderOptions { threads: NonZeroUsize::new(2).unwrap(), ..RenderOptions::default() };
    options.drawing.svg_side = svg_side.unwrap_or(options.drawing.svg_side);
    options.drawing.vectors = true;
    let before = children();
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let renderer = Renderer::start(tiler, file(bytes), &options, limits).unwrap();
    let process = children().into_iter().find(|child| !before.contains(child)).unwrap();
    (renderer, process)
}

fn children() -> Vec<u32> {
    let of_thread = |thread: std::io::Result<fs::DirEntry>| {
        let children = fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default();
        children.split_ascii_whitespace().map(|child| child.parse().unwrap()).collect::<Vec<u32>>()
    };
    fs::read_dir("/proc/self/task").unwrap().flat_map(of_thread).collect()
}

/// Returns the processor time of a process with all its threads: `utime` and `stime` in proc_pid_stat(5). `None` once
/// it has ended.
fn cpu_of(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let has_ended = fields.next() == Some("Z");
    let ticks: u64 = fields.skip(10).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    let time = Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64);
    (!has_ended).then_some(time)
}

async fn render(bytes: &[u8], limits: &Limits) -> Result<u64, Failure> {
    pixels(start(bytes, limits, None).0).await
}

async fn pixels(mut renderer: Renderer) -> Result<u64, Failure> {
    loop {
        if let Output::Finished(Built { dzi, .. }) =
            renderer.next().await.map_err(|error| of_attempt(&error.into()).0)?
        {
            return Ok(dzi.size.pixels());
        }
    }
}

/// Renders a bomb. Returns the outcome, and the processor time that it took to within [`INTERVAL`].
async fn measured(bytes: &[u8], limits: &Limits, svg_side: Option<u32>) -> (Result<u64, Failure>, Duration) {
    let (renderer, process) = start(bytes, limits, svg_side);
    // The process may run for a moment after it was killed.
    let until_its_end = async {
        let mut used = Duration::ZERO;
        while let Some(now) = cpu_of(process) {
            used = now;
            tokio::time::sleep(INTERVAL).await;
        }
        used
    };
    tokio::join!(pixels(renderer), until_its_end)
}

/// Asserts that each bomb is rendered or fails with a message in time. Those in `drawn` must be rendered, within the
/// default processor time.
async fn defuse(bombs: Vec<Bomb>, drawn: &[&str]) {
    let lines = futures::stream::iter(bombs).map(|bomb| defuse_one(bomb, drawn)).buffered(CONCURRENCY);
    let lines: Vec<(String, bool)> = lines.collect().await;
    println!("{}", lines.iter().map(|(line, _)| line.as_str()).collect::<String>());
    let wrong: String = lines.iter().filter(|(_, is_fine)| !is_fine).map(|(line, _)| line.as_str()).collect();
    assert!(wrong.is_empty(), "{wrong}");
}

async fn defuse_one(Bomb { name, bytes }: Bomb, drawn: &[&str]) -> (String, bool) {
    let has_to_be_drawn = drawn.contains(&name.as_str());
    let is_default = WITH_DEFAULT_LIMITS.contains(&name.as_str());
    let (mut limits, svg_side) =
        if is_default { (Limits::default(), None) } else { (small(), Some(SVG_SIDE)) };
    if has_to_be_drawn {
        limits.renderer_cpu = Limits::default().renderer_cpu;
    }
    let cpu = limits.renderer_cpu;
    let begun = Instant::now();
    let (outcome, used) = measured(&bytes, &limits, svg_side).await;
    let pixels = *outcome.as_ref().unwrap_or(&0);
    // The limit, the allowance for pixels and bytes, and the time of several threads until the supervisor detects the
    // excess.
    let allowed = cpu.as_secs_f64() + pixels as f64 * 1e-7 + bytes.len() as f64 * 2e-6 + 2.0;
    let is_right = match &outcome {
        Ok(_) => true,
        Err(failure) => {
            failure.code != FailureCode::Internal && failure.message.ends_with('.') && !has_to_be_drawn
        }
    };
    let is_fine = is_right && used.as_secs_f64() < allowed;
    let (used, clock) = (used.as_secs_f64(), begun.elapsed().as_secs_f64());
    let line = format!(
        "{} {name}: {} bytes, {used:.1} s of {allowed:.1} s, {clock:.1} s on the clock: {outcome:?}\n",
        if is_fine { "  " } else { "✗ " },
        bytes.len(),
    );
    (line, is_fine)
}

#[tokio::test]
async fn drawings_are_drawn_or_end_in_time_with_a_reason() {
    defuse(svg::all(), svg::DRAWN).await;
}

#[tokio::test]
async fn documents_are_drawn_or_end_in_time_with_a_reason() {
    let has_library = edgezoom_codecs::locate_pdfium().is_some();
    defuse(pdf::all(), if has_library { pdf::DRAWN } else { &[] }).await;
}

#[tokio::test]
async fn pictures_are_decoded_or_end_in_time_with_a_reason() {
    defuse(jpeg::all(), &[]).await;
    for (format, bombs) in raster::all() {
        println!("{format}");
        defuse(bombs, &[]).await;
    }
}

#[tokio::test]
async fn files_with_another_header_are_decoded_or_end_in_time_with_a_reason() {
    defuse(headers::all(), &[]).await;
}

/// PDFium aborts the process if an allocation fails, which must be reported like an exceeded limit.
#[tokio::test]
async fn a_document_that_takes_all_memory_is_too_large() {
    if edgezoom_codecs::locate_pdfium().is_none() {
        println!("skipped: PDFium is not installed");
        return;
    }
    let limits = Limits { renderer_memory: 200 << 20, ..Limits::default() };
    let failure = render(&pdf::of_memory(), &limits).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TooManyPixels, "{failure:?}");
    assert_eq!(failure.message, "The picture takes more memory than is allowed for rendering.");
}

#[tokio::test]
async fn a_good_picture_is_ready_beside_a_bomb() {
    let good = files::jpeg(&Picture::photo(1300, 900, Layout::Rgb), Jpeg::default());
    let bomb = svg::endless();
    let limits = Limits::default();
    // The bomb would run for as long as the default limit of processor time allows. It is killed once the picture is
    // ready.
    let pixels = tokio::select! {
        pixels = render(&good, &limits) => pixels.unwrap(),
        ended = render(&bomb.bytes, &limits) => panic!("the picture waited for the bomb: {ended:?}"),
    };
    assert_eq!(pixels, 1300 * 900);
}

/// Uses the default limits, and measures wall-clock time on an idle machine with two cores.
#[tokio::test]
#[ignore = "takes many minutes and needs an idle machine"]
async fn each_bomb_ends_within_half_a_minute_beside_a_good_picture() {
    let good = files::jpeg(&Picture::photo(4000, 3000, Layout::Rgb), Jpeg::default());
    let limits = Limits::default();
    let time_of_good = async || {
        let begun = Instant::now();
        render(&good, &limits).await.unwrap();
        begun.elapsed()
    };
    time_of_good().await; // warm-up
    let usual = time_of_good().await;
    println!("a good picture alone: {usual:.2?}");
    let raster = raster::all().into_iter().flat_map(|(_, bombs)| bombs);
    let all = svg::all().into_iter().chain(pdf::all()).chain(jpeg::all());
    let mut late = vec![];
    for bomb in all.chain(raster).chain(headers::all()) {
        let begun = Instant::now();
        let bomb_ends = async { (render(&bomb.bytes, &limits).await, begun.elapsed()) };
        let ((outcome, ended), beside) = tokio::join!(bomb_ends, time_of_good());
        println!("{ended:6.2?}, the good picture {beside:.2?}: {}: {outcome:?}", bomb.name);
        if ended > Duration::from_secs(30) {
            late.push(bomb.name);
        }
    }
    assert!(late.is_empty(), "{late:?}");
}

#[tokio::test]
async fn too_many_pixels_for_the_length_of_a_file_are_refused() {
    let flat = raster::flat_png(20_000, 20_000);
    let limits = Limits { pixels_free: 10_000_000, pixels_per_byte: 1_000, ..Limits::default() };
    let allowed = 10_000_000 + 1_000 * flat.len() as u64;
    assert!(allowed < 400_000_000, "{} bytes", flat.len());
    let failure = render(&flat, &limits).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TooManyPixels);
    assert_eq!(
        failure.message,
        format!(
            "The picture has 20000×20000 pixels, more than the {allowed} allowed for a file of its length."
        )
    );
    let small = files::png(&Picture::photo(1300, 900, Layout::Rgb), |_| {});
    assert_eq!(render(&small, &limits).await.unwrap(), 1300 * 900);
}
