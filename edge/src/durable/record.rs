//! Records the end of a conversion and the removal of a content: in KV, which answers requests, in the index of all
//! contents, and for the operator's actions in the log (`edge/src/admin/`). Every call is idempotent.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, Finished, Removal, RemovalKind, SourceUrl, Status, Timestamp};
use serde::Serialize;
use worker::{Env, Result};

use crate::platform::{bridge, kv};

/// Number of objects of the index, which are named by numbers. `edge/src/admin/contents.js` has the same constant.
const SHARDS: u8 = 16;

/// A row of the index.
#[derive(Serialize)]
struct Row<'a> {
    id: ContentId,
    url: &'a SourceUrl,
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
    url: &'a SourceUrl,
    at: Timestamp,
    removal: &'a Removal,
}

/// Records a content that is ready or has failed.
pub async fn finished(
    content: &Content,
    expires_in: Option<Duration>,
    now: Timestamp,
    env: &Env,
) -> Result<()> {
    let mut row = Row::of(content.id, &content.url, "processing", now);
    match &content.status {
        Status::Ready { finished: Finished { dzi, archive, .. }, .. } => {
            row.state = "ready";
            row.pixels = dzi.size.pixels();
            row.tiles = dzi.tile_count();
            row.bytes = archive.index_offset + u64::from(archive.index_length);
        }
        Status::Failed { failure, .. } => {
            row.state = "failed";
            row.code = failure.code.name();
        }
        Status::Processing { .. } => {}
    }
    kv::put(content, expires_in, env).await?;
    index(&row, env).await
}

/// Records a removal.
pub async fn removed(
    id: ContentId,
    url: &SourceUrl,
    removal: &Removal,
    now: Timestamp,
    env: &Env,
) -> Result<()> {
    let state = if removal.kind == RemovalKind::TakenDown { "taken-down" } else { "deleted" };
    // First the operator's log, whose list of removed contents is effective everywhere in seconds; KV takes a minute.
    if removal.kind != RemovalKind::Unused {
        let entry = serde_json::to_string(&Entry { id, url, at: now, removal })?;
        bridge::call_object(env, "OPERATOR", "operator", "note", &entry).await?;
    }
    match removal.kind {
        RemovalKind::TakenDown => kv::put_removal(id, url, Some(&removal.reason), env).await?,
        RemovalKind::Deleted => kv::put_removal(id, url, None, env).await?,
        RemovalKind::Lifted | RemovalKind::Unused => kv::delete(id, env).await?,
    }
    index(&Row::of(id, url, state, now), env).await
}

/// Writes a row of the index.
async fn index(row: &Row<'_>, env: &Env) -> Result<()> {
    let shard = row.id.to_string().bytes().last().unwrap_or_default() % SHARDS;
    let json = serde_json::to_string(row)?;
    bridge::call_object(env, "CONTENTS", &shard.to_string(), "note", &json).await.map(drop)
}

impl<'a> Row<'a> {
    fn of(id: ContentId, url: &'a SourceUrl, state: &'a str, at: Timestamp) -> Self {
        Self { id, url, state, code: "", at, pixels: 0, tiles: 0, bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::SHARDS;

    #[test]
    fn rust_and_javascript_have_the_same_number_of_shards() {
        let javascript = include_str!("../admin/contents.js");
        assert!(javascript.contains(&format!("const SHARDS = {SHARDS};")));
    }
}
