//! The words of a picture of a document, drawing or web page.
//!
//! A [`Text`] has pages, in the order of the document; a page has [`Block`]s in reading order and links; a block has
//! lines, and a line says where its words are. All lengths are pixels of the picture. Rectangles in a page are relative
//! to the page's.
//!
//! The JSON of a text, by [`serde`]:
//!
//! ```json
//! {"version": 1, "language": "en", "total": 352,
//!  "pages": [{"at": [80, 80, 4000, 5661], "label": "iv",
//!    "blocks": [{"role": "h1", "lines": [{"at": [40, 60, 330, 24], "text": "Tide tables", "spans": [0, 120, 15, 195]}]},
//!               {"role": "img", "at": [40, 100, 800, 600], "alternative": "A chart"}],
//!    "links": [{"at": [40, 60, 330, 24], "to": "https://example.com/"}, {"at": [40, 90, 330, 24], "to": 12}]}],
//!  "outline": [{"depth": 0, "title": "Tide tables", "page": 0, "y": 60}]}
//! ```

mod bounds;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod ink;
mod joins;
mod links;
mod markup;
mod rights;

use serde::{Deserialize, Serialize};

pub use bounds::{MAX_JSON_BYTES, MAX_PACKED_BYTES, MAX_PAGE_WORDS, MAX_WORDS};
pub use ink::Ink;
pub use markup::escape;
pub use rights::rights_uri;

/// Version of the format.
const VERSION: u8 = 1;
/// The character at the end of a line whose last word goes on in the next line, without a hyphen of its own (Unicode,
/// U+00AD soft hyphen).
pub const SOFT_HYPHEN: char = '\u{ad}';

/// Returns true for directional formatting, other characters without ink (Unicode's Default_Ignorable_Code_Point, except
/// for soft hyphens, joiners and variation selectors), and noncharacters (UTS #55; Unicode 23.7).
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
        || matches!(character, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}')
        || u32::from(character) & 0xfffe == 0xfffe
}

/// The words of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Version of the format: 1.
    pub version: u8,
    /// Language (BCP 47).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Number of pages of the document. If that is more than `pages`, the picture shows only the first ones.
    pub total: u32,
    /// The pages in the picture.
    pub pages: Vec<Page>,
    /// The document's table of contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Entry>,
}

/// A page of a document, or the whole of another picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Its place in the picture.
    pub at: Rect,
    /// Its number as printed, if that differs from its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its paragraphs, headings and pictures, in reading order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Its links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// A paragraph, heading, list item, table cell, or a picture with alternative text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its role.
    pub role: Role,
    /// Its lines, from the first to the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// Place of a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Rect>,
    /// Alternative text of a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<String>,
}

/// The role of a block, named as elements of HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "as in HTML")]
pub enum Role {
    H1,
    H2,
    H3,
    H4,
    H5,
    H6,
    P,
    Li,
    Td,
    Img,
}

/// A line of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The smallest upright rectangle that holds it.
    pub at: Rect,
    /// Its words in logical order, with a space between them. It ends with [`SOFT_HYPHEN`] if the next line
    /// goes on without a space.
    pub text: String,
    /// For each word the gap before it and its width, along the line from the edge where it begins. A gap is negative if
    /// the word is shown before the last one, as numbers in Arabic are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<i32>,
    /// Clockwise angle of its direction in degrees: 90 for words from top to bottom.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub angle: u16,
    /// True if it begins at its right edge, as in Arabic.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rtl: bool,
}

/// A link on a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its place.
    pub at: Rect,
    /// The target.
    pub to: Target,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Target {
    /// A page, counted from 0.
    Page(u32),
    /// A URL with the scheme `http`, `https` or `mailto`.
    Url(String),
}

/// An entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number of entries above it that it belongs to.
    pub depth: u8,
    /// Its text.
    pub title: String,
    /// The page it leads to, counted from 0.
    pub page: u32,
    /// The place on the page, from its top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<u32>,
}

/// A rectangle: left, top, width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
#[allow(missing_docs, reason = "the names say it")]
pub struct Rect {
    pub left: u32,
    pub top: u32,
    pub width: u32,
    pub height: u32,
}

impl Default for Text {
    fn default() -> Self {
        Self { version: VERSION, language: None, total: 0, pages: Vec::new(), outline: Vec::new() }
    }
}

