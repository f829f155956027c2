//! The metadata in the head of the share page: for sites that show a card for a link (OpenGraph, Twitter), for sites
//! that embed it (oEmbed), for search engines (JSON-LD).

use edgezoom_content::{Content, PreviewKind, Status};
use url::form_urlencoded;

use super::picture::{host, name};
use super::preview::preview_size;
use crate::config::Addresses;
use crate::response::element::Element::{self, Object, Text};
use crate::response::escape;

/// The elements for the head; none for a failed content.
pub(super) fn tags(content: &Content, addresses: &Addresses) -> String {
    if matches!(content.status, Status::Failed { .. }) {
        return String::new();
    }
    let title = name(content);
    let is_file = content.url.is_file();
    let from = if is_file { String::new() } else { format!(" from {}", host(content)) };
    let description = match &content.status {
        Status::Ready { finished, .. } => {
            let size = finished.dzi.size;
            format!("{} × {} pixels{from}, to zoom into.", size.width, size.height)
        }
        _ if is_file => "To zoom into.".to_owned(),
        _ => format!("From {}, to zoom into.", host(content)),
    };
    let share = addresses.share(content.id);
    let mut tags = vec![
        meta("name", "description", &description),
        meta("property", "og:type", "website"),
        meta("property", "og:site_name", "Edgezoom"),
        meta("property", "og:title", &title),
        meta("property", "og:description", &description),
        meta("property", "og:url", &share),
    ];
    match &content.status {
        Status::Ready { finished, .. } => {
            let dzi = &finished.dzi;
            let preview = addresses.preview(content.id, PreviewKind::Large);
            let thumbnail = addresses.preview(content.id, PreviewKind::Thumbnail);
            let size = preview_size(finished, PreviewKind::Large);
            tags.extend([
                meta("property", "og:image", &preview),
                meta("property", "og:image:type", dzi.tile_format.media_type()),
                meta("property", "og:image:width", &size.width.to_string()),
                meta("property", "og:image:height", &size.height.to_string()),
                meta("property", "og:image:alt", &title),
                meta("name", "twitter:card", "summary_large_image"),
            ]);
            let mut picture = vec![
                ("@context", Text("https://schema.org".to_owned())),
                ("@type", Text("ImageObject".to_owned())),
                ("name", Text(title.clone())),
                ("url", Text(share.clone())),
            ];
            if !is_file {
                picture.push(("contentUrl", Text(content.url.to_string())));
            }
            picture.extend([
                ("thumbnailUrl", Text(thumbnail)),
                ("width", Text(format!("{} px", dzi.size.width))),
                ("height", Text(format!("{} px", dzi.size.height))),
            ]);
            tags.push(linked_data(Object(picture)));
        }
        Status::Processing { .. } | Status::Failed { .. } => {
            tags.push(meta("name", "twitter:card", "summary"))
        }
    }
    for format in ["json", "xml"] {
        tags.push(discovery(format, &share, &title, addresses));
    }
    tags.concat()
}

/// An element with metadata.
pub(super) fn meta(kind: &str, name: &str, value: &str) -> String {
    format!("<meta {kind}=\"{name}\" content=\"{}\">\n", escape::html(value))
}

fn linked_data(value: Element) -> String {
    format!("<script type=\"application/ld+json\">{}</script>\n", escape::script(&value.json()))
}

/// The link to the oEmbed response (oEmbed 1.0, section 4). The media types are those that consumers look for.
fn discovery(format: &str, share: &str, title: &str, addresses: &Addresses) -> String {
    let kind = if format == "xml" { "text/xml" } else { "application/json" };
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("url", share)
        .append_pair("format", format)
        .finish();
    let address = format!("{}/oembed?{query}", addresses.share);
    format!(
        "<link rel=\"alternate\" type=\"{kind}+oembed\" href=\"{}\" title=\"{}\">\n",
        escape::html(&address),
        escape::html(title)
    )
}
