//! Reads a drawing for what resvg does not know. What a browser would draw otherwise becomes a feature, for a browser to
//! draw. What no browser knows either is taken out of the text, because usvg would not keep the earlier value as CSS
//! says; and `light-dark()` and a colour as `background` are written as resvg knows them.
//!
//! Source: Media Queries Level 4; SVG 2, chapters 6 (styling) and 11 (text).

mod rules;
mod values;

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;

use edgezoom_geometry::DrawingFeatures as Features;
use resvg::usvg::roxmltree::{Document, Node};
use svgtypes::{Color, FontShorthand, Paint};

use rules::{at_rule, is_new_selector, may_match, never_matches};
use values::{
    is_css_transform, is_invalid, is_paint, is_system_colour, is_unknown_paint, known_paint,
    without_line_height,
};

use super::css::{Declaration, Piece, Rule, Rules, declarations, functions, has_block, next_outside, pieces};

/// A replacement of a part of the drawing's text.
pub type Edit = (Range<usize>, String);

/// The result of reading a drawing.
#[derive(Debug, Default)]
pub struct Findings {
    /// Features that need a browser.
    pub features: Features,
    /// Changes that do not.
    pub edits: Vec<Edit>,
}

/// Reads a drawing and its text.
pub fn read(document: &Document<'_>, text: &str) -> Findings {
    let mut reader =
        Reader { text, findings: Findings::default(), is_dark: false, animates: None, keeps_end: false };
    let root = document.root_element();
    let style = root.attribute("style").unwrap_or_default();
    reader.is_dark = declarations(style).any(|Declaration { name, value, .. }| {
        let value = value.to_ascii_lowercase();
        name == "color-scheme" && value.contains("dark") && !value.contains("light")
    });
    for node in root.descendants().filter(|node| node.is_element() && is_of_svg(*node)) {
        reader.element(node, node == root);
    }
    if reader.keeps_end && reader.animates != Some(false) {
        reader.findings.features |= Features::ANIMATIONS;
    }
    reader.findings
}

/// Makes these changes to a text. Returns `None` if there are none. Of two that overlap, the first counts.
pub fn edited(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    // A value in an entity may be found several times.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = String::with_capacity(if edits.is_empty() { 0 } else { text.len() });
    let mut from = 0;
    for (range, replacement) in edits {
        if range.start >= from
            && let Some(kept) = text.get(from..range.start)
            && text.is_char_boundary(range.end)
        {
            edited.push_str(kept);
            edited.push_str(&replacement);
            from = range.end;
        }
    }
    (from > 0).then(|| edited + text.get(from..).unwrap_or_default())
}

/// Returns true if a length is a number with or without a unit, but not a percentage.
pub fn is_absolute(length: &str) -> bool {
    length.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '.' | '+'))
        && length.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '+' | '-'))
}

struct Reader<'a> {
    text: &'a str,
    findings: Findings,
    /// True if the drawing asks for the dark colours.
    is_dark: bool,
    /// Set if there are animations in CSS: true if all of them end.
    animates: Option<bool>,
    /// True if an animation in CSS keeps its end.
    keeps_end: bool,
}

/// A value in the drawing, and where it is in the text. `None` if the text has it in another spelling, with entities.
#[derive(Clone, Copy)]
struct Place(Option<usize>);

impl Place {
    fn range(self, within: &Range<usize>) -> Option<Range<usize>> {
        self.0.map(|start| start + within.start..start + within.end)
    }
}

/// Attributes that are CSS properties, too, and whose values may be functions.
const PRESENTATION: [&str; 27] = [
    "clip-path",
    "color",
    "cx",
    "cy",
    "fill",
    "fill-opacity",
    "filter",
    "flood-color",
    "font-size",
    "height",
    "lighting-color",
    "mask",
    "opacity",
    "r",
    "rx",
    "ry",
    "stop-color",
    "stop-opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-opacity",
    "stroke-width",
    "vector-effect",
    "width",
    "x",
    "y",
];

