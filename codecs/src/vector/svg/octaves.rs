//! Limits the octaves of noise. Each octave has half the amplitude of the one before and takes as long, so that of the
//! tenth nothing is left in 8 bits; a document may ask for billions.
//!
//! Source: Filter Effects Module Level 1, section 9.24 (feTurbulence).

use resvg::usvg::Tree;
use resvg::usvg::filter::Kind;
use resvg::usvg::roxmltree::Document;

/// The octaves that are drawn.
pub const MOST: u32 = 10;

/// The document's text with no more octaves than are drawn. `None` when it asks for no more.
pub fn limited(document: &Document<'_>, text: &str) -> Option<String> {
    let is_too_many = |value: &str| value.trim().parse::<f32>().is_ok_and(|octaves| octaves > MOST as f32);
    let mut values: Vec<_> = document
        .descendants()
        .filter(|node| node.tag_name().name() == "feTurbulence")
        .flat_map(|node| node.attributes())
        .filter(|attribute| attribute.name() == "numOctaves" && is_too_many(attribute.value()))
        .map(|attribute| attribute.range_value())
        .collect();
    if values.is_empty() {
        return None;
    }
    // From the end, so that the places before stay where they are. One in an entity may be there several times.
    values.sort_by_key(|range| std::cmp::Reverse(range.start));
    values.dedup();
    let mut limited = text.to_owned();
    for range in values {
        if limited.get(range.clone()).is_some() {
            limited.replace_range(range, &MOST.to_string());
        }
    }
    Some(limited)
}

/// The octaves of the tree's noisiest filter.
pub fn most(tree: &Tree) -> u32 {
    let kinds =
        tree.filters().iter().flat_map(|filter| filter.primitives()).map(|primitive| primitive.kind());
    kinds
        .map(|kind| if let Kind::Turbulence(noise) = kind { noise.num_octaves() } else { 0 })
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Option<String> {
        limited(&Document::parse(text).unwrap(), text)
    }

    #[test]
    fn octaves_that_cannot_be_seen_are_taken_away() {
        let svg = |first: &str, second: &str| {
            format!("<svg><feTurbulence numOctaves='{first}'/>ä<feTurbulence numOctaves=\"{second}\"/></svg>")
        };
        assert_eq!(limit(&svg("2000000000", " 1e9 ")), Some(svg("10", "10")));
        assert_eq!(limit(&svg("3", "11")), Some(svg("3", "10")));
        assert_eq!(limit(&svg("10", "many")), None);
    }
}
