//! `cargo xtask dev`: the whole service on this machine, with nothing in the cloud. Builds what is not built, starts the
//! edge and the tilers, says when they answer, shows what they log, and takes them down together.

mod edge;
mod part;
mod port;
mod ready;
mod state;
mod tiler;
pub mod watchdog;

use std::convert::Infallible;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use edgezoom_content::AddressPolicy;
use edgezoom_content::address::NetworkError;
use tokio::signal::unix::{SignalKind, signal};

use crate::project::{Profile, Project};
use crate::setup::Purpose;
use crate::{build_edge, setup};
use edge::EdgeAddress;
use part::Part;
use state::State;
use tiler::Tiler;
use watchdog::Watchdog;

/// How the local service is run.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The port that the service answers at; 0: any that is free
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// Where what the service knows is kept, from one run to the next [default: .local]
    #[arg(long)]
    state: Option<PathBuf>,
    /// How many tilers run
    #[arg(long, default_value_t = 1)]
    tilers: usize,
    /// What the tilers are built as
    #[arg(long, value_enum, default_value = "release")]
    profile: Profile,
    /// Networks that sources may lie in besides the public internet, such as 127.0.0.0/8, separated by commas
    #[arg(long, env = "EDGEZOOM_ALLOW_NETWORKS", default_value = "", value_parser = networks)]
    allow_networks: String,
    /// How long a tiler may be silent before its job is given to another one
    #[arg(long, env = "EDGEZOOM_LEASE_SECONDS", default_value_t = 60)]
    lease_seconds: u32,
    /// How many messages may wait in the queue while new contents are still taken
    #[arg(long, default_value_t = 10_000)]
    backlog_limit: u64,
    /// Take nothing new: new contents get 503, known ones are answered as ever
    #[arg(long)]
    maintenance: bool,
}

/// Runs the service until it is told to stop.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let address = EdgeAddress { port: port::free(options.port)? };
    let state = State::open(options.state.as_deref().unwrap_or(&project.root.join(".local")))?;
    setup::prepare(project, Purpose::Run)?;
    build_edge::build(project)?;
    let program = project.build("edgezoom-tiler", "tiler", options.profile)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut system = System::new()?;
        let ended = tokio::select! {
            ended = system.live(project, &state, &address, &program, options) => ended.map(|never| match never {}),
            stop = told_to_stop() => stop,
        };
        system.stop().await?;
        ended
    })
}

/// What runs. On its way out, whatever that is, nothing of it stays.
struct System {
    watchdog: Watchdog,
    edge: Option<Part>,
    tilers: Vec<Tiler>,
}

impl System {
    fn new() -> Result<Self> {
        Ok(Self { watchdog: Watchdog::start()?, edge: None, tilers: vec![] })
    }

    /// Brings all parts up and keeps them up.
    async fn live(
        &mut self,
        project: &Project,
        state: &State,
        address: &EdgeAddress,
        program: &std::path::Path,
        options: &Options,
    ) -> Result<Infallible> {
        let mut command = edge::command(project, state, address, options)?;
        let edge = self.edge.insert(Part::start("edge", &mut command, &self.watchdog)?);
        tokio::select! {
            answered = answers(address, state.token()) => answered?,
            status = edge.ended() => bail!("the edge ended before it was ready: {}", status?),
        }
        for number in 1..=options.tilers {
            self.tilers.push(Tiler::start(number, program, state, address, options, &self.watchdog)?);
        }
        for tiler in &mut self.tilers {
            tiler.ready().await?;
        }
        writeln!(std::io::stdout(), "ready: {}", address.url())?;
        let tilers = self.tilers.iter_mut().map(|tiler| tiler.keep_running(&self.watchdog));
        tokio::select! {
            status = edge.ended() => bail!("the edge ended: {}", status?),
            Err(error) = futures::future::try_join_all(tilers) => Err(error),
        }
    }

    /// Takes the tilers down first: they hand their jobs back to the edge.
    async fn stop(mut self) -> Result<()> {
        for tiler in self.tilers.drain(..) {
            tiler.stop(&self.watchdog).await?;
        }
        match self.edge.take() {
            Some(edge) => edge.stop(&self.watchdog).await,
            None => Ok(()),
        }
    }
}

/// Waits until the Worker and the queue before it answer.
async fn answers(edge: &EdgeAddress, token: &str) -> Result<()> {
    ready::answers(format!("{}/health", edge.url()), "").await?;
    ready::answers(format!("{}/metrics", edge.queue_url()), token).await
}

/// Networks that Worker and tilers will take, as they are written.
fn networks(text: &str) -> Result<String, NetworkError> {
    AddressPolicy::allowing(text).map(|_| text.to_owned())
}

/// Waits for Ctrl-C, a polite kill, or the terminal's closing.
async fn told_to_stop() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    eprintln!("xtask | stopping");
    Ok(())
}
