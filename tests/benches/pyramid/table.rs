//! The results, as Markdown.

use std::fmt::Write as _;

use anyhow::Result;

use crate::case::Case;
use crate::contender::Contender;
use crate::machine;
use crate::measure::Cost;
use crate::quality::Quality;

/// One contender's runs of a case.
pub struct Row {
    pub name: String,
    pub is_ours: bool,
    pub costs: Vec<Cost>,
    pub quality: Option<Quality>,
}

impl Row {
    fn median(&self, figure: impl Fn(&Cost) -> f64) -> f64 {
        let mut figures: Vec<f64> = self.costs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// What stands above all cases.
pub fn heading(options: &str, contenders: &[Contender]) -> Result<String> {
    let names: Vec<&str> = contenders.iter().map(|contender| contender.name.as_str()).collect();
    Ok(format!(
        "# `cargo xtask bench pyramid{options}`\n\n{}\n\n{}. Medians of runs in turn. Memory is each process's highest mark, \
         summed up; that of pyvips has its interpreter in it. The ratio is ours to the better libvips, which is looked \
         for figure by figure; for PSNR it is the difference.\n",
        machine::describe()?,
        names.join(", "),
    ))
}

/// What stands above the lines of [`line`].
pub const KINDS: &str = "\n50 megapixels, tiles 254+1, Q75. \"noise\": of all scales, each colour for itself; \"text\": small characters on white; \
                         \"photograph\": of a garden, from Debian's mate-backgrounds. The floor is what the usual libraries take to decode \
                         the source once and to encode 4/3 of its pixels, on all cores where the format lets them, beside libvips' wall time.\n\n\
                         | | wall s | libvips | ratio | floor | CPU s | libvips | ratio | peak MiB | libvips | ratio |\n\
                         |---|---|---|---|---|---|---|---|---|---|---|\n";

/// A case in one line, with the seconds that it takes at least.
pub fn line(case: &Case, rows: &[Row], floor: f64) -> String {
    let name = format!("{}{}", case.picture.content.name(), case.picture.name);
    let mut text = format!("| {name} |");
    let Some(ours) = rows.iter().find(|row| row.is_ours) else { return text };
    for ((figure, digits), floor) in FIGURES.into_iter().zip([2, 2, 0]).zip([Some(floor), None, None]) {
        let (ours, best) = (ours.median(figure), best(rows, figure));
        let _ = write!(text, " {ours:.digits$} | {best:.digits$} | **{:.2}** |", ours / best);
        text += &floor.map_or(String::new(), |floor| format!(" {:.2} |", floor / best));
    }
    text + "\n"
}

const FIGURES: [fn(&Cost) -> f64; 3] = [|cost| cost.wall, |cost| cost.cpu, |cost| cost.peak_mib];

/// The better libvips' figure.
fn best(rows: &[Row], figure: fn(&Cost) -> f64) -> f64 {
    let theirs = rows.iter().filter(|row| !row.is_ours);
    theirs.map(|row| row.median(figure)).fold(f64::INFINITY, f64::min)
}

/// A case's table.
pub fn case(case: &Case, rows: &[Row]) -> String {
    let mut text = format!("\n## {}\n\n", case.name());
    text += "| | wall s | CPU s | peak MiB | files | MB | PSNR dB |\n|---|---|---|---|---|---|---|\n";
    for row in rows {
        let [wall, cpu, peak] = FIGURES.map(|figure| row.median(figure));
        let _ = write!(text, "| {} | {wall:.2} | {cpu:.2} | {peak:.0} |", row.name);
        let _ = match row.quality {
            Some(Quality { files, megabytes, psnr }) => {
                let psnr = psnr.map_or("—".into(), |psnr| format!("{psnr:.2}"));
                writeln!(text, " {files} | {megabytes:.1} | {psnr} |")
            }
            None => writeln!(text, " | | |"),
        };
    }
    let Some(ours) = rows.iter().find(|row| row.is_ours) else { return text };
    let [wall, cpu, peak] = FIGURES.map(|figure| ours.median(figure) / best(rows, figure));
    let _ = write!(text, "| **ratio** | **{wall:.2}** | **{cpu:.2}** | **{peak:.2}** | |");
    // Of several libvips the newest comes last; their tiles hardly differ.
    let theirs = rows.iter().rfind(|row| !row.is_ours);
    if let (Some(ours), Some(theirs)) = (ours.quality, theirs.and_then(|row| row.quality)) {
        let psnr = ours
            .psnr
            .zip(theirs.psnr)
            .map_or("—".into(), |(ours, theirs)| format!("{:+.2}", ours - theirs));
        let _ = write!(text, " **{:.3}** | **{psnr}** |", ours.megabytes / theirs.megabytes);
    }
    text + "\n"
}
