//! Measures what the vectors of PDFs cost: `tiler convert --viewer` with and without `--no-vectors` in turn, as a site is
//! written. Prints medians of wall time, CPU time and memory, the bytes, the pages with vectors, and why others have none. Fails
//! if vectors take more than their part of the time.
//!
//! `--quick` runs each document once; `--record` writes the table to `docs/benchmarks`; a word selects documents by name.

#[path = "pyramid/machine.rs"]
mod machine;
#[path = "pyramid/measure.rs"]
mod measure;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use edgezoom_test_support::documents::{manual, paper, plan};

use measure::{Cost, run};

/// A document, with the maximum of its time with vectors as a multiple of that without.
struct Document {
    name: &'static str,
    pages: usize,
    make: fn() -> Vec<u8>,
    most: f64,
}

const DOCUMENTS: [Document; 3] = [
    Document { name: "plan at A0, 3,266 labels", pages: 1, make: || plan(3266), most: 1.5 },
    Document { name: "paper of 12 pages", pages: 12, make: || paper(12), most: 1.5 },
    Document { name: "manual of 300 pages", pages: 300, make: || manual(300), most: 1.3 },
];
/// Number of runs of a document that is converted in less than [`LONG`] seconds, and of others.
const RUNS: usize = 9;
const RUNS_OF_LONG: usize = 3;
const LONG: f64 = 10.0;

const HEADING: &str = "\n\n`tiler convert --viewer` with vectors and, in turn, with `--no-vectors`: medians. The ratio of both times must be at most \
                       the bound. Memory is the sum of all processes' high-water marks. Bytes are those of the SVGs, which a service stores with gzip, \
                       beside those of the tiles.\n\n\
                       | document | wall s | without | ratio | CPU s | without | ratio | bound | peak MiB | without | MB of SVGs | of tiles | pages with vectors |\n\
                       |---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

fn main() -> Result<()> {
    let (mut quick, mut record, mut only) = (false, false, String::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => quick = true,
            "--record" => record = true,
            "--bench" => {} // Cargo's
            other if other.starts_with('-') => bail!("unknown option {other}"),
            word => only = word.to_owned(),
        }
    }
    let mut report = format!("# `cargo xtask bench vector`\n\n{}{HEADING}", machine::machine()?);
    print!("{report}");
    // In memory, so that no disk is measured.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let tiler = Tiler::new(folder.path())?;
    let mut reasons = String::new();
    let mut missed = Vec::new();
    for document in DOCUMENTS.iter().filter(|document| document.name.contains(&only)) {
        let measured = measure(&tiler, document, quick)?;
        print!("{}", measured.line);
        report += &measured.line;
        for (reason, pages) in &measured.reasons {
            let _ = writeln!(reasons, "- {}: {pages} pages have no vectors: {reason}.", document.name);
        }
        if !measured.holds {
            missed.push(document.name);
        }
    }
    if !reasons.is_empty() {
        report += &format!("\n{reasons}");
        print!("\n{reasons}");
    }
    if record {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/vector-results.md");
        fs::write(&path, report).with_context(|| path.display().to_string())?;
    }
    ensure!(missed.is_empty(), "vectors take too long: {missed:?}");
    Ok(())
}

/// The measurements of a document.
struct Measured {
    line: String,
    /// The number of pages that have no vectors for each reason.
    reasons: BTreeMap<String, usize>,
    holds: bool,
}

