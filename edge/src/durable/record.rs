//! Records the end of a conversion and the removal of a content: in KV, which answers requests, in the index of all
//! contents, and for the operator's actions in the log (`edge/src/admin/`). Every call is idempotent.

use std::time::Duration;

use edgezoom_content::conversion::Event;
use edgezoom_content::{
    CollectionName, Content, ContentId, Conversion, Finished, Removal, RemovalKind, SourceUrl, Status,
    Timestamp,
};
use serde::Serialize;
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::{Env, Result};

use super::collection::{self, End};
use crate::platform::bridge::{self, AfterReset};
use crate::platform::isolate::now;
use crate::platform::kv;
use crate::representation::cached_content::CachedContent;

/// Number of objects of the index, which are named by numbers. `edge/src/admin/uses.js` has the same constant.
const SHARDS: u8 = 16;

/// A row of the index.
#[derive(Serialize)]
struct Row<'a> {
    id: ContentId,
    url: String,
    /// Name of the collection that it belongs to; empty if there is none.
    collection: &'a str,
    state: &'a str,
    /// Code of the failure, if there is one.
    code: &'a str,
    at: Timestamp,
    pixels: u64,
    tiles: u64,
    bytes: u64,
}

/// An entry of the operator's log.
#[derive(Serialize)]
struct Entry<'a> {
    id: ContentId,
    url: String,
    at: Timestamp,
    /// Name of the collection that it belongs to; empty if there is none.
    collection: &'a str,
    removal: &'a Removal,
}

/// Records a content that is ready or has failed, and tells its collection. Returns the event that follows.
pub async fn finished(
    conversion: &Conversion,
    content: &Content,
    expires_in: Option<Duration>,
    now: Timestamp,
    env: &Env,
) -> Result<Event> {
    let of = conversion.collection();
    // A takedown is stored before the index is searched, so it is found here, or it finds this row.
    index(&Row { collection: of.map_or("", CollectionName::as_str), ..Row::of_content(content, now) }, env)
        .await?;
    if let Some(takedown) = takedown_of(conversion, env).await? {
        return Ok(takedown);
    }
    kv::put(content, expires_in, env).await?;
    let end = match &content.status {
        Status::Failed { failure, .. } => End::Failed(failure),
        Status::Ready { .. } | Status::Processing { .. } => End::Ready,
    };
    tell(of, content.id, end, env).await?;
    Ok(Event::CacheWritten)
}

/// Returns the takedown of a collection's content, if the operator has taken its source down.
pub async fn takedown_of(conversion: &Conversion, env: &Env) -> Result<Option<Event>> {
    if conversion.collection().is_none() {
        return Ok(None);
    }
    let (id, url) = (conversion.job().id, conversion.url());
    let asked = serde_json::to_string(&(id, url.identity(), url.address()))?;
    let called = ["operator", "takedownOf"];
    let reply = bridge::call_object(env, "OPERATOR", called, &asked, AfterReset::Repeat).await?;
    Ok(serde_json::from_str(&reply)?)
}

/// Tells the collection of a content what has happened.
async fn tell(of: Option<&CollectionName>, id: ContentId, end: End<'_>, env: &Env) -> Result<()> {
    match of {
        Some(name) => collection::note(name, id, end, env).await,
        None => Ok(()),
    }
}

/// Returns the row of a content, as JSON, from its record in KV; `None` if that has no content.
#[wasm_bindgen(js_name = indexRow)]
pub fn index_row(id: &str, record: String) -> Option<String> {
    let content = CachedContent::parse(id.parse().ok()?, record).ok()?.content().ok()?;
    serde_json::to_string(&Row::of_content(&content, now())).ok()
}

/// Records the removal of a content, and tells its collection.
pub async fn removed(conversion: &Conversion, removal: &Removal, now: Timestamp, env: &Env) -> Result<()> {
    let (id, url, of) = (conversion.job().id, conversion.url(), conversion.collection());
    let state = if removal.kind == RemovalKind::TakenDown { "taken-down" } else { "deleted" };
    let collection = of.map_or("", CollectionName::as_str);
    // First the operator's log, whose list of removed contents is effective everywhere in seconds; KV takes a minute.
    if removal.kind != RemovalKind::Unused {
        let entry = serde_json::to_string(&Entry { id, url: url.to_string(), at: now, collection, removal })?;
        bridge::call_object(env, "OPERATOR", ["operator", "note"], &entry, AfterReset::Repeat).await?;
    }
    match removal.kind {
        RemovalKind::TakenDown => kv::put_removal(id, url, Some(&removal.reason), env).await?,
        RemovalKind::Deleted => kv::put_removal(id, url, None, env).await?,
        RemovalKind::Lifted | RemovalKind::Unused => kv::delete(id, env).await?,
    }
    index(&Row { collection, ..Row::of(id, url, state, now) }, env).await?;
    let end = match removal.kind {
        RemovalKind::TakenDown => End::TakenDown,
        RemovalKind::Lifted => End::Lifted,
        RemovalKind::Unused | RemovalKind::Deleted => End::Removed,
    };
    tell(of, id, end, env).await
}

/// Writes a row of the index.
async fn index(row: &Row<'_>, env: &Env) -> Result<()> {
    let shard = row.id.to_string().bytes().last().unwrap_or_default() % SHARDS;
    let json = serde_json::to_string(row)?;
    let called = [&*shard.to_string(), "note"];
    bridge::call_object(env, "CONTENTS", called, &json, AfterReset::Repeat).await.map(drop)
}

impl<'a> Row<'a> {
    fn of(id: ContentId, url: &SourceUrl, state: &'a str, at: Timestamp) -> Self {
        Self { id, url: url.to_string(), collection: "", state, code: "", at, pixels: 0, tiles: 0, bytes: 0 }
    }

    fn of_content(content: &'a Content, at: Timestamp) -> Self {
        let row = Self::of(content.id, &content.url, "processing", at);
        match &content.status {
            Status::Ready { finished: Finished { dzi, archive, .. }, .. } => Self {
                state: "ready",
                pixels: dzi.size.pixels(),
                tiles: dzi.tile_count(),
                bytes: archive.index_offset + u64::from(archive.index_length),
                ..row
            },
            Status::Failed { failure, .. } => Self { state: "failed", code: failure.code.name(), ..row },
            Status::Processing { .. } => row,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SHARDS;

    #[test]
    fn rust_and_javascript_have_the_same_number_of_shards() {
        let javascript = include_str!("../admin/uses.js");
        assert!(javascript.contains(&format!("const SHARDS = {SHARDS};")));
    }
}
