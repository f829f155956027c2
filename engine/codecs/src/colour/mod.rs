//! Colour: samples and colours of all kinds become 8-bit sRGB.

pub mod cmyk;
pub mod flatten;
pub mod icc;
pub mod samples;
pub mod tone_mapping;
