//! Finished contents in KV: read where the request is (by `entry.js`, as a rule), written by the Durable Object of the content.

use std::time::Duration;

use edgezoom_content::{Content, ContentId};
use worker::Env;
use worker::console_error;
use worker::kv::{KvError, KvStore};

use crate::content::cached_content::Record;

/// KV takes no shorter expiry.
const SHORTEST_EXPIRY: Duration = Duration::from_secs(60);

/// KV did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum FinishedError {
    /// The binding is missing.
    #[error("KV: {0}")]
    Platform(#[from] worker::Error),
    /// A call failed.
    #[error("KV: {0}")]
    Store(#[from] KvError),
    /// What is to be kept cannot be printed.
    #[error("the record in KV: {0}")]
    Record(#[from] serde_json::Error),
}

/// The finished contents.
pub struct Finished(KvStore);

impl Finished {
    /// The store that the Worker is bound to.
    pub fn of(env: &Env) -> Result<Self, FinishedError> {
        Ok(Self(env.kv("FINISHED")?))
    }

    /// What is kept of a content here.
    pub async fn find(&self, id: ContentId) -> Result<Option<Record>, FinishedError> {
        Ok(self.0.get(&id.to_string()).text().await?.and_then(|text| read(id, text.into_bytes())))
    }

    /// Keeps a finished content, for good or for a time.
    pub async fn write(&self, content: &Content, expires_in: Option<Duration>) -> Result<(), FinishedError> {
        let put = self.0.put(&content.id.to_string(), Record::print(content)?)?;
        let put = match expires_in {
            Some(time) => put.expiration_ttl(time.max(SHORTEST_EXPIRY).as_secs()),
            None => put,
        };
        Ok(put.execute().await?)
    }

    /// Forgets a content.
    pub async fn forget(&self, id: ContentId) -> Result<(), FinishedError> {
        Ok(self.0.delete(&id.to_string()).await?)
    }
}

/// Reads what is kept of a content. A record that another version of the Worker wrote counts as none: the content's Durable Object
/// knows all of it.
pub fn read(id: ContentId, kept: Vec<u8>) -> Option<Record> {
    let text = String::from_utf8(kept).unwrap_or_default();
    Record::read(id, text).inspect_err(|unread| console_error!("{unread}")).ok()
}
