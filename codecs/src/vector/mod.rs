//! Documents and drawings. They have no pixels of their own and are drawn strip by strip.

#[cfg(any(feature = "pdf", feature = "svg"))]
pub mod fonts;
#[cfg(feature = "pdf")]
pub mod pdf;
#[cfg(feature = "svg")]
pub mod svg;
