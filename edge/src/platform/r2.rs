//! Objects of R2 and ranges of them, streamed by the runtime: their bytes never pass through wasm. An object never
//! changes, so caches may keep it forever.

use edgezoom_content::{Attempt, ContentId, Dzi, TileRange, UploadKey};
use http::StatusCode;
use worker::js_sys::{Date, Promise, Reflect};
use worker::wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::ReadableStream;
use worker::{EncodeBody, Env, Headers, Method, Object, Range, Request, Response, ResponseBody, Result};

use crate::request::object_key::ObjectKey;
use crate::response::conditional::{ByteRange, none_match_names};
use crate::response::negotiation::accepts_gzip;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Name of the bucket's binding.
pub const BINDING: &str = "PYRAMIDS";

#[wasm_bindgen(module = "/src/platform/bridge.js")]
extern "C" {
    #[wasm_bindgen(catch, js_name = sweep)]
    fn sweep_bucket(
        bucket: &JsValue,
        id: &str,
        before: &str,
        keep: &str,
        upload: &str,
    ) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(catch)]
    fn unpacked(packed: &ReadableStream) -> std::result::Result<ReadableStream, JsValue>;
}

/// Returns the response with an object of a pyramid; `None` if it does not exist.
pub async fn serve(key: &ObjectKey, request: &Request, env: &Env) -> Result<Option<Response>> {
    serve_object(&key.to_string(), key.media_type(), request, env).await
}

/// Returns the response with an object, or with the requested range of it; `None` if the object does not exist.
pub async fn serve_object(
    key: &str,
    media_type: &str,
    request: &Request,
    env: &Env,
) -> Result<Option<Response>> {
    let bucket = env.bucket(BINDING)?;
    let is_whole = request.method() == Method::Get
        && request.headers().get("If-None-Match")?.is_none()
        && range(request)?.is_none();
    let (headers, part) = if is_whole {
        (None, None)
    } else {
        // The response depends on the tag or the size, so the metadata is read before the bytes.
        let Some(object) = bucket.head(key).await? else { return Ok(None) };
        let headers = object_headers(&object, media_type)?;
        match apply_conditions(headers, &object.http_etag(), object.size(), request)? {
            Applied::Complete(response) => return Ok(Some(response)),
            Applied::Body(headers, part) => (Some(headers), part),
        }
    };
    let mut get = bucket.get(key);
    if let Some((first, last)) = part {
        get = get.range(Range::OffsetWithLength { offset: first, length: last - first + 1 });
    }
    let Some(object) = get.execute().await? else { return Ok(None) };
    let headers = headers.map_or_else(|| object_headers(&object, media_type), Ok)?;
    stream(&object, part.is_some(), headers).map(Some)
}

/// Reads a range of an object; `None` if the object does not exist.
pub async fn read(key: &str, TileRange { offset, length }: TileRange, env: &Env) -> Result<Option<Vec<u8>>> {
    let range = Range::OffsetWithLength { offset, length: length.into() };
    let object = env.bucket(BINDING)?.get(key).range(range).execute().await?;
    match object.as_ref().and_then(Object::body) {
        Some(body) => body.bytes().await.map(Some),
        None => Ok(None),
    }
}

/// Returns the response with a tile of an archive. Its entity tag is its address, because neither ever changes.
pub async fn serve_tile(
    key: &ObjectKey,
    range: TileRange,
    request: &Request,
    env: &Env,
) -> Result<Option<Response>> {
    let object = key.attempt.archive_key(key.id);
    let tag = format!("\"{key}\"");
    serve_part(&Part { object: &object, range, tag: &tag, media_type: key.media_type() }, request, env).await
}

/// A part of an object that is served like an object.
pub struct Part<'a> {
    pub object: &'a str,
    pub range: TileRange,
    pub tag: &'a str,
    pub media_type: &'static str,
}

