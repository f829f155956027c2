//! Objects of R2 and ranges of them, streamed by the runtime: their bytes never pass through wasm. An object is immutable
//! once written, and caches may keep it for ever.

use edgezoom_content::{Dzi, TileRange};
use http::StatusCode;
use worker::{Bucket, Env, Headers, Method, Object, Range, Request, Response, Result, js_sys};

use crate::request::object_key::ObjectKey;
use crate::response::conditional::{ByteRange, none_match_names};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// The binding of the bucket.
pub const BINDING: &str = "PYRAMIDS";

/// The response with a descriptor or a tile that is an object; `None` when it does not exist.
pub async fn serve(key: &ObjectKey, request: &Request, env: &Env) -> Result<Option<Response>> {
    serve_object(&key.to_string(), key.media_type(), request, env).await
}

/// The response with an object, or with the requested range of it; `None` when the object does not exist.
pub async fn serve_object(
    key: &str,
    media_type: &'static str,
    request: &Request,
    env: &Env,
) -> Result<Option<Response>> {
    let bucket = env.bucket(BINDING)?;
    let conditions = request.headers();
    let range = conditions.get("Range")?.and_then(|range| ByteRange::parse(&range));
    if request.method() == Method::Head || conditions.get("If-None-Match")?.is_some() || range.is_some() {
        return serve_conditionally(key, media_type, range, request, &bucket).await;
    }
    let Some(object) = bucket.get(key).execute().await? else {
        return Ok(None);
    };
    let headers = headers(&object, media_type)?;
    Ok(Some(stream(&object, StatusCode::OK, headers)?))
}

/// The bytes of a range of an object; `None` when the object does not exist.
pub async fn read(key: &str, range: TileRange, env: &Env) -> Result<Option<Vec<u8>>> {
    let object =
        env.bucket(BINDING)?.get(key).range(part(range.offset, range.length.into())).execute().await?;
    match object.as_ref().and_then(Object::body) {
        Some(body) => body.bytes().await.map(Some),
        None => Ok(None),
    }
}

/// The response with a tile of an archive. Its entity tag is its address, as both never change.
pub async fn serve_tile(
    key: &ObjectKey,
    range: TileRange,
    request: &Request,
    env: &Env,
) -> Result<Option<Response>> {
    let (object, tag) = (key.attempt.archive_key(key.id), format!("\"{key}\""));
    serve_part(&Part { object: &object, range, tag: &tag, media_type: key.media_type() }, request, env).await
}

/// A part of an object that is served as if it were an object of its own.
pub struct Part<'a> {
    /// The object's key.
    pub object: &'a str,
    /// The part.
    pub range: TileRange,
    /// Its entity tag.
    pub tag: &'a str,
    pub media_type: &'static str,
}

/// The response with a part of an object. R2 is only asked for bytes that are sent.
pub async fn serve_part(served: &Part<'_>, request: &Request, env: &Env) -> Result<Option<Response>> {
    let TileRange { offset, length } = served.range;
    let size = u64::from(length);
    let (headers, range) = match prepare(served.tag, served.media_type, size, request)? {
        Prepared::Complete(response) => return Ok(Some(response)),
        Prepared::Body(headers, range) => (headers, range),
    };
    let (first, last) = range.unwrap_or((0, size - 1));
    let part = part(offset + first, last - first + 1);
    let object = env.bucket(BINDING)?.get(served.object).range(part).execute().await?;
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    object.map(|object| stream(&object, status, headers)).transpose()
}

/// The response with the descriptor of an archive, made of the content's record.
pub async fn serve_descriptor(key: &ObjectKey, dzi: &Dzi, request: &Request, env: &Env) -> Result<Response> {
    let response = descriptor(key, dzi, request)?;
    // The page of a picture shows when it was made.
    if let Some(object) = env.bucket(BINDING)?.head(key.attempt.archive_key(key.id)).await? {
        response.headers().set("Last-Modified", &http_date(&object))?;
    }
    Ok(response)
}

fn descriptor(key: &ObjectKey, dzi: &Dzi, request: &Request) -> Result<Response> {
    let text = dzi.descriptor();
    let (headers, range) = match prepare(&format!("\"{key}\""), key.media_type(), text.len() as u64, request)?
    {
        Prepared::Complete(response) => return Ok(response),
        Prepared::Body(headers, range) => (headers, range),
    };
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let response = Response::builder().with_status(status.as_u16()).with_headers(headers);
    let (first, last) = range.map_or((0, text.len()), |(first, last)| (first as usize, last as usize + 1));
    Ok(response.fixed(text.as_bytes().get(first..last).unwrap_or_default().to_vec()))
}

/// What is known of a response before its bytes are read.
enum Prepared {
    /// It has no body.
    Complete(Response),
    /// Its headers, and the first and the last byte if only a range is requested.
    Body(Headers, Option<(u64, u64)>),
}

