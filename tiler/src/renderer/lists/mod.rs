//! Reads lists of pictures for a collection: tables, JSON Lines, manifests and collections of IIIF, and sitemaps. Runs only
//! in the sandbox of [`unpack`](super::unpack), because the bytes may be hostile; its parent reads the [`Listing`] that
//! the process writes.

mod iiif;
mod json_lines;
mod rationed;
mod sitemap;
mod table;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

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

/// What an unpacking process has written about a list.
#[derive(Debug)]
pub struct Listing {
    file: BufReader<File>,
    is_over: bool,
}

impl Listing {
    pub(super) fn new(file: File) -> Self {
        Self { file: BufReader::new(file), is_over: false }
    }
}

impl Iterator for Listing {
    type Item = Listed;

    /// Returns what comes next. What no honest process writes ends the list as broken.
    fn next(&mut self) -> Option<Listed> {
        if self.is_over {
            return None;
        }
        let mut json = Vec::new();
        let listed = match self.file.by_ref().take(MAX_LISTED_BYTES as u64).read_until(b'\n', &mut json) {
            Ok(0) => return None,
            Ok(_) => serde_json::from_slice(&json).ok(),
            Err(_) => None,
        };
        self.is_over = listed.is_none();
        Some(listed.unwrap_or_else(|| Listed::Broken("The list cannot be read.".to_owned())))
    }
}

#[cfg(test)]
mod tests;
