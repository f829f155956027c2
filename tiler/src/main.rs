//! The `tiler` command.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use edgezoom_codecs::SwappingAllocator;
use edgezoom_tiler::browser::supervisor::{self, SupervisorOptions};

/// A renderer decodes pictures that are large for its memory in its temporary file.
#[global_allocator]
static ALLOCATOR: SwappingAllocator = SwappingAllocator;

/// Converts pictures, documents and web pages into zoomable images, as a service or by hand.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Admin(Box<commands::admin::Args>),
    Convert(Box<commands::convert::Args>),
    Cost(commands::cost::Args),
    Doctor(commands::doctor::Args),
    EdgeMetrics(commands::edge_metrics::Args),
    Serve(Box<commands::serve::Args>),
    // The other commands start these as processes of their own.
    #[command(hide = true)]
    BrowserSupervisor(SupervisorOptions),
    #[command(hide = true)]
    Render(commands::render::Args),
    /// Tries the renderer's sandbox out.
    #[command(hide = true)]
    SandboxProbe,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Admin(args) => commands::admin::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Cost(args) => commands::cost::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::EdgeMetrics(args) => commands::edge_metrics::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::BrowserSupervisor(options) => supervisor::run(&options).map_err(anyhow::Error::from),
        Command::Render(args) => commands::render::run(&args),
        Command::SandboxProbe => commands::sandbox_probe::run(),
    };
    result.unwrap_or_else(|error| {
        eprintln!("tiler: {error:#}");
        ExitCode::FAILURE
    })
}
