//! The memory of a system's processes, minute by minute, and its growth.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use edgezoom_tests::processes;

/// Growth that still counts as flat, in MiB and as a share of the process's memory.
const SLACK: (f64, f64) = (8.0, 0.05);
/// Final share of the time that is judged: before, caches fill up.
const JUDGED: f64 = 2.0 / 3.0;

/// A process's memory in a minute.
#[derive(Clone, Copy)]
struct Sample {
    minute: f64,
    /// Resident memory in MiB.
    rss: f64,
    /// Anonymous part of it: memory that is not backed by files.
    own: f64,
}

/// Samples of all processes by name and id.
#[derive(Default)]
pub struct Watch {
    processes: BTreeMap<(String, u32), Vec<Sample>>,
    minutes: u32,
}

impl Watch {
    /// Samples the processes of the system with this state directory.
    pub fn sample(&mut self, state: &Path, minute: u32) -> Result<()> {
        self.minutes = minute;
        for id in processes::of(state)? {
            let Some((rss, own)) = memory(id) else { continue }; // it has ended
            let sample = Sample { minute: minute.into(), rss, own };
            self.processes.entry((name(id), id)).or_default().push(sample);
        }
        Ok(())
    }

    /// Returns the processes with several samples.
    fn lasting(&self) -> impl Iterator<Item = (&str, &[Sample])> {
        let lasting = self.processes.iter().filter(|(_, samples)| samples.len() > 1);
        lasting.map(|((name, _), samples)| (name.as_str(), samples.as_slice()))
    }

    /// Returns the latest samples in one line.
    pub fn line(&self) -> String {
        let latest = self.processes.iter().filter_map(|((name, _), samples)| {
            let latest = samples.last().filter(|latest| latest.minute == f64::from(self.minutes))?;
            Some(format!("{name} {:.0}/{:.0}", latest.rss, latest.own))
        });
        format!("  resident/anonymous MiB: {}", latest.collect::<Vec<_>>().join(", "))
    }

    /// Returns a table of the growth of each process.
    pub fn verdict(&self) -> String {
        let mut text =
            "| process | anonymous MiB at first | at last | growth | |\n|---|---|---|---|---|\n".to_owned();
        for (name, samples) in self.lasting() {
            let (growth, is_flat) = growth(samples);
            let [first, last] = [samples.first(), samples.last()].map(|at| at.map_or(0.0, |at| at.own));
            let word = if is_flat { "flat" } else { "GROWS" };
            text += &format!("| {name} | {first:.1} | {last:.1} | {growth:+.1} | {word} |\n");
        }
        text
    }

    pub fn is_flat(&self) -> bool {
        self.lasting().all(|(_, samples)| growth(samples).1)
    }
}

/// Returns the growth of a process in MiB in the judged time, and true if that is flat. The slope is the Theil–Sen
/// estimator, which an outlier does not move.
fn growth(samples: &[Sample]) -> (f64, bool) {
    let judged = &samples[(samples.len() as f64 * (1.0 - JUDGED)) as usize..];
    let mut slopes = vec![];
    for (number, a) in judged.iter().enumerate() {
        slopes.extend(judged[number + 1..].iter().map(|b| (b.own - a.own) / (b.minute - a.minute)));
    }
    slopes.sort_by(f64::total_cmp);
    let (Some(slope), Some(first), Some(last)) =
        (slopes.get(slopes.len() / 2), judged.first(), judged.last())
    else {
        return (0.0, true);
    };
    let growth = slope * (last.minute - first.minute);
    (growth, growth <= SLACK.0.max(first.own * SLACK.1))
}

/// Returns the resident memory in MiB, and its anonymous part.
fn memory(id: u32) -> Option<(f64, f64)> {
    // Only root can read more of a service that hides its secrets.
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes / 1024.0)
    };
    Some((field("VmRSS:")?, field("RssAnon:")?))
}

/// Returns the program's name and its subcommand or script.
fn name(id: u32) -> String {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words: Vec<String> =
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let program = words.first().map_or("", |path| path.rsplit('/').next().unwrap_or_default());
    match (program, words.get(1).map(String::as_str)) {
        ("node", Some(script)) => format!("node {}", script.rsplit('/').next().unwrap_or_default()),
        ("tiler" | "xtask" | "xtask-tools" | "exe", Some(word)) => format!("{program} {word}"),
        (program, _) => program.to_owned(),
    }
}
