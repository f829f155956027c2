//! Every parser of the Worker before texts that strangers could send: it ends, with a value that prints as it was read or a
//! refusal. Each case is a text of its grammar with something changed, repeated or cut off.

use edgezoom_content::{AddressPolicy, ContentId};
use http::Method;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::content::cached_content::CachedContent;
use crate::durable::messages;
use crate::request::object_key::ObjectKey;
use crate::request::router::{RequestParts, route};
use crate::response::callback::Callback;
use crate::response::conditional::{ByteRange, none_match_names};

/// Texts that are read, from which the others are made.
const SEEDS: [&str; 18] = [
    "/v1/content?url=http%3A%2F%2Fexample.com%2F%C3%A4.jpg&callback=a.b&format=json",
    "/v1/dzi?url=http://example.com/a.pdf#page=2",
    "/?url=example.com",
    "/oembed?url=http://localhost/00000000000&maxwidth=100&format=xml",
    "/00000000000/embed",
    "/00000000000/preview.jpg?n=1",
    "/v1/content/00000000000/events",
    "/cache/00000000000/1_files/9/1_2.jpg",
    "/internal/content/00000000000/claim",
    "00000000000/1_files/12/3_4.jpeg",
    "00000000000/7.dzi",
    "bytes=0-18446744073709551615",
    "bytes=-9007199254740992",
    "\"a,b\", W/\"c\", *",
    "text/html;q=0.8, application/xml;q=1e9, */*;q=0",
    "jQuery.a_1.$b",
    r#"{"attempt":1,"outcome":{"progress":{"stage":"rendering","progress":0.5}}}"#,
    r#"{"tiler":18446744073709551615,"alone":true}"#,
];
const PIECES: [&str; 16] = [
    "%",
    "%00",
    "%ff",
    "/",
    "..",
    "//",
    "&",
    "=",
    "?url=",
    "\u{202e}",
    "é",
    "9999999999999999999",
    "-",
    ",",
    "\"",
    "{",
];

fn text() -> impl Strategy<Value = String> {
    let change =
        (any::<Index>(), 0..4_u8, prop::sample::select(PIECES.as_slice()), any::<char>(), 1..40_usize);
    (prop::sample::select(SEEDS.as_slice()), prop::collection::vec(change, 0..6)).prop_map(
        |(seed, changes)| {
            let mut text: Vec<char> = seed.chars().collect();
            for (at, kind, piece, letter, length) in changes {
                let at = at.index(text.len() + 1);
                let to = (at + length).min(text.len());
                match kind {
                    0 => drop(text.splice(at..at, piece.chars())),
                    1 => drop(text.splice(at..at, [letter])),
                    2 => drop(text.drain(at..to)),
                    _ => {
                        let again = text[at..to].repeat(length);
                        text.splice(at..at, again);
                    }
                }
            }
            text.into_iter().collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn any_text_is_read_or_refused(text in text(), size in any::<u64>()) {
        let id: ContentId = "00000000000".parse().unwrap_or_else(|_| unreachable!());
        let (path, query) = text.split_once('?').unwrap_or((&text, ""));
        for method in [Method::GET, Method::POST] {
            let request = RequestParts { method: &method, path, query, accept: Some(&text), share: "http://localhost/" };
            let _ = route(request, &AddressPolicy::default());
        }
        if let Ok(key) = text.parse::<ObjectKey>() {
            prop_assert_eq!(key.to_string(), &*text);
        }
        if let Ok(callback) = text.parse::<Callback>() {
            prop_assert_eq!(callback.to_string(), &*text);
        }
        if let Some((first, last)) = ByteRange::parse(&text).and_then(|range| range.resolve(size)) {
            prop_assert!(first <= last && last < size);
        }
        let _ = none_match_names(&text, "\"a\"");
        for path in ["/created", "/claim", "/report"] {
            let _ = messages::decode(id, path, &text);
        }
        let _ = CachedContent::parse(id, text);
    }
}
