//! `tiler collection`: an owner's commands, which call the service's API (`/v1/collections/`). Every command may be
//! repeated, even after it was killed: a line that was sent before changes nothing.

mod add;
mod create;
mod entries;
mod files;
mod lists;
mod service;

use std::env;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Subcommand};
use edgezoom_content::{EntryState, OneLine};
use edgezoom_tiler::secret::Secret;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use url::Url;

use super::flags::PolicyArgs;
use super::targets::targets;
use lists::Lists;
use service::Service;

/// Manages a collection: begin it, add pictures by the thousand, follow them, list and remove them
///
/// The collection's key is read from the variable EDGEZOOM_COLLECTION_KEY or from --key-file.
#[derive(clap::Args)]
pub struct Args {
    /// URL of the service
    #[arg(long, env = "EDGEZOOM_EDGE_URL", global = true)]
    edge_url: Option<Url>,
    /// File with the collection's key, if EDGEZOOM_COLLECTION_KEY is not set
    #[arg(long, env = "EDGEZOOM_COLLECTION_KEY_FILE", global = true)]
    key_file: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Begin a collection, or replace the settings of one
    ///
    /// The key is that of EDGEZOOM_COLLECTION_KEY or --key-file; a file that does not exist is written with a new key. A
    /// closed service needs one of its SIGNING_KEYS, as <name>:<key> in the variable EDGEZOOM_SIGNING_KEY.
    Create {
        /// Name of the collection: a to z, 0 to 9 and -
        name: String,
        #[command(flatten)]
        settings: create::Settings,
    },
    /// Add the pictures of lists, or change entries; what was added before and is the same stays as it is
    ///
    /// A list is a table with the columns url, title, alt, credit and rights (CSV with commas, semicolons or tabs), one
    /// URL or one JSON object per line, a IIIF manifest or collection, or a sitemap; each may be gzipped. Of a folder, all
    /// files are uploaded but hidden ones; those that the service has are not sent again.
    Add {
        /// Name of the collection
        name: String,
        /// Files and URLs of lists, folders of pictures, or - for standard input
        #[arg(required = true, value_name = "LIST")]
        lists: Vec<String>,
        /// Convert failed entries again
        #[arg(long)]
        retry: bool,
        /// Wait until all entries are ready or failed
        #[arg(long)]
        watch: bool,
        #[command(flatten)]
        policy: Box<PolicyArgs>,
    },
    /// List the entries in the order in which they were added
    List {
        /// Name of the collection
        name: String,
        /// Only entries in this state
        #[arg(long, value_parser = PossibleValuesParser::new(EntryState::ALL.map(EntryState::name)))]
        state: Option<String>,
        /// Print the journal's lines unchanged, one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print the failed entries as lines that `add` takes to retry them, and the reasons on standard error
    Failed {
        /// Name of the collection
        name: String,
    },
    /// Wait until all entries are ready or failed
    Watch {
        /// Name of the collection
        name: String,
    },
    /// Remove entries with their pictures, or the whole collection
    #[command(group = ArgGroup::new("what").args(["targets", "all"]).required(true))]
    Remove {
        /// Name of the collection
        name: String,
        /// Ids or URLs of entries; `-` reads them from standard input, one per line
        targets: Vec<String>,
        /// Remove the collection and all its entries
        #[arg(long, requires = "yes")]
        all: bool,
        /// Confirm --all
        #[arg(long)]
        yes: bool,
    },
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let edge =
        args.edge_url.as_ref().context("set EDGEZOOM_EDGE_URL, or --edge-url, to the service's URL")?;
    if let (Command::Create { .. }, None, Some(file)) = (&args.command, variable(KEY), &args.key_file) {
        create::write_key(file)?;
    }
    let key = key(args.key_file.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let open = |name: &str| Service::new(edge, name, key.clone(), bar.clone());
    let done = runtime.block_on(async {
        match &args.command {
            Command::Create { name, settings } => {
                let signer = variable(SIGNER).map(|signer| signer.parse()).transpose()?;
                create::run(&open(name)?.with_key()?, settings, signer.as_ref()).await
            }
            Command::Add { name, lists, retry, watch, policy } => {
                let service = open(name)?.with_key()?;
                let reader = Lists::new(policy.policy(None)?, edge)?;
                add::run(&service, reader, lists, (*retry, *watch)).await
            }
            Command::List { name, state, json } => entries::list(&open(name)?, state.as_deref(), *json).await,
            Command::Failed { name } => entries::failed(&open(name)?.with_key()?).await,
            Command::Watch { name } => entries::watch(&open(name)?, None).await,
            Command::Remove { name, all: true, .. } => open(name)?.with_key()?.delete().await,
            Command::Remove { name, targets: given, .. } => {
                add::remove(&open(name)?.with_key()?, &targets(given)?).await
            }
        }
    });
    bar.finish_and_clear();
    match done {
        // `… | head` has read enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

/// Variable with a collection's key. Neither is a flag, because arguments can be read by other users.
const KEY: &str = "EDGEZOOM_COLLECTION_KEY";
/// Variable with a name and key of SIGNING_KEYS.
const SIGNER: &str = "EDGEZOOM_SIGNING_KEY";

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the key in the environment or in a file.
fn key(file: Option<&Path>) -> anyhow::Result<Option<Secret>> {
    let key = match (variable(KEY), file) {
        (Some(key), _) => key,
        (_, Some(file)) => {
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
        }
        _ => return Ok(None),
    };
    Ok(Some(key.trim().parse()?))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Shows a bar in a terminal. `template` is as indicatif takes it.
fn show(bar: &ProgressBar, template: &str) -> anyhow::Result<()> {
    bar.set_style(ProgressStyle::with_template(template)?);
    if io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar.tick();
    }
    Ok(())
}

/// Prints a line on standard error above the bar, without what could control a terminal.
fn complain(bar: &ProgressBar, line: &str) {
    let line = OneLine::<4000>::of(line);
    bar.suspend(|| eprintln!("tiler: {}", line.as_ref().map_or("", OneLine::as_str)));
}
