//! Finds contents: finished ones in KV, all others at their Durable Object.

use std::cell::RefCell;
use std::iter::once;

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{Alternative, ContentId, DeletionKeyHash, SourceUrl, UploadKey};
use worker::{Env, ResponseBody, console_error};

use super::unknown_ids::{Known, UnknownIds};
use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::config::Addresses;
use crate::durable::conversion;
use crate::platform::isolate::{is_taken_down, now};
use crate::platform::kv;
use crate::representation::cached_content::{CachedContent, InvalidCachedContent};
use crate::representation::response::FoundContent;
use crate::request::url::parameter;
use crate::response::ApiError;

/// Why a content is not found. [`RepositoryError::api_error`] logs faults for the operator and returns the error for
/// clients.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("KV: {0}")]
    Kv(worker::Error),
    #[error(transparent)]
    CachedContent(#[from] InvalidCachedContent),
    #[error("{0}: the Durable Object failed: {1}")]
    Object(ContentId, worker::Error),
    #[error("{0}: the Durable Object sent an unexpected reply")]
    Reply(ContentId),
    #[error("a new content is refused: {0}")]
    NotAdmitted(AdmissionError),
    #[error("all ids of {0} are taken")]
    AllTaken(SourceUrl),
    #[error("{0}")]
    Removed(ApiError),
    #[error("all ids of a file belong to deleted contents")]
    DeletedTooOften,
    #[error("the deletion key is wrong")]
    WrongDeletionKey,
    #[error("a client requests too many ids that do not exist")]
    TooManyUnknown,
}

thread_local! {
    static UNKNOWN: RefCell<UnknownIds> = RefCell::default();
}

impl RepositoryError {
    /// Returns the error for clients.
    pub fn api_error(self) -> ApiError {
        match self {
            Self::NotAdmitted(error) => error.into(),
            Self::TooManyUnknown => ApiError::TooManyUnknown,
            Self::Removed(error) => error,
            Self::DeletedTooOften => ApiError::DeletedTooOften,
            Self::WrongDeletionKey => ApiError::WrongDeletionKey,
            fault => {
                console_error!("{fault}");
                ApiError::Unavailable
            }
        }
    }
}

/// All contents, as one request sees them.
pub struct Repository<'a> {
    env: &'a Env,
    looked_up: LookedUp,
    client: &'a dyn Fn() -> Option<Client>,
    /// Query of the request. Its parameter `alt` is the alternative text of a content that is created.
    query: &'a str,
}

/// A content whose record was already read from KV, with the record.
pub type LookedUp = Option<(ContentId, Option<CachedContent>)>;

impl<'a> Repository<'a> {
    /// Returns the repository behind the Worker's bindings, for a request of `client`.
    pub fn new(
        env: &'a Env,
        looked_up: LookedUp,
        client: &'a dyn Fn() -> Option<Client>,
        query: &'a str,
    ) -> Self {
        Self { env, looked_up, client, query }
    }

    /// Returns the repository for another client's content, whose record was not read.
    pub fn of_client<'b>(&'b self, client: &'b dyn Fn() -> Option<Client>) -> Repository<'b> {
        Repository { env: self.env, looked_up: None, client, query: self.query }
    }

    fn alternative(&self) -> Option<Alternative> {
        parameter(self.query, "alt").and_then(|text| Alternative::of(&text))
    }

