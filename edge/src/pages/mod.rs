//! Pages for people, the embed script and oEmbed. The HTML of a page is in `edge/viewer/pages/`, beside its script and
//! style; only data is inline. This file has what all pages share, including the security headers, and the pages of
//! errors.

pub mod embed;
mod home;
pub mod oembed;
mod picture;
mod share;

pub use home::home;
pub(crate) use picture::{attachment, name};
pub use share::{Cards, frame, share};

use http::StatusCode;

use crate::config::Addresses;
use crate::response::escape;
use crate::response::{ApiError, CachePolicy, Response};

/// The parts that differ between pages. The title is plain text, head and body are HTML.
struct Page<'a> {
    status: StatusCode,
    cache: CachePolicy,
    title: &'a str,
    /// Elements of the head, besides those of every page.
    head: String,
    body: String,
    frames: Frames,
}

/// The sites that may show a page in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frames {
    /// None, to prevent clickjacking.
    None,
    /// All sites.
    Any,
}

impl Page<'_> {
    fn response(&self, addresses: &Addresses) -> Response {
        let html = format!(
            include_str!("../../viewer/pages/frame.html"),
            title = escape::html(self.title),
            icon = icon(addresses),
            assets = escape::html(&format!("{}/assets", addresses.share)),
            styles = escape::html(&addresses.asset("page.css")),
            head = self.head,
            body = self.body,
        );
        let response = Response::new(self.status, "text/html; charset=utf-8", self.cache, html)
            .tagged()
            .with("Content-Security-Policy", policy(addresses, self.frames))
            .with("Referrer-Policy", "strict-origin-when-cross-origin")
            // Not for subdomains, which are not ours. Browsers ignore it where the service has no TLS.
            .with("Strict-Transport-Security", "max-age=31536000");
        match self.frames {
            Frames::None => response,
            // Pages that isolate themselves only show frames that do so, too.
            Frames::Any => response.with("Cross-Origin-Embedder-Policy", "require-corp"),
        }
    }
}

/// Returns the Content-Security-Policy: only scripts, styles, API and pyramids of the service.
fn policy(addresses: &Addresses, frames: Frames) -> String {
    let Addresses { base, share, cache } = addresses;
    let (base, share, cache) = (origin(base), origin(share), origin(cache));
    let ancestors = match frames {
        Frames::None => "'none'",
        Frames::Any => "*",
    };
    // Scripts not from all of the origin: the API answers with JSONP, which is a script, too.
    format!(
        "default-src 'none'; script-src {share}/assets/; style-src {share}; img-src {base} {share} {cache} data:; \
         connect-src {base} {share} {cache}; manifest-src {share}; base-uri 'none'; form-action {share}; frame-ancestors {ancestors}"
    )
}

/// Returns an address's origin as a source in a policy. A malformed address permits nothing.
fn origin(address: &str) -> String {
    url::Url::parse(address).map_or_else(|_| "'none'".to_owned(), |url| url.origin().ascii_serialization())
}

/// Returns the element that loads a page's script.
fn script(name: &str, addresses: &Addresses) -> String {
    format!("<script type=\"module\" src=\"{}\"></script>\n", escape::html(&addresses.asset(name)))
}

/// Returns an element with metadata.
fn meta(kind: &str, name: &str, value: &str) -> String {
    format!("<meta {kind}=\"{name}\" content=\"{}\">\n", escape::html(value))
}

/// Returns the address of the service's icon, escaped.
fn icon(addresses: &Addresses) -> String {
    escape::html(&addresses.asset("icon.svg"))
}

/// Returns the address of the home page, escaped.
fn home_address(addresses: &Addresses) -> String {
    escape::html(&format!("{}/", addresses.share))
}

/// Returns the page of a 404.
pub fn not_found(addresses: &Addresses) -> Response {
    notice(StatusCode::NOT_FOUND, "Not found", "There is no picture at this address.", addresses)
}

/// Returns the page of an error: 410 or 503.
pub fn unavailable(error: &ApiError, addresses: &Addresses) -> Response {
    let title = match error {
        ApiError::TakenDown(_) => "Taken down",
        ApiError::Deleted => "Deleted",
        _ => "Unavailable",
    };
    error.add_retry_after(notice(error.status(), title, &error.to_string(), addresses))
}

fn notice(status: StatusCode, title: &str, text: &str, addresses: &Addresses) -> Response {
    let body = format!(
        include_str!("../../viewer/pages/notice.html"),
        home = home_address(addresses),
        icon = icon(addresses),
        title = escape::html(title),
        text = escape::html(text),
    );
    let head = "<meta name=\"robots\" content=\"noindex\">\n".to_owned();
    let title = format!("{title} – Edgezoom");
    Page { status, cache: CachePolicy::NoStore, title: &title, head, body, frames: Frames::None }
        .response(addresses)
}

#[cfg(test)]
mod tests;
