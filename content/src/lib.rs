//! The vocabulary that Edgezoom's edge and tiler share, and the rules of a conversion.
//!
//! A [`SourceUrl`] names a picture, a PDF or a page somewhere on the web; its [`ContentId`] is a function of it. What is
//! known of it is a [`Content`], whose picture is described by a [`Dzi`]. How it gets from asked-for to finished is the
//! state machine in [`conversion`], and what edge and tiler say to each other on the way is in [`protocol`].
//! [`AddressPolicy`] says which hosts may be connected to at all.
//!
//! Nothing here does I/O, reads a clock or knows of wasm: everything is a value or a pure function.

pub mod address;
pub mod attempt;
pub mod content;
pub mod conversion;
pub mod dzi;
pub mod failure;
pub mod id;
pub mod progress;
pub mod protocol;
pub mod source_url;
pub mod title;

pub use address::AddressPolicy;
pub use attempt::Attempt;
pub use content::{Content, Stage, Status};
pub use conversion::Conversion;
pub use dzi::{Dzi, Size, TileFormat};
pub use failure::{Failure, FailureCode};
pub use id::ContentId;
pub use progress::Progress;
pub use source_url::SourceUrl;
pub use title::Title;
