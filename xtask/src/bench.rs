//! `cargo xtask bench`: builds what is measured as users have it, and runs a benchmark of `tests/benches` on it.

use anyhow::Result;
use clap::ValueEnum;

use crate::project::{Profile, Project};
use crate::setup::Purpose;
use crate::{build, command, setup};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// From ask to ready, and where the time goes
    Service,
    /// Asks at rising rates, and what is shed; `--soak 30m`: one rate, and the memory of each process
    Load,
    /// `tiler convert` beside libvips
    Pyramid,
    /// What uploading adds to rendering
    Upload,
    /// PDF, SVG and web pages beside what they must keep up with
    Sources,
    /// Tiles through the Worker: of pyramids that are one object, beside those whose tiles are objects
    Tiles,
    /// The Worker's answers for finished contents, beside a minimal Worker in JavaScript
    Worker,
}

/// Runs a benchmark with words of its own.
pub fn run(project: &Project, subject: Subject, words: &[String]) -> Result<()> {
    let (purpose, name) = match subject {
        Subject::Service => (Purpose::BenchService, "service"),
        Subject::Load => (Purpose::BenchService, "load"),
        Subject::Pyramid => (Purpose::BenchPyramid, "pyramid"),
        Subject::Upload => (Purpose::BenchPyramid, "upload"),
        Subject::Sources => (Purpose::BenchSources, "sources"),
        Subject::Tiles => return worker(project, "bench:tiles"),
        Subject::Worker => return worker(project, "bench:worker"),
    };
    setup::prepare(project, purpose)?;
    if matches!(subject, Subject::Service | Subject::Load) {
        build::worker_alone(project, Purpose::BenchService)?;
    }
    build::program(project, build::TILER, Profile::Release)?;
    if subject == Subject::Service {
        setup::prepare(project, Purpose::BenchPyramid)?;
    }
    if matches!(subject, Subject::Service | Subject::Upload) {
        bench(project, "pyramid", &["--pictures".to_owned(), PICTURE.to_owned()])?;
    }
    bench(project, name, words)
}

/// What is uploaded, and downloaded slowly.
const PICTURE: &str = "216 MP";

fn bench(project: &Project, name: &str, words: &[String]) -> Result<()> {
    let mut bench = project.cargo();
    bench.args(["bench", "--workspace", "--bench", name, "--"]).args(words);
    command::run_shown(&mut bench)
}

fn worker(project: &Project, script: &str) -> Result<()> {
    build::worker_alone(project, Purpose::BenchService)?;
    command::run_shown(project.npm()?.args(["run", "--silent", script]))
}
