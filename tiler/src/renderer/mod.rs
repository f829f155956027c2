//! Renders pictures in a process of their own, because their bytes may be hostile.
//!
//! [`Renderer::start`] runs the current executable as `tiler render`. That [`child`] has its source as standard input,
//! locks itself in ([`sandbox`](crate::sandbox)) before it parses the first byte, and writes what it makes to standard output, in the
//! frames of [`protocol`]. The parent believes nothing of it: [`check`] compares every frame with what was ordered. A
//! child that crashes, exceeds a limit or breaks the protocol costs its one picture.

mod check;
pub mod child;
pub mod order;
mod protocol;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::BytesMut;
use edgezoom_content::{Dzi, Failure, FailureCode};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::Limits;
use check::Check;
pub use edgezoom_pyramid::Tile;
use order::Order;
pub use order::RenderOptions;

/// How much is read from the child at once. Tiles share such a buffer, so it also is what a kept tile may hold on to.
const READ_BYTES: usize = 256 << 10;
/// What the pipe from the child should hold, so that neither side waits for the other at every tile.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;
/// How much of what a child complains of is kept.
const COMPLAINT_BYTES: u64 = 4 << 10;
/// How long a child may take to exit after its output has ended.
const EXIT_TIME: Duration = Duration::from_secs(5);
/// What Rust's standard library says when an allocation fails, before it aborts. There is no other sign of it: the
/// process dies by a signal as if it had crashed.
const OUT_OF_MEMORY: &str = "memory allocation of ";

/// A running child process. When dropped, the child is killed and reaped.
pub struct Renderer {
    child: Child,
    stdout: ChildStdout,
    complaints: JoinHandle<String>,
    received: BytesMut,
    check: Check,
    finished: Option<Dzi>,
    deadline: Instant,
}

/// What a child process has made.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The picture's header is read. Comes first.
    Begun(Dzi),
    /// How much of the picture is read, from 0 to 1.
    Progress(f64),
    /// A tile. They come in no particular order, each once.
    Tile(Tile),
    /// All tiles have come, and the child has exited well. Comes last.
    Finished(Dzi),
}

impl Renderer {
    /// Starts a child process that renders `source`.
    ///
    /// # Errors
    /// When the options make no sense or the process cannot be started.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(source: File, options: &RenderOptions, limits: &Limits) -> io::Result<Self> {
        Self::start_as(&own_program()?, source, options, limits)
    }

    /// The same with another executable, for programs that are not `tiler` themselves.
    ///
    /// # Errors
    /// When the options make no sense or the process cannot be started.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start_as(
        program: &Path,
        source: File,
        options: &RenderOptions,
        limits: &Limits,
    ) -> io::Result<Self> {
        let order = Order::new(options, limits)?;
        let mut child = Command::new(program)
            .arg("render")
            .arg(serde_json::to_string(&order)?)
            .env_clear()
            .current_dir("/")
            .stdin(source)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("a child process without pipes"));
        };
        widen(&stdout);
        Ok(Self {
            child,
            stdout,
            complaints: tokio::spawn(collect(stderr)),
            received: BytesMut::new(),
            check: Check::new(order),
            finished: None,
            deadline: Instant::now() + limits.renderer_time,
        })
    }

    /// The next thing the child has made. As long as nobody asks, the child is held back by its full pipe. May be
    /// cancelled and called again.
    ///
    /// # Errors
    /// With the failure that ended the child, or for which it was ended. There is nothing to come after that, nor after
    /// [`Output::Finished`].
    pub async fn next(&mut self) -> Result<Output, Failure> {
        let result = match timeout_at(self.deadline, self.step()).await {
            Ok(result) => result,
            Err(_) => Err(timed_out()),
        };
        if result.is_err() {
            // It may be dead already, which is as well.
            let _ = self.child.start_kill();
        }
        result
    }

    async fn step(&mut self) -> Result<Output, Failure> {
        if let Some(dzi) = self.finished {
            return self.conclude(dzi).await;
        }
        loop {
            let message = self.check.frame(&mut self.received).map_err(breach)?;
            match message.map(|message| self.check.take(message)).transpose().map_err(breach)? {
                Some(check::Verdict::Output(Output::Finished(dzi))) => {
                    self.finished = Some(dzi);
                    return self.conclude(dzi).await;
                }
                Some(check::Verdict::Output(output)) => return Ok(output),
                Some(check::Verdict::Failed(failure)) => return Err(failure),
                None if self.receive().await? == 0 => return Err(self.cause_of_death().await),
                None => {}
            }
        }
    }

    async fn receive(&mut self) -> Result<usize, Failure> {
        self.received.reserve(READ_BYTES);
        self.stdout.read_buf(&mut self.received).await.map_err(breach)
    }

    /// After the last frame: nothing more may come, and the child has to exit well.
    async fn conclude(&mut self, dzi: Dzi) -> Result<Output, Failure> {
        if !self.received.is_empty() || self.receive().await? != 0 {
            return Err(breach("output after the end"));
        }
        match timeout(EXIT_TIME, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(Output::Finished(dzi)),
            _ => Err(self.cause_of_death().await),
        }
    }

    /// Why a child's output ended before it was complete.
    async fn cause_of_death(&mut self) -> Failure {
        let status = timeout(EXIT_TIME, self.child.wait()).await;
        let complaints = timeout(EXIT_TIME, &mut self.complaints).await;
        let complaints = complaints.ok().and_then(Result::ok).unwrap_or_default();
        match &status {
            Ok(Ok(status)) => tracing::warn!(%status, complaints, "a renderer died"),
            _ => tracing::warn!(complaints, "a renderer did not exit"),
        }
        if complaints.contains(OUT_OF_MEMORY) {
            return Failure::new(
                FailureCode::TooManyPixels,
                "The picture takes more memory than is allowed for rendering.",
            );
        }
        match status {
            Ok(Ok(status)) if ran_out_of_time(status) => timed_out(),
            _ => Failure::new(FailureCode::Internal, "The renderer stopped unexpectedly."),
        }
    }
}

fn timed_out() -> Failure {
    Failure::new(FailureCode::TimedOut, "Rendering took longer than is allowed.")
}

fn breach(error: impl std::fmt::Display) -> Failure {
    tracing::error!(%error, "a renderer broke the protocol");
    Failure::new(FailureCode::Internal, "The renderer stopped unexpectedly.")
}

/// What the child complains of, as far as it is kept. The rest is read too, or the child would wait.
async fn collect(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut complaints = Vec::new();
    let _ = (&mut stderr).take(COMPLAINT_BYTES).read_to_end(&mut complaints).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&complaints).into_owned()
}

/// The current executable, even if its file has been replaced by a newer one.
fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// Gives the pipe more room. Where that is not allowed, it works without.
#[cfg(target_os = "linux")]
fn widen(pipe: &ChildStdout) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn widen(_: &ChildStdout) {}

#[cfg(unix)]
fn ran_out_of_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn ran_out_of_time(_: ExitStatus) -> bool {
    false
}
