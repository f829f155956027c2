//! Intercepts the responses to the main frame's requests (`Fetch.requestPaused` at the response stage): decides whether
//! the browser displays the response, whether the HTML that was downloaded before replaces it, or whether it is a
//! picture or document. This module only reads the event and sends nothing.
//!
//! The bytes of a source determine its format, but the browser goes by the declared media type. If HTML is declared as
//! a picture, such as an error page in place of one, the browser would display a broken picture or download it. And
//! when a page navigates to a picture or document, by `<meta http-equiv=refresh>` or a script, that becomes the source,
//! so that it is converted in its own size.
//!
//! Source: <https://chromedevtools.github.io/devtools-protocol/tot/Fetch/>.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use edgezoom_codecs::Format;
use edgezoom_content::SourceUrl;
use serde_json::{Value, json};
use url::Url;

use super::html::{Html, media_type};

/// Headers that describe the body. They are not valid for its replacement.
const BODY_HEADERS: [&str; 6] = [
    "content-type",
    "content-length",
    "content-encoding",
    "content-disposition",
    "transfer-encoding",
    "x-content-type-options",
];

/// Media types of files whose format a server does not know. The extension of the name decides then.
const GENERIC_TYPES: [&str; 5] = [
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/force-download",
    "application/x-download",
];

/// A paused response.
pub(super) struct PausedResponse<'a>(&'a Value);

impl<'a> PausedResponse<'a> {
    /// Returns `None` for a request that is paused before its response.
    pub(super) fn new(event: &'a Value) -> Option<Self> {
        event["responseStatusCode"].is_u64().then_some(Self(event))
    }

    /// Returns true if this is the document of `frame`, and not a redirect, an error, or empty (status 204 and 205).
    pub(super) fn is_document_of(&self, frame: &str) -> bool {
        let status = self.0["responseStatusCode"].as_u64().unwrap_or_default();
        self.0["frameId"] == frame
            && self.0["resourceType"] == "Document"
            && matches!(status, 200..=203 | 206..=299)
    }

    /// Returns true if the browser displays it as a page, according to its headers.
    pub(super) fn is_declared_page(&self) -> bool {
        let declared = self.header("content-type").map(media_type).unwrap_or_default();
        let page = ["text/html", "application/xhtml+xml", "application/xml", "text/xml"];
        page.iter().any(|name| declared.eq_ignore_ascii_case(name)) && !self.is_download()
    }

    /// Returns the URL of the response if it is a picture or document that the browser would display, or of a type that
    /// it does not know. Other responses continue: a page that starts a download is still displayed.
    pub(super) fn source_url(&self) -> Option<SourceUrl> {
        let request = &self.0["request"];
        let mut url = Url::parse(request["url"].as_str()?).ok()?;
        url.set_fragment(request["urlFragment"].as_str().map(|fragment| fragment.trim_start_matches('#')));
        let declared = self.header("content-type").map(media_type).unwrap_or_default().to_ascii_lowercase();
        let is_picture = declared.starts_with("image/")
            || Format::has_media_type(&declared)
            || (GENERIC_TYPES.contains(&declared.as_str()) && self.is_named_picture(&url));
        // A GET request cannot repeat the submission of a form.
        let is_source = is_picture && !self.is_download() && request["method"] == "GET";
        is_source.then(|| SourceUrl::parse(url.as_str()).ok())?
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

    /// Returns the parameters for `Fetch.fulfillRequest` that replace the body with `html` and keep the other headers.
    pub(super) fn fulfill_with(&self, html: &Html) -> Value {
        let kept = self.0["responseHeaders"].as_array().into_iter().flatten().filter(|header| {
            let name = header["name"].as_str().unwrap_or_default();
            !BODY_HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
        });
        let charset = html.charset.as_ref().map(|charset| format!("; charset={charset}")).unwrap_or_default();
        let content_type = json!({ "name": "Content-Type", "value": format!("text/html{charset}") });
        let headers: Vec<Value> = kept.cloned().chain([content_type]).collect();
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

    /// Returns a response to `GET` in the frame "main".
    fn response(url: &str, headers: &[(&str, &str)]) -> Value {
        let headers: Vec<Value> =
            headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({
            "requestId": "1", "frameId": "main", "resourceType": "Document", "responseStatusCode": 200,
            "responseHeaders": headers, "request": { "url": url, "method": "GET" },
        })
    }

    fn source_url(url: &str, headers: &[(&str, &str)]) -> Option<String> {
        PausedResponse::new(&response(url, headers)).unwrap().source_url().map(String::from)
    }

    #[test]
    fn pictures_and_documents_are_sources() {
        let url = "http://a.example/b";
        for kind in ["image/jpeg", "Image/PNG; q=1", "image/svg+xml", "application/pdf"] {
            assert_eq!(source_url(url, &[("content-type", kind)]).as_deref(), Some(url), "{kind}");
        }
        let attachment = ("content-disposition", "Attachment; filename=\"b.tif\"");
        assert_eq!(source_url(url, &[("content-type", "image/tiff"), attachment]), None);
        for kind in ["application/octet-stream", "binary/octet-stream"] {
            let kind = ("Content-Type", kind);
            assert_eq!(
                source_url("http://a.example/b.JP2?c", &[kind]).as_deref(),
                Some("http://a.example/b.JP2?c")
            );
            let named = ("Content-Disposition", "inline; filename=\"scan 1.tif\"; size=7");
            assert_eq!(source_url(url, &[kind, named]).as_deref(), Some(url));
            assert_eq!(source_url(url, &[kind]), None);
            assert_eq!(source_url(url, &[kind, attachment]), None);
        }
        for kind in ["text/html", "application/zip", "application/json", "video/mp4", "text/plain"] {
            assert_eq!(source_url("http://a.example/b.jpg", &[("content-type", kind)]), None, "{kind}");
        }
    }

    #[test]
    fn the_url_must_be_accepted_as_a_source() {
        let picture = [("content-type", "image/jpeg")];
        for url in
            ["http://intranet/a.jpg", "http://u:p@a.example/", "data:image/png,a", "blob:http://a.example/1"]
        {
            assert_eq!(source_url(url, &picture), None, "{url}");
        }
        let mut page = response("http://a.example/b.pdf", &[("content-type", "application/pdf")]);
        page["request"]["urlFragment"] = json!("#page=3");
        assert_eq!(
            PausedResponse::new(&page).unwrap().source_url().map(String::from).unwrap(),
            "http://a.example/b.pdf#page=3"
        );
        page["request"]["method"] = json!("POST");
        assert_eq!(PausedResponse::new(&page).unwrap().source_url(), None);
    }

    #[test]
    fn only_successful_responses_for_the_main_frames_document_count() {
        let good = response("http://a.example/", &[]);
        assert!(PausedResponse::new(&good).unwrap().is_document_of("main"));
        for (key, other) in [("frameId", json!("child")), ("resourceType", json!("Image"))] {
            let mut response = good.clone();
            response[key] = other;
            assert!(!PausedResponse::new(&response).unwrap().is_document_of("main"), "{key}");
        }
        for status in [204, 302, 304, 404, 500] {
            let mut response = good.clone();
            response["responseStatusCode"] = json!(status);
            assert!(!PausedResponse::new(&response).unwrap().is_document_of("main"), "{status}");
        }
        assert!(
            PausedResponse::new(&json!({ "requestId": "1", "request": {} })).is_none(),
            "a paused request"
        );
    }
}
