//! Checks the documentation: every repository path in it exists, it is short, and its figures are those of the
//! benchmark.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Top-level folders. Text in backticks that begins with one of them is a repository path.
const FOLDERS: [&str; 8] = ["content/", "deploy/", "docs/", "edge/", "engine/", "tests/", "tiler/", "xtask/"];

/// Folders that exist only after a build.
const BUILT: [&str; 4] = ["edge/build/", "edge/local/build/", "tests/fuzz/artifacts/", "tests/fuzz/corpus/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the Markdown files at the top and below `docs/`.
fn documents() -> Vec<PathBuf> {
    let mut folders = vec![root().join("docs")];
    let mut documents: Vec<_> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

/// Returns the repository paths in a text: text in backticks, and targets of relative links, which start at `folder`.
fn paths<'a>(text: &'a str, folder: &Path) -> Vec<(&'a str, PathBuf)> {
    let quoted = text.split('`').skip(1).step_by(2).filter(|quoted| {
        FOLDERS.iter().any(|folder| quoted.starts_with(folder))
            && !BUILT.iter().any(|built| quoted.starts_with(built))
            && !quoted.contains(['*', '<', '{', ' ', '…'])
    });
    let quoted = quoted.map(|path| (path, root().join(path.split(':').next().unwrap_or(path))));
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()).filter(|target| {
        !target.is_empty()
            && !target.contains("://")
            && !target.starts_with("mailto:")
            && !target.contains(' ')
    });
    let links = links.map(|target| (target, folder.join(target)));
    quoted.chain(links).collect()
}

#[test]
fn every_path_in_the_documentation_exists() {
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for (name, path) in paths(&text, document.parent().unwrap()) {
            if !path.exists() {
                missing.push(format!("{}: {name}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_missing_path_is_reported() {
    let found = paths("see `engine/codecs/src/nothing.rs`, [there](gone.md#part) and `cargo test`", &root());
    let missing: Vec<_> = found.iter().filter(|(_, path)| !path.exists()).map(|(name, _)| *name).collect();
    assert_eq!(missing, ["engine/codecs/src/nothing.rs", "gone.md"]);
}

#[test]
fn the_map_and_the_decisions_stay_short() {
    let words = |path: &Path| fs::read_to_string(path).unwrap().split_whitespace().count();
    assert!(words(&root().join("docs/architecture.md")) <= 1500);
    let index = fs::read_to_string(root().join("docs/decisions/README.md")).unwrap();
    for entry in fs::read_dir(root().join("docs/decisions")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name != "README.md" {
            assert!(words(&path) <= 250, "{name} has {} words", words(&path));
            assert!(index.contains(name), "{name} is missing from the index");
        }
    }
}

/// Returns the cells of a row of a table.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// The table in README compares with libvips' best, as `cargo xtask bench pyramid --record` recorded it.
#[test]
fn the_speeds_in_the_readme_are_the_recorded_ones() {
    let recorded = fs::read_to_string(root().join("docs/benchmarks/pyramid-results.md")).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, table) = readme.split_once("| source | Edgezoom |").unwrap();
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 3, "the table was not found");
    for row in rows {
        let name = cells(row)[0];
        let (_, section) = recorded.split_once(&format!("## {name}; tiles 254+1, Q75\n")).expect(name);
        let figures: Vec<Vec<f64>> = section
            .lines()
            .skip_while(|line| !line.starts_with("| tiler"))
            .take(3)
            .map(|line| cells(line)[1..4].iter().map(|figure| figure.parse().unwrap()).collect())
            .collect();
        let best = |figure: usize| figures[1][figure].min(figures[2][figure]);
        let (ours, theirs) = (figures[0][0], best(0));
        let expected = format!(
            "| {name} | {ours:.2} s | {theirs:.2} s | {:.2} | {}, {} MiB |",
            ours / theirs,
            figures[0][2],
            best(2)
        );
        assert_eq!(row, expected);
    }
}
