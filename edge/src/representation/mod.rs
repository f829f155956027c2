//! The content object of the API (`Content` in `edge/interface/openapi.json`), printed as JSON or XML. Responses, pages
//! and KV all take it from here. A member without a value is omitted, never `null`.

pub mod cached_content;
pub mod events;
pub mod iiif;
pub mod response;

use edgezoom_content::{
    Content, ContentId, Credits, DeletionKey, Dzi, Failure, Finished, NextTry, Scale, Stage, Status,
    Timestamp,
};

use crate::config::Addresses;
use crate::response::element::Element::{self, Count, Flag, Fraction, Object, Printed, Text};
use crate::response::escape;
use crate::response::negotiation::Format;

/// Returns the members of the content object. `seconds` prints the time until a point in time.
fn members(
    content: &Content,
    addresses: &Addresses,
    seconds: impl Fn(Timestamp) -> Element,
) -> Vec<(&'static str, Element)> {
    let mut fields = vec![
        ("id", Text(content.id.to_string())),
        ("url", Text(content.url.address().to_owned())),
        ("ready", Flag(matches!(content.status, Status::Ready { .. }))),
        ("failed", Flag(matches!(content.status, Status::Failed { .. }))),
        ("progress", Fraction(content.progress)),
        ("shareUrl", Text(addresses.share(content.id))),
        ("embedHtml", Text(embed_html(content.id, addresses))),
    ];
    fields.extend(content.title().map(|title| ("title", Text(title.to_string()))));
    fields.extend(content.alternative_text().map(|text| ("alt", Text(text.as_str().to_owned()))));
    let options = content.url.options();
    if !options.is_empty() {
        fields.push(("options", Text(options.to_owned())));
    }
    if let Some(Finished { credits, damage, scale, text, .. }) = content.status.finished() {
        fields.extend(credits.as_deref().map(|credits| ("credits", credits_object(credits))));
        fields.extend(damage.map(|damage| ("warning", Text(damage.to_string()))));
        fields.extend(scale.map(|scale| ("scale", scale_object(scale))));
        if let Some(text) = text {
            fields.push(("text", Text(addresses.text(content.id))));
            fields.push(("pages", Count(text.pages.into())));
        }
    }
    if let Status::Ready { attempt, finished: Finished { vectors: Some(_), .. } } = &content.status {
        fields.push(("vector", Text(addresses.vectors(content.id, *attempt))));
    }
    if let Status::Processing { coarse: Some(coarse), .. } = &content.status {
        fields.push(("coarseUrl", Text(addresses.coarse(content.id, *coarse))));
    }
    fields.push(match &content.status {
        Status::Processing { stage, .. } => ("stage", Text(stage_name(*stage).to_owned())),
        Status::Ready { attempt, finished: Finished { dzi, .. } } => {
            ("dzi", dzi_object(dzi, addresses.descriptor(content.id, *attempt)))
        }
        Status::Failed { failure, retry_at } => ("failure", failure_object(failure, seconds(*retry_at))),
    });
    if let Status::Processing { next: Some(next), .. } = &content.status {
        fields.push(retry_object(next, seconds(next.until)));
    }
    fields
}

/// Returns the content object in a format; in XML, the children of the root element.
pub fn content_printed(content: &Content, format: Format, addresses: &Addresses, now: Timestamp) -> String {
    printed(Object(members(content, addresses, |end| Count(seconds_until(end, now)))), format)
}

/// Returns the content object with a deletion key, for the client that uploaded the file.
pub fn owned_content_printed(
    content: &Content,
    key: &DeletionKey,
    format: Format,
    addresses: &Addresses,
    now: Timestamp,
) -> String {
    let mut fields = members(content, addresses, |end| Count(seconds_until(end, now)));
    fields.push(("deletionKey", Text(key.reveal().to_owned())));
    printed(Object(fields), format)
}

/// Returns the content object with a text in place of the seconds until the retry.
pub fn content_template(content: &Content, format: Format, addresses: &Addresses, seconds: &str) -> String {
    printed(Object(members(content, addresses, |_| Printed(seconds.to_owned()))), format)
}

/// Returns the seconds until a point in time, rounded up, and at least one, so that a request after that is late
/// enough.
pub fn seconds_until(end: Timestamp, now: Timestamp) -> u64 {
    (end.0.saturating_sub(now.0)).div_ceil(1000).max(1)
}

