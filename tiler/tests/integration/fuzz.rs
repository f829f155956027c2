//! Gives renderer processes damaged files of every format. Each process must end by itself, with tiles or with a
//! failure that has a code. A crash, a hang or a violation of the protocol is a bug, although the process contains it.
//!
//! A seed determines the sequence of files, so a failure can be repeated by its seed and number. Run it for longer with
//! `EDGEZOOM_FUZZ_SECONDS=600 EDGEZOOM_FUZZ_SEED=7 cargo test --test integration fuzz -- --nocapture`. libFuzzer runs
//! the same decoders without a process, guided by coverage (`tests/fuzz/targets.rs`).
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use edgezoom_codecs::Format;
use edgezoom_content::FailureCode;
use edgezoom_fuzzing::{mutate, variable};
use edgezoom_test_support::files::file;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::{Output, RenderError, RenderOptions, Renderer};
use fastrand::Rng;

/// Returns a small file of each kind that a decoder distinguishes, made by other programs.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

fn corpus() -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(CORPUS).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Renders a file.
async fn render(bytes: &[u8], limits: &Limits) -> Result<(), RenderError> {
    let mut options = RenderOptions { threads: NonZeroUsize::new(2).unwrap(), ..RenderOptions::default() };
    options.drawing.page_width = 256;
    options.drawing.svg_side = 256;
    let tiler = Path::new(env!("CARGO_BIN_EXE_tiler"));
    let mut renderer = Renderer::start(tiler, file(bytes), &options, limits)?;
    while !matches!(renderer.next().await?, Output::Finished { .. }) {}
    Ok(())
}

/// Returns true if a message has a value in the form of Rust's `Debug`: `Some(1)`, `Invalid("x")`, `Size { width: 1 }`.
fn has_debug_text(message: &str) -> bool {
    let is_name = |before: &str| {
        let name: String = before.chars().rev().take_while(|letter| letter.is_ascii_lowercase()).collect();
        let first = before.chars().rev().nth(name.len());
        !name.is_empty() && first.is_some_and(|letter| letter.is_ascii_uppercase())
    };
    message.contains("{ ") || message.match_indices('(').any(|(at, _)| is_name(&message[..at]))
}

/// Returns true for an error that no file may cause.
fn is_a_fault(error: &RenderError) -> bool {
    match error {
        RenderError::Reported(failure) => {
            failure.code == FailureCode::Internal
                || !failure.message.ends_with('.')
                || has_debug_text(&failure.message)
        }
        RenderError::TooComplex { .. } | RenderError::OutOfMemory => false,
        _ => true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_files_of_every_format_end_with_tiles_or_a_failure() {
    let corpus = corpus();
    let limits = Limits {
        pixels: 4_000_000,
        drawn_pixels: 1_000_000,
        page_pixels: 1_000_000,
        renderer_memory: 512 << 20,
        renderer_cpu: Duration::from_secs(10),
        renderer_time: Duration::from_secs(120),
        ..Limits::default()
    };
    let files: Vec<&[u8]> = corpus.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    let seed = variable("EDGEZOOM_FUZZ_SEED").unwrap_or(1);
    let seconds = variable("EDGEZOOM_FUZZ_SECONDS").unwrap_or(2);
    let (next, first) = (AtomicU64::new(0), variable("EDGEZOOM_FUZZ_FIRST").unwrap_or(0));
    let end = Instant::now() + Duration::from_secs(seconds);
    let fuzz = async || {
        let (mut pictures, mut faults) = (0, vec![]);
        loop {
            let number = first + next.fetch_add(1, Ordering::Relaxed);
            // Every file at least once, even on a slow machine.
            if Instant::now() > end && number >= corpus.len() as u64 {
                return (pictures, faults);
            }
            let (name, whole) = &corpus[number as usize % corpus.len()];
            let mut random = Rng::with_seed(seed << 40 | number);
            let mut bytes = whole.clone();
            mutate(&mut random, &mut bytes, &files);
            match render(&bytes, &limits).await {
                Ok(()) => pictures += 1,
                Err(error) if is_a_fault(&error) => {
                    let kept = std::env::temp_dir().join(format!("edgezoom-fuzz-{seed}-{number}-{name}"));
                    fs::write(&kept, &bytes).unwrap();
                    faults.push(format!("{number} {name}: {error:?}, see {}", kept.display()));
                }
                Err(_) => {}
            }
        }
    };
    let (one, other) = tokio::join!(fuzz(), fuzz());
    let faults = [one.1, other.1].concat();
    println!("seed {seed}: {} files, {} pictures", next.into_inner() - 2, one.0 + other.0);
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
}

#[tokio::test]
async fn the_corpus_has_files_of_every_format_and_each_is_a_picture() {
    let mut known: Vec<_> = Format::all().map(|format| format.name).collect();
    for (name, bytes) in corpus() {
        let format = Format::sniff(&mut file(&bytes)).unwrap_or_else(|error| panic!("{name}: {error}"));
        known.retain(|known| *known != format.name);
        if format.name == "PDF" && (name == "encrypted.pdf" || edgezoom_codecs::locate_pdfium().is_none()) {
            continue;
        }
        render(&bytes, &Limits::default()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!(known, [""; 0], "formats without a file in the corpus");
}
