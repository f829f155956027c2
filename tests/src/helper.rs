//! A program that runs beside a system for a test. It ends when it is dropped, and by xtask's watchdog when the tests are
//! killed.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::client::Client;
use crate::system;

/// A running program.
pub struct Helper {
    process: Child,
    watchdog: Child,
}

/// How long a program may take to answer, on a machine that is busy.
const START: Duration = Duration::from_secs(60);

impl Helper {
    /// Starts a program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let process = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        let watchdog = system::watch(process.id())?;
        Ok(Self { process, watchdog })
    }

    /// Waits until the program answers at this address.
    ///
    /// # Errors
    /// It ends, or takes too long.
    pub async fn answers(&mut self, url: &str) -> Result<()> {
        let client = Client::new(url)?;
        let deadline = Instant::now() + START;
        while !client.get(url).await.is_ok_and(|answer| answer.status.is_success()) {
            if self.process.try_wait()?.is_some() || Instant::now() > deadline {
                let _ = self.process.kill(); // an error: it has ended
                let mut said = String::new();
                self.process.stderr.take().context("no output")?.read_to_string(&mut said)?;
                bail!("{url} does not answer: {said}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.process.kill(); // an error: it has ended
        drop(self.watchdog.stdin.take());
        let _ = (self.process.wait(), self.watchdog.wait());
    }
}

/// An address on this machine that nothing listens at.
///
/// # Errors
/// There is none.
pub fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
