//! `cargo xtask test`: all tests and checks. The steps and their builds form one graph: the Worker and its tests in
//! Node.js do not wait for native programs, nor for each other's failures. When all have ended, failed tests that may be
//! flaky run once more; the last lines say what failed.

pub mod arm64;
mod cache;
mod events;
mod portable;
mod processes;
mod report;
mod rust;
mod session;
mod suite;

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::build;
use crate::command;
use crate::project::Project;
use crate::setup::{self, Purpose, pinned};
use crate::steps::{self, Tally, Transcript};
use cache::Cache;
use report::Report;
use rust::{Judges, Programs};
use session::{Session, Tokens, node_files};

/// The steps that can be selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Formatting of Rust
    Format,
    /// Licences and sources of dependencies
    Licences,
    /// Clippy
    Clippy,
    /// The engine on other systems: it compiles for macOS and Windows. It takes two minutes of processor time, so it runs
    /// on request and in the workflow `tests`
    Portable,
    /// Unit and property tests, and examples in the documentation
    Unit,
    /// PDF, SVG and web pages compared with other renderers
    Sources,
    /// The Python package
    Python,
    /// The Worker's build and size
    Edge,
    /// The Worker's tests in the Workers runtime
    Worker,
    /// Viewer, embeds and pages in a real browser
    Viewer,
    /// The whole system with real clients and a real browser
    EndToEnd,
}

/// The options of `cargo xtask test`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// The steps to run [default: all but `portable`]
    #[arg(value_enum)]
    steps: Vec<Step>,
    /// Ignore cached results
    #[arg(long)]
    again: bool,
    /// Run one test, by the name that a run prints
    #[arg(long, value_name = "TEST")]
    only: Option<String>,
    /// Fail if any test is flaky
    #[arg(long)]
    strict: bool,
    /// Compare with what the programs make today that made the committed references; nothing else runs
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = "compare", require_equals = true)]
    judges: Option<Judges>,
}

/// Runs the wanted steps. If everything passes, the work tree is clean and no step was left out, writes the commit to
/// `target/green`.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let started = Instant::now();
    setup::prepare(project, Purpose::Compile)?;
    let usual: Vec<Step> =
        Step::value_variants().iter().copied().filter(|step| *step != Step::Portable).collect();
    let wanted = if options.steps.is_empty() { &usual } else { &options.steps };
    let commit = clean_commit(project);
    let session = Session {
        project,
        cache: Cache::new(project, options.again),
        report: Report::new(project),
        tokens: Tokens::for_machine(),
        only: options.only.clone(),
    };
    let programs = Programs::default();
    let graph = match options.judges {
        Some(judges) => judging(&session, &programs, judges),
        None => graph(&session, &programs, wanted),
    };
    let mut results = steps::run(graph, &project.logs());
    session.report.look_again(project, &mut results)?;
    session.report.write_flaky(project)?;
    let total = results.total();
    results.print();
    print!("{}", session.report.summary(project, &results));
    println!("\n{:.0} s", started.elapsed().as_secs_f64());
    let is_too_flaky = session.report.is_too_flaky(options.strict);
    if is_too_flaky {
        println!("too many tests are flaky");
    }
    let is_green = total.failed == 0 && !is_too_flaky;
    if let Some(commit) = commit
        .filter(|commit| is_green && options.is_whole() && clean_commit(project).as_ref() == Some(commit))
    {
        std::fs::write(project.target.join("green"), commit)?;
    }
    println!("{total}");
    if let Some(only) = options.only.as_ref().filter(|_| session.report.tests() == 0) {
        bail!("no test of these steps is called {only}");
    }
    if !is_green {
        bail!("some tests failed");
    }
    Ok(())
}

impl Options {
    /// Returns true if nothing is left out.
    fn is_whole(&self) -> bool {
        self.steps.is_empty() && self.only.is_none() && self.judges.is_none()
    }
}

