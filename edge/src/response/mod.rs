//! Everything that can be sent back, as values: a status, headers and a body that the rim only has to send. One kind of
//! answer a file.

pub mod api_error;
pub mod callback;
pub mod conditional;
pub(crate) mod element;
pub mod escape;
pub mod negotiation;
pub mod plain;

pub use api_error::Refusal;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};

use http::StatusCode;

/// An answer that is not streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers that are this answer's own; the rim adds those that every answer has. The borrowed ones are the same in many answers.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: String,
}

/// What every answer carries: everything here may be read by any page, and is what its type says.
pub const HEADERS_OF_ALL: [(&str, &str); 2] =
    [("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "nosniff")];

/// For how long an answer may be kept by who got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// An hour, then it is asked whether it changed: what is finished.
    AnHour,
    /// Not at all: what may be another thing in a moment, and errors.
    Never,
}

impl Answer {
    /// An answer of a media type.
    #[must_use]
    pub fn new(status: StatusCode, media_type: &'static str, keep: Keep, body: String) -> Self {
        let headers = vec![("Content-Type", media_type.into()), ("Cache-Control", keep.header().into())];
        Self { status, headers, body }
    }

    /// The same with an entity tag, so that who kept it can ask whether it changed. Only what is found and may be kept
    /// gets one: conditions do not apply to any other status than 200 (RFC 9110, 13.2.1).
    #[must_use]
    pub fn tagged(self) -> Self {
        if self.status != StatusCode::OK || self.header("Cache-Control") != Some(Keep::AnHour.header()) {
            return self;
        }
        let tag = entity_tag(&self.body);
        self.with("ETag", tag)
    }

    /// A short text for people and logs.
    #[must_use]
    pub fn text(status: StatusCode, body: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", Keep::Never, body.into())
    }

    /// A status that says all.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: vec![], body: String::new() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
    }

    /// 304 without a body where `If-None-Match` says that the client has this very answer.
    #[must_use]
    pub fn unless_known(mut self, if_none_match: Option<&str>) -> Self {
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

impl Keep {
    fn header(self) -> &'static str {
        match self {
            Self::AnHour => "public, max-age=3600",
            Self::Never => "no-store",
        }
    }
}

/// The same for the same body in one build of the Worker; another build may give another one, which costs a revalidation.
fn entity_tag(body: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(body.as_bytes());
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_has_the_answer_gets_304() {
        let answer = Answer::new(StatusCode::OK, "text/x", Keep::AnHour, "body".into()).tagged();
        let tag = answer.header("ETag").unwrap().to_owned();
        let known = answer.clone().unless_known(Some(&format!("\"other\", {tag}")));
        assert_eq!((known.status, known.body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert_eq!(known.header("ETag"), Some(tag.as_str()));
        assert_eq!(known.header("Cache-Control"), Some("public, max-age=3600"));
        assert_eq!(answer.clone().unless_known(Some("\"other\"")), answer);
        assert_eq!(answer.clone().unless_known(None), answer);
    }

    #[test]
    fn what_is_not_kept_and_what_is_no_200_is_not_compared() {
        for answer in [
            Answer::text(StatusCode::OK, "body").tagged(),
            Answer::new(StatusCode::MOVED_PERMANENTLY, "text/x", Keep::AnHour, "body".into()).tagged(),
        ] {
            assert_eq!(answer.header("ETag"), None);
            assert_eq!(answer.clone().unless_known(Some("*")), answer);
        }
    }
}
