//! The built Worker without the sources and without Rust: `worker` with the commands that deploy it, `button` as a
//! repository for Cloudflare's deploy button, `local` with wrangler and the emulated queue, which run the service on one
//! machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::project::{Profile, Project};
use crate::setup::Purpose;
use crate::{build, command};

/// Files of both: the Worker, its configuration, and the licence.
const WORKER: [&str; 3] = ["edge/build", "wrangler.toml", "LICENSE"];

/// Fills a directory from which `npm run deploy` deploys the Worker.
pub fn worker(project: &Project, tiler: &Path, folder: &Path) -> Result<()> {
    build_edge(project, tiler)?;
    copy(project, &WORKER, folder)?;
    copy(project, &["deploy/cloudflare", "deploy/edgezoom.example.toml", "docs/operations"], folder)?;
    let packages = ["cloudflare", "node", "smol-toml", "wrangler"];
    let script = |command| format!("node deploy/cloudflare/main.mjs {command}");
    let scripts = [("deploy", &*script("deploy")), ("undeploy", &*script("undeploy"))];
    npm_package(project, &packages, &scripts, folder)
}

/// Fills a repository for Cloudflare's deploy button.
pub fn button(project: &Project, tiler: &Path, folder: &Path) -> Result<()> {
    build_edge(project, tiler)?;
    copy(project, &["edge/build", "LICENSE"], folder)?;
    npm_package(project, &["wrangler"], &[("deploy", "node deploy.mjs")], folder)?;
    command::run(project.node_tool("node")?.arg("deploy/cloudflare/button.mjs").arg(folder))
}

/// Fills a directory from which `edgezoom dev` runs the service with the tiler in the directory above.
pub fn local(project: &Project, tiler: &Path, folder: &Path) -> Result<()> {
    build_edge(project, tiler)?;
    fs::create_dir_all(folder.join("target/release"))?;
    copy(project, &WORKER, folder)?;
    copy(project, &["edge/local", "edge/queue"], folder)?;
    npm_package(project, &["node", "wrangler"], &[], folder)?;
    command::run(project.npm()?.current_dir(folder).args([
        "ci",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]))?;
    let tools = build::program(project, build::TOOLS, Profile::Dev)?; // it only starts the others
    command::run(Command::new("strip").arg("-o").arg(folder.join("edgezoom")).arg(tools))?;
    let link = folder.join("target/release/tiler");
    let _ = fs::remove_file(&link); // it may not exist
    symlink("../../../tiler", link).context("cannot link the tiler")
}

/// Builds the Worker, and converts its home page's picture.
fn build_edge(project: &Project, tiler: &Path) -> Result<()> {
    build::worker_alone(project, Purpose::Deploy)?;
    command::run(project.node_tool("node")?.arg("edge/viewer/hero.mjs").arg(tiler))
}

fn copy(project: &Project, paths: &[&str], folder: &Path) -> Result<()> {
    command::run(project.command("cp").args(["-R", "--parents"]).args(paths).arg(folder))
}

/// Writes a package.json that has only these packages and scripts, and its lock file with the repository's versions.
fn npm_package(project: &Project, names: &[&str], scripts: &[(&str, &str)], folder: &Path) -> Result<()> {
    let text = fs::read_to_string(project.root.join("package.json"))?;
    let ours: Value = serde_json::from_str(&text).context("cannot parse package.json")?;
    let versions: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), ours["devDependencies"][name].clone())).collect();
    let scripts: serde_json::Map<_, _> =
        scripts.iter().map(|(name, script)| ((*name).to_owned(), json!(script))).collect();
    let package = json!({
        "name": ours["name"],
        "version": env!("CARGO_PKG_VERSION"),
        "private": true,
        "license": ours["license"],
        "type": "module",
        "scripts": scripts,
        "dependencies": versions,
        "allowScripts": ours["allowScripts"],
    });
    fs::write(folder.join("package.json"), format!("{package:#}\n"))?;
    fs::copy(project.root.join("package-lock.json"), folder.join("package-lock.json"))?;
    let mut lock = project.npm()?;
    // npm removes packages that nothing depends on any more. Offline: the lockfile describes all others.
    lock.args(["install", "--package-lock-only", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]);
    command::run(lock.current_dir(folder))
}
