//! Compares `tiler convert` with libvips' `dzsave` on the same pictures and settings, in alternating runs. Prints
//! medians of wall time, CPU time and peak memory, the bytes written, the PSNR of the tiles, and the ratio to the
//! better libvips of each figure.
//!
//! `--quick` runs each case once; `--record` writes the table to `docs/benchmarks`; a word selects cases by name;
//! `--pictures` only makes the pictures; `--kinds` measures every format with noise, text and a photograph; `--wheel`
//! compares the Python package with pyvips and sharp.

mod case;
mod contender;
mod floor;
mod kinds;
mod machine;
mod measure;
mod quality;
mod table;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use case::Case;
use contender::{Contender, Outputs};
use floor::Floors;
use measure::Cost;
use quality::Quality;
use table::Row;

/// The command line.
struct Request {
    quick: bool,
    record: bool,
    pictures: bool,
    kinds: bool,
    wheel: bool,
    /// Part of the names of the cases to run.
    only: Option<String>,
}

fn main() -> Result<()> {
    let request = Request::read(std::env::args().skip(1))?;
    let target = target()?;
    let folder = target.join("bench");
    fs::create_dir_all(folder.join("pictures"))?;
    let contenders =
        if request.wheel { contender::wheels(&target, &folder)? } else { contender::all(&target, &folder)? };
    let cases = match request {
        Request { wheel: true, .. } => kinds::of_wheel(),
        Request { kinds: true, .. } => kinds::all(),
        _ => case::all(),
    };
    let cases: Vec<Case> = cases
        .into_iter()
        .filter(|case| request.only.as_ref().is_none_or(|word| case.name().contains(word.as_str())))
        .collect();
    for case in &cases {
        case.picture.make(&folder.join("pictures"))?;
    }
    if request.pictures {
        return Ok(());
    }
    let outputs = Outputs::new(&folder)?;
    let pictures = folder.join("pictures");
    let mut floors = Floors::new(&pictures);
    let mut report = table::heading(&request.command(), &contenders)?;
    match request {
        Request { wheel: true, .. } => report += table::WHEEL,
        Request { kinds: true, .. } => report += &[table::FIGURES_OF_TILER, table::KINDS].concat(),
        _ => report += table::FIGURES_OF_TILER,
    }
    print!("{report}");
    let mut ratios = <[Vec<f64>; 2]>::default();
    for case in &cases {
        let rows = run(case, &contenders, &folder, &outputs, request.quick)?;
        let text = match request {
            Request { wheel: true, .. } => table::wheel(case, &rows, &mut ratios),
            Request { kinds: true, .. } => table::line(case, &rows, floors.seconds(case)?),
            _ => table::case(case, &rows),
        };
        print!("{text}");
        report += &text;
    }
    if request.wheel {
        let text = table::summary(&mut ratios);
        print!("{text}");
        report += &text;
    }
    if request.record {
        let name = match request {
            Request { wheel: true, .. } => "wheel-results.md",
            Request { kinds: true, .. } => "kinds-results.md",
            _ => "pyramid-results.md",
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks").join(name);
        fs::write(&path, report).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Runs a case: once to warm up and inspect the output, then the contenders in turn. Skips a libvips that cannot read
/// the picture.
fn run(
    case: &Case,
    contenders: &[Contender],
    folder: &Path,
    outputs: &Outputs,
    quick: bool,
) -> Result<Vec<Row>> {
    let pictures = folder.join("pictures");
    let source = case.picture.path(&pictures);
    let convert = |contender: &Contender, look: bool| -> Result<(Cost, Option<Quality>)> {
        let output = outputs.next()?;
        let cost = contender.run(case, &source, &output.path().join("out"))?;
        let reference = case.picture.reference(&pictures);
        let quality = look.then(|| quality::of(reference.as_deref(), output.path(), case)).transpose()?;
        Ok((cost, quality))
    };
    let mut rows = vec![];
    for contender in contenders {
        let (warm, quality) = match convert(contender, true) {
            Err(error) if !contender.is_ours() => {
                eprintln!("bench | skipping {} for {}: {error:#}", contender.name, case.name());
                continue;
            }
            result => result?,
        };
        let costs = if case.runs(quick) == 0 { vec![warm] } else { vec![] };
        rows.push((
            contender,
            Row { name: contender.name.clone(), is_ours: contender.is_ours(), costs, quality },
        ));
    }
    for _ in 0..case.runs(quick) {
        for (contender, row) in &mut rows {
            row.costs.push(convert(contender, false)?.0);
        }
    }
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

impl Request {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut request =
            Self { quick: false, record: false, pictures: false, kinds: false, wheel: false, only: None };
        for argument in arguments {
            match argument.as_str() {
                "--quick" => request.quick = true,
                "--record" => request.record = true,
                "--pictures" => request.pictures = true,
                "--kinds" => request.kinds = true,
                "--wheel" => request.wheel = true,
                "--bench" => {} // Cargo's
                other if other.starts_with('-') => bail!("unknown option {other}"),
                word => request.only = Some(word.to_owned()),
            }
        }
        Ok(request)
    }

    /// Returns the benchmark's name and the options that affect results.
    fn command(&self) -> String {
        let name = if self.wheel { "wheel" } else { "pyramid" };
        let options = [(self.kinds, " --kinds"), (self.quick, " --quick")];
        let given: String =
            options.into_iter().filter(|(is_given, _)| *is_given).map(|(_, name)| name).collect();
        if given.is_empty() { name.to_owned() } else { format!("{name} --{given}") }
    }
}

fn target() -> Result<std::path::PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.ancestors().nth(3).context("the benchmark does not run from a target directory")?.to_owned())
}
