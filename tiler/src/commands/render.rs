//! `tiler render`: the renderer process that `tiler` starts for each picture. Not for people.

use std::process::ExitCode;

use anyhow::Context;
use edgezoom_tiler::renderer::child;

/// Renders the picture on standard input, as a process of its own that trusts neither the picture nor itself.
#[derive(clap::Args)]
pub struct Args {
    /// What to do, as JSON.
    order: String,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let order = serde_json::from_str(&args.order).context("the order cannot be read")?;
    Ok(child::run(&order))
}
