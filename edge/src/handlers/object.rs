//! Descriptors and tiles, however the pyramid is stored: as an object for each, or as one archive.
//!
//! For a tile of an archive it takes to know where the tile is. The first request in an isolate finds that out: the
//! content's record says where the archive has its index, and one read of R2 gives the index. Requests that come
//! meanwhile wait for the first one, so that the index is read once.

use std::rc::Rc;
use std::time::Duration;

use edgezoom_content::tile_number;
use edgezoom_content::{Archive, Dzi, Finished, Status, TileIndex, TileRange};
use worker::{Delay, Env, Request, Response, Result, console_error};

use crate::content::repository::{Repository, RepositoryError};
use crate::platform::index_cache::{StoredPyramid, with_cache};
use crate::platform::{operator_lists, r2};
use crate::request::object_key::{ObjectKey, PyramidObject};
use crate::response::ApiError;

/// A larger index is not read: it would be that of a picture of 500 gigapixels.
const MAX_INDEX_BYTES: u32 = 8 << 20;
/// How often and how many times a request looks whether another one has read the index. Then it reads it itself: the
/// other one may have been cancelled.
const WAIT: Duration = Duration::from_millis(5);
const MAX_WAITS: usize = 60;

/// The response with an object of a pyramid; `None` when there is none.
pub async fn serve(
    key: &ObjectKey,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Option<Response>> {
    if let PyramidObject::Coarse(_) = key.object
        && !operator_lists::is_taken_down(key.id)
    {
        return Ok(Some(r2::serve(key, request, env).await?.map_or_else(gone, Ok)?));
    }
    match &*stored(key, repository, env).await? {
        StoredPyramid::Tiles => r2::serve(key, request, env).await,
        StoredPyramid::TakenDown(reason) => taken_down(reason.clone()).map(Some),
        StoredPyramid::Archive { dzi, index } => match (key.object, find(key, dzi, index)) {
            (PyramidObject::Descriptor, _) => r2::serve_descriptor(key, dzi, request, env).await.map(Some),
            (PyramidObject::Tile { .. }, Some(range)) => r2::serve_tile(key, range, request, env).await,
            (PyramidObject::Tile { .. } | PyramidObject::Coarse(_), _) => Ok(None),
        },
    }
}

/// A coarse picture goes when the whole one is about to be ready, with clients on their way to it: 204, as that is no
/// failure, which a browser would report.
fn gone() -> Result<Response> {
    let response = Response::empty()?.with_status(204);
    response.headers().set("Cache-Control", "no-store")?;
    Ok(response)
}

fn taken_down(reason: String) -> Result<Response> {
    let error = ApiError::TakenDown(reason);
    let response =
        Response::builder().with_status(error.status().as_u16()).with_header("Cache-Control", "no-store")?;
    let response = response.with_header("Content-Type", "text/plain; charset=utf-8")?;
    Ok(response.fixed(error.to_string().into_bytes()))
}

fn find(key: &ObjectKey, dzi: &Dzi, index: &TileIndex) -> Option<TileRange> {
    let PyramidObject::Tile { level, column, row, format } = key.object else { return None };
    let number = tile_number(dzi, level, column, row).filter(|_| format == dzi.tile_format)?;
    index.find(number)
}

/// How the pyramid of a key is stored.
async fn stored(key: &ObjectKey, repository: &Repository<'_>, env: &Env) -> Result<Rc<StoredPyramid>> {
    let pyramid = (key.id, key.attempt);
    let is_taken_down = operator_lists::is_taken_down(key.id);
    for _ in 0..MAX_WAITS {
        if is_taken_down {
            break;
        }
        if let Some(known) = with_cache(|cache| cache.get(pyramid)) {
            return Ok(known);
        }
        if with_cache(|cache| cache.begin(pyramid)) {
            break;
        }
        Delay::from(WAIT).await;
    }
    let found = look_up(key, repository, env).await;
    with_cache(|cache| {
        cache.end(pyramid);
        let (found, is_final) = found?;
        if is_final {
            cache.insert(pyramid, &found);
        }
        Ok(found)
    })
}

/// How the pyramid is stored, and whether that is final: no other attempt's pyramid ever takes the place of a ready one.
async fn look_up(
    key: &ObjectKey,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<(Rc<StoredPyramid>, bool)> {
    let tiles = |is_final| Ok((Rc::new(StoredPyramid::Tiles), is_final));
    let content = match repository.find(key.id).await {
        Ok(Some(found)) => found.content().inspect_err(|error| console_error!("{error}")).ok(),
        Ok(None) => None,
        Err(RepositoryError::TakenDown(reason)) => {
            return Ok((Rc::new(StoredPyramid::TakenDown(reason)), false));
        }
        Err(error) => {
            console_error!("{error}");
            None
        }
    };
    let Some(Status::Ready { attempt, finished }) = content.map(|content| content.status) else {
        return tiles(false);
    };
    let Finished { dzi, archive, .. } = finished;
    let Some(Archive { index_offset, index_length }) = archive.filter(|_| attempt == key.attempt) else {
        return tiles(attempt == key.attempt);
    };
    if index_length > MAX_INDEX_BYTES {
        console_error!("the index of {} has {index_length} bytes", key.id);
        return tiles(false);
    }
    let range = TileRange { offset: index_offset, length: index_length };
    let Some(bytes) = r2::read(&attempt.archive_key(key.id), range, env).await? else {
        return tiles(false);
    };
    match TileIndex::decode(bytes, &dzi) {
        Ok(index) => Ok((Rc::new(StoredPyramid::Archive { dzi, index }), true)),
        Err(error) => {
            console_error!("{}: {error}", key.id);
            tiles(false)
        }
    }
}