/// Returns the commit of the work tree, if nothing in that differs.
fn clean_commit(project: &Project) -> Option<String> {
    let git = |arguments: &[&str]| {
        command::output(project.command("git").args(arguments).stderr(Stdio::null())).ok()
    };
    git(&["status", "--porcelain"])?.is_empty().then(|| git(&["rev-parse", "HEAD"]))?
}

/// Returns the steps that compare with living programs.
fn judging<'a>(session: &'a Session<'a>, programs: &'a Programs, judges: Judges) -> Vec<steps::Step<'a>> {
    let run = move |out: &Transcript<'_>| session.run("judges", &programs.judges(judges), out);
    vec![
        build::set_up(Purpose::Test),
        steps::Step::new("compile", |out| programs.build(session.project, out)),
        steps::Step::new("judges", run).needs(&["set-up", "compile"]),
    ]
}

/// Returns the wanted steps and those that they need. A step that would wait for Cargo's lock waits for the step that
/// holds it, so that the table shows its own time.
fn graph<'a>(session: &'a Session<'a>, programs: &'a Programs, wanted: &[Step]) -> Vec<steps::Step<'a>> {
    let project = session.project;
    use Step::{Clippy, Edge, EndToEnd, Python, Sources, Unit, Viewer, Worker};
    let any = |of: &[Step]| of.iter().any(|step| wanted.contains(step));
    let with_worker = any(&[Edge, Worker, Viewer, EndToEnd]);
    let mut graph = vec![];
    if with_worker || any(&[Unit, Sources, Python]) {
        graph.push(build::set_up(Purpose::Test));
    }
    if with_worker {
        graph.push(build::tools(project));
        graph.extend([build::wasm(project, Purpose::Test), build::edge(project)]);
    }
    if any(&[Clippy, Unit, Sources, Python, EndToEnd]) {
        let compile = steps::Step::new("compile", |out| programs.build(project, out));
        graph.push(compile.after(&["tools"]));
    }
    if any(&[Unit]) {
        let examples = steps::Step::new("doc-tests", |out| programs.doc_tests(project, out));
        graph.push(examples.needs(&["compile"]));
        let patient =
            steps::Step::new("unit, patient", |out| session.run("unit, patient", &programs.patient(), out));
        graph.push(patient.needs(&["set-up", "compile"]));
    }
    graph.extend(wanted.iter().filter(|step| **step != Edge).map(|step| step.check(session, programs)));
    graph
}

impl Step {
    /// Returns the step itself.
    fn check<'a>(self, session: &'a Session<'a>, programs: &'a Programs) -> steps::Step<'a> {
        type Check<'a> = steps::Step<'a>;
        let project = session.project;
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
            Self::Unit => Check::new("unit", |out| session.run("unit", &programs.unit(), out))
                .needs(&["set-up", "compile"]),
            Self::Sources => Check::new("sources", |out| session.run("sources", &programs.sources(), out))
                .needs(&["set-up", "compile"]),
            Self::Python => Check::new("python", |out| session.run("python", &programs.python(), out))
                .needs(&["set-up", "compile"]),
            Self::Edge => build::edge(project),
            Self::Worker => Check::new("worker", |out| {
                let files = [node_files(project, "edge/tests")?, node_files(project, "deploy/tests")?];
                session.run("worker", &files.concat(), out)
            })
            .needs(&["edge"]),
            Self::Viewer => Check::new("viewer", |out| {
                let files =
                    [node_files(project, "edge/viewer/tests")?, node_files(project, "engine/python/tests")?];
                session.run("viewer", &files.concat(), out)
            })
            .needs(&["edge"]),
            Self::EndToEnd => {
                Check::new("end-to-end", |out| session.run("end-to-end", &programs.end_to_end(), out))
                    .needs(&["compile", "edge"])
            }
        }
    }
}

/// Checks the licences, bans and sources of `deny.toml` with cargo-deny. The weekly workflow checks advisories: they
/// need a database from the network, and change while the code does not.
fn licences(project: &Project, out: &Transcript<'_>) -> Result<Tally> {
    let mut deny = project.command(&pinned::cargo_deny(project)?.to_string_lossy());
    out.check(deny.args(["--locked", "check", "bans", "licenses", "sources"]))
}