impl Reader<'_> {
    fn element(&mut self, node: Node<'_, '_>, is_root: bool) {
        let element = node.tag_name().name();
        match element {
            "foreignObject" if is_filled(node) && !has_fallback(node) => {
                self.findings.features |= Features::HTML;
            }
            "style" => self.style_element(node),
            "animate" | "animateTransform" | "animateMotion" | "set" if keeps_its_end(node) => {
                self.findings.features |= Features::ANIMATIONS;
            }
            _ => {}
        }
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let (name, value, range) = (attribute.name(), attribute.value(), attribute.range_value());
            let place = Place((self.text.get(range.clone()) == Some(value)).then_some(range.start));
            if name == "style" {
                self.block(value, place, Some(element), is_root);
                if is_root {
                    self.size_in_style(node, value);
                }
            } else if PRESENTATION.contains(&name) {
                let light = self.light(value);
                let lower = light.to_ascii_lowercase();
                self.value(name, &light);
                if matches!(name, "clip-path" | "mask") {
                    self.property(name, &light, &lower, None, false);
                }
                let known = known_paint(&light).filter(|_| is_paint(name));
                if is_paint(name) && is_unknown_paint(&light) {
                    self.findings.edits.push((attribute.range(), String::new()));
                } else if let Some(known) = known.filter(|known| *known != light) {
                    self.findings.edits.push((range, known.into_owned()));
                } else if let Cow::Owned(light) = light {
                    self.edit_or(place.range(&(0..value.len())), light, Features::COLOURS);
                }
            }
        }
    }

    /// Copies a size of the root from CSS to its attributes.
    fn size_in_style(&mut self, root: Node<'_, '_>, style: &str) {
        let lengths = declarations(style).filter(|Declaration { name, value, .. }| {
            matches!(*name, "width" | "height")
                && is_absolute(value)
                && value.ends_with(|last: char| last.is_ascii_alphabetic())
        });
        for Declaration { name, value: length, .. } in lengths {
            let start = root.range().start;
            let edit = match root.attribute_node(name) {
                Some(attribute) => (attribute.range_value(), length.to_owned()),
                None => {
                    let tag = self.text.get(start..).unwrap_or_default();
                    let end = tag.find(|char: char| char.is_ascii_whitespace() || matches!(char, '>' | '/'));
                    let end = start + end.unwrap_or(0);
                    (end..end, format!(" {name}=\"{length}\""))
                }
            };
            self.findings.edits.push(edit);
        }
    }

    fn style_element(&mut self, node: Node<'_, '_>) {
        if node.attribute("media").is_some_and(|query| !matches!(query.trim(), "" | "all" | "screen")) {
            self.findings.features |= Features::CONDITIONS;
        }
        for child in node.children().filter(Node::is_text) {
            let css = child.text().unwrap_or_default();
            // A section of CDATA begins before its text.
            let raw = self.text.get(child.range()).unwrap_or_default();
            let start = raw.find(css).map(|at| child.range().start + at);
            self.rules(css, Place(start), 0);
        }
    }

    /// Reads the rules of a style sheet, or of a block in one.
    fn rules(&mut self, css: &str, place: Place, depth: usize) {
        for Rule { prelude, block } in Rules::new(css) {
            let Some(block) = block else { continue };
            let inner = css.get(block.clone()).unwrap_or_default();
            match at_rule(prelude).as_deref() {
                Some("font-face") => self.font_face(inner),
                Some("media") if !may_match(prelude) => {}
                Some("media" | "supports" | "layer" | "container" | "scope" | "starting-style") => {
                    self.findings.features |= Features::CONDITIONS;
                    if depth < MOST_LEVELS {
                        self.rules(inner, Place(None), depth + 1);
                    }
                }
                Some(_) => {}
                None => self.style_rule(prelude, inner, Place(place.0.map(|place| place + block.start))),
            }
        }
    }

    fn style_rule(&mut self, selector: &str, block: &str, place: Place) {
        if never_matches(selector) {
            return;
        }
        if has_block(block) {
            self.findings.features |= Features::NESTING;
        }
        let is_root = matches!(selector.trim(), "svg" | ":root" | "svg:root");
        let applies = self.block(block, place, None, is_root);
        if applies && is_new_selector(selector) {
            self.findings.features |= Features::SELECTORS;
        }
    }

    /// Reads a block of declarations. Returns true if any of them may change what is drawn.
    fn block(&mut self, block: &str, place: Place, element: Option<&str>, is_root: bool) -> bool {
        let mut applies = false;
        for piece in pieces(block) {
            match piece {
                Piece::Declaration(declaration) => {
                    applies |= !declaration.name.starts_with("--") && declaration.name != "color-scheme";
                    self.declaration(&declaration, place, element, is_root);
                }
                // CSS drops what it does not know; simplecss would drop all that follows, too.
                Piece::Malformed(whole) => {
                    self.edit_or(place.range(&whole), String::new(), Features::default());
                }
            }
        }
        applies
    }

    /// Reads `@font-face`. A font counts if it is in the drawing and something is set in it.
    fn font_face(&mut self, block: &str) {
        let (mut is_embedded, mut family) = (false, "");
        for Declaration { name, value, .. } in declarations(block) {
            match name.to_ascii_lowercase().as_str() {
                "src" => is_embedded = value.contains("data:"),
                "font-family" => family = value.trim_matches(['"', '\'', ' ']),
                _ => {}
            }
        }
        let is_used = family.is_empty() || self.text.match_indices(family).nth(1).is_some();
        if is_embedded && is_used {
            self.findings.features |= Features::FONTS;
        }
    }

    /// Reads a declaration. `element` is the name of its element, if it is in a `style` attribute.
    fn declaration(
        &mut self,
        Declaration { name, value, range, whole }: &Declaration<'_>,
        place: Place,
        element: Option<&str>,
        is_root: bool,
    ) {
        if name.starts_with("--") {
            return; // it counts where it is used
        }
        let (range, whole) = (place.range(range), place.range(whole));
        let (lower_name, light) = (name.to_ascii_lowercase(), self.light(value));
        let lower = light.to_ascii_lowercase();
        if is_invalid(&lower_name, &light) {
            // As with what is malformed.
            return self.edit_or(whole, String::new(), Features::default());
        }
        self.value(&lower_name, &light);
        let spelled = match lower_name.as_str() {
            "font" => without_line_height(&light),
            name if is_paint(name) => known_paint(&light).unwrap_or(Cow::Borrowed(&light)),
            _ => Cow::Borrowed(light.as_ref()),
        };
        self.property(&lower_name, &spelled, &lower, element, is_root);
        if lower_name == "background" && is_root {
            if Color::from_str(&light).is_ok() {
                // resvg knows `background-color`.
                self.edit_or(range, format!("background-color:{light}"), Features::BACKGROUND);
            } else if !matches!(lower.as_str(), "none" | "transparent") {
                self.findings.features |= Features::BACKGROUND;
            }
        } else if lower_name != *name || spelled != *value {
            self.edit_or(range, format!("{lower_name}:{spelled}"), Features::COLOURS);
        }
    }

    /// Replaces a part of the text, or records features if the text has it in another spelling.
    fn edit_or(&mut self, range: Option<Range<usize>>, text: String, features: Features) {
        match range {
            Some(range) => self.findings.edits.push((range, text)),
            None => self.findings.features |= features,
        }
    }

    /// Reads a property of CSS that attributes do not have, or in another syntax. `value` is in lower case, and `spelled` as
    /// it is written.
    fn property(&mut self, name: &str, spelled: &str, value: &str, element: Option<&str>, is_root: bool) {
        if matches!(value, "" | "none" | "auto" | "initial" | "inherit" | "unset" | "normal") {
            return;
        }
        let has_geometry = element.is_none_or(|element| GEOMETRIC.contains(&element));
        self.findings.features |= match name {
            "x" | "y" | "cx" | "cy" | "r" | "rx" | "ry" | "width" | "height" | "d"
                if has_geometry && !is_root =>
            {
                Features::GEOMETRY
            }
            "transform" if is_css_transform(value) => Features::TRANSFORMS,
            "translate" | "rotate" | "scale" | "offset-path" | "zoom" => Features::TRANSFORMS,
            "transform-box" if value != "view-box" => Features::TRANSFORMS,
            "clip-path" | "mask" | "mask-image" | "-webkit-mask" | "-webkit-mask-image"
                if !value.starts_with("url(") =>
            {
                Features::SHAPES
            }
            "text-transform" | "text-shadow" => Features::TEXT,
            "text-orientation" if value != "mixed" => Features::TEXT,
            "font-variant" | "font-variant-caps" if value.contains("small-caps") => Features::TEXT,
            "font" if FontShorthand::from_str(spelled).is_err() => Features::TEXT,
            "background-image" if is_root => Features::BACKGROUND,
            "animation" | "animation-name" | "animation-iteration-count" | "animation-fill-mode" => {
                self.animates = Some(self.animates.unwrap_or(true) & !value.contains("infinite"));
                self.keeps_end |= value.split([' ', ',']).any(|word| matches!(word, "forwards" | "both"));
                return;
            }
            _ => return,
        };
    }

    /// Reads the value of any property.
    fn value(&mut self, name: &str, value: &str) {
        for function in functions(value) {
            self.findings.features |= match function.as_str() {
                "var" | "env" | "calc" | "min" | "max" | "clamp" | "attr" => Features::VARIABLES,
                "color" | "lab" | "lch" | "oklab" | "oklch" | "color-mix" | "contrast-color"
                | "light-dark" => Features::COLOURS,
                "rgb" | "rgba" | "hsl" | "hsla" | "hwb"
                    if is_paint(name) && Paint::from_str(value).is_err() =>
                {
                    Features::COLOURS
                }
                _ => Features::default(),
            };
        }
        let lower = value.trim().to_ascii_lowercase();
        if is_paint(name) && is_system_colour(&lower) {
            self.findings.features |= Features::COLOURS;
        }
        if name == "vector-effect" && lower == "non-scaling-stroke" {
            self.findings.features |= Features::STROKES;
        }
        let number = |char: char| char.is_ascii_digit() || matches!(char, '.' | '-' | '+');
        let unit = lower.trim_start_matches(number);
        if unit.len() < lower.len() && NEW_UNITS.contains(&unit) {
            self.findings.features |= Features::VARIABLES;
        }
    }

    /// Replaces `light-dark(a, b)` in a value by `a`, unless the drawing asks for dark colours.
    fn light<'v>(&self, value: &'v str) -> Cow<'v, str> {
        let mut light = Cow::Borrowed(value);
        for _ in 0..MOST_LEVELS {
            let Some(at) = light.to_ascii_lowercase().find("light-dark(").filter(|_| !self.is_dark) else {
                break;
            };
            let inside = at + "light-dark(".len();
            let (comma, end) = (next_outside(&light, inside, b','), next_outside(&light, inside, b')'));
            let (Some(comma), Some(end)) = (comma, end) else { break };
            light = Cow::Owned([&light[..at], light[inside..comma].trim(), &light[end + 1..]].concat());
        }
        light
    }
}

