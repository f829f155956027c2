//! Responses as values: status, headers and body. `platform/bridge.rs` sends them.

pub mod api_error;
pub mod callback;
pub mod conditional;
pub(crate) mod element;
pub mod escape;
pub mod negotiation;
pub mod plain;
pub(crate) mod result;
pub mod upload_error;

pub use api_error::ApiError;
pub use upload_error::UploadError;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};

use edgezoom_content::{Status, Timestamp};
use http::StatusCode;

/// A response that is not streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers besides [`COMMON_HEADERS`]. Borrowed values are constants that many responses share.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: String,
    /// The status that counts, where the body tells it: a response object's.
    pub told: Option<StatusCode>,
}

/// The headers of every response: any page may read it, with the headers that mean something to a client (the CORS
/// protocol), and its media type is final.
pub const COMMON_HEADERS: [(&str, &str); 3] = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Accept-Ranges, Allow, Content-Range, ETag, Location, Retry-After"),
    ("X-Content-Type-Options", "nosniff"),
];

/// How long clients and proxies may cache a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// An hour, then they revalidate: for ready contents and constant texts.
    OneHour,
    /// So many seconds, an hour at most: for failed contents.
    Seconds(u16),
    /// Not at all: for contents that still change, and errors.
    NoStore,
}

impl Response {
    /// A response with a media type and a cache policy.
    #[must_use]
    pub fn new(status: StatusCode, media_type: &'static str, cache: CachePolicy, body: String) -> Self {
        let headers = vec![("Content-Type", media_type.into()), ("Cache-Control", cache.header())];
        Self { status, headers, body, told: None }
    }

    /// Adds an entity tag, if the response may be cached. A cached 301 is revalidated like a cached 200.
    #[must_use]
    pub fn tagged(self) -> Self {
        self.tagged_with("")
    }

    /// Adds an entity tag that differs, for the same body, where a header differs.
    #[must_use]
    pub fn tagged_with(self, header: &str) -> Self {
        if self.header("Cache-Control") == Some(NO_STORE) {
            return self;
        }
        let tag = entity_tag(&self.body, header);
        self.with("ETag", tag)
    }

    /// A short text.
    #[must_use]
    pub fn text(status: StatusCode, body: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", CachePolicy::NoStore, body.into())
    }

    /// A response without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: vec![], body: String::new(), told: None }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same for a request that is not repeated, such as `POST`: no cache keeps it.
    #[must_use]
    pub fn uncached(mut self) -> Self {
        self.headers.retain(|(name, _)| !matches!(*name, "Cache-Control" | "ETag"));
        self.with("Cache-Control", NO_STORE)
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }

    /// Becomes 304 without a body when `If-None-Match` names the entity tag.
    #[must_use]
    pub fn or_not_modified(mut self, if_none_match: Option<&str>) -> Self {
        if let (Some(known), Some(tag)) = (if_none_match, self.header("ETag"))
            && conditional::none_match_names(known, tag)
        {
            self.status = StatusCode::NOT_MODIFIED;
            self.headers.retain(|(name, _)| *name != "Content-Type");
            self.body.clear();
        }
        self
    }
}

impl CachePolicy {
    const HOUR: u16 = 3600;

    /// For a response about a content: a failure may be cached until a request starts the conversion anew.
    #[must_use]
    pub fn of(status: &Status, now: Timestamp) -> Self {
        match status {
            Status::Ready { .. } => Self::OneHour,
            Status::Failed { retry_at, .. } => Self::until(*retry_at, now),
            Status::Processing { .. } => Self::NoStore,
        }
    }

    /// Until this time.
    #[must_use]
    pub fn until(end: Timestamp, now: Timestamp) -> Self {
        match (end - now).as_secs() {
            0 => Self::NoStore,
            seconds => Self::Seconds(seconds.try_into().unwrap_or(Self::HOUR).min(Self::HOUR)),
        }
    }

    fn header(self) -> Cow<'static, str> {
        match self {
            Self::OneHour => "public, max-age=3600".into(),
            Self::Seconds(seconds) => format!("public, max-age={seconds}").into(),
            Self::NoStore => NO_STORE.into(),
        }
    }
}

const NO_STORE: &str = "no-store";

/// The entity tag of a body and a header. Another build of the Worker may give another one, which costs a revalidation.
fn entity_tag(body: &str, header: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(body.as_bytes());
    hasher.write(header.as_bytes());
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_has_the_response_gets_304() {
        let response = Response::new(StatusCode::OK, "text/x", CachePolicy::OneHour, "body".into()).tagged();
        let tag = response.header("ETag").unwrap().to_owned();
        let known = response.clone().or_not_modified(Some(&format!("\"other\", {tag}")));
        assert_eq!((known.status, known.body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert_eq!(known.header("ETag"), Some(tag.as_str()));
        assert_eq!(known.header("Cache-Control"), Some("public, max-age=3600"));
        assert_eq!(response.clone().or_not_modified(Some("\"other\"")), response);
        assert_eq!(response.clone().or_not_modified(None), response);
    }

    #[test]
    fn a_failure_is_cached_no_longer_than_it_stands() {
        let now = Timestamp(1_000_000);
        for (milliseconds, header) in [
            (-1, "no-store"),
            (0, "no-store"),
            (999, "no-store"),
            (1_999, "public, max-age=1"),
            (600_000, "public, max-age=600"),
            (86_400_000, "public, max-age=3600"),
            (864_000_000, "public, max-age=3600"),
        ] {
            let end = Timestamp(now.0.saturating_add_signed(milliseconds));
            let response = Response::new(StatusCode::OK, "text/x", CachePolicy::until(end, now), "a".into());
            assert_eq!(response.header("Cache-Control"), Some(header), "{milliseconds}");
            assert_eq!(response.tagged().header("ETag").is_some(), header != "no-store");
        }
    }

    #[test]
    fn a_response_that_is_not_cached_has_no_tag() {
        let response = Response::text(StatusCode::OK, "body").tagged();
        assert_eq!(response.header("ETag"), None);
        assert_eq!(response.clone().or_not_modified(Some("*")), response);
    }

    #[test]
    fn a_redirect_has_another_tag_than_what_it_leads_to() {
        let of = |status| Response::new(status, "text/x", CachePolicy::OneHour, "body".into());
        let found = of(StatusCode::OK).tagged();
        let moved = of(StatusCode::MOVED_PERMANENTLY).tagged_with("https://a.example/b");
        assert!(moved.header("ETag").is_some());
        assert_ne!(moved.header("ETag"), found.header("ETag"));
    }
}
