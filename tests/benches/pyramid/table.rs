//! The results as Markdown.

use std::fmt::Write as _;

use anyhow::Result;

use crate::case::Case;
use crate::contender::Contender;
use crate::machine::machine;
use crate::measure::Cost;
use crate::quality::Quality;

/// A contender's runs of a case.
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

/// Returns the heading of all results.
pub fn heading(command: &str, contenders: &[Contender]) -> Result<String> {
    let names: Vec<&str> = contenders.iter().map(|contender| contender.name.as_str()).collect();
    let (machine, names) = (machine()?, names.join(", "));
    Ok(format!("# `cargo xtask bench {command}`\n\n{machine}\n\n{names}. Medians of alternating runs."))
}

/// Continues the heading of all results but [`WHEEL`].
pub const FIGURES_OF_TILER: &str = " Memory is the sum of all processes' high-water marks, for pyvips with its interpreter. The ratio compares \
                                    the tiler with the better libvips of each figure; for PSNR it is the difference.\n";

/// Heading of the lines of [`line`].
pub const KINDS: &str = "\n50 megapixels, tiles 254+1 unless named, Q75. \"noise\": of all scales, independent in each channel; \"text\": small characters on white; \
                         \"photograph\": a garden, from Debian's mate-backgrounds. The floor is the time that the usual libraries need to decode \
                         the source once and to encode 4/3 of its pixels, on all cores if the format allows, relative to libvips' wall time.\n\n\
                         | | wall s | libvips | ratio | floor | CPU s | libvips | ratio | peak MiB | libvips | ratio |\n\
                         |---|---|---|---|---|---|---|---|---|---|---|\n";

/// Returns a case in one line, with its floor in seconds.
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

/// Heading of the lines of [`wheel`].
pub const WHEEL: &str = "\n\n50 megapixels, Q75; each run is a process of its own, without its start and imports. sharp has two threads and no \
                         optimised Huffman tables, its fastest setting. The ratio compares with the better of both in each figure.\n\n\
                         | | wall s | pyvips | sharp | ratio | CPU s | pyvips | sharp | ratio |\n\
                         |---|---|---|---|---|---|---|---|---|\n";

/// Returns a case of the Python package in one line, and adds its ratios of wall and CPU time.
pub fn wheel(case: &Case, rows: &[Row], ratios: &mut [Vec<f64>; 2]) -> String {
    let mut text = format!("| {} |", case.name().trim_end_matches(", Q75"));
    for (figure, ratios) in FIGURES.into_iter().zip(ratios) {
        let Some((ours, theirs)) = rows.split_first() else { return text };
        let ratio = ours.median(figure) / best(rows, figure);
        let _ = write!(text, " {:.2} |", ours.median(figure));
        theirs.iter().for_each(|row| text += &format!(" {:.2} |", row.median(figure)));
        let _ = write!(text, " **{ratio:.2}** |");
        ratios.push(ratio);
    }
    text + "\n"
}

/// Returns the medians and ranges of ratios.
pub fn summary(ratios: &mut [Vec<f64>; 2]) -> String {
    let [wall, cpu] = ratios.each_mut().map(|ratios| {
        ratios.sort_by(f64::total_cmp);
        let at = |index: usize| ratios.get(index).copied().unwrap_or(f64::NAN);
        let last = ratios.len().saturating_sub(1);
        format!("{:.2} ({:.2} to {:.2})", (at(last / 2) + at(last.div_ceil(2))) / 2.0, at(0), at(last))
    });
    format!("\nRatios, median and range: wall {wall}, CPU {cpu}.\n")
}

const FIGURES: [fn(&Cost) -> f64; 3] = [|cost| cost.wall, |cost| cost.cpu, |cost| cost.peak_mib];

/// Returns the better libvips' figure.
fn best(rows: &[Row], figure: fn(&Cost) -> f64) -> f64 {
    let theirs = rows.iter().filter(|row| !row.is_ours);
    theirs.map(|row| row.median(figure)).fold(f64::INFINITY, f64::min)
}

/// Returns the table of a case.
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
    // The newest libvips comes last; their tiles hardly differ.
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
