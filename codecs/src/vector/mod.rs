//! Documents and drawings, which have no pixels of their own: they are drawn strip by strip.

#[cfg(any(feature = "pdf", feature = "svg"))]
pub mod fonts;
#[cfg(feature = "pdf")]
pub mod pdf;
#[cfg(feature = "svg")]
pub mod svg;
