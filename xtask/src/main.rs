//! The command line of `cargo xtask`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::project::{Profile, Project};
use xtask::setup::Purpose;
use xtask::{build, dev, lines, release, setup, tasks, test};

#[derive(Parser)]
#[command(
    bin_name = "cargo xtask",
    about = "Runs, tests, measures and deploys Edgezoom",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the whole service on this machine
    Dev(dev::Options),
    /// The part of `dev` that takes longest: the tiler, and the home page's picture
    #[command(hide = true)]
    BuildRenderer {
        #[arg(long, value_enum)]
        profile: Profile,
    },
    /// Run all tests and checks, or only the named steps
    Test(test::Options),
    /// Run the engine's tests on ARM64, in an emulator, and compare its tiles with this machine's
    TestArm64 {
        /// Part of the names of the tests to run [default: all]
        #[arg(default_value = "", hide_default_value = true)]
        name: String,
    },
    /// Run a benchmark
    Bench {
        #[arg(value_enum, default_value = "service")]
        subject: tasks::Subject,
        /// Options of the benchmark: `--quick`, `--record`, or part of the names of the cases to run
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Check that conversions survive killed processes and broken connections
    Chaos(tasks::ChaosOptions),
    /// Compare with another program, and print the worst
    Judge {
        #[arg(value_enum)]
        subject: tasks::Judged,
        /// Folder of PDFs [default: those of pdf.js's tests, which are downloaded]
        folder: Option<PathBuf>,
    },
    /// Take screenshots of every page in every state
    Shots {
        /// Part of the names of the states to show [default: all]
        states: Vec<String>,
    },
    /// Measure the pages of the local service with Lighthouse
    Lighthouse {
        /// URL of a running service that allows sources on loopback addresses [default: start one]
        url: Option<String>,
    },
    /// Print the lines of each room beside those of docs/lines.md
    Lines {
        /// Write them to docs/lines.md
        #[arg(long)]
        write: bool,
    },
    /// Build the Worker into edge/build
    BuildEdge,
    /// Deploy the service to Cloudflare, or update it
    #[command(disable_help_flag = true)]
    Deploy {
        /// See `cargo xtask deploy --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Build an archive with the tiler and everything it needs, for other machines
    Release(release::Options),
    /// Remove the service from Cloudflare
    #[command(disable_help_flag = true)]
    Undeploy {
        /// See `cargo xtask undeploy --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Install what building and testing need
    Setup {
        /// Purpose of the tools
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
        Task::BuildRenderer { profile } => dev::renderer(&project, profile),
        Task::Test(options) => test::run(&project, &options),
        Task::TestArm64 { name } => test::arm64::run(&project, &name),
        Task::Bench { subject, options } => tasks::bench(&project, subject, &options),
        Task::Chaos(options) => tasks::chaos(&project, &options),
        Task::Judge { subject, folder } => tasks::judge(&project, subject, folder.as_deref()),
        Task::Shots { states } => tasks::shots(&project, &states),
        Task::Lighthouse { url } => tasks::lighthouse(&project, url.as_deref()),
        Task::Lines { write } => lines::run(&project, write),
        Task::BuildEdge => build::worker_alone(&project, Purpose::Run),
        Task::Deploy { options } => tasks::deploy(&project, &options),
        Task::Undeploy { options } => tasks::undeploy(&project, &options),
        Task::Release(options) => release::run(&project, &options),
        Task::Setup { purpose } => setup::prepare(&project, purpose),
    }
}
