//! The credits of a picture in every output that shows them. Their texts are a stranger's.

use edgezoom_content::{Alternative, Credits};
use serde_json::{Value, json};

use super::*;
use crate::pages::{Cards, frame, share};
use crate::representation::cached_content::CachedContent;
use crate::representation::content_printed;
use crate::representation::iiif::{description, manifest};
use crate::request::route::OembedRequest;
use crate::response::negotiation::Format;

const BY: &str = "http://creativecommons.org/licenses/by/4.0/";

fn addresses() -> Addresses {
    Addresses {
        base: "https://api.example".into(),
        share: "https://zoom.example".into(),
        cache: String::new(),
    }
}

fn hostile() -> Value {
    json!({
        "creator": "\"><script>alert('1')</script>",
        "credit": "<b onclick=x>M</b>",
        "copyright": "© A & B ]]>",
        "rights": BY,
        "alternative": "</script><img src=x>",
    })
}

/// Returns a ready content with credits.
fn credited(credits: &Value) -> Content {
    let mut content = content(Ready);
    if let Status::Ready { finished, .. } = &mut content.status {
        let credits: Credits = serde_json::from_value(credits.clone()).unwrap();
        finished.credits = Some(Box::new(credits));
    }
    content
}

fn oembed(content: &Content, format: &str) -> String {
    let request = OembedRequest { format: Some(format.to_owned()), ..OembedRequest::default() };
    request.response(content, false, &addresses()).body
}

fn manifest_of(content: &Content) -> Value {
    let manifest = manifest(content, "name", None, &addresses(), false).unwrap();
    serde_json::from_str(&manifest.body).unwrap()
}

