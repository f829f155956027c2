//! A text as plain text, HTML and hOCR.
//!
//! Source: hOCR 1.2, <http://kba.github.io/hocr-spec/1.2/>.

use std::borrow::Cow;
use std::fmt::Write;
use std::iter;

use crate::joins::gap;
use crate::links::LinkMap;
use crate::{Block, Line, Page, Rect, Role, SOFT_HYPHEN, Target, Text};

/// Number of bytes after which no other block begins in [`Text::beginning`].
const BEGINNING: usize = 200;
/// Maximum number of characters of an HTML page's title.
const MAX_TITLE: usize = 80;
/// Length of the HTML in bytes after which URLs are left out: where two links alternate, each word has one of 2 kB.
const MAX_LINKED: usize = 16 << 20;
/// For people who read it in a browser.
const STYLE: &str = "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n\
    :root { color-scheme: light dark; }\n\
    body { max-width: 42em; margin: auto; padding: 1em; font: 1em/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }\n\
    section + section { border-top: 1px solid; margin-top: 2em; }\n\
    </style>\n";

impl Text {
    /// Returns the words as plain text: a line for each block, an empty line between blocks, and a form feed between
    /// pages. Words that were divided are joined.
    #[must_use]
    pub fn plain(&self) -> String {
        let page = |page: &Page| {
            let blocks = page.blocks.iter().map(|block| block.joined() + "\n");
            blocks.collect::<Vec<_>>().join("\n")
        };
        self.pages.iter().map(page).collect::<Vec<_>>().join("\x0c")
    }

    /// Returns the first paragraphs and headings in one line.
    #[must_use]
    pub fn beginning(&self) -> String {
        let blocks = self.pages.iter().flat_map(|page| &page.blocks).filter(|block| !block.lines.is_empty());
        let mut beginning = String::new();
        for block in blocks {
            if beginning.len() >= BEGINNING {
                break;
            }
            if !beginning.is_empty() {
                beginning.push(' ');
            }
            beginning += &block.joined();
        }
        beginning
    }

    /// Returns the words as HTML: a section for each page, with headings, paragraphs, lists, pictures' alternative texts
    /// and links.
    #[must_use]
    pub fn html(&self) -> String {
        let mut html = self.head(STYLE) + "<main>\n";
        for (index, page) in self.pages.iter().enumerate() {
            let number = index + 1;
            let label = page.label.as_deref().map_or(Cow::Owned(number.to_string()), escape);
            write(&mut html, format_args!("<section id=\"page-{number}\" aria-label=\"{label}\">\n"));
            let links = LinkMap::new(&page.links);
            let mut in_list = false;
            for block in &page.blocks {
                let is_item = block.role == Role::Li;
                if is_item != in_list {
                    html += if is_item { "<ul>\n" } else { "</ul>\n" };
                    in_list = is_item;
                }
                block.write_html(&mut html, &links, self.pages.len());
            }
            html += if in_list { "</ul>\n</section>\n" } else { "</section>\n" };
        }
        html + "</main>\n</body>\n</html>\n"
    }

    /// Returns the words as hOCR, in pixels of the picture.
    #[must_use]
    pub fn hocr(&self) -> String {
        let capabilities = "<meta name=\"ocr-system\" content=\"edgezoom\">\n\
            <meta name=\"ocr-capabilities\" content=\"ocr_page ocr_par ocr_line ocrx_word\">\n";
        let mut hocr = self.head(capabilities);
        for (index, page) in self.pages.iter().enumerate() {
            let place = bbox(page.at, Rect::default());
            write(&mut hocr, format_args!("<div class=\"ocr_page\" title=\"{place}; ppageno {index}\">\n"));
            for block in page.blocks.iter().filter(|block| !block.lines.is_empty()) {
                hocr += "<p class=\"ocr_par\">\n";
                for line in &block.lines {
                    line.write_hocr(&mut hocr, page.at);
                }
                hocr += "</p>\n";
            }
            hocr += "</div>\n";
        }
        hocr + "</body>\n</html>\n"
    }

    fn head(&self, more: &str) -> String {
        let language = self.language.as_deref().map(escape).unwrap_or_default();
        let mut headings =
            self.pages.iter().flat_map(|page| &page.blocks).filter(|block| block.role == Role::H1);
        let title = headings.next().map_or_else(|| self.beginning(), Block::joined);
        let title: String = title.chars().take(MAX_TITLE).collect();
        let title = if title.is_empty() { Cow::Borrowed("Words") } else { escape(&title) };
        format!(
            "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{title}</title>\n{more}</head>\n<body>\n"
        )
    }
}

