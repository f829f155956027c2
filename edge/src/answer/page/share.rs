//! `/<id>`: the share page. The viewer fills the window; while there is nothing to be seen yet it shows progress, and turns
//! into the picture by itself. The content object goes along in the page, so that a ready picture needs no further question.

use edgezoom_content::{Content, Status};
use http::StatusCode;

use super::Page;
use crate::answer::content::content_json;
use crate::answer::{Answer, Keep};
use crate::config::Addresses;
use crate::escape;

/// The share page of a content.
#[must_use]
pub fn share(content: &Content, addresses: &Addresses) -> Answer {
    let keep = if content.is_finished() { Keep::AnHour } else { Keep::Never };
    let robots = match content.status {
        Status::Ready { .. } => "",
        Status::Processing { .. } | Status::Failed { .. } => "<meta name=\"robots\" content=\"noindex\">\n",
    };
    let head = format!(
        "{robots}<link rel=\"canonical\" href=\"{}\">\n<script type=\"module\" src=\"{}\"></script>\n",
        escape::html(&addresses.share(content.id)),
        escape::html(&addresses.asset("share.js")),
    );
    let body = format!(
        concat!(
            "<main class=\"share\" id=\"stage\" data-content=\"{address}\">\n",
            "<noscript><p>Zooming into <a href=\"{url}\">{url}</a> needs JavaScript.</p></noscript>\n</main>\n",
            "<script type=\"application/json\" id=\"content\">{content}</script>\n"
        ),
        address = escape::html(&addresses.content(content.id)),
        url = escape::html(content.url.as_str()),
        content = escape::script(&content_json(content, addresses)),
    );
    let title = format!("{} – Edgezoom", name(content.url.as_str()));
    Page { status: StatusCode::OK, keep, title: &title, head, body }.answer(addresses)
}

/// What a person would call the source: its address without scheme, query and what else is for machines.
fn name(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['?', '#']).next().unwrap_or(rest).trim_end_matches('/')
}
