//! The parts of `cargo xtask` with many dependencies, in a separate program. `xtask` compiles it when a task first
//! needs it, with the features and profile of the rest of the workspace.

mod dev;
mod worker;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::project::Project;

#[derive(Parser)]
#[command(about = "Parts of `cargo xtask`, which runs them", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Run the whole service on this machine; everything must be built
    Dev(xtask::dev::Options),
    /// Turn the Worker's WebAssembly into edge/build
    BuildEdge,
    /// End the process groups named on standard input once it closes
    Watchdog,
}

fn main() -> ExitCode {
    match run(Arguments::parse().part) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask | {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(part: Part) -> Result<()> {
    match part {
        Part::Dev(options) => dev::run(&Project::locate()?, &options),
        Part::BuildEdge => worker::build(&Project::locate()?),
        Part::Watchdog => dev::watchdog::run(),
    }
}
