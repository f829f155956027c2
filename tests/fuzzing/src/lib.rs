//! A short hunt for inputs that a parser does not stand. Each crate lists its parsers in a module `fuzz`: functions
//! that take bytes, and panic when something does not hold. Its tests give them changed inputs for a moment; the
//! programs in `fuzz/` are the same functions under libFuzzer, which finds its inputs by what of the code they reach
//! (see CONTRIBUTING.md).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod deadline;
mod mutate;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deadline::Deadline;
use fastrand::Rng;
pub use mutate::mutate;

/// A parser.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its program in `fuzz/fuzz_targets/` too.
    pub name: &'static str,
    /// Parses the bytes. Panics when it should not have come to what it did.
    pub run: fn(&[u8]),
    /// Inputs that are well-formed, and those that once were not stood. The others are made of them.
    pub seeds: &'static [&'static [u8]],
}

/// Time for each parser, unless `EDGEZOOM_FUZZ_SECONDS` is set.
const TIME: Duration = Duration::from_millis(250);
/// Time limit of one input. Each takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(20);
/// However slow the machine is, so many inputs are tried.
const FEWEST: u64 = 50;

/// Gives each parser its seeds, what libFuzzer has found if that is there, and changed inputs for a moment.
///
/// # Panics
/// A parser does not stand an input, or has no program for libFuzzer.
pub fn hunt(targets: &[Target]) {
    for target in targets {
        hunt_one(target);
    }
}

/// The value of a variable of the environment.
///
/// # Panics
/// It is no number.
#[must_use]
pub fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

fn hunt_one(target: &Target) {
    for (file, entry) in [
        ("Cargo.toml", format!("name = {:?}", target.name)),
        ("targets.rs", format!("b{:?} =>", target.name)),
    ] {
        let text = fs::read_to_string(fuzz_folder().join(file)).unwrap();
        assert!(text.contains(&entry), "add a line with `{entry}` to fuzz/{file}");
    }
    if std::env::var_os("EDGEZOOM_FUZZ_SEEDS").is_some() {
        write_seeds(target);
    }
    let deadline = Deadline::new(PATIENCE);
    let found =
        ["corpus", "artifacts"].map(|kind| files(&fuzz_folder().join(kind).join(target.name))).concat();
    let seeds: Vec<&[u8]> = target.seeds.iter().copied().chain(found.iter().map(Vec::as_slice)).collect();
    for (number, input) in seeds.iter().enumerate() {
        give(target, input, &format!("seed-{number}"), &deadline);
    }
    let seed = variable("EDGEZOOM_FUZZ_SEED").unwrap_or(1);
    let end = Instant::now() + variable("EDGEZOOM_FUZZ_SECONDS").map_or(TIME, Duration::from_secs);
    for number in 0.. {
        if Instant::now() > end && number > FEWEST {
            println!("{}: {number} inputs", target.name);
            return;
        }
        let mut random = Rng::with_seed(seed << 40 | number);
        let mut input = seeds[random.usize(0..seeds.len())].to_vec();
        mutate(&mut random, &mut input, &seeds);
        give(target, &input, &format!("{seed}-{number}"), &deadline);
    }
}

fn give(target: &Target, input: &[u8], name: &str, deadline: &Deadline) {
    let kept = std::env::temp_dir().join(format!("edgezoom-fuzz-{}-{name}", target.name));
    deadline.begin(input, &kept);
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        fs::write(&kept, input).unwrap();
        panic!("{} does not stand {}: {:?}", target.name, kept.display(), String::from_utf8_lossy(input));
    }
    deadline.end();
}

/// Leaves the seeds where libFuzzer begins.
fn write_seeds(target: &Target) {
    let folder = fuzz_folder().join("corpus").join(target.name);
    fs::create_dir_all(&folder).unwrap();
    for (number, seed) in target.seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
    }
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragile(bytes: &[u8]) {
        assert!(bytes.len() < 4 || bytes[0] != 0x7f, "as bad as it gets");
    }

    /// Not through `hunt`, which would ask for a program of this name.
    #[test]
    fn an_input_that_is_not_stood_is_found_and_kept() {
        let target = Target { name: "fragile", run: fragile, seeds: &[b"four"] };
        let deadline = Deadline::new(PATIENCE);
        give(&target, b"four", "good", &deadline);
        let found = catch_unwind(AssertUnwindSafe(|| {
            for number in 0..100_000 {
                let mut input = b"four".to_vec();
                mutate(&mut Rng::with_seed(number), &mut input, target.seeds);
                give(&target, &input, "bad", &deadline);
            }
        }));
        assert!(found.is_err());
        let kept = std::env::temp_dir().join("edgezoom-fuzz-fragile-bad");
        assert_eq!(fs::read(&kept).unwrap()[0], 0x7f);
        fs::remove_file(kept).unwrap();
    }
}
