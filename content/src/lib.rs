//! The vocabulary that Edgezoom's edge and tiler share, and the rules of a conversion.
//!
//! A [`SourceUrl`] names a picture, a PDF or a web page; its [`ContentId`] is a function of it. A [`Content`] has the
//! state of its conversion and, once that is [`Finished`], the picture's [`Dzi`]. [`conversion`] is the state machine,
//! [`protocol`] has the messages between edge and tiler, and [`AddressPolicy`] says which hosts may be connected to.
//!
//! Everything here is a value or a pure function: no I/O, no clock, no wasm.

pub mod address;
pub mod capture;
pub mod conversion;
pub mod escape;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod protocol;
pub mod source_url;
pub mod upload;

mod attempt;
mod collection;
mod content;
mod credits;
mod deletion_key;
mod failure;
mod id;
mod page_table;
mod progress;
mod removal;
mod service_address;
mod titles;

pub use address::AddressPolicy;
pub use attempt::{Attempt, CoarseNumber};
pub use capture::Capture;
pub use collection::{CollectionName, CollectionNameError, EntryState, Membership};
pub use content::{
    Coarse, Content, Finished, NextTry, Stage, Status, StoredText, StoredVectors, TILE_BYTES, Timestamp,
};
pub use conversion::Conversion;
pub use credits::{CreditLine, Credits, RightsUri, Stated};
pub use deletion_key::{DeletionKey, DeletionKeyHash, DeletionKeyHashError};
pub use edgezoom_geometry::{
    Archive, Damage, Dzi, NAMESPACE, PreviewKind, Previews, Scale, ScaleBasis, ScaleUnit, Size, TileFormat,
    TileIndex, TileRange, tile_number,
};
pub use failure::{Failure, FailureCode};
pub use id::ContentId;
pub use page_table::{PageTable, StoredPage};
pub use progress::Progress;
pub use removal::{Removal, RemovalKind};
pub use service_address::{is_own_origin, service_address};
pub use source_url::SourceUrl;
pub use titles::{Alternative, Beginning, OneLine, Title, source_name};
pub use upload::UploadKey;
