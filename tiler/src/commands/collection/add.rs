//! Sends lines in calls of bounded size, and says which were refused.

use std::process::ExitCode;

use edgezoom_tiler::renderer::Listed;
use serde_json::{Map, Value, json};

use super::lists::{Lists, Opened};
use super::service::Service;
use super::{complain, entries, show};

/// Maximum number of lines of a call.
const MAX_LINES: usize = 10_000;
/// Maximum number of bytes of a call.
const MAX_BYTES: usize = 8 << 20;

/// Lines of the next call, and the results of those before.
struct Batch<'a> {
    service: &'a Service,
    lines: Vec<u8>,
    /// List and row of each line.
    places: Vec<(usize, u64)>,
    /// Names of the lists.
    lists: Vec<String>,
    accepted: u64,
    changed: u64,
    refused: u64,
}

/// Adds the entries of lists.
pub(super) async fn run(
    service: &Service,
    lists: Lists,
    named: &[String],
    watches: bool,
) -> anyhow::Result<ExitCode> {
    let mut walk = lists.walk(named)?;
    // Where the collection is, before anything is sent.
    let before = service.get().await?.last;
    show(&service.bar, "{spinner} {pos} lines sent, {elapsed} {msg}")?;
    let mut batch = Batch::new(service);
    while let Some(mut opened) = walk.next().await {
        let mut further = vec![];
        batch.lists.push(opened.name.clone());
        match std::mem::replace(&mut opened.listing, Err(anyhow::anyhow!(""))) {
            Err(error) => batch.complain(0, &format!("{error:#}")),
            Ok(mut listing) => {
                while let Some(listed) = listing.next().await {
                    batch.take(listed, &opened, &mut further).await?;
                }
            }
        }
        for reason in walk.add(&opened, &further) {
            batch.complain(0, &reason);
        }
    }
    let code = batch.finish().await?;
    if !watches {
        return Ok(code);
    }
    let watched = entries::watch(service, Some(before)).await?;
    Ok(if code == ExitCode::SUCCESS { watched } else { code })
}

/// Removes entries by their ids or URLs.
pub(super) async fn remove(service: &Service, targets: &[String]) -> anyhow::Result<ExitCode> {
    show(&service.bar, "{spinner} {pos} lines sent, {elapsed} {msg}")?;
    let mut batch = Batch::new(service);
    for target in targets {
        batch.lists.push(target.clone());
        let name = if target.contains("://") { "url" } else { "id" };
        let line = [(name.to_owned(), json!(target)), ("remove".to_owned(), json!(true))];
        batch.push(0, &Map::from_iter(line)).await?;
    }
    batch.finish().await
}

impl<'a> Batch<'a> {
    fn new(service: &'a Service) -> Self {
        Self { service, lines: vec![], places: vec![], lists: vec![], accepted: 0, changed: 0, refused: 0 }
    }

    /// Takes what the latest list has.
    async fn take(
        &mut self,
        listed: Listed,
        opened: &Opened,
        further: &mut Vec<String>,
    ) -> anyhow::Result<()> {
        match listed {
            Listed::Entry(row, entry) => match opened.line(entry) {
                Some(line) => self.push(row, &line).await?,
                None => self.complain(row, "The row has no URL."),
            },
            Listed::List(url) => further.push(url),
            Listed::Refused(row, reason) => self.complain(row, &reason),
            Listed::Broken(reason) => self.complain(0, &reason),
        }
        Ok(())
    }

    /// Adds a line of the latest list. Sends those before it if the call would become too large.
    async fn push(&mut self, row: u64, line: &Map<String, Value>) -> anyhow::Result<()> {
        let line = serde_json::to_vec(line)?;
        if self.places.len() == MAX_LINES || self.lines.len() + line.len() + 1 > MAX_BYTES {
            self.send().await?;
        }
        self.lines.extend_from_slice(&line);
        self.lines.push(b'\n');
        self.places.push((self.lists.len() - 1, row));
        Ok(())
    }

    async fn send(&mut self) -> anyhow::Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        let taken = self.service.send(&self.lines).await?;
        self.service.bar.inc(self.places.len() as u64);
        self.accepted += taken.accepted;
        self.changed += taken.changed;
        for refusal in taken.refused {
            let place = self.places.get(refusal.line.wrapping_sub(1)).copied();
            let (list, row) = place.unwrap_or((self.lists.len() - 1, 0));
            self.complain_about(list, row, &refusal.message);
        }
        self.lines.clear();
        self.places.clear();
        Ok(())
    }

    /// Says why a row of the latest list was refused; 0 for the list itself.
    fn complain(&mut self, row: u64, reason: &str) {
        self.complain_about(self.lists.len() - 1, row, reason);
    }

    fn complain_about(&mut self, list: usize, row: u64, reason: &str) {
        self.refused += 1;
        let list = &self.lists[list];
        let place = if row == 0 { list.clone() } else { format!("{list}, row {row}") };
        complain(&self.service.bar, &format!("{place}: {reason}"));
    }

    /// Sends the rest, and prints the results.
    async fn finish(mut self) -> anyhow::Result<ExitCode> {
        self.send().await?;
        let Self { accepted, changed, refused, service, .. } = self;
        service.bar.suspend(|| {
            println!("{}: {accepted} lines accepted, {changed} changed, {refused} refused", service.name);
        });
        Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
