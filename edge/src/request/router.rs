//! What a request asks for: method, path and query become a [`Route`] whose parts are parsed and admitted, or the reason why
//! they are not.

use edgezoom_content::protocol::BACKLOG_PATH;
use edgezoom_content::{AddressPolicy, ContentId, SourceUrl};
use http::Method;
use url::form_urlencoded;

use super::route::{Entry, Internal, OembedRequest, Route, Wish};
use crate::response::Refusal;
use crate::response::negotiation::{Misfit, Variant};

/// A request, as far as the route depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path, with its slash.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
    /// The `Accept` header.
    pub accept: Option<&'a str>,
}

const READING: &str = "GET, HEAD, OPTIONS";

/// Finds the route. `policy` says which literal addresses a source may have.
#[must_use]
pub fn route(asked: Asked<'_>, policy: &AddressPolicy) -> Route {
    if asked.path == BACKLOG_PATH {
        return if asked.method == Method::POST { Route::Backlog } else { Route::WrongMethod("POST") };
    }
    if let Some(rest) = asked.path.strip_prefix("/internal/") {
        return match internal(rest) {
            Some((id, wish)) if asked.method == Method::POST => Route::Internal(id, wish),
            Some(_) => Route::WrongMethod("POST"),
            None => Route::Nothing { page: false },
        };
    }
    match *asked.method {
        Method::GET | Method::HEAD => read(asked, policy),
        Method::OPTIONS => Route::Preflight,
        _ => Route::WrongMethod(READING),
    }
}

fn read(asked: Asked<'_>, policy: &AddressPolicy) -> Route {
    match asked.path {
        "/" => Route::Home(parameter(asked.query, "url").filter(|text| !text.is_empty()).map(|text| {
            let source = source(Some(&text), policy);
            Entry { text, source }
        })),
        "/v1/content" | "/v1/content/" => {
            let url = parameter(asked.query, "url");
            content(asked, source(url.as_deref(), policy).map(Wish::Source))
        }
        "/health" => Route::Health,
        "/version" => Route::Version,
        "/robots.txt" => Route::Robots,
        "/oembed" => Route::Oembed(OembedRequest {
            url: parameter(asked.query, "url"),
            format: parameter(asked.query, "format"),
            max_width: parameter(asked.query, "maxwidth").and_then(|most| most.parse().ok()),
            max_height: parameter(asked.query, "maxheight").and_then(|most| most.parse().ok()),
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
                return content(asked, id.map(Wish::Id).map_err(|_| Refusal::NoSuchContent));
            }
            if let Some(key) = path.strip_prefix("/cache/") {
                return key.parse().map_or(Route::Nothing { page: false }, Route::Object);
            }
            shared(path).unwrap_or(Route::Nothing { page: !path.starts_with("/v1/") })
        }
    }
}

fn content(asked: Asked<'_>, wish: Result<Wish, Refusal>) -> Route {
    let wanted = |name| parameter(asked.query, name);
    match Variant::choose(wanted("format").as_deref(), wanted("callback").as_deref(), asked.accept) {
        Ok(variant) => Route::Content { wish, variant },
        Err(Misfit { error, variant }) => Route::Content { wish: Err(error.into()), variant },
    }
}

fn source(url: Option<&str>, policy: &AddressPolicy) -> Result<SourceUrl, Refusal> {
    let source = SourceUrl::parse(url.ok_or(Refusal::NeitherIdNorUrl)?)?;
    policy.admit(&source)?;
    Ok(source)
}

/// What lies under the share address by a content's id.
fn shared(path: &str) -> Option<Route> {
    let name = path.strip_prefix('/')?;
    if let Some(id) = name.strip_suffix(".js") {
        return id.parse::<ContentId>().ok().map(|_| Route::Embed);
    }
    let name = name.strip_suffix('/').unwrap_or(name);
    match name.split_once('/') {
        Some((id, "embed")) => id.parse().ok().map(Route::Framed),
        Some((id, "preview.jpg")) => id.parse().ok().map(Route::Preview),
        Some(_) => None,
        None => name.parse().ok().map(Route::Share),
    }
}

fn internal(path: &str) -> Option<(ContentId, Internal)> {
    let (id, wish) = path.strip_prefix("content/")?.split_once('/')?;
    let wish = match wish {
        "claim" => Internal::Claim,
        "report" => Internal::Report,
        "reset" => Internal::Reset,
        _ => return None,
    };
    Some((id.parse().ok()?, wish))
}

/// The first value of a query parameter.
fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests;
