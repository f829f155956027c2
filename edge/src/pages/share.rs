//! `/<id>`: the share page. The viewer fills the window; until the content is ready it shows the progress, then the
//! picture. The content object is part of the page, so a ready picture needs no further request.

use edgezoom_content::{Content, Finished, Status, Timestamp};
use http::StatusCode;

use super::picture::{name, origin, preview};
use super::tags::tags;
use super::{Frames, Page, home_address, icon, script};
use crate::config::Addresses;
use crate::content::representation::content_json;
use crate::response::escape;
use crate::response::{CachePolicy, Response};

/// The share page of a content.
#[must_use]
pub fn share(content: &Content, addresses: &Addresses, now: Timestamp) -> Response {
    let cache = CachePolicy::of(&content.status, now);
    let robots = match content.status {
        Status::Ready { .. } => "",
        Status::Processing { .. } | Status::Failed { .. } => "<meta name=\"robots\" content=\"noindex\">\n",
    };
    let canonical = escape::html(&addresses.share(content.id));
    let head = format!(
        "{robots}<link rel=\"canonical\" href=\"{canonical}\">\n{}{}",
        tags(content, addresses),
        script("share.js", addresses)
    );
    let body = format!(
        include_str!("../../viewer/pages/share.html"),
        home = home_address(addresses),
        icon = icon(addresses),
        name = escape::html(&name(content)),
        origin = origin(content),
        address = escape::html(&addresses.content(content.id)),
        warning = warning(content),
        preview = preview(content, addresses),
        content = escape::script(&content_json(content, addresses, now)),
    );
    let title = format!("{} – Edgezoom", name(content));
    Page { status: StatusCode::OK, cache, title: &title, head, body, frames: Frames::None }
        .response(addresses)
}

/// The line that says what is missing of the picture; hidden while there is nothing to say, and filled by the page's script
/// when the content becomes ready later.
fn warning(content: &Content) -> String {
    match &content.status {
        Status::Ready { finished: Finished { warning: Some(warning), .. }, .. } => {
            format!("<p id=\"warning\" role=\"status\">{}</p>", escape::html(warning.as_str()))
        }
        _ => "<p id=\"warning\" role=\"status\" hidden></p>".to_owned(),
    }
}
