//! An entry of a collection, and what follows when its owner sends a line, when its content answers, and when its
//! content tells of its end. Messages may be lost, doubled or late: an entry that waits for something has a time at
//! which it is `due` again.

use std::time::Duration;

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{
    Alternative, CollectionName, ContentId, CreditLine, Credits, EntryState, Failure, FailureCode,
    Membership, Removal, RemovalKind, RightsUri, SourceUrl, Stage, Stated, Status, Timestamp, Title,
    UploadKey, source_name,
};
use serde::{Deserialize, Serialize};

use crate::line::{Given, Line, Name, Refusal};
use crate::settings::Settings;

/// Maximum number of entries of a collection.
pub const MAX_ENTRIES: u64 = 1_000_000;
/// Time after which a content that is being converted is asked for its state: the message of its end may be lost.
const ASK_AFTER: Duration = Duration::from_secs(600);
/// Time after which a message that had no effect is sent again.
const REPEAT_AFTER: Duration = Duration::from_secs(60);

/// Stands for the host of files. No source has it: it has no dot.
pub const FILES: &str = "files";

/// A row of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: ContentId,
    /// Host of the source; [`FILES`] for a file.
    pub host: String,
    pub state: EntryState,
    /// True if it takes one of the places of those under way.
    pub busy: bool,
    /// Time at which its content gets a message; `None` if nothing is to be said.
    pub due: Option<Timestamp>,
    /// Time of the content's latest message. Earlier ones are late.
    pub noted: Timestamp,
    pub entry: Entry,
    /// Key of the file in the store, until it is converted. The journal does not show it.
    #[serde(default)]
    pub upload: Option<UploadKey>,
    /// True if the journal shows the last change.
    #[serde(default)]
    pub shown: bool,
    /// The title by which the entry is found from now on; empty if it is found no more. `None`: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
}

/// The part of an entry that the journal prints as it is: its source, and what the owner says about the picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    options: String,
    /// Time of the latest change.
    pub at: Timestamp,
    /// Time at which the picture was first ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Title>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<Alternative>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<String>,
}

/// The effect of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    Same,
    Changed(Box<Row>),
    /// The entry with this id decides: the one before it is removed.
    Next(ContentId),
}

/// The message of a content to its collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub id: ContentId,
    pub at: Timestamp,
    pub end: NotedEnd,
}

/// An event of a content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotedEnd {
    Ready,
    Failed(Failure),
    /// An attempt failed, and the next one begins after a pause.
    Paused,
    TakenDown,
    /// A takedown is lifted.
    Lifted,
    Removed,
}

impl Entry {
    fn of(url: &SourceUrl, at: Timestamp) -> Self {
        Self { url: url.address().to_owned(), options: url.options().to_owned(), at, ..Self::default() }
    }

    /// Returns the title, or the name of the source.
    pub fn label(&self) -> String {
        match (&self.title, self.source()) {
            (Some(title), _) => title.to_string(),
            (None, Some(file)) if file.is_file() => {
                let title = file.file_name().and_then(|name| Title::of_file(&name));
                title.map_or_else(|| "Uploaded file".to_owned(), |title| title.to_string())
            }
            (None, _) => source_name(&self.url),
        }
    }

    fn source(&self) -> Option<SourceUrl> {
        SourceUrl::try_from(self.url.clone()).ok()
    }

    /// Returns the alternative text, or the label.
    pub fn alternative(&self) -> String {
        self.alt.as_ref().map_or_else(|| self.label(), |alt| alt.as_str().to_owned())
    }

    /// Returns true if the owner says the same in both.
    fn says_the_same(&self, other: &Self) -> bool {
        let words = |Self { title, alt, credit, rights, .. }: &Self| {
            (title.clone(), alt.clone(), credit.clone(), rights.clone())
        };
        words(self) == words(other)
    }

    /// Returns the entry after the words of a line.
    fn edited(&self, given: &Given) -> Self {
        let Given { title, alt, credit, rights } = given;
        let credit = credit.clone().or_else(|| Some(self.credit.as_ref()?.as_str().to_owned()));
        let rights = rights.clone().or_else(|| self.rights.clone());
        let Credits { credit, rights, .. } = Stated { credit, rights, ..Stated::default() }.into();
        Self {
            title: title.as_ref().map_or_else(|| self.title.clone(), |text| Title::of_document(text)),
            alt: alt.as_ref().map_or_else(|| self.alt.clone(), |text| Alternative::of(text)),
            credit,
            rights: rights.as_ref().map(RightsUri::as_str).map(str::to_owned),
            ..self.clone()
        }
    }
}

