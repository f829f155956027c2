//! The renderer's operating-system process: how it is started, and what its end says.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::RenderError;
use super::request::RenderRequest;

/// The size of the pipe from the process, so that neither side waits for the other at every tile.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;
/// How much of the process's standard error is kept.
const STDERR_BYTES: u64 = 4 << 10;
/// How long a process may take to exit after its output has ended.
const EXIT_TIME: Duration = Duration::from_secs(5);
/// What Rust's standard library writes to standard error when an allocation fails, before it aborts. There is no other
/// sign of it: the process dies by a signal as if it had crashed.
const ALLOCATION_FAILED: &str = "memory allocation of ";

/// A running renderer process. When dropped, the process is killed and reaped.
pub struct RendererProcess {
    child: Child,
    stderr: JoinHandle<String>,
}

impl RendererProcess {
    /// Starts `program render` with the source as its standard input. Also gives its standard output.
    pub fn start(program: &Path, source: File, request: &RenderRequest) -> io::Result<(Self, ChildStdout)> {
        let mut child = Command::new(program)
            .arg("render")
            .arg(serde_json::to_string(request)?)
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
        enlarge_pipe(&stdout);
        Ok((Self { child, stderr: tokio::spawn(collect(stderr)) }, stdout))
    }

    /// Kills the process. It may be dead already, which does no harm.
    pub fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Waits until the process has exited with success.
    ///
    /// # Errors
    /// It exits with an error or not at all.
    pub async fn exited(&mut self) -> Result<(), RenderError> {
        match timeout(EXIT_TIME, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            _ => Err(self.cause_of_death().await),
        }
    }

    /// Why the process's output ended before it was complete.
    pub async fn cause_of_death(&mut self) -> RenderError {
        let status = timeout(EXIT_TIME, self.child.wait()).await;
        let stderr = timeout(EXIT_TIME, &mut self.stderr).await;
        let stderr = stderr.ok().and_then(Result::ok).unwrap_or_default();
        match &status {
            Ok(Ok(status)) => tracing::warn!(%status, stderr, "a renderer died"),
            _ => tracing::warn!(stderr, "a renderer did not exit"),
        }
        if stderr.contains(ALLOCATION_FAILED) {
            return RenderError::OutOfMemory;
        }
        match status {
            Ok(Ok(status)) if ran_out_of_cpu_time(status) => RenderError::TimedOut,
            Ok(Ok(status)) => match signal_from_outside(status) {
                Some(signal) => RenderError::Killed { signal },
                None => RenderError::Died,
            },
            _ => RenderError::Died,
        }
    }
}

/// The beginning of the process's standard error. The rest is read too: a full pipe would block the process.
async fn collect(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    let _ = (&mut stderr).take(STDERR_BYTES).read_to_end(&mut kept).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

/// The current executable, even if its file has been replaced by a newer one.
pub fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// Enlarges the pipe. Where the system does not allow that, the pipe works with its usual size.
#[cfg(target_os = "linux")]
fn enlarge_pipe(pipe: &ChildStdout) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn enlarge_pipe(_: &ChildStdout) {}

/// Whether the kernel ended the process with SIGXCPU, as it does past `RLIMIT_CPU` (setrlimit(2)).
#[cfg(unix)]
fn ran_out_of_cpu_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn ran_out_of_cpu_time(_: ExitStatus) -> bool {
    false
}

/// The signal that ended the process, if neither a fault of its own nor a limit raised it (signal(7)). The parent sends one
/// only when it does not ask for the cause any more.
#[cfg(unix)]
fn signal_from_outside(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::Signal;
    let own = [
        Signal::ABORT,
        Signal::BUS,
        Signal::FPE,
        Signal::ILL,
        Signal::PIPE,
        Signal::SEGV,
        Signal::SYS,
        Signal::TRAP,
        Signal::XCPU,
        Signal::XFSZ,
    ];
    status.signal().filter(|signal| own.iter().all(|own| own.as_raw() != *signal))
}

#[cfg(not(unix))]
fn signal_from_outside(_: ExitStatus) -> Option<i32> {
    None
}
