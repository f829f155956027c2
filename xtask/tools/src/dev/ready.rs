//! Waiting until a part answers. The requests are written by hand: an HTTP client would have the TLS that the tiler asks
//! for, and all that comes with it, for two lines to the loopback address.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a part has until it must answer well.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(5);
/// The pause between requests: at first, and at most. A part that answers badly logs each request.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Waits until a GET of `url`, which is plain HTTP, succeeds. Each request carries the token; parts that need none
/// ignore it.
pub async fn answers(url: String, token: &str) -> Result<()> {
    let (address, path) =
        url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).context("no URL")?;
    let started = Instant::now();
    let [mut pause, most] = PAUSE;
    loop {
        let answer = match timeout(REQUEST, status(address, path, token)).await {
            Ok(Ok(status)) if (200..300).contains(&status) => return Ok(()),
            Ok(Ok(status)) => {
                pause = most.min(pause * 2);
                format!("answers {status}")
            }
            Ok(Err(_)) | Err(_) => "does not answer".to_owned(),
        };
        if started.elapsed() > PATIENCE {
            bail!("{url} {answer} after {} s", PATIENCE.as_secs());
        }
        tokio::time::sleep(pause).await;
    }
}

/// The status of the response to a GET: the second word of its first line (RFC 9112, section 4).
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
