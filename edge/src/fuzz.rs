//! Fuzz targets for the Worker's parsers: each function takes any bytes and panics if an invariant breaks. The test
//! below runs them for a moment on mutated seeds; the programs in `tests/fuzz/` run them under libFuzzer.

use edgezoom_content::{AddressPolicy, ContentId, Timestamp};
use http::Method;

use crate::admission::client::{CREATIONS, Client};
use crate::admission::scheduler::Scheduler;
use crate::config::Config;
use crate::config::Shares;
use crate::representation::cached_content::CachedContent;
use crate::request::iiif::IiifRequest;
use crate::request::object_key::ObjectKey;
use crate::request::route::TilerCall;
use crate::request::router::{RequestParts, route};
use crate::request::upload as uploads;
use crate::request::url::{RequestUrl, signature, url_parameter};
use crate::response::conditional::{ByteRange, none_match_names};
use crate::response::negotiation::Callback;
use crate::tiler_api;

fn id() -> ContentId {
    "00000000000".parse().unwrap_or_else(|_| unreachable!())
}

/// A request, with its path and query in the first line and its `Accept` in the second.
///
/// # Panics
/// A malformed path is read as an IIIF image request.
pub fn request(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (target, accept) = text.split_once('\n').unwrap_or((&text, "*/*"));
    let whole = format!("http://localhost{target}");
    let url = RequestUrl::new(whole);
    let _ = (url.origin(), url.path(), url.query());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    for method in [Method::GET, Method::POST, Method::PUT, Method::OPTIONS] {
        let request =
            RequestParts { method: &method, path, query, accept: Some(accept), share: "http://localhost/" };
        let _ = route(request, &AddressPolicy::default());
    }
    let _ = (signature(query), url_parameter(query), uploads::part(path));
    if IiifRequest::parse(path).is_some_and(|request| matches!(request, IiifRequest::Image(Ok(_)))) {
        assert_eq!(path.matches('/').count(), 3, "region, size, rotation, quality and format");
    }
}

/// Headers and parameters of a request: `Range`, `If-None-Match`, a callback, a client's address, a signature.
///
/// # Panics
/// A range is outside the file, or a callback changes.
pub fn request_headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for size in [0, 1, 1000, u64::from(u32::MAX), u64::MAX] {
        if let Some((first, last)) = ByteRange::parse(&text).and_then(|range| range.resolve(size)) {
            assert!(first <= last && last < size);
        }
    }
    if let Ok(callback) = text.parse::<Callback>() {
        assert_eq!(callback.to_string(), text);
    }
    let _ = none_match_names(&text, "\"a\"");
    if let Some(client) = Client::at(Some(&text), true) {
        assert!(!client.party().is_empty() && !client.rate_limits(CREATIONS).is_empty());
        assert_eq!(Client::of_key(client.key()), client);
    }
    if let Some(signature) = signature(&text) {
        let keys = |name: &str| (name == "SIGNING_KEYS").then(|| "a:0123456789abcdef".to_owned());
        let keys = Config::read(keys).ok().and_then(|config| config.signing);
        assert_eq!(keys.and_then(|keys| keys.signer(signature, "b", Timestamp(0)).map(str::to_owned)), None);
    }
}

/// The address of an object of a pyramid.
///
/// # Panics
/// It does not round-trip.
pub fn object_key(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(key) = text.parse::<ObjectKey>() {
        assert_eq!(key.to_string(), text);
    }
}

/// The body of a tiler's claim or report, which becomes a message to the object of its content.
///
/// # Panics
/// An event is not read back as it was sent.
pub fn messages(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for call in [TilerCall::Claim, TilerCall::Report] {
        let Ok(event) = tiler_api::event(call, &text) else { continue };
        let sent = serde_json::to_string(&event).unwrap_or_default();
        assert_eq!(serde_json::from_str(&sent).ok(), Some(event));
    }
}

/// Stored data, which another version of the Worker may have written: a record in KV, rows of the scheduler.
///
/// # Panics
/// A takedown counts as outdated.
pub fn records(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let rows = text.split('\n').filter_map(|row| row.split_once(' '));
    let mut scheduler = Scheduler::default();
    scheduler.restore(rows.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let now = Timestamp(1_700_000_000_000);
    let _ = (scheduler.due(now, &Shares::default()), scheduler.tilers(now), scheduler.take_changes());
    if let Ok(cached) = CachedContent::parse(id(), text) {
        assert!(cached.removal().is_none() || !cached.is_outdated(now));
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn every_parser_keeps_its_invariants() {
        hunt(&[
            Target {
                name: "request",
                run: request,
                seeds: &[
                    b"/v1/content?url=http%3A%2F%2Fexample.com%2F%C3%A4.jpg&callback=a.b&format=json\ntext\
                        /html;q=0.8, application/xml;q=1e9, */*;q=0",
                    b"/v1/content/?url=http://example.com/a&expires=1&key=a&signature=00ff",
                    b"/v1/dzi?url=http://example.com/a.pdf#page=2",
                    b"/?url=example.com",
                    b"/oembed?url=http://localhost/00000000000&maxwidth=100&format=xml",
                    b"/00000000000/embed",
                    b"/00000000000/preview.jpg?n=1",
                    b"/v1/content/00000000000/events",
                    b"/cache/00000000000/1_files/9/1_2.jpg",
                    b"/internal/content/00000000000/claim",
                    b"/v1/uploads/00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100/3?name=a",
                    b"/iiif/00000000000/pct:10.5,0,50,50/!200,200/90/default.jpg",
                    b"/iiif/00000000000/full/max/0/default.jpg",
                    b"0,0,512,512/^512,/!0/native.png",
                ],
            },
            Target {
                name: "request_headers",
                run: request_headers,
                seeds: &[
                    b"bytes=0-18446744073709551615",
                    b"bytes=-9007199254740992",
                    b"bytes= 5 - ",
                    b"\"a,b\", W/\"c\", *",
                    b"jQuery.a_1.$b",
                    b"2001:db8:1:ff::1",
                    b"::ffff:203.0.113.7",
                    b"expires=9999999999&key=a&signature=00112233445566778899aabbccddeeff00112233445566778\
                        899aabbccddeeff",
                ],
            },
            Target {
                name: "object_key",
                run: object_key,
                seeds: &[
                    b"00000000000/1_files/12/3_4.jpeg",
                    b"00000000000/7.dzi",
                    b"00000000000/1_coarse/2.jpg",
                    b"00000000000/1_files/vector/7.svg",
                    b"00000000000/1_files/vector/pages.json",
                ],
            },
            Target {
                name: "messages",
                run: messages,
                seeds: &[
                    br#"{"attempt":1,"outcome":{"progress":{"stage":"rendering","progress":0.5}}}"#,
                    b"{\"tiler\":4294967295,\"alone\":true}",
                    b"{\"attempt\":4294967295,\"outcome\":{\"failed\":{\"failure\":{\"code\":\"too-complex\
                        \",\"message\":\"a\"},\"transient\":true}}}",
                ],
            },
            Target {
                name: "records",
                run: records,
                seeds: &[
                    b"http://example.com/ 1700000000001\n{\"a\":1}\n{\"b\":2}\n<c/>",
                    b"http://example.com/ taken-down\nwhy\n-\n-",
                    b"job/00000000000 {\"job\":{\"id\":\"00000000000\"},\"party\":\"a\",\"host\":\"b\",\"o\
                        rder\":1,\"sent\":null}\ntiles/20000/a 7\ntiler/1 {\"at\":1,\"backlog\":3}",
                ],
            },
        ]);
    }
}
