//! What a page draws, in its order: objects with their styles, and the clips and groups around them.

use std::ops::Range;

use hayro_interpret::kurbo::{Cap, Join, Rect};

/// How the inside of a path is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    NonZero,
    EvenOdd,
}

/// Red, green and blue from 0 to 255, and opacity from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour(pub [u8; 3], pub f32);

/// How a line is drawn. Lengths are in the path's coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Pen {
    pub width: f64,
    pub cap: Cap,
    pub join: Join,
    pub miter_limit: f64,
    pub dashes: Vec<f64>,
    pub dash_offset: f64,
}

/// Attributes of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Style {
    Fill(Colour, Rule),
    /// The matrix maps the path to the page, and its pen, which is not round there.
    Stroke(Colour, Pen, Option<[f64; 6]>),
}

/// A clip or group, with all that are around it.
pub struct Layer {
    pub around: Option<usize>,
    pub kind: LayerKind,
    /// The smallest rectangle around what it shows.
    pub shown: Rect,
    /// True if it shows all of the rectangle, without translucency.
    pub is_plain: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LayerKind {
    /// The page itself.
    Page,
    Rect(Rect),
    /// The data of the paths of a `clipPath`.
    Clip(Vec<(String, Rule)>),
    Opacity(f32),
}

/// An object of a page.
pub struct Item {
    pub kind: Kind,
    /// The rectangle around the whole object, within the page.
    pub whole: Rect,
    /// The rectangle around the part that its clips show.
    pub shown: Rect,
    pub layer: usize,
    /// Its position among all objects of the page.
    pub number: usize,
    /// True if it stands for a letter of a font that is not in the file.
    pub is_substitute: bool,
}

pub enum Kind {
    Path(Outline),
    Picture(usize),
}

pub struct Outline {
    pub data: Range<usize>,
    pub style: usize,
    pub segments: usize,
    /// True if it may become one element with its neighbours.
    pub joins: bool,
    /// The place of a filled rectangle.
    pub rect: Option<Rect>,
}
