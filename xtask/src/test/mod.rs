//! `cargo xtask test`: everything that tells whether the work is good. The steps and what they build are one graph: the
//! Worker and its tests in Node do not wait for the native programs, nor for each other's failures.

mod kept;
mod rust;

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;

use crate::build;
use crate::command;
use crate::project::Project;
use crate::setup::{self, Purpose};
use crate::steps::{self, Tally, Transcript};
use kept::{Kept, Reads};
use rust::Programs;

/// The steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Rust is formatted
    Format,
    /// Licences of all dependencies, and advisories about them
    Licences,
    /// Clippy
    Clippy,
    /// Unit and property tests, and the examples in the documentation
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

/// Runs `steps`; all of them when none is named. With `again` no result is taken that was [kept](Kept).
pub fn run(project: &Project, wanted: &[Step], again: bool) -> Result<()> {
    let started = Instant::now();
    setup::prepare(project, Purpose::Compile)?;
    let wanted = if wanted.is_empty() { Step::value_variants() } else { wanted };
    let (kept, programs) = (Kept::new(project, again), Programs::default());
    let total = steps::run(graph(project, &programs, &kept, wanted));
    println!("\n{total} ({:.0} s)", started.elapsed().as_secs_f64());
    if total.failed > 0 {
        bail!("not everything passed");
    }
    Ok(())
}

/// The wanted steps and those that they need. A step that would wait for Cargo's lock waits for the step that has it, so
/// that its time is its own. Tests that mostly wait run in two lanes, the Worker's before the whole system's and the viewer's
/// before those of sources: more browsers and systems at once would be slow to answer. Beside them runs
/// what needs the processor.
fn graph<'a>(
    project: &'a Project,
    programs: &'a Programs,
    kept: &'a Kept<'a>,
    wanted: &[Step],
) -> Vec<steps::Step<'a>> {
    use Step::{Clippy, Edge, EndToEnd, Licences, Sources, Unit, Viewer, Worker};
    let any = |of: &[Step]| of.iter().any(|step| wanted.contains(step));
    let with_worker = any(&[Edge, Worker, Viewer, EndToEnd]);
    let mut graph = vec![];
    if with_worker || any(&[Unit, Sources]) {
        graph.push(build::set_up(Purpose::Test));
    }
    if with_worker || any(&[Licences]) {
        graph.push(build::tools(project));
    }
    if with_worker {
        graph.extend([build::wasm(project), build::edge(project)]);
    }
    if any(&[Clippy, Unit, Sources, EndToEnd]) {
        let compile = steps::Step::new("compile", |out| programs.build(project, out));
        graph.push(compile.after(&["tools"]));
    }
    if any(&[Unit]) {
        let examples = steps::Step::new("doc-tests", |out| programs.doc_tests(project, out));
        graph.push(examples.needs(&["compile"]));
        let patient = steps::Step::new("unit, patient", |out| programs.patient(kept, out));
        graph.push(patient.needs(&["set-up", "compile"]));
    }
    graph.extend(wanted.iter().filter(|step| **step != Edge).map(|step| step.check(project, programs, kept)));
    graph
}

impl Step {
    /// The check itself.
    fn check<'a>(self, project: &'a Project, programs: &'a Programs, kept: &'a Kept<'a>) -> steps::Step<'a> {
        type Check<'a> = steps::Step<'a>;
        let node = move |out: &Transcript<'_>, script: &str| {
            let run = || out.count(project.npm()?.args(["run", script]));
            kept.or_run(out, script, (Reads::AllButRust, None), run)
        };
        match self {
            Self::Format => {
                Check::new("format", |out| out.check(project.cargo().args(["fmt", "--all", "--check"])))
            }
            Self::Licences => Check::new("licences", |out| licences(project, out)).needs(&["tools"]),
            Self::Clippy => Check::new("clippy", |_| clippy(project, programs)).needs(&["compile"]),
            Self::Unit => Check::new("unit", |out| programs.unit(kept, out)).needs(&["set-up", "compile"]),
            Self::Sources => Check::new("sources", |out| programs.sources(kept, out))
                .needs(&["set-up", "compile"])
                .after(&["viewer"]),
            Self::Edge => build::edge(project),
            Self::Worker => Check::new("worker", move |out| node(out, "test:worker")).needs(&["edge"]),
            Self::Viewer => Check::new("viewer", move |out| node(out, "test:viewer")).needs(&["edge"]),
            Self::EndToEnd => Check::new("end-to-end", |out| programs.end_to_end(kept, out))
                .needs(&["compile", "edge"])
                .after(&["worker"]),
        }
    }
}

/// Fails when Clippy had something to say. It looks at what is compiled natively, and that is all: the Worker's crates have no
/// code for WebAssembly alone, as is checked here too. Another run of Clippy, for that target, would check the Worker's
/// dependencies once more.
fn clippy(project: &Project, programs: &Programs) -> Result<Tally> {
    let mut grep = project.command("grep");
    let hidden =
        command::succeeds(grep.args(["-rqE", r"cfg.*target_(arch|family|os)", "content/src", "edge/src"]));
    ensure!(!hidden, "Clippy does not see the Worker's code for one target alone: lint that target too");
    programs.clippy()
}

/// cargo-deny checks all of `deny.toml`. Installing it takes minutes, so without it tools of our own look at licences and
/// advisories. Where the database of advisories cannot be had, that is said: a machine without a network is no fault.
fn licences(project: &Project, out: &Transcript<'_>) -> Result<Tally> {
    let database = setup::advisories::bring(project);
    if let Err(error) = &database {
        out.line(format!("ADVISORIES ARE NOT CHECKED: {error:#}").as_bytes());
    }
    if command::succeeds(project.cargo().args(["deny", "--version"])) {
        let mut check = project.cargo();
        check.args(["deny", "check", "bans", "licenses", "sources"]);
        return out.check(check.args(database.is_ok().then_some("advisories")));
    }
    out.line(b"cargo-deny is not installed: tools of our own check licences and advisories");
    let licences = out.check(&mut build::tool(project, ["licences"]))?;
    let Ok(database) = database else { return Ok(licences) };
    Ok(licences + out.check(&mut build::tool(project, ["advisories".as_ref(), database.as_os_str()]))?)
}
