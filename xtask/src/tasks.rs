//! Tasks that prepare and then start a program that does the work: benchmarks, chaos, comparisons, screenshots,
//! Lighthouse, deployment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::build::{self, TILER, TOOLS};
use crate::command;
use crate::project::{Profile, Project};
use crate::release;
use crate::setup::{self, Purpose, pinned};

/// The subject of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// Time from request to ready, phase by phase
    Service,
    /// Requests at rising rates; with `--soak 30m` one rate, and each process's memory
    Load,
    /// `tiler convert` compared with libvips
    Pyramid,
    /// Bytes and likeness of tiles compared with other JPEG encoders
    Quality,
    /// Regions that the Worker renders: CPU, memory, bytes; likeness to what libvips scales
    Regions,
    /// PDF, SVG and web pages compared with other renderers
    Sources,
    /// `tiler convert` with and without the vectors of PDFs
    Vector,
    /// The Worker's answers for finished contents, compared with a minimal Worker in JavaScript
    Worker,
    /// The Python package compared with pyvips and sharp
    Wheel,
}

/// Builds what a benchmark measures, in release profile, and runs the benchmark.
pub fn bench(project: &Project, subject: Subject, options: &[String]) -> Result<()> {
    let run = |name: &str, options: &[String]| {
        let mut bench = project.cargo();
        bench.args(["bench", "--workspace", "--bench", name, "--"]).args(options);
        command::run_shown(&mut bench)
    };
    let (purpose, name) = match subject {
        Subject::Service => (Purpose::BenchService, "service"),
        Subject::Load => (Purpose::BenchService, "load"),
        Subject::Pyramid => (Purpose::BenchPyramid, "pyramid"),
        Subject::Quality => {
            setup::prepare(project, Purpose::BenchPyramid)?;
            return run("quality", options);
        }
        Subject::Regions => {
            setup::prepare(project, Purpose::BenchPyramid)?;
            build::worker_alone(project, Purpose::BenchService)?;
            run("regions", options)?;
            return command::run_shown(project.npm()?.args(["run", "--silent", "bench:regions"]));
        }
        Subject::Sources => (Purpose::BenchSources, "sources"),
        Subject::Vector => (Purpose::BenchSources, "vector"),
        Subject::Worker => {
            build::worker_alone(project, Purpose::BenchService)?;
            return command::run_shown(project.npm()?.args(["run", "--silent", "bench:worker"]));
        }
        Subject::Wheel => {
            setup::prepare(project, Purpose::BenchPyramid)?;
            release::run(project, &release::Options::of_wheel())?;
            return run("pyramid", &[&["--wheel".to_owned()][..], options].concat());
        }
    };
    setup::prepare(project, purpose)?;
    if purpose == Purpose::BenchService {
        build::worker_alone(project, purpose)?;
    }
    build::program(project, TILER, Profile::Release)?;
    if subject == Subject::Service {
        // The pyramid benchmark makes the picture that is downloaded slowly.
        setup::prepare(project, Purpose::BenchPyramid)?;
        run("pyramid", &["--pictures".to_owned(), "216 MP".to_owned()])?;
    }
    run(name, options)
}

/// The options of `cargo xtask chaos`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ChaosOptions {
    /// Seed of the sources and faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of contents to convert
    #[arg(long, default_value_t = 100)]
    contents: usize,
    /// Number of faults
    #[arg(long, default_value_t = 200)]
    faults: usize,
    /// Run the tilers in containers of a stand-in, which hang, are killed or frozen, or do not get their orders
    #[arg(long)]
    containers: bool,
    /// Convert a collection of this number of entries instead, by stand-ins for tilers, and time pictures of people beside it
    #[arg(long, value_name = "ENTRIES", conflicts_with_all = ["contents", "faults", "containers"])]
    collection: Option<usize>,
}

/// Converts contents while processes are killed and requests cut; `tests/src/chaos` does the work, and
/// `edge/tests/batch.test.mjs` for a collection.
pub fn chaos(project: &Project, options: &ChaosOptions) -> Result<()> {
    setup::prepare(project, Purpose::Test)?;
    build::worker_alone(project, Purpose::Test)?;
    if let Some(lines) = options.collection {
        let mut batch = project.node_tool("node")?;
        let plan = format!(r#"{{"seed":{},"lines":{lines},"people":20}}"#, options.seed);
        return command::run_shown(batch.arg("edge/tests/batch.test.mjs").env("EDGEZOOM_BATCH", plan));
    }
    command::run(&mut build::programs(project, &["xtask", TOOLS, TILER], Profile::Dev))?;
    let mut chaos = project.cargo();
    chaos.args(["test", "--workspace", "--test=e2e", "--"]);
    let ChaosOptions { seed, contents, faults, containers, .. } = options;
    let test = if *containers { "containers::by_plan" } else { "chaos::by_plan" };
    chaos.args(["--ignored", "--exact", test, "--nocapture"]);
    chaos.env("EDGEZOOM_CHAOS", format!("{seed},{contents},{faults}"));
    command::run_shown(&mut chaos)
}

/// The subject of a comparison with another program that has no references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Judged {
    /// The words of PDFs, compared with Poppler's
    Words,
    /// The first pages of PDFs, and SVGs, as vectors, drawn by Chromium at four times, compared with the tiles' pixels
    Vectors,
}

