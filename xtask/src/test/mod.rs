//! `cargo xtask test`: all tests and checks. The steps and their builds form one graph: the Worker and its tests in
//! Node.js do not wait for native programs, nor for each other's failures.

pub mod arm64;
mod cache;
mod portable;
mod rust;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::build;
use crate::project::Project;
use crate::setup::{self, Purpose, pinned};
use crate::steps::{self, Tally, Transcript};
use cache::{Cache, Reads};
use rust::Programs;

/// The steps that can be selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Formatting of Rust
    Format,
    /// Licences and sources of dependencies
    Licences,
    /// Clippy
    Clippy,
    /// The engine on other systems: it compiles for macOS and Windows
    Portable,
    /// Unit and property tests, and examples in the documentation
    Unit,
    /// PDF, SVG and web pages compared with other renderers
    Sources,
    /// The Worker's build and size
    Edge,
    /// The Worker's tests in the Workers runtime
    Worker,
    /// Viewer, embeds and pages in a real browser
    Viewer,
    /// The whole system with real clients and a real browser
    EndToEnd,
}

/// Runs the wanted steps, or all if none is named. With `again` it ignores [cached results](Cache).
pub fn run(project: &Project, wanted: &[Step], again: bool) -> Result<()> {
    let started = Instant::now();
    setup::prepare(project, Purpose::Compile)?;
    let wanted = if wanted.is_empty() { Step::value_variants() } else { wanted };
    let (cache, programs) = (Cache::new(project, again), Programs::default());
    let total = steps::run(graph(project, &programs, &cache, wanted));
    println!("\n{total} ({:.0} s)", started.elapsed().as_secs_f64());
    if total.failed > 0 {
        bail!("some tests failed");
    }
    Ok(())
}

/// Returns the wanted steps and those that they need. A step that would wait for Cargo's lock waits for the step that
/// holds it, so that the table shows its own time. Tests that mostly wait run in two lanes, Worker then end-to-end and
/// viewer then sources: more browsers and systems at once would answer slowly. CPU-bound tests run beside both.
fn graph<'a>(
    project: &'a Project,
    programs: &'a Programs,
    cache: &'a Cache<'a>,
    wanted: &[Step],
) -> Vec<steps::Step<'a>> {
    use Step::{Clippy, Edge, EndToEnd, Sources, Unit, Viewer, Worker};
    let any = |of: &[Step]| of.iter().any(|step| wanted.contains(step));
    let with_worker = any(&[Edge, Worker, Viewer, EndToEnd]);
    let mut graph = vec![];
    if with_worker || any(&[Unit, Sources]) {
        graph.push(build::set_up(Purpose::Test));
    }
    if with_worker {
        graph.push(build::tools(project));
        graph.extend([build::wasm(project, Purpose::Test), build::edge(project)]);
    }
    if any(&[Clippy, Unit, Sources, EndToEnd]) {
        let compile = steps::Step::new("compile", |out| programs.build(project, out));
        graph.push(compile.after(&["tools"]));
    }
    if any(&[Unit]) {
        let examples = steps::Step::new("doc-tests", |out| programs.doc_tests(project, out));
        graph.push(examples.needs(&["compile"]));
        let patient = steps::Step::new("unit, patient", |out| programs.patient(cache, out));
        graph.push(patient.needs(&["set-up", "compile"]));
    }
    graph
        .extend(wanted.iter().filter(|step| **step != Edge).map(|step| step.check(project, programs, cache)));
    graph
}

impl Step {
    /// Returns the step itself.
    fn check<'a>(
        self,
        project: &'a Project,
        programs: &'a Programs,
        cache: &'a Cache<'a>,
    ) -> steps::Step<'a> {
        type Check<'a> = steps::Step<'a>;
        let node = move |out: &Transcript<'_>, script: &str| {
            let run = || out.count(project.npm()?.args(["run", script]));
            cache.or_run(out, script, (Reads::AllButRust, None), run)
        };
        match self {
            Self::Format => {
                Check::new("format", |out| out.check(project.cargo().args(["fmt", "--all", "--check"])))
            }
            Self::Licences => Check::new("licences", |out| licences(project, out)),
            Self::Clippy => Check::new("clippy", |_| programs.clippy()).needs(&["compile"]),
            // Cargo's lock is free after `doc-tests`.
            Self::Portable => {
                Check::new("portable", |out| portable::check(project, out)).after(&["compile", "doc-tests"])
            }
            Self::Unit => Check::new("unit", |out| programs.unit(cache, out)).needs(&["set-up", "compile"]),
            Self::Sources => Check::new("sources", |out| programs.sources(cache, out))
                .needs(&["set-up", "compile"])
                .after(&["viewer"]),
            Self::Edge => build::edge(project),
            Self::Worker => Check::new("worker", move |out| node(out, "test:worker")).needs(&["edge"]),
            Self::Viewer => Check::new("viewer", move |out| node(out, "test:viewer")).needs(&["edge"]),
            Self::EndToEnd => Check::new("end-to-end", |out| programs.end_to_end(cache, out))
                .needs(&["compile", "edge"])
                .after(&["worker"]),
        }
    }
}

/// Checks the licences, bans and sources of `deny.toml` with cargo-deny. The weekly workflow checks advisories: they
/// need a database from the network, and change while the code does not.
fn licences(project: &Project, out: &Transcript<'_>) -> Result<Tally> {
    let mut deny = project.command(&pinned::cargo_deny(project)?.to_string_lossy());
    out.check(deny.args(["--locked", "check", "bans", "licenses", "sources"]))
}
