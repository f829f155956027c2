//! Pages of PDFs and drawings in SVG as lean SVGs, which browsers draw sharp at any zoom.
//!
//! A [`Document`] or a [`tree`] gives a [`Drawing`], whose [`Drawing::svg`] has the elements `path`, `g`, `clipPath`,
//! `image` and an inert `set`, nothing else: no references to unfold, no style, no script. What these cannot show, or
//! what a browser would draw slowly, is a [`Refusal`]. [`Drawing::without_unseen`] drops what the page's pixels do not
//! show, [`check`] says if the drawing looks like them, and [`is_lean`] if an SVG of unknown origin is one of these. All
//! functions are pure.
//!
//! ```
//! let options = resvg::usvg::Options::default();
//! let source = r#"<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><circle cx="50" cy="50" r="40" fill="red"/></svg>"#;
//! let tree = resvg::usvg::Tree::from_str(source, &options)?;
//! let svg = edgezoom_vector::tree(&tree)?.svg(0.1)?;
//! assert!(svg.contains(r##"<path fill="#f00" d="M"##));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod bands;
mod check;
mod covers;
mod drawing;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod gradients;
mod items;
mod lean;
mod limits;
mod notation;
mod pdf;
mod picture;
mod raster;
mod recorder;
mod refusal;
mod svg;
#[cfg(test)]
mod tests;
mod unseen;
mod writer;

pub use check::{Pixels, are_alike, check};
pub use drawing::Drawing;
pub use hayro_syntax;
pub use lean::is_lean;
pub use limits::MAX_BYTES;
pub use pdf::Document;
pub use refusal::Refusal;
pub use resvg;
pub use svg::tree;

// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
