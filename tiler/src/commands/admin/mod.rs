//! `tiler admin`: the operator's interface, over calls of the Worker (`edge/src/admin/calls.js`). Every command may be
//! repeated, after it was killed half-way too: what is done already is not done again, and the log has it once.

mod ages;
mod bulk;
mod calls;
mod commands;
mod print;

use std::io::IsTerminal;
use std::num::NonZeroU32;
use std::process::ExitCode;

use anyhow::Context;
use clap::{ArgGroup, Subcommand};
use edgezoom_tiler::secret::Secret;
use url::Url;

use ages::Age;
use calls::Calls;

/// Looks after contents: shows, lists, retries, takes down, blocks, deletes
#[derive(clap::Args)]
pub struct Args {
    /// The Worker's address
    #[arg(long, env = "EDGEZOOM_EDGE_URL", global = true)]
    edge_url: Option<Url>,
    /// One of the Worker's ADMIN_TOKENS
    #[arg(long, env = "EDGEZOOM_ADMIN_TOKEN", hide_env_values = true, global = true)]
    admin_token: Option<Secret>,
    /// Who acts, for the log, beside the name of the token
    #[arg(long = "as", value_name = "NAME", global = true)]
    who: Option<String>,
    /// The contents that are handled in a second, at most
    #[arg(long, default_value = "10", global = true)]
    rate: NonZeroU32,
    /// Prints the Worker's answers as they are, a JSON object a line
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows what is known of a content: its state and history, its objects, and what was done to it
    Show {
        /// An id, a share link, or the URL of a source
        target: String,
    },
    /// Lists contents that have ended, the latest first
    #[command(group = ArgGroup::new("state").args(["failed", "ready", "taken_down", "deleted"]))]
    List {
        #[command(flatten)]
        filter: Filter,
        /// Those that are ready
        #[arg(long)]
        ready: bool,
        /// Those that are taken down
        #[arg(long)]
        taken_down: bool,
        /// Those that were deleted because they were not used, or were taken down once
        #[arg(long)]
        deleted: bool,
        /// How many, at most
        #[arg(long, default_value = "100")]
        limit: usize,
    },
    /// Converts contents again that failed
    Retry {
        /// Ids, share links or URLs; `-` reads them from the standard input, one a line
        #[arg(required_unless_present = "failed")]
        targets: Vec<String>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Takes contents down: nothing of them is served any more, and they are not converted again until that is lifted
    Takedown {
        /// Ids, share links or URLs; `-` reads them from the standard input, one a line
        #[arg(required = true)]
        targets: Vec<String>,
        /// Why. Those who ask for the content are told so
        #[arg(long)]
        reason: String,
    },
    /// Lifts takedowns: the contents are converted again when they are asked for
    Lift {
        /// Ids, share links or URLs; `-` reads them from the standard input, one a line
        #[arg(required = true)]
        targets: Vec<String>,
        /// Why, for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Refuses sources from a host and all names below it
    BlockHost {
        /// A name or an address
        host: String,
        /// Why, for the log
        #[arg(long)]
        reason: String,
    },
    /// Takes sources from a host again
    UnblockHost {
        /// A name or an address
        host: String,
        /// Why, for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Lists the hosts that are blocked
    Hosts,
    /// Deletes contents that are old, or were not used for long. They come back when they are asked for
    #[command(group = ArgGroup::new("age").args(["older_than", "unused_for"]).required(true))]
    Purge {
        /// Those that were converted longer ago than this, such as 90d or 12h
        #[arg(long)]
        older_than: Option<Age>,
        /// Those that were used last longer ago than this. The Worker notes uses where RETENTION_DAYS is set
        #[arg(long)]
        unused_for: Option<Age>,
        /// Only those that failed
        #[arg(long)]
        failed: bool,
        /// Files that clients have sent too, which cannot come back unless they are sent again
        #[arg(long)]
        files: bool,
        /// Deletes. Without it, they are only counted
        #[arg(long)]
        yes: bool,
    },
    /// Counts contents, pixels, tiles and bytes, and what waits
    Stats,
    /// Shows what operators did, the latest first
    Audit {
        /// Since when, such as 7d
        #[arg(long)]
        since: Option<Age>,
        /// What was done to one content, by its id, or to one host
        #[arg(long)]
        target: Option<String>,
        /// How many, at most
        #[arg(long, default_value = "100")]
        limit: usize,
    },
    /// Adds contents to the index that ended before the Worker had one
    Reindex,
}

/// Which contents of a list.
#[derive(clap::Args)]
struct Filter {
    /// Those that failed
    #[arg(long)]
    failed: bool,
    /// Since when, such as 7d
    #[arg(long)]
    since: Option<Age>,
    /// Those with this failure code
    #[arg(long, requires = "failed")]
    code: Option<String>,
    /// Those from a host and the names below it
    #[arg(long)]
    host: Option<String>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let edge = args.edge_url.clone().context("EDGEZOOM_EDGE_URL is not set")?;
    let token = args.admin_token.clone().context("EDGEZOOM_ADMIN_TOKEN is not set")?;
    let calls = Calls::new(&edge, token, args.who.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let printer = print::Printer { json: args.json };
    let pace = bulk::Pace { rate: args.rate, shows_bar: std::io::stderr().is_terminal() };
    runtime.block_on(commands::run(&args.command, &calls, &printer, &pace))
}
