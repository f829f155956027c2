//! The `tiler` command. `render`, `unpack`, `sandbox-probe` and `browser-supervisor` are processes that the other subcommands
//! start.

mod commands;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use edgezoom_tiler::browser::supervisor::{self, SupervisorOptions};
use edgezoom_tiler::{renderer, sandbox, secret};

/// The version, with commit and date in a release: `cargo xtask release` sets the variable.
static VERSION: LazyLock<String> = LazyLock::new(|| match option_env!("EDGEZOOM_BUILD") {
    Some(build) => format!("{} ({build})", env!("CARGO_PKG_VERSION")),
    None => env!("CARGO_PKG_VERSION").to_owned(),
});

/// Converts pictures, documents and web pages into zoomable images, as a service or from the command line
#[derive(Parser)]
#[command(name = "tiler", version = VERSION.as_str(), about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Admin(Box<commands::admin::Args>),
    Collection(Box<commands::collection::Args>),
    Convert(Box<commands::convert::Args>),
    Doctor(commands::doctor::Args),
    EdgeMetrics(commands::edge_metrics::Args),
    Seal(commands::seal::Args),
    Serve(Box<commands::serve::Args>),
    /// Prints a completion script for a shell
    Completions {
        /// Name of the shell
        shell: Shell,
    },
    /// Writes the man pages tiler.1, tiler-convert.1 and so on
    Man {
        /// Existing directory for them
        directory: PathBuf,
    },
    #[command(hide = true)]
    BrowserSupervisor(SupervisorOptions),
    /// Renders the picture on standard input, in a sandbox
    #[command(hide = true)]
    Render {
        /// Request as JSON
        request: String,
    },
    /// Removes the content codings of the source on standard input, or reads it as a description or list, in a sandbox
    #[command(hide = true)]
    Unpack {
        /// Request as JSON
        request: String,
    },
    /// Tests the renderer's sandbox and prints the findings as JSON
    #[command(hide = true)]
    SandboxProbe,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // These commands have tokens in their environment.
    let has_secrets = matches!(
        command,
        Command::Admin(_)
            | Command::Collection(_)
            | Command::EdgeMetrics(_)
            | Command::Seal(_)
            | Command::Serve(_)
    );
    let hidden = if has_secrets { secret::hide_process() } else { Ok(()) };
    let result =
        hidden.context("cannot hide the secrets from other processes").and_then(|()| match command {
            Command::Admin(args) => commands::admin::run(&args),
            Command::Collection(args) => commands::collection::run(&args),
            Command::Convert(args) => commands::convert::run(&args),
            Command::Doctor(args) => commands::doctor::run(&args),
            Command::EdgeMetrics(args) => commands::edge_metrics::run(&args),
            Command::Seal(args) => commands::seal::run(&args),
            Command::Serve(args) => commands::serve::run(&args),
            Command::Completions { shell } => {
                clap_complete::generate(shell, &mut Cli::command(), "tiler", &mut std::io::stdout());
                Ok(ExitCode::SUCCESS)
            }
            Command::Man { directory } => write_man_pages(&directory),
            Command::BrowserSupervisor(options) => supervisor::run(&options).map_err(anyhow::Error::from),
            Command::Render { request } => render(&request),
            Command::Unpack { request } => unpack(&request),
            Command::SandboxProbe => probe_sandbox(),
        });
    result.unwrap_or_else(|error| {
        eprintln!("tiler: {error:#}");
        ExitCode::FAILURE
    })
}

fn render(request: &str) -> anyhow::Result<ExitCode> {
    let request = serde_json::from_str(request).context("cannot parse the request")?;
    Ok(renderer::child::run(&request))
}

fn unpack(request: &str) -> anyhow::Result<ExitCode> {
    let request = serde_json::from_str(request).context("cannot parse the request")?;
    Ok(renderer::unpack::run(&request))
}

/// Writes the man pages of all commands that users run.
fn write_man_pages(directory: &Path) -> anyhow::Result<ExitCode> {
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory).with_context(|| format!("{}", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn probe_sandbox() -> anyhow::Result<ExitCode> {
    println!("{}", serde_json::to_string(&sandbox::probe::run()?)?);
    Ok(ExitCode::SUCCESS)
}
