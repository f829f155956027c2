//! Renders any region of a Deep Zoom pyramid at any size from its tiles.
//!
//! A [`Rendering`] is a request: a region, a size, a turn, colours and a format. A [`Plan`] names the tiles that it
//! needs, which the caller reads wherever they are. `render` makes a file of these; it needs the feature `render`,
//! which brings the decoders and encoders.
//!
//! Everything here is a value or a pure function.

#![forbid(unsafe_code)]

mod plan;
#[cfg(feature = "render")]
mod render;
mod rendering;

pub use plan::{MAX_PIXELS, MAX_TILES, Plan, PlanError, Window};
#[cfg(feature = "render")]
pub use render::{RenderError, render};
pub use rendering::{Colours, Format, Region, Rendering, Turn};

// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
