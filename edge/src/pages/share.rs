//! `/<id>`: the share page. The viewer fills the window; while there is nothing to be seen yet it shows progress, and turns
//! into the picture by itself. The content object goes along in the page, so that a ready picture needs no further question.

use edgezoom_content::{Content, Status};
use http::StatusCode;

use super::picture::{host, name, preview};
use super::tags::tags;
use super::{Frames, Page, home_address, icon, script};
use crate::config::Addresses;
use crate::content::representation::content_json;
use crate::response::escape;
use crate::response::{Answer, Keep};

/// The share page of a content.
#[must_use]
pub fn share(content: &Content, addresses: &Addresses) -> Answer {
    let keep = if content.is_finished() { Keep::AnHour } else { Keep::Never };
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
        source = escape::html(content.url.as_str()),
        host = escape::html(&host(content)),
        address = escape::html(&addresses.content(content.id)),
        preview = preview(content, addresses),
        content = escape::script(&content_json(content, addresses)),
    );
    let title = format!("{} – Edgezoom", name(content));
    Page { status: StatusCode::OK, keep, title: &title, head, body, frames: Frames::None }.answer(addresses)
}
