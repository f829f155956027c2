//! The record of a finished content in KV: its representations, printed once by the Durable Object, so that a request
//! costs one read and the insertion of the service's addresses. The operator may change those, so marks stand for them,
//! and for the seconds until a failure may be retried.
//!
//! | line | holds |
//! |---|---|
//! | 1 | the source's URL; then, if the content failed, a space and the time from which a request starts it again; if it is removed, a space and `taken-down` or `deleted` |
//! | 2 | the content as the Durable Object sends it, for pages; if it is taken down, the reason. If it is removed, the other lines are meaningless |
//! | 3 | the content object as JSON |
//! | all others | the content object as XML |

use edgezoom_content::{Content, ContentId, SourceUrl, Status, Timestamp};

use crate::config::Addresses;
use crate::representation::{content_template, seconds_until};
use crate::response::ApiError;
use crate::response::negotiation::Format;

/// Mark for an address or for the seconds until the retry; the letter after it says which. It is a noncharacter,
/// reserved for internal use (Unicode 23.7): neither JSON nor XML escapes it, and it is removed from the texts of
/// sources.
const MARK: char = '\u{fdd0}';
const BASE: char = 'b';
const SHARE: char = 's';
const CACHE: char = 'c';
const RETRY_AFTER: char = 'r';

/// The record of a content in KV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedContent {
    id: ContentId,
    text: String,
    /// Positions of the first three line ends.
    ends: [usize; 3],
    retry_at: Option<Timestamp>,
    is_removed: bool,
}

/// Ends of line 1 if the content is taken down, or deleted by its uploader. An older Worker cannot parse them and asks
/// the content's object.
const TAKEN_DOWN: &str = " taken-down";
const DELETED: &str = " deleted";

/// A record has an unknown form: another version of the Worker wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: the record in KV has an unknown form")]
pub struct InvalidCachedContent(ContentId);

impl CachedContent {
    /// Serializes a content.
    ///
    /// # Errors
    /// Never fails: a content can always be serialized.
    pub fn serialize(content: &Content) -> Result<String, serde_json::Error> {
        let content = &unmarked(content.clone());
        let mark = |which| String::from_iter([MARK, which]);
        let marks = Addresses { base: mark(BASE), share: mark(SHARE), cache: mark(CACHE) };
        let printed = |format| content_template(content, format, &marks, &mark(RETRY_AFTER));
        let inner = serde_json::to_string(content)?;
        let retry_at = match &content.status {
            Status::Failed { retry_at, .. } => format!(" {}", retry_at.0),
            Status::Ready { .. } | Status::Processing { .. } => String::new(),
        };
        let (json, xml) = (printed(Format::Json), printed(Format::Xml));
        Ok(format!("{}{retry_at}\n{inner}\n{json}\n{xml}", content.url.as_str()))
    }

    /// Serializes a takedown with its reason, or a deletion by the uploader.
    pub fn serialize_removal(url: &SourceUrl, reason: Option<&str>) -> String {
        let kind = if reason.is_some() { TAKEN_DOWN } else { DELETED };
        let reason = reason.filter(|reason| !reason.is_empty()).unwrap_or("-");
        format!("{}{kind}\n{reason}\n-\n-", url.as_str())
    }

    /// Parses a record.
    ///
    /// # Errors
    /// Another version of the Worker wrote it.
    pub fn parse(id: ContentId, text: String) -> Result<Self, InvalidCachedContent> {
        let mut ends = text.match_indices('\n').map(|(at, _)| at);
        let (Some(first), Some(second), Some(third)) = (ends.next(), ends.next(), ends.next()) else {
            return Err(InvalidCachedContent(id));
        };
        let filled = 0 < first && first + 1 < second && second + 1 < third && third + 1 < text.len();
        if !filled {
            return Err(InvalidCachedContent(id));
        }
        let ends = |mark| text.get(..first).is_some_and(|line| line.ends_with(mark));
        let is_removed = ends(TAKEN_DOWN) || ends(DELETED);
        let mut cached = Self { id, text, ends: [first, second, third], retry_at: None, is_removed };
        if is_removed {
            return Ok(cached);
        }
        if let Some((_, time)) = cached.line(0).split_once(' ') {
            cached.retry_at = Some(Timestamp(time.parse().map_err(|_| InvalidCachedContent(id))?));
        }
        Ok(cached)
    }