fn linked_data(content: &Content) -> Value {
    let page = share(content, None, Cards { places: false, quotes: true }, &addresses(), NOW).body;
    let (_, rest) = page.split_once(r#"<script type="application/ld+json">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_content_object_has_the_credits_of_its_source() {
    let printed = |format| content_printed(&credited(&hostile()), format, &addresses(), NOW);
    let object: Value = serde_json::from_str(&printed(Format::Json)).unwrap();
    assert_eq!((&object["credits"], &object["alt"]), (&hostile(), &hostile()["alternative"]));
    insta::assert_snapshot!(printed(Format::Xml).split_once("<credits>").unwrap().1.split_once("</credits>").unwrap().0, @"<creator>&quot;&gt;&lt;script&gt;alert(&apos;1&apos;)&lt;/script&gt;</creator><credit>&lt;b onclick=x&gt;M&lt;/b&gt;</credit><copyright>© A &amp; B ]]&gt;</copyright><rights>http://creativecommons.org/licenses/by/4.0/</rights><alternative>&lt;/script&gt;&lt;img src=x&gt;</alternative>");
    let some = credited(&json!({"credit": "M"}));
    let object = content_printed(&some, Format::Json, &addresses(), NOW);
    assert!(object.contains(r#","credits":{"credit":"M"},"dzi""#) && !object.contains("alt"), "{object}");
}

#[test]
fn the_alternative_text_of_the_request_comes_before_the_source_s() {
    let asked = Content { alternative: Alternative::of("asked"), ..credited(&hostile()) };
    let object: Value =
        serde_json::from_str(&content_printed(&asked, Format::Json, &addresses(), NOW)).unwrap();
    assert_eq!((&object["alt"], &object["credits"]), (&"asked".into(), &hostile()));
    assert_eq!(manifest_of(&asked)["summary"], json!({"none": ["asked"]}));
    assert_eq!(linked_data(&asked)["description"], "asked");
}

#[test]
fn pages_have_the_credits_as_text_and_a_link() {
    let content = credited(&hostile());
    let line = format!(
        "<p>&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; · &lt;b onclick=x&gt;M&lt;/b&gt; · © A &amp; B ]]&gt; · \
         <a href=\"{BY}\" target=\"_blank\" rel=\"license noopener nofollow\">{BY}</a></p>"
    );
    let cards = Cards { places: false, quotes: true };
    let pages = [share(&content, None, cards, &addresses(), NOW), frame(&content, &addresses(), NOW)];
    for (Response { body, .. }, scripts) in pages.into_iter().zip([3, 2]) {
        assert!(body.contains(&format!("alt=\"&lt;/script&gt;&lt;img src=x&gt;\">{line}")), "{body}");
        assert_eq!(body.matches("<script").count(), scripts, "{body}");
        assert_eq!(body.matches("</script>").count(), scripts, "{body}");
        assert!(!body.contains("<b onclick") && !body.contains("<img src=x"), "{body}");
    }
}

#[test]
fn linked_data_names_creator_credit_notice_and_licence() {
    let linked = linked_data(&credited(&hostile()));
    assert_eq!(linked["creator"], json!({"@type": "Person", "name": hostile()["creator"]}));
    assert_eq!((&linked["creditText"], &linked["license"]), (&hostile()["credit"], &BY.into()));
    assert_eq!(linked["copyrightNotice"], hostile()["copyright"]);
    assert_eq!(linked["description"], hostile()["alternative"]);
}

#[test]
fn oembed_has_the_creator_or_the_credit_as_author() {
    let author = |credits: &Value| {
        let object: Value = serde_json::from_str(&oembed(&credited(credits), "json")).unwrap();
        object.get("author_name").cloned()
    };
    assert_eq!(author(&hostile()), Some(hostile()["creator"].clone()));
    assert_eq!((author(&json!({"credit": "M"})), author(&json!({"rights": BY}))), (Some("M".into()), None));
    let xml = oembed(&credited(&hostile()), "xml");
    let name = "<author_name>&quot;&gt;&lt;script&gt;alert(&apos;1&apos;)&lt;/script&gt;</author_name>";
    assert!(xml.contains(name) && xml.contains("title=&quot;&amp;lt;/script&amp;gt;"), "{xml}");
}

#[test]
fn a_manifest_requires_the_statement_and_no_client_takes_it_for_html() {
    let made = manifest_of(&credited(&hostile()));
    let statement = &made["requiredStatement"];
    assert_eq!(statement["label"], json!({"en": ["Attribution"]}));
    let lines = [&hostile()["creator"], &json!("<b onclick=x>M</b> "), &hostile()["copyright"]];
    assert_eq!(statement["value"], json!({ "none": lines }));
    assert_eq!(
        (&made["rights"], &made["summary"]),
        (&BY.into(), &json!({"none": ["</script><img src=x> "]}))
    );
    let licensed = manifest_of(&credited(&json!({"rights": BY})));
    assert_eq!((licensed.get("requiredStatement"), &licensed["rights"]), (None, &BY.into()));
    let content = credited(&hostile());
    let (dzi, rights) = (content.status.finished().unwrap().dzi, content.credits().unwrap().rights.as_ref());
    let info: Value = serde_json::from_str(&description(String::new(), &dzi, rights, true).body).unwrap();
    assert_eq!(info["rights"], BY);
}

#[test]
fn a_record_keeps_credits_and_one_of_an_older_tiler_has_none() {
    let read = |text: String| CachedContent::parse(ID.parse().unwrap(), text).unwrap().content().unwrap();
    for content in [credited(&hostile()), content(Ready)] {
        assert_eq!(read(CachedContent::serialize(&content).unwrap()), content);
    }
    let stored = r#"{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","progress":1.0,"status":{"ready":{"attempt":1,"dzi":{"width":8000,"height":6000,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"},"archive":{"indexOffset":0,"indexLength":0},"previews":{"large":{"offset":0,"length":0},"thumbnail":{"offset":0,"length":0}}}}}"#;
    assert_eq!(read(format!("http://example.com/a.jpg\n{stored}\n{{}}\n<id/>")), content(Ready));
}
