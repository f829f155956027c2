//! The words of a folder of PDFs, beside those that Poppler reads. `cargo xtask judge words` runs it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use edgezoom_text::Text;

use crate::text::bag;

/// Number of documents and of their words that are printed.
const WORST: usize = 25;
const WORDS: usize = 8;

/// The words of a document that only one of both has.
struct Compared {
    path: PathBuf,
    /// Number of Poppler's.
    words: usize,
    lost: Vec<String>,
    added: Vec<String>,
}

#[test]
#[ignore = "cargo xtask judge words"]
fn words() {
    let Some(folder) = std::env::var_os("EDGEZOOM_CORPUS") else { return };
    let paths = files(Path::new(&folder), &["pdf"]);
    assert!(!paths.is_empty(), "{} has no PDFs", folder.display());
    let mut compared: Vec<Compared> = paths.iter().filter_map(|path| compare(path)).collect();
    println!("{} PDFs, of which Poppler reads {}", paths.len(), compared.len());
    compared.sort_by_key(|one| one.lost.len() + one.added.len());
    for Compared { path, words, lost, added } in compared.iter().rev().take(WORST) {
        let some = |words: &[String]| words.iter().take(WORDS).cloned().collect::<Vec<_>>().join(" ");
        println!("{} lost, {} added of {words}: {}", lost.len(), added.len(), path.display());
        println!("  lost: {}\n  added: {}", some(lost), some(added));
    }
    let sum = |count: fn(&Compared) -> usize| compared.iter().map(count).sum::<usize>();
    let (words, lost, added) = (sum(|one| one.words), sum(|one| one.lost.len()), sum(|one| one.added.len()));
    let part = |count: usize| 100.0 * count as f64 / words.max(1) as f64;
    println!("{words} words: {lost} lost ({:.2} %), {added} added ({:.2} %)", part(lost), part(added));
}

/// Returns the files with these endings in a folder and below it.
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => files(&path, endings),
            Some(ending) if endings.iter().any(|known| ending == *known) => vec![path],
            _ => vec![],
        })
        .collect();
    found.sort();
    found
}

/// Compares the words of a document; `None` if Poppler cannot read it. One that we refuse has lost all words.
fn compare(path: &Path) -> Option<Compared> {
    let output = Command::new("pdftotext").arg(path).arg("-").output().unwrap();
    let theirs = bag(&output.status.success().then(|| String::from_utf8_lossy(&output.stdout))?);
    let ours = bag(&ours(path));
    let beyond = |one: &HashMap<String, usize>, other: &HashMap<String, usize>| {
        let of = |(word, count): (&String, &usize)| {
            let beyond = count.saturating_sub(*other.get(word).unwrap_or(&0));
            vec![word.clone(); beyond]
        };
        let mut words: Vec<String> = one.iter().flat_map(of).collect();
        words.sort();
        words
    };
    let (lost, added) = (beyond(&theirs, &ours), beyond(&ours, &theirs));
    Some(Compared { path: path.to_owned(), words: theirs.values().sum(), lost, added })
}

/// Returns the words of a document as the tiler reads them, without alternative texts.
fn ours(path: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut tiler = Command::new(env!("CARGO_BIN_EXE_tiler"));
    tiler.current_dir(folder.path()).args([
        "convert",
        "--text",
        "--pdf-dpi=150",
        "--pdf-width=1600",
        "--output=out",
    ]);
    tiler.arg(path).output().unwrap();
    let json = fs::read(folder.path().join("out.text.json")).unwrap_or_default();
    let text = Text::from_json(&json).unwrap_or_default();
    let blocks = text.pages.iter().flat_map(|page| &page.blocks).filter(|block| block.alternative.is_none());
    blocks.map(|block| block.joined() + "\n").collect()
}
