//! The Worker's module for collections. Its object (`edge/src/collections/object.js`) keeps each entry as a row; it passes
//! rows to these functions and stores those that they return. Everything crosses as JSON, and the time in milliseconds.
//!
//! An entry's place in the journal is the number of its latest change (`seq`), so the journal has each entry once, and a
//! reader who goes on from the last number that it saw misses nothing.
//!
//! It is a module of its own because only objects of collections load it.

mod entry;
mod face;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod line;
mod list;
mod notices;
mod refill;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{AddressPolicy, ContentId, DeletionKeyHash, SourceUrl, Timestamp, UploadKey};
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use entry::{Note, Row, Sent};
use face::{Face, NoFace};
use line::{FILE, Line, Name, RefusedLine};
use list::EntryList;
use notices::Notices;
use settings::{CollectionError, Put, Settings};

/// Milliseconds since 1970 as JavaScript has them.
fn time(milliseconds: f64) -> Timestamp {
    Timestamp(milliseconds as u64)
}

/// The operator's variables for sources, and the hosts that are blocked at present.
#[derive(Deserialize)]
struct Lists {
    allow_networks: String,
    deny_networks: String,
    allow_hosts: String,
    deny_hosts: String,
    blocked: String,
}

impl Lists {
    fn policy(&self) -> Result<AddressPolicy, JsError> {
        let policy = AddressPolicy::allowing(&self.allow_networks)?.denying(&self.deny_networks)?;
        let policy = policy.allowing_hosts(&self.allow_hosts)?.denying_hosts(&self.deny_hosts)?;
        Ok(if self.blocked.is_empty() { policy } else { policy.denying_also(&self.blocked) })
    }
}

/// Lines that an owner has sent. JavaScript looks up the row that each one decides about, and stores the changes.
#[wasm_bindgen]
pub struct SentLines {
    lines: std::vec::IntoIter<(usize, Line)>,
    /// The line that is decided about, with the id of its entry, and the number of those with the same URL before it.
    current: Option<(usize, Line, ContentId, u8)>,
    secret: String,
    /// File that came with the line, until an entry takes it.
    upload: Option<UploadKey>,
    /// True if the answer says whether the file is needed.
    is_asked: bool,
    accepted: usize,
    changed: usize,
    refused: Vec<RefusedLine>,
}

#[wasm_bindgen]
impl SentLines {
    /// Parses lines for a collection with these settings. `lists` says which sources are permitted. With the key `file` of a
    /// stored file, the text is the file's URL; with `?`, the answer is empty if the file is needed.
    ///
    /// # Errors
    /// The settings are of another version of the Worker, or the operator's variables are malformed.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, settings: &str, lists: &str, file: Option<String>) -> Result<Self, JsError> {
        let line = file.as_ref().map(|_| format!(r#"{{"url":"{text}","retry":true}}"#));
        let text = line.as_deref().unwrap_or(text);
        let is_asked = file.as_deref() == Some("?");
        let upload = file.filter(|_| !is_asked).map(|key| key.parse()).transpose()?;
        let settings: Settings = serde_json::from_str(settings)?;
        let policy = &serde_json::from_str::<Lists>(lists)?.policy()?;
        let (mut lines, mut refused) = (vec![], vec![]);
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            match Line::parse(line, policy) {
                Ok(line) => lines.push((number, Line { upload, ..line })),
                Err(refusal) => refused.push(refusal.of_line(number)),
            }
        }
        let lines = lines.into_iter();
        let secret = settings.secret;
        Ok(Self { lines, current: None, secret, upload, is_asked, accepted: 0, changed: 0, refused })
    }

    /// Returns the id of the entry that is asked for next; `None` at the end.
    pub fn asked(&mut self) -> Option<String> {
        if self.current.is_none() {
            let (number, line) = self.lines.next()?;
            let id = match &line.name {
                Name::Url(url) => ContentId::in_collection(url, &self.secret, 0),
                Name::Id(id) => *id,
            };
            self.current = Some((number, line, id, 0));
        }
        self.current.as_ref().map(|(_, _, id, _)| id.to_string())
    }

    /// Decides about the entry with its row, if it has one, of `count` entries. Returns the row to store.
    ///
    /// # Errors
    /// The row is of another version of the Worker.
    pub fn decide(&mut self, row: Option<String>, count: f64, now: f64) -> Result<Option<String>, JsError> {
        let Some((number, line, id, generation)) = self.current.take() else { return Ok(None) };
        let row: Option<Row> = row.map(|row| serde_json::from_str(&row)).transpose()?;
        // The same call again, after the object was reset.
        self.upload = self.upload.filter(|upload| row.as_ref().and_then(|row| row.upload) != Some(*upload));
        let next = |url: &SourceUrl| {
            let next = generation.checked_add(1).filter(|next| *next < u8::MAX)?;
            Some(ContentId::in_collection(url, &self.secret, next))
        };
        let next = if let Name::Url(url) = &line.name { next(url) } else { None };
        match Row::sent(row, &line, (id, next), count as u64, time(now)) {
            Ok(Sent::Next(next)) => {
                self.current = Some((number, line, next, generation + 1));
                return Ok(None);
            }
            Ok(Sent::Same) => self.accepted += 1,
            Ok(Sent::Changed(after)) => {
                self.accepted += 1;
                self.changed += 1;
                self.upload = self.upload.filter(|upload| after.upload != Some(*upload));
                return Ok(Some(serde_json::to_string(&after)?));
            }
            Err(refusal) => self.refused.push(refusal.of_line(number)),
        }
        Ok(None)
    }

