//! SVG bombs of a few hundred bytes.

use super::Bomb;

/// Drawings that must be rendered.
pub const DRAWN: &[&str] = &[
    "two billion octaves",
    "a filter over a rotated shape",
    "a filter over all of a rotated drawing",
    "a pattern under a transform-origin",
    "a pattern as large as the drawing",
    "a thick outline",
    "a blur over everything",
];

fn svg(content: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 200 200">{content}</svg>"#
    )
}

/// Returns nested elements, as in the "billion laughs" attack. `element(level, content)` returns the element of a
/// level, which has ten times the content `call(level - 1)`.
fn laughs(
    levels: u32,
    first: &str,
    element: impl Fn(u32, &str) -> String,
    call: impl Fn(u32) -> String,
) -> String {
    (1..=levels).fold(first.to_owned(), |all, level| all + &element(level, &call(level - 1).repeat(10)))
}

/// Returns a drawing that only the limit of processor time can stop.
pub fn endless() -> Bomb {
    let patterns = laughs(
        9,
        r#"<pattern id="p0" width="9" height="9" patternUnits="userSpaceOnUse"><rect width="3" height="3"/></pattern>"#,
        |level, content| {
            format!(
                r#"<pattern id="p{level}" width="9" height="9" patternUnits="userSpaceOnUse">{content}</pattern>"#
            )
        },
        |level| format!(r#"<rect width="9" height="9" fill="url(#p{level})"/>"#),
    );
    Bomb::new(
        "patterns in patterns",
        svg(&format!(r#"{patterns}<rect width="200" height="200" fill="url(#p9)"/>"#)),
    )
}

pub fn all() -> Vec<Bomb> {
    let filter = |content: &str, shape: &str| {
        svg(&format!(r#"<filter id="f" x="0" y="0" width="1" height="1">{content}</filter>{shape}"#))
    };
    let square = r#"<rect width="200" height="200" filter="url(#f)"/>"#;
    let bomb = |name: &str, text: String| Bomb::new(name, text);
    let kernel = "1 ".repeat(301 * 301);
    let clips = laughs(
        9,
        r#"<clipPath id="c0"><rect width="200" height="200"/></clipPath>"#,
        |level, content| format!(r#"<clipPath id="c{level}">{content}</clipPath>"#),
        |level| format!(r#"<rect width="200" height="200" clip-path="url(#c{level})"/>"#),
    );
    let masks = laughs(
        9,
        r#"<mask id="m0"><rect width="200" height="200" fill="white"/></mask>"#,
        |level, content| format!(r#"<mask id="m{level}">{content}</mask>"#),
        |level| format!(r#"<rect width="200" height="200" fill="white" mask="url(#m{level})"/>"#),
    );
    let uses = laughs(
        9,
        r#"<g id="u0"><circle r="3"/></g>"#,
        |level, content| format!(r#"<g id="u{level}">{content}</g>"#),
        |level| format!(r##"<use xlink:href="#u{level}" x="1"/>"##),
    );
    let images = laughs(
        7,
        r#"<filter id="i0"><feFlood/></filter><rect id="r0" width="200" height="200" filter="url(#i0)"/>"#,
        |level, content| {
            format!(
                r#"<filter id="i{level}">{content}<feFlood/></filter><rect id="r{level}" width="200" height="200" filter="url(#i{level})"/>"#
            )
        },
        |level| format!(r##"<feImage xlink:href="#r{level}"/>"##),
    );
    let zigzag: String = (0..200_000).map(|step| format!("L{} {}", step % 200, step * 7 % 200)).collect();
    vec![
        bomb(
            "two billion octaves",
            svg(
                r#"<filter id="f"><feTurbulence numOctaves="2000000000" baseFrequency="0.5"/></filter><rect width="200" height="200" filter="url(#f)"/>"#,
            ),
        ),
        bomb(
            "octaves in an entity",
            format!(
                r#"<!DOCTYPE svg [<!ENTITY o "2000000000">]>{}"#,
                filter(r#"<feTurbulence numOctaves="&o;" baseFrequency="0.5"/>"#, square)
            ),
        ),
        bomb(
            "a filter over a rotated shape",
            filter(
                r#"<feGaussianBlur stdDeviation="2"/>"#,
                r#"<g transform="rotate(30 100 100)"><rect x="20" y="20" width="160" height="160" filter="url(#f)"/></g>"#,
            ),
        ),
        bomb(
            "a filter over all of a rotated drawing",
            svg(
                r#"<filter id="f"><feTurbulence baseFrequency=".05" numOctaves="3"/><feDisplacementMap in="SourceGraphic" scale="9"/></filter><g filter="url(#f)" transform="rotate(45 100 100)"><rect x="-99" y="-99" width="400" height="400"/></g>"#,
            ),
        ),
        bomb(
            "a pattern under a transform-origin",
            svg(
                r#"<pattern id="p" width="100" height="100" patternUnits="userSpaceOnUse"><circle cx="50" cy="50" r="40"/></pattern><g transform="scale(20)" transform-origin="100 100"><rect width="200" height="200" fill="url(#p)"/></g>"#,
            ),
        ),
        bomb(
            "a pattern as large as the drawing",
            svg(
                r#"<pattern id="p" width="1" height="1"><circle cx="90" cy="90" r="40"/></pattern><rect width="200" height="200" fill="url(#p)"/><circle cx="90" cy="90" r="80" fill="url(#p)" stroke="url(#p)"/>"#,
            ),
        ),
        bomb("a blur over everything", filter(r#"<feGaussianBlur stdDeviation="5"/>"#, square)),
        bomb("a million dilations", filter(r#"<feMorphology operator="dilate" radius="1000000"/>"#, square)),
        bomb(
            "a kernel of 301 by 301",
            filter(&format!(r#"<feConvolveMatrix order="301" kernelMatrix="{kernel}"/>"#), square),
        ),
        bomb(
            "five hundred primitives",
            filter(
                &r#"<feGaussianBlur stdDeviation="9"/><feTurbulence baseFrequency="1"/>"#.repeat(250),
                square,
            ),
        ),
        bomb(
            "five hundred filters",
            filter(r#"<feTurbulence numOctaves="9" baseFrequency=".1"/>"#, &square.repeat(500)),
        ),
        bomb("filters in filters", svg(&format!("{images}{}", square.replace("#f", "#i7")))),
        endless(),
        bomb(
            "clips in clips",
            svg(&format!(r#"{clips}<rect width="200" height="200" clip-path="url(#c9)"/>"#)),
        ),
        bomb("masks in masks", svg(&format!(r#"{masks}<rect width="200" height="200" mask="url(#m9)"/>"#))),
        bomb("a billion circles", svg(&format!(r##"{uses}<use xlink:href="#u9"/>"##))),
        bomb(
            "a billion dashes",
            svg(
                r#"<path d="M0 0H1e9" stroke="red" stroke-dasharray="1e-4 1e-4" transform="scale(1e-7 1)"/>"#,
            ),
        ),
        bomb(
            "markers on two hundred thousand corners",
            svg(&format!(
                r#"<marker id="k" markerWidth="9" markerHeight="9" overflow="visible"><circle r="9"/></marker><path marker-mid="url(#k)" d="M0 0{zigzag}"/>"#
            )),
        ),
        bomb(
            "a thick outline",
            svg(
                r#"<path d="M0 0 200 200" stroke="url(#p)" stroke-width="50"/><pattern id="p" width="1" height="1"><rect width="200" height="200" fill="red"/></pattern>"#,
            ),
        ),
        bomb("long text", svg(&format!(r#"<text font-size="900">{}</text>"#, "Wide ".repeat(100_000)))),
        bomb("a needle", svg("<rect/>").replace("0 0 200 200", "0 0 1 1000000000")),
        bomb(
            "groups with opacity",
            svg(&format!("{}{}{}", "<g opacity='.9'>".repeat(30), square, "</g>".repeat(30)).repeat(200)),
        ),
    ]
}
