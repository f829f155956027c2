//! The bounds of a text that comes from an untrusted file.

use edgezoom_geometry::Size;

use crate::joins::gap;
use crate::{Block, Entry, Line, Link, Page, Rect, SOFT_HYPHEN, Target, Text, VERSION, is_invisible};

/// Maximum number of words: those of a book of 1,000 full pages.
pub const MAX_WORDS: usize = 500_000;
/// Maximum number of words of a page. A page of a newspaper has 8,000.
pub const MAX_PAGE_WORDS: usize = 20_000;
/// Maximum number of letters of a page, as a search compares them. A page of a newspaper has 50,000.
const MAX_PAGE_LETTERS: usize = 160_000;
/// Maximum number of letters of a line. A search computes places in it letter by letter.
const MAX_LINE_LETTERS: usize = 2000;
/// Maximum number of pictures of a page with an alternative text.
const MAX_PICTURES: usize = 2000;
/// Maximum length of the JSON in bytes. A full text takes some 13 MB.
pub const MAX_JSON_BYTES: usize = 16 << 20;
/// Maximum length of the JSON in bytes, compressed with gzip.
pub const MAX_PACKED_BYTES: usize = 4 << 20;
/// Maximum number of pages.
const MAX_PAGES: usize = 1000;
/// Maximum number of links of a page.
const MAX_LINKS: usize = 2000;
/// Maximum length of a URL in bytes, and of all URLs of a page.
const MAX_URL_BYTES: usize = 2048;
const MAX_PAGE_URL_BYTES: usize = 512 << 10;
/// Maximum number of entries of the outline.
const MAX_ENTRIES: usize = 2000;
/// Maximum depth of an entry.
const MAX_DEPTH: u8 = 8;
/// Maximum number of characters of an alternative text, or a title in the outline.
const MAX_CHARACTERS: usize = 1000;
/// Pixels by which a word may extend beyond its line, because both are rounded.
const ROUNDING: i32 = 4;
/// Maximum number of characters of a page's label, or of a language.
const MAX_LABEL: usize = 32;

impl Text {
    /// Drops what is too much, outside a picture of this size, or could deceive a reader: control characters, characters
    /// that change the direction of others, and links with schemes that are not of the web. To do so again changes
    /// nothing.
    #[must_use]
    pub fn bounded(self, picture: Size) -> Self {
        let whole = Rect::new(0, 0, picture.width, picture.height);
        let mut words = MAX_WORDS;
        let pages: Vec<Page> = self
            .pages
            .into_iter()
            .take(MAX_PAGES)
            .filter_map(|page| bounded_page(page, whole, &mut words))
            .collect();
        let count = pages.len() as u32;
        let outline =
            self.outline.into_iter().filter_map(|entry| bounded_entry(entry, &pages)).take(MAX_ENTRIES);
        Self {
            version: VERSION,
            language: self.language.filter(|language| is_language(language)),
            total: self.total.max(count),
            outline: outline.collect(),
            pages,
        }
    }
}

/// Returns a page within the picture. Those that follow have `words` left.
fn bounded_page(page: Page, picture: Rect, words: &mut usize) -> Option<Page> {
    let at = within(page.at, picture)?;
    let area = Rect::new(0, 0, at.width, at.height);
    let mut of_page = MAX_PAGE_WORDS;
    let (mut letters, mut pictures) = (MAX_PAGE_LETTERS, MAX_PICTURES);
    let mut blocks = Vec::new();
    for block in page.blocks {
        let place = block.at.and_then(|place| within(place, area));
        let alternative =
            block.alternative.map(|text| line_of(&text, MAX_CHARACTERS)).filter(|text| !text.is_empty());
        let picture = place.zip(alternative).filter(|_| pictures > 0);
        let picture = picture.filter(|(_, text)| take(&mut letters, letters_of(text)));
        pictures -= usize::from(picture.is_some());
        let mut lines = Vec::new();
        for line in block.lines {
            let Some(line) = bounded_line(line, area) else { continue };
            let count = line.text.split_whitespace().count();
            // A mark at the end is no letter: bounded again, the line has one more.
            let compared = line.text.strip_suffix(SOFT_HYPHEN).unwrap_or(&line.text);
            if count > of_page.min(*words) || !take(&mut letters, letters_of(compared)) {
                break;
            }
            of_page -= count;
            *words -= count;
            lines.push(line);
        }
        mark_divided(&mut lines);
        if lines.is_empty() && picture.is_none() {
            continue;
        }
        let (at, alternative) = picture.unzip();
        blocks.push(Block { role: block.role, lines, at, alternative });
    }
    let mut url_bytes = MAX_PAGE_URL_BYTES;
    let links = page.links.into_iter().filter_map(|link| {
        let to = match link.to {
            Target::Page(page) => Target::Page(page),
            Target::Url(url) => Target::Url(safe_url(&url).filter(|url| take(&mut url_bytes, url.len()))?),
        };
        Some(Link { at: within(link.at, area)?, to })
    });
    let label = page.label.map(|label| line_of(&label, MAX_LABEL)).filter(|label| !label.is_empty());
    Some(Page { at, label, blocks, links: links.take(MAX_LINKS).collect() })
}