/// Applies the conditions and the range of a request to something of `size` bytes with an entity tag.
fn prepare(tag: &str, media_type: &str, size: u64, request: &Request) -> Result<Prepared> {
    let headers = Headers::new();
    headers.set("Content-Type", media_type)?;
    headers.set("Cache-Control", IMMUTABLE)?;
    headers.set("ETag", tag)?;
    headers.set("Accept-Ranges", "bytes")?;
    let complete = |status: StatusCode, headers| {
        Response::builder().with_status(status.as_u16()).with_headers(headers).empty()
    };
    let conditions = request.headers();
    if conditions.get("If-None-Match")?.is_some_and(|tags| none_match_names(&tags, tag)) {
        headers.delete("Content-Type")?;
        return Ok(Prepared::Complete(complete(StatusCode::NOT_MODIFIED, headers)));
    }
    if request.method() == Method::Head {
        headers.set("Content-Length", &size.to_string())?;
        return Ok(Prepared::Complete(complete(StatusCode::OK, headers)));
    }
    let range = conditions.get("Range")?.and_then(|range| ByteRange::parse(&range));
    let same = conditions.get("If-Range")?.is_none_or(|tag_of_client| tag_of_client.trim() == tag);
    let Some(range) = range.filter(|_| same) else { return Ok(Prepared::Body(headers, None)) };
    let Some((first, last)) = range.resolve(size) else {
        headers.delete("Content-Type")?;
        headers.set("Cache-Control", "no-store")?;
        headers.set("Content-Range", &format!("bytes */{size}"))?;
        return Ok(Prepared::Complete(complete(StatusCode::RANGE_NOT_SATISFIABLE, headers)));
    };
    headers.set("Content-Range", &format!("bytes {first}-{last}/{size}"))?;
    Ok(Prepared::Body(headers, Some((first, last))))
}

/// When an object was stored.
fn http_date(object: &Object) -> String {
    js_sys::Date::from(object.uploaded()).to_utc_string().into()
}

fn part(offset: u64, length: u64) -> Range {
    Range::OffsetWithLength { offset, length }
}

/// A response that depends on the object's tag or size: its metadata is read before its bytes.
async fn serve_conditionally(
    key: &str,
    media_type: &'static str,
    range: Option<ByteRange>,
    request: &Request,
    bucket: &Bucket,
) -> Result<Option<Response>> {
    let Some(object) = bucket.head(key).await? else {
        return Ok(None);
    };
    let (tag, size) = (object.http_etag(), object.size());
    let headers = headers(&object, media_type)?;
    let conditions = request.headers();
    if conditions.get("If-None-Match")?.is_some_and(|tags| none_match_names(&tags, &tag)) {
        headers.delete("Content-Type")?;
        return empty(StatusCode::NOT_MODIFIED, headers);
    }
    if request.method() == Method::Head {
        headers.set("Content-Length", &size.to_string())?;
        return empty(StatusCode::OK, headers);
    }
    // A range of another version does not fit what the client has (RFC 9110, 13.1.5).
    let same = conditions.get("If-Range")?.is_none_or(|tag_of_client| tag_of_client.trim() == tag);
    let Some(range) = range.filter(|_| same) else {
        return match bucket.get(key).execute().await? {
            Some(object) => Ok(Some(stream(&object, StatusCode::OK, headers)?)),
            None => Ok(None),
        };
    };
    let Some((first, last)) = range.resolve(size) else {
        headers.delete("Content-Type")?;
        headers.set("Cache-Control", "no-store")?;
        headers.set("Content-Range", &format!("bytes */{size}"))?;
        return empty(StatusCode::RANGE_NOT_SATISFIABLE, headers);
    };
    let part = part(first, last - first + 1);
    let Some(object) = bucket.get(key).range(part).execute().await? else {
        return Ok(None);
    };
    headers.set("Content-Range", &format!("bytes {first}-{last}/{size}"))?;
    Ok(Some(stream(&object, StatusCode::PARTIAL_CONTENT, headers)?))
}

fn headers(object: &Object, media_type: &str) -> Result<Headers> {
    let headers = Headers::new();
    // That of the object itself may be of an older tiler, which gave descriptors no charset.
    headers.set("Content-Type", media_type)?;
    headers.set("Cache-Control", IMMUTABLE)?;
    headers.set("ETag", &object.http_etag())?;
    headers.set("Last-Modified", &http_date(object))?;
    headers.set("Accept-Ranges", "bytes")?;
    Ok(headers)
}

fn stream(object: &Object, status: StatusCode, headers: Headers) -> Result<Response> {
    let response = Response::builder().with_status(status.as_u16()).with_headers(headers);
    Ok(match object.body() {
        Some(body) => response.body(body.response_body()?),
        None => response.empty(),
    })
}

fn empty(status: StatusCode, headers: Headers) -> Result<Option<Response>> {
    Ok(Some(Response::builder().with_status(status.as_u16()).with_headers(headers).empty()))
}