/// Returns the response with a part of an object. R2 is asked only for bytes that are sent.
pub async fn serve_part(served: &Part<'_>, request: &Request, env: &Env) -> Result<Option<Response>> {
    let TileRange { offset, length } = served.range;
    let size = u64::from(length);
    let headers = headers(served.media_type, served.tag)?;
    let (headers, range) = match apply_conditions(headers, served.tag, size, request)? {
        Applied::Complete(response) => return Ok(Some(response)),
        Applied::Body(headers, range) => (headers, range),
    };
    let (first, last) = range.unwrap_or((0, size - 1));
    let part = Range::OffsetWithLength { offset: offset + first, length: last - first + 1 };
    let object = env.bucket(BINDING)?.get(served.object).range(part).execute().await?;
    object.map(|object| stream(&object, range.is_some(), headers)).transpose()
}

/// Returns the response with a part of an object that is compressed with gzip: as it is, or unpacked for a client that
/// does not accept that.
pub async fn serve_packed(packed: &Part<'_>, request: &Request, env: &Env) -> Result<Option<Response>> {
    let accepts = accepts_gzip(&accepted_codings(request)?);
    let headers = headers(packed.media_type, packed.tag)?;
    headers.delete("Accept-Ranges")?;
    if request.headers().get("If-None-Match")?.is_some_and(|tags| none_match_names(&tags, packed.tag)) {
        headers.delete("Content-Type")?;
        let status = StatusCode::NOT_MODIFIED.as_u16();
        return Ok(Some(Response::builder().with_status(status).with_headers(headers).empty()));
    }
    if request.method() == Method::Head {
        return Ok(Some(Response::builder().with_headers(headers).empty()));
    }
    let TileRange { offset, length } = packed.range;
    let range = Range::OffsetWithLength { offset, length: length.into() };
    let Some(object) = env.bucket(BINDING)?.get(packed.object).range(range).execute().await? else {
        return Ok(None);
    };
    let response = stream(&object, false, headers)?;
    if accepts {
        response.headers().set("Content-Encoding", "gzip")?;
        return Ok(Some(response.with_encode_body(EncodeBody::Manual)));
    }
    let (builder, body) = response.into_parts();
    Ok(Some(builder.body(match body {
        ResponseBody::Stream(packed) => ResponseBody::Stream(unpacked(&packed)?),
        other => other,
    })))
}

/// Returns the content codings that a client accepts. Cloudflare replaces the header by its own.
fn accepted_codings(request: &Request) -> Result<String> {
    let of_client = Reflect::get(request.inner(), &"cf".into())
        .and_then(|cf| Reflect::get(&cf, &"clientAcceptEncoding".into()))
        .ok()
        .and_then(|codings| codings.as_string());
    match of_client {
        Some(codings) => Ok(codings),
        None => Ok(request.headers().get("Accept-Encoding")?.unwrap_or_default()),
    }
}

/// Returns the response with the descriptor of an archive, made from the content's record.
pub async fn serve_descriptor(key: &ObjectKey, dzi: &Dzi, request: &Request, env: &Env) -> Result<Response> {
    let text = dzi.descriptor();
    let tag = format!("\"{key}\"");
    let headers = headers(key.media_type(), &tag)?;
    let response = match apply_conditions(headers, &tag, text.len() as u64, request)? {
        Applied::Complete(response) => response,
        Applied::Body(headers, range) => {
            let (first, last) =
                range.map_or((0, text.len()), |(first, last)| (first as usize, last as usize + 1));
            let body = text.as_bytes().get(first..last).unwrap_or_default().to_vec();
            builder(range.is_some(), headers).fixed(body)
        }
    };
    // The page of a picture shows when it was made.
    if let Some(object) = env.bucket(BINDING)?.head(key.attempt.archive_key(key.id)).await? {
        response.headers().set("Last-Modified", &http_date(&object))?;
    }
    Ok(response)
}

pub async fn delete(key: UploadKey, env: &Env) -> Result<()> {
    env.bucket(BINDING)?.delete(key.to_string()).await
}

