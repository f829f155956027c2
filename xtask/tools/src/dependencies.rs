//! Checks the licences of all dependencies against `deny.toml`, and all dependencies against RustSec's advisories, on machines without
//! cargo-deny. cargo-deny reads licences with the same library.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use semver::{Version, VersionReq};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};
use xtask::command;
use xtask::project::Project;

/// The parts of `deny.toml` that are read.
#[derive(Deserialize)]
struct Deny {
    graph: Graph,
    licenses: Licences,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: Version,
    /// An SPDX expression.
    license: Option<String>,
}

/// The TOML block at the beginning of an advisory's Markdown file.
#[derive(Deserialize)]
struct Document {
    advisory: Advisory,
    #[serde(default)]
    versions: Versions,
}

#[derive(Deserialize)]
struct Advisory {
    id: String,
    /// Date of withdrawal, if the advisory was wrong.
    withdrawn: Option<String>,
    /// `unmaintained`, `unsound` or `notice`; absent for a vulnerability.
    informational: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Versions {
    patched: Vec<VersionReq>,
    unaffected: Vec<VersionReq>,
}

/// Checks licences, and advisories if `database` is a copy of RustSec's repository. Reports all findings at once.
pub fn check(project: &Project, database: Option<&Path>) -> Result<()> {
    let text = fs::read_to_string(project.root.join("deny.toml")).context("cannot read deny.toml")?;
    let deny: Deny = toml::from_str(&text).context("deny.toml")?;
    let mut findings = licences(&packages(project, &deny.graph.targets)?, &deny.licenses.allow)?;
    if let Some(database) = database {
        findings.extend(vulnerabilities(&packages(project, &[])?, &database.join("crates"))?);
    }
    if !findings.is_empty() {
        bail!("dependencies violate deny.toml:\n{}", findings.join("\n"));
    }
    eprintln!(
        "xtask | the dependencies' {} hold",
        if database.is_some() { "licences and advisories" } else { "licences" }
    );
    Ok(())
}

/// Returns all packages for these targets; for every target if there are none.
fn packages(project: &Project, targets: &[String]) -> Result<Vec<Package>> {
    let mut cargo = project.cargo();
    cargo.args(["metadata", "--format-version=1", "--locked"]);
    for target in targets {
        cargo.args(["--filter-platform", target]);
    }
    let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)?;
    Ok(metadata.packages)
}

/// Returns a line for each package whose licence is not allowed.
fn licences(packages: &[Package], allowed: &[String]) -> Result<Vec<String>> {
    let allowed: Vec<Licensee> = allowed
        .iter()
        .map(|name| Licensee::parse(name).with_context(|| format!("deny.toml allows {name}")))
        .collect::<Result<_>>()?;
    let is_allowed = |text: &str| {
        let expression = Expression::parse_mode(text, ParseMode::LAX);
        expression.is_ok_and(|needed| {
            needed.evaluate(|licence| allowed.iter().any(|allowed| allowed.satisfies(licence)))
        })
    };
    let refused = packages.iter().filter(|package| !package.license.as_deref().is_some_and(is_allowed));
    Ok(refused
        .map(|Package { name, version, license }| {
            format!("  {name} {version} has the licence {}", license.as_deref().unwrap_or("(none)"))
        })
        .collect())
}

/// Returns a line for each vulnerable package; prints informational advisories.
fn vulnerabilities(packages: &[Package], crates: &Path) -> Result<Vec<String>> {
    ensure!(crates.is_dir(), "{} is no advisory database", crates.display());
    let mut vulnerable = BTreeSet::new();
    for Package { name, version, .. } in packages {
        let entries = match fs::read_dir(crates.join(name)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let path = entry?.path();
            let document =
                Document::parse(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
            let Advisory { id, informational, .. } = &document.advisory;
            match informational {
                _ if !document.affects(version) => {}
                Some(kind) => eprintln!("xtask | {name} {version}: {kind}, {id}"),
                None => {
                    vulnerable.insert(format!("  {name} {version}: https://rustsec.org/advisories/{id}"));
                }
            }
        }
    }
    Ok(vulnerable.into_iter().collect())
}

impl Document {
    fn parse(text: &str) -> Result<Self> {
        let block = text.strip_prefix("```toml").and_then(|rest| rest.split_once("```"));
        toml::from_str(block.context("it does not begin with TOML")?.0).map_err(Error::new)
    }

    fn affects(&self, version: &Version) -> bool {
        let Versions { patched, unaffected } = &self.versions;
        let is_safe = patched.iter().chain(unaffected).any(|versions| versions.matches(version));
        self.advisory.withdrawn.is_none() && !is_safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advisory_affects_versions_that_are_neither_patched_nor_unaffected() {
        let document = Document::parse(
            "```toml\n[advisory]\nid = \"RUSTSEC-2020-0001\"\npackage = \"x\"\ndate = \"2020-01-02\"\n\n\
             [versions]\npatched = [\">= 1.2.3, < 2.0.0\", \">= 2.1\"]\nunaffected = [\"< 1.0.0\"]\n```\n\n# A title\n",
        )
        .unwrap();
        let affects = |version: &str| document.affects(&version.parse().unwrap());
        assert_eq!(
            ["0.9.0", "1.0.0", "1.2.3", "2.0.5", "2.1.0"].map(affects),
            [false, true, false, true, false]
        );
        let withdrawn = "```toml\n[advisory]\nid = \"R\"\nwithdrawn = \"2020-01-02\"\n```\n";
        assert!(!Document::parse(withdrawn).unwrap().affects(&Version::new(1, 0, 0)));
    }

    #[test]
    fn a_licence_is_refused_unless_every_required_part_is_allowed() {
        let package = |license: &str| Package {
            name: license.to_owned(),
            version: Version::new(1, 0, 0),
            license: Some(license.to_owned()),
        };
        let packages = ["MIT OR GPL-3.0", "MIT/Apache-2.0", "MIT AND GPL-3.0", "Proprietary"].map(package);
        let refused = licences(&packages, &["MIT".to_owned()]).unwrap();
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(refused.iter().all(|line| !line.contains("MIT OR") && !line.contains("MIT/")), "{refused:?}");
    }
}
