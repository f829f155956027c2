//! Finds the route of a request: method, path and query become a [`Route`] whose parameters are parsed and checked.

use edgezoom_content::capture::CaptureError;
use edgezoom_content::protocol::BACKLOG_PATH;
use edgezoom_content::source_url::SourceUrlError;
use edgezoom_content::{AddressPolicy, Capture, ContentId, PreviewKind, SourceUrl};
use http::Method;

use super::iiif::{IiifRequest, page_number};
use super::place::Place;
use super::route::{
    CollectionCall, ContentKey, HomeForm, Methods, OembedRequest, Opening, Route, Search, SearchVersion,
    TilerCall,
};
use super::typed;
use super::upload::{self, UPLOADS, UploadQuery, UploadStep};
use super::url::{parameter, url_parameter};
use crate::config::shared_content;
use crate::response::ApiError;
use crate::response::negotiation::{NotAcceptable, TextForm, Variant};

/// The parts of a request that determine its route.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    pub method: &'a Method,
    /// Path, with its leading slash.
    pub path: &'a str,
    /// Query, without its question mark.
    pub query: &'a str,
    pub accept: Option<&'a str>,
    /// Base of share links: `{share_base}`.
    pub share: &'a str,
}

/// Finds the route. `policy` decides about literal addresses of sources.
pub fn route(request: RequestParts<'_>, policy: &AddressPolicy) -> Route {
    if request.path == BACKLOG_PATH {
        return if request.method == Method::POST {
            Route::Backlog
        } else {
            Route::MethodNotAllowed(Methods::Call)
        };
    }
    if let Some(rest) = request.path.strip_prefix("/internal/") {
        return match tiler_call(rest) {
            Some((id, call)) if request.method == Method::POST => Route::TilerCall(id, call),
            Some(_) => Route::MethodNotAllowed(Methods::Call),
            None => Route::NotFound { page: false },
        };
    }
    if let Some(path) = request.path.strip_prefix(UPLOADS)
        && (path.is_empty() || path.starts_with('/'))
    {
        return upload_in_parts(request, path.trim_start_matches('/'));
    }
    if let Some(path) = request.path.strip_prefix("/v1/collections/") {
        return collection(request, path).unwrap_or(Route::NotFound { page: false });
    }
    let is_contents = request.path.trim_end_matches('/') == "/v1/content";
    let by_id = content_id(request.path);
    let methods = match by_id {
        Some(_) => Methods::ReadOrDelete,
        None if is_contents => Methods::ReadOrUpload,
        None => Methods::Read,
    };
    match *request.method {
        Method::GET | Method::HEAD => read(request, policy),
        Method::OPTIONS => Route::Preflight(methods),
        Method::POST if is_contents => {
            let (query, variant) = in_variant(request, upload_query(request.query));
            Route::Upload { query, variant }
        }
        Method::DELETE => by_id.map_or(Route::MethodNotAllowed(methods), Route::Delete),
        _ => Route::MethodNotAllowed(methods),
    }
}

fn read(request: RequestParts<'_>, policy: &AddressPolicy) -> Route {
    if request.path == "/" {
        let entered = url_parameter(request.query).filter(|text| !typed::cleaned(text).is_empty());
        return Route::Home(entered.map(|text| home_form(text, request.query, request, policy)));
    }
    if let Some(text) = source_in_path(request) {
        return Route::Home(Some(home_form(text, "", request, policy)));
    }
    let key = || by_url(url_parameter(request.query).as_deref(), request.query, request.share, policy);
    match request.path.strip_suffix('/').unwrap_or(request.path) {
        "/v1/content" => content(request, key()),
        "/v1/dzi" => dzi(request, key()),
        "/health" => Route::Health,
        "/version" => Route::Version,
        "/robots.txt" => Route::Robots,
        "/sitemap.xml" => Route::Sitemap,
        "/oembed" => Route::Oembed(OembedRequest {
            url: url_parameter(request.query),
            form: url_parameter(request.query).and_then(|url| submitted(&url, request, policy)),
            format: parameter(request.query, "format"),
            max_width: parameter(request.query, "maxwidth").and_then(|most| most.parse().ok()),
            max_height: parameter(request.query, "maxheight").and_then(|most| most.parse().ok()),
        }),
        path => {
            if let Some(id) = path.strip_prefix("/v1/dzi/") {
                return dzi(request, id.parse().map(ContentKey::Id).map_err(|_| ApiError::NoSuchContent));
            }
            if let Some(id) = path.strip_prefix("/v1/content/") {
                if let Some(Ok(id)) = id.strip_suffix("/events").map(str::parse) {
                    return Route::Events(id);
                }
                if let Some(Ok(id)) = id.strip_suffix("/text").map(str::parse) {
                    return Route::Text(id, request.accept.map_or(TextForm::Json, TextForm::accepted));
                }
                for (ending, version) in [("/search", SearchVersion::Two), ("/search/1", SearchVersion::One)]
                {
                    if let Some(Ok(id)) = id.strip_suffix(ending).map(str::parse) {
                        return search(id, version, request.query);
                    }
                }
                if let Some(Ok(id)) = id.strip_suffix("/dzi.js").map(str::parse) {
                    return Route::DescriptorScript(id);
                }
                let id = id.parse();
                return content(request, id.map(ContentKey::Id).map_err(|_| ApiError::NoSuchContent));
            }
            if let Some(key) = request.path.strip_prefix("/cache/") {
                return key.parse().map_or(Route::NotFound { page: false }, Route::Object);
            }
            if let Some(of) = request.path.strip_prefix("/iiif/") {
                return iiif(of).unwrap_or(Route::NotFound { page: false });
            }
            let page = path != "/v1" && !path.starts_with("/v1/");
            shared(request).unwrap_or(Route::NotFound { page })
        }
    }
}

