//! Records the end of a conversion and the removal of a content: in KV, which answers requests, in the index of all
//! contents, and for the operator's actions in the log (`edge/src/admin/`). Every call is idempotent.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, Finished, Removal, RemovalKind, SourceUrl, Status, Timestamp};
use worker::{Env, Error, Result};

use crate::content::kv_cache::KvCache;
use crate::platform::bridge;
use crate::response::element::Element::{Count, Object, Text};

/// Number of objects of the index, which are named by numbers. `edge/src/admin/contents.js` has the same constant.
const SHARDS: u8 = 16;

/// Records a content that is ready or has failed.
pub async fn finished(
    content: &Content,
    expires_in: Option<Duration>,
    now: Timestamp,
    env: &Env,
) -> Result<()> {
    let (state, code, sizes) = match &content.status {
        Status::Ready { finished: Finished { dzi, archive, .. }, .. } => {
            let bytes = archive.index_offset + u64::from(archive.index_length);
            ("ready", "", [dzi.size.pixels(), dzi.tile_count(), bytes])
        }
        Status::Failed { failure, .. } => ("failed", failure.code.name(), [0; 3]),
        Status::Processing { .. } => ("processing", "", [0; 3]),
    };
    KvCache::of(env).put(content, expires_in).await?;
    index(content.id, &content.url, (state, code, sizes), now, env).await
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
        let Removal { kind, reason, action, by } = removal;
        let note = Object(vec![
            ("id", Text(id.to_string())),
            ("url", Text(url.to_string())),
            ("at", Count(now.0)),
            ("kind", Text(kind.name().to_owned())),
            ("reason", Text(reason.clone())),
            ("action", Text(action.clone())),
            ("by", Text(by.clone())),
        ]);
        send("OPERATOR", "operator", &note.json(), env).await?;
    }
    match removal.kind {
        RemovalKind::TakenDown => KvCache::of(env).put_removal(id, url, Some(&removal.reason)).await?,
        RemovalKind::Deleted => KvCache::of(env).put_removal(id, url, None).await?,
        RemovalKind::Lifted | RemovalKind::Unused => forget(id, env).await?,
    }
    index(id, url, (state, "", [0; 3]), now, env).await
}

/// Deletes the record of a content from KV.
pub async fn forget(id: ContentId, env: &Env) -> Result<()> {
    Ok(KvCache::of(env).delete(id).await?)
}

/// Writes the row of a content in the index: state, failure code, and numbers of pixels, tiles and bytes.
async fn index(
    id: ContentId,
    url: &SourceUrl,
    (state, code, [pixels, tiles, bytes]): (&str, &str, [u64; 3]),
    now: Timestamp,
    env: &Env,
) -> Result<()> {
    let id = id.to_string();
    let shard = id.bytes().last().unwrap_or_default() % SHARDS;
    let row = Object(vec![
        ("id", Text(id)),
        ("url", Text(url.to_string())),
        ("state", Text(state.to_owned())),
        ("code", Text(code.to_owned())),
        ("at", Count(now.0)),
        ("pixels", Count(pixels)),
        ("tiles", Count(tiles)),
        ("bytes", Count(bytes)),
    ]);
    send("CONTENTS", &shard.to_string(), &row.json(), env).await
}

async fn send(binding: &str, name: &str, note: &str, env: &Env) -> Result<()> {
    match bridge::call_object(env, binding, name, "/note", note).await? {
        (200..300, _) => Ok(()),
        (status, why) => Err(Error::RustError(format!("{binding} replied with {status} {why}"))),
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
