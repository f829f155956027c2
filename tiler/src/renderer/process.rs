//! The renderer's operating-system process: starts it, and finds out why it ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::RenderError;

/// Size of the pipe from the process. It is large so that neither side waits for the other at every tile.
const PIPE_BYTES: usize = 1 << 20;
/// Number of bytes kept of the process's standard error.
const STDERR_BYTES: u64 = 4 << 10;
/// Time for a process to exit after its output has ended.
const EXIT_TIME: Duration = Duration::from_secs(5);
/// Messages on standard error when an allocation fails, before the process aborts: from Rust's standard library, also
/// when it starts a thread, from libdeflater, from the C++ library in PDFium, and from Rust when that library's
/// exception leaves PDFium, which throws no other.
const ALLOCATION_FAILED: [&str; 5] = [
    "memory allocation of ",
    "failed to allocate an alternative stack",
    "returned NULL: out of memory",
    "bad_alloc",
    "Rust cannot catch foreign exceptions",
];
/// Signals that a process raises through its own faults (signal(7)). The sandbox allows no other signal to itself.
const FAULTS: [Signal; 7] =
    [Signal::ABORT, Signal::BUS, Signal::FPE, Signal::ILL, Signal::SEGV, Signal::SYS, Signal::TRAP];

/// A running renderer process. When dropped, the process is killed and reaped.
pub struct RendererProcess {
    child: Child,
    stderr: JoinHandle<String>,
    /// Processor time after which the kernel ends the process.
    cpu_limit: Duration,
}

impl RendererProcess {
    /// Starts `program` with a subcommand and its request in JSON. `input` becomes its standard input: the source, or the
    /// channel over which it arrives. The kernel ends it after `cpu_limit`, as the request says. Returns its standard
    /// output too.
    pub fn start(
        program: &Path,
        subcommand: &str,
        request: String,
        input: OwnedFd,
        cpu_limit: Duration,
    ) -> io::Result<(Self, ChildStdout)> {
        let mut child = Command::new(program)
            .arg(subcommand)
            .arg(request)
            .env_clear()
            .current_dir("/")
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("the child process has no pipes"));
        };
        // If the system does not allow it, the pipe keeps its default size.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES);
        tracing::info!(process = child.id(), "renderer started");
        Ok((Self { child, stderr: tokio::spawn(collect(stderr)), cpu_limit }, stdout))
    }

    /// Kills the process, if it is still running.
    pub fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Waits until the process has exited successfully.
    ///
    /// # Errors
    /// It exits with an error, or not in time.
    pub async fn exited(&mut self) -> Result<(), RenderError> {
        match timeout(EXIT_TIME, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => {
                let stderr = timeout(EXIT_TIME, &mut self.stderr).await.ok().and_then(Result::ok);
                let stderr = stderr.filter(|text| !text.trim().is_empty());
                tracing::info!(stderr, "renderer ended");
                Ok(())
            }
            _ => Err(self.cause_of_death().await),
        }
    }

    /// Waits until the process has exited, and returns its exit code.
    ///
    /// # Errors
    /// A signal ends it, or it does not exit in time.
    pub async fn exit_code(&mut self) -> Result<i32, RenderError> {
        match timeout(EXIT_TIME, self.child.wait())
            .await
            .ok()
            .and_then(Result::ok)
            .and_then(|status| status.code())
        {
            Some(code) => Ok(code),
            None => Err(self.cause_of_death().await),
        }
    }

    /// Returns why the process's output ended before it was complete.
    pub async fn cause_of_death(&mut self) -> RenderError {
        let status = timeout(EXIT_TIME, self.child.wait()).await;
        let stderr = timeout(EXIT_TIME, &mut self.stderr).await;
        let stderr = stderr.ok().and_then(Result::ok).unwrap_or_default();
        match &status {
            Ok(Ok(status)) => tracing::warn!(%status, stderr, "a renderer died"),
            _ => tracing::warn!(stderr, "a renderer did not exit"),
        }
        match status {
            Ok(Ok(status)) => cause(status.signal(), &stderr, self.cpu_limit),
            _ => RenderError::Died,
        }
    }

    /// Returns the process's id until the process has been reaped.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

/// Returns the error for the signal that ended a process and its standard error.
fn cause(signal: Option<i32>, stderr: &str, cpu_limit: Duration) -> RenderError {
    let is = |known: Signal| signal == Some(known.as_raw());
    if ALLOCATION_FAILED.iter().any(|sign| stderr.contains(sign)) {
        return RenderError::OutOfMemory;
    }
    match signal {
        // PDFium calls abort(3) without a message when an allocation fails (`FX_OutOfMemoryTerminate`). Rust writes a
        // message before it aborts.
        _ if is(Signal::ABORT) && stderr.trim().is_empty() => RenderError::OutOfMemory,
        // The kernel sends it after `RLIMIT_CPU` (setrlimit(2)).
        _ if is(Signal::XCPU) => RenderError::TooComplex { allowed: cpu_limit },
        Some(signal) if FAULTS.iter().any(|fault| is(*fault)) => RenderError::Crashed { signal },
        Some(signal) => RenderError::Killed { signal },
        None => RenderError::Died,
    }
}

/// Returns the beginning of the process's standard error. Reads the rest too, because a full pipe would block the
/// process.
async fn collect(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    let _ = (&mut stderr).take(STDERR_BYTES).read_to_end(&mut kept).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_distinguish_faults_limits_and_kills_from_outside() {
        let cause = |signal: Option<Signal>, stderr: &str| {
            cause(signal.map(Signal::as_raw), stderr, Duration::from_secs(7))
        };
        for fault in [Signal::SEGV, Signal::ILL, Signal::BUS] {
            assert!(matches!(cause(Some(fault), ""), RenderError::Crashed { .. }), "{fault:?}");
        }
        for outside in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
            assert!(matches!(cause(Some(outside), ""), RenderError::Killed { .. }), "{outside:?}");
        }
        assert!(matches!(cause(Some(Signal::ABORT), ""), RenderError::OutOfMemory));
        assert!(matches!(cause(Some(Signal::ABORT), "thread 'main' panicked"), RenderError::Crashed { .. }));
        for sign in [
            "memory allocation of 9 bytes",
            "failed to allocate an alternative stack: Cannot allocate memory (os error 12)",
            "libdeflate_alloc_compressor returned NULL: out of memory",
            "fatal runtime error: Rust cannot catch foreign exceptions",
        ] {
            assert!(matches!(cause(Some(Signal::ABORT), sign), RenderError::OutOfMemory), "{sign}");
        }
        assert!(matches!(cause(Some(Signal::XCPU), ""), RenderError::TooComplex { .. }));
        assert!(matches!(cause(None, ""), RenderError::Died));
    }
}
