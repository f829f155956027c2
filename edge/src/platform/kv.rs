//! The KV namespace of finished contents, which Cloudflare replicates to all its locations. `entry.js` reads it for
//! nearly every request; the Durable Object of a content writes it.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, SourceUrl, Timestamp};
use worker::{Env, console_error};

use crate::platform::bridge;
use crate::representation::cached_content::CachedContent;

/// Minimum time to live: KV refuses shorter ones.
const MIN_TTL: Duration = Duration::from_secs(60);
const BINDING: &str = "FINISHED";

/// A call to KV failed.
#[derive(Debug, thiserror::Error)]
pub enum KvCacheError {
    #[error("KV: {0}")]
    Platform(#[from] worker::Error),
    #[error("KV: cannot serialize the content: {0}")]
    Serialize(#[from] serde_json::Error),
}

impl From<KvCacheError> for worker::Error {
    fn from(error: KvCacheError) -> Self {
        Self::RustError(error.to_string())
    }
}

/// The KV namespace of finished contents.
pub struct KvCache<'a>(&'a Env);

impl<'a> KvCache<'a> {
    /// Returns the namespace that the Worker is bound to.
    pub fn of(env: &'a Env) -> Self {
        Self(env)
    }

    pub async fn get(&self, id: ContentId, now: Timestamp) -> Result<Option<CachedContent>, KvCacheError> {
        let value = bridge::kv_value(self.0, BINDING, &id.to_string()).await?;
        Ok(value.and_then(|text| parse(id, text.into_bytes(), now)))
    }

    /// Writes a finished content, with an optional time to live.
    pub async fn put(&self, content: &Content, ttl: Option<Duration>) -> Result<(), KvCacheError> {
        let ttl = ttl.map_or(0, |ttl| ttl.max(MIN_TTL).as_secs() as u32);
        self.set(content.id, Some(&CachedContent::serialize(content)?), ttl).await
    }

    /// Writes a takedown with its reason, or a deletion by the uploader.
    pub async fn put_removal(
        &self,
        id: ContentId,
        url: &SourceUrl,
        reason: Option<&str>,
    ) -> Result<(), KvCacheError> {
        self.set(id, Some(&CachedContent::serialize_removal(url, reason)), 0).await
    }

    pub async fn delete(&self, id: ContentId) -> Result<(), KvCacheError> {
        self.set(id, None, 0).await
    }

    async fn set(&self, id: ContentId, value: Option<&str>, ttl: u32) -> Result<(), KvCacheError> {
        Ok(bridge::set_kv_value(self.0, BINDING, &id.to_string(), value, ttl).await?)
    }
}

/// Parses a record. One that is outdated or of another version of the Worker counts as missing: the content's Durable
/// Object has the content too.
pub fn parse(id: ContentId, value: Vec<u8>, now: Timestamp) -> Option<CachedContent> {
    let text = String::from_utf8(value).unwrap_or_default();
    let cached = CachedContent::parse(id, text).inspect_err(|error| console_error!("{error}")).ok()?;
    (!cached.is_outdated(now)).then_some(cached)
}
