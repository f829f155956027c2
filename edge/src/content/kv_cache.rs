//! KV, which has finished contents at each of Cloudflare's locations. `entry.js` reads it for nearly every request; the
//! Durable Object of a content writes it.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, SourceUrl, Timestamp};
use worker::Env;
use worker::console_error;
use worker::kv::{KvError, KvStore};

use crate::content::cached_content::CachedContent;

/// KV refuses a shorter time to live.
const SHORTEST_TTL: Duration = Duration::from_secs(60);

/// A call of KV failed.
#[derive(Debug, thiserror::Error)]
pub enum KvCacheError {
    /// The binding is missing.
    #[error("KV: {0}")]
    Platform(#[from] worker::Error),
    /// KV refused the call, or did not answer.
    #[error("KV: {0}")]
    Store(#[from] KvError),
    /// The content cannot be serialized.
    #[error("KV: the content is not serialized: {0}")]
    Serialize(#[from] serde_json::Error),
}

/// The KV namespace of finished contents.
pub struct KvCache(KvStore);

impl KvCache {
    /// The namespace that the Worker is bound to.
    pub fn of(env: &Env) -> Result<Self, KvCacheError> {
        Ok(Self(env.kv("FINISHED")?))
    }

    /// Reads a content.
    pub async fn get(&self, id: ContentId, now: Timestamp) -> Result<Option<CachedContent>, KvCacheError> {
        Ok(self.0.get(&id.to_string()).text().await?.and_then(|text| parse(id, text.into_bytes(), now)))
    }

    /// Writes a finished content, with a time to live if there is one.
    pub async fn put(&self, content: &Content, ttl: Option<Duration>) -> Result<(), KvCacheError> {
        let put = self.0.put(&content.id.to_string(), CachedContent::serialize(content)?)?;
        let put = match ttl {
            Some(ttl) => put.expiration_ttl(ttl.max(SHORTEST_TTL).as_secs()),
            None => put,
        };
        Ok(put.execute().await?)
    }

    /// Writes that a content is taken down.
    pub async fn put_takedown(
        &self,
        id: ContentId,
        url: &SourceUrl,
        reason: &str,
    ) -> Result<(), KvCacheError> {
        let value = CachedContent::serialize_takedown(url, reason);
        Ok(self.0.put(&id.to_string(), value)?.execute().await?)
    }

    /// Deletes a content.
    pub async fn delete(&self, id: ContentId) -> Result<(), KvCacheError> {
        Ok(self.0.delete(&id.to_string()).await?)
    }
}

/// Parses a value of KV. One that is outdated, or that another version of the Worker wrote, counts as missing: the
/// content's Durable Object has the content too.
pub fn parse(id: ContentId, value: Vec<u8>, now: Timestamp) -> Option<CachedContent> {
    let text = String::from_utf8(value).unwrap_or_default();
    let cached = CachedContent::parse(id, text).inspect_err(|error| console_error!("{error}")).ok()?;
    (!cached.is_outdated(now)).then_some(cached)
}
