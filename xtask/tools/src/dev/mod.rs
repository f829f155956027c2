//! `cargo xtask dev` after the build: the whole service on this machine, nothing in the cloud. Starts the edge and the tilers, reports
//! when they answer, shows their logs, and stops them together.

mod edge;
mod part;
mod state;
mod tiler;
pub mod watchdog;

use std::convert::Infallible;
use std::io::Write;

use anyhow::{Result, bail};
use edgezoom_content::AddressPolicy;
use tokio::signal::unix::{SignalKind, signal};
use xtask::build::TILER;
use xtask::dev::{Options, free_port};
use xtask::project::Project;

use edge::EdgeAddress;
use part::Part;
use state::State;
use tiler::Tiler;
use watchdog::Watchdog;

/// Runs the service until it is stopped.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    AddressPolicy::allowing(&options.allow_networks)?; // one error here instead of one from each part
    let address = EdgeAddress { port: free_port(options.port)? };
    let state = State::open(options.state.as_deref().unwrap_or(&project.root.join(".local")))?;
    let program = project.program(TILER, options.profile);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut system = System::new()?;
        let ended = tokio::select! {
            ended = system.live(project, &state, &address, &program, options) => ended.map(|never| match never {}),
            stop = stop_signal() => stop,
        };
        system.stop().await?;
        ended
    })
}

/// The running parts. The watchdog ends them if this is dropped.
struct System {
    watchdog: Watchdog,
    edge: Option<Part>,
    tilers: Vec<Tiler>,
}

impl System {
    fn new() -> Result<Self> {
        Ok(Self { watchdog: Watchdog::start()?, edge: None, tilers: vec![] })
    }

    /// Starts all parts and keeps them running.
    async fn live(
        &mut self,
        project: &Project,
        state: &State,
        address: &EdgeAddress,
        program: &std::path::Path,
        options: &Options,
    ) -> Result<Infallible> {
        let Self { watchdog, edge, tilers } = self;
        let start = || Part::start("edge", &mut edge::command(project, state, address, options)?, watchdog);
        let edge = edge.insert(start()?);
        tokio::select! {
            answered = answers(address, state.token()) => answered?,
            status = edge.ended() => bail!("the edge ended before it was ready: {}", status?),
        }
        let called = EdgeAddress { port: options.faults_at.unwrap_or(address.port) };
        for number in 1..=options.tilers {
            tilers.push(Tiler::start(number, program, state, &called, options, watchdog)?);
        }
        for tiler in &mut *tilers {
            tiler.ready().await?;
        }
        writeln!(std::io::stdout(), "ready: {}", address.url())?;
        let tilers = tilers.iter_mut().map(|tiler| tiler.keep_running(watchdog));
        let edge = async {
            loop {
                let status = edge.ended().await?;
                if options.faults_at.is_none() {
                    bail!("the edge ended: {status}");
                }
                eprintln!("xtask | the edge ended: {status}; restarting it");
                edge.end_group(watchdog);
                *edge = start()?;
            }
        };
        tokio::select! {
            ended = edge => ended,
            Err(error) = futures::future::try_join_all(tilers) => Err(error),
        }
    }

    /// Stops the tilers first: they hand their jobs back to the edge.
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

/// Waits until the Worker and the queue answer.
async fn answers(edge: &EdgeAddress, token: &str) -> Result<()> {
    part::answers(format!("{}/health", edge.url()), "").await?;
    part::answers(format!("{}/metrics", edge.queue_url()), token).await
}

/// Waits for SIGINT, SIGTERM or SIGHUP.
async fn stop_signal() -> Result<()> {
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
