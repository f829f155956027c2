//! `tiler admin`: the operator's commands, which call the Worker (`edge/src/admin/calls.js`). Every command may be
//! repeated, even after it was killed: completed work is not repeated, and is logged once.

mod ages;
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
use calls::{Calls, Pace};

/// Manages contents: show, list, retry, take down, block, delete
#[derive(clap::Args)]
pub struct Args {
    /// URL of the Worker
    #[arg(long, env = "EDGEZOOM_EDGE_URL", global = true)]
    edge_url: Option<Url>,
    /// One of the Worker's ADMIN_TOKENS
    #[arg(long, env = "EDGEZOOM_ADMIN_TOKEN", hide_env_values = true, global = true)]
    admin_token: Option<Secret>,
    /// Your name for the log, in addition to the name of the token
    #[arg(long = "as", value_name = "NAME", global = true)]
    who: Option<String>,
    /// Maximum number of contents handled per second
    #[arg(long, default_value = "10", global = true)]
    rate: NonZeroU32,
    /// Print the Worker's responses unchanged, one JSON object per line
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show a content: its state, history, objects, and the actions on it
    Show {
        /// Id, share link, or URL of a source
        target: String,
    },
    /// List ready, failed, taken down or deleted contents, the latest first
    #[command(group = ArgGroup::new("state").args(["failed", "ready", "taken_down", "deleted"]))]
    List {
        #[command(flatten)]
        filter: Filter,
        /// Only ready contents
        #[arg(long)]
        ready: bool,
        /// Only contents that are taken down
        #[arg(long)]
        taken_down: bool,
        /// Only contents that were deleted because they were unused or by their uploaders, or whose takedown was lifted
        #[arg(long)]
        deleted: bool,
        /// Maximum number
        #[arg(long, default_value = "100")]
        limit: usize,
    },
    /// Retry failed contents
    Retry {
        /// Ids, share links or URLs; `-` reads them from standard input, one per line
        #[arg(required_unless_present = "failed")]
        targets: Vec<String>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Take contents down: they are neither served nor converted again until the takedown is lifted
    Takedown {
        /// Ids, share links or URLs; `-` reads them from standard input, one per line
        #[arg(required = true)]
        targets: Vec<String>,
        /// Reason, shown to clients that request the content
        #[arg(long)]
        reason: String,
    },
    /// Lift takedowns: the contents are converted again when they are requested
    Lift {
        /// Ids, share links or URLs; `-` reads them from standard input, one per line
        #[arg(required = true)]
        targets: Vec<String>,
        /// Reason, for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Block sources from a host and its subdomains
    BlockHost {
        /// Host name or address
        host: String,
        /// Reason, for the log
        #[arg(long)]
        reason: String,
    },
    /// Unblock a host
    UnblockHost {
        /// Host name or address
        host: String,
        /// Reason, for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// List blocked hosts
    Hosts,
    /// Delete contents that are old or unused. They are converted again when they are requested
    #[command(group = ArgGroup::new("age").args(["older_than", "unused_for"]).required(true))]
    Purge {
        /// Contents converted longer ago than this, such as 90d or 12h
        #[arg(long)]
        older_than: Option<Age>,
        /// Contents last used longer ago than this; the Worker records uses if RETENTION_DAYS is set
        #[arg(long)]
        unused_for: Option<Age>,
        /// Only failed contents
        #[arg(long)]
        failed: bool,
        /// Include uploaded files, which cannot be converted again unless they are uploaded again
        #[arg(long)]
        files: bool,
        /// Delete the contents instead of only counting them
        #[arg(long)]
        yes: bool,
    },
    /// Count contents, pixels, tiles, bytes and queued jobs
    Stats,
    /// List the actions of operators, the latest first
    Audit {
        /// Maximum age, such as 7d
        #[arg(long)]
        since: Option<Age>,
        /// Only actions on this content id or host
        #[arg(long)]
        target: Option<String>,
        /// Maximum number
        #[arg(long, default_value = "100")]
        limit: usize,
    },
    /// Add contents to the index that ended before the Worker had one
    Reindex,
}

/// Filter of a list.
#[derive(clap::Args)]
struct Filter {
    /// Only failed contents
    #[arg(long)]
    failed: bool,
    /// Maximum age, such as 7d
    #[arg(long)]
    since: Option<Age>,
    /// Only contents with this failure code
    #[arg(long, requires = "failed")]
    code: Option<String>,
    /// Only contents from this host and its subdomains
    #[arg(long)]
    host: Option<String>,
    /// Only contents of this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let edge = args.edge_url.clone().context("EDGEZOOM_EDGE_URL is not set")?;
    let token = args.admin_token.clone().context("EDGEZOOM_ADMIN_TOKEN is not set")?;
    let calls = Calls::new(&edge, token, args.who.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let printer = print::Printer { json: args.json };
    let pace = Pace { rate: args.rate, shows_bar: std::io::stderr().is_terminal() };
    runtime.block_on(commands::run(&args.command, &calls, &printer, &pace))
}
