//! Messages to the object of a collection (`edge/src/collections/object.js`).

use edgezoom_content::{CollectionName, ContentId, Failure};
use worker::{Env, Result};

use crate::platform::bridge::{self, AfterReset};
use crate::platform::isolate::now;
use crate::response::CollectionError;

const BINDING: &str = "COLLECTIONS";
/// Begins the replies of the object that are refusals.
const REFUSED: &str = "!";

/// What has happened to a content of a collection.
pub(super) enum End<'a> {
    Ready,
    Failed(&'a Failure),
    /// An attempt failed, and the next one begins after a pause.
    Paused,
    TakenDown,
    /// A takedown is lifted.
    Lifted,
    Removed,
}

/// Calls a method of a collection's object with a text. Returns its reply, or why it refuses.
pub async fn call(
    name: &CollectionName,
    method: &str,
    message: &str,
    env: &Env,
) -> Result<std::result::Result<String, CollectionError>> {
    // A collection that has begun is not begun again.
    let after_reset = if method == "put" { AfterReset::Fail } else { AfterReset::Repeat };
    let reply = bridge::call_object(env, BINDING, [name.as_str(), method], message, after_reset).await?;
    Ok(reply.strip_prefix(REFUSED).map(CollectionError::named).map_or(Ok(reply.clone()), Err))
}

/// Tells a collection what has happened to a content.
pub(super) async fn note(name: &CollectionName, id: ContentId, end: End<'_>, env: &Env) -> Result<()> {
    let end = match end {
        End::Ready => r#""ready""#.to_owned(),
        End::Failed(failure) => format!(r#"{{"failed":{}}}"#, serde_json::to_string(failure)?),
        End::Paused => r#""paused""#.to_owned(),
        End::TakenDown => r#""taken-down""#.to_owned(),
        End::Lifted => r#""lifted""#.to_owned(),
        End::Removed => r#""removed""#.to_owned(),
    };
    let note = format!(r#"{{"id":"{id}","at":{},"end":{end}}}"#, now().0);
    bridge::call_object(env, BINDING, [name.as_str(), "note"], &note, AfterReset::Repeat).await.map(drop)
}
