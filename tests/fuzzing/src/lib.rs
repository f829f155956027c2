//! A brief search for inputs that crash a parser. Each crate lists its parsers in a module `fuzz`: functions that take
//! bytes and panic if an invariant is violated. Its tests run them on mutated inputs for a moment. The programs in
//! `tests/fuzz/` run the same functions under libFuzzer, which is guided by coverage (see docs/maintaining.md).
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod deadline;
mod mutate;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deadline::Deadline;
use fastrand::Rng;
pub use mutate::mutate;

/// A parser to test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the parser and of its program in `tests/fuzz/targets.rs`.
    pub name: &'static str,
    /// Parses the bytes. Panics if the result violates an invariant.
    pub run: fn(&[u8]),
    /// Well-formed inputs, and inputs that once crashed the parser. All others are mutations of them.
    pub seeds: &'static [&'static [u8]],
}

/// Default time for each parser. `EDGEZOOM_FUZZ_SECONDS` overrides it.
const TIME: Duration = Duration::from_millis(250);
/// Time limit for one input. Most take less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(20);
/// Minimum number of inputs, even on a slow machine.
const MIN_INPUTS: u64 = 50;

/// Runs each parser on its seeds, on libFuzzer's corpus and artifacts if there are any, and on mutated inputs for a
/// moment.
///
/// # Panics
/// A parser panics on an input, or has no libFuzzer program.
pub fn hunt(targets: &[Target]) {
    for target in targets {
        hunt_one(target);
    }
}

/// Returns the value of an environment variable.
///
/// # Panics
/// The value is not a number.
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
        assert!(text.contains(&entry), "add a line with `{entry}` to tests/fuzz/{file}");
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
        if Instant::now() > end && number > MIN_INPUTS {
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
        panic!("{} panicked on {}: {:?}", target.name, kept.display(), String::from_utf8_lossy(input));
    }
    deadline.end();
}

/// Writes the seeds to libFuzzer's corpus.
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
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("tests/fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragile(bytes: &[u8]) {
        assert!(bytes.len() < 4 || bytes[0] != 0x7f, "the input begins with 0x7f");
    }

    /// Calls `give` instead of `hunt`, which would require a libFuzzer program of this name.
    #[test]
    fn an_input_that_crashes_a_parser_is_found_and_kept() {
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