fn printed(element: Element, format: Format) -> String {
    match format {
        Format::Json => element.json(),
        Format::Xml => {
            let mut xml = String::new();
            element.write_xml(&mut xml);
            xml
        }
    }
}

/// Returns the content object as JSON, for pages and events.
pub fn content_json(content: &Content, addresses: &Addresses, now: Timestamp) -> String {
    content_printed(content, Format::Json, addresses, now)
}

/// Returns the `dzi` object of a ready content whose descriptor has this address.
pub(crate) fn dzi_object(dzi: &Dzi, descriptor: String) -> Element {
    Object(vec![
        ("url", Text(descriptor)),
        ("width", Count(dzi.size.width.into())),
        ("height", Count(dzi.size.height.into())),
        ("tileSize", Count(dzi.tile_size.into())),
        ("tileOverlap", Count(dzi.tile_overlap.into())),
        ("tileFormat", Text(dzi.tile_format.extension().to_owned())),
    ])
}

/// Returns the `scale` object: the physical size of a pixel.
fn scale_object(scale: Scale) -> Element {
    Object(vec![
        ("value", Printed(scale.to_string())),
        ("unit", Text(scale.unit.name().to_owned())),
        ("basis", Text(scale.basis.words().to_owned())),
    ])
}

/// Returns the lines of credits that are no link, with their names in the API.
pub(crate) fn credit_lines(credits: &Credits) -> Vec<(&'static str, &str)> {
    let Credits { creator, credit, copyright, .. } = credits;
    let lines = [("creator", creator), ("credit", credit), ("copyright", copyright)];
    lines.into_iter().filter_map(|(name, line)| Some((name, line.as_ref()?.as_str()))).collect()
}

/// Returns the `credits` object.
fn credits_object(credits: &Credits) -> Element {
    let rights = credits.rights.iter().map(|uri| ("rights", uri.as_str()));
    let alternative = credits.alternative.iter().map(|text| ("alternative", text.as_str()));
    let fields = credit_lines(credits).into_iter().chain(rights).chain(alternative);
    Object(fields.map(|(name, text)| (name, Text(text.to_owned()))).collect())
}

/// Returns the member `retry`: the reason of the pause, and the next attempt.
fn retry_object(next: &NextTry, retry_after: Element) -> (&'static str, Element) {
    let Failure { code, message } = &next.reason;
    let fields = vec![
        ("code", Text(code.name().to_owned())),
        ("message", Text(message.clone())),
        ("retryAfter", retry_after),
        ("attemptsLeft", Count(next.left.into())),
    ];
    ("retry", Object(fields))
}

fn failure_object(failure: &Failure, retry_after: Element) -> Element {
    Object(vec![
        ("code", Text(failure.code.name().to_owned())),
        ("message", Text(failure.message.clone())),
        ("retryAfter", retry_after),
    ])
}

