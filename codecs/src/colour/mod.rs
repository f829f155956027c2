//! Colour: what decoders give becomes 8-bit sRGB.

pub mod cmyk;
pub mod flatten;
pub mod icc;
pub mod samples;
pub mod tone_mapping;