    pub fn id(&self) -> ContentId {
        self.id
    }

    /// Returns true if the content has this source.
    pub fn has_source(&self, url: &SourceUrl) -> bool {
        // A serialized URL has no space.
        self.line(0).split(' ').next() == Some(url.as_str())
    }

    /// Returns the time from which a request starts the conversion again; `None` if the content is ready.
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.retry_at
    }

    /// Returns the error for clients if the content is removed.
    pub fn removal(&self) -> Option<ApiError> {
        let is_taken_down = self.line(0).ends_with(TAKEN_DOWN);
        self.is_removed.then(|| ApiError::removed(if is_taken_down { self.line(1) } else { "" }))
    }

    /// Returns true if the failure no longer stands. KV keeps every value for at least a minute.
    pub fn is_outdated(&self, now: Timestamp) -> bool {
        self.retry_at.is_some_and(|retry_at| retry_at <= now)
    }

    /// Returns the content.
    ///
    /// # Errors
    /// Another version of the Worker wrote it.
    pub fn content(&self) -> Result<Content, InvalidCachedContent> {
        serde_json::from_str(self.line(1)).map_err(|_| InvalidCachedContent(self.id))
    }

    /// Returns the content object in a format; in XML, the children of the root element. Addresses need no escaping:
    /// [`Config::read`](crate::config::Config::read) refuses those that would.
    pub fn printed(&self, format: Format, addresses: &Addresses, now: Timestamp) -> String {
        let template = self.line(if format == Format::Json { 2 } else { 3 });
        let mut printed =
            String::with_capacity(template.len() + 4 * addresses.share.len().max(addresses.cache.len()));
        let mut pieces = template.split(MARK);
        printed.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            if let Some(text) = piece.strip_prefix(BASE) {
                printed.extend([addresses.base.as_str(), text]);
            } else if let Some(text) = piece.strip_prefix(SHARE) {
                printed.extend([addresses.share.as_str(), text]);
            } else if let Some(text) = piece.strip_prefix(CACHE) {
                printed.extend([addresses.cache.as_str(), text]);
            } else if let Some(text) = piece.strip_prefix(RETRY_AFTER) {
                let seconds = seconds_until(self.retry_at.unwrap_or(now), now);
                printed.extend([seconds.to_string().as_str(), text]);
            }
        }
        printed
    }

    fn line(&self, number: usize) -> &str {
        let [first, second, third] = self.ends;
        let range = match number {
            0 => 0..first,
            1 => first + 1..second,
            2 => second + 1..third,
            _ => third + 1..self.text.len(),
        };
        self.text.get(range).unwrap_or_default()
    }
}