/// Returns the script element that shows a content in any page. The `&` before `height` begins no character reference,
/// so HTML allows it unescaped, and old clients show the snippet as it is.
pub fn embed_html(id: ContentId, addresses: &Addresses) -> String {
    format!(r#"<script src="{}.js?width=auto&height=400px"></script>"#, escape::html(&addresses.share(id)))
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Queued => "queued",
        Stage::Waiting => "waiting",
        Stage::Downloading => "downloading",
        Stage::Rendering => "rendering",
        Stage::Publishing => "publishing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_have_the_same_names_in_records() {
        let stages = [Stage::Queued, Stage::Waiting, Stage::Downloading, Stage::Rendering, Stage::Publishing];
        for stage in stages {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage_name(stage));
        }
    }

    #[test]
    fn a_warning_is_a_member_in_json_and_xml() {
        use edgezoom_content::{Archive, Attempt, Damage, Previews, Progress, Size, SourceUrl, TileFormat};
        let size = Size { width: 3, height: 2 };
        let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let finished = Finished {
            damage: Some(Damage::FromRow { row: 3011, rows: 4000 }),
            ..Finished::new(dzi, Archive::default(), Previews::default())
        };
        let status = Status::Ready { attempt: Attempt::FIRST, finished };
        let url = SourceUrl::parse("http://a.example/a.jpg").unwrap();
        let id = "6qy4OXfXSid".parse().unwrap();
        let content = Content { id, url, alternative: None, progress: Progress::COMPLETE, status };
        let addresses = Addresses { base: String::new(), share: String::new(), cache: String::new() };
        let json = content_printed(&content, Format::Json, &addresses, Timestamp(0));
        let sentence = "The file is damaged: from row 3,012 of 4,000 on nothing could be read.";
        assert!(json.contains(&format!(r#","warning":"{sentence}","dzi":{{"#)), "{json}");
        let xml = content_printed(&content, Format::Xml, &addresses, Timestamp(0));
        assert!(xml.contains(&format!("<warning>{sentence}</warning><dzi>")), "{xml}");
    }

    #[test]
    fn vectors_are_a_member_with_the_address_of_their_places() {
        use edgezoom_content::{
            Archive, Attempt, Previews, Progress, Size, SourceUrl, StoredVectors, TileFormat,
        };
        let dzi = Dzi {
            size: Size { width: 3, height: 2 },
            tile_size: 512,
            tile_overlap: 0,
            tile_format: TileFormat::Jpg,
        };
        let vectors = Some(StoredVectors { table: Default::default(), pages: 1 });
        let finished = Finished { vectors, ..Finished::new(dzi, Archive::default(), Previews::default()) };
        let status = Status::Ready { attempt: Attempt::FIRST.next(), finished };
        let url = SourceUrl::parse("http://a.example/a.pdf").unwrap();
        let id = "6qy4OXfXSid".parse().unwrap();
        let content = Content { id, url, alternative: None, progress: Progress::COMPLETE, status };
        let cache = "https://c.example".to_owned();
        let addresses = Addresses { base: String::new(), share: String::new(), cache };
        let address = "https://c.example/6qy4OXfXSid/2_files/vector/pages.json";
        let json = content_printed(&content, Format::Json, &addresses, Timestamp(0));
        assert!(json.contains(&format!(r#","vector":"{address}","dzi":{{"#)), "{json}");
        let xml = content_printed(&content, Format::Xml, &addresses, Timestamp(0));
        assert!(xml.contains(&format!("<vector>{address}</vector><dzi>")), "{xml}");
    }

    #[test]
    fn options_of_a_capture_are_a_member_and_not_in_the_url() {
        let url = edgezoom_content::SourceUrl::parse("http://a.example/").unwrap();
        let content = Content {
            id: "6qy4OXfXSid".parse().unwrap(),
            url: url.with_options("web-scheme=dark&web-hide=.a%26b&web-width=390").unwrap(),
            alternative: None,
            progress: edgezoom_content::Progress::NONE,
            status: Status::processing(Stage::Queued),
        };
        let addresses = Addresses { base: String::new(), share: String::new(), cache: String::new() };
        let json = content_printed(&content, Format::Json, &addresses, Timestamp(0));
        assert!(json.contains(r#""url":"http://a.example/","#), "{json}");
        assert!(json.contains(r#","options":"web-width=390&web-scheme=dark&web-hide=.a%26b","#), "{json}");
        let xml = content_printed(&content, Format::Xml, &addresses, Timestamp(0));
        assert!(
            xml.contains("<options>web-width=390&amp;web-scheme=dark&amp;web-hide=.a%26b</options>"),
            "{xml}"
        );
    }

    #[test]
    fn a_scale_is_an_object_with_a_number() {
        use edgezoom_content::{ScaleBasis, ScaleUnit};
        let scale = Scale::new(2.532e-7, 2.532e-7, ScaleUnit::Metre, ScaleBasis::Aperio).unwrap();
        let json = scale_object(scale).json();
        assert_eq!(json, r#"{"value":2532e-10,"unit":"metre","basis":"MPP of the Aperio slide"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["value"], 2.532e-7);
        let xml = scale_object(scale).xml("scale");
        assert!(xml.ends_with(
            "<scale><value>2532e-10</value><unit>metre</unit><basis>MPP of the Aperio slide</basis></scale>"
        ));
    }

    #[test]
    fn the_share_address_cannot_leave_its_attribute() {
        let share = "https://a.example/\"><b>".to_owned();
        let addresses = Addresses { base: String::new(), share, cache: String::new() };
        assert!(!embed_html("6qy4OXfXSid".parse().unwrap(), &addresses).contains("\"><b>"));
    }
}
