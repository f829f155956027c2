//! The features of SVG that need a browser. Without one, a drawing that uses them is shown as far as possible, and its
//! warning names them.

use std::fmt::{self, Display};
use std::ops::{BitOr, BitOrAssign};

use serde::{Deserialize, Serialize};

/// A set of features of SVG that need a browser. Displays as a list of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DrawingFeatures(u16);

/// The names, in the order of the bits.
const NAMES: [&str; 15] = [
    "HTML inside the drawing",
    "CSS variables",
    "nested CSS rules",
    "newer CSS selectors",
    "conditional CSS rules",
    "positions and sizes in CSS",
    "transforms in CSS",
    "newer CSS colours",
    "embedded fonts",
    "animations",
    "embedded pictures of other formats",
    "shapes and masks in CSS",
    "strokes that do not scale",
    "newer properties of text",
    "a background in CSS",
];

impl DrawingFeatures {
    /// HTML in `<foreignObject>` without a fallback.
    pub const HTML: Self = Self(1);
    /// `var()`, `calc()` and other functions that compute a value, and units relative to the window.
    pub const VARIABLES: Self = Self(1 << 1);
    /// Rules within rules.
    pub const NESTING: Self = Self(1 << 2);
    /// Selectors that are newer than CSS 2.1.
    pub const SELECTORS: Self = Self(1 << 3);
    /// `@media`, `@supports`, `@layer` and alike.
    pub const CONDITIONS: Self = Self(1 << 4);
    /// `x`, `width`, `r`, `d` and alike as properties.
    pub const GEOMETRY: Self = Self(1 << 5);
    /// Transforms in the syntax of CSS.
    pub const TRANSFORMS: Self = Self(1 << 6);
    /// Colours of CSS Color 4 and 5, and those of the system.
    pub const COLOURS: Self = Self(1 << 7);
    /// `@font-face` with a `data:` URL.
    pub const FONTS: Self = Self(1 << 8);
    /// Animations whose end is to be shown.
    pub const ANIMATIONS: Self = Self(1 << 9);
    /// Embedded pictures in AVIF, BMP or ICO.
    pub const PICTURES: Self = Self(1 << 10);
    /// `clip-path` with a shape, and masks other than elements.
    pub const SHAPES: Self = Self(1 << 11);
    /// `vector-effect: non-scaling-stroke`.
    pub const STROKES: Self = Self(1 << 12);
    /// `text-transform`, `text-shadow`, small capitals and alike.
    pub const TEXT: Self = Self(1 << 13);
    /// A `background` other than a colour.
    pub const BACKGROUND: Self = Self(1 << 14);

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for DrawingFeatures {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for DrawingFeatures {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Display for DrawingFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMES.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1);
        for (place, (_, name)) in named.enumerate() {
            f.write_str(if place > 0 { ", " } else { "" })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_named_in_a_list() {
        assert_eq!(DrawingFeatures::default().to_string(), "");
        let features = DrawingFeatures::BACKGROUND | DrawingFeatures::HTML;
        assert_eq!(features.to_string(), "HTML inside the drawing, a background in CSS");
        assert_eq!(DrawingFeatures::TEXT.to_string(), "newer properties of text");
        assert_eq!(DrawingFeatures(u16::MAX).to_string().split(", ").count(), NAMES.len());
    }
}
