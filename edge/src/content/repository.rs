//! Finds contents: finished ones in KV, all others at their Durable Object.

use std::cell::RefCell;

use edgezoom_content::{ContentId, SourceUrl, UploadKey};
use worker::{Env, ResponseBody, console_error};

use crate::admission::client::Client;
use crate::admission::policy::AdmissionError;
use crate::config::Addresses;
use crate::content::cached_content::{CachedContent, InvalidCachedContent};
use crate::content::kv_cache::{KvCache, KvCacheError};
use crate::content::lookup::FoundContent;
use crate::content::unknown_ids::{Known, UnknownIds};
use crate::durable::messages::Message;
use crate::platform::bridge;
use crate::platform::clock::now;
use crate::platform::operator_lists;
use crate::response::ApiError;

/// Why a content is not found. [`RepositoryError::api_error`] logs what the operator should know, and gives the error
/// for clients.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// KV failed.
    #[error(transparent)]
    KvCache(#[from] KvCacheError),
    /// KV has a value of another version of the Worker.
    #[error(transparent)]
    CachedContent(#[from] InvalidCachedContent),
    /// The Durable Object cannot be reached, or failed.
    #[error("the Durable Object of {0}: {1}")]
    Object(ContentId, worker::Error),
    /// The Durable Object's reply does not belong to the message.
    #[error("the Durable Object of {0} sent an unexpected reply")]
    Reply(ContentId),
    /// The content does not exist and may not be created now.
    #[error("a new content is refused: {}", .0.name())]
    NotAdmitted(AdmissionError),
    /// Every id that the URL may have belongs to another URL.
    #[error("all ids of {0} are taken")]
    AllTaken(SourceUrl),
    /// The operator has taken the content down.
    #[error("taken down: {0}")]
    TakenDown(String),
    /// The client has asked for many ids that no content has.
    #[error("a client asks for many ids that no content has")]
    TooManyUnknown,
}

thread_local! {
    /// The ids that no content has, as far as this instance of the Worker was told.
    static UNKNOWN: RefCell<UnknownIds> = RefCell::default();
}

impl RepositoryError {
    /// The error that clients get.
    pub fn api_error(self) -> ApiError {
        match self {
            Self::NotAdmitted(error) => error.into(),
            Self::TooManyUnknown => ApiError::TooManyUnknown,
            Self::TakenDown(reason) => ApiError::TakenDown(reason),
            fault => {
                console_error!("{fault}");
                ApiError::Unavailable
            }
        }
    }
}

/// All contents.
pub struct Repository<'a> {
    env: &'a Env,
    looked_up: LookedUp,
    client: &'a dyn Fn() -> Option<Client>,
}

/// The content that KV was asked for already, and its value there.
pub type LookedUp = Option<(ContentId, Option<CachedContent>)>;

impl<'a> Repository<'a> {
    /// The repository behind the Worker's bindings, for a request of `client`.
    pub fn new(env: &'a Env, looked_up: LookedUp, client: &'a dyn Fn() -> Option<Client>) -> Self {
        Self { env, looked_up, client }
    }

    /// The content of a source, created if it does not exist and is admitted; the client is counted then. When its id
    /// belongs to another source, the next id is tried.
    pub async fn find_or_create(&self, url: &SourceUrl) -> Result<FoundContent, RepositoryError> {
        let client = (self.client)();
        let client = client.as_ref().map(Client::key);
        for id in ContentId::candidates(url) {
            match self.cached(id).await? {
                Some(cached) if cached.has_source(url) => return available(cached),
                Some(_) => continue,
                None => {}
            }
            match self.send(id, Message::Create { url, client }).await? {
                (409, _) => {}
                (status, reply) => {
                    UNKNOWN.with_borrow_mut(|unknown| unknown.forget(id));
                    return found(id, status, &reply)?.ok_or(RepositoryError::Reply(id));
                }
            }
        }
        Err(RepositoryError::AllTaken(url.clone()))
    }

    /// The content of a file that was received, created if it does not exist and its job is admitted. If it exists, the
    /// file is deleted, unless it starts a conversion anew.
    ///
    /// # Errors
    /// No content has taken the file: the caller deletes it.
    pub async fn find_or_upload(
        &self,
        url: &SourceUrl,
        upload: UploadKey,
    ) -> Result<FoundContent, RepositoryError> {
        let client = (self.client)();
        let client = client.as_ref().map(Client::key);
        for id in ContentId::candidates(url) {
            match self.send(id, Message::Upload { url, upload, client }).await? {
                (409, _) => {}
                (status, reply) => {
                    UNKNOWN.with_borrow_mut(|unknown| unknown.forget(id));
                    return found(id, status, &reply)?.ok_or(RepositoryError::Reply(id));
                }
            }
        }
        Err(RepositoryError::AllTaken(url.clone()))
    }

