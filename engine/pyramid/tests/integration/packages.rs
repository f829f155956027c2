//! The packages of the engine's crates and the tiler's are complete and depend only on published crates. `cargo
//! publish` checks that they compile, which takes longer because it compiles all dependencies again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of the published crates.
const CRATES: [&str; 9] = [
    "engine/geometry",
    "engine/jpeg",
    "engine/regions",
    "engine/text",
    "engine/vector",
    "engine/codecs",
    "engine/pyramid",
    "content",
    "tiler",
];
/// Maximum size of a compressed package, in bytes. A package with test fixtures would exceed it.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the last part of a crate's package name.
fn name(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the paths in `include_str!` and `include_bytes!`, relative to the source file.
fn included(source: &str) -> impl Iterator<Item = &str> {
    let after =
        source.split("include_").skip(1).filter_map(|rest| rest.split_once("!(\"").map(|(_, rest)| rest));
    after.filter_map(|rest| rest.split('"').next())
}

#[test]
fn the_crates_can_be_published() {
    let names = CRATES.map(name);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let mut package = Command::new(env!("CARGO"));
    package.current_dir(repository).args([
        "package",
        "--no-verify",
        "--offline",
        "--allow-dirty",
        "--target-dir",
    ]);
    package.arg(&target).args(names.map(|name| format!("-pedgezoom-{name}")));
    run(&mut package);
    for (folder, name) in CRATES.into_iter().zip(names) {
        let package = format!("edgezoom-{name}-{}", env!("CARGO_PKG_VERSION"));
        let archive = target.join("package").join(&package).with_added_extension("crate");
        assert!(fs::metadata(&archive).unwrap().len() <= MAX_BYTES, "{package} is too large");
        run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&target));
        let unpacked = target.join(package);
        assert!(unpacked.join("README.md").exists() && unpacked.join("LICENSE").exists());

        let source = repository.join(folder);
        for path in files(&source.join("src")) {
            assert!(
                unpacked.join(path.strip_prefix(&source).unwrap()).exists(),
                "{} is missing",
                path.display()
            );
            for file in included(&fs::read_to_string(&path).unwrap()) {
                let file = path.parent().unwrap().join(file).canonicalize().unwrap();
                assert!(
                    unpacked.join(file.strip_prefix(&source).unwrap()).exists(),
                    "{} is missing",
                    file.display()
                );
            }
        }

        let manifest = fs::read_to_string(unpacked.join("Cargo.toml")).unwrap();
        for field in ["description", "readme", "keywords", "categories", "license", "repository"] {
            assert!(manifest.contains(&format!("\n{field} = ")), "{name} has no {field}");
        }
        let dependencies = manifest.lines().filter_map(|line| line.strip_prefix("[dependencies.edgezoom-"));
        for dependency in dependencies.map(|rest| rest.trim_end_matches(']')) {
            assert!(names.contains(&dependency), "{name} depends on {dependency}, which is not published");
        }
        assert!(
            !manifest.contains("dev-dependencies.edgezoom-"),
            "{name} has a dev-dependency that is not published"
        );
    }
}
