//! Looks a stored pyramid up: its descriptor, and the index that says where its tiles are. The first request in an isolate
//! reads the index: the content's record has its place, and one read of R2 gets it. Concurrent requests wait for the
//! first one, so the index is read once.

use std::rc::Rc;
use std::time::Duration;

use edgezoom_content::{Archive, Finished, Status, TileIndex, TileRange};
use worker::{Env, Result, console_error};

use super::index_cache::{StoredPyramid, with_cache};
use super::repository::{Repository, RepositoryError};
use crate::platform::bridge::{wait_for, wake};
use crate::platform::isolate::{is_taken_down, now};
use crate::platform::r2;
use crate::request::object_key::ObjectKey;
use crate::response::ApiError;

/// Maximum size of an index that is read, in bytes: that of a picture of 500 gigapixels.
const MAX_INDEX_BYTES: u32 = 8 << 20;
/// Maximum time to wait for another request that reads the index. It may have been cancelled.
const MAX_WAIT: Duration = Duration::from_millis(300);

/// The reason why a pyramid is not stored.
pub enum NotStored {
    /// There is no ready content with this attempt, or no archive.
    Missing,
    Removed(ApiError),
}

type Found = std::result::Result<Rc<StoredPyramid>, NotStored>;

/// Returns the stored pyramid of a key.
pub async fn stored(key: &ObjectKey, repository: &Repository<'_>, env: &Env) -> Result<Found> {
    let pyramid = (key.id, key.attempt);
    let name = || format!("{}/{}", key.id, key.attempt);
    if !is_taken_down(key.id) {
        if let Some(known) = with_cache(|cache| cache.get(pyramid)) {
            return Ok(Ok(known));
        }
        if !with_cache(|cache| cache.begin(pyramid, now())) {
            wait_for(&name(), MAX_WAIT).await?;
            if let Some(known) = with_cache(|cache| cache.get(pyramid)) {
                return Ok(Ok(known));
            }
        }
    }
    let found = look_up(key, repository, env).await;
    with_cache(|cache| {
        cache.end(pyramid);
        // Final: a ready pyramid is never replaced.
        if let Ok(Ok(found)) = &found {
            cache.insert(pyramid, found);
        }
    });
    wake(&name());
    found
}

/// Reads the content's record, and then the index.
async fn look_up(key: &ObjectKey, repository: &Repository<'_>, env: &Env) -> Result<Found> {
    let missing = Ok(Err(NotStored::Missing));
    let content = match repository.find(key.id).await {
        Ok(Some(found)) => found.content().inspect_err(|error| console_error!("{error}")).ok(),
        // Otherwise each made-up address would cost a read.
        Ok(None) | Err(RepositoryError::TooManyUnknown) => return missing,
        Err(RepositoryError::Removed(error)) => return Ok(Err(NotStored::Removed(error))),
        Err(error) => {
            console_error!("{error}");
            None
        }
    };
    let Some(Status::Ready { attempt, finished }) = content.map(|content| content.status) else {
        return missing;
    };
    let Finished { dzi, vectors, archive: Archive { index_offset, index_length }, .. } = finished;
    if attempt != key.attempt {
        return missing;
    }
    if index_length > MAX_INDEX_BYTES {
        console_error!("{}: the tile index has {index_length} bytes, more than the limit", key.id);
        return missing;
    }
    let range = TileRange { offset: index_offset, length: index_length };
    let Some(bytes) = r2::read(&attempt.archive_key(key.id), range, env).await? else { return missing };
    match TileIndex::decode(bytes, &dzi, vectors.map_or(0, |vectors| vectors.pages)) {
        Ok(index) => Ok(Ok(Rc::new(StoredPyramid { dzi, vectors, index }))),
        Err(error) => {
            console_error!("{}: {error}", key.id);
            missing
        }
    }
}
