//! `cargo xtask dev`: builds the Worker, then replaces itself with the program that runs the local service
//! (`tools/src/dev`). The tiler, which takes longer, is compiled meanwhile: the service shows its pages before, and
//! converts what waits once there is a tiler.

use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::build::{self, TILER};
use crate::command;
use crate::project::{self, Profile, Project};
use crate::setup::{self, Purpose};
use crate::steps::{self, Step, Tally};

/// The options of the local service.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Port of the service; 0 chooses a free one
    #[arg(long, default_value_t = 8787)]
    pub port: u16,
    /// Address to listen on. Others who can reach it use the service without limits
    #[arg(long, default_value = "127.0.0.1")]
    pub ip: IpAddr,
    /// Folder that keeps the service's state between runs [default: .local]
    #[arg(long)]
    pub state: Option<PathBuf>,
    /// Number of tilers
    #[arg(long, default_value_t = 1)]
    pub tilers: usize,
    /// Profile of the tilers; `release` compiles for minutes longer
    #[arg(long, value_enum, default_value = "dev")]
    pub profile: Profile,
    /// Networks besides the public internet that sources may be in, such as 127.0.0.0/8, separated by commas
    #[arg(long, env = "EDGEZOOM_ALLOW_NETWORKS", default_value = "")]
    pub allow_networks: String,
    /// Seconds without a report after which a tiler loses its job [default: the Worker's]
    #[arg(long, env = "EDGEZOOM_LEASE_SECONDS")]
    pub lease_seconds: Option<u32>,
    /// Pauses in seconds before the next attempts after a transient failure, such as 10,60,300,1800 [default: the
    /// Worker's]
    #[arg(long, env = "EDGEZOOM_RETRY_SECONDS")]
    pub retry_seconds: Option<String>,
    /// Seconds after which a request for a failed content starts it again [default: the Worker's]
    #[arg(long, env = "EDGEZOOM_ASK_AGAIN_SECONDS")]
    pub ask_again_seconds: Option<u32>,
    /// Number of queued messages above which new contents get 503
    #[arg(long, default_value_t = 10_000)]
    pub backlog_limit: u64,
    /// Maximum size of an uploaded file in bytes; 0 disables uploads
    #[arg(long, env = "EDGEZOOM_UPLOAD_BYTES", default_value_t = 2 << 30)]
    pub upload_bytes: u64,
    /// Log format of the tilers: `text` or `json`; `json` also logs the Worker
    #[arg(long, env = "EDGEZOOM_LOG", default_value = "text")]
    pub log: String,
    /// Reject new contents with 503; known ones are answered
    #[arg(long)]
    pub maintenance: bool,
    /// For `cargo xtask chaos`: the port of the proxy through which the tilers call the edge. The edge is restarted
    /// when it ends
    #[arg(long, hide = true)]
    pub faults_at: Option<u16>,
    /// Run the existing build without asking Cargo whether it is up to date
    #[arg(long)]
    pub built: bool,
    /// The tiler is being built. A line on standard input says that it is complete; an end without a line, that the
    /// build failed
    #[arg(long, hide = true)]
    pub building: bool,
}

/// Runs the service until it is stopped.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    free_port(options.port)?; // before the build, which may take minutes
    // Both programs parse the same options.
    let mut service = build::tool(project, ["dev".into()].into_iter().chain(std::env::args_os().skip(2)));
    if !options.built {
        setup::prepare(project, Purpose::Compile)?;
        worker(project, options.profile)?;
        let (complete, writer) = std::io::pipe()?;
        let mut renderer = Command::new(std::env::current_exe()?);
        renderer.args(["build-renderer", "--profile", options.profile.name()]).stdout(writer).spawn()?;
        service.arg("--building").stdin(complete);
    }
    let error = service.exec();
    Err(error).context("cannot start the local service")
}

/// Builds the Worker. Leaves Cargo compiling the tiler, for [`renderer`] to complete.
fn worker(project: &Project, profile: Profile) -> Result<()> {
    let compiling: Mutex<Option<Child>> = Mutex::new(None);
    let lock = || compiling.lock().unwrap_or_else(PoisonError::into_inner);
    let mut graph = build::worker(project, Purpose::Run);
    let tiler = Step::new("tiler", |out| {
        out.line(b"is compiled in the background");
        // The Worker, whose link-time optimisation uses one core, comes first.
        let mut cargo = project::in_background(&build::programs(project, &[TILER], profile));
        // Its progress bar and other lines would mix.
        *lock() = Some(cargo.env("CARGO_TERM_PROGRESS_WHEN", "never").spawn()?);
        Ok(Tally::default())
    });
    graph.push(tiler.after(&["tools"]));
    let picture = Step::new("home's picture", |out| out.prepare(&mut home_picture(project)?));
    graph.push(picture.needs(&["edge"]));
    let results = steps::run(graph, &project.logs());
    results.print();
    let result = results.result();
    if result.is_err()
        && let Some(cargo) = &mut *lock()
    {
        cargo.kill()?;
    }
    result
}

/// Builds the tiler, and the home page's picture with it. Then prints a line.
pub fn renderer(project: &Project, profile: Profile) -> Result<()> {
    let tiler = build::program(project, TILER, profile)?; // waits for Cargo's lock, and for what `worker` began
    command::run(home_picture(project)?.arg(tiler))?;
    println!("built");
    Ok(())
}

/// Returns the command that copies the home page's picture into the Worker's assets. If there is none yet, it needs a
/// tiler as argument.
fn home_picture(project: &Project) -> Result<Command> {
    let mut node = project.node_tool("node")?;
    node.arg("edge/viewer/hero.mjs");
    Ok(node)
}

/// Returns `wanted` if this port of the loopback address is free, or any free port if `wanted` is 0. Linux gives
/// connections ports from 32,768 on (`ip_local_port_range`), so one below stays free until the caller listens on it.
pub fn free_port(wanted: u16) -> Result<u16> {
    if wanted == 0 {
        let random = RandomState::new();
        let mut ports = (0..100).map(|number| 16_384 + (random.hash_one(number) % 16_384) as u16);
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
        return ports.find(is_free).context("no port is free");
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)) {
        Ok(_) => Ok(wanted),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            bail!(
                "port {wanted} is taken by another program; choose another with --port, or any free one with --port 0"
            )
        }
        Err(error) => bail!("cannot listen on port {wanted}: {error}"),
    }
}
