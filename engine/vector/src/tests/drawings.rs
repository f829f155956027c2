//! Drawings in SVG: each lean SVG is drawn beside its source by the same renderer, which shows the same.

use std::sync::Arc;

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::{body, drawn, refusal};
use crate::{Pixels, Refusal, check, is_lean};

/// Pixels per unit.
const SCALE: f32 = 4.0;
/// Difference of a pixel, of 255, and the number of those that differ more, in hundredths of all. Coordinates are rounded.
const TOLERANCE: u8 = 24;
const MAX_DIFFERING: usize = 1;

const RECT: &str = r#"<rect width="60" height="40" x="20" y="30"/>"#;

fn parsed(svg: &str) -> Tree {
    let mut options = Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    // Not included: it is another package's.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../codecs/fonts/DejaVuSans.ttf");
    fonts.load_font_data(std::fs::read(file).unwrap());
    options.font_family = "DejaVu Sans".to_owned();
    Tree::from_str(svg, &options).unwrap()
}

fn pixels(tree: &Tree) -> (u32, u32, Vec<u8>) {
    let (width, height) = (tree.size().width() * SCALE, tree.size().height() * SCALE);
    let mut pixmap = Pixmap::new(width as u32, height as u32).unwrap();
    pixmap.fill(Color::WHITE);
    resvg::render(tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    let rgb = pixmap.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    (pixmap.width(), pixmap.height(), rgb)
}

/// Returns the lean SVG of a drawing, which looks like it.
fn lean(svg: &str) -> String {
    let tree = parsed(svg);
    let (width, height, rgb) = pixels(&tree);
    assert!(rgb.iter().any(|&part| part < 200), "nothing is drawn: {svg}");
    let drawing = crate::tree(&tree).unwrap_or_else(|refusal| panic!("{refusal}: {svg}"));
    check(&drawing, Pixels { width, height, rgb: &rgb }).unwrap_or_else(|refusal| panic!("{refusal}: {svg}"));
    let lean = drawing.svg(0.0).unwrap();
    assert!(is_lean(&lean), "{lean}");
    let ours = parsed(&lean);
    assert_eq!(ours.size(), tree.size());
    let pairs = rgb.as_chunks::<3>().0.iter().zip(pixels(&ours).2.as_chunks::<3>().0.to_vec());
    let differing =
        pairs.filter(|(one, other)| one.iter().zip(other).any(|(a, b)| a.abs_diff(*b) > TOLERANCE)).count();
    assert!(differing * 100 <= MAX_DIFFERING * rgb.len() / 3, "{differing} pixels differ: {svg}\n{lean}");
    lean
}

fn sheet(content: &str) -> String {
    format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">{content}</svg>"#)
}

#[test]
fn a_drawing_fills_an_image_whose_size_a_browser_rounds() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="150.4" height="100"><path d="M0 0h150.4v100H0z"/></svg>"#;
    let lean = crate::tree(&parsed(svg)).unwrap().svg(0.0).unwrap();
    let rounded = parsed(&lean.replace(r#"width="150.4""#, r#"width="150""#));
    let drawn = rounded.root().abs_bounding_box();
    assert!(
        (drawn.width() - 150.0).abs() < 0.01 && (drawn.height() - 100.0).abs() < 0.01,
        "{drawn:?}\n{lean}"
    );
}

#[test]
fn lines_have_their_joins_caps_and_dashes() {
    let line = |attributes: &str| {
        let path = r##"fill="none" stroke="#036" stroke-width="8" d="M15 80L40 20 45 80 80 60""##;
        lean(&sheet(&format!("<path {path} {attributes}/>")))
    };
    for attributes in [
        "",
        r#"stroke-linejoin="round" stroke-linecap="round""#,
        r#"stroke-linejoin="bevel" stroke-linecap="square""#,
        r#"stroke-miterlimit="20""#,
        r#"stroke-miterlimit="1""#,
        r#"stroke-dasharray="9 4 2""#,
        r#"stroke-dasharray="12 9" stroke-dashoffset="7" stroke-linecap="round""#,
        r#"stroke-opacity=".4""#,
        r#"transform="rotate(20) scale(.5 1.2) skewX(10)" stroke-dasharray="20 10""#,
    ] {
        let svg = line(attributes);
        let has = |name: &str| (attributes.contains(name), svg.contains(name));
        for name in ["stroke-linejoin", "stroke-linecap", "stroke-dasharray", "stroke-opacity"] {
            assert_eq!(has(name).0, has(name).1, "{svg}");
        }
    }
    // Thin lines keep their width: the renderer of the pixels does not widen them.
    let thin =
        r##"<path d="M0 0h20v20z"/><path stroke="#000" stroke-width=".05" d="M50 10V90M10 50L90 55"/>"##;
    assert!(lean(&sheet(thin)).contains(r#"stroke-width="100""#));
}

#[test]
fn fills_have_their_rules_and_orders() {
    let star = "M50 5L80 95 5 40H95L20 95z";
    assert!(!lean(&sheet(&format!(r#"<path d="{star}"/>"#))).contains("evenodd"));
    assert!(lean(&sheet(&format!(r#"<path fill-rule="evenodd" d="{star}"/>"#))).contains("evenodd"));
    let both = r##"fill="#f90" stroke="#036" stroke-width="10" stroke-opacity=".5""##;
    lean(&sheet(&format!(r#"<path {both} d="{star}"/>"#)));
    lean(&sheet(&format!(r#"<path {both} paint-order="stroke" d="{star}"/>"#)));
    lean(&sheet(
        r##"<path fill="rgb(0 90 200 / 40%)" d="M5 50A40 30 30 1 1 80 80Q50 90 40 60C30 30 20 90 5 50"/>"##,
    ));
}

#[test]
fn clips_groups_and_transforms_are_nested() {
    let clips = r#"<clipPath id="a"><circle cx="50" cy="50" r="40"/></clipPath>
        <clipPath id="b" clip-path="url(#a)"><path clip-rule="evenodd" d="M10 10H90V90H10zM30 30H60V60H30z"/></clipPath>
        <clipPath id="c" clipPathUnits="objectBoundingBox"><rect width=".5" height="1" transform="rotate(5)"/></clipPath>
        <clipPath id="none"/>"#;
    let content = format!(
        r##"{clips}<g clip-path="url(#b)" opacity=".6"><g transform="rotate(30 50 50)"><rect width="90" height="70" fill="#06c"/>
        <g transform="scale(.5) translate(40 20)" clip-path="url(#c)"><g opacity=".5">{RECT}<circle cx="70" cy="60" r="30" fill="red"/></g></g>
        </g></g><g transform="matrix(.3 .1 -.1 .3 60 2)"><use href="#s"/><g transform="translate(40)"><use href="#s" x="30"/></g></g>
        <defs><g id="s">{RECT}</g></defs><g clip-path="url(#none)"><rect width="99" height="99"/></g>"##
    );
    let svg = lean(&sheet(&content));
    assert!(svg.matches("<clipPath").count() == 3 && svg.matches(r#"opacity=""#).count() == 2, "{svg}");
    assert!(!svg.contains("use"), "{svg}");
}

#[test]
fn a_view_box_is_fit_into_the_drawing() {
    for attributes in [
        r#"width="100" height="60" viewBox="10 20 40 40""#,
        r#"width="100" height="60" viewBox="10 20 40 40" preserveAspectRatio="xMinYMax slice""#,
        r#"width="100" height="60" viewBox="10 20 40 40" preserveAspectRatio="none""#,
        r#"viewBox="-30 -10 120 90""#,
        r#"width="2in" height="1in" viewBox="0 0 300 150""#,
    ] {
        let inner = r##"<svg x="20" y="25" width="30" height="20" viewBox="0 0 10 10" preserveAspectRatio="xMaxYMid slice"><circle cx="5" cy="5" r="5" fill="#c00"/></svg>"##;
        lean(&format!(r#"<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{RECT}{inner}</svg>"#));
    }
    // A map in metres: the page's sides are bounded, a browser's image of this size is not blank.
    let map = r#"<svg xmlns="http://www.w3.org/2000/svg" width="300000" height="200000"><path d="M0 0h200000l-9000 150000z"/></svg>"#;
    let (width, height) = crate::tree(&parsed(map)).unwrap().size();
    assert_eq!((width.round(), height.round()), (20_000.0, 13_333.0));
}

#[test]
fn gradients_are_exact_or_refused() {
    let filled =
        |gradient: &str| sheet(&format!(r#"{gradient}<circle cx="50" cy="50" r="45" fill="url(#g)"/>"#));
    let stops = r##"<stop stop-color="#fc0"/><stop offset=".4" stop-color="#06c"/><stop offset="1" stop-color="#300"/>"##;
    lean(&filled(&format!(
        r#"<linearGradient id="g" gradientTransform="rotate(30)">{stops}</linearGradient>"#
    )));
    lean(&filled(&format!(
        r#"<linearGradient id="g" gradientUnits="userSpaceOnUse" x1="30" x2="60">{stops}</linearGradient>"#
    )));
    lean(&filled(&format!(r#"<radialGradient id="g" fx=".3" fy=".4" r=".4">{stops}</radialGradient>"#)));
    lean(&filled(&format!(
        r##"<radialGradient id="a" r=".5">{stops}</radialGradient><radialGradient id="g" href="#a" gradientTransform="scale(1 .7)"/>"##
    )));
    for gradient in [
        format!(r#"<linearGradient id="g" x2=".3" spreadMethod="reflect">{stops}</linearGradient>"#),
        r#"<linearGradient id="g"><stop/><stop offset="1" stop-opacity="0"/></linearGradient>"#.to_owned(),
    ] {
        assert_eq!(refusal(crate::tree(&parsed(&filled(&gradient)))), Some(Refusal::Gradient), "{gradient}");
    }
    let line =
        format!(r#"<linearGradient id="g">{stops}</linearGradient><path stroke="url(#g)" d="M0 0L90 90"/>"#);
    assert_eq!(refusal(drawn(&line)), Some(Refusal::Gradient));
}

#[test]
fn patterns_and_pictures_of_drawings_are_paths() {
    lean(&sheet(
        r##"<pattern id="p" width="20" height="15" patternUnits="userSpaceOnUse"><path fill="#ffc" stroke="#00c" d="M2 2H18L15 12z"/></pattern><circle cx="50" cy="50" r="40" fill="url(#p)"/>"##,
    ));
    let picture = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10'%3E%3Ccircle cx='5' cy='5' r='5'/%3E%3C/svg%3E";
    let svg =
        lean(&sheet(&format!(r#"<image x="10" y="20" width="70" height="60" href="{picture}"/>{RECT}"#)));
    assert!(!svg.contains("<image"), "{svg}");
}

#[test]
fn text_is_outlines_of_single_letters() {
    let count = |svg: &str| svg.matches('M').count();
    let text = |attributes: &str| format!(r#"<text font-size="20" {attributes}>Öl%, ig</text>"#);
    let svg = lean(&sheet(&text(r#"x="10" y="60""#)));
    assert!(!svg.contains("text") && count(&svg) == 6, "{svg}");
    lean(&sheet(&text(
        r##"x="10" y="60" fill="#06c" stroke="#c00" stroke-width=".5" text-decoration="underline""##,
    )));
    lean(&sheet(&text(r#"transform="translate(10 20) rotate(60)" letter-spacing="2""#)));
    // A shape over a part of a word takes the letters below out of the file.
    let covered = lean(&sheet(&format!(
        r##"{}<rect x="40" y="30" width="60" height="50" fill="#222"/>"##,
        text(r#"x="10" y="60""#)
    )));
    assert!(count(&covered) - 1 < count(&svg) && count(&covered) > 1, "{covered}");
}

#[test]
fn words_in_the_colour_of_their_ground_are_dropped() {
    let tree =
        parsed(&sheet(&format!(r##"{RECT}<text x="10" y="90" font-size="9" fill="#fff">secret</text>"##)));
    let (width, height, rgb) = pixels(&tree);
    let drawing = crate::tree(&tree).unwrap().without_unseen(Pixels { width, height, rgb: &rgb }).unwrap();
    assert_eq!(body(drawing), r#"<path d="M40000 60000h120000v80000h-120000z"/>"#);
}
