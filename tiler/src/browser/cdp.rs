//! The Chrome DevTools Protocol over a socket: JSON commands and answers, a NUL after each. Knows no command by name.
//!
//! Source: <https://chromedevtools.github.io/devtools-protocol/>, flat sessions; the framing is that of Chromium's
//! `--remote-debugging-pipe`.

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_util::codec::{AnyDelimiterCodec, Framed};

/// The connection to one browser.
pub(super) struct Cdp {
    frames: Framed<UnixStream, AnyDelimiterCodec>,
    last_id: u64,
}

/// What the browser says.
#[derive(Debug)]
pub(super) enum Message {
    /// The answer to the command with this number: its result, or what was wrong with it.
    Answer(u64, Result<Value, String>),
    /// Something happened.
    Event(Event),
}

/// Something that happened in the browser.
#[derive(Debug)]
pub(super) struct Event {
    /// Its name, such as `Page.loadEventFired`.
    pub method: String,
    /// What is to say about it.
    pub params: Value,
}

/// The browser closed the connection, or what it says is not the protocol.
#[derive(Debug)]
pub(super) struct Gone;

#[derive(Deserialize)]
struct Incoming {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    message: String,
}

/// What a message may have: a strip of 2,560 × 8,192 pixels that does not compress, in base64, is 84 MB.
const LONGEST: usize = 128 << 20;

impl Cdp {
    pub(super) fn new(socket: UnixStream) -> Self {
        let codec = AnyDelimiterCodec::new_with_max_length(vec![0], vec![0], LONGEST);
        Self { frames: Framed::new(socket, codec), last_id: 0 }
    }

    /// Sends a command, to a session or to the browser itself, and gives its number.
    pub(super) async fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<u64, Gone> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        self.frames.send(command.to_string()).await.map_err(|_| Gone)?;
        Ok(self.last_id)
    }

    /// The next that the browser says. Nothing is lost when it is given up on.
    pub(super) async fn next(&mut self) -> Result<Message, Gone> {
        let frame = self.frames.next().await.ok_or(Gone)?.map_err(|_| Gone)?;
        understand(&frame)
    }
}

fn understand(frame: &Bytes) -> Result<Message, Gone> {
    let incoming: Incoming = serde_json::from_slice(frame).map_err(|_| Gone)?;
    match (incoming.id, incoming.method) {
        (Some(id), _) => Ok(Message::Answer(
            id,
            match incoming.error {
                Some(problem) => Err(problem.message),
                None => Ok(incoming.result),
            },
        )),
        (None, Some(method)) => Ok(Message::Event(Event { method, params: incoming.params })),
        (None, None) => Err(Gone),
    }
}
