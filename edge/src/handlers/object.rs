//! Bytes from R2: descriptors, tiles, preview images and downloads. All are made of a pyramid's archive.

use edgezoom_content::{ContentId, PreviewKind, Status, TileFormat, TileRange, tile_number};
use worker::{Env, Request, Response, Result};

use crate::config::Addresses;
use crate::lookup::content::{by_id, ready};
use crate::lookup::index_cache::StoredPyramid;
use crate::lookup::pyramid::{NotStored, stored};
use crate::lookup::repository::Repository;
use crate::pages;
use crate::platform::bridge::Outgoing;
use crate::platform::isolate::is_taken_down;
use crate::platform::r2::{self, Part};
use crate::request::object_key::{ObjectKey, PyramidObject};
use crate::response::negotiation::TextForm;
use crate::response::{ApiError, CachePolicy, plain};

/// Content-Security-Policy of the words as a page: nothing but its own style.
const TEXT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Content-Security-Policy of a page as vectors, which is a document where it is opened alone: only what the tiler writes.
const VECTOR_POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox";
/// Media type of an SZI, which is a ZIP and has no type of its own.
const ARCHIVE_TYPE: &str = "application/zip";

/// Returns the response with an object of a pyramid; `None` if it does not exist.
pub async fn serve(
    key: &ObjectKey,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Option<Response>> {
    if let PyramidObject::Coarse(_) = key.object
        && !is_taken_down(key.id)
    {
        return Ok(Some(r2::serve(key, request, env).await?.map_or_else(gone, Ok)?));
    }
    let pyramid = match stored(key, repository, env).await? {
        Ok(pyramid) => pyramid,
        Err(NotStored::Missing) => return Ok(None),
        Err(NotStored::Removed(error)) => return removed(&error).map(Some),
    };
    match (key.object, find(key, &pyramid)) {
        (PyramidObject::Descriptor, _) => {
            r2::serve_descriptor(key, &pyramid.dzi, request, env).await.map(Some)
        }
        (PyramidObject::Tile { .. }, Some(range)) => r2::serve_tile(key, range, request, env).await,
        (PyramidObject::VectorTable | PyramidObject::Vector(_), Some(range)) => {
            let (object, tag) = (&key.attempt.archive_key(key.id), &format!("\"{key}\""));
            let part = Part { object, range, tag, media_type: key.media_type() };
            let Some(response) = r2::serve_packed(&part, request, env).await? else { return Ok(None) };
            response.headers().set("Vary", "Accept-Encoding")?;
            response.headers().set("Content-Security-Policy", VECTOR_POLICY)?;
            Ok(Some(response))
        }
        (_, None) | (PyramidObject::Coarse(_), _) => Ok(None),
    }
}

/// Returns the response with a preview image.
pub async fn preview(
    id: ContentId,
    kind: PreviewKind,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Outgoing> {
    let (attempt, finished) = match ready(id, repository).await {
        Ok(ready) => ready,
        Err(response) => return Ok(Outgoing::Buffered(response)),
    };
    let object = &attempt.archive_key(id);
    let tag = &format!("\"{object}/{}\"", kind.name());
    let range = finished.previews.range(kind);
    let media_type = TileFormat::Jpg.media_type();
    let part = Part { object, range, tag, media_type };
    let Some(response) = r2::serve_part(&part, request, env).await? else {
        return Ok(Outgoing::Buffered(plain::not_found()));
    };
    keep_for(CachePolicy::HOUR, &response)?;
    Ok(Outgoing::Streamed(response))
}

/// Returns the response with the words in a picture, as they are stored, or unpacked for a client that does not accept
/// gzip. 404: the content is not ready, or has none.
pub async fn text(
    id: ContentId,
    form: TextForm,
    addresses: &Addresses,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Outgoing> {
    let (attempt, finished) = match ready(id, repository).await {
        Ok(ready) => ready,
        Err(response) => return Ok(Outgoing::Buffered(response)),
    };
    let Some(text) = finished.text else { return Ok(Outgoing::Buffered(plain::not_found())) };
    let (range, name) = match form {
        TextForm::Json => (text.json, "json"),
        TextForm::Plain => (text.plain, "txt"),
        TextForm::Html => (text.html, "html"),
    };
    let object = &attempt.archive_key(id);
    let tag = &format!("\"{object}/text.{name}\"");
    let part = Part { object, range, tag, media_type: form.media_type() };
    let Some(response) = r2::serve_packed(&part, request, env).await? else {
        return Ok(Outgoing::Buffered(plain::not_found()));
    };
    response.headers().set("Vary", "Accept, Accept-Encoding")?;
    if form == TextForm::Html {
        response.headers().set("Content-Security-Policy", TEXT_POLICY)?;
        // Search engines are referred to the share page.
        response.headers().set("Link", &format!("<{}>;rel=\"canonical\"", addresses.share(id)))?;
    }
    keep_for(CachePolicy::HOUR, &response)?;
    Ok(Outgoing::Streamed(response))
}

/// Sets the seconds for which caches may keep a response whose address has no attempt: after a takedown or another
/// conversion it has other bytes.
pub fn keep_for(seconds: u32, response: &Response) -> Result<()> {
    if matches!(response.status_code(), 200 | 206 | 304) {
        response.headers().set("Cache-Control", &format!("public, max-age={seconds}"))?;
    }
    Ok(())
}

/// Returns the response with the archive, or the requested range of it, as a file with the picture's name. 404: the
/// content is not ready.
pub async fn download(
    id: ContentId,
    request: &Request,
    repository: &Repository<'_>,
    env: &Env,
) -> Result<Outgoing> {
    let not_found = || Ok(Outgoing::Buffered(plain::not_found()));
    let content = match by_id(id, repository).await {
        Ok(content) => content,
        Err(error @ (ApiError::TakenDown(_) | ApiError::Deleted)) => {
            return Ok(Outgoing::Buffered(error.response()));
        }
        Err(_) => return not_found(),
    };
    let Status::Ready { attempt, .. } = &content.status else { return not_found() };
    let key = attempt.archive_key(id);
    let Some(response) = r2::serve_object(&key, ARCHIVE_TYPE, request, env).await? else {
        return not_found();
    };
    let disposition = pages::attachment(&pages::name(&content), "szi");
    response.headers().set("Content-Disposition", &disposition)?;
    keep_for(CachePolicy::HOUR, &response)?;
    Ok(Outgoing::Streamed(response))
}

/// Returns the response for a coarse picture that is gone: the content is about to be ready, but clients still request
/// it. Browsers would report a 404.
fn gone() -> Result<Response> {
    let response = Response::empty()?.with_status(204);
    response.headers().set("Cache-Control", "no-store")?;
    Ok(response)
}

fn removed(error: &ApiError) -> Result<Response> {
    let response =
        Response::builder().with_status(error.status().as_u16()).with_header("Cache-Control", "no-store")?;
    let response = response.with_header("Content-Type", "text/plain; charset=utf-8")?;
    Ok(response.fixed(error.to_string().into_bytes()))
}

/// Returns the range of a key's object in the archive.
fn find(key: &ObjectKey, StoredPyramid { dzi, vectors, index }: &StoredPyramid) -> Option<TileRange> {
    match key.object {
        PyramidObject::Tile { level, column, row, format } => {
            let number = tile_number(dzi, level, column, row).filter(|_| format == dzi.tile_format)?;
            index.find(number)
        }
        PyramidObject::VectorTable => vectors.map(|vectors| vectors.table),
        PyramidObject::Vector(number) => index.find(dzi.tile_count() + u64::from(number)),
        PyramidObject::Descriptor | PyramidObject::Coarse(_) => None,
    }
}