/// Maximum number of levels that rules and functions are read within each other.
const MOST_LEVELS: usize = 16;

/// Elements whose position and size are properties of CSS, too (SVG 2, 8.2).
const GEOMETRIC: [&str; 8] = ["circle", "ellipse", "foreignObject", "image", "path", "rect", "svg", "use"];

/// Units that usvg does not know.
const NEW_UNITS: [&str; 14] =
    ["rem", "vw", "vh", "vmin", "vmax", "ch", "q", "lh", "rlh", "cap", "ic", "svw", "dvw", "cqw"];

/// Returns true for an element that usvg reads.
fn is_of_svg(node: Node<'_, '_>) -> bool {
    matches!(node.tag_name().namespace(), None | Some("http://www.w3.org/2000/svg"))
}

/// Returns true if a `<foreignObject>` has anything to show.
fn is_filled(node: Node<'_, '_>) -> bool {
    node.descendants().skip(1).any(|child| {
        child.is_element() || child.text().is_some_and(|text| child.is_text() && !text.trim().is_empty())
    })
}

/// Returns true if resvg draws something else in place of a `<foreignObject>`: what follows in its `<switch>`.
fn has_fallback(node: Node<'_, '_>) -> bool {
    node.parent_element().is_some_and(|parent| parent.tag_name().name() == "switch")
        && node.next_siblings().skip(1).any(|sibling| sibling.is_element())
}

/// Returns true for an animation (SVG 2, SMIL) that begins by itself, ends, and keeps its last value.
fn keeps_its_end(node: Node<'_, '_>) -> bool {
    let attribute = |name| node.attribute(name).unwrap_or_default().trim();
    let by_itself = !["click", "mouse", "focus", "key", "touch", "indefinite"]
        .iter()
        .any(|event| attribute("begin").contains(event));
    let is_endless = attribute("repeatCount") == "indefinite" || attribute("repeatDur") == "indefinite";
    let is_set = node.tag_name().name() == "set" && matches!(attribute("dur"), "" | "indefinite");
    by_itself && (is_set || !is_endless && attribute("fill") == "freeze")
}

#[cfg(test)]
mod tests;
