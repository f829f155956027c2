//! The KV namespace of finished contents, which Cloudflare replicates to all its locations. `entry.js` reads it for
//! nearly every request, with the same function of `bridge.js`; the Durable Object of a content writes it.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, SourceUrl, Timestamp};
use worker::{Env, Result, console_error};

use crate::platform::bridge::{read_record, write_record};
use crate::representation::cached_content::CachedContent;

/// Minimum time to live: KV refuses shorter ones.
const MIN_TTL: Duration = Duration::from_secs(60);

/// Returns the record of a content.
pub async fn get(id: ContentId, now: Timestamp, env: &Env) -> Result<Option<CachedContent>> {
    Ok(read_record(id, env).await?.and_then(|record| parse(id, record, now)))
}

/// Parses a record. One that is outdated or of another version of the Worker counts as missing: the content's Durable
/// Object has the content too.
pub fn parse(id: ContentId, record: Vec<u8>, now: Timestamp) -> Option<CachedContent> {
    let text = String::from_utf8(record).unwrap_or_default();
    let cached = CachedContent::parse(id, text).inspect_err(|error| console_error!("{error}")).ok()?;
    (!cached.is_outdated(now)).then_some(cached)
}

/// Writes a finished content, with an optional time to live.
pub async fn put(content: &Content, ttl: Option<Duration>, env: &Env) -> Result<()> {
    let ttl = ttl.map_or(0, |ttl| ttl.max(MIN_TTL).as_secs() as u32);
    write_record(content.id, Some(&CachedContent::serialize(content)?), ttl, env).await
}

/// Writes a takedown with its reason, or a deletion by the uploader.
pub async fn put_removal(id: ContentId, url: &SourceUrl, reason: Option<&str>, env: &Env) -> Result<()> {
    write_record(id, Some(&CachedContent::serialize_removal(url, reason)), 0, env).await
}

/// Deletes the record of a content.
pub async fn delete(id: ContentId, env: &Env) -> Result<()> {
    write_record(id, None, 0, env).await
}
