//! Finds the route of a request: method, path and query become a [`Route`] whose parameters are parsed and checked, or
//! the error of the interface.

use edgezoom_content::protocol::BACKLOG_PATH;
use edgezoom_content::{AddressPolicy, ContentId, SourceUrl};
use http::Method;
use url::form_urlencoded;

use super::route::{ContentKey, HomeForm, OembedRequest, Route, TilerCall};
use crate::response::ApiError;
use crate::response::negotiation::{NotAcceptable, Variant};

/// The parts of a request that its route depends on.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path, with its slash.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
    /// The `Accept` header.
    pub accept: Option<&'a str>,
}

const READ_METHODS: &str = "GET, HEAD, OPTIONS";

/// Finds the route. `policy` says which literal addresses a source may have.
#[must_use]
pub fn route(request: RequestParts<'_>, policy: &AddressPolicy) -> Route {
    if request.path == BACKLOG_PATH {
        return if request.method == Method::POST { Route::Backlog } else { Route::MethodNotAllowed("POST") };
    }
    if let Some(rest) = request.path.strip_prefix("/internal/") {
        return match tiler_call(rest) {
            Some((id, call)) if request.method == Method::POST => Route::TilerCall(id, call),
            Some(_) => Route::MethodNotAllowed("POST"),
            None => Route::NotFound { page: false },
        };
    }
    match *request.method {
        Method::GET | Method::HEAD => read(request, policy),
        Method::OPTIONS => Route::Preflight,
        _ => Route::MethodNotAllowed(READ_METHODS),
    }
}

fn read(request: RequestParts<'_>, policy: &AddressPolicy) -> Route {
    match request.path {
        "/" => Route::Home(parameter(request.query, "url").filter(|text| !text.is_empty()).map(|text| {
            let source = source(Some(&text), policy);
            HomeForm { text, source }
        })),
        "/v1/content" | "/v1/content/" => {
            let url = parameter(request.query, "url");
            content(request, source(url.as_deref(), policy).map(ContentKey::Source))
        }
        "/health" => Route::Health,
        "/version" => Route::Version,
        "/robots.txt" => Route::Robots,
        "/oembed" => Route::Oembed(OembedRequest {
            url: parameter(request.query, "url"),
            format: parameter(request.query, "format"),
            max_width: parameter(request.query, "maxwidth").and_then(|most| most.parse().ok()),
            max_height: parameter(request.query, "maxheight").and_then(|most| most.parse().ok()),
        }),
        path => {
            if let Some(id) = path.strip_prefix("/v1/content/") {
                let id = id.strip_suffix('/').unwrap_or(id);
                if let Some(Ok(id)) = id.strip_suffix("/events").map(str::parse) {
                    return Route::Events(id);
                }
                if let Some(Ok(id)) = id.strip_suffix("/dzi.js").map(str::parse) {
                    return Route::DescriptorScript(id);
                }
                let id = id.parse();
                return content(request, id.map(ContentKey::Id).map_err(|_| ApiError::NoSuchContent));
            }
            if let Some(key) = path.strip_prefix("/cache/") {
                return key.parse().map_or(Route::NotFound { page: false }, Route::Object);
            }
            shared(path).unwrap_or(Route::NotFound { page: !path.starts_with("/v1/") })
        }
    }
}

fn content(request: RequestParts<'_>, key: Result<ContentKey, ApiError>) -> Route {
    let value = |name| parameter(request.query, name);
    match Variant::choose(value("format").as_deref(), value("callback").as_deref(), request.accept) {
        Ok(variant) => Route::Content { key, variant },
        Err(NotAcceptable { error, variant }) => Route::Content { key: Err(error.into()), variant },
    }
}

fn source(url: Option<&str>, policy: &AddressPolicy) -> Result<SourceUrl, ApiError> {
    let source = SourceUrl::parse(url.ok_or(ApiError::NeitherIdNorUrl)?)?;
    policy.admit(&source)?;
    Ok(source)
}

/// The routes of share links: `/<id>`, `/<id>.js`, `/<id>/embed`, `/<id>/preview.jpg`, `/<id>/download`.
fn shared(path: &str) -> Option<Route> {
    let name = path.strip_prefix('/')?;
    if let Some(id) = name.strip_suffix(".js") {
        return id.parse::<ContentId>().ok().map(|_| Route::EmbedScript);
    }
    let name = name.strip_suffix('/').unwrap_or(name);
    match name.split_once('/') {
        Some((id, "embed")) => id.parse().ok().map(Route::Frame),
        Some((id, "preview.jpg")) => id.parse().ok().map(Route::Preview),
        Some((id, "download")) => id.parse().ok().map(Route::Download),
        Some(_) => None,
        None => name.parse().ok().map(Route::Share),
    }
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

/// The first value of a query parameter.
fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests;
