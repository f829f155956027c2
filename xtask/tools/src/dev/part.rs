//! A part of the local service: a process with its children in a process group of their own. Its output is shown under
//! its name. It is terminated on request, killed if that takes too long, and killed by the watchdog if this program
//! dies.

use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anstream::adapter::strip_bytes;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::watchdog::Watchdog;

/// Time that a part has to terminate on request.
const GRACE: Duration = Duration::from_secs(10);

/// Prefixes of lines in which wrangler addresses its users, among the Worker's lines.
const OF_WRANGLER: [&str; 14] = [
    "[wrangler:info]",
    "Using secrets",
    "edgezoom has access",
    "edgezoom-local has access",
    "Binding ",
    "env.",
    "Service bindings,",
    "Attaching additional",
    "⎔",
    "┌",
    "│",
    "├",
    "└",
    "Your Worker ",
];

/// A running part.
pub struct Part {
    name: String,
    process: Child,
    group: Pid,
}

impl Part {
    /// Starts a part and shows its output under `name`.
    pub fn start(name: &str, command: &mut Command, watchdog: &Watchdog) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut process = command.spawn().with_context(|| format!("cannot start the {name}"))?;
        let group = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.with_context(|| format!("the {name} ended at once"))?;
        watchdog.watch(group)?;
        if let Some(lines) = process.stdout.take() {
            tokio::spawn(show(name.to_owned(), lines));
        }
        if let Some(lines) = process.stderr.take() {
            tokio::spawn(show(name.to_owned(), lines));
        }
        Ok(Self { name: name.to_owned(), process, group })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().cast_unsigned()
    }

    /// Waits until it ends by itself. Cancel safe.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        Ok(self.process.wait().await?)
    }

    /// Kills the rest of its group after it has ended.
    pub fn end_group(&self, watchdog: &Watchdog) {
        let _ = kill_process_group(self.group, Signal::KILL); // fails if the group is empty
        watchdog.forget(self.group);
    }

    /// Terminates it and its group.
    pub async fn stop(mut self, watchdog: &Watchdog) -> Result<()> {
        let _ = kill_process_group(self.group, Signal::TERM); // fails if it has ended
        if timeout(GRACE, self.process.wait()).await.is_err() {
            eprintln!("xtask | the {} does not stop; killing it", self.name);
        }
        self.end_group(watchdog);
        self.process.wait().await?;
        Ok(())
    }
}

/// Shows lines until their source closes, without empty ones and colours: wrangler prints both whatever its options
/// say.
async fn show(name: String, source: impl AsyncRead + Unpin) {
    let mut lines = BufReader::new(source).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = strip_bytes(&line).into_vec();
        let line = String::from_utf8_lossy(line.trim_ascii_end());
        if !line.is_empty() && !OF_WRANGLER.iter().any(|prefix| line.starts_with(prefix)) {
            eprintln!("{name:5} | {line}");
        }
    }
}

/// Time that a part has until it must answer, while its process lives: a busy machine takes minutes.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Time between two messages about a part that does not answer yet.
const NOTICE: Duration = Duration::from_secs(30);
/// Time limit of one request.
const REQUEST: Duration = Duration::from_secs(5);
/// First and longest pause between requests. A part that answers with errors logs each request.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Waits until a GET of `url` with this bearer token succeeds.
pub async fn answers(url: String, token: &str) -> Result<()> {
    let (address, path) =
        url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("not an http URL")?;
    let started = Instant::now();
    let [mut pause, longest] = PAUSE;
    let mut notice = NOTICE;
    loop {
        let answer = match timeout(REQUEST, status(address, path, token)).await {
            Ok(Ok(status)) if (200..300).contains(&status) => return Ok(()),
            Ok(Ok(status)) => {
                pause = longest.min(pause * 2);
                format!("answers {status}")
            }
            Ok(Err(_)) | Err(_) => "does not answer".to_owned(),
        };
        let waited = started.elapsed();
        if waited > PATIENCE {
            bail!("{url} {answer} after {} s", PATIENCE.as_secs());
        }
        if waited > notice {
            eprintln!("xtask | {url} {answer} after {} s; waiting", waited.as_secs());
            notice = waited + NOTICE;
        }
        tokio::time::sleep(pause).await;
    }
}

/// Sends a GET and returns the status (RFC 9112, section 4). An HTTP client would bring TLS and all its dependencies.
async fn status(address: &str, path: &str, token: &str) -> Result<u16> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!(
        "GET /{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line).await?;
    Ok(line.split(' ').nth(1).context("no status")?.parse()?)
}