    /// Returns the key of the file that no entry has taken, if there is one.
    pub fn surplus(&self) -> Option<String> {
        self.upload.map(String::from)
    }

    /// Returns the answer to the owner. `last` is the number of the last change.
    ///
    /// # Errors
    /// Never fails: the answer can always be serialized.
    pub fn answer(&mut self, last: f64) -> Result<String, JsError> {
        let Self { accepted, changed, refused, .. } = self;
        if self.is_asked && refused.iter().any(|refused| refused.code == FILE) {
            return Ok(String::new());
        }
        refused.sort_by_key(|refused| refused.line);
        let refused = serde_json::to_string(refused)?;
        Ok(format!(r#"{{"accepted":{accepted},"changed":{changed},"refused":{refused},"last":{last}}}"#))
    }
}

/// Decides about a request to begin a collection or to change its settings. Its first line has the name, 1 if the
/// sender may begin one, 1 if the request has a key, the hash of the key that the collection has or gets, and the secret
/// that it gets; the rest is the body. `lists` says which addresses are permitted. Returns the settings to store, or the refusal.
///
/// # Errors
/// Another version of the Worker wrote the settings or the request.
#[wasm_bindgen(js_name = putCollection)]
pub fn put(stored: Option<String>, request: &str, lists: &str) -> Result<String, JsError> {
    let policy = &serde_json::from_str::<Lists>(lists)?.policy()?;
    let stored = stored.map(|stored| serde_json::from_str(&stored)).transpose()?;
    let (head, body) = request.split_once('\n').unwrap_or_default();
    let fields: Vec<&str> = head.split(' ').collect();
    let [name, may_begin, has_key, owner, secret] = fields[..] else {
        return Err(JsError::new("a request has an unknown form"));
    };
    let put = Settings::parse(body, name.parse()?, secret.to_owned(), owner.parse()?, policy).and_then(
        |settings| {
            Settings::put(stored, Put { settings, may_begin: may_begin == "1", has_key: has_key == "1" })
        },
    );
    Ok(match put {
        Ok(settings) => serde_json::to_string(&settings)?,
        Err(error) => error.reply(),
    })
}

/// Admits a key to the collection with these settings by its hash. Returns the refusal; empty if it is the owner's.
///
/// # Errors
/// Another version of the Worker wrote the settings.
#[wasm_bindgen(js_name = admitToCollection)]
pub fn admit(settings: Option<String>, key: &str) -> Result<String, JsError> {
    let Some(settings) = settings else { return Ok(CollectionError::WrongKey.reply()) };
    let settings: Settings = serde_json::from_str(&settings)?;
    let key: Option<DeletionKeyHash> = key.parse().ok();
    let admitted = key.map_or(Err(CollectionError::NoKey), |key| settings.admit(key));
    Ok(admitted.err().map(|error| error.reply()).unwrap_or_default())
}

/// Returns the list that a query names as JSON, or the refusal.
///
/// # Errors
/// Never fails: a list can always be serialized.
#[wasm_bindgen(js_name = entryList)]
pub fn list(query: &str) -> Result<String, JsError> {
    let Some(list) = EntryList::parse(query) else { return Ok("!parameter".to_owned()) };
    Ok(serde_json::to_string(&list)?)
}

/// A request for a document of the public face.
#[wasm_bindgen]
pub struct CollectionFace(Result<Face, NoFace>);

#[wasm_bindgen]
impl CollectionFace {
    /// Parses a request, as JSON of its `url`, `base` and `known`.
    ///
    /// # Errors
    /// Another version of the Worker wrote one of them.
    #[wasm_bindgen(constructor)]
    pub fn new(sent: &str, settings: Option<String>, counts: &str) -> Result<Self, JsError> {
        let settings = settings.map(|settings| serde_json::from_str(&settings)).transpose()?;
        let counts: BTreeMap<String, u64> = serde_json::from_str(counts)?;
        Ok(Self(Face::new(&serde_json::from_str(sent)?, settings, counts)))
    }

    /// Returns the rows that the response needs as JSON; `None`: it needs none.
    ///
    /// # Errors
    /// Never fails: what is wanted can always be serialized.
    pub fn wanted(&self) -> Result<Option<String>, JsError> {
        let wanted = self.0.as_ref().ok().and_then(Face::wanted);
        Ok(wanted.map(|wanted| serde_json::to_string(&wanted)).transpose()?)
    }

    /// Returns the response with the rows that were found, if any were wanted.
    ///
    /// # Errors
    /// Another version of the Worker wrote a row.
    pub fn response(&self, found: Option<String>) -> Result<String, JsError> {
        let found = found.map(|found| serde_json::from_str(&found)).transpose()?.unwrap_or_default();
        Ok(match &self.0 {
            Ok(face) => face.response(&found),
            Err(none) => none.response(),
        })
    }
}

/// Returns how many entries of each host begin, as JSON of pairs.
///
/// # Errors
/// The arguments are not JSON of numbers by host, and of hosts.
#[wasm_bindgen(js_name = refillCollection)]
pub fn refill(busy: &str, hosts: &str) -> Result<String, JsError> {
    let busy: HashMap<String, usize> = serde_json::from_str(busy)?;
    let hosts: Vec<String> = serde_json::from_str(hosts)?;
    Ok(serde_json::to_string(&refill::refill(&busy, &hosts))?)
}

/// A message as the object of a content takes it.
#[derive(Serialize)]
struct Message {
    event: Event,
    /// The collection, as a client of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
}

/// Returns the message for the content of an entry.
///
/// # Errors
/// Another version of the Worker wrote the row or the settings.
#[wasm_bindgen(js_name = messageOfEntry)]
pub fn message(row: &str, settings: &str, now: f64) -> Result<String, JsError> {
    let row: Row = serde_json::from_str(row)?;
    let settings: Settings = serde_json::from_str(settings)?;
    let event = row.event(&settings, time(now)).ok_or_else(|| JsError::new("an entry has no URL"))?;
    let client = matches!(event, Event::Entered { .. }).then(|| format!("%{}", settings.name));
    Ok(serde_json::to_string(&Message { event, client })?)
}

/// The effect of an answer.
#[derive(Serialize)]
struct Settled {
    row: Row,
    /// True if the service admits no entries at present.
    pause: bool,
}

/// Decides what follows from the content's answer to the message of the row `asked`. `row` is the row at present.
///
/// # Errors
/// Another version of the Worker wrote one of them.
#[wasm_bindgen(js_name = settleEntry)]
pub fn settle(row: &str, asked: &str, answer: &str, now: f64) -> Result<String, JsError> {
    let row: Row = serde_json::from_str(row)?;
    let answer: Result<Reply, String> = serde_json::from_str(answer)?;
    let (row, pause) = row.answered(&serde_json::from_str(asked)?, &answer, time(now));
    Ok(serde_json::to_string(&Settled { row, pause })?)
}

/// Decides what follows from a [`Note`]. Returns the row to store, if there is one.
///
/// # Errors
/// Another version of the Worker wrote one of them.
#[wasm_bindgen(js_name = noteOfEntry)]
pub fn noted(row: &str, note: &str, now: f64) -> Result<Option<String>, JsError> {
    let row: Row = serde_json::from_str(row)?;
    let note: Note = serde_json::from_str(note)?;
    let after = row.noted(&note, time(now)).map(|row| serde_json::to_string(&row));
    Ok(after.transpose()?)
}

/// Removes an entry of a collection that is deleted. Returns the row to store.
///
/// # Errors
/// Another version of the Worker wrote the row.
#[wasm_bindgen(js_name = removeEntry)]
pub fn remove(row: &str, now: f64) -> Result<String, JsError> {
    let before: Row = serde_json::from_str(row)?;
    let (mut row, now) = (before.clone(), time(now));
    row.remove(now);
    Ok(serde_json::to_string(&row.changed_since(&before, now))?)
}

/// Returns the state of a collection's notices after its settings have changed: that of `known`, if the address is the
/// same. Empty: it has no address.
///
/// # Errors
/// Another version of the Worker wrote one of them.
#[wasm_bindgen(js_name = noticesOf)]
pub fn notices(known: &str, settings: &str, last: f64) -> Result<String, JsError> {
    let settings: Settings = serde_json::from_str(settings)?;
    let Some(url) = settings.notify else { return Ok(String::new()) };
    let known: Option<Notices> = if known.is_empty() { None } else { Some(serde_json::from_str(known)?) };
    let same = known.filter(|known| known.url == url && !known.off);
    Ok(serde_json::to_string(&same.unwrap_or_else(|| Notices::new(url, last as u64)))?)
}

/// Returns what is due of a collection's notices, as JSON; `null`: nothing. `last` is the number of its last change.
///
/// # Errors
/// Another version of the Worker wrote one of them.
#[wasm_bindgen(js_name = dueNotice)]
pub fn due(notices: &str, settings: &str, last: f64, now: f64) -> Result<String, JsError> {
    let (notices, settings): (Notices, Settings) =
        (serde_json::from_str(notices)?, serde_json::from_str(settings)?);
    Ok(serde_json::to_string(&notices.due(&settings.name, last as u64, time(now)))?)
}

/// Returns the state of notices after an answer with this status; 0 if there was none.
///
/// # Errors
/// Another version of the Worker wrote the state.
#[wasm_bindgen(js_name = noticeAnswered)]
pub fn answered(notices: &str, status: u16, now: f64) -> Result<String, JsError> {
    let notices: Notices = serde_json::from_str(notices)?;
    Ok(serde_json::to_string(&notices.answered(status, time(now)))?)
}
