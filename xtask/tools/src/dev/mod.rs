//! `cargo xtask dev` after the Worker's build: the whole service on this machine, nothing in the cloud. Starts the
//! edge, and the tilers as soon as their program is built, reports when they answer, shows their logs, and stops them
//! together.

mod edge;
mod part;
mod state;
mod tiler;
pub mod watchdog;

use std::convert::Infallible;
use std::io::Write;

use anyhow::{Result, bail, ensure};
use edgezoom_content::AddressPolicy;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
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
        let built = built(options.building);
        let pages_and_program = async {
            answers(address, state.token()).await?;
            if built.is_empty() {
                writeln!(std::io::stdout(), "pages: {} (the renderer is still being built)", address.url())?;
            }
            ensure!(built.await?, "the renderer cannot be built");
            Ok(())
        };
        tokio::select! {
            done = pages_and_program => done?,
            status = edge.ended() => bail!("the edge ended before the service was ready: {}", status?),
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

/// Returns a channel that says when the tilers' program is built, or false if its build fails. Standard input has a
/// line for that.
fn built(building: bool) -> oneshot::Receiver<bool> {
    let (sender, receiver) = oneshot::channel();
    // In a thread of its own: the runtime would wait for one of its own before it ends.
    std::thread::spawn(move || {
        let is_built = !building || std::io::stdin().lines().next().is_some_and(|line| line.is_ok());
        let _ = sender.send(is_built); // fails if the service has ended
    });
    receiver
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
