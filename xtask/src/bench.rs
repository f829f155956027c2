//! `cargo xtask bench`: builds what is measured as users have it, and runs a benchmark of `tests/benches` on it.

use anyhow::Result;
use clap::ValueEnum;

use crate::project::{Profile, Project};
use crate::setup::Purpose;
use crate::{build_edge, command, setup};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// From ask to ready, and where the time goes
    Service,
    /// `tiler convert` beside libvips
    Pyramid,
    /// The Worker's answers for finished contents, beside a minimal Worker in JavaScript
    Worker,
    /// What uploading adds to rendering
    Upload,
}

/// Runs a benchmark. What it is told beyond its name is its own matter.
pub fn run(project: &Project, subject: Subject, words: &[String]) -> Result<()> {
    let (purpose, name) = match subject {
        Subject::Service => (Purpose::BenchService, "service"),
        Subject::Pyramid => (Purpose::BenchPyramid, "pyramid"),
        Subject::Worker => return worker(project),
        Subject::Upload => (Purpose::BenchPyramid, "upload"),
    };
    setup::prepare(project, purpose)?;
    if subject == Subject::Service {
        build_edge::build(project)?;
    }
    project.build("edgezoom-tiler", "tiler", Profile::Release)?;
    if subject == Subject::Upload {
        bench(project, "edgezoom-tests", "pyramid", &["--pictures".to_owned(), PICTURE.to_owned()])?;
        return bench(project, "edgezoom-tiler", name, words);
    }
    bench(project, "edgezoom-tests", name, words)
}

/// What is uploaded.
const PICTURE: &str = "216 MP";

fn bench(project: &Project, package: &str, name: &str, words: &[String]) -> Result<()> {
    let mut bench = project.cargo();
    bench.args(["bench", "--package", package, "--bench", name, "--"]).args(words);
    command::run_shown(&mut bench)
}

fn worker(project: &Project) -> Result<()> {
    setup::prepare(project, Purpose::BenchService)?;
    build_edge::build(project)?;
    command::run_shown(project.npm()?.args(["run", "--silent", "bench:worker"]))
}
