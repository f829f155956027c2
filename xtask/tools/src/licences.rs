//! Whether the licence of every dependency is one of those that `deny.toml` allows. That file is cargo-deny's; this
//! reads it with the library that cargo-deny has, for machines without cargo-deny.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};
use xtask::project::Project;

use crate::packages::{self, Package};

/// What is read of `deny.toml`.
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

/// Checks all packages that the workspace is built of.
pub fn check(project: &Project) -> Result<()> {
    let text = std::fs::read_to_string(project.root.join("deny.toml")).context("deny.toml cannot be read")?;
    let deny: Deny = toml::from_str(&text).context("deny.toml")?;
    let allowed = deny
        .licenses
        .allow
        .iter()
        .map(|name| Licensee::parse(name).with_context(|| format!("deny.toml allows {name}")))
        .collect::<Result<Vec<_>>>()?;
    let packages = packages::of(project, &deny.graph.targets)?;
    let refused: Vec<String> =
        packages.iter().filter(|package| !is_allowed(package, &allowed)).map(describe).collect();
    if !refused.is_empty() {
        bail!("deny.toml does not allow the licences of\n{}", refused.join("\n"));
    }
    eprintln!("xtask | the licences of {} packages are allowed", packages.len());
    Ok(())
}

fn is_allowed(package: &Package, allowed: &[Licensee]) -> bool {
    let expression = |text: &String| Expression::parse_mode(text, ParseMode::LAX).ok();
    package
        .license
        .as_ref()
        .and_then(expression)
        .is_some_and(|needed| needed.evaluate(|licence| allowed.iter().any(|ours| ours.satisfies(licence))))
}

fn describe(package: &Package) -> String {
    format!("  {} {}: {}", package.name, package.version, package.license.as_deref().unwrap_or("none named"))
}
