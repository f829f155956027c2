//! Sends lines in calls of bounded size, and the files that lines name, and says which were refused.

use std::path::Path;
use std::process::ExitCode;

use edgezoom_tiler::renderer::Listed;
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};

use super::files::{self, FoundFile};
use super::lists::{Lists, Opened};
use super::service::Service;
use super::{complain, entries, show};

/// Maximum number of lines of a call.
const MAX_LINES: usize = 10_000;
/// Maximum number of bytes of a call.
const MAX_BYTES: usize = 8 << 20;
/// Maximum number of files of a call: each is read before it.
const MAX_FILES: usize = 100;
/// Number of files that are sent at the same time, which is what the service takes of one client.
const SENDING: usize = 2;
/// Code of a refusal: the service does not have the file.
const FILE: &str = "file";

/// Origin of a line.
enum Origin {
    /// A list and a row; 0 for the list itself.
    Row(usize, u64),
    File(FoundFile),
}

/// Lines of the next call, and the results of those before.
struct Batch<'a> {
    service: &'a Service,
    lines: Vec<u8>,
    origins: Vec<Origin>,
    /// Names of the lists.
    lists: Vec<String>,
    /// True if failed entries are to be converted again.
    retries: bool,
    accepted: u64,
    changed: u64,
    refused: u64,
}

/// Adds the entries of lists.
pub(super) async fn run(
    service: &Service,
    lists: Lists,
    named: &[String],
    (retries, watches): (bool, bool),
) -> anyhow::Result<ExitCode> {
    let (folders, named): (Vec<_>, Vec<_>) = named.iter().cloned().partition(|name| Path::new(name).is_dir());
    let mut walk = lists.walk(&named)?;
    // Where the collection is, before anything is sent.
    let before = service.get().await?.last;
    show(&service.bar, "{spinner} {pos} lines sent, {elapsed} {msg}")?;
    let mut batch = Batch::new(service, retries);
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
    for file in folders.iter().flat_map(|folder| files::Walk::new(folder)) {
        match file {
            Ok(file) => batch.push_file(file).await?,
            Err((path, error)) => batch.complain_of(&path.display().to_string(), &format!("{error:#}")),
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
    let mut batch = Batch::new(service, false);
    for target in targets {
        batch.lists.push(target.clone());
        let name = if target.contains("://") { "url" } else { "id" };
        let line = [(name.to_owned(), json!(target)), ("remove".to_owned(), json!(true))];
        batch.push(Origin::Row(batch.lists.len() - 1, 0), Map::from_iter(line)).await?;
    }
    batch.finish().await
}

impl<'a> Batch<'a> {
    fn new(service: &'a Service, retries: bool) -> Self {
        let (lines, origins, lists) = (vec![], vec![], vec![]);
        Self { service, lines, origins, lists, retries, accepted: 0, changed: 0, refused: 0 }
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
                Some(line) => self.push(Origin::Row(self.lists.len() - 1, row), line).await?,
                None => self.complain(row, "The row has no URL."),
            },
            Listed::List(url) => further.push(url),
            Listed::Refused(row, reason) => self.complain(row, &reason),
            Listed::Broken(reason) => self.complain(0, &reason),
        }
        Ok(())
    }

    /// Adds a line. Sends those before it if the call would become too large.
    async fn push(&mut self, origin: Origin, mut line: Map<String, Value>) -> anyhow::Result<()> {
        if self.retries && !line.contains_key("remove") {
            line.insert("retry".to_owned(), json!(true));
        }
        let line = serde_json::to_vec(&line)?;
        if self.origins.len() == MAX_LINES || self.lines.len() + line.len() + 1 > MAX_BYTES {
            self.send().await?;
        }
        self.lines.extend_from_slice(&line);
        self.lines.push(b'\n');
        self.origins.push(origin);
        Ok(())
    }

    async fn push_file(&mut self, file: FoundFile) -> anyhow::Result<()> {
        let line = [("url".to_owned(), json!(file.url()?.as_str()))];
        self.push(Origin::File(file), Map::from_iter(line)).await?;
        if self.origins.len() >= MAX_FILES { self.send().await } else { Ok(()) }
    }

    /// Sends the lines, and then the files that the service does not have.
    async fn send(&mut self) -> anyhow::Result<()> {
        if self.origins.is_empty() {
            return Ok(());
        }
        let taken = self.service.send(&self.lines).await?;
        self.lines.clear();
        let mut origins: Vec<_> = self.origins.drain(..).map(Some).collect();
        let mut wanted = vec![];
        self.accepted += taken.accepted;
        self.changed += taken.changed;
        for refusal in taken.refused {
            match origins.get_mut(refusal.line.wrapping_sub(1)).and_then(Option::take) {
                Some(Origin::File(file)) if refusal.code == FILE => wanted.push(file),
                Some(Origin::File(file)) => {
                    self.complain_of(&file.path.display().to_string(), &refusal.message);
                }
                Some(Origin::Row(list, row)) => self.complain_about(list, row, &refusal.message),
                None => self.complain_of(&self.service.name.clone(), &refusal.message),
            }
        }
        let service = self.service;
        service.bar.inc((origins.len() - wanted.len()) as u64);
        let sending = stream::iter(wanted).map(async |file| {
            let name = file.path.display().to_string();
            file.send(service).await.map(|answer| (name, answer))
        });
        let mut sent = std::pin::pin!(sending.buffer_unordered(SENDING));
        while let Some(answer) = sent.next().await {
            let (name, answer) = answer?;
            service.bar.inc(1);
            match answer {
                Err(reason) => self.complain_of(&name, &reason),
                Ok(taken) => {
                    self.accepted += taken.accepted;
                    self.changed += taken.changed;
                    for refusal in taken.refused {
                        self.complain_of(&name, &refusal.message);
                    }
                }
            }
        }
        Ok(())
    }

    /// Says why a row of the latest list was refused; 0 for the list itself.
    fn complain(&mut self, row: u64, reason: &str) {
        self.complain_about(self.lists.len() - 1, row, reason);
    }

    fn complain_about(&mut self, list: usize, row: u64, reason: &str) {
        let list = &self.lists[list];
        let place = if row == 0 { list.clone() } else { format!("{list}, row {row}") };
        self.complain_of(&place, reason);
    }

    fn complain_of(&mut self, place: &str, reason: &str) {
        self.refused += 1;
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
