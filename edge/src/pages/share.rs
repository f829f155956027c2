//! The pages that show a content. `/<id>` is the share page: the viewer fills the window, and shows the progress until
//! the content is ready. `/<id>/embed` is the viewer alone, for frames on sites that forbid foreign scripts. The
//! content object is part of both, so a ready picture needs no further request.

use edgezoom_content::{Content, Credits, Finished, PreviewKind, Status, Timestamp};
use http::StatusCode;
use url::form_urlencoded;

use super::picture::{alternative, host, name, origin, preview, without_script};
use super::{Frames, Page, home_address, icon, meta, script};
use crate::config::Addresses;
use crate::representation::{content_json, credit_lines};
use crate::request::place::{Card, Place};
use crate::response::element::Element::{self, Object, Text};
use crate::response::escape;
use crate::response::{CachePolicy, Response};

/// The parts of a content that the operator permits in cards and descriptions.
#[derive(Clone, Copy, Debug)]
pub struct Cards {
    /// A place in the picture: it has to be rendered.
    pub places: bool,
    /// The first words in the picture.
    pub quotes: bool,
}

/// Returns the share page of a content, which opens at a place if one is given.
pub fn share(
    content: &Content,
    place: Option<Place>,
    cards: Cards,
    addresses: &Addresses,
    now: Timestamp,
) -> Response {
    let cache = CachePolicy::of(&content.status, now);
    let robots = match content.status {
        Status::Ready { .. } => "",
        Status::Processing { .. } | Status::Failed { .. } => NO_INDEX,
    };
    let head = format!(
        "{robots}{}{}{}",
        canonical(content, addresses),
        tags(content, place, cards, addresses),
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
        cards = if cards.places { " data-cards" } else { "" },
        preview = without_script(content, addresses),
        content = escape::script(&content_json(content, addresses, now)),
    );
    let title = format!("{} – Edgezoom", name(content));
    Page { status: StatusCode::OK, cache, title: &title, head, body, frames: Frames::None }
        .response(addresses)
}

/// Returns the page for frames of a content. Search engines are referred to the share page.
pub fn frame(content: &Content, addresses: &Addresses, now: Timestamp) -> Response {
    let cache = CachePolicy::of(&content.status, now);
    let head = format!("{NO_INDEX}{}{}", canonical(content, addresses), script("share.js", addresses));
    let title = name(content);
    let body = format!(
        include_str!("../../viewer/pages/embed.html"),
        name = escape::html(&title),
        address = escape::html(&addresses.content(content.id)),
        preview = preview(content, addresses),
        content = escape::script(&content_json(content, addresses, now)),
    );
    Page { status: StatusCode::OK, cache, title: &title, head, body, frames: Frames::Any }.response(addresses)
}

const NO_INDEX: &str = "<meta name=\"robots\" content=\"noindex\">\n";

fn canonical(content: &Content, addresses: &Addresses) -> String {
    format!("<link rel=\"canonical\" href=\"{}\">\n", escape::html(&addresses.share(content.id)))
}

/// Returns the line with the warning. Without one it is hidden; the page's script fills it if the content becomes ready
/// later.
fn warning(content: &Content) -> String {
    match content.status.finished().and_then(|finished| finished.damage) {
        Some(damage) => {
            format!("<p id=\"warning\" role=\"status\">{}</p>", escape::html(&damage.to_string()))
        }
        None => "<p id=\"warning\" role=\"status\" hidden></p>".to_owned(),
    }
}

