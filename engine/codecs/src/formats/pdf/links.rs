//! The links of a page, and the addresses in its text. PDFium tells where links are and what most of them lead to; their
//! [annotations](Annotation) tell the rest: the parts of a link over several lines, addresses with other characters than
//! ASCII's, other files, and pages that are named by their order.
//!
//! Source: ISO 32000-1, 12.5.6.5 (link annotations), 12.6.4 (types of actions).

use edgezoom_text::{Block, Line, Link, Rect, Target};
use hayro_syntax::object::{Array, Dict, Name, Object, Rect as Corners, String as Bytes};
use pdfium_render::prelude::{PdfAction, PdfActionType, PdfDestination, PdfLink, PdfPage, PdfRect};

use super::coordinates::ToPage;
use super::layers::Layers;
use super::strings::decode;
use crate::formats::lines::rect;

/// Maximum number of links of a page that are looked at.
const MAX_LINKS: usize = 2000;
/// Maximum number of parts of a link.
const MAX_PARTS: usize = 50;
/// Numbers that differ by less are one place, in points.
const NEAR: f64 = 0.01;

/// The annotation of a link.
pub struct Annotation {
    /// Left, bottom, right and top in the page's coordinates.
    at: [f64; 4],
    /// Its parts, in the same way. None: the whole.
    parts: Vec<[f64; 4]>,
    /// Its target, if PDFium may not tell it.
    to: To,
}

#[derive(Clone)]
enum To {
    Url(String),
    Page(u32),
    AsPdfiumTells,
    /// Its layer is off.
    Nothing,
}

impl Annotation {
    /// Returns those of the page with this number, in a document of `pages` pages.
    pub fn of_page(page: &Dict<'_>, number: u32, pages: u32, layers: &Layers) -> Vec<Self> {
        let annotations = page.get::<Array<'_>>("Annots");
        let dictionaries = annotations.iter().flat_map(Array::iter::<Dict<'_>>);
        let links =
            dictionaries.filter(|link| link.get::<Name<'_>>("Subtype").is_some_and(|kind| *kind == *b"Link"));
        let read = |link: Dict<'_>| {
            let Corners { x0, y0, x1, y1 } = link.get("Rect")?;
            let action = link.get::<Dict<'_>>("A");
            let to = action.and_then(|action| target_of(&action, number, pages));
            let to = if layers.hide(&link, "OC") { To::Nothing } else { to.unwrap_or(To::AsPdfiumTells) };
            Some(Self { at: [x0, y0, x1, y1], parts: parts_of(&link), to })
        };
        links.take(MAX_LINKS).filter_map(read).collect()
    }

    fn is_at(&self, of: &PdfRect) -> bool {
        let edges = [of.left(), of.bottom(), of.right(), of.top()].map(|edge| f64::from(edge.value));
        self.at.iter().zip(edges).all(|(one, other)| (one - other).abs() < NEAR)
    }
}

/// Returns the rectangles of a link that has several.
fn parts_of(link: &Dict<'_>) -> Vec<[f64; 4]> {
    let numbers = link.get::<Array<'_>>("QuadPoints");
    let numbers: Vec<f64> = numbers.iter().flat_map(Array::iter::<f64>).take(8 * MAX_PARTS).collect();
    let part = |corners: &[f64]| {
        let edge = |first: usize, chosen: fn(f64, f64) -> f64| {
            corners.iter().skip(first).step_by(2).copied().reduce(chosen).unwrap_or_default()
        };
        [edge(0, f64::min), edge(1, f64::min), edge(0, f64::max), edge(1, f64::max)]
    };
    let parts: Vec<[f64; 4]> = numbers.chunks_exact(8).map(part).collect();
    if parts.len() > 1 { parts } else { Vec::new() }
}

fn target_of(action: &Dict<'_>, number: u32, pages: u32) -> Option<To> {
    let kind = action.get::<Name<'_>>("S")?;
    match &*kind {
        b"URI" => address(&action.get::<Bytes<'_>>("URI")?).map(To::Url),
        b"GoToR" => {
            let file = match action.get::<Object<'_>>("F")? {
                Object::Dict(file) => file.get::<Bytes<'_>>("UF").or_else(|| file.get("F"))?,
                Object::String(file) => file,
                _ => return None,
            };
            address(&file).map(To::Url)
        }
        b"Named" => {
            let last = pages.checked_sub(1)?;
            Some(To::Page(match &*action.get::<Name<'_>>("N")? {
                b"NextPage" => last.min(number + 1),
                b"PrevPage" => number.saturating_sub(1),
                b"FirstPage" => 0,
                b"LastPage" => last,
                _ => return None,
            }))
        }
        _ => None,
    }
}