fn measure(tiler: &Tiler, document: &Document, quick: bool) -> Result<Measured> {
    let source = tiler.folder.join("source.pdf");
    fs::write(&source, (document.make)())?;
    // The first runs warm up, and say what is written.
    let (reasons, [tiles, svgs], pages) = tiler.look(&source)?;
    let first = tiler.convert(&source, true)?;
    let runs = match first.wall {
        _ if quick => 1,
        wall if wall < LONG => RUNS,
        _ => RUNS_OF_LONG,
    };
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (costs, has_vectors) in costs.iter_mut().zip([true, false]) {
            costs.push(tiler.convert(&source, has_vectors)?);
        }
    }
    let figure = |of: fn(&Cost) -> f64| costs.each_ref().map(|costs| median(costs, of));
    let [wall, cpu, peak] = [figure(|cost| cost.wall), figure(|cost| cost.cpu), figure(|cost| cost.peak_mib)];
    let ratios = [wall, cpu].map(|[with, without]| with / without);
    let line = format!(
        "| {} | {:.2} | {:.2} | **{:.2}** | {:.2} | {:.2} | **{:.2}** | {} | {:.0} | {:.0} | {:.2} | {:.2} | {pages} of {} |\n",
        document.name,
        wall[0],
        wall[1],
        ratios[0],
        cpu[0],
        cpu[1],
        ratios[1],
        document.most,
        peak[0],
        peak[1],
        svgs as f64 / 1e6,
        tiles as f64 / 1e6,
        document.pages,
    );
    Ok(Measured { line, reasons, holds: ratios.iter().all(|&ratio| ratio <= document.most) })
}

fn median(costs: &[Cost], figure: fn(&Cost) -> f64) -> f64 {
    let mut figures: Vec<f64> = costs.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The tiler, and the folder of its sources and output.
struct Tiler<'a> {
    program: PathBuf,
    folder: &'a Path,
}

impl<'a> Tiler<'a> {
    /// Finds the program that `cargo xtask bench vector` has built. The page that it writes needs no viewer.
    fn new(folder: &'a Path) -> Result<Self> {
        let program = std::env::current_exe()?;
        let target =
            program.ancestors().nth(3).context("the benchmark does not run from a target directory")?;
        let program = target.join("release/tiler");
        ensure!(program.exists(), "{} is missing; run `cargo xtask bench vector`", program.display());
        fs::create_dir(folder.join("viewer"))?;
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../edge/viewer/site/index.html");
        fs::copy(page, folder.join("viewer/index.html"))?;
        for name in ["viewer.js", "viewer.css"] {
            fs::write(folder.join("viewer").join(name), "")?;
        }
        Ok(Self { program, folder })
    }

    fn command(&self, source: &Path, has_vectors: bool) -> Command {
        let mut command = Command::new(&self.program);
        command.env("EDGEZOOM_VIEWER", self.folder.join("viewer")).env_remove("RUST_LOG");
        command.arg("convert").arg(source).arg("--output").arg(self.folder.join("site/out")).arg("--viewer");
        if !has_vectors {
            command.arg("--no-vectors");
        }
        command
    }

    fn convert(&self, source: &Path, has_vectors: bool) -> Result<Cost> {
        let (cost, _) = run(&mut self.command(source, has_vectors))?;
        fs::remove_dir_all(self.folder.join("site"))?;
        Ok(cost)
    }

    /// Converts a document with vectors. Returns the reasons of pages without, the bytes of tiles and SVGs, and the number of SVGs.
    fn look(&self, source: &Path) -> Result<(BTreeMap<String, usize>, [u64; 2], usize)> {
        let mut command = self.command(source, true);
        let output = command.env("RUST_LOG", "edgezoom_tiler=debug").output()?;
        ensure!(output.status.success(), "{command:?}: {}", output.status);
        let mut reasons = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            if let Some((_, reason)) = line.split_once("a page has no vectors") {
                let reason = reason.split('"').nth(1).unwrap_or(reason).to_owned();
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let (mut bytes, mut pages) = ([0; 2], 0);
        let mut folders = vec![self.folder.join("site")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let is_svg = path.extension().is_some_and(|ending| ending == "svg");
                if path.is_dir() {
                    folders.push(path);
                } else {
                    bytes[usize::from(is_svg)] += path.metadata()?.len();
                    pages += usize::from(is_svg);
                }
            }
        }
        fs::remove_dir_all(self.folder.join("site"))?;
        Ok((reasons, bytes, pages))
    }
}
