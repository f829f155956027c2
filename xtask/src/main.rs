//! Edgezoom's tasks. `cargo xtask dev` runs the whole service here, `cargo xtask test` tests everything, `bench` measures;
//! `setup` and `build-edge` are what these do first, and can be asked for by themselves.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::project::Project;
use xtask::setup::Purpose;
use xtask::{bench, build, chaos, deploy, dev, lighthouse, release, setup, shots, simulate, test};

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
        /// Run again what passed before although nothing that it reads has changed
        #[arg(long)]
        again: bool,
    },
    /// Measure the service, or the pyramid engine
    Bench {
        #[arg(value_enum, default_value = "service")]
        subject: bench::Subject,
        /// Passed on to the benchmark: `--quick`, `--record`, a word of the names of the cases to run
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Convert contents while everything is killed, cut and delayed
    Chaos(chaos::Options),
    /// Simulate loads that no machine here can make: time to ready, tilers and cost
    #[command(disable_help_flag = true)]
    Simulate {
        /// Options: `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Take a picture of every page in every state
    Shots {
        /// Words of the names of the states to take
        words: Vec<String>,
    },
    /// Have Lighthouse mark the pages of the local service
    Lighthouse {
        /// A service that runs already, and allows sources on loopback [default: one is started]
        url: Option<String>,
    },
    /// Build the Worker into edge/build
    BuildEdge,
    /// Make the service on Cloudflare, or bring it up to date
    #[command(disable_help_flag = true)]
    Deploy {
        /// The environment, and options: `--help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Build the tiler for other machines, as an archive with all that it needs
    Release(release::Options),
    /// Remove the service from Cloudflare
    #[command(disable_help_flag = true)]
    Undeploy {
        /// The environment, and options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Install what building and testing need
    Setup {
        /// For what
        #[arg(long = "for", value_enum, default_value = "test")]
        purpose: Purpose,
    },
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
    let project = Project::locate()?;
    match task {
        Task::Dev(options) => dev::run(&project, &options),
        Task::Test { steps, again } => test::run(&project, &steps, again),
        Task::Bench { subject, words } => bench::run(&project, subject, &words),
        Task::Chaos(options) => chaos::run(&project, &options),
        Task::Simulate { words } => simulate::run(&project, words),
        Task::Shots { words } => shots::run(&project, &words),
        Task::Lighthouse { url } => lighthouse::run(&project, url.as_deref()),
        Task::BuildEdge => build::worker_alone(&project, Purpose::Run),
        Task::Deploy { words } => deploy::deploy(&project, &words),
        Task::Undeploy { words } => deploy::undeploy(&project, &words),
        Task::Release(options) => release::run(&project, &options),
        Task::Setup { purpose } => setup::prepare(&project, purpose),
    }
}
