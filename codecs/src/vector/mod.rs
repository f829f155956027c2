//! Documents and drawings, which have no pixels of their own: they are drawn, a strip at a time.

pub mod fonts;
pub mod pdf;
pub mod svg;