impl Text {
    /// Reads a text; `None` if the JSON is none, or [too long](MAX_JSON_BYTES).
    #[must_use]
    pub fn from_json(json: &[u8]) -> Option<Self> {
        (json.len() <= MAX_JSON_BYTES).then(|| serde_json::from_slice(json).ok()).flatten()
    }

    /// Returns the JSON; `None` if it is [too long](MAX_JSON_BYTES).
    #[must_use]
    pub fn to_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok().filter(|json| json.len() <= MAX_JSON_BYTES)
    }

    /// Returns true if there is neither a word, nor an alternative text, nor a link, nor a choice of pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.len() < 2 && self.pages.iter().all(|page| page.blocks.is_empty() && page.links.is_empty())
    }
}

impl Page {
    /// Returns a page without words.
    #[must_use]
    pub fn new(at: Rect) -> Self {
        Self { at, label: None, blocks: Vec::new(), links: Vec::new() }
    }

    /// Returns the page in another place, with all lengths in it multiplied by the `scale`.
    #[must_use]
    pub fn moved(self, at: Rect, scale: f64) -> Self {
        let length = |length: u32| (f64::from(length) * scale).round() as u32;
        // Both ends are rounded, so that neighbours stay neighbours.
        let side =
            |start: u32, along: u32| (length(start), length(start.saturating_add(along)) - length(start));
        let rect = |rect: Rect| {
            let ((left, width), (top, height)) = (side(rect.left, rect.width), side(rect.top, rect.height));
            Rect { left, top, width, height }
        };
        let line = |line: Line| {
            let places: Vec<_> = line.places().map(|(start, width)| side(start, width)).collect();
            let at = rect(line.at);
            Line { at, ..line }.with_places(places.into_iter())
        };
        let blocks = self.blocks.into_iter().map(|block| Block {
            lines: block.lines.into_iter().map(line).collect(),
            at: block.at.map(rect),
            ..block
        });
        let links = self.links.into_iter().map(|link| Link { at: rect(link.at), ..link });
        Self { at, label: self.label, blocks: blocks.collect(), links: links.collect() }
    }
}

impl Block {
    /// Returns a block of lines.
    #[must_use]
    pub fn lines(role: Role, lines: Vec<Line>) -> Self {
        Self { role, lines, at: None, alternative: None }
    }

    /// Returns a picture with its alternative text.
    #[must_use]
    pub fn picture(at: Rect, alternative: String) -> Self {
        Self { role: Role::Img, lines: Vec::new(), at: Some(at), alternative: Some(alternative) }
    }
}

impl Line {
    /// Returns an upright line that begins at its left edge.
    #[must_use]
    pub fn new(at: Rect, text: impl Into<String>, spans: Vec<i32>) -> Self {
        Self { at, text: text.into(), spans, angle: 0, rtl: false }
    }

    /// Returns its words with their rectangles. Those of a line that is neither upright nor turned by quarters are its
    /// own.
    pub fn words(&self) -> impl Iterator<Item = (&str, Rect)> {
        let mut places = self.places();
        self.text
            .split_whitespace()
            .map(move |word| (word, places.next().map_or(self.at, |(start, width)| self.part(start, width))))
    }

    /// Returns the distance of each word from the line's beginning, and its width.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut end = 0_i64;
        self.spans.chunks_exact(2).map(move |span| {
            let start = end + i64::from(span[0]);
            end = start + i64::from(span[1]);
            let pixels = |length: i64| u32::try_from(length.max(0)).unwrap_or(u32::MAX);
            (pixels(start), pixels(end - start))
        })
    }

    /// Returns the line with its words at other [places](Self::places).
    pub(crate) fn with_places(self, places: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut end = 0_i64;
        let spans = places.flat_map(|(start, width)| {
            let gap = i64::from(start) - end;
            end = i64::from(start) + i64::from(width);
            [gap, i64::from(width)].map(|length| length.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
        });
        let spans = spans.collect();
        Self { spans, ..self }
    }

    /// Returns the part of the line that is `start` pixels from its beginning.
    fn part(&self, start: u32, width: u32) -> Rect {
        let Rect { left, top, width: across, height: down } = self.at;
        let from_end = |length: u32| length.saturating_sub(start.saturating_add(width));
        match (self.angle, self.rtl) {
            (0, false) | (180, true) => Rect::new(left.saturating_add(start), top, width, down),
            (0, true) | (180, false) => Rect::new(left.saturating_add(from_end(across)), top, width, down),
            (90, false) | (270, true) => Rect::new(left, top.saturating_add(start), across, width),
            (90, true) | (270, false) => Rect::new(left, top.saturating_add(from_end(down)), across, width),
            _ => self.at,
        }
    }
}

