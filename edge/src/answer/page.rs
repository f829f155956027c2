//! Pages for people: the frame that all of them share, with its security headers. What a page shows is in a file of its own.
//! Scripts and styles are files of the browser's side (`viewer/`); nothing is inline but data.

mod home;
mod notice;
mod share;

pub use home::home;
pub use notice::{nothing, unavailable};
pub use share::share;

use http::StatusCode;

use super::{Answer, Keep};
use crate::config::Addresses;
use crate::escape;

/// What differs between pages. Texts are plain, elements are HTML.
struct Page<'a> {
    status: StatusCode,
    keep: Keep,
    title: &'a str,
    /// Elements for the head, besides those that every page has.
    head: String,
    /// The body's elements.
    body: String,
}

impl Page<'_> {
    fn answer(&self, addresses: &Addresses) -> Answer {
        let html = format!(
            concat!(
                "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n",
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                "<meta name=\"color-scheme\" content=\"light dark\">\n",
                "<link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">\n",
                "<link rel=\"stylesheet\" href=\"{styles}\">\n{head}</head>\n<body>\n{body}</body>\n</html>\n"
            ),
            title = escape::html(self.title),
            icon = escape::html(&addresses.asset("icon.svg")),
            styles = escape::html(&addresses.asset("page.css")),
            head = self.head,
            body = self.body,
        );
        Answer::new(self.status, "text/html; charset=utf-8", self.keep, html)
            .tagged()
            .with("Content-Security-Policy", policy(addresses))
            .with("Referrer-Policy", "strict-origin-when-cross-origin")
    }
}

/// Only our own scripts and styles, only our own interface and pyramids, in no foreign frame.
fn policy(addresses: &Addresses) -> String {
    let Addresses { base, share, cache } = addresses;
    let (base, share, cache) = (origin(base), origin(share), origin(cache));
    format!(
        "default-src 'none'; script-src {share}; style-src {share}; img-src {share} {cache} data:; \
         connect-src {base} {cache}; base-uri 'none'; form-action {share}; frame-ancestors 'none'"
    )
}

/// An address's origin, as a source in a policy. One that is no URL, which is the operator's mistake, permits nothing.
fn origin(address: &str) -> String {
    url::Url::parse(address).map_or_else(|_| "'none'".to_owned(), |url| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests;
