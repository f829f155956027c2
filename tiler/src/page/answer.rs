//! What the browser does with an answer to its main frame, decided before it looks at it: show it as it is, or show what was
//! downloaded in its place. Pure: reads the event, sends nothing.
//!
//! Which kind a source is is told by its bytes. The browser goes by what a server calls them, so HTML that is called a
//! picture, as error pages in the place of pictures are, would be a broken picture there, or a download.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::kind::{Html, media_type};

/// Headers that are about the answer's body, which is another one then.
const OF_THE_BODY: [&str; 6] = [
    "content-type",
    "content-length",
    "content-encoding",
    "content-disposition",
    "transfer-encoding",
    "x-content-type-options",
];

/// An answer that the browser holds back, `Fetch.requestPaused` with a response.
pub(super) struct Paused<'a>(&'a Value);

impl<'a> Paused<'a> {
    /// `None` for a request that has no answer yet.
    pub(super) fn of(event: &'a Value) -> Option<Self> {
        event["responseStatusCode"].is_u64().then_some(Self(event))
    }

    /// Whether the answer is for the document of `frame`, and not a redirect or an error.
    pub(super) fn is_document_of(&self, frame: &str) -> bool {
        let status = self.0["responseStatusCode"].as_u64().unwrap_or_default();
        self.0["frameId"] == frame
            && self.0["resourceType"] == "Document"
            && matches!(status, 200..=203 | 206..=299)
    }

    /// Whether the browser takes it for a page.
    pub(super) fn is_called_page(&self) -> bool {
        let called = self.header("content-type").map(media_type).unwrap_or_default();
        let page = ["text/html", "application/xhtml+xml", "application/xml", "text/xml"];
        page.iter().any(|name| called.eq_ignore_ascii_case(name)) && !self.is_download()
    }

    fn is_download(&self) -> bool {
        let disposition = self.header("content-disposition").map(media_type).unwrap_or_default();
        disposition.eq_ignore_ascii_case("attachment")
    }

    fn header(&self, name: &str) -> Option<&'a str> {
        let headers = self.0["responseHeaders"].as_array()?;
        let found = headers
            .iter()
            .find(|header| header["name"].as_str().is_some_and(|n| n.eq_ignore_ascii_case(name)));
        found?["value"].as_str()
    }

    /// The parameters of `Fetch.fulfillRequest` that show `html` with the answer's other headers.
    pub(super) fn replaced(&self, html: &Html) -> Value {
        let kept = self.0["responseHeaders"].as_array().into_iter().flatten().filter(|header| {
            let name = header["name"].as_str().unwrap_or_default();
            !OF_THE_BODY.iter().any(|about| name.eq_ignore_ascii_case(about))
        });
        let charset = html.charset.as_ref().map(|charset| format!("; charset={charset}")).unwrap_or_default();
        let kind = json!({ "name": "Content-Type", "value": format!("text/html{charset}") });
        let headers: Vec<Value> = kept.cloned().chain([kind]).collect();
        json!({
            "requestId": self.0["requestId"],
            "responseCode": 200,
            "responseHeaders": headers,
            "body": BASE64_STANDARD.encode(&html.bytes),
        })
    }
}
