//! The content object of the interface (`Content` in `edge/interface/openapi.json`), printed as JSON or XML. Responses,
//! pages and KV all take it from here, so this file knows none of them. A field without a value is left out, never
//! `null`.

use edgezoom_content::{Content, ContentId, Dzi, Failure, Stage, Status};

use crate::config::Addresses;
use crate::response::element::Element::{self, Count, Flag, Fraction, Object, Text};
use crate::response::escape;
use crate::response::negotiation::Format;

fn object(content: &Content, addresses: &Addresses) -> Element {
    let mut fields = vec![
        ("id", Text(content.id.to_string())),
        ("url", Text(content.url.to_string())),
        ("ready", Flag(matches!(content.status, Status::Ready { .. }))),
        ("failed", Flag(matches!(content.status, Status::Failed { .. }))),
        ("progress", Fraction(content.progress)),
        ("shareUrl", Text(addresses.share(content.id))),
        ("embedHtml", Text(embed_html(content.id, addresses))),
    ];
    if let Status::Ready { title: Some(title), .. } = &content.status {
        fields.push(("title", Text(title.to_string())));
    }
    fields.push(match &content.status {
        Status::Processing { stage } => ("stage", Text(stage_name(*stage).to_owned())),
        Status::Ready { attempt, dzi, archive, .. } => {
            ("dzi", dzi_object(dzi, addresses.descriptor(content.id, *attempt, *archive)))
        }
        Status::Failed { failure } => ("failure", failure_object(failure)),
    });
    Object(fields)
}

/// The content object in a format; in XML, what is between the root's tags.
#[must_use]
pub fn content_printed(content: &Content, format: Format, addresses: &Addresses) -> String {
    let element = object(content, addresses);
    match format {
        Format::Json => element.json(),
        Format::Xml => {
            let mut xml = String::new();
            element.write_xml(&mut xml);
            xml
        }
    }
}

/// The content object as JSON, for pages and events.
#[must_use]
pub fn content_json(content: &Content, addresses: &Addresses) -> String {
    content_printed(content, Format::Json, addresses)
}

fn dzi_object(dzi: &Dzi, descriptor: String) -> Element {
    Object(vec![
        ("url", Text(descriptor)),
        ("width", Count(dzi.size.width.into())),
        ("height", Count(dzi.size.height.into())),
        ("tileSize", Count(dzi.tile_size.into())),
        ("tileOverlap", Count(dzi.tile_overlap.into())),
        ("tileFormat", Text(dzi.tile_format.extension().to_owned())),
    ])
}

fn failure_object(failure: &Failure) -> Element {
    Object(vec![("code", Text(failure.code.name().to_owned())), ("message", Text(failure.message.clone()))])
}

/// The script element that shows a content in any page. The `&` before `height` needs no escaping in HTML (it begins no
/// character reference), and old clients show the snippet as it is.
#[must_use]
pub fn embed_html(id: ContentId, addresses: &Addresses) -> String {
    format!(r#"<script src="{}.js?width=auto&height=400px"></script>"#, escape::html(&addresses.share(id)))
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Queued => "queued",
        Stage::Downloading => "downloading",
        Stage::Rendering => "rendering",
        Stage::Publishing => "publishing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_have_one_name_everywhere() {
        for stage in [Stage::Queued, Stage::Downloading, Stage::Rendering, Stage::Publishing] {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage_name(stage));
        }
    }

    #[test]
    fn the_share_address_cannot_leave_its_attribute() {
        let share = "https://a.example/\"><b>".to_owned();
        let addresses = Addresses { base: String::new(), share, cache: String::new() };
        assert!(!embed_html("6qy4OXfXSid".parse().unwrap(), &addresses).contains("\"><b>"));
    }
}
