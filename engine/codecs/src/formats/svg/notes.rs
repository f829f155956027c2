//! The links and alternative texts of a drawing, which resvg drops. It keeps the identifiers of groups, so each link and
//! each picture gets one before the drawing is parsed, by which its place is found.
//!
//! Source: SVG 2, 5.7 (title, desc), 16.2 (a); Accessible Name and Description Computation 1.2; SVG Accessibility API
//! Mappings 1.0, chapter 8.

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, NS_XML_URI, Node};

use super::features::Edit;

/// Maximum number of links, and of pictures.
const MAX_NOTES: usize = 2000;
/// Maximum length of an alternative text in bytes.
const MAX_ALTERNATIVE: usize = 8192;
const XLINK: &str = "http://www.w3.org/1999/xlink";

/// The links and alternative texts of a drawing.
#[derive(Default)]
pub struct Notes {
    /// Targets of links, by the identifiers of their groups.
    pub links: HashMap<String, String>,
    /// Links within texts, by the identifiers of these: their words without white space, and their targets.
    pub in_texts: HashMap<String, Vec<(String, String)>>,
    /// Alternative texts of groups, by their identifiers.
    pub pictures: HashMap<String, String>,
    /// Alternative text of the drawing.
    pub whole: Option<String>,
    /// Language of the first text (BCP 47).
    pub language: Option<String>,
}

/// Reads a drawing and its text. Returns the changes that give identifiers, too.
pub fn read(document: &Document<'_>, text: &str) -> (Notes, Vec<Edit>) {
    let root = document.root_element();
    let elements = || root.descendants().filter(Node::is_element);
    let titles = elements().filter(|node| is(node, "title") || is(node, "desc"));
    let titles: HashMap<&str, Node<'_, '_>> =
        titles.filter_map(|node| Some((node.attribute("id")?, node))).collect();
    let language = elements().find(|node| is(node, "text")).unwrap_or(root).ancestors().find_map(language);
    let mut notes = Notes { whole: alternative(root, &titles), language, ..Notes::default() };
    let mut edits = Vec::new();
    let mut links = 0;
    for node in elements().filter(|node| *node != root) {
        let href = (is(&node, "a") && links < MAX_NOTES).then(|| href(node)).flatten();
        let is_picture = (is(&node, "a") || is(&node, "g"))
            && node.attribute("role").is_some_and(|role| matches!(role.trim(), "img" | "graphics-symbol"));
        let alternative =
            if is_picture && notes.pictures.len() < MAX_NOTES { alternative(node, &titles) } else { None };
        if href.is_none() && alternative.is_none() {
            continue;
        }
        links += usize::from(href.is_some());
        // Of a link within a text only the letters are left.
        let whole = node.ancestors().skip(1).find(|above| is(above, "text"));
        let Some(id) = identifier(whole.unwrap_or(node), text, root, &mut edits) else { continue };
        match (whole, href) {
            (Some(_), Some(href)) => {
                notes.in_texts.entry(id).or_default().push((without_space(&words(node)), href));
            }
            (_, href) => {
                notes.links.extend(href.map(|href| (id.clone(), href)));
                notes.pictures.extend(alternative.map(|alternative| (id, alternative)));
            }
        }
    }
    (notes, edits)
}

/// Returns the identifier of an element, which `edits` give it unless it has one. `None`: it cannot have one.
fn identifier(node: Node<'_, '_>, text: &str, root: Node<'_, '_>, edits: &mut Vec<Edit>) -> Option<String> {
    if let Some(id) = node.attribute("id").filter(|id| !id.is_empty()) {
        return Some(id.to_owned());
    }
    let start = node.range().start;
    let tag = text.get(start..).unwrap_or_default();
    let end = tag.find(|char: char| char.is_ascii_whitespace() || matches!(char, '>' | '/'));
    let place = start + end.unwrap_or(0);
    // An entity is declared before the root, in quotes, and may be used several times.
    let is_in_entity = start <= root.range().start;
    if is_in_entity || !tag.starts_with('<') || node.has_attribute("id") {
        return None;
    }
    let id = format!("edgezoom-{place}");
    let edit = (place..place, format!(" id=\"{id}\""));
    // A text with several links has one.
    if !edits.contains(&edit) {
        edits.push(edit);
    }
    Some(id)
}

pub fn without_space(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace()).collect()
}

fn is(node: &Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name
}

/// Returns the target of a link.
fn href(link: Node<'_, '_>) -> Option<String> {
    let href = link.attribute("href").or_else(|| link.attribute((XLINK, "href")))?.trim();
    let scheme = href.split_once(':')?.0.to_ascii_lowercase();
    matches!(scheme.as_str(), "http" | "https" | "mailto").then(|| href.to_owned())
}

/// Returns the language that an element says (SVG 2, 5.9.2).
fn language(node: Node<'_, '_>) -> Option<String> {
    let language = node.attribute("lang").or_else(|| node.attribute((NS_XML_URI, "lang")))?.trim();
    (!language.is_empty()).then(|| language.to_owned())
}

