//! A finished content as KV has it: its representations, printed once by the Durable Object, so that a request costs
//! one read and the insertion of the service's addresses. Those are not stored, as the operator may change them: a mark
//! stands for each, and one for the seconds until a failure is retried.
//!
//! | line | holds |
//! |---|---|
//! | 1 | the source's URL; of a failed content also a space and the time from when on a request starts it anew; of one that is taken down, a space and `taken-down` |
//! | 2 | the content as the Durable Object has it, for pages; of one that is taken down, the reason, and nothing worth reading follows |
//! | 3 | the content object as JSON |
//! | 4 and all that follow | the content object as XML |

use edgezoom_content::{Content, ContentId, SourceUrl, Status, Timestamp};

use crate::config::Addresses;
use crate::content::representation::{content_template, seconds_until};
use crate::response::negotiation::Format;

/// Stands for an address, or for the seconds until the retry; the letter that follows says which. It is a noncharacter, which Unicode reserves for internal
/// use (chapter 23.7): neither JSON nor XML escapes it, and it is removed from the texts of sources.
const MARK: char = '\u{fdd0}';
const BASE: char = 'b';
const SHARE: char = 's';
const CACHE: char = 'c';
const RETRY_AFTER: char = 'r';

/// The value of a content in KV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedContent {
    id: ContentId,
    text: String,
    /// Where the first three lines end.
    ends: [usize; 3],
    retry_at: Option<Timestamp>,
    is_taken_down: bool,
}

/// What line 1 ends with when the content is taken down. A Worker that does not know it asks the content's object.
const TAKEN_DOWN: &str = " taken-down";

/// The value in KV has another form: another version of the Worker wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of {0} in KV has an unknown form")]
pub struct InvalidCachedContent(ContentId);

impl CachedContent {
    /// The value for KV.
    ///
    /// # Errors
    /// The content is not serialized, which does not happen.
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
        Ok(format!("{}{retry_at}\n{inner}\n{json}\n{xml}", content.url))
    }

    /// The value of a content that is taken down.
    #[must_use]
    pub fn serialize_takedown(url: &SourceUrl, reason: &str) -> String {
        format!("{url}{TAKEN_DOWN}\n{}\n-\n-", if reason.is_empty() { "-" } else { reason })
    }

    /// Parses a value of KV.
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
        let is_taken_down = text.get(..first).is_some_and(|line| line.ends_with(TAKEN_DOWN));
        let mut cached = Self { id, text, ends: [first, second, third], retry_at: None, is_taken_down };
        if is_taken_down {
            return Ok(cached);
        }
        if let Some((_, time)) = cached.line(0).split_once(' ') {
            cached.retry_at = Some(Timestamp(time.parse().map_err(|_| InvalidCachedContent(id))?));
        }
        Ok(cached)
    }

    /// The content's id.
    #[must_use]
    pub fn id(&self) -> ContentId {
        self.id
    }

    /// Whether the content has this source.
    #[must_use]
    pub fn has_source(&self, url: &SourceUrl) -> bool {
        // A serialized URL has no space.
        self.line(0).split(' ').next() == Some(url.as_str())
    }

    /// From when on a request starts the conversion anew; `None` of a ready content.
    #[must_use]
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.retry_at
    }

    /// Why the content is taken down, if it is.
    #[must_use]
    pub fn takedown(&self) -> Option<&str> {
        self.is_taken_down.then(|| self.line(1))
    }

    /// Whether the value stayed longer than the failure stands. KV keeps each value for a minute at least.
    #[must_use]
    pub fn is_outdated(&self, now: Timestamp) -> bool {
        self.retry_at.is_some_and(|retry_at| retry_at <= now)
    }

    /// The content.
    ///
    /// # Errors
    /// Another version of the Worker wrote it.
    pub fn content(&self) -> Result<Content, InvalidCachedContent> {
        serde_json::from_str(self.line(1)).map_err(|_| InvalidCachedContent(self.id))
    }

    /// The content object in a format; in XML, what is between the root's tags. Addresses need no escaping in either:
    /// [`Config::read`](crate::config::Config::read) refuses those that would.
    #[must_use]
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

/// The content without marks in the texts of its source.
fn unmarked(mut content: Content) -> Content {
    // A title and a warning have none: `Title::of_page` and `Warning::of_text` remove noncharacters.
    if let Status::Failed { failure, .. } = &mut content.status {
        failure.message = failure.message.replace(MARK, "\u{fffd}");
    }
    content
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{
        Archive, Attempt, Dzi, Failure, FailureCode, Finished, Previews, Progress, Size, TileFormat, Title,
        Warning,
    };

    use super::*;
    use crate::content::representation::content_printed;

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
        let content =
            Content { id: "6qy4OXfXSid".parse().unwrap(), url, progress: Progress::COMPLETE, status };
        let cached = CachedContent::parse(content.id, CachedContent::serialize(&content).unwrap()).unwrap();
        (content, cached)
    }

    fn archived() -> Status {
        let Status::Ready { attempt, finished } = ready() else { panic!() };
        let archive = Some(Archive { index_offset: 5, index_length: 6 });
        let finished = Finished { archive, previews: Some(Previews::Objects), ..finished };
        Status::Ready { attempt, finished }
    }

    fn ready() -> Status {
        let size = Size { width: 800, height: 600 };
        let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
        let (title, warning) = (Title::of_page("A <page>\u{fdd0}"), Warning::of_text("\"A\" & <b>\u{fdd0}"));
        let finished = Finished { title, warning, ..Finished::new(dzi) };
        Status::Ready { attempt: Attempt::FIRST, finished }
    }

    fn failed(message: &str) -> Status {
        Status::Failed { failure: Failure::new(FailureCode::CorruptSource, message), retry_at: LATER }
    }

    #[test]
    fn it_prints_what_the_content_prints() {
        for status in [ready(), archived(), failed("a\nb \"c\" <d> \\u0001 é")] {
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
    fn a_failure_says_how_long_it_stands_and_is_outdated_then() {
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
    fn a_takedown_has_its_reason_and_source_and_no_content() {
        let (content, ready) = cached(ready());
        assert_eq!(ready.takedown(), None);
        let text = CachedContent::serialize_takedown(&content.url, "Because \u{fdd0} <b>.");
        let cached = CachedContent::parse(content.id, text).unwrap();
        assert_eq!(cached.takedown(), Some("Because \u{fdd0} <b>."));
        assert!(cached.has_source(&content.url) && !cached.is_outdated(Timestamp(u64::MAX)));
        assert_eq!(cached.content(), Err(InvalidCachedContent(content.id)));
    }

    #[test]
    fn a_mark_in_a_text_of_the_source_is_removed() {
        let (_, cached) = cached(failed("a\u{fdd0}sb\u{fdd0}c\u{fdd0}r"));
        let json = cached.printed(Format::Json, &addresses(), NOW);
        assert!(json.contains("a\u{fffd}sb\u{fffd}c\u{fffd}r"), "{json}");
        assert_eq!(json.matches("https://zoom.example").count(), 2, "{json}");
    }

    #[test]
    fn a_value_of_another_form_is_refused() {
        let id = "6qy4OXfXSid".parse().unwrap();
        for text in ["", "{}", "a\nb\nc", "a\n\nc\nd", "a soon\nb\nc\nd", "{\"id\":\"6qy4OXfXSid\"}"] {
            assert_eq!(CachedContent::parse(id, text.to_owned()), Err(InvalidCachedContent(id)), "{text:?}");
        }
    }
}
