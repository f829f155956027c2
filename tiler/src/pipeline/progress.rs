//! How far a conversion has come, as its steps report it. What that is on a scale from 0 to 1, or as a bar in a terminal,
//! is decided by the service and the command line.

use std::time::Duration;

use bytes::Bytes;

use crate::fetch::Received;

/// What a source is, as far as that decides how long its conversion takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// It has pixels of its own.
    Picture,
    /// A PDF or a drawing.
    Document,
    /// A web page, which a browser draws.
    Page,
}

/// How far a conversion has come. A picture may be rendered while it is downloaded: both kinds of progress come in turn
/// then. It is rendered from its first row again when its source has changed meanwhile. A source that is a web page goes
/// back from loading to downloading when the page leads to a picture or document.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Part of the source has arrived.
    Downloading(Received),
    /// A download is complete.
    Downloaded {
        /// Its size.
        bytes: u64,
    },
    /// It is known what the source is, and its rendering is about to begin.
    Opened(SourceKind),
    /// The source is a web page, and the browser has been loading it for so long.
    LoadingPage(Duration),
    /// The renderer works.
    Rendering {
        /// The share of the picture's rows that is read, from 0 to 1.
        rows: f64,
        /// Whether the picture is a web page that is being captured at the same time.
        is_web_page: bool,
    },
    /// What is there of the picture, small, in JPEG. Not all conversions give one.
    Coarse(Bytes),
    /// The renderer has given all tiles.
    Rendered,
    /// The sink stores the last tiles.
    Publishing {
        /// The tiles that are not stored yet.
        missing: usize,
        /// The tiles that were not stored when rendering ended.
        of: usize,
    },
    /// The pyramid is complete in the sink.
    Published,
}
