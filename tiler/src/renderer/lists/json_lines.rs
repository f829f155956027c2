//! JSON Lines: an entry as an object on each line, as a collection takes them.

use std::io::{self, BufRead, Read};

use serde_json::{Map, Value};

use super::{Listed, MAX_ROW_BYTES, Out};

/// Returns true if a file with this beginning is in JSON Lines: its first line is an object, and not one of IIIF.
pub(super) fn begin(head: &[u8]) -> bool {
    let line = head.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let object = serde_json::from_slice::<Map<String, Value>>(line);
    object.is_ok_and(|object| !object.contains_key("@context") && !object.contains_key("@id"))
}

/// Reads JSON Lines. Members that are unknown here are kept.
///
/// # Errors
/// The source cannot be read.
pub(super) fn read(source: impl BufRead, out: &mut Out<'_>) -> io::Result<()> {
    each(source, out, |line| serde_json::from_slice(line).map_err(|_| "The line is not a JSON object."))
}

/// Calls `parse` for each line with characters.
///
/// # Errors
/// The source cannot be read.
pub(super) fn each(
    mut source: impl BufRead,
    out: &mut Out<'_>,
    parse: impl Fn(&[u8]) -> Result<Map<String, Value>, &'static str>,
) -> io::Result<()> {
    let mut line = Vec::new();
    for row in 1.. {
        line.clear();
        if source.by_ref().take(MAX_ROW_BYTES as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let is_cut = line.len() == MAX_ROW_BYTES && line.last() != Some(&b'\n');
        if is_cut {
            source.skip_until(b'\n')?;
        }
        match line.trim_ascii() {
            [] => {}
            _ if is_cut => out(Listed::Refused(row, "The line is longer than 64 KiB.".to_owned()))?,
            line => match parse(line) {
                Ok(entry) => out(Listed::Entry(row, entry))?,
                Err(reason) => out(Listed::Refused(row, reason.to_owned()))?,
            },
        }
    }
    Ok(())
}