/// Returns the metadata in the head: for link cards (OpenGraph, Twitter), for sites that embed the page (oEmbed) and
/// for search engines (JSON-LD). A failed content has none.
fn tags(content: &Content, place: Option<Place>, cards: Cards, addresses: &Addresses) -> String {
    if matches!(content.status, Status::Failed { .. }) {
        return String::new();
    }
    let finished = content.status.finished();
    let title = name(content);
    let is_file = content.url.is_file();
    let from = if is_file { String::new() } else { format!(" from {}", host(content)) };
    let quote =
        finished.and_then(|finished| finished.text.as_ref()?.beginning.as_ref()).filter(|_| cards.quotes);
    let description = match finished {
        _ if content.alternative_text().is_some() => alternative(content),
        Some(_) if let Some(quote) = quote => quote.as_str().to_owned(),
        Some(Finished { dzi, .. }) => {
            format!("{} × {} pixels{from}, to zoom into.", dzi.size.width, dzi.size.height)
        }
        None if is_file => "To zoom into.".to_owned(),
        None => format!("From {}, to zoom into.", host(content)),
    };
    let share = addresses.share(content.id);
    let here = at_place(&share, place, finished);
    let mut tags = vec![
        meta("name", "description", &description),
        meta("property", "og:type", "website"),
        meta("property", "og:site_name", "Edgezoom"),
        meta("property", "og:title", &title),
        meta("property", "og:description", &description),
        meta("property", "og:url", &here),
    ];
    if let Some(finished) = finished {
        let dzi = &finished.dzi;
        let card = place.filter(|place| cards.places && !place.is_opening());
        let (picture, size) = match card {
            Some(place) => (place.card_address(content.id, dzi.size, addresses), Card::SIZE),
            None => {
                let large = PreviewKind::Large;
                (addresses.preview(content.id, large), large.size(dzi.size))
            }
        };
        tags.extend([
            meta("property", "og:image", &picture),
            meta("property", "og:image:type", "image/jpeg"),
            meta("property", "og:image:width", &size.width.to_string()),
            meta("property", "og:image:height", &size.height.to_string()),
            meta("property", "og:image:alt", &alternative(content)),
            meta("name", "twitter:card", "summary_large_image"),
        ]);
        if card.is_some() {
            tags.push(meta("name", "twitter:image", &picture));
        }
        let mut picture = vec![
            ("@context", Text("https://schema.org".to_owned())),
            ("@type", Text("ImageObject".to_owned())),
            ("name", Text(title.clone())),
            ("url", Text(share.clone())),
        ];
        if quote.is_some() || content.alternative_text().is_some() {
            picture.push(("description", Text(description.clone())));
        }
        if !is_file {
            picture.push(("contentUrl", Text(content.url.address().to_owned())));
        }
        picture.extend([
            ("thumbnailUrl", Text(addresses.preview(content.id, PreviewKind::Thumbnail))),
            ("width", Text(format!("{} px", dzi.size.width))),
            ("height", Text(format!("{} px", dzi.size.height))),
        ]);
        picture.extend(content.credits().into_iter().flat_map(linked_credits));
        tags.push(linked_data(Object(picture)));
    } else {
        tags.push(meta("name", "twitter:card", "summary"));
    }
    for format in ["json", "xml"] {
        tags.push(discovery(format, if cards.places { &here } else { &share }, &title, addresses));
    }
    tags.concat()
}

/// Returns the link of a place in a picture.
fn at_place(share: &str, place: Option<Place>, finished: Option<&Finished>) -> String {
    let Some(place) = place else { return share.to_owned() };
    let place = finished.map_or(place, |finished| place.within(finished.dzi.size));
    format!("{share}?at={place}")
}

/// Returns the credits as schema.org names them. A file does not say whether its creator is a person.
fn linked_credits(credits: &Credits) -> impl Iterator<Item = (&'static str, Element)> {
    let text = |line: &str| Text(line.to_owned());
    let lines = credit_lines(credits).into_iter().map(move |(name, line)| match name {
        "creator" => ("creator", Object(vec![("@type", text("Person")), ("name", text(line))])),
        "credit" => ("creditText", text(line)),
        _ => ("copyrightNotice", text(line)),
    });
    lines.chain(credits.rights.iter().map(move |uri| ("license", text(uri.as_str()))))
}

fn linked_data(value: Element) -> String {
    format!("<script type=\"application/ld+json\">{}</script>\n", escape::script(&value.json()))
}

/// Returns the link to the oEmbed response (oEmbed 1.0, section 4), with the media types that consumers look for.
fn discovery(format: &str, link: &str, title: &str, addresses: &Addresses) -> String {
    let kind = if format == "xml" { "text/xml" } else { "application/json" };
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("url", link)
        .append_pair("format", format)
        .finish();
    let address = format!("{}/oembed?{query}", addresses.share);
    format!(
        "<link rel=\"alternate\" type=\"{kind}+oembed\" href=\"{}\" title=\"{}\">\n",
        escape::html(&address),
        escape::html(title)
    )
}
