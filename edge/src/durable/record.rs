//! Records the end of a conversion, and the removal of a content: in KV, from where requests are answered, and with the
//! operator's two objects (`edge/src/admin/`): the index of all contents, and for what the operator did the log. All of it
//! may be done again, which changes nothing.

use std::time::Duration;

use edgezoom_content::{Content, ContentId, Finished, Removal, RemovalKind, SourceUrl, Status, Timestamp};
use worker::{Env, Error, Result};

use crate::content::kv_cache::{KvCache, KvCacheError};
use crate::platform::bridge;
use crate::response::element::Element::{Count, Object, Text};

/// The index is in so many objects, named by numbers. `edge/src/admin/contents.js` has the same number.
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
            // Of an archive; the length of single tiles is not known here.
            let bytes = archive.map_or(0, |archive| archive.index_offset + u64::from(archive.index_length));
            ("ready", "", [dzi.size.pixels(), dzi.tile_count(), bytes])
        }
        Status::Failed { failure, .. } => ("failed", failure.code.name(), [0; 3]),
        Status::Processing { .. } => ("processing", "", [0; 3]),
    };
    KvCache::of(env).put(content, expires_in).await.map_err(of_kv)?;
    index(content.id, &content.url, (state, code, sizes), now, env).await
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
    // The list of what is taken down first: it holds everywhere in seconds, KV in a minute.
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
        tell("OPERATOR", "operator", &note.json(), env).await?;
    }
    let kv = KvCache::of(env);
    let written = match is_taken_down {
        true => kv.put_takedown(id, url, &removal.reason).await,
        false => kv.delete(id).await,
    };
    written.map_err(of_kv)?;
    index(id, url, (state, "", [0; 3]), now, env).await
}

/// Writes the row of a content in the index: its state, a failure's code, and pixels, tiles and bytes.
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
    tell("CONTENTS", &shard.to_string(), &row.json(), env).await
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

#[cfg(test)]
mod tests {
    use super::SHARDS;

    #[test]
    fn both_languages_name_the_same_objects() {
        let javascript = include_str!("../admin/contents.js");
        assert!(javascript.contains(&format!("const SHARDS = {SHARDS};")));
    }
}