/// Marks each line after which no space is read. So a reader needs no rule of its own, nor loses a hyphen that is a word's own.
fn mark_divided(lines: &mut [Line]) {
    for index in 1..lines.len() {
        let (before, after) = lines.split_at_mut(index);
        let (Some(before), Some(after)) = (before.last_mut(), after.first()) else { continue };
        let gap = gap(&before.text, &after.text);
        if gap != " " && !(gap.is_empty() && before.text.ends_with(SOFT_HYPHEN)) {
            before.text.truncate(before.text.trim_end_matches(SOFT_HYPHEN).len());
            before.text.extend(gap.chars().chain([SOFT_HYPHEN]));
        }
    }
}

fn bounded_line(line: Line, page: Rect) -> Option<Line> {
    let at = within(line.at, page)?;
    let text = line_of(&line.text, MAX_LINE_LETTERS);
    let count = text.split_whitespace().count();
    if text.trim_matches(SOFT_HYPHEN).is_empty() {
        return None;
    }
    let mut spans = line.spans;
    let shown = line.text.split_whitespace().filter(|word| word.chars().any(is_shown)).count();
    if spans.len() == 2 * shown {
        spans.truncate(2 * count); // those of words beyond the line's letters
    }
    let longest = i32::try_from(at.width.max(at.height)).unwrap_or(i32::MAX).saturating_add(ROUNDING);
    let line = Line { at, text, spans, angle: line.angle % 360, rtl: line.rtl };
    let is_within = line.spans.len() == 2 * count
        && line.spans.chunks_exact(2).all(|span| span[0].saturating_abs() <= longest && span[1] >= 0)
        && line.places().all(|(start, width)| start.saturating_add(width) <= longest.unsigned_abs());
    Some(if is_within { line } else { Line { spans: Vec::new(), ..line } })
}