impl Block {
    /// Returns its words in one line. Words that were divided are joined.
    #[must_use]
    pub fn joined(&self) -> String {
        if let Some(alternative) = &self.alternative {
            return alternative.clone();
        }
        let mut joined = String::new();
        let mut before = None;
        for line in &self.lines {
            joined += before.map_or("", |before| gap(before, &line.text));
            joined.extend(line.text.chars().filter(|&letter| letter != SOFT_HYPHEN));
            before = Some(&line.text);
        }
        joined
    }

    fn write_html(&self, html: &mut String, links: &LinkMap<'_>, pages: usize) {
        let element = match self.role {
            Role::H1 => "h1",
            Role::H2 => "h2",
            Role::H3 => "h3",
            Role::H4 => "h4",
            Role::H5 => "h5",
            Role::H6 => "h6",
            Role::Li => "li",
            Role::P | Role::Td | Role::Img => "p",
        };
        write(html, format_args!("<{element}>"));
        if let Some(alternative) = &self.alternative {
            write(html, format_args!("<span role=\"img\" aria-label=\"{}\"></span>", escape(alternative)));
        }
        let mut open = None;
        let before = iter::once(None).chain(self.lines.iter().map(Some));
        let words = before.zip(&self.lines).flat_map(|(before, line)| {
            let first = before.map_or("", |before| gap(&before.text, &line.text));
            iter::once(first).chain(iter::repeat(" ")).zip(line.words())
        });
        for (space, (word, place)) in words {
            let is_written = |to: &&Target| match to {
                Target::Page(page) => (*page as usize) < pages,
                Target::Url(_) => html.len() < MAX_LINKED,
            };
            // A link of several lines has a place in each.
            let link = links.at(place).map(|link| &link.to).filter(is_written);
            let is_other = link != open;
            if is_other && open.is_some() {
                *html += "</a>";
            }
            *html += space;
            match link.filter(|_| is_other) {
                Some(Target::Url(url)) => {
                    write(html, format_args!("<a href=\"{}\" rel=\"noopener nofollow\">", escape(url)));
                }
                Some(Target::Page(page)) => write(html, format_args!("<a href=\"#page-{}\">", page + 1)),
                None => {}
            }
            open = link;
            *html += &escape(&word.replace(SOFT_HYPHEN, ""));
        }
        if open.is_some() {
            *html += "</a>";
        }
        write(html, format_args!("</{element}>\n"));
    }
}

impl Line {
    fn write_hocr(&self, hocr: &mut String, page: Rect) {
        let place = bbox(self.at, page);
        // Counter-clockwise (hOCR, textangle).
        let angle = if self.angle == 0 { String::new() } else { format!("; textangle {}", 360 - self.angle) };
        write(hocr, format_args!("<span class=\"ocr_line\" title=\"{place}{angle}\">"));
        for (index, (word, at)) in self.words().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let (place, word) = (bbox(at, page), escape(word));
            write(hocr, format_args!("{space}<span class=\"ocrx_word\" title=\"{place}\">{word}</span>"));
        }
        *hocr += "</span>\n";
    }
}

/// Returns a rectangle of a page as corners in the picture.
fn bbox(Rect { left, top, width, height }: Rect, page: Rect) -> String {
    let (left, top) = (u64::from(left) + u64::from(page.left), u64::from(top) + u64::from(page.top));
    format!("bbox {left} {top} {} {}", left + u64::from(width), top + u64::from(height))
}

/// Writing to a string does not fail.
fn write(to: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = to.write_fmt(what);
}

