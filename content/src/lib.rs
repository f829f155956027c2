//! The vocabulary that Edgezoom's edge and tiler share, and the rules of a conversion.
//!
//! A [`SourceUrl`] names a picture, a PDF or a page on the web; its [`ContentId`] is a function of it. The state of its
//! conversion is a [`Content`], whose picture a [`Dzi`] describes. The conversion is the state machine in
//! [`conversion`], and [`protocol`] has the messages between edge and tiler. [`AddressPolicy`] says which hosts may be
//! connected to.
//!
//! Everything here is a value or a pure function: no I/O, no clock, nothing of wasm.

pub mod address;
pub mod attempt;
pub mod coarse;
pub mod content;
pub mod conversion;
pub mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod id;
pub mod progress;
pub mod protocol;
pub mod removal;
pub mod source_url;
pub mod timestamp;
pub mod title;
pub mod upload;
pub mod warning;

pub use address::AddressPolicy;
pub use attempt::Attempt;
pub use coarse::CoarseNumber;
pub use content::{Coarse, Content, Stage, Status};
pub use conversion::Conversion;
pub use edgezoom_geometry::{
    Archive, Dzi, NAMESPACE, PreviewKind, Previews, Size, TileFormat, TileIndex, TileRange, tile_number,
};
pub use failure::{Failure, FailureCode};
pub use id::ContentId;
pub use progress::Progress;
pub use removal::{Removal, RemovalKind};
pub use source_url::SourceUrl;
pub use timestamp::Timestamp;
pub use title::Title;
pub use upload::UploadKey;
pub use warning::Warning;
