//! `cargo xtask lighthouse`: Lighthouse's marks for the pages of the local service, and how long a share page takes to show
//! its picture on a slow connection. What is looked at is in `edge/viewer/tests/lighthouse/`, with packages of its own.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::build::{self, TILER};
use crate::command;
use crate::project::{Profile, Project};
use crate::setup::Purpose;

/// Runs it on the service at `url`, or on one that is started for it.
pub fn run(project: &Project, url: Option<&str>) -> Result<()> {
    if let Some(url) = url {
        return look(project, url);
    }
    build::worker_alone(project, Purpose::Test)?;
    let tiler = build::program(project, TILER, Profile::Dev)?;
    command::run(project.node_tool("node")?.arg("edge/viewer/hero/convert.mjs").arg(tiler))?;
    let mut service = build::tool(project, ["dev", "--built", "--port=0", "--allow-networks=127.0.0.0/8"]);
    let state = project.target.join("lighthouse");
    let mut service = service.arg("--state").arg(state).stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(service.stdout.take().context("the service has no output")?);
    let mut lines = output.lines().map_while(Result::ok);
    let result = match lines.find_map(|line| line.strip_prefix("ready: ").map(str::to_owned)) {
        Some(url) => look(project, &url),
        None => Err(anyhow::anyhow!("the local service does not come up")),
    };
    // What it started goes with it: its watchdog sees to that.
    let _ = command::run(Command::new("kill").arg(service.id().to_string()));
    service.wait()?;
    result
}

fn look(project: &Project, url: &str) -> Result<()> {
    let folder = project.root.join("edge/viewer/tests/lighthouse");
    let mut npm = project.npm()?;
    command::run(npm.current_dir(&folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    let mut script = project.node_tool("node")?;
    command::run_shown(script.arg(folder.join("marks.mjs")).env("EDGEZOOM_BASE_URL", url))
}