/// Returns the name of an element and its description.
fn alternative(node: Node<'_, '_>, titles: &HashMap<&str, Node<'_, '_>>) -> Option<String> {
    let is_decoration = node.attribute("aria-hidden") == Some("true")
        || node.attribute("role").is_some_and(|role| matches!(role.trim(), "none" | "presentation"));
    if is_decoration {
        return None;
    }
    let named = |attribute: &str| {
        let ids = node.attribute(attribute)?.split_whitespace();
        some(&ids.filter_map(|id| titles.get(id)).map(|node| words(*node)).collect::<Vec<_>>().join(" "))
    };
    let child =
        |name: &str| node.children().find(|child| is(child, name)).and_then(|child| some(&words(child)));
    let labelled = named("aria-labelledby").or_else(|| some(node.attribute("aria-label")?));
    let described = named("aria-describedby").or_else(|| child("desc"));
    match (labelled.or_else(|| child("title")), described) {
        // A name may be made of the title and the description.
        (Some(name), Some(description)) if !name.contains(&description) => {
            Some(format!("{name}: {description}"))
        }
        (name, description) => name.or(description),
    }
}

/// Returns a text that says something: Graphviz calls drawings "%3".
fn some(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (text.chars().any(char::is_alphabetic) && text.len() <= MAX_ALTERNATIVE).then_some(text)
}

fn words(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

#[cfg(test)]
mod tests {
    use resvg::usvg::roxmltree::ParsingOptions;

    use super::*;
    use crate::formats::svg::features::edited;

    fn notes(text: &str) -> (Notes, Option<String>) {
        let (notes, edits) = read(&Document::parse_with_options(text, options()).unwrap(), text);
        (notes, edited(text, edits))
    }

    fn options<'a>() -> ParsingOptions<'a> {
        ParsingOptions { allow_dtd: true, ..Default::default() }
    }

    #[test]
    fn a_text_with_links_in_it_gets_one_identifier() {
        let text = "<svg><text>See <a href='https://a.example/'>this <tspan>one</tspan></a> and \
            <a href='https://b.example/'>that</a></text><text id='own'><a href='mailto:c@d.example'>c</a></text></svg>";
        let (found, changed) = notes(text);
        let of = |words: &str, to: &str| (words.to_owned(), to.to_owned());
        assert_eq!(found.in_texts["own"], [of("c", "mailto:c@d.example")]);
        let (id, links) = found.in_texts.iter().find(|(id, _)| *id != "own").unwrap();
        assert_eq!(*links, [of("thisone", "https://a.example/"), of("that", "https://b.example/")]);
        assert_eq!(changed.unwrap(), text.replacen("<text>", &format!("<text id=\"{id}\">"), 1));
    }

    #[test]
    fn links_of_the_web_get_an_identifier() {
        let text = "<svg xmlns:x='http://www.w3.org/1999/xlink'><a\nhref='https://a.example/'/>\
            <a id='own' x:href='mailto:a@b.example'/><a href='javascript:alert(1)'/><a href='#part'/></svg>";
        let (found, changed) = notes(text);
        assert_eq!((found.links.len(), found.links["own"].as_str()), (2, "mailto:a@b.example"));
        let id = found.links.iter().find(|(_, to)| *to == "https://a.example/").unwrap().0;
        assert_eq!(changed.unwrap(), text.replacen("<a\n", &format!("<a id=\"{id}\"\n"), 1));
    }

    #[test]
    fn a_link_in_an_entity_is_left_out() {
        let text = "<!DOCTYPE svg [<!ENTITY e \"<a href='https://a.example/'/>\">]><svg>&e;&e;</svg>";
        let (found, changed) = notes(text);
        assert_eq!((found.links.len(), changed), (0, None));
    }

    #[test]
    fn a_picture_is_named_by_its_label_or_title_and_described() {
        let whole = |inside: &str| notes(&format!("<svg {inside}</svg>")).0.whole;
        assert_eq!(whole("><title>Tides</title><desc>in Dover</desc>").as_deref(), Some("Tides: in Dover"));
        assert_eq!(whole("aria-label='High water'><title>Tides</title>").as_deref(), Some("High water"));
        let labelled = "aria-labelledby='t d'><g><title id='t'>Tides</title><desc id='d'>in Dover</desc></g>";
        assert_eq!(whole(labelled).as_deref(), Some("Tides in Dover"));
        assert_eq!(whole("><title>%3</title>"), None);
        assert_eq!(whole("aria-hidden='true'><title>Tides</title>"), None);
        let group = "<svg><g role='img'><title>Dover</title></g><g><title>tooltip</title></g></svg>";
        let (found, _) = notes(group);
        assert_eq!(found.pictures.values().collect::<Vec<_>>(), ["Dover"]);
    }
}