fn content(request: RequestParts<'_>, key: Result<ContentKey, ApiError>) -> Route {
    let (key, variant) = in_variant(request, key);
    let retry = key.is_ok() && parameter(request.query, "retry").as_deref() == Some("1");
    Route::Content { key, variant, retry }
}

/// Returns the id in `/v1/content/<id>`.
fn content_id(path: &str) -> Option<ContentId> {
    path.strip_suffix('/').unwrap_or(path).strip_prefix("/v1/content/")?.parse().ok()
}

fn upload_query(query: &str) -> Result<UploadQuery, ApiError> {
    if !Capture::parse(query).is_ok_and(|capture| capture.is_default()) {
        return Err(SourceUrlError::from(CaptureError::NO_URL).into());
    }
    Ok(UploadQuery::parse(query)?)
}

/// Finds the step of an upload in parts. `path` is what follows `/v1/uploads/`.
fn upload_in_parts(request: RequestParts<'_>, path: &str) -> Route {
    let (method, methods, step) = if path.is_empty() {
        (Method::POST, Methods::Upload, UploadStep::Begin(upload_query(request.query)))
    } else if let Some((upload, number)) = upload::part(path) {
        (Method::PUT, Methods::UploadPart, UploadStep::Part(upload, number))
    } else if let Ok(upload) = path.parse() {
        let (query, variant) = in_variant(request, upload_query(request.query));
        (Method::POST, Methods::Upload, UploadStep::Finish { upload, query, variant })
    } else {
        return Route::NotFound { page: false };
    };
    match request.method {
        asked if *asked == method => Route::UploadInParts(step),
        &Method::OPTIONS => Route::Preflight(methods),
        _ => Route::MethodNotAllowed(methods),
    }
}

/// Finds the routes of a collection. `path` is what follows `/v1/collections/`.
fn collection(request: RequestParts<'_>, path: &str) -> Option<Route> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let (name, part) = path.split_once('/').map_or((path, None), |(name, part)| (name, Some(part)));
    let of = name.parse().ok()?;
    let methods = match part {
        None => Methods::Collection,
        Some("entries") => Methods::Entries,
        Some("files") => Methods::Upload,
        Some(_) => return None,
    };
    let call = match (request.method, methods) {
        (&Method::OPTIONS, _) => return Some(Route::Preflight(methods)),
        (&Method::GET | &Method::HEAD, Methods::Entries) => CollectionCall::List(request.query.to_owned()),
        (&Method::POST, Methods::Entries) => CollectionCall::Post,
        (&Method::POST, Methods::Upload) => CollectionCall::File(request.query.to_owned()),
        (&Method::GET | &Method::HEAD, Methods::Collection) => CollectionCall::Get,
        (&Method::PUT, Methods::Collection) => CollectionCall::Put,
        (&Method::DELETE, Methods::Collection) => CollectionCall::Delete,
        _ => return Some(Route::MethodNotAllowed(methods)),
    };
    Some(Route::Collection(of, call))
}

fn dzi(request: RequestParts<'_>, key: Result<ContentKey, ApiError>) -> Route {
    let (key, variant) = in_variant(request, key);
    Route::Dzi { key, variant }
}

/// Chooses the variant of the response. If there is no such variant, the error replaces the key.
fn in_variant<T>(request: RequestParts<'_>, key: Result<T, ApiError>) -> (Result<T, ApiError>, Variant) {
    let value = |name| parameter(request.query, name);
    match Variant::choose(value("format").as_deref(), value("callback").as_deref(), request.accept) {
        Ok(variant) => (key, variant),
        Err(NotAcceptable { error, variant }) => (Err(error.into()), variant),
    }
}

/// Returns the content of a URL: of a source, with the options of its capture in `query`, or of one of the service's own
/// share links, which begin with `share`.
fn by_url(
    url: Option<&str>,
    query: &str,
    share: &str,
    policy: &AddressPolicy,
) -> Result<ContentKey, ApiError> {
    let url = url.ok_or(ApiError::NeitherIdNorUrl)?;
    let source = || {
        let source = SourceUrl::parse(url)?.with_options(query)?;
        policy.admit(&source)?;
        Ok(source)
    };
    match shared_content(url, share) {
        Some(id) => Ok(ContentKey::Shared { id, source: source() }),
        None => source().map(ContentKey::of_source),
    }
}