/// Compares the PDFs in a folder, and for vectors the SVGs, or those of pdf.js; `tiler/tests/sources/judge.rs` and `vectors/mod.rs` beside it do the work.
pub fn judge(project: &Project, subject: Judged, folder: Option<&Path>) -> Result<()> {
    let test = match subject {
        Judged::Words => "judge::words",
        Judged::Vectors => "vectors::",
    };
    let folder = match folder {
        Some(folder) => folder.canonicalize().with_context(|| format!("there is no {}", folder.display()))?,
        None => pinned::pdfs(project)?,
    };
    setup::prepare(project, Purpose::Test)?;
    let mut judge = project.cargo();
    build::linted(project, &mut judge).args(["test", "--workspace", "--test=sources", "--"]);
    judge.args(["--ignored", test, "--nocapture"]).env("EDGEZOOM_CORPUS", folder);
    command::run_shown(&mut judge)
}

/// Takes screenshots of every page at four widths, light and dark, into `target/shots/`, and checks each with axe-core.
/// `edge/viewer/tests/shots.mjs` lists the states; `states` selects those whose names contain one of these strings.
pub fn shots(project: &Project, states: &[String]) -> Result<()> {
    setup::prepare(project, Purpose::Test)?;
    command::run(project.npm()?.args(["run", "--silent", "build:viewer"]))?;
    let folder = project.target.join("shots");
    let mut shots = project.node_tool("node")?;
    command::run_shown(shots.arg("edge/viewer/tests/shots.mjs").arg(&folder).args(states))?;
    println!("Screenshots are in {}", folder.display());
    Ok(())
}

/// Prints Lighthouse's scores for the service at `url`, and the time that a share page takes to show its picture over a
/// slow connection. Without a URL it starts a service. `edge/viewer/tests/lighthouse/` has its own npm packages.
pub fn lighthouse(project: &Project, url: Option<&str>) -> Result<()> {
    let measure = |url: &str| {
        let folder = project.root.join("edge/viewer/tests/lighthouse");
        let mut npm = project.npm()?;
        command::run(npm.current_dir(&folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
        let mut script = project.node_tool("node")?;
        command::run_shown(script.arg(folder.join("marks.mjs")).env("EDGEZOOM_BASE_URL", url))
    };
    if let Some(url) = url {
        return measure(url);
    }
    build::worker_alone(project, Purpose::Test)?;
    let tiler = build::program(project, TILER, Profile::Dev)?;
    command::run(project.node_tool("node")?.arg("edge/viewer/hero.mjs").arg(tiler))?;
    let mut service = build::tool(project, ["dev", "--built", "--port=0", "--allow-networks=127.0.0.0/8"]);
    let state = project.target.join("lighthouse");
    let mut service = service.arg("--state").arg(state).stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(service.stdout.take().context("the service has no output")?);
    let mut lines = output.lines().map_while(Result::ok);
    let url = lines.find_map(|line| line.strip_prefix("ready: ").map(str::to_owned));
    let result = url.context("the local service did not start").and_then(|url| measure(&url));
    let _ = command::run(Command::new("kill").arg(service.id().to_string())); // its watchdog ends its children
    service.wait()?;
    result
}

/// Builds the Worker and deploys it with `deploy/cloudflare/`, which is JavaScript because Cloudflare's API client and
/// wrangler are.
pub fn deploy(project: &Project, options: &[String]) -> Result<()> {
    if options.iter().any(|option| option == "--help") {
        setup::prepare(project, Purpose::Deploy)?;
    } else {
        build::worker_alone(project, Purpose::Deploy)?;
    }
    cloudflare(project, "deploy", options)
}

/// Removes what [`deploy`] created.
pub fn undeploy(project: &Project, options: &[String]) -> Result<()> {
    setup::prepare(project, Purpose::Deploy)?;
    cloudflare(project, "undeploy", options)
}

fn cloudflare(project: &Project, command: &str, options: &[String]) -> Result<()> {
    let mut node = project.node_tool("node")?;
    command::run_shown(node.args(["deploy/cloudflare/main.mjs", command]).args(options))
}
