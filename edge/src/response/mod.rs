//! Responses as values: status, headers and body. `platform/bridge.rs` sends them.

pub mod api_error;
pub mod conditional;
pub(crate) mod element;
pub mod negotiation;
pub mod plain;
pub(crate) mod result;

pub use api_error::{ApiError, CollectionError, UploadError};
pub use edgezoom_content::escape;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};

use edgezoom_content::{Status, Timestamp};
use http::StatusCode;

/// A response that is not streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: StatusCode,
    /// Headers besides [`COMMON_HEADERS`]. Borrowed values are constants, which many responses share.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    pub body: String,
    /// Status in the response object, if the body is one. It is the one that is measured.
    pub wrapped: Option<StatusCode>,
}

/// The headers of every response: pages of all sites may read it, with all headers that matter to clients (CORS), or
/// show it though they isolate themselves (`Cross-Origin-Embedder-Policy`), and its media type is final.
pub const COMMON_HEADERS: [(&str, &str); 4] = [
    ("Access-Control-Allow-Origin", "*"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    (
        "Access-Control-Expose-Headers",
        "Accept-Ranges, Allow, Content-Range, ETag, Link, Location, Retry-After",
    ),
    ("X-Content-Type-Options", "nosniff"),
];

/// The time for which clients and proxies may cache a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// An hour: ready contents and constant texts.
    OneHour,
    /// Seconds, at most an hour: failed contents.
    Seconds(u32),
    /// Never: contents that still change, and errors.
    NoStore,
}

impl Response {
    /// Returns a response with a media type and a cache policy.
    pub fn new(status: StatusCode, media_type: &'static str, cache: CachePolicy, body: String) -> Self {
        let headers = vec![("Content-Type", media_type.into()), ("Cache-Control", cache.header())];
        Self { status, headers, body, wrapped: None }
    }

    /// Adds an entity tag if the response may be cached.
    pub fn tagged(self) -> Self {
        self.tagged_with("")
    }

    /// Adds an entity tag that depends on a header too, for responses with the same body.
    pub fn tagged_with(self, header: &str) -> Self {
        if self.header("Cache-Control") == Some(NO_STORE) {
            return self;
        }
        let tag = entity_tag(&self.body, header);
        self.with("ETag", tag)
    }

    /// Returns a response in plain text.
    pub fn text(status: StatusCode, body: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", CachePolicy::NoStore, body.into())
    }

    /// Returns a response without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: vec![], body: String::new(), wrapped: None }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Forbids caching: for requests with effects, such as `POST`.
    pub fn uncached(mut self) -> Self {
        self.headers.retain(|(name, _)| !matches!(*name, "Cache-Control" | "ETag"));
        self.with("Cache-Control", NO_STORE)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }

    /// Turns into 304 without a body if `If-None-Match` names the entity tag.
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
    /// An hour in seconds.
    pub const HOUR: u32 = 3600;

    /// Returns the policy for a response about a content. A failure may be cached until a request would start the
    /// conversion again.
    pub fn of(status: &Status, now: Timestamp) -> Self {
        match status {
            Status::Ready { .. } => Self::OneHour,
            Status::Failed { retry_at, .. } => Self::until(*retry_at, now),
            Status::Processing { .. } => Self::NoStore,
        }
    }

    /// Returns the policy until a point in time.
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

/// Returns the entity tag of a body and a header. It may change with the build of the Worker, which costs a
/// revalidation.
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
    fn a_client_with_the_current_response_gets_304() {
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
    fn a_failure_is_cached_at_most_until_its_retry() {
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
    fn an_uncacheable_response_has_no_tag() {
        let response = Response::text(StatusCode::OK, "body").tagged();
        assert_eq!(response.header("ETag"), None);
        assert_eq!(response.clone().or_not_modified(Some("*")), response);
    }

    #[test]
    fn a_redirect_and_its_target_have_different_tags() {
        let of = |status| Response::new(status, "text/x", CachePolicy::OneHour, "body".into());
        let found = of(StatusCode::OK).tagged();
        let moved = of(StatusCode::MOVED_PERMANENTLY).tagged_with("https://a.example/b");
        assert!(moved.header("ETag").is_some());
        assert_ne!(moved.header("ETag"), found.header("ETag"));
    }
}