/// Escapes text for HTML: for elements, and for attributes in quotes.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, MAX_WORDS};

    fn text() -> Text {
        let line =
            |top, text: &str, spans: &[i32]| Line::new(Rect::new(10, top, 300, 20), text, spans.to_vec());
        let blocks = vec![
            Block::lines(Role::H1, vec![line(0, "Tides & <currents>", &[0, 50, 10, 10, 10, 100])]),
            Block::lines(
                Role::P,
                vec![line(30, "They are exam\u{ad}", &[0, 40, 9, 30, 9, 50]), line(60, "ples here", &[])],
            ),
            Block::lines(Role::Li, vec![line(90, "one", &[0, 30])]),
            Block::lines(Role::Li, vec![line(120, "two", &[0, 30])]),
            Block::picture(Rect::new(0, 200, 50, 50), "A \"chart\"".to_owned()),
        ];
        let links = vec![
            Link { at: Rect::new(5, 85, 100, 30), to: Target::Url("https://example.com/?a&b".to_owned()) },
            Link { at: Rect::new(5, 115, 100, 30), to: Target::Page(1) },
            Link { at: Rect::new(5, 25, 100, 30), to: Target::Page(2) }, // the picture does not have it
        ];
        let first = Page { blocks, links, ..Page::new(Rect::new(100, 200, 400, 500)) };
        Text { pages: vec![first, Page::new(Rect::new(600, 200, 400, 500))], total: 2, ..Text::default() }
    }

    #[test]
    fn plain_text_joins_the_lines_of_a_block_and_divided_words() {
        let expected = "Tides & <currents>\n\nThey are examples here\n\none\n\ntwo\n\nA \"chart\"\n\x0c";
        assert_eq!(text().plain(), expected);
    }

    #[test]
    fn html_has_headings_lists_and_links_and_the_text_is_no_markup() {
        let html = text().html();
        for part in [
            "<title>Tides &amp; &lt;currents&gt;</title>",
            "<h1>Tides &amp; &lt;currents&gt;</h1>",
            "<p>They are examples here</p>",
            "<ul>\n<li><a href=\"https://example.com/?a&amp;b\" rel=\"noopener nofollow\">one</a></li>\n\
             <li><a href=\"#page-2\">two</a></li>\n</ul>",
            "<span role=\"img\" aria-label=\"A &quot;chart&quot;\"></span>",
            "<section id=\"page-2\" aria-label=\"2\">",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
    }

    #[test]
    fn words_of_chinese_and_soft_hyphens_are_whole_in_html_with_links_too() {
        let line = |top, text: &str| Line::new(Rect::new(10, top, 300, 20), text, vec![0, 300]);
        let lines = vec![
            line(0, "数字图书"),
            line(30, "馆检索"),
            line(60, "a su\u{ad}perb well-"),
            line(90, "known"),
        ];
        let to = Target::Url("https://example.com/".to_owned());
        let links = vec![Link { at: Rect::new(0, 25, 320, 30), to }];
        let page = Page {
            blocks: vec![Block::lines(Role::P, lines)],
            links,
            ..Page::new(Rect::new(0, 0, 400, 500))
        };
        let html = Text { pages: vec![page], total: 1, ..Text::default() }.html();
        let link = "<a href=\"https://example.com/\" rel=\"noopener nofollow\">馆检索</a>";
        assert!(html.contains(&format!("<p>数字图书{link} a superb well-known</p>")), "{html}");
    }

    #[test]
    fn a_word_that_has_a_link_within_it_is_its_text() {
        let line = Line::new(Rect::new(0, 0, 100, 20), "the tide[1] rises", vec![0, 20, 5, 50, 5, 20]);
        let to = Target::Url("https://example.com/".to_owned());
        let links = vec![Link { at: Rect::new(60, 0, 15, 10), to }];
        let blocks = vec![Block::lines(Role::P, vec![line])];
        let page = Page { blocks, links, ..Page::new(Rect::new(0, 0, 100, 20)) };
        let html = Text { pages: vec![page], total: 1, ..Text::default() }.html();
        let link = "<a href=\"https://example.com/\" rel=\"noopener nofollow\">tide[1]</a>";
        assert!(html.contains(&format!("<p>the {link} rises</p>")), "{html}");
    }

    #[test]
    fn links_that_alternate_do_not_write_their_urls_without_end() {
        let url = |letter| Target::Url(format!("https://example.com/{letter}{}", "&".repeat(2000)));
        let at = |x: u32| Rect::new(2 * x, 0, 1, 10);
        let links = (0..2000).map(|x| Link { at: at(x), to: url(if x % 2 == 0 { 'a' } else { 'b' }) });
        let line = Line::new(Rect::new(0, 0, 4000, 10), "a ".repeat(2000).trim_end(), [1, 1].repeat(2000));
        let line = Line {
            spans: line.spans.iter().enumerate().map(|(index, _)| i32::from(index > 0)).collect(),
            ..line
        };
        let blocks = vec![Block::lines(Role::P, vec![line; 10])];
        let page = Page { blocks, links: links.collect(), ..Page::new(Rect::new(0, 0, 4000, 10)) };
        // Of 20,000 words, which would be 200 MB, and of all that a text has, 5 GB.
        for pages in [1, MAX_WORDS / 20_000] {
            let text = Text { pages: vec![page.clone(); pages], total: 1, ..Text::default() };
            let html = text.html();
            assert!(html.matches("<a href").count() > 1000, "the words have links");
            assert!(html.len() < 18 << 20, "{}", html.len());
        }
    }

    #[test]
    fn the_beginning_is_the_first_blocks_in_one_line() {
        assert_eq!(text().beginning(), "Tides & <currents> They are examples here one two");
        assert_eq!(Text::default().beginning(), "");
    }

    #[test]
    fn hocr_has_places_in_the_picture() {
        let hocr = text().hocr();
        for part in [
            "<div class=\"ocr_page\" title=\"bbox 100 200 500 700; ppageno 0\">",
            "<span class=\"ocr_line\" title=\"bbox 110 230 410 250\"><span class=\"ocrx_word\" title=\"bbox 110 230 150 250\">They</span>",
        ] {
            assert!(hocr.contains(part), "{part}\n{hocr}");
        }
    }
}