/// Returns an address that names its scheme, or begins as addresses of the web do.
fn address(bytes: &[u8]) -> Option<String> {
    let address = std::str::from_utf8(bytes).map_or_else(|_| decode(bytes), str::to_owned);
    let is_whole = ["http://", "https://", "mailto:", "www."]
        .iter()
        .any(|&start| address.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)));
    is_whole.then_some(address)
}

/// Returns the links of a page, and those to addresses in its text.
pub fn links(
    page: &PdfPage<'_>,
    annotations: &[Annotation],
    to_page: &ToPage,
    blocks: &[Block],
) -> Vec<Link> {
    let mut links = Vec::new();
    for link in page.links().iter().take(MAX_LINKS) {
        let Ok(at) = link.rect() else { continue };
        let annotation = annotations.iter().find(|annotation| annotation.is_at(&at));
        let to = match annotation.map_or(To::AsPdfiumTells, |annotation| annotation.to.clone()) {
            To::Url(url) => Some(Target::Url(url)),
            To::Page(page) => Some(Target::Page(page)),
            To::AsPdfiumTells => target(&link),
            To::Nothing => None,
        };
        let Some(to) = to else { continue };
        let parts = annotation.map_or(&[][..], |annotation| &annotation.parts);
        if parts.is_empty() {
            links.push(Link { at: rect(to_page.rect(&at)), to });
        } else {
            let corners =
                |&[left, bottom, right, top]: &[f64; 4]| to_page.corners((left, bottom), (right, top));
            links.extend(parts.iter().map(|part| Link { at: rect(corners(part)), to: to.clone() }));
        }
    }
    let addresses = addresses(blocks).filter(|address| !links.iter().any(|link| link.at.holds(&address.at)));
    let addresses: Vec<Link> = addresses.take(MAX_LINKS).collect();
    links.extend(addresses);
    links
}

/// Returns the target of a link within the document or by a URL. Other actions' destinations are pages of other files.
fn target(link: &PdfLink<'_>) -> Option<Target> {
    let action = link.action();
    let destination = match &action {
        None => link.destination()?,
        Some(action) => match action.action_type() {
            PdfActionType::Uri => return Some(Target::Url(action.as_uri_action()?.uri().ok()?)),
            PdfActionType::GoToDestinationInSameDocument => {
                link.destination().or_else(|| destination_in(action))?
            }
            _ => return None,
        },
    };
    Some(Target::Page(u32::try_from(destination.page_index().ok()?).ok()?))
}

/// Returns the place in the document that an action leads to.
pub fn destination_in<'a>(action: &'a PdfAction<'_>) -> Option<PdfDestination<'a>> {
    action.as_local_destination_action()?.destination().ok()
}

/// Returns links to the addresses that stand in text.
fn addresses(blocks: &[Block]) -> impl Iterator<Item = Link> {
    let words = blocks.iter().flat_map(|block| &block.lines).flat_map(Line::words);
    words.filter_map(|(word, at): (&str, Rect)| Some(Link { at, to: Target::Url(address_in(word)?) }))
}

/// Returns the address that a word is, without the punctuation around it.
fn address_in(word: &str) -> Option<String> {
    let word = word.trim_start_matches(['(', '[', '<', '"', '\'', '“', '‘', '«']);
    let closing = |letter: char| ".,;:!?>]}\"'”’»".contains(letter) || letter == ')' && !word.contains('(');
    let found = address(word.trim_end_matches(closing).as_bytes())?;
    let host = found.split_once("//").map_or(found.as_str(), |(_, host)| host);
    let has_host = host
        .split(['/', '?', '#'])
        .next()
        .is_some_and(|host| host.split('.').count() > 1 && host.split('.').all(|label| !label.is_empty()));
    let is_mail = found.starts_with("mailto:");
    (has_host && !is_mail && !word.ends_with(edgezoom_text::SOFT_HYPHEN)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_text_ends_before_punctuation() {
        let found = |word| address_in(word).unwrap_or_default();
        assert_eq!(found("(https://example.org/a?b=1),"), "https://example.org/a?b=1");
        assert_eq!(found("https://example.org/Tide_(sea)."), "https://example.org/Tide_(sea)");
        assert_eq!(found("«www.example.org»"), "www.example.org");
        assert_eq!(found("HTTP://EXAMPLE.ORG"), "HTTP://EXAMPLE.ORG");
        for word in
            ["https://", "www.", "http://a..b", "example.org", "https://example.org/a\u{ad}", "wwwabc"]
        {
            assert_eq!(found(word), "", "{word}");
        }
    }

    #[test]
    fn addresses_are_read_in_the_characters_that_they_have() {
        assert_eq!(address("https://example.org/ä".as_bytes()).as_deref(), Some("https://example.org/ä"));
        assert_eq!(address(b"https://example.org/\xe4").as_deref(), Some("https://example.org/ä"));
        assert_eq!(address(b"other.pdf"), None);
    }
}
