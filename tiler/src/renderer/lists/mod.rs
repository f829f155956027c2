//! Reads lists of pictures for a collection: tables, JSON Lines, manifests and collections of IIIF, and sitemaps. Runs only
//! in the sandbox of [`unpack`](super::unpack), because the bytes may be hostile; its parent reads the [`Listing`] that
//! the process writes.

mod iiif;
mod json_lines;
mod rationed;
mod sitemap;
mod table;

use std::io::{self, BufRead, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, Take};
use tokio::time::timeout;
use url::Url;

use super::process::RendererProcess;

/// Maximum number of bytes of a row: an entry has a URL of 2,048 characters, and lines of at most 1,000.
const MAX_ROW_BYTES: usize = 64 << 10;
/// Maximum number of bytes of a [`Listed`] as JSON, in which a byte may become six.
const MAX_LISTED_BYTES: usize = 8 * MAX_ROW_BYTES;

/// How to read a list.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ListRequest {
    /// URL of the list, to which its own are relative.
    pub url: Option<String>,
}

/// What a list has, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Listed {
    /// An entry as a line of a collection, and its row, from 1. Nothing in it is checked.
    Entry(u64, Map<String, Value>),
    /// The URL of a further list. It is not checked.
    List(String),
    /// A row that is no entry, and the reason.
    Refused(u64, String),
    /// The reason why the rest cannot be read. Comes last.
    Broken(String),
}

/// Takes what a list has.
type Out<'a> = dyn FnMut(Listed) -> io::Result<()> + 'a;

/// Writes what a list has as JSON Lines.
///
/// # Errors
/// The reader of `out` is gone.
pub(super) fn write(source: impl BufRead, request: &ListRequest, mut out: impl Write) -> io::Result<()> {
    let mut write = |listed: Listed| {
        serde_json::to_writer(&mut out, &listed)?;
        out.write_all(b"\n")
    };
    if let Err(error) = read(source, request, &mut write) {
        write(Listed::Broken(error.to_string()))?;
    }
    out.flush()
}

/// Reads a list of the kind that its beginning shows.
///
/// # Errors
/// The rest cannot be read, or not be written.
pub(super) fn read(mut source: impl BufRead, request: &ListRequest, out: &mut Out<'_>) -> io::Result<()> {
    let head = source.fill_buf()?;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(broken("The list is in UTF-16. Save it in UTF-8, in a spreadsheet as “CSV UTF-8”."));
    }
    let mark = b"\xef\xbb\xbf";
    let mark = if head.starts_with(mark) { mark.len() } else { 0 };
    source.consume(mark);
    let head = source.fill_buf()?;
    let from = request.url.as_deref().and_then(|url| Url::parse(url).ok());
    match head.trim_ascii_start().first() {
        Some(b'<') => sitemap::read(source, out),
        Some(b'{') if json_lines::begin(head) => json_lines::read(source, out),
        Some(b'{') => iiif::read(source, from.as_ref(), out),
        Some(b'[') => Err(broken("The list is a JSON array. Write one object on each line instead.")),
        Some(_) => table::read(source, out),
        None => Err(broken("The list is empty.")),
    }
}

fn broken(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

const UNREADABLE: &str = "The list cannot be read.";

/// What an unpacking process writes about a list. It waits while its reader does something else.
pub struct Listing {
    lines: BufReader<Take<Box<dyn AsyncRead + Unpin>>>,
    /// The process, if it has to end well.
    process: Option<RendererProcess>,
    /// Maximum time for the next line.
    patience: Duration,
    is_over: bool,
}

impl Listing {
    /// Returns the list that `output` has within its first `most` bytes.
    pub(super) fn new(
        output: impl AsyncRead + Unpin + 'static,
        process: Option<RendererProcess>,
        (most, patience): (u64, Duration),
    ) -> Self {
        let output: Box<dyn AsyncRead + Unpin> = Box::new(output);
        Self { lines: BufReader::new(output.take(most)), process, patience, is_over: false }
    }

    /// Returns what comes next. What no honest process writes ends the list as broken.
    pub async fn next(&mut self) -> Option<Listed> {
        if self.is_over {
            return None;
        }
        let mut json = Vec::new();
        let mut line = (&mut self.lines).take(MAX_LISTED_BYTES as u64);
        let read = timeout(self.patience, line.read_until(b'\n', &mut json)).await;
        let listed = match read {
            Ok(Ok(0)) => {
                self.is_over = true;
                return self.end().await.map(Listed::Broken);
            }
            Ok(Ok(_)) => serde_json::from_slice(&json).ok(),
            Ok(Err(_)) | Err(_) => None,
        };
        self.is_over = listed.is_none();
        Some(listed.unwrap_or_else(|| Listed::Broken(UNREADABLE.to_owned())))
    }

    /// Returns the reason if the process has not written everything.
    async fn end(&mut self) -> Option<String> {
        if self.lines.get_ref().limit() == 0 {
            return Some("The list is too large.".to_owned());
        }
        match self.process.as_mut()?.exit_code().await {
            Ok(0) => None,
            Ok(_) => Some(UNREADABLE.to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