    /// The content with an id, if it exists.
    pub async fn find(&self, id: ContentId) -> Result<Option<FoundContent>, RepositoryError> {
        if let Some(cached) = self.cached(id).await? {
            return available(cached).map(Some);
        }
        self.ask(id, |client| Message::Get { client }).await
    }

    /// The content with an id. A failure that KV has does not count: the content may have been started anew, and KV
    /// may show that a minute later.
    pub async fn find_current(&self, id: ContentId) -> Result<Option<FoundContent>, RepositoryError> {
        self.ready_or_ask(id, |client| Message::Get { client }).await
    }

    /// The content with an id, started anew if it failed or waits for its next attempt, if that is permitted now and
    /// admitted; the client is counted then.
    pub async fn retry(&self, id: ContentId) -> Result<Option<FoundContent>, RepositoryError> {
        self.ready_or_ask(id, |client| Message::Retry { client }).await
    }

    async fn ready_or_ask(
        &self,
        id: ContentId,
        message: impl FnOnce(Option<&str>) -> Message<'_>,
    ) -> Result<Option<FoundContent>, RepositoryError> {
        match self.cached(id).await? {
            Some(cached) if cached.retry_at().is_none() => available(cached).map(Some),
            _ => self.ask(id, message).await,
        }
    }

    /// The content that the Durable Object of an id replies with, if it exists.
    async fn ask(
        &self,
        id: ContentId,
        message: impl FnOnce(Option<&str>) -> Message<'_>,
    ) -> Result<Option<FoundContent>, RepositoryError> {
        let client = (self.client)();
        let party = client.as_ref().map(Client::party);
        match UNKNOWN.with_borrow(|unknown| unknown.look_up(id, party.as_deref(), now())) {
            Known::Nothing => {}
            Known::Unknown => return Ok(None),
            Known::TooMany => return Err(RepositoryError::TooManyUnknown),
        }
        let (status, reply) = self.send(id, message(client.as_ref().map(Client::key))).await?;
        let found = found(id, status, &reply)?;
        if found.is_none() {
            UNKNOWN.with_borrow_mut(|unknown| unknown.note(id, party.as_deref(), now()));
        }
        Ok(found)
    }

    /// The value in KV. That of a content that was taken down a moment ago may be out of date: its object knows it.
    async fn cached(&self, id: ContentId) -> Result<Option<CachedContent>, RepositoryError> {
        if operator_lists::is_taken_down(id) {
            return Ok(None);
        }
        match &self.looked_up {
            Some((looked_up, cached)) if *looked_up == id => Ok(cached.clone()),
            _ => Ok(KvCache::of(self.env).get(id, now()).await?),
        }
    }

    /// The stream of events of a content that is not finished; `None` when it has too many subscribers.
    pub async fn subscribe(
        &self,
        id: ContentId,
        addresses: &Addresses,
    ) -> Result<Option<ResponseBody>, RepositoryError> {
        let response = async {
            let stub = self.env.durable_object("CONVERSIONS")?.get_by_name(&id.to_string())?;
            stub.fetch_with_str(&format!("http://conversion/?{}", addresses.to_query())).await
        };
        let response = response.await.map_err(|error| RepositoryError::Object(id, error))?;
        Ok((response.status_code() == 200).then(|| response.body().clone()))
    }

    /// Sends a message to the Durable Object of a content, and gives the status and the body of the reply.
    pub async fn send(&self, id: ContentId, message: Message<'_>) -> Result<(u16, String), RepositoryError> {
        let (path, body) = message.encode();
        let name = id.to_string();
        let reply = bridge::call_object(self.env, "CONVERSIONS", &name, &path, body).await;
        reply.map_err(|error| RepositoryError::Object(id, error))
    }
}

/// A content that KV has, unless it is taken down.
fn available(cached: CachedContent) -> Result<FoundContent, RepositoryError> {
    match cached.takedown() {
        Some(reason) => Err(RepositoryError::TakenDown(reason.to_owned())),
        None => Ok(FoundContent::Cached(cached)),
    }
}

/// The content in the reply of a Durable Object; `None` when it does not exist.
fn found(id: ContentId, status: u16, reply: &str) -> Result<Option<FoundContent>, RepositoryError> {
    match status {
        200 => match serde_json::from_str(reply) {
            Ok(content) => Ok(Some(FoundContent::Current(content))),
            Err(_) => Err(RepositoryError::Reply(id)),
        },
        404 => Ok(None),
        410 => Err(RepositoryError::TakenDown(reply.to_owned())),
        503 => match AdmissionError::from_name(reply) {
            Some(error) => Err(RepositoryError::NotAdmitted(error)),
            None => Err(RepositoryError::Reply(id)),
        },
        _ => Err(RepositoryError::Reply(id)),
    }
}
