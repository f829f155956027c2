//! The packages that are linked into a program, for its licences and its SBOM.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command;
use crate::project::Project;

/// The package of the program itself.
pub const TILER: &str = "edgezoom-tiler";

/// A package that is linked into a program.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub licence: String,
    pub repository: String,
    /// Directory of its source.
    pub folder: PathBuf,
    /// SHA-256 of the crate's file in hexadecimal; `None` for a package of this workspace.
    pub checksum: Option<String>,
    /// Names and versions of the linked packages that it uses.
    pub uses: BTreeSet<(String, String)>,
}

impl Package {
    /// Returns true if it is a package of this workspace.
    pub fn is_ours(&self) -> bool {
        self.checksum.is_none()
    }
}

/// Returns the packages in the program or library of a package for this target, by name and version.
pub fn linked(project: &Project, package: &str, target: &str) -> Result<Vec<Package>> {
    let mut tree = project.cargo();
    tree.args(["tree", "--package", package, "--edges=normal", "--prefix=none", "--locked"]);
    let tree = command::output(tree.args(["--format={p}", "--target", target]))?;
    let linked: BTreeSet<(&str, &str)> =
        tree.lines().filter_map(|line| line.split(" (").next()?.split_once(" v")).collect();
    let mut metadata = project.cargo();
    metadata.args(["metadata", "--format-version=1", "--locked"]);
    // Without the filter, Cargo downloads other systems' dependencies too.
    let metadata = command::output(metadata.args(["--filter-platform", target]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let lock = fs::read_to_string(project.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let checksums = checksums(&lock);
    let listed = metadata["packages"].as_array().context("`cargo metadata` listed no packages")?;
    let by_id: BTreeMap<&str, (&str, &str)> = listed
        .iter()
        .map(|package| (text(&package["id"]), (text(&package["name"]), text(&package["version"]))))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("`cargo metadata` resolved nothing")?;
    let uses: BTreeMap<&str, &Value> = nodes.iter().map(|node| (text(&node["id"]), &node["deps"])).collect();
    let mut packages = vec![];
    for package in listed {
        let (id, name, version) = (text(&package["id"]), text(&package["name"]), text(&package["version"]));
        if !linked.contains(&(name, version)) {
            continue;
        }
        let used = uses.get(id).and_then(|uses| uses.as_array()).into_iter().flatten();
        let used = used.filter(|used| {
            used["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        });
        let used = used.filter_map(|used| by_id.get(text(&used["pkg"])).filter(|used| linked.contains(used)));
        let manifest = Path::new(text(&package["manifest_path"]));
        packages.push(Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: text(&package["license"]).replace('/', " OR "), // the older way to say it
            repository: text(&package["repository"]).to_owned(),
            folder: manifest.parent().context("a package without a directory")?.to_owned(),
            checksum: checksums.get(&(name, version)).map(|checksum| (*checksum).to_owned()),
            uses: used.map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect(),
        });
    }
    packages.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(packages)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the checksums in `Cargo.lock` by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
            line?.strip_suffix('"')
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    });
    packages.collect()
}
