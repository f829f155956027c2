//! What KV keeps of a finished content: the answer, printed once by the Durable Object, so that a request costs one read and
//! the splicing of the service's addresses into it. Those are not kept, as the operator may change them: where one goes, a
//! record has a mark. Lines: the source's URL, the content for pages, the content object as JSON; all that follows is the same
//! as XML.

use edgezoom_content::{Content, ContentId, SourceUrl, Status};

use crate::config::Addresses;
use crate::content::representation::content_printed;
use crate::response::negotiation::Format;

/// Where an address goes, followed by a letter that says which. A noncharacter, which Unicode keeps for such inner uses (chapter
/// 23.7): neither JSON nor XML escapes it, and foreign text is cleared of it.
const MARK: char = '\u{fdd0}';
const SHARE: char = 's';
const CACHE: char = 'c';

/// A record of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    id: ContentId,
    text: String,
    /// Where the first three lines end.
    ends: [usize; 3],
}

/// A text that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of {0} is not understood")]
pub struct NoRecord(ContentId);

impl Record {
    /// What is to be kept of a content.
    ///
    /// # Errors
    /// None that can happen: a content can be printed.
    pub fn print(content: &Content) -> Result<String, serde_json::Error> {
        let content = &unmarked(content.clone());
        let mark = |which| String::from_iter([MARK, which]);
        let marks = Addresses { base: String::new(), share: mark(SHARE), cache: mark(CACHE) };
        let printed = |format| content_printed(content, format, &marks);
        let inner = serde_json::to_string(content)?;
        Ok(format!("{}\n{inner}\n{}\n{}", content.url, printed(Format::Json), printed(Format::Xml)))
    }

    /// The record of a content, as it was kept.
    ///
    /// # Errors
    /// It is of another version of the Worker.
    pub fn read(id: ContentId, text: String) -> Result<Self, NoRecord> {
        let mut ends = text.match_indices('\n').map(|(at, _)| at);
        let (Some(first), Some(second), Some(third)) = (ends.next(), ends.next(), ends.next()) else {
            return Err(NoRecord(id));
        };
        let filled = 0 < first && first + 1 < second && second + 1 < third && third + 1 < text.len();
        if filled { Ok(Self { id, text, ends: [first, second, third] }) } else { Err(NoRecord(id)) }
    }

    /// The content's id.
    #[must_use]
    pub fn id(&self) -> ContentId {
        self.id
    }

    /// Whether it is the content of this source.
    #[must_use]
    pub fn is_of(&self, url: &SourceUrl) -> bool {
        self.line(0) == url.as_str()
    }

    /// The content.
    ///
    /// # Errors
    /// The record is of another version of the Worker.
    pub fn content(&self) -> Result<Content, NoRecord> {
        serde_json::from_str(self.line(1)).map_err(|_| NoRecord(self.id))
    }

    /// The content object in a format; in XML, what is between the root's tags. Addresses need no escaping in either, which
    /// [`Config::read`](crate::config::Config::read) sees to.
    #[must_use]
    pub fn splice(&self, format: Format, addresses: &Addresses) -> String {
        let template = self.line(if format == Format::Json { 2 } else { 3 });
        let mut spliced =
            String::with_capacity(template.len() + 4 * addresses.share.len().max(addresses.cache.len()));
        let mut pieces = template.split(MARK);
        spliced.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            if let Some(text) = piece.strip_prefix(SHARE) {
                spliced.extend([addresses.share.as_str(), text]);
            } else if let Some(text) = piece.strip_prefix(CACHE) {
                spliced.extend([addresses.cache.as_str(), text]);
            }
        }
        spliced
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

/// The same without marks in what others wrote.
fn unmarked(mut content: Content) -> Content {
    // Titles are without them from the beginning.
    if let Status::Failed { failure } = &mut content.status {
        failure.message = failure.message.replace(MARK, "\u{fffd}");
    }
    content
}

#[cfg(test)]
mod tests {
    use edgezoom_content::{Attempt, Dzi, Failure, FailureCode, Progress, Size, TileFormat, Title};

    use super::*;

    fn addresses() -> Addresses {
        Addresses {
            base: "https://api.example".into(),
            share: "https://zoom.example".into(),
            cache: "https://cache.example/x".into(),
        }
    }

    fn kept(status: Status) -> (Content, Record) {
        let url = SourceUrl::parse("http://example.com/a.jpg?x=%22&y=<\u{fdd0}").unwrap();
        let content =
            Content { id: "6qy4OXfXSid".parse().unwrap(), url, progress: Progress::COMPLETE, status };
        let record = Record::read(content.id, Record::print(&content).unwrap()).unwrap();
        (content, record)
    }

    fn ready() -> Status {
        let size = Size { width: 800, height: 600 };
        let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
        Status::Ready { attempt: Attempt::FIRST, dzi, title: Title::of_page("A <page>\u{fdd0}") }
    }

    fn failed(message: &str) -> Status {
        Status::Failed { failure: Failure::new(FailureCode::CorruptSource, message) }
    }

    #[test]
    fn it_says_what_the_content_says() {
        for status in [ready(), failed("a\nb \"c\" <d> \\u0001 é")] {
            let (content, record) = kept(status);
            assert_eq!(record.content(), Ok(content.clone()));
            assert!(record.is_of(&content.url));
            assert!(!record.is_of(&SourceUrl::parse("http://example.com/a.jpg").unwrap()));
            for format in [Format::Json, Format::Xml] {
                assert_eq!(
                    record.splice(format, &addresses()),
                    content_printed(&content, format, &addresses())
                );
            }
        }
    }

    #[test]
    fn a_mark_of_somebody_else_is_no_mark() {
        let (_, record) = kept(failed("a\u{fdd0}sb\u{fdd0}c"));
        let json = record.splice(Format::Json, &addresses());
        assert!(json.contains("a\u{fffd}sb\u{fffd}c"), "{json}");
        assert_eq!(json.matches("https://zoom.example").count(), 2, "{json}");
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let id = "6qy4OXfXSid".parse().unwrap();
        for text in ["", "{}", "a\nb\nc", "a\n\nc\nd", "{\"id\":\"6qy4OXfXSid\"}"] {
            assert_eq!(Record::read(id, text.to_owned()), Err(NoRecord(id)), "{text:?}");
        }
    }
}