impl Row {
    fn new(id: ContentId, url: &SourceUrl, line: &Line, now: Timestamp) -> Self {
        Self {
            id,
            host: if url.is_file() { FILES } else { url.host() }.to_owned(),
            state: EntryState::Waiting,
            busy: false,
            due: None,
            noted: Timestamp(0),
            entry: Entry::of(url, now).edited(&line.words),
            upload: line.upload,
            shown: true,
            found_by: None,
        }
    }

    /// Decides what follows from a line for the entry `row` with the id `id`, of `count` entries. `next` is the id of
    /// the entry that the same URL gets after a removal.
    ///
    /// # Errors
    /// Returns the reason to refuse the line.
    pub fn sent(
        row: Option<Self>,
        line: &Line,
        (id, next): (ContentId, Option<ContentId>),
        count: u64,
        now: Timestamp,
    ) -> Result<Sent, Refusal> {
        let Some(mut row) = row else {
            return match &line.name {
                Name::Id(_) => Err(Refusal::Unknown),
                Name::Url(_) if line.remove => Ok(Sent::Same),
                Name::Url(_) if count >= MAX_ENTRIES => Err(Refusal::Full),
                Name::Url(url) if url.is_file() && line.upload.is_none() => Err(Refusal::File),
                Name::Url(url) => Ok(Sent::Changed(Box::new(Self::new(id, url, line, now)))),
            };
        };
        match (row.state, &line.name, next) {
            (EntryState::TakenDown, ..) => return Err(Refusal::TakenDown),
            (EntryState::Removed, Name::Url(_), Some(next)) => return Ok(Sent::Next(next)),
            (EntryState::Removed, Name::Url(_), None) => return Err(Refusal::Full),
            (EntryState::Removed, Name::Id(_), _) if !line.remove => return Err(Refusal::Unknown),
            (EntryState::Removed, ..) => return Ok(Sent::Same),
            _ => {}
        }
        let before = row.clone();
        if line.remove {
            row.remove(now);
        } else {
            row.entry = row.entry.edited(&line.words);
            if row.entry != before.entry && row.state != EntryState::Waiting {
                row.due = Some(now);
            }
            if line.retry && row.state == EntryState::Failed {
                if row.host == FILES && line.upload.is_none() {
                    return Err(Refusal::File);
                }
                (row.state, row.due, row.entry.failure) = (EntryState::Waiting, None, None);
                row.upload = line.upload;
            }
        }
        Ok(if row == before { Sent::Same } else { Sent::Changed(Box::new(row.changed_since(&before, now))) })
    }

    /// Removes the entry. A content that was never asked for needs no message, unless there is a file to delete before
    /// it.
    pub fn remove(&mut self, now: Timestamp) {
        let is_asked = self.state != EntryState::Waiting || self.noted != Timestamp(0);
        let has_more = is_asked || self.upload.is_some();
        (self.state, self.busy, self.entry.failure) = (EntryState::Removed, false, None);
        self.due = has_more.then_some(now);
    }

    /// Returns the row that follows the one `before`: the journal shows a change of what it prints, with its time, and
    /// what is ready is found by its title.
    pub fn changed_since(mut self, before: &Self, now: Timestamp) -> Self {
        self.shown = self.state != before.state || self.entry != before.entry;
        if self.shown {
            self.entry.at = now;
            if self.state == EntryState::Ready {
                self.entry.since.get_or_insert(now);
            }
        }
        let title =
            |row: &Self| if row.state == EntryState::Ready { row.entry.label() } else { String::new() };
        self.found_by = Some(title(&self)).filter(|title_now| *title_now != title(before));
        self
    }

    /// Returns the event for the content of an entry that is due, or whose turn has come.
    pub fn event(&self, settings: &Settings, now: Timestamp) -> Option<Event> {
        if self.state == EntryState::Removed {
            let (action, by) =
                (format!("remove {} {}", self.id, now.0), format!("collection {}", settings.name));
            let removal = Removal::new(RemovalKind::Deleted, "", action, by);
            return Some(Event::Removed { id: self.id, url: None, removal });
        }
        let url = self.entry.source()?.with_options(&self.entry.options).ok()?;
        let (member, again) = (Box::new(self.member(settings)), self.state == EntryState::Waiting);
        Some(Event::Entered { id: self.id, url, member, again, upload: self.upload })
    }

