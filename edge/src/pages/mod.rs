//! Pages for people: the frame that all of them share, with its security headers. What a page shows is in a file of its own;
//! its HTML is in `edge/viewer/pages/`, beside its script and style. Nothing is inline but data.

pub mod embed;
mod framed;
mod home;
mod notice;
pub mod oembed;
mod picture;
mod share;
mod tags;

pub use framed::framed;
pub use home::home;
pub use notice::{nothing, unavailable};
pub use picture::preview_key;
pub use share::share;

use http::StatusCode;

use crate::config::Addresses;
use crate::response::escape;
use crate::response::{Answer, Keep};

/// What differs between pages. Texts are plain, elements are HTML.
struct Page<'a> {
    status: StatusCode,
    keep: Keep,
    title: &'a str,
    /// Elements for the head, besides those that every page has.
    head: String,
    /// The body's elements.
    body: String,
    frames: Frames,
}

/// In whose frames a page may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frames {
    /// In nobody's: what looks like our page is our page.
    None,
    /// In anybody's: it is made for that.
    Any,
}

impl Page<'_> {
    fn answer(&self, addresses: &Addresses) -> Answer {
        let html = format!(
            include_str!("../../viewer/pages/frame.html"),
            title = escape::html(self.title),
            icon = icon(addresses),
            styles = escape::html(&addresses.asset("page.css")),
            head = self.head,
            body = self.body,
        );
        Answer::new(self.status, "text/html; charset=utf-8", self.keep, html)
            .tagged()
            .with("Content-Security-Policy", policy(addresses, self.frames))
            .with("Referrer-Policy", "strict-origin-when-cross-origin")
    }
}

/// Only our own scripts and styles, only our own interface and pyramids.
fn policy(addresses: &Addresses, frames: Frames) -> String {
    let Addresses { base, share, cache } = addresses;
    let (base, share, cache) = (origin(base), origin(share), origin(cache));
    let ancestors = match frames {
        Frames::None => "'none'",
        Frames::Any => "*",
    };
    format!(
        "default-src 'none'; script-src {share}; style-src {share}; img-src {share} {cache} data:; \
         connect-src {base} {cache}; base-uri 'none'; form-action {share}; frame-ancestors {ancestors}"
    )
}

/// An address's origin, as a source in a policy. One that is no URL, which is the operator's mistake, permits nothing.
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
