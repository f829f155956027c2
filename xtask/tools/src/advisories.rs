//! Whether a dependency has a known weakness, by RustSec's database (<https://github.com/RustSec/advisory-db>), for machines
//! without cargo-deny. An advisory is a Markdown file that begins with a block of TOML.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use semver::{Version, VersionReq};
use serde::Deserialize;
use xtask::project::Project;

use crate::packages;

#[derive(Deserialize)]
struct Document {
    advisory: Advisory,
    #[serde(default)]
    versions: Versions,
}

#[derive(Deserialize)]
struct Advisory {
    id: String,
    /// Set when it was an error.
    withdrawn: Option<String>,
    /// No weakness, but `unmaintained`, `unsound` or `notice`.
    informational: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Versions {
    patched: Vec<String>,
    unaffected: Vec<String>,
}

/// Checks all packages against the database in `folder`.
pub fn check(project: &Project, folder: &Path) -> Result<()> {
    let crates = folder.join("crates");
    ensure!(crates.is_dir(), "{} is no database of advisories", folder.display());
    let packages = packages::of(project, &[])?;
    let mut weak = vec![];
    for package in &packages {
        for document in about(&crates, &package.name)? {
            if !document.affects(&package.version).context(document.advisory.id.clone())? {
                continue;
            }
            let Advisory { id, informational, .. } = &document.advisory;
            match informational {
                Some(kind) => eprintln!("xtask | {} {}: {kind}, {id}", package.name, package.version),
                None => weak.push(format!("  {} {}: {id}", package.name, package.version)),
            }
        }
    }
    if !weak.is_empty() {
        bail!(
            "these packages have known weaknesses, see https://rustsec.org/advisories/\n{}",
            weak.join("\n")
        );
    }
    eprintln!("xtask | no advisory is about a weakness of these {} packages", packages.len());
    Ok(())
}

fn about(crates: &Path, name: &str) -> Result<Vec<Document>> {
    let entries = match fs::read_dir(crates.join(name)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error.into()),
    };
    let documents = entries.map(|entry| {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        Document::parse(&text).with_context(|| path.display().to_string())
    });
    documents.collect()
}

impl Document {
    fn parse(text: &str) -> Result<Self> {
        let block = text.strip_prefix("```toml").and_then(|rest| rest.split_once("```"));
        Ok(toml::from_str(block.context("it does not begin with TOML")?.0)?)
    }

    fn affects(&self, version: &str) -> Result<bool> {
        let version = Version::parse(version).map_err(Error::msg)?;
        for versions in self.versions.patched.iter().chain(&self.versions.unaffected) {
            if VersionReq::parse(versions).map_err(Error::msg)?.matches(&version) {
                return Ok(false);
            }
        }
        Ok(self.advisory.withdrawn.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advisory_is_about_the_versions_that_are_neither_patched_nor_unaffected() {
        let document = Document::parse(
            "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"x\"\ndate = \"2020-01-02\"\n\n\
             [versions]\npatched = [\">= 1.2.3, < 2.0.0\", \">= 2.1\"]\nunaffected = [\"< 1.0.0\"]\n```\n\n# A title\n",
        );
        let document = document.unwrap();
        let affects = |version| document.affects(version).unwrap();
        assert_eq!(
            ["0.9.0", "1.0.0", "1.2.3", "2.0.5", "2.1.0"].map(affects),
            [false, true, false, true, false]
        );
        let withdrawn = "```toml\n[advisory]\nid = \"R\"\nwithdrawn = \"2020-01-02\"\n```\n";
        assert!(!Document::parse(withdrawn).unwrap().affects("1.0.0").unwrap());
    }
}