    fn member(&self, settings: &Settings) -> Membership {
        let Entry { title, alt, credit, rights, .. } = self.entry.clone();
        let line = |line: CreditLine| line.as_str().to_owned();
        let own = Stated { credit: credit.map(line), rights, ..Stated::default() };
        let credits = Credits::from(own).or(settings.credits()).some();
        let collection: CollectionName = settings.name.clone();
        Membership { collection, title, alternative: alt, credits }
    }

    /// Decides what follows from the content's answer to the event of `asked`, which was this row when the event was
    /// sent. Returns true if the
    /// service admits none at present.
    pub fn answered(mut self, asked: &Self, answer: &Result<Reply, String>, now: Timestamp) -> (Self, bool) {
        if self.state == EntryState::Removed {
            // If it was removed in the meantime, the content may have been created after that.
            let is_gone = asked.state == EntryState::Removed && !matches!(answer, Ok(Reply::NotYet) | Err(_));
            self.due =
                (!is_gone).then(|| if asked.state == EntryState::Removed { now + REPEAT_AFTER } else { now });
            self.upload = self.upload.filter(|_| !is_gone);
            return (self, false);
        }
        let is_edited = !self.entry.says_the_same(&asked.entry);
        let before = self.clone();
        let mut pause = false;
        match answer {
            _ if self.noted != asked.noted => {} // the content has told something newer
            Ok(Reply::Content(content)) => self.show(&content.status, now),
            Ok(Reply::TakenDown(_)) => self.end(EntryState::TakenDown, None),
            Ok(Reply::Deleted) => self.end(EntryState::Removed, None),
            Ok(Reply::NotYet) => self.due = Some(now + REPEAT_AFTER),
            Ok(_) => {
                // After a takedown that is lifted, a content whose file is gone does not exist.
                let reason = if self.host == FILES && self.upload.is_none() {
                    "The file was deleted. Send it again."
                } else {
                    "The content could not be created."
                };
                let failure = Failure::new(FailureCode::Internal, reason);
                self.end(EntryState::Failed, Some(failure));
            }
            Err(_) => {
                pause = true;
                match self.state {
                    EntryState::Waiting | EntryState::Converting => self.end(EntryState::Waiting, None),
                    _ => self.due = Some(now + REPEAT_AFTER),
                }
            }
        }
        if is_edited {
            self.due = Some(now);
        }
        (self.changed_since(&before, now), pause)
    }

    fn show(&mut self, status: &Status, now: Timestamp) {
        match status {
            Status::Ready { .. } => self.end(EntryState::Ready, None),
            Status::Failed { failure, .. } => self.end(EntryState::Failed, Some(failure.clone())),
            Status::Processing { stage, .. } => {
                self.end(EntryState::Converting, None);
                (self.busy, self.due) = (*stage != Stage::Waiting, Some(now + ASK_AFTER));
            }
        }
    }

    fn end(&mut self, state: EntryState, failure: Option<Failure>) {
        (self.state, self.busy, self.due, self.entry.failure) = (state, false, None, failure);
        // The content deletes the file when it ends.
        self.upload = self.upload.filter(|_| matches!(state, EntryState::Waiting | EntryState::Converting));
    }

    /// Decides what follows from a message of the content; `None`: nothing.
    pub fn noted(mut self, note: &Note, now: Timestamp) -> Option<Self> {
        if note.at < self.noted {
            return None;
        }
        let before = self.clone();
        self.noted = note.at;
        // Words that the content does not have yet are still to be sent.
        let due = self.due.filter(|due| *due <= now);
        match (&note.end, self.state) {
            (NotedEnd::Removed, EntryState::Removed) => return Some(self),
            (_, EntryState::Removed) => {
                self.due = Some(now);
                return Some(self);
            }
            (NotedEnd::Paused, EntryState::Converting) => {
                self.busy = false;
                return Some(self);
            }
            (NotedEnd::Paused, _) => return Some(self),
            (NotedEnd::Ready, _) => self.end(EntryState::Ready, None),
            (NotedEnd::Failed(failure), _) => self.end(EntryState::Failed, Some(failure.clone())),
            (NotedEnd::TakenDown, _) => self.end(EntryState::TakenDown, None),
            (NotedEnd::Lifted, _) => self.end(EntryState::Waiting, None),
            (NotedEnd::Removed, _) => self.end(EntryState::Removed, None),
        }
        if matches!(self.state, EntryState::Ready | EntryState::Failed) {
            self.due = due;
        }
        Some(self.changed_since(&before, now))
    }
}