impl Rect {
    /// Returns a rectangle.
    #[must_use]
    pub fn new(left: u32, top: u32, width: u32, height: u32) -> Self {
        Self { left, top, width, height }
    }

    /// Returns true if the centre of another rectangle is in it.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        let is_within = |start: u32, length: u32, place: u64| {
            (u64::from(start)..u64::from(start) + u64::from(length)).contains(&place)
        };
        let (x, y) = other.centre();
        is_within(self.left, self.width, x) && is_within(self.top, self.height, y)
    }

    fn centre(&self) -> (u64, u64) {
        let middle = |start: u32, length: u32| u64::from(start) + u64::from(length) / 2;
        (middle(self.left, self.width), middle(self.top, self.height))
    }
}

impl From<[u32; 4]> for Rect {
    fn from([left, top, width, height]: [u32; 4]) -> Self {
        Self { left, top, width, height }
    }
}

impl From<Rect> for [u32; 4] {
    fn from(Rect { left, top, width, height }: Rect) -> Self {
        [left, top, width, height]
    }
}

fn is_zero(angle: &u16) -> bool {
    *angle == 0
}

// The example in the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_along_their_line_in_each_direction() {
        let line = |angle, rtl| Line {
            angle,
            rtl,
            ..Line::new(Rect::new(10, 20, 100, 100), "a b", vec![5, 10, 20, 30])
        };
        let places = |line: Line| line.words().map(|(_, place)| <[u32; 4]>::from(place)).collect::<Vec<_>>();
        assert_eq!(places(line(0, false)), [[15, 20, 10, 100], [45, 20, 30, 100]]);
        assert_eq!(places(line(0, true)), [[95, 20, 10, 100], [45, 20, 30, 100]]);
        assert_eq!(places(line(90, false)), [[10, 25, 100, 10], [10, 55, 100, 30]]);
        assert_eq!(places(line(270, false)), [[10, 105, 100, 10], [10, 55, 100, 30]]);
        assert_eq!(places(line(31, false)), [[10, 20, 100, 100]; 2]);
    }

    #[test]
    fn a_word_may_be_shown_before_the_last_one() {
        let line = Line::new(Rect::new(10, 0, 100, 9), "a 12 b", vec![60, 20, -60, 10, 0, 5]);
        let places: Vec<_> = line.words().map(|(_, place)| (place.left, place.width)).collect();
        assert_eq!(places, [(70, 20), (30, 10), (40, 5)]);
    }

    #[test]
    fn a_page_is_scaled_and_its_words_do_not_drift() {
        let words = vec!["w"; 100].join(" ");
        let line = Line::new(Rect::new(0, 0, 2000, 10), words, [1, 9].repeat(100));
        let page = Page { blocks: vec![Block::lines(Role::P, vec![line])], ..Page::new(Rect::default()) };
        let page = page.moved(Rect::new(5, 5, 300, 300), 0.15);
        let line = &page.blocks[0].lines[0];
        let (_, last) = line.words().last().unwrap();
        assert_eq!((line.at.width, last.left + last.width, line.spans.len()), (300, 150, 200));
    }

    #[test]
    fn the_json_has_the_documented_form() {
        let json = r#"{"version":1,"language":"en","total":352,"pages":[{"at":[80,80,4000,5661],"label":"iv","blocks":[{"role":"h1","lines":[{"at":[40,60,330,24],"text":"Tide tables","spans":[0,120,15,195]}]},{"role":"img","at":[40,100,800,600],"alternative":"A chart"}],"links":[{"at":[40,60,330,24],"to":"https://example.com/"},{"at":[40,90,330,24],"to":12}]}],"outline":[{"depth":0,"title":"Tide tables","page":0,"y":60}]}"#;
        let text: Text = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&text).unwrap(), json);
        assert_eq!(text.pages[0].links[1].to, Target::Page(12));
        assert!(!text.is_empty());
    }
}
