//! Tables as spreadsheets write them (RFC 4180), with commas, semicolons or tabs between the cells and the columns' names in
//! the first row; and plain lists of URLs.

use std::io::{self, BufRead};

use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use serde_json::{Map, Value};

use super::rationed::Rationed;
use super::{Listed, Out, broken, json_lines};

/// Members of an entry that a table may have, and other names of their columns, without spaces and hyphens.
const COLUMNS: [(&str, &[&str]); 7] = [
    ("url", &["url", "uri", "source", "address", "image", "link"]),
    ("title", &["title", "name", "label"]),
    ("alt", &["alt", "alttext", "alternativetext", "alternative"]),
    ("credit", &["credit", "creditline", "attribution"]),
    ("rights", &["rights", "licence", "license"]),
    ("options", &["options"]),
    ("id", &["id"]),
];

const NO_COLUMNS: &str =
    "The first row names no column “url”. Name the columns there: url, title, alt, credit, rights.";

/// Reads a table.
///
/// # Errors
/// No column has URLs, or a row does not end.
pub(super) fn read(mut source: impl BufRead, out: &mut Out<'_>) -> io::Result<()> {
    let head = source.fill_buf()?;
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    if [&b"http://"[..], b"https://"].iter().any(|scheme| first.starts_with(scheme)) {
        return plain(source, out);
    }
    // Excel writes and reads such a line.
    let (separator, skipped) = match first {
        [b's', b'e', b'p', b'=', separator] => (*separator, head.iter().position(|byte| *byte == b'\n')),
        _ => (separator(first), None),
    };
    let skipped = skipped.map_or(0, |end| end + 1);
    source.consume(skipped);
    let (source, ration) = Rationed::new(source);
    let mut rows =
        ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(source);
    let mut columns: Option<Vec<Option<&str>>> = None;
    let mut row = ByteRecord::new();
    while rows.read_byte_record(&mut row).map_err(cause)? {
        ration.renew();
        match &columns {
            None => columns = Some(columns_of(&row)?),
            Some(columns) => {
                // As spreadsheets count, whose cells may have several lines.
                let number = row.position().map_or(0, csv::Position::record) + 1;
                match entry(&row, columns) {
                    Ok(entry) if entry.is_empty() => {}
                    Ok(entry) => out(Listed::Entry(number, entry))?,
                    Err(reason) => out(Listed::Refused(number, reason.to_owned()))?,
                }
            }
        }
    }
    Ok(())
}

/// Returns the separator that is most frequent in the first row, outside of quotation marks.
fn separator(first: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let mut is_quoted = false;
    for byte in first {
        is_quoted ^= *byte == b'"';
        counts.iter_mut().filter(|(of, _)| of == byte && !is_quoted).for_each(|(_, count)| *count += 1);
    }
    // The first of the most frequent.
    counts.iter().rev().max_by_key(|(_, count)| count).map_or(b',', |(separator, _)| *separator)
}

/// Returns the member of each column; `None` for columns that mean nothing here.
fn columns_of(row: &ByteRecord) -> io::Result<Vec<Option<&'static str>>> {
    let mut columns = Vec::<Option<&str>>::new();
    for cell in row {
        let name = String::from_utf8_lossy(cell).to_lowercase().replace([' ', '-', '_'], "");
        let member = COLUMNS.iter().find(|(_, names)| names.contains(&name.trim()));
        let member = member.map(|(member, _)| *member).filter(|member| !columns.contains(&Some(*member)));
        columns.push(member);
    }
    let has_source = ["url", "id"].iter().any(|member| columns.contains(&Some(*member)));
    if has_source { Ok(columns) } else { Err(broken(NO_COLUMNS)) }
}

/// Returns the entry of a row, which is empty if the row is.
fn entry(row: &ByteRecord, columns: &[Option<&str>]) -> Result<Map<String, Value>, &'static str> {
    let mut entry = Map::new();
    for (index, cell) in row.iter().enumerate() {
        let text = str::from_utf8(cell).map(str::trim).map_err(|_| NOT_UTF_8)?;
        match columns.get(index) {
            Some(Some(member)) if !text.is_empty() => {
                entry.insert((*member).to_owned(), text.into());
            }
            None if !text.is_empty() => return Err("The row has more cells than the first row has columns."),
            _ => {}
        }
    }
    let has_source = entry.contains_key("url") || entry.contains_key("id");
    if has_source || entry.is_empty() { Ok(entry) } else { Err("The row has no URL.") }
}

const NOT_UTF_8: &str = "The row is not in UTF-8. Save the list in UTF-8, in a spreadsheet as “CSV UTF-8”.";

/// Reads a list with a URL on each line. URLs may contain commas.
fn plain(source: impl BufRead, out: &mut Out<'_>) -> io::Result<()> {
    json_lines::each(source, out, |line| {
        let url = str::from_utf8(line).map_err(|_| NOT_UTF_8)?;
        if url.contains([' ', '\t', '"']) {
            return Err("The row has more than a URL. Name the columns in the first row: url, title.");
        }
        Ok(Map::from_iter([("url".to_owned(), url.into())]))
    })
}

fn cause(error: csv::Error) -> io::Error {
    let message = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        _ => broken(message),
    }
}
