//! What becomes of an answer to the browser's main frame, decided before the browser looks at it: it is shown as it is, what
//! was downloaded is shown in its place, or the page leads to something that is no page. Pure: reads the event, sends nothing.
//!
//! Which kind a source is is told by its bytes. The browser goes by what a server calls them, so HTML that is called a
//! picture, as error pages in the place of pictures are, would be a broken picture there, or a download. And where a page goes
//! on to a picture or a document, by `<meta http-equiv=refresh>` or a script, that is the source, at its own full size.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use edgezoom_codecs::Format;
use edgezoom_content::SourceUrl;
use serde_json::{Value, json};
use url::Url;

use super::html_sniffing::{Html, media_type};

/// Headers that are about the answer's body, which is another one then.
const OF_THE_BODY: [&str; 6] = [
    "content-type",
    "content-length",
    "content-encoding",
    "content-disposition",
    "transfer-encoding",
    "x-content-type-options",
];

/// What servers call files that they know nothing of. What they are is guessed by their names then.
const UNKNOWN: [&str; 5] = [
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/force-download",
    "application/x-download",
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

    /// Where the picture or document is that the page goes on to. Anything else it may go on to by itself: a page that
    /// begins the download of an archive is still to be seen.
    pub(super) fn lead(&self) -> Option<SourceUrl> {
        let request = &self.0["request"];
        let mut url = Url::parse(request["url"].as_str()?).ok()?;
        url.set_fragment(request["urlFragment"].as_str().map(|fragment| fragment.trim_start_matches('#')));
        let called = self.header("content-type").map(media_type).unwrap_or_default().to_ascii_lowercase();
        let is_picture = called.starts_with("image/")
            || Format::has_media_type(&called)
            || (UNKNOWN.contains(&called.as_str()) && self.is_named_picture(&url));
        // What is answered to a form cannot be had by asking for it once more.
        (is_picture && request["method"] == "GET").then(|| SourceUrl::parse(url.as_str()).ok())?
    }

    fn is_named_picture(&self, url: &Url) -> bool {
        let named = self.header("content-disposition").and_then(|header| header.split_once("filename"));
        let names = [named.map(|(_, name)| name), Some(url.path())];
        names.into_iter().flatten().any(|name| {
            let name = name.split(';').next().unwrap_or_default().trim_end_matches(['"', ' ']);
            name.rsplit_once('.').is_some_and(|(_, ending)| Format::has_ending(ending))
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer to `GET`, to the main frame of "main".
    fn answer(url: &str, headers: &[(&str, &str)]) -> Value {
        let headers: Vec<Value> =
            headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({
            "requestId": "1", "frameId": "main", "resourceType": "Document", "responseStatusCode": 200,
            "responseHeaders": headers, "request": { "url": url, "method": "GET" },
        })
    }

    fn lead(url: &str, headers: &[(&str, &str)]) -> Option<String> {
        Paused::of(&answer(url, headers)).unwrap().lead().map(String::from)
    }

    #[test]
    fn pictures_and_documents_are_led_to() {
        let url = "http://a.example/b";
        for kind in ["image/jpeg", "Image/PNG; q=1", "image/svg+xml", "application/pdf"] {
            assert_eq!(lead(url, &[("content-type", kind)]).as_deref(), Some(url), "{kind}");
        }
        let attachment = ("content-disposition", "attachment; filename=\"b.zip\"");
        assert_eq!(lead(url, &[("content-type", "image/tiff"), attachment]).as_deref(), Some(url));
        for kind in ["application/octet-stream", "binary/octet-stream"] {
            let kind = ("Content-Type", kind);
            assert_eq!(
                lead("http://a.example/b.JP2?c", &[kind]).as_deref(),
                Some("http://a.example/b.JP2?c")
            );
            let named = ("Content-Disposition", "attachment; filename=\"scan 1.tif\"; size=7");
            assert_eq!(lead(url, &[kind, named]).as_deref(), Some(url));
            assert_eq!(lead(url, &[kind]), None);
            assert_eq!(lead(url, &[kind, attachment]), None);
        }
        for kind in ["text/html", "application/zip", "application/json", "video/mp4", "text/plain"] {
            assert_eq!(lead("http://a.example/b.jpg", &[("content-type", kind)]), None, "{kind}");
        }
    }

    #[test]
    fn a_lead_is_read_like_any_url_of_a_source() {
        let picture = [("content-type", "image/jpeg")];
        for url in
            ["http://localhost/a.jpg", "http://u:p@a.example/", "data:image/png,a", "blob:http://a.example/1"]
        {
            assert_eq!(lead(url, &picture), None, "{url}");
        }
        let mut page = answer("http://a.example/b.pdf", &[("content-type", "application/pdf")]);
        page["request"]["urlFragment"] = json!("#page=3");
        assert_eq!(
            Paused::of(&page).unwrap().lead().map(String::from).unwrap(),
            "http://a.example/b.pdf#page=3"
        );
        page["request"]["method"] = json!("POST");
        assert_eq!(Paused::of(&page).unwrap().lead(), None);
    }

    #[test]
    fn only_good_answers_to_the_main_frames_document_count() {
        let good = answer("http://a.example/", &[]);
        assert!(Paused::of(&good).unwrap().is_document_of("main"));
        for (key, other) in [("frameId", json!("child")), ("resourceType", json!("Image"))] {
            let mut answer = good.clone();
            answer[key] = other;
            assert!(!Paused::of(&answer).unwrap().is_document_of("main"), "{key}");
        }
        for status in [204, 302, 304, 404, 500] {
            let mut answer = good.clone();
            answer["responseStatusCode"] = json!(status);
            assert!(!Paused::of(&answer).unwrap().is_document_of("main"), "{status}");
        }
        assert!(Paused::of(&json!({ "requestId": "1", "request": {} })).is_none(), "a request");
    }
}
