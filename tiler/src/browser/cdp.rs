//! The Chrome DevTools Protocol over a socket: JSON messages, each terminated by a NUL byte. This module does not know
//! the names of commands or events.
//!
//! Sources: <https://chromedevtools.github.io/devtools-protocol/>, with flat sessions (`Target.attachToTarget`,
//! `flatten`); the framing is that of Chromium's `--remote-debugging-pipe`
//! (`content/browser/devtools/devtools_pipe_handler.cc`).

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_util::codec::{AnyDelimiterCodec, Framed};

/// The connection to one browser.
pub(super) struct Connection {
    frames: Framed<UnixStream, AnyDelimiterCodec>,
    last_id: u64,
}

/// A message from the browser.
#[derive(Debug)]
pub(super) enum Message {
    /// Response to the command with this id: its result, or the message of its error.
    Response(u64, Result<Value, String>),
    /// An event.
    Event(Event),
}

/// An event of the browser.
#[derive(Debug)]
pub(super) struct Event {
    /// Its name, such as `Page.loadEventFired`.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

/// The browser closed the connection, or sent a message that is not part of the protocol.
#[derive(Debug)]
pub(super) struct ConnectionClosed;

#[derive(Deserialize)]
struct RawMessage {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<RawError>,
}

#[derive(Deserialize)]
struct RawError {
    message: String,
}

/// Maximum length of a message: a strip of 2,560 × 8,192 pixels that does not compress takes 84 MB in base64.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

impl Connection {
    pub(super) fn new(socket: UnixStream) -> Self {
        let codec = AnyDelimiterCodec::new_with_max_length(vec![0], vec![0], MAX_MESSAGE_BYTES);
        Self { frames: Framed::new(socket, codec), last_id: 0 }
    }

    /// Sends a command to a session, or to the browser itself, and returns its id.
    pub(super) async fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<u64, ConnectionClosed> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        self.frames.send(command.to_string()).await.map_err(|_| ConnectionClosed)?;
        Ok(self.last_id)
    }

    /// Returns the next message. Cancel safe: no message is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Message, ConnectionClosed> {
        let frame = self.frames.next().await.ok_or(ConnectionClosed)?.map_err(|_| ConnectionClosed)?;
        parse(&frame)
    }
}

/// Parses one message.
pub(super) fn parse(frame: &Bytes) -> Result<Message, ConnectionClosed> {
    let message: RawMessage = serde_json::from_slice(frame).map_err(|_| ConnectionClosed)?;
    match (message.id, message.method) {
        (Some(id), _) => Ok(Message::Response(
            id,
            match message.error {
                Some(error) => Err(error.message),
                None => Ok(message.result),
            },
        )),
        (None, Some(method)) => Ok(Message::Event(Event { method, params: message.params })),
        (None, None) => Err(ConnectionClosed),
    }
}
