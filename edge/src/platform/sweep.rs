//! Deletes what attempts have left in R2.

use edgezoom_content::{Attempt, CoarseNumber, ContentId, UploadKey};
use worker::{Bucket, Env, Object, Result};

use crate::platform::r2::BINDING;

/// How many of the latest attempts are swept beside a pyramid; the earliest of more may keep their objects.
const MOST_SWEPT: usize = 16;
/// How many lists of objects are asked for at once, of up to 1,000 each: a call of a Worker may make some hundred
/// requests. The next sweep goes on.
const MOST_LISTS: usize = 20;

/// Deletes the objects of attempts: all `before` one, except for the one to `keep`. And the file that a client has sent.
///
/// # Errors
/// The store refuses it, or there is more to delete.
pub async fn delete_attempts(
    id: ContentId,
    before: Attempt,
    keep: Option<Attempt>,
    upload: Option<UploadKey>,
    env: &Env,
) -> Result<()> {
    let bucket = env.bucket(BINDING)?;
    if let Some(key) = upload {
        bucket.delete(key.to_string()).await?;
    }
    let mut lists = 0;
    let Some(keep) = keep else {
        return delete_all(format!("{id}/"), &|attempt| attempt < before, &mut lists, &bucket).await;
    };
    // One attempt after the other, as all tiles of the published one would be listed too.
    let mut attempts: Vec<Attempt> = before.earlier().filter(|attempt| *attempt != keep).collect();
    let attempts = attempts.split_off(attempts.len().saturating_sub(MOST_SWEPT));
    let keys = attempts.iter().flat_map(|attempt| {
        let coarse = CoarseNumber::all().map(|number| attempt.coarse_key(id, number));
        coarse.chain([attempt.archive_key(id), attempt.descriptor_key(id)])
    });
    bucket.delete_multiple(keys.collect()).await?;
    for attempt in attempts {
        delete_all(attempt.tiles_prefix(id), &|_| true, &mut lists, &bucket).await?;
    }
    Ok(())
}

/// Deletes the objects below a prefix whose attempt is one to delete.
async fn delete_all(
    prefix: String,
    is_over: &dyn Fn(Attempt) -> bool,
    lists: &mut usize,
    bucket: &Bucket,
) -> Result<()> {
    let mut cursor = None;
    loop {
        let list = bucket.list().prefix(prefix.clone());
        let list = match cursor {
            Some(cursor) => list.cursor(cursor),
            None => list,
        };
        let list = list.execute().await?;
        let keys: Vec<String> = list.objects().iter().map(Object::key).collect();
        let keys: Vec<String> = keys.into_iter().filter(|key| attempt_of(key).is_some_and(is_over)).collect();
        if !keys.is_empty() {
            bucket.delete_multiple(keys).await?;
        }
        cursor = list.cursor();
        if !list.truncated() || cursor.is_none() {
            return Ok(());
        }
        *lists += 1;
        if *lists >= MOST_LISTS {
            return Err("there are more".into());
        }
    }
}

/// The attempt that an object is of: `<id>/<attempt>` and what is no digit.
fn attempt_of(key: &str) -> Option<Attempt> {
    let (_, rest) = key.split_once('/')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok().and_then(Attempt::from_number)
}
