//! `/<id>/embed`: the viewer as a page for frames, for sites that allow no scripts of others. Search engines are
//! referred to the share page.

use edgezoom_content::{Content, Timestamp};
use http::StatusCode;

use super::picture::{name, preview};
use super::{Frames, Page, script};
use crate::config::Addresses;
use crate::content::representation::content_json;
use crate::response::escape;
use crate::response::{CachePolicy, Response};

/// The page for frames of a content.
#[must_use]
pub fn frame(content: &Content, addresses: &Addresses, now: Timestamp) -> Response {
    let cache = CachePolicy::of(&content.status, now);
    let head = format!(
        "<meta name=\"robots\" content=\"noindex\">\n<link rel=\"canonical\" href=\"{}\">\n{}",
        escape::html(&addresses.share(content.id)),
        script("share.js", addresses),
    );
    let body = format!(
        include_str!("../../viewer/pages/embed.html"),
        name = escape::html(&name(content)),
        address = escape::html(&addresses.content(content.id)),
        preview = preview(content, addresses),
        content = escape::script(&content_json(content, addresses, now)),
    );
    let title = name(content);
    Page { status: StatusCode::OK, cache, title: &title, head, body, frames: Frames::Any }.response(addresses)
}
