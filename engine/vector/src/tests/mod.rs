//! Whole drawings: PDFs and SVGs that are written in code, and what becomes of them.

mod bombs;
mod drawings;
mod fonts;
mod hidden;
mod lean;
mod likeness;
mod written;

use edgezoom_test_support::pdf::Pdf;
use hayro_syntax::Pdf as Parsed;
use resvg::usvg::{Options, Tree};

use crate::{Document, Drawing, Refusal, is_lean};

/// Draws the first page of a document.
fn document(bytes: Vec<u8>) -> Result<Drawing, Refusal> {
    Document::new(&Parsed::new(bytes).unwrap()).page(0)
}

/// Draws a page of 200 by 100 points.
fn page(content: &str) -> Result<Drawing, Refusal> {
    document(Pdf::new().page(200, 100, content).bytes())
}

/// Returns the SVG of a page of 200 by 100 points, after its head.
fn written(content: &str) -> String {
    body(page(content).unwrap())
}

fn body(drawing: Drawing) -> String {
    let svg = drawing.svg(0.1).unwrap();
    assert!(is_lean(&svg), "{svg}");
    let body = svg.split_once("\"indefinite\"/>").unwrap().1;
    body.strip_suffix("</svg>").unwrap().to_owned()
}

/// Draws an SVG of 100 by 100 pixels with this content.
fn drawn(content: &str) -> Result<Drawing, Refusal> {
    sized(100, 100, content)
}

fn sized(width: u32, height: u32, content: &str) -> Result<Drawing, Refusal> {
    let svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{content}</svg>"#
    );
    crate::tree(&Tree::from_str(&svg, &Options::default()).unwrap())
}

fn refusal(drawing: Result<Drawing, Refusal>) -> Option<Refusal> {
    drawing.and_then(|drawing| drawing.svg(0.1)).err()
}
