//! The parts of `cargo xtask` that need many crates, in a program of their own. It is compiled when a task first needs it,
//! with the features and the profile of the rest of the workspace, while `xtask` itself already runs.

mod dev;
mod licences;
mod simulate;
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
    /// Run the whole service on this machine, with programs that are built
    Dev(xtask::dev::Options),
    /// Make edge/build of the Worker's WebAssembly
    BuildEdge,
    /// Check the licences of all dependencies
    Licences,
    /// Simulate loads that no machine here can make
    Simulate(simulate::Options),
    /// End the process groups that the process at the other end of standard input leaves running
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
    match &part {
        Part::Watchdog => return dev::watchdog::run(), // needs no project
        Part::Simulate(options) => return simulate::run(options),
        _ => {}
    }
    let project = Project::locate()?;
    match part {
        Part::Dev(options) => dev::run(&project, &options),
        Part::BuildEdge => worker::build(&project),
        Part::Licences => licences::check(&project),
        Part::Simulate(_) | Part::Watchdog => Ok(()),
    }
}
