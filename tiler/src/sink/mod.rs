//! Where pyramids go: each file one kind of place.

pub mod directory;
