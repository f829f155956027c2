//! Reads what the descriptions of IIIF state in words: texts in several languages, credits and rights.

use edgezoom_content::{Credits, RightsUri, Stated};
use serde_json::Value;

use super::each;

/// Number of characters of a statement that are read.
const MAX_STATEMENT: usize = 4000;

/// Returns the credits of a picture, of which each comes from the first resource that states it.
pub(in crate::renderer) fn credits(resources: &[&Value]) -> Credits {
    let words = |member: fn(&Value) -> &Value| resources.iter().find_map(|resource| words(member(resource)));
    let rights = || resources.iter().flat_map(|resource| ["rights", "license"].map(|name| &resource[name]));
    let rights = || rights().flat_map(each).filter_map(Value::as_str);
    let known = rights().find(|text| RightsUri::parse(text).is_some());
    let credit = words(|resource| &resource["requiredStatement"]["value"]);
    Stated {
        credit: credit.or_else(|| words(|resource| &resource["attribution"])),
        rights: known.or_else(|| rights().next()).map(str::to_owned),
        ..Stated::default()
    }
    .into()
}

/// Returns the text of a property in English, in no language, or else in the first one: a text, a list, a text with its
/// language (version 2) or lists by language (version 3).
pub(in crate::renderer) fn words(value: &Value) -> Option<String> {
    let is_english =
        |value: &&Value| value["@language"].as_str().is_some_and(|language| language.starts_with("en"));
    match value {
        Value::String(text) => Some(without_markup(text)),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let texts: Vec<_> = list.iter().filter_map(words).collect();
            (!texts.is_empty()).then(|| texts.join(" "))
        }
        Value::Array(list) => words(list.iter().find(is_english).or(list.first())?),
        Value::Object(texts) => words(
            ["@value", "en", "none"].iter().find_map(|name| texts.get(*name)).or(texts.values().next())?,
        ),
        _ => None,
    }
}

/// Returns a text without tags and references to common characters. Statements may be HTML.
fn without_markup(html: &str) -> String {
    let html: String = html.chars().take(MAX_STATEMENT).collect();
    let (mut text, mut rest) = (String::new(), html.as_str());
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        let behind = after.split_once('>').filter(|_| is_tag);
        if behind.is_none() {
            text.push('<');
        } else if ["br", "p", "/p"].iter().any(|tag| after.starts_with(tag)) {
            text.push(' ');
        }
        rest = behind.map_or(after, |(_, behind)| behind);
    }
    text.push_str(rest);
    let references = [
        ("&nbsp;", " "),
        ("&copy;", "©"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    references.iter().fold(text, |text, (reference, character)| text.replace(reference, character))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{P2, P3, SIZE, V1, V2, V3};
    use super::super::{DescriptionRequest, read};

    #[test]
    fn a_description_states_credits() {
        let credits = |json: &str| {
            let json = if json.starts_with('{') { json.to_owned() } else { format!("{{{json},{SIZE}}}") };
            let lead = read(
                json.as_bytes(),
                &DescriptionRequest { url: Some("https://a.example/b".into()), ..Default::default() },
            );
            serde_json::to_string(&lead.unwrap().unwrap().credits).unwrap()
        };
        let by = "http://creativecommons.org/licenses/by/4.0/";
        let canvas = |inside: &str| {
            format!(r#"{{{inside}"items":[{{"items":[{{"body":{{"type":"Image","id":"c.jpg"}}}}]}}]}}"#)
        };
        let p2 = r#""sequences":[{"canvases":[{"attribution":"The canvas","images":[{"resource":{"@type":"dctypes:Image","@id":"c.jpg"}}]}]}]"#;
        for (json, expected) in [
            (V1.to_owned(), "{}".to_owned()),
            // Image API: words, HTML, languages, several licences.
            (
                format!(r#"{V2},"attribution":"Museum &amp; co","license":"https://museum.example/terms""#),
                r#"{"credit":"Museum & co"}"#.to_owned(),
            ),
            (
                format!(r#"{V2},"license":"https://museum.example/terms""#),
                r#"{"credit":"https://museum.example/terms"}"#.to_owned(),
            ),
            (
                format!(
                    r#"{V2},"attribution":[{{"@value":"Musée","@language":"fr"}},{{"@value":"<p>Museum<br/>1 < 2</p>","@language":"en-GB"}}],
                    "license":["https://museum.example/terms","https://creativecommons.org/licenses/by/4.0/"]"#
                ),
                format!(r#"{{"credit":"Museum 1 < 2","rights":"{by}"}}"#),
            ),
            (format!(r#"{V3},"rights":"{by}""#), format!(r#"{{"rights":"{by}"}}"#)),
            // Presentation API: the canvas counts before the manifest.
            (
                format!(r#"{{{P2},"attribution":"All","license":"{by}",{p2}}}"#),
                format!(r#"{{"credit":"The canvas","rights":"{by}"}}"#),
            ),
            (
                format!(
                    r#"{{{P3},"requiredStatement":{{"label":{{"en":["Attribution"]}},"value":{{"de":["Museum"],"en":["Courtesy of","<a href='x'>Museum</a>"]}}}},"rights":"{by}","items":[{}]}}"#,
                    canvas("")
                ),
                format!(r#"{{"credit":"Courtesy of Museum","rights":"{by}"}}"#),
            ),
            (
                format!(
                    r#"{{{P3},"rights":"{by}","items":[{}]}}"#,
                    canvas(
                        r#""requiredStatement":{"value":{"none":["Own"]}},"rights":"http://rightsstatements.org/vocab/InC/1.0/","#
                    )
                ),
                r#"{"credit":"Own","rights":"http://rightsstatements.org/vocab/InC/1.0/"}"#.to_owned(),
            ),
            // Of other types, and hostile.
            (format!(r#"{V2},"attribution":5,"license":{{"@id":"x"}},"rights":[[]]"#), "{}".to_owned()),
            (
                format!(r#"{V2},"attribution":{}"a"{}"#, "[".repeat(100), "]".repeat(100)),
                r#"{"credit":"a"}"#.to_owned(),
            ),
            (
                format!(r#"{V2},"attribution":"{}","license":"javascript:alert(1)""#, "<a".repeat(1 << 20)),
                format!(r#"{{"credit":"{}"}}"#, "<a".repeat(150)),
            ),
            (
                format!(r#"{V2},"attribution":"a\u0000\u202eb","rights":"{by}\u202e""#),
                r#"{"credit":"a b"}"#.to_owned(),
            ),
        ] {
            assert_eq!(credits(&json), expected, "{}", &json[..json.len().min(300)]);
        }
    }
}
