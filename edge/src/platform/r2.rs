//! Descriptors and tiles, streamed from R2 by the runtime: their bytes never pass through wasm. An object is immutable
//! once written, and caches may keep it for ever.

use http::StatusCode;
use worker::{Bucket, Env, Headers, Method, Object, Range, Request, Response, Result, js_sys};

use crate::request::object_key::ObjectKey;
use crate::response::conditional::{ByteRange, none_match_names};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// The response with an object, or with the requested range of it; `None` when the object does not exist.
pub async fn serve(key: &ObjectKey, request: &Request, env: &Env) -> Result<Option<Response>> {
    let bucket = env.bucket("PYRAMIDS")?;
    let conditions = request.headers();
    let range = conditions.get("Range")?.and_then(|range| ByteRange::parse(&range));
    if request.method() == Method::Head || conditions.get("If-None-Match")?.is_some() || range.is_some() {
        return serve_conditionally(key, range, request, &bucket).await;
    }
    let Some(object) = bucket.get(key.as_str()).execute().await? else {
        return Ok(None);
    };
    let headers = headers(&object, key)?;
    Ok(Some(stream(&object, StatusCode::OK, headers)?))
}

/// A response that depends on the object's tag or size: its metadata is read before its bytes.
async fn serve_conditionally(
    key: &ObjectKey,
    range: Option<ByteRange>,
    request: &Request,
    bucket: &Bucket,
) -> Result<Option<Response>> {
    let Some(object) = bucket.head(key.as_str()).await? else {
        return Ok(None);
    };
    let (tag, size) = (object.http_etag(), object.size());
    let headers = headers(&object, key)?;
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
        return match bucket.get(key.as_str()).execute().await? {
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
    let part = Range::OffsetWithLength { offset: first, length: last - first + 1 };
    let Some(object) = bucket.get(key.as_str()).range(part).execute().await? else {
        return Ok(None);
    };
    headers.set("Content-Range", &format!("bytes {first}-{last}/{size}"))?;
    Ok(Some(stream(&object, StatusCode::PARTIAL_CONTENT, headers)?))
}

fn headers(object: &Object, key: &ObjectKey) -> Result<Headers> {
    let headers = Headers::new();
    // That of the object itself may be of an older tiler, which gave descriptors no charset.
    headers.set("Content-Type", key.media_type())?;
    headers.set("Cache-Control", IMMUTABLE)?;
    headers.set("ETag", &object.http_etag())?;
    headers.set("Last-Modified", &String::from(js_sys::Date::from(object.uploaded()).to_utc_string()))?;
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
