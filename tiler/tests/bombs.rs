//! Small sources that would take hours or all memory: each is drawn, or ends with a code and a sentence, within its share of
//! processor time. A program of its own, because it measures the processor time of the processes that it has started.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its parts are called from here alone"
)]

mod bombs {
    pub mod jpeg;
    pub mod pdf;
    pub mod raster;
    pub mod svg;
}

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use edgezoom_codecs::Layout;
use edgezoom_content::{Failure, FailureCode};
use edgezoom_test_support::Picture;
use edgezoom_test_support::files::{self, Jpeg, file};
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderOptions, Renderer};
use tokio::sync::Mutex;

/// A small source and what it is.
pub struct Bomb {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Bomb {
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

/// A twentieth of the usual time, so that the tests take a twentieth of it too.
const CPU: Duration = Duration::from_secs(1);

async fn render(bytes: &[u8], limits: &Limits) -> Result<u64, Failure> {
    let options = RenderOptions { threads: NonZeroUsize::new(2).unwrap(), ..RenderOptions::default() };
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start_as(tiler, file(bytes), &options, limits).unwrap();
    loop {
        if let Output::Finished { dzi, .. } = renderer.next().await? {
            return Ok(dzi.size.pixels());
        }
    }
}

/// The processor time of all processes that have been waited for: `cutime` and `cstime` of proc_pid_stat(5).
fn cpu_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(13).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Waits until a process that was killed has ended: it is reaped in the background, and counts only then.
async fn until_no_child_is_left() {
    let has_child = || {
        fs::read_dir("/proc/self/task").unwrap().any(|thread| {
            !fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default().is_empty()
        })
    };
    while has_child() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Each ends in time, with pixels or with a reason; some have to end with pixels, in the usual time.
async fn defuse(bombs: Vec<Bomb>, drawn: &[&str]) {
    let mut report = String::new();
    let mut failed = false;
    for Bomb { name, bytes } in bombs {
        let cpu = if drawn.contains(&name.as_str()) { Limits::default().renderer_cpu } else { CPU };
        let limits = Limits { renderer_cpu: cpu, ..Limits::default() };
        let (before, begun) = (cpu_of_children(), Instant::now());
        let outcome = render(&bytes, &limits).await;
        until_no_child_is_left().await;
        let used = cpu_of_children() - before;
        let pixels = *outcome.as_ref().unwrap_or(&0);
        // What the pixels and bytes allow, and a moment of several threads until it is noticed.
        let allowed = cpu.as_secs_f64() + pixels as f64 * 1e-7 + bytes.len() as f64 * 2e-6 + 2.0;
        let is_right = match &outcome {
            Ok(_) => true,
            Err(failure) => {
                failure.code != FailureCode::Internal
                    && failure.message.ends_with('.')
                    && !drawn.contains(&name.as_str())
            }
        };
        let is_fine = is_right && used.as_secs_f64() < allowed;
        failed |= !is_fine;
        report += &format!(
            "{} {name}: {} bytes, {:.1} s of {allowed:.1} s, {:.1} s on the clock: {outcome:?}\n",
            if is_fine { "  " } else { "✗ " },
            bytes.len(),
            used.as_secs_f64(),
            begun.elapsed().as_secs_f64(),
        );
    }
    println!("{report}");
    assert!(!failed, "{report}");
}

/// One test after the other, because each measures the processes of all.
static TURN: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn drawings_are_drawn_or_end_in_time_with_a_reason() {
    let _turn = TURN.lock().await;
    defuse(bombs::svg::all(), bombs::svg::DRAWN).await;
}

#[tokio::test]
async fn documents_are_drawn_or_end_in_time_with_a_reason() {
    let _turn = TURN.lock().await;
    let has_library = edgezoom_codecs::locate_pdfium().is_some();
    defuse(bombs::pdf::all(), if has_library { bombs::pdf::DRAWN } else { &[] }).await;
}

#[tokio::test]
async fn pictures_are_decoded_or_end_in_time_with_a_reason() {
    let _turn = TURN.lock().await;
    defuse(bombs::jpeg::all(), &[]).await;
    for (format, bombs) in bombs::raster::all() {
        println!("{format}");
        defuse(bombs, &[]).await;
    }
}

#[tokio::test]
async fn a_good_picture_is_ready_beside_a_bomb() {
    let _turn = TURN.lock().await;
    let good = files::jpeg(&Picture::photo(1300, 900, Layout::Rgb), Jpeg::default());
    let bomb = bombs::svg::endless();
    let limits = Limits { renderer_cpu: CPU, ..Limits::default() };
    let begun = Instant::now();
    let picture = async {
        let pixels = render(&good, &Limits::default()).await.unwrap();
        (pixels, begun.elapsed())
    };
    let bomb = async {
        let failure = render(&bomb.bytes, &limits).await.unwrap_err();
        (failure.code, begun.elapsed())
    };
    let ((pixels, ready), (code, ended)) = tokio::join!(picture, bomb);
    assert_eq!((pixels, code), (1300 * 900, FailureCode::TooComplex));
    assert!(ready < ended, "the picture waited for the bomb: {ready:?}, {ended:?}");
}

#[tokio::test]
async fn too_many_pixels_for_the_length_of_a_file_are_refused() {
    let _turn = TURN.lock().await;
    let flat = bombs::raster::flat_png(20_000, 20_000);
    let limits = Limits { pixels_free: 10_000_000, pixels_per_byte: 1_000, ..Limits::default() };
    let allowed = 10_000_000 + 1_000 * flat.len() as u64;
    assert!(allowed < 400_000_000, "{} bytes", flat.len());
    let failure = render(&flat, &limits).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TooManyPixels);
    assert_eq!(
        failure.message,
        format!(
            "The picture has 20000×20000 pixels, more than the {allowed} that are allowed for a file of its length."
        )
    );
    let small = files::png(&Picture::photo(1300, 900, Layout::Rgb), |_| {});
    assert_eq!(render(&small, &limits).await.unwrap(), 1300 * 900);
}
