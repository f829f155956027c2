//! Edgezoom's tasks. `cargo xtask dev` runs the whole service here, `cargo xtask test` tests everything, `bench` measures;
//! `setup` and `build-edge` are what these do first, and can be asked for by themselves.

mod bench;
mod build_edge;
mod command;
mod dev;
mod project;
mod setup;
mod test;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::project::Project;
use crate::setup::Purpose;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Edgezoom's tasks", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the whole service on this machine
    Dev(dev::Options),
    /// Test everything, or the named steps
    Test {
        #[arg(value_enum)]
        steps: Vec<test::Step>,
    },
    /// Measure the service, or the pyramid engine
    Bench {
        #[arg(value_enum, default_value = "service")]
        subject: bench::Subject,
        /// What to tell the benchmark: `--quick`, `--record`, a word of the names of the cases to run
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Build the Worker into edge/build
    BuildEdge,
    /// Install what building and testing need
    Setup,
    /// End what the process at the other end of standard input leaves running
    #[command(hide = true)]
    Watchdog,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask | {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    if let Task::Watchdog = task {
        return dev::watchdog::run();
    }
    let project = Project::locate()?;
    match task {
        Task::Dev(options) => dev::run(&project, &options),
        Task::Test { steps } => test::run(&project, &steps),
        Task::Bench { subject, words } => bench::run(&project, subject, &words),
        Task::BuildEdge => {
            setup::prepare(&project, Purpose::Run)?;
            build_edge::build(&project)
        }
        Task::Setup => setup::prepare(&project, Purpose::Test),
        Task::Watchdog => Ok(()),
    }
}
