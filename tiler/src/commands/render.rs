//! `tiler render`: the renderer process that `tiler` starts for each picture. Not called by users.

use std::process::ExitCode;

use anyhow::Context;
use edgezoom_tiler::renderer::child;

/// Renders the picture on standard input, in a sandbox.
#[derive(clap::Args)]
pub struct Args {
    /// How to render, as JSON.
    request: String,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let request = serde_json::from_str(&args.request).context("the request cannot be parsed")?;
    Ok(child::run(&request))
}