/// Returns the form of the home page with an entered text, and with options of a capture in `query`.
fn home_form(text: String, query: &str, request: RequestParts<'_>, policy: &AddressPolicy) -> HomeForm {
    let url = typed::cleaned(&text);
    if typed::has_scheme(url) {
        let key = by_url(Some(url), query, request.share, policy);
        return HomeForm { text, assumes_https: false, key };
    }
    let key = by_url(Some(&format!("https://{url}")), query, request.share, policy);
    // A share link needs no source, so its scheme does not matter.
    let assumes_https = matches!(key, Ok(ContentKey::Source { .. }));
    HomeForm { text, assumes_https, key }
}

/// Returns the form of the home page whose address is `{share}/?url=…`, with options of a capture in that address.
fn submitted(address: &str, request: RequestParts<'_>, policy: &AddressPolicy) -> Option<HomeForm> {
    let query = address.strip_prefix(request.share)?.strip_prefix("/?")?;
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    url_parameter(query).map(|text| home_form(text, query, request, policy))
}

/// Returns the source's URL in a path such as `/https://example.com/a.jpg`. Some clients and proxies merge slashes.
fn source_in_path(request: RequestParts<'_>) -> Option<String> {
    let (scheme, rest) = request.path.strip_prefix('/')?.split_once(":/")?;
    if !matches!(scheme, "http" | "https") {
        return None;
    }
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
    Some(format!("{scheme}://{rest}{query}"))
}

/// Finds the routes of a share link: `/<id>`, `/<id>.js`, `/<id>/embed`, `/<id>/preview.jpg`, `/<id>/thumbnail.jpg`,
/// `/<id>/at/<place>.jpg`, `/<id>/download`, `/<id>/text`, `/<id>/text.txt`.
fn shared(request: RequestParts<'_>) -> Option<Route> {
    let name = request.path.strip_prefix('/')?;
    if name.strip_suffix(".js").is_some_and(|id| !id.is_empty() && !id.contains('/')) {
        // For a wrong id too: the script says so in the page; a 404 would show nothing.
        return Some(Route::EmbedScript);
    }
    let name = name.strip_suffix('/').unwrap_or(name);
    match name.split_once('/') {
        Some((id, "embed")) => id.parse().ok().map(Route::Frame),
        Some((id, "preview.jpg")) => id.parse().ok().map(|id| Route::Preview(id, PreviewKind::Large)),
        Some((id, "thumbnail.jpg")) => id.parse().ok().map(|id| Route::Preview(id, PreviewKind::Thumbnail)),
        Some((id, path)) if path.starts_with("at/") => {
            let place = path.strip_prefix("at/")?.strip_suffix(".jpg")?;
            Some(Route::Card(id.parse().ok()?, Place::parse(place)?))
        }
        Some((id, "download")) => id.parse().ok().map(Route::Download),
        Some((id, "text")) => id.parse().ok().map(|id| Route::Text(id, TextForm::Html)),
        Some((id, "text.txt")) => id.parse().ok().map(|id| Route::Text(id, TextForm::Plain)),
        Some(_) => None,
        None => name.parse().ok().map(|id| Route::Share(id, opening(request.query))),
    }
}

/// Returns the place where a share page opens; `None` for the picture as a whole.
fn opening(query: &str) -> Option<Opening> {
    if let Some(place) = parameter(query, "at").and_then(|at| Place::parse(&at)) {
        return Some(Opening::Place(place));
    }
    let page = parameter(query, "page").and_then(|page| page_number(&page));
    match words(query).filter(|words| !words.trim().is_empty()) {
        Some(query) => Some(Opening::Words { query, from: page.unwrap_or(1) }),
        None => page.map(Opening::Page),
    }
}

fn search(id: ContentId, version: SearchVersion, query: &str) -> Route {
    let from = parameter(query, "from").and_then(|page| page_number(&page)).unwrap_or(1);
    Route::Search(id, Search { query: words(query).unwrap_or_default(), from, version })
}

/// Returns the words that are searched for.
fn words(query: &str) -> Option<String> {
    parameter(query, "q").map(|words| words.chars().take(Search::MAX_CHARACTERS).collect())
}

/// Finds the routes below `/iiif/`.
fn iiif(path: &str) -> Option<Route> {
    let (image, rest) = path.split_once('/').unwrap_or((path, ""));
    let (id, page) =
        match image.split_once(':').or_else(|| image.split_once("%3A")).or_else(|| image.split_once("%3a")) {
            Some((id, page)) => (id, Some(page_number(page)?)),
            None => (image, None),
        };
    let asked = IiifRequest::parse(rest)?;
    let is_of_page = !matches!(asked, IiifRequest::Manifest | IiifRequest::Annotations(_));
    (page.is_none() || is_of_page).then_some(Route::Iiif(id.parse().ok()?, page, asked))
}

fn tiler_call(path: &str) -> Option<(ContentId, TilerCall)> {
    let (id, call) = path.strip_prefix("content/")?.split_once('/')?;
    let call = match call {
        "claim" => TilerCall::Claim,
        "report" => TilerCall::Report,
        "reset" => TilerCall::Reset,
        _ => return None,
    };
    Some((id.parse().ok()?, call))
}

#[cfg(test)]
mod tests;
