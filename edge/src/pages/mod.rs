//! Pages for people: the frame that all pages share, with its security headers. Each page has a file here, and its HTML
//! in `edge/viewer/pages/`, beside its script and style. Only data is inline. The embed script and oEmbed are here too.

pub mod embed;
mod frame;
mod home;
mod notice;
pub mod oembed;
mod picture;
mod preview;
mod share;
mod tags;

pub use frame::frame;
pub use home::home;
pub use notice::{not_found, unavailable};
pub(crate) use picture::{attachment, name};
pub use preview::{StoredPreview, stored_preview};
pub use share::share;

use http::StatusCode;

use crate::config::Addresses;
use crate::response::escape;
use crate::response::{CachePolicy, Response};

/// The parts in which pages differ. Texts are plain, elements are HTML.
struct Page<'a> {
    status: StatusCode,
    cache: CachePolicy,
    title: &'a str,
    /// Elements for the head, besides those that every page has.
    head: String,
    /// The body's elements.
    body: String,
    frames: Frames,
}

/// Which sites may show a page in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frames {
    /// None, against clickjacking.
    None,
    /// All: the page is made for frames.
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
        Response::new(self.status, "text/html; charset=utf-8", self.cache, html)
            .tagged()
            .with("Content-Security-Policy", policy(addresses, self.frames))
            .with("Referrer-Policy", "strict-origin-when-cross-origin")
    }
}

/// The Content-Security-Policy: scripts, styles, interface and pyramids of the service only.
fn policy(addresses: &Addresses, frames: Frames) -> String {
    let Addresses { base, share, cache } = addresses;
    let (base, share, cache) = (origin(base), origin(share), origin(cache));
    let ancestors = match frames {
        Frames::None => "'none'",
        Frames::Any => "*",
    };
    format!(
        "default-src 'none'; script-src {share}; style-src {share}; img-src {base} {share} {cache} data:; \
         connect-src {base} {share} {cache}; manifest-src {share}; base-uri 'none'; form-action {share}; frame-ancestors {ancestors}"
    )
}

/// An address's origin as a source in a policy. An address that is not a URL, the operator's mistake, permits nothing.
fn origin(address: &str) -> String {
    url::Url::parse(address).map_or_else(|_| "'none'".to_owned(), |url| url.origin().ascii_serialization())
}

/// The element that loads a page's script.
fn script(name: &str, addresses: &Addresses) -> String {
    format!("<script type=\"module\" src=\"{}\"></script>\n", escape::html(&addresses.asset(name)))
}

/// The address of the service's icon, escaped.
fn icon(addresses: &Addresses) -> String {
    escape::html(&addresses.asset("icon.svg"))
}

/// The address of the home page, escaped.
fn home_address(addresses: &Addresses) -> String {
    escape::html(&format!("{}/", addresses.share))
}

#[cfg(test)]
mod tests;
