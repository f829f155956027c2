//! A program that runs beside a system for a test. It ends when it is dropped, and by xtask's watchdog when the tests are
//! killed.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
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
/// None of many ports is free.
pub fn free_address() -> Result<String> {
    Ok(format!("127.0.0.1:{}", free_port()?))
}

/// A port that nothing listens on. Neither Linux, which gives connections ports from 32,768 on (`ip_local_port_range`), nor
/// `cargo xtask dev --port 0`, which takes one below 24,576, gives it away before the caller listens on it.
///
/// # Errors
/// None of many is free.
pub fn free_port() -> Result<u16> {
    let mut ports = (0..100).map(|_| fastrand::u16(24_576..32_768));
    ports.find(|&port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()).context("no port is free")
}
