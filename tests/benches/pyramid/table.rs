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
pub fn heading(quick: bool, contenders: &[Contender]) -> Result<String> {
    let names: Vec<&str> = contenders.iter().map(|contender| contender.name.as_str()).collect();
    Ok(format!(
        "# `cargo xtask bench pyramid`{}\n\n{}\n\n{}. Medians of runs in turn. Memory is each process's highest mark, \
         summed up; that of pyvips has its interpreter in it. The ratio is ours to the better libvips, which is looked \
         for figure by figure; for PSNR it is the difference.\n",
        if quick { ", quick" } else { "" },
        machine::describe()?,
        names.join(", "),
    ))
}

/// A case's table.
pub fn case(case: &Case, rows: &[Row]) -> String {
    let mut text = format!("\n## {}\n\n", case.name());
    text += "| | wall s | CPU s | peak MiB | files | MB | PSNR dB |\n|---|---|---|---|---|---|---|\n";
    let figures: [fn(&Cost) -> f64; 3] = [|cost| cost.wall, |cost| cost.cpu, |cost| cost.peak_mib];
    for row in rows {
        let [wall, cpu, peak] = figures.map(|figure| row.median(figure));
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
    let theirs: Vec<&Row> = rows.iter().filter(|row| !row.is_ours).collect();
    let ratio = |figure: fn(&Cost) -> f64| {
        let best = theirs.iter().map(|row| row.median(figure)).fold(f64::INFINITY, f64::min);
        ours.median(figure) / best
    };
    let [wall, cpu, peak] = figures.map(ratio);
    let _ = write!(text, "| **ratio** | **{wall:.2}** | **{cpu:.2}** | **{peak:.2}** | |");
    // Of several libvips the newest comes last; their tiles hardly differ.
    if let (Some(ours), Some(theirs)) = (ours.quality, theirs.last().and_then(|row| row.quality)) {
        let psnr = ours
            .psnr
            .zip(theirs.psnr)
            .map_or("—".into(), |(ours, theirs)| format!("{:+.2}", ours - theirs));
        let _ = write!(text, " **{:.3}** | **{psnr}** |", ours.megabytes / theirs.megabytes);
    }
    text + "\n"
}