/// Deletes the objects of all attempts `before` one, except for the one to `keep`, and the uploaded file.
///
/// # Errors
/// R2 fails, or there is more to delete.
pub async fn sweep(
    id: ContentId,
    before: Attempt,
    keep: Option<Attempt>,
    upload: Option<UploadKey>,
    env: &Env,
) -> Result<()> {
    let bucket = Reflect::get(env, &BINDING.into())?;
    let keep = keep.map(|attempt| attempt.to_string()).unwrap_or_default();
    let upload = upload.map(|key| key.to_string()).unwrap_or_default();
    let swept = sweep_bucket(&bucket, &id.to_string(), &before.to_string(), &keep, &upload)?;
    match JsFuture::from(swept).await?.as_bool() {
        Some(true) => Ok(()),
        _ => Err("there are more objects".into()),
    }
}

/// A response after the conditions of a request are applied.
enum Applied {
    /// It has no body.
    Complete(Response),
    /// Its headers; and the first and the last byte, if a range is requested.
    Body(Headers, Option<(u64, u64)>),
}

/// Applies the conditions and the range of a request to something with an entity tag and a size in bytes.
fn apply_conditions(headers: Headers, tag: &str, size: u64, request: &Request) -> Result<Applied> {
    let complete = |status: StatusCode, headers| {
        let response = Response::builder().with_status(status.as_u16()).with_headers(headers);
        Ok(Applied::Complete(response.empty()))
    };
    let conditions = request.headers();
    if conditions.get("If-None-Match")?.is_some_and(|tags| none_match_names(&tags, tag)) {
        headers.delete("Content-Type")?;
        return complete(StatusCode::NOT_MODIFIED, headers);
    }
    if request.method() == Method::Head {
        headers.set("Content-Length", &size.to_string())?;
        return complete(StatusCode::OK, headers);
    }
    // A range of another version does not fit to what the client has (RFC 9110, 13.1.5).
    let is_same = conditions.get("If-Range")?.is_none_or(|tag_of_client| tag_of_client.trim() == tag);
    let Some(range) = range(request)?.filter(|_| is_same) else { return Ok(Applied::Body(headers, None)) };
    let Some((first, last)) = range.resolve(size) else {
        headers.delete("Content-Type")?;
        headers.set("Cache-Control", "no-store")?;
        headers.set("Content-Range", &format!("bytes */{size}"))?;
        return complete(StatusCode::RANGE_NOT_SATISFIABLE, headers);
    };
    headers.set("Content-Range", &format!("bytes {first}-{last}/{size}"))?;
    Ok(Applied::Body(headers, Some((first, last))))
}

fn range(request: &Request) -> Result<Option<ByteRange>> {
    Ok(request.headers().get("Range")?.and_then(|range| ByteRange::parse(&range)))
}

fn headers(media_type: &str, tag: &str) -> Result<Headers> {
    let headers = Headers::new();
    headers.set("Content-Type", media_type)?;
    headers.set("Cache-Control", IMMUTABLE)?;
    headers.set("ETag", tag)?;
    headers.set("Accept-Ranges", "bytes")?;
    Ok(headers)
}

/// Returns the headers of an object.
fn object_headers(object: &Object, media_type: &str) -> Result<Headers> {
    let headers = headers(media_type, &object.http_etag())?;
    headers.set("Last-Modified", &http_date(object))?;
    Ok(headers)
}

fn http_date(object: &Object) -> String {
    Date::from(object.uploaded()).to_utc_string().into()
}

fn stream(object: &Object, is_part: bool, headers: Headers) -> Result<Response> {
    let response = builder(is_part, headers);
    Ok(match object.body() {
        Some(body) => response.body(body.response_body()?),
        None => response.empty(),
    })
}

fn builder(is_part: bool, headers: Headers) -> worker::ResponseBuilder {
    let status = if is_part { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    Response::builder().with_status(status.as_u16()).with_headers(headers)
}
