//! Compares PDF, SVG and web pages with other programs: `cargo xtask bench sources`, or
//! `cargo bench --bench sources svg` for one kind. The benchmark fails if a figure misses its bound. Figures are
//! medians of several runs, each from a source to a pyramid on disk or, for pages, to the renderer's tiles.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

mod page;
mod pdf;
#[path = "../../tests/sources/page/site.rs"]
#[allow(dead_code, reason = "only the tests use the rest")]
mod site;
mod svg;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Number of runs. The first one does not count.
const RUNS: usize = 5;

/// A figure and its bound.
struct Figure {
    what: &'static str,
    value: f64,
    unit: &'static str,
    bound: Bound,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

fn main() -> ExitCode {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let measures: [fn() -> Figure; 3] = [pdf::measure, svg::measure, page::measure];
    let mut all_hold = true;
    for (name, measure) in ["pdf", "svg", "page"].into_iter().zip(measures) {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let Figure { what, value, unit, bound } = measure();
        let (holds, wanted) = match bound {
            Bound::AtLeast(bound) => (value >= bound, format!("at least {bound}")),
            Bound::AtMost(bound) => (value <= bound, format!("at most {bound}")),
        };
        println!("{what}: {value:.2}{unit} ({wanted}){}", if holds { "" } else { ": MISSED" });
        all_hold &= holds;
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The median of the seconds that something takes.
fn median(mut run: impl FnMut()) -> f64 {
    let seconds = (0..=RUNS).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64()
    });
    middle(seconds.skip(1).collect())
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Makes a pyramid on disk with `tiler convert`, as a user would.
fn convert(source: &Path, flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiler"));
    command.arg("convert").arg(source).arg("--output").arg(folder.path().join("out")).args(flags);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}