/// Takes `amount` of what is `left`; returns false if that is too little.
fn take(left: &mut usize, amount: usize) -> bool {
    let rest = left.checked_sub(amount);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Returns the number of letters that a search compares. Most characters are one, or a few (Unicode, NFKD); two ligatures of
/// Arabic phrases are more.
fn letters_of(text: &str) -> usize {
    let letters = |character| match character {
        '\u{fdfa}' => 18,
        '\u{fdfb}' => 8,
        _ => 1,
    };
    text.chars().map(letters).sum()
}

fn bounded_entry(entry: Entry, pages: &[Page]) -> Option<Entry> {
    let page = pages.get(entry.page as usize)?;
    let title = Some(line_of(&entry.title, MAX_CHARACTERS)).filter(|title| !title.is_empty())?;
    let y = entry.y.map(|y| y.min(page.at.height));
    Some(Entry { depth: entry.depth.min(MAX_DEPTH), title, page: entry.page, y })
}

/// Returns the part of a rectangle that is in another one; `None` if there is none.
fn within(of: Rect, area: Rect) -> Option<Rect> {
    let part = |start: u32, length: u32, area: u32, of_area: u32| {
        let end = start.saturating_add(length).min(area.saturating_add(of_area));
        let start = start.max(area);
        end.checked_sub(start).filter(|&length| length > 0).map(|length| (start, length))
    };
    let (left, width) = part(of.left, of.width, area.left, area.width)?;
    let (top, height) = part(of.top, of.height, area.top, area.height)?;
    Some(Rect { left, top, width, height })
}

/// Returns text in one line, without invisible characters, and with one space between words.
fn line_of(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(text.len().min(4 * most.min(1 << 20)));
    let mut characters = 0;
    for word in text.split_whitespace() {
        let mut is_first = true;
        for character in word.chars().filter(|&character| is_shown(character)) {
            if is_first && !line.is_empty() {
                line.push(' ');
                characters += 1;
            }
            if characters >= most {
                return line.trim_end().to_owned();
            }
            is_first = false;
            line.push(character);
            characters += 1;
        }
    }
    line
}

fn is_shown(character: char) -> bool {
    !character.is_control() && !is_invisible(character)
}

/// Returns a URL that may be followed; `None` for schemes other than `http`, `https` and `mailto`. As in browsers, spaces
/// are encoded and ends of lines left out; as in readers of PDF, `www.` needs no scheme.
fn safe_url(url: &str) -> Option<String> {
    let url = url.trim().replace(['\t', '\r', '\n'], "").replace(' ', "%20");
    let has_no_scheme = url.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www."));
    let url = if has_no_scheme { format!("http://{url}") } else { url };
    let scheme = url.split_once(':')?.0.to_ascii_lowercase();
    let is_safe = ["http", "https", "mailto"].contains(&scheme.as_str());
    let is_plain = !url.chars().any(|character| character.is_whitespace() || !is_shown(character));
    (is_safe && is_plain && url.len() <= MAX_URL_BYTES).then_some(url)
}

fn is_language(language: &str) -> bool {
    let is_tag =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    language.len() <= MAX_LABEL && language.split('-').all(is_tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    const SIZE: Size = Size { width: 1000, height: 2000 };

    fn page(blocks: Vec<Block>, links: Vec<Link>) -> Text {
        let page = Page { blocks, links, ..Page::new(Rect::new(0, 0, 1000, 2000)) };
        Text { pages: vec![page], total: 1, ..Text::default() }
    }

    fn line(text: &str) -> Line {
        let words = text.split_whitespace().count();
        Line::new(Rect::new(1, 2, 300, 4), text, [1, 2].repeat(words))
    }

    #[test]
    fn a_million_words_are_cut_by_page_and_in_all() {
        let full = |words: usize| vec![Block::lines(Role::P, vec![line("word"); words])];
        let of_page = page(full(30_000), vec![]).bounded(SIZE);
        assert_eq!(of_page.pages[0].blocks[0].lines.len(), MAX_PAGE_WORDS);
        let many = Page { blocks: full(2000), ..Page::new(Rect::new(0, 0, 10, 20)) };
        let many = Text { pages: vec![many; 500], ..Text::default() }.bounded(SIZE);
        let words =
            many.pages.iter().flat_map(|page| &page.blocks).map(|block| block.lines.len()).sum::<usize>();
        assert_eq!((words, many.pages.len(), many.total), (MAX_WORDS, 500, 500));
    }

    #[test]
    fn letters_are_cut_by_line_and_page_as_they_are_searched() {
        let lines = |text: &str, times| page(vec![Block::lines(Role::P, vec![line(text); times])], vec![]);
        let kept = |text: Text| text.bounded(SIZE).pages.remove(0).blocks.remove(0).lines;
        let word = &kept(lines(&"é".repeat(1_000_000), 1))[0];
        assert_eq!((word.text.chars().count(), word.spans.len()), (MAX_LINE_LETTERS, 2));
        let words = &kept(lines(&format!("{} ", "w".repeat(39)).repeat(100), 1))[0];
        assert_eq!(
            (words.text.len(), words.spans.len()),
            (1999, 2 * 50),
            "the places of what is kept are kept"
        );
        assert_eq!(kept(lines(&"a".repeat(1000), 1000)).len(), MAX_PAGE_LETTERS / 1000);
        assert_eq!(kept(lines(&"\u{fdfa}".repeat(1000), 1000)).len(), MAX_PAGE_LETTERS / 18_000);
    }

    #[test]
    fn lines_are_marked_where_no_space_is_read_and_ranges_keep_their_hyphen() {
        let lines = ["1914\u{ad}", "1918 well-", "known 图书", "馆 exam\u{ad}", "ple", "end"].map(line);
        let marked = page(vec![Block::lines(Role::P, lines.into())], vec![]).bounded(SIZE);
        let texts = |text: &Text| {
            text.pages[0].blocks[0].lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>()
        };
        let expected = ["1914-\u{ad}", "1918 well-\u{ad}", "known 图书\u{ad}", "馆 exam\u{ad}", "ple", "end"];
        assert_eq!(texts(&marked), expected);
        assert_eq!(marked.plain(), "1914-1918 well-known 图书馆 example end\n");
        assert_eq!(texts(&marked.bounded(SIZE)), expected, "again");
    }

    #[test]
    fn pictures_and_urls_of_a_page_are_counted() {
        let picture = Block::picture(Rect::new(0, 0, 9, 9), "a chart".to_owned());
        let link = |length| Link {
            at: Rect::new(0, 0, 9, 9),
            to: Target::Url(format!("https://example.com/{}", "a".repeat(length))),
        };
        let text = page(vec![picture; 20_001], vec![link(2000); 2000]).bounded(SIZE);
        assert_eq!(text.pages[0].blocks.len(), MAX_PICTURES);
        assert_eq!(text.pages[0].links.len(), MAX_PAGE_URL_BYTES / 2020);
        let wordy = Block::picture(Rect::new(0, 0, 9, 9), "\u{fdfa}".repeat(1000));
        assert_eq!(
            page(vec![wordy; 100], vec![]).bounded(SIZE).pages[0].blocks.len(),
            MAX_PAGE_LETTERS / 18_000
        );
    }

    #[test]
    fn what_changes_the_direction_or_is_invisible_is_dropped() {
        let text = page(
            vec![Block::lines(
                Role::P,
                vec![line("a\u{202e}b \u{0}\u{2066}\u{200b}\u{3164}\u{e0041} c\u{7f}\u{feff}")],
            )],
            vec![],
        );
        let text = text.bounded(SIZE);
        let read = &text.pages[0].blocks[0].lines[0];
        assert_eq!(
            (read.text.as_str(), read.spans.len()),
            ("ab c", 0),
            "the places of three words are dropped"
        );
        let kept = "a\u{200c}b\u{200d}c\u{fe0f} d\u{ad}";
        let joined = page(vec![Block::lines(Role::P, vec![line(kept)])], vec![]).bounded(SIZE);
        assert_eq!(joined.pages[0].blocks[0].lines[0].text, kept, "joiners, variants and soft hyphens");
        let hidden = Block::lines(Role::P, vec![Line::new(Rect::new(0, 0, 9, 9), "\u{202e}\u{ad}", vec![])]);
        assert!(page(vec![hidden], vec![]).bounded(SIZE).is_empty());
    }

    #[test]
    fn boxes_are_cut_to_the_page_and_pages_to_the_picture() {
        let outside = Line::new(Rect::new(5000, 0, 10, 10), "outside", vec![]);
        let across = Line::new(Rect::new(990, 10, u32::MAX, 10), "across", vec![]);
        let text = page(vec![Block::lines(Role::P, vec![outside, across])], vec![]).bounded(SIZE);
        let lines = &text.pages[0].blocks[0].lines;
        assert_eq!((lines.len(), lines[0].at), (1, Rect::new(990, 10, 10, 10)));
        let beyond = Text { pages: vec![Page::new(Rect::new(1000, 0, 5, 5))], ..Text::default() };
        assert!(beyond.bounded(SIZE).pages.is_empty());
    }

    #[test]
    fn only_links_of_the_web_are_kept() {
        let links = [
            "https://example.com/ä?b#c",
            "HTTP://example.com",
            "mailto:a@example.com",
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "//example.com",
            "vbscript:x",
            "https://a b\nc",
            "www.example.com",
            "",
        ];
        let links =
            links.iter().map(|&url| Link { at: Rect::new(0, 0, 9, 9), to: Target::Url(url.to_owned()) });
        let text = page(vec![], links.collect()).bounded(SIZE);
        let kept: Vec<&Target> = text.pages[0].links.iter().map(|link| &link.to).collect();
        let expected = [
            "https://example.com/ä?b#c",
            "HTTP://example.com",
            "mailto:a@example.com",
            "https://a%20bc",
            "http://www.example.com",
        ];
        assert_eq!(kept, expected.map(|url| Target::Url(url.to_owned())).iter().collect::<Vec<_>>());
    }

    #[test]
    fn outlines_lead_to_pages_that_exist() {
        let entry = |page, depth| Entry { depth, title: "a".to_owned(), page, y: Some(9000) };
        let text = Text { outline: vec![entry(0, 200), entry(7, 0)], ..page(vec![], vec![]) }.bounded(SIZE);
        assert_eq!(text.outline, [Entry { depth: MAX_DEPTH, y: Some(2000), ..entry(0, 0) }]);
    }

    #[test]
    fn a_language_is_a_tag() {
        for (language, is_kept) in [("en", true), ("zh-Hant-TW", true), ("\"><script>", false), ("", false)] {
            let text = Text { language: Some(language.to_owned()), ..page(vec![], vec![]) };
            assert_eq!(text.bounded(SIZE).language.is_some(), is_kept, "{language}");
        }
    }
}
