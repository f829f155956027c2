//! Finished contents in KV: read where the request is, written by the Durable Object of the content. A record holds its
//! source URL, so that whoever asks by URL sees whether the id belongs to it.

use std::time::Duration;

use edgezoom_content::{Content, ContentId};
use worker::Env;
use worker::kv::{KvError, KvStore};

/// KV takes no shorter expiry.
const SHORTEST_EXPIRY: Duration = Duration::from_secs(60);

/// KV did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum FinishedError {
    /// The binding is missing.
    #[error("the KV binding FINISHED: {0}")]
    Binding(worker::Error),
    /// A call failed.
    #[error("KV: {0}")]
    Store(#[from] KvError),
    /// What is kept, or is to be kept, is no content.
    #[error("the record in KV: {0}")]
    Record(#[from] serde_json::Error),
}

/// The finished contents.
pub struct Finished(KvStore);

impl Finished {
    /// The store that the Worker is bound to.
    pub fn of(env: &Env) -> Result<Self, FinishedError> {
        env.kv("FINISHED").map(Self).map_err(FinishedError::Binding)
    }

    /// The content, if it is finished and KV knows it here already.
    pub async fn read(&self, id: ContentId) -> Result<Option<Content>, FinishedError> {
        let record = self.0.get(&id.to_string()).text().await?;
        Ok(record.map(|record| serde_json::from_str(&record)).transpose()?)
    }

    /// Keeps a finished content, for good or for a time.
    pub async fn write(&self, content: &Content, expires_in: Option<Duration>) -> Result<(), FinishedError> {
        let put = self.0.put(&content.id.to_string(), serde_json::to_string(content)?)?;
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