/// Removes marks from the texts of the source.
fn unmarked(mut content: Content) -> Content {
    // Title and warning have no noncharacters; failures may.
    if let Status::Failed { failure, .. } = &mut content.status {
        failure.message = failure.message.replace(MARK, "\u{fffd}");
    }
    content
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{
        Archive, Attempt, Damage, Dzi, Failure, FailureCode, Finished, Previews, Progress, Size, TileFormat,
        Title,
    };

    use super::*;
    use crate::representation::content_printed;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);
    const LATER: Timestamp = Timestamp(NOW.0 + 599_001);

    fn addresses() -> Addresses {
        Addresses {
            base: "https://api.example".into(),
            share: "https://zoom.example".into(),
            cache: "https://cache.example/x".into(),
        }
    }

    fn cached(status: Status) -> (Content, CachedContent) {
        let url = SourceUrl::parse("http://example.com/a.jpg?x=%22&y=<\u{fdd0}").unwrap();
        let content = Content {
            id: "6qy4OXfXSid".parse().unwrap(),
            url,
            alternative: None,
            progress: Progress::COMPLETE,
            status,
        };
        let cached = CachedContent::parse(content.id, CachedContent::serialize(&content).unwrap()).unwrap();
        (content, cached)
    }

    fn ready() -> Status {
        let size = Size { width: 800, height: 600 };
        let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let (title, damage) = (Title::of_document("\"A\" & <page>\u{fdd0}"), Some(Damage::Partial));
        let finished =
            Finished { title, damage, ..Finished::new(dzi, Archive::default(), Previews::default()) };
        Status::Ready { attempt: Attempt::FIRST, finished }
    }

    fn failed(message: &str) -> Status {
        Status::Failed { failure: Failure::new(FailureCode::CorruptSource, message), retry_at: LATER }
    }

    #[test]
    fn a_record_prints_the_same_as_the_content() {
        for status in [ready(), failed("a\nb \"c\" <d> \\u0001 é")] {
            let (content, cached) = cached(status);
            assert_eq!(cached.content(), Ok(content.clone()));
            assert!(cached.has_source(&content.url));
            assert!(!cached.has_source(&SourceUrl::parse("http://example.com/a.jpg").unwrap()));
            for format in [Format::Json, Format::Xml] {
                for now in [NOW, Timestamp(NOW.0 + 1), LATER] {
                    assert_eq!(
                        cached.printed(format, &addresses(), now),
                        content_printed(&content, format, &addresses(), now)
                    );
                }
            }
        }
    }

    #[test]
    fn a_failure_has_the_seconds_until_its_retry_and_is_outdated_then() {
        let (_, failed) = cached(failed("why"));
        let json = failed.printed(Format::Json, &addresses(), NOW);
        assert!(
            json.contains(r#""failure":{"code":"corrupt-source","message":"why","retryAfter":600}"#),
            "{json}"
        );
        let xml = failed.printed(Format::Xml, &addresses(), Timestamp(LATER.0 - 1000));
        assert!(xml.contains("<message>why</message><retryAfter>1</retryAfter>"), "{xml}");
        assert_eq!(failed.retry_at(), Some(LATER));
        assert!(!failed.is_outdated(Timestamp(LATER.0 - 1)));
        assert!(failed.is_outdated(LATER));
        let (_, ready) = cached(ready());
        assert_eq!(ready.retry_at(), None);
        assert!(!ready.is_outdated(Timestamp(u64::MAX)));
    }

    #[test]
    fn a_removal_has_a_source_but_no_content() {
        let (content, ready) = cached(ready());
        assert_eq!(ready.removal(), None);
        let reason = "Because \u{fdd0} <b>.";
        for (reason, error) in
            [(Some(reason), ApiError::TakenDown(reason.to_owned())), (None, ApiError::Deleted)]
        {
            let text = CachedContent::serialize_removal(&content.url, reason);
            let cached = CachedContent::parse(content.id, text).unwrap();
            assert_eq!(cached.removal(), Some(error));
            assert!(cached.has_source(&content.url) && !cached.is_outdated(Timestamp(u64::MAX)));
            assert_eq!(cached.content(), Err(InvalidCachedContent(content.id)));
        }
    }

    #[test]
    fn marks_in_the_texts_of_a_source_are_removed() {
        let (_, cached) = cached(failed("a\u{fdd0}sb\u{fdd0}c\u{fdd0}r"));
        let json = cached.printed(Format::Json, &addresses(), NOW);
        assert!(json.contains("a\u{fffd}sb\u{fffd}c\u{fffd}r"), "{json}");
        assert_eq!(json.matches("https://zoom.example").count(), 2, "{json}");
    }

    #[test]
    fn a_record_of_another_form_is_refused() {
        let id = "6qy4OXfXSid".parse().unwrap();
        for text in ["", "{}", "a\nb\nc", "a\n\nc\nd", "a soon\nb\nc\nd", "{\"id\":\"6qy4OXfXSid\"}"] {
            assert_eq!(CachedContent::parse(id, text.to_owned()), Err(InvalidCachedContent(id)), "{text:?}");
        }
    }
}