    /// Returns the content of a source, creating it if needed and admitted; the client is counted then. `first` is the
    /// first id that it may have; if that belongs to another source, the next one is tried. A takedown of a URL holds with
    /// all options of its capture.
    pub async fn find_or_create(
        &self,
        url: &SourceUrl,
        first: ContentId,
    ) -> Result<FoundContent, RepositoryError> {
        if !url.options().is_empty() {
            let whole = ContentId::of(&url.without_options());
            if is_taken_down(whole) {
                self.find(whole).await?;
            }
        }
        let client = (self.client)();
        let may_seal = client.as_ref().is_none_or(Client::is_trusted);
        for id in once(first).chain(ContentId::candidates(url).skip(1)) {
            match self.cached(id).await? {
                Some(cached) if cached.has_source(url) => return available(cached),
                Some(_) => continue,
                None if url.is_sealed() && !may_seal => {
                    return Err(RepositoryError::NotAdmitted(AdmissionError::NotSigned));
                }
                None => {}
            }
            let created = Event::Created { id, url: url.clone(), alternative: self.alternative() };
            if let Some((found, _)) = self.create(id, created, client.clone()).await? {
                return Ok(found);
            }
        }
        Err(RepositoryError::AllTaken(url.clone()))
    }

    /// Returns the content of an uploaded file, creating it if needed and admitted. If the content exists, the file is
    /// deleted, unless it starts the conversion again. The flag says whether the content belongs to the client, whose
    /// deletion key has the hash `owner`.
    ///
    /// # Errors
    /// No content has taken the file, so the caller has to delete it.
    pub async fn find_or_upload(
        &self,
        url: &SourceUrl,
        upload: UploadKey,
        owner: DeletionKeyHash,
    ) -> Result<(FoundContent, bool), RepositoryError> {
        let client = (self.client)();
        let party = Client::party_of(client.as_ref());
        for id in ContentId::candidates_of_file(url, &party) {
            let uploaded = Event::Uploaded {
                id,
                url: url.clone(),
                upload,
                owner: Some(owner),
                alternative: self.alternative(),
            };
            if let Some(found) = self.create(id, uploaded, client.clone()).await? {
                return Ok(found);
            }
        }
        Err(RepositoryError::DeletedTooOften)
    }

    /// Deletes the content of an uploaded file for good. A wrong key and a content that does not exist are the same
    /// error, so that nobody learns whether a content exists.
    pub async fn delete(&self, id: ContentId, key: DeletionKeyHash) -> Result<(), RepositoryError> {
        match self.send(id, Event::DeletionAsked(key), None).await? {
            Reply::Accepted => Ok(()),
            Reply::Forbidden | Reply::NotFound => {
                self.note_guess();
                Err(RepositoryError::WrongDeletionKey)
            }
            other => Err(refusal(id, other)),
        }
    }

    /// Checks that the client has not guessed too many ids and addresses of uploads.
    pub fn admit_guess(&self) -> Result<(), RepositoryError> {
        let party = (self.client)().map(|client| client.party());
        let is_over = UNKNOWN.with_borrow(|unknown| unknown.is_over(party.as_deref(), now()));
        if is_over { Err(RepositoryError::TooManyUnknown) } else { Ok(()) }
    }

    /// Counts a request for an upload that does not exist.
    pub fn note_guess(&self) {
        let party = (self.client)().map(|client| client.party());
        UNKNOWN.with_borrow_mut(|unknown| unknown.note_guess(party.as_deref(), now()));
    }

    /// Sends an event that creates a content. Returns the content, and true if it belongs to the client. `None`: the id
    /// belongs to another source, or to a deleted content.
    async fn create(
        &self,
        id: ContentId,
        event: Event,
        client: Option<Client>,
    ) -> Result<Option<(FoundContent, bool)>, RepositoryError> {
        let reply = self.send(id, event, client).await?;
        if reply == Reply::IdTaken {
            return Ok(None);
        }
        UNKNOWN.with_borrow_mut(|unknown| unknown.forget(id));
        match reply {
            Reply::Content(content) => Ok(Some((content.into(), false))),
            Reply::Owned(content) => Ok(Some((content.into(), true))),
            other => Err(refusal(id, other)),
        }
    }

    /// Returns the content with an id, if it exists.
    pub async fn find(&self, id: ContentId) -> Result<Option<FoundContent>, RepositoryError> {
        if let Some(cached) = self.cached(id).await? {
            return available(cached).map(Some);
        }
        self.ask(id, Event::Requested).await
    }

