//! Reads the journal of a collection: to list its entries, to retry those that failed, and to wait for their ends.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::service::Service;
use super::{complain, show};

/// Number of entries of a page.
const PAGE: usize = 1000;
/// Time between two looks at a collection.
const LOOK: Duration = Duration::from_secs(1);
/// Members of an entry that are sent again.
const WORDS: [&str; 6] = ["url", "options", "title", "alt", "credit", "rights"];

/// An entry as a line of the journal.
type Entry = Map<String, Value>;

/// Prints entries.
pub(super) async fn list(service: &Service, state: Option<&str>, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let is_of_state = |entry: &Entry| state.is_none_or(|state| text(entry, "state") == state);
    each(service, &[("order", "added")], 0, |line, entry| {
        if json && is_of_state(entry) {
            writeln!(out, "{line}")
        } else if is_of_state(entry) {
            let [id, state, url, title] = ["id", "state", "url", "title"].map(|name| text(entry, name));
            writeln!(out, "{}", format!("{id}  {state:<10}  {url}  {title}").trim_end())
        } else {
            Ok(())
        }
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the failed entries as lines that retry them, and their reasons on standard error.
pub(super) async fn failed(service: &Service) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    each(service, &[("state", "failed")], 0, |_, entry| {
        complain(&service.bar, &reason(entry));
        let mut line = entry.clone();
        line.retain(|name, _| WORDS.contains(&name.as_str()));
        line.insert("retry".to_owned(), json!(true));
        writeln!(out, "{}", Value::Object(line))
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

/// Waits until all entries are ready or failed, and names those that fail. `after` is the number of the last change that
/// is not shown; `None` for the latest.
pub(super) async fn watch(service: &Service, after: Option<u64>) -> anyhow::Result<ExitCode> {
    show(&service.bar, "{bar:40} {pos} of {len} {msg}")?;
    let mut after = after;
    loop {
        let collection = service.get().await?;
        let counts = collection.counts;
        let (done, left) = (counts.ready + counts.failed, counts.waiting + counts.converting);
        service.bar.set_length(done + left);
        service.bar.set_position(done);
        let shown = after.unwrap_or(collection.last);
        let last = each(service, &[("state", "failed")], shown, |_, entry| {
            complain(&service.bar, &reason(entry));
            Ok(())
        })
        .await?;
        after = Some(last);
        if left == 0 {
            service.bar.suspend(|| {
                println!("{}: {} ready, {} failed", service.name, counts.ready, counts.failed);
            });
            return Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Calls `show` for each entry of the journal after a number: that of a change, or of an entry if the query orders them
/// as they were added. Returns the last number.
async fn each(
    service: &Service,
    query: &[(&str, &str)],
    mut after: u64,
    mut show: impl FnMut(&str, &Entry) -> io::Result<()>,
) -> anyhow::Result<u64> {
    let number = if query.contains(&("order", "added")) { "number" } else { "seq" };
    loop {
        let (from, limit) = (after.to_string(), PAGE.to_string());
        let page = [query, &[("after", from.as_str()), ("limit", limit.as_str())]].concat();
        let lines = service.entries(&page).await?;
        let mut entries = 0;
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let entry: Entry = serde_json::from_str(line).context("a line of the journal is malformed")?;
            show(line, &entry)?;
            entries += 1;
            // Whatever the service says, the loop ends.
            let next = entry.get(number).and_then(Value::as_u64).filter(|next| *next > after);
            after = next.context("the journal is out of order")?;
        }
        if entries < PAGE {
            return Ok(after);
        }
    }
}

fn text<'a>(entry: &'a Entry, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns why an entry has failed, after its id and URL.
fn reason(entry: &Entry) -> String {
    let failure = entry.get("failure");
    let of = |name: &str| failure.and_then(|failure| failure[name].as_str()).unwrap_or_default();
    format!("{}  {}: {}: {}", text(entry, "id"), text(entry, "url"), of("code"), of("message"))
}
