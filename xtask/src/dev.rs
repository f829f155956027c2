//! `cargo xtask dev`: builds what is not built, then becomes the program that runs the local service, which is in
//! `tools/src/dev`.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::build::{self, TILER};
use crate::port;
use crate::project::{Profile, Project};
use crate::setup::{self, Purpose};
use crate::steps::{self, Step};

/// How the local service is run.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The port that the service answers at; 0: any that is free
    #[arg(long, default_value_t = 8787)]
    pub port: u16,
    /// The folder that keeps the service's state from one run to the next [default: .local]
    #[arg(long)]
    pub state: Option<PathBuf>,
    /// How many tilers run
    #[arg(long, default_value_t = 1)]
    pub tilers: usize,
    /// How the tilers are compiled: as the tests have them, or as for deployment, which takes minutes more
    #[arg(long, value_enum, default_value = "dev")]
    pub profile: Profile,
    /// Networks that sources may lie in besides the public internet, such as 127.0.0.0/8, separated by commas
    #[arg(long, env = "EDGEZOOM_ALLOW_NETWORKS", default_value = "")]
    pub allow_networks: String,
    /// How long a tiler may be silent before its job is given to another one
    #[arg(long, env = "EDGEZOOM_LEASE_SECONDS", default_value_t = 60)]
    pub lease_seconds: u32,
    /// The pauses after attempts that failed for a reason that may pass
    #[arg(long, env = "EDGEZOOM_RETRY_SECONDS", default_value = "60,300,1800")]
    pub retry_seconds: String,
    /// How long a failure stands; a request after that starts the content anew
    #[arg(long, env = "EDGEZOOM_ASK_AGAIN_SECONDS", default_value_t = 600)]
    pub ask_again_seconds: u32,
    /// How many messages may wait in the queue while new contents are still taken
    #[arg(long, default_value_t = 10_000)]
    pub backlog_limit: u64,
    /// How large a file may be that clients send; 0: none are taken
    #[arg(long, env = "EDGEZOOM_UPLOAD_BYTES", default_value_t = 2 << 30)]
    pub upload_bytes: u64,
    /// What is logged: `text`, or `json` for JSON lines of the tilers and of the Worker, which is silent otherwise
    #[arg(long, env = "EDGEZOOM_LOG", default_value = "text")]
    pub log: String,
    /// Take nothing new: new contents get 503, known ones are answered as ever
    #[arg(long)]
    pub maintenance: bool,
    /// For `cargo xtask chaos`: the port at which the tilers call the edge, where something stands between them. The edge is
    /// started anew when it ends
    #[arg(long, hide = true)]
    pub faults_at: Option<u16>,
    /// Run what is built, without asking Cargo whether it is up to date
    #[arg(long)]
    pub built: bool,
}

/// Runs the service until it is asked to stop.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    port::free(options.port)?; // before the build, which may take minutes
    if !options.built {
        setup::prepare(project, Purpose::Compile)?;
        let mut tiler = build::programs(project, &[TILER], options.profile);
        let tiler = Step::new("tiler", |out| out.prepare(&mut tiler)).after(&["tools"]);
        let mut graph = build::worker(project, Purpose::Run);
        graph.push(tiler);
        let home_picture = Step::new("home's picture", |out| {
            let program = project.program(TILER, options.profile);
            out.prepare(project.node_tool("node")?.arg("edge/viewer/hero/convert.mjs").arg(program))
        });
        graph.push(home_picture.needs(&["tiler", "edge"]));
        steps::run(graph).result()?;
    }
    // The same words once more: the options are one type for both programs.
    let words = ["dev".into()].into_iter().chain(std::env::args_os().skip(2));
    let error = build::tool(project, words).exec();
    Err(error).context("the local service cannot be started")
}