    /// Returns the content with an id, if it exists. A failure in KV does not count: the content may have been started
    /// again, which KV may show a minute later.
    pub async fn find_current(&self, id: ContentId) -> Result<Option<FoundContent>, RepositoryError> {
        self.ready_or_ask(id, Event::Requested).await
    }

    /// Returns the content with an id, if it exists. One that failed or waits is started again if that is permitted and
    /// admitted; the client is counted then.
    pub async fn retry(&self, id: ContentId) -> Result<Option<FoundContent>, RepositoryError> {
        self.ready_or_ask(id, Event::RetryAsked).await
    }

    async fn ready_or_ask(
        &self,
        id: ContentId,
        event: Event,
    ) -> Result<Option<FoundContent>, RepositoryError> {
        match self.cached(id).await? {
            Some(cached) if cached.retry_at().is_none() => available(cached).map(Some),
            _ => self.ask(id, event).await,
        }
    }

    /// Asks the Durable Object for the content with an id.
    async fn ask(&self, id: ContentId, event: Event) -> Result<Option<FoundContent>, RepositoryError> {
        let client = (self.client)();
        let party = client.as_ref().map(Client::party);
        match UNKNOWN.with_borrow(|unknown| unknown.look_up(id, party.as_deref(), now())) {
            Known::Nothing => {}
            Known::Unknown => return Ok(None),
            Known::TooMany => return Err(RepositoryError::TooManyUnknown),
        }
        match self.send(id, event, client).await? {
            Reply::Content(content) => Ok(Some(content.into())),
            Reply::NotFound => {
                UNKNOWN.with_borrow_mut(|unknown| unknown.note(id, party.as_deref(), now()));
                Ok(None)
            }
            other => Err(refusal(id, other)),
        }
    }

    /// Returns the record in KV. That of a content that is taken down may be out of date, so its object is asked.
    async fn cached(&self, id: ContentId) -> Result<Option<CachedContent>, RepositoryError> {
        if is_taken_down(id) {
            return Ok(None);
        }
        match &self.looked_up {
            Some((looked_up, cached)) if *looked_up == id => Ok(cached.clone()),
            _ => kv::get(id, now(), self.env).await.map_err(RepositoryError::Kv),
        }
    }

    /// Returns the stream of events of an unfinished content; `None` if it, or the client, has too many subscribers.
    pub async fn subscribe(
        &self,
        id: ContentId,
        addresses: &Addresses,
    ) -> Result<Option<ResponseBody>, RepositoryError> {
        let response = conversion::subscribe(id, addresses, (self.client)().as_ref(), self.env).await;
        let response = response.map_err(|error| RepositoryError::Object(id, error))?;
        Ok(response.map(|response| response.body().clone()))
    }

    /// Sends an event to the Durable Object of a content.
    pub async fn send(
        &self,
        id: ContentId,
        event: Event,
        client: Option<Client>,
    ) -> Result<Reply, RepositoryError> {
        let answer = conversion::send(id, event, client, self.env).await;
        answer.map_err(|error| RepositoryError::Object(id, error))?.map_err(RepositoryError::NotAdmitted)
    }
}

/// Returns the content of a record, unless it is taken down.
fn available(cached: CachedContent) -> Result<FoundContent, RepositoryError> {
    match cached.removal() {
        Some(error) => Err(RepositoryError::Removed(error)),
        None => Ok(FoundContent::Cached(cached)),
    }
}

/// Returns the error of a reply without a content.
fn refusal(id: ContentId, reply: Reply) -> RepositoryError {
    match reply {
        Reply::TakenDown(reason) => RepositoryError::Removed(ApiError::TakenDown(reason)),
        Reply::Deleted => RepositoryError::Removed(ApiError::Deleted),
        _ => RepositoryError::Reply(id),
    }
}
