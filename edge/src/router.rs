//! What a request asks for: method, path and query become a [`Route`] whose parts are parsed and admitted, or the reason why
//! they are not.

use edgezoom_content::protocol::BACKLOG_PATH;
use edgezoom_content::{AddressPolicy, ContentId, SourceUrl};
use http::Method;
use url::form_urlencoded;

use crate::answer::Refusal;
use crate::answer::oembed::OembedRequest;
use crate::negotiate::{Misfit, Variant};
use crate::object_key::ObjectKey;

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

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// `/v1/content…`: a content object.
    Content {
        /// Which one.
        wish: Result<Wish, Refusal>,
        /// In which form.
        variant: Variant,
    },
    /// `/v1/content/<id>/events`: a content as it changes.
    Events(ContentId),
    /// `/v1/content/<id>/dzi.js`: the descriptor as a script.
    DescriptorScript(ContentId),
    /// `/<id>/preview.jpg`: a small picture.
    Preview(ContentId),
    /// `/oembed`: what to put into a page for a share link.
    Oembed(OembedRequest),
    /// `/`: the page with one field, with what was entered in it if it was sent.
    Home(Option<Entry>),
    /// `/<id>`: the share page.
    Share(ContentId),
    /// `/<id>.js`: the embed script, which is the same for all.
    Embed,
    /// `/<id>/embed`: the page for frames.
    Framed(ContentId),
    /// `/cache/<key>`: a descriptor or a tile.
    Object(ObjectKey),
    /// `POST /internal/content/<id>/…`: a tiler or the operator.
    Internal(ContentId, Internal),
    /// `POST /internal/backlog`: a tiler tells how much waits.
    Backlog,
    /// `/health`.
    Health,
    /// `/version`.
    Version,
    /// `/robots.txt`.
    Robots,
    /// `OPTIONS`: what a browser asks before a request to another origin.
    Preflight,
    /// The path exists, but not with this method; these are allowed.
    WrongMethod(&'static str),
    /// There is nothing at the path. A person looks at pages, programs at objects.
    Nothing {
        /// Whether the answer should be a page.
        page: bool,
    },
}

/// Which content is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The one of a source, to be created if there is none.
    Source(SourceUrl),
    /// The one with an id.
    Id(ContentId),
}

/// What somebody entered on the home page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// As entered.
    pub text: String,
    /// What it means.
    pub source: Result<SourceUrl, Refusal>,
}

/// What the other side of `/internal` wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internal {
    /// A tiler wants the job.
    Claim,
    /// A tiler tells what became of it.
    Report,
    /// The operator wants it tried anew.
    Reset,
}

impl Route {
    /// The content that it is about: whose record may be all that the answer takes.
    #[must_use]
    pub fn content_id(&self) -> Option<ContentId> {
        match self {
            Self::Content { wish: Ok(Wish::Source(url)), .. } => ContentId::candidates(url).next(),
            Self::Home(Some(Entry { source: Ok(url), .. })) => ContentId::candidates(url).next(),
            Self::Content { wish: Ok(Wish::Id(id)), .. } => Some(*id),
            Self::Events(id)
            | Self::DescriptorScript(id)
            | Self::Preview(id)
            | Self::Share(id)
            | Self::Framed(id) => Some(*id),
            _ => None,
        }
    }
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
