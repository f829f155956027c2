//! `tiler convert` beside libvips' `dzsave`, which everybody uses: the same picture, the same settings, in turn. Prints
//! medians of wall time, CPU time and peak memory of the largest process, and how ours relate to theirs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use edgezoom_tests::{picture, system};
use wait4::Wait4;

const RUNS: usize = 5;

/// What a run took.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
    peak_mib: f64,
}

/// One of the programs that are compared.
struct Contender {
    name: &'static str,
    command: fn(&Path, &Path) -> Result<Command>,
    costs: Vec<Cost>,
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("photograph.jpg");
    let photograph = picture::photograph(8660, 5774, 50);
    std::fs::write(&source, picture::jpeg(&photograph)?)?;
    drop(photograph);
    println!("a JPEG of 50 megapixels, {:.1} MB; tiles 254+1, Q75", source.metadata()?.len() as f64 / 1e6);
    let mut contenders = [
        Contender { name: "tiler", command: tiler, costs: vec![] },
        Contender { name: "vips", command: vips, costs: vec![] },
    ];
    for run in 0..=RUNS {
        for contender in &mut contenders {
            let output = folder.path().join(format!("{}-{run}", contender.name));
            std::fs::create_dir(&output)?;
            let cost = measure(&mut (contender.command)(&source, &output.join("out"))?)?;
            std::fs::remove_dir_all(&output)?;
            if run > 0 {
                contender.costs.push(cost); // the first one warms up
            }
        }
    }
    println!("          wall s    CPU s  peak MiB");
    let [ours, theirs] = contenders.map(|contender| {
        let cost = contender.median();
        println!("{:6} {:9.2} {:8.2} {:9.0}", contender.name, cost.wall, cost.cpu, cost.peak_mib);
        cost
    });
    let ratios = (ours.wall / theirs.wall, ours.cpu / theirs.cpu, ours.peak_mib / theirs.peak_mib);
    println!("ratio  {:9.2} {:8.2} {:9.2}", ratios.0, ratios.1, ratios.2);
    Ok(())
}

impl Contender {
    fn median(&self) -> Cost {
        let of = |figure: fn(&Cost) -> f64| {
            let mut figures: Vec<f64> = self.costs.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Cost { wall: of(|cost| cost.wall), cpu: of(|cost| cost.cpu), peak_mib: of(|cost| cost.peak_mib) }
    }
}

fn tiler(source: &Path, output: &Path) -> Result<Command> {
    let xtask = system::xtask()?;
    let target = xtask.ancestors().nth(2).context("no target folder")?;
    let mut command = Command::new(target.join("release/tiler"));
    command.arg("convert").arg(source).arg("--output").arg(output);
    command.args(["--tile-size=254", "--overlap=1", "--quality=75"]);
    Ok(command)
}

fn vips(source: &Path, output: &Path) -> Result<Command> {
    let mut command = Command::new("vips");
    command.arg("dzsave").arg(source).arg(output);
    command.args(["--tile-size=254", "--overlap=1", "--suffix=.jpg[Q=75]"]);
    Ok(command)
}

/// Runs a command to its end.
fn measure(command: &mut Command) -> Result<Cost> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let used = child.wait4()?;
    let wall = begun.elapsed();
    ensure!(used.status.success(), "{command:?}: {}", used.status);
    let cpu: Duration = used.rusage.utime + used.rusage.stime;
    let peak_mib = used.rusage.maxrss as f64 / (1 << 20) as f64;
    Ok(Cost { wall: wall.as_secs_f64(), cpu: cpu.as_secs_f64(), peak_mib })
}
