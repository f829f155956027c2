//! `cargo xtask test`: everything that tells whether the work is good, in the order in which it fails fastest, each step
//! with its time. A failed step does not keep the others from telling what they know.

mod licences;
mod tally;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::project::{Profile, Project};
use crate::setup::Purpose;
use crate::{build_edge, setup};
use tally::Tally;

/// The steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Rust is formatted
    Format,
    /// Licences of all dependencies; with cargo-deny installed, advisories too
    Licences,
    /// Clippy, natively and for the Worker
    Clippy,
    /// Unit and property tests
    Unit,
    /// PDF, SVG and web pages beside what other programs make of them
    Sources,
    /// The Worker builds and is small enough
    Edge,
    /// The Worker's own tests, under the Workers runtime
    Worker,
    /// Viewer, embeds and pages, in a real browser
    Viewer,
    /// The whole system, with real clients and a real browser
    EndToEnd,
}

/// Runs `steps`; all of them when none is named.
pub fn run(project: &Project, steps: &[Step]) -> Result<()> {
    let started = Instant::now();
    setup::prepare(project, Purpose::Test)?;
    eprintln!("xtask | set-up: {:.1} s", started.elapsed().as_secs_f64());
    let steps = if steps.is_empty() { Step::value_variants() } else { steps };
    let mut total = Tally::default();
    for step in steps {
        let name = step.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        eprintln!("xtask | {name} …");
        let begun = Instant::now();
        let tally = step.run(project).unwrap_or_else(|error| {
            eprintln!("xtask | {error:#}");
            Tally::FAILED
        });
        println!("{name}: {tally}; {:.1} s", begun.elapsed().as_secs_f64());
        total += tally;
    }
    println!("\n{total} ({:.0} s)", started.elapsed().as_secs_f64());
    if total.failed > 0 {
        bail!("not everything passed");
    }
    Ok(())
}

impl Step {
    fn run(self, project: &Project) -> Result<Tally> {
        match self {
            Self::Format => tally::check(project.cargo().args(["fmt", "--all", "--check"])),
            Self::Licences => licences::check(project),
            Self::Clippy => {
                let native = clippy(project, &["--workspace", "--all-targets"])?;
                Ok(native + clippy(project, &["--package=edgezoom-edge", "--target", setup::WASM])?)
            }
            Self::Unit => tally::count(project.cargo().args([
                "test",
                "--no-fail-fast",
                "--workspace",
                "--exclude=edgezoom-tests",
            ])),
            Self::Sources => sources(project),
            Self::Edge => build_edge::build(project).map(|()| Tally::PASSED),
            Self::Worker => {
                build_edge::build(project)?;
                tally::count(project.npm()?.args(["run", "test:worker"]))
            }
            Self::Viewer => tally::count(project.npm()?.args(["run", "test:viewer"])),
            Self::EndToEnd => end_to_end(project),
        }
    }
}

fn clippy(project: &Project, what: &[&str]) -> Result<Tally> {
    tally::check(project.cargo().arg("clippy").args(what).args(["--", "--deny=warnings"]))
}

/// What plain `cargo test` leaves out, because it needs a browser, PDFium or programs to compare with.
fn sources(project: &Project) -> Result<Tally> {
    let run = |arguments: &[&str]| {
        tally::count(
            project.cargo().args(["test", "--no-fail-fast", "--package=edgezoom-tiler"]).args(arguments),
        )
    };
    let beside = run(&["--test=documents", "--test=page"])?;
    // These measure a whole process's memory, or need a browser that most of their kind do not need.
    let alone = run(&["--test=page", "--", "--ignored", "--test-threads=1"])?;
    Ok(beside + alone + run(&["--test=serve", "--", "--ignored"])?)
}

/// The tests drive the built things from outside, so these are built first.
fn end_to_end(project: &Project) -> Result<Tally> {
    build_edge::build(project)?;
    project.build("edgezoom-tiler", "tiler", Profile::Dev)?;
    tally::count(project.cargo().args(["test", "--no-fail-fast", "--package=edgezoom-tests"]))
}
