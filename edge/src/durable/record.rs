//! Records the end of a conversion, and the removal of a content: in KV, from where requests are answered, and with the
//! operator's two objects (`edge/src/admin/`): the index of all contents, and for what the operator did the log. All of it
//! may be done again, which changes nothing.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, Removal, RemovalKind, SourceUrl, Status, Timestamp};
use futures::future::try_join;
use serde::Serialize;
use worker::{Env, Error, Result};

use crate::content::kv_cache::{KvCache, KvCacheError};
use crate::platform::bridge;

/// The row of a content in the index.
#[derive(Serialize)]
struct IndexNote<'a> {
    id: ContentId,
    url: &'a SourceUrl,
    state: &'a str,
    at: Timestamp,
    /// Of a failure.
    code: &'a str,
    pixels: u64,
    tiles: u64,
    /// Of an archive; the length of single tiles is not known here.
    bytes: u64,
}

/// What the operator did, for the log.
#[derive(Serialize)]
struct OperatorNote<'a> {
    id: ContentId,
    url: &'a SourceUrl,
    at: Timestamp,
    removal: &'a Removal,
}

/// The index is in so many objects, named by numbers. `edge/src/admin/contents.js` has the same number.
const SHARDS: u8 = 16;

/// Records a content that is ready or has failed.
pub async fn finished(
    content: &Content,
    expires_in: Option<Duration>,
    now: Timestamp,
    env: &Env,
) -> Result<()> {
    let mut note = IndexNote {
        id: content.id,
        url: &content.url,
        state: "processing",
        at: now,
        code: "",
        pixels: 0,
        tiles: 0,
        bytes: 0,
    };
    match &content.status {
        Status::Ready { dzi, archive, .. } => {
            (note.state, note.tiles) = ("ready", dzi.tile_count());
            note.pixels = u64::from(dzi.size.width) * u64::from(dzi.size.height);
            note.bytes = archive.map_or(0, |archive| archive.index_offset + u64::from(archive.index_length));
        }
        Status::Failed { failure, .. } => (note.state, note.code) = ("failed", failure.code.name()),
        Status::Processing { .. } => {}
    }
    let put = async { KvCache::of(env)?.put(content, expires_in).await };
    try_join(async { put.await.map_err(of_kv) }, index(&note, env)).await.map(drop)
}

/// Records that a content is removed, or that its takedown is lifted.
pub async fn removed(
    id: ContentId,
    url: &SourceUrl,
    removal: &Removal,
    now: Timestamp,
    env: &Env,
) -> Result<()> {
    let is_taken_down = removal.kind == RemovalKind::TakenDown;
    let state = if is_taken_down { "taken-down" } else { "deleted" };
    let note = IndexNote { id, url, state, at: now, code: "", pixels: 0, tiles: 0, bytes: 0 };
    // The list of what is taken down first: it holds everywhere in seconds, KV in a minute.
    if removal.kind != RemovalKind::Unused {
        let note = serde_json::to_string(&OperatorNote { id, url, at: now, removal })?;
        tell("OPERATOR", "operator", &note, env).await?;
    }
    let kv = async {
        let kv = KvCache::of(env)?;
        if is_taken_down { kv.put_takedown(id, url, &removal.reason).await } else { kv.delete(id).await }
    };
    try_join(async { kv.await.map_err(of_kv) }, index(&note, env)).await.map(drop)
}

async fn index(note: &IndexNote<'_>, env: &Env) -> Result<()> {
    let last = note.id.to_string().bytes().last().unwrap_or_default();
    tell("CONTENTS", &(last % SHARDS).to_string(), &serde_json::to_string(note)?, env).await
}

async fn tell(binding: &str, name: &str, note: &str, env: &Env) -> Result<()> {
    match bridge::call_object(env, binding, name, "/note", note).await? {
        (200..300, _) => Ok(()),
        (status, why) => Err(Error::RustError(format!("{binding} replied with {status} {why}"))),
    }
}

fn of_kv(error: KvCacheError) -> Error {
    Error::RustError(error.to_string())
}
