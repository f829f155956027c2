//! The memory of every process of a system, minute by minute, and whether it grows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use edgezoom_tests::processes;

/// How much a process may grow in the time that is judged, and still count as flat, in MiB and as a share of what it has.
const SLACK: (f64, f64) = (8.0, 0.05);
/// The part of the time that is judged, which is the last one: caches fill up before.
const JUDGED: f64 = 2.0 / 3.0;

/// What a process had at a minute.
#[derive(Clone, Copy)]
struct Sample {
    minute: f64,
    /// Resident, in MiB.
    rss: f64,
    /// Of that, what no other process can share: pages of programs are counted by none.
    own: f64,
}

/// All processes, by what they are and their numbers.
#[derive(Default)]
pub struct Watch {
    processes: BTreeMap<(String, u32), Vec<Sample>>,
    minutes: u32,
}

impl Watch {
    /// Notes what the processes of the system have now that keeps its state there.
    pub fn look(&mut self, state: &Path, minute: u32) -> Result<()> {
        self.minutes = minute;
        for id in processes::of(state)? {
            let Some((rss, own)) = memory(id) else { continue }; // it has ended
            let sample = Sample { minute: minute.into(), rss, own };
            self.processes.entry((name(id), id)).or_default().push(sample);
        }
        Ok(())
    }

    /// Those that run from one look to the next.
    fn lasting(&self) -> impl Iterator<Item = (&str, &[Sample])> {
        let lasting = self.processes.iter().filter(|(_, samples)| samples.len() > 1);
        lasting.map(|((name, _), samples)| (name.as_str(), samples.as_slice()))
    }

    /// What each has now.
    pub fn line(&self) -> String {
        let latest = self.processes.iter().filter_map(|((name, _), samples)| {
            let latest = samples.last().filter(|latest| latest.minute == f64::from(self.minutes))?;
            Some(format!("{name} {:.0}/{:.0}", latest.rss, latest.own))
        });
        format!("  RSS, and its own of it, in MiB: {}", latest.collect::<Vec<_>>().join(", "))
    }

    /// By how much each grew, and whether that is flat.
    pub fn verdict(&self) -> String {
        let mut text =
            "| process | own at first, MiB | at last | growth | |\n|---|---|---|---|---|\n".to_owned();
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

/// By how many MiB a process grew in the time that is judged, and whether that is flat. The slope is the median of those
/// between any two samples (Theil and Sen), which one outlier does not move.
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

/// Resident memory, whole and without files.
fn memory(id: u32) -> Option<(f64, f64)> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes / 1024.0)
    };
    Some((field("Rss:")?, field("Anonymous:")?))
}

/// The program, and what it was asked to do.
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
