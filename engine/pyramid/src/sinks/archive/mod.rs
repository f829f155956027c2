//! Writes a pyramid as one file: a ZIP archive with the files of the directory sink, or an SZI (Smart Zoom Image),
//! which slide viewers read. Entries are not compressed, so a server can answer a request for a tile with a range of
//! the file.
//!
//! ```text
//! <name>/<name>_files/<level>/<column>_<row>.<format>     the tiles
//! <name>/<name>.dzi                                       the descriptor
//! <name>/associated_images/<preview>.jpg                  the previews, if they were made
//! <name>/scan-properties.xml                              only in SZI: the properties of the scan
//! <name>/tile-index.bin                                   only in SZI: where each tile is (`TileIndex`), and each file of the caller's that has a number
//! ```
//!
//! In a layout other than Deep Zoom, tiles and descriptor are in `<name>/` as in the folder of the directory sink.
//!
//! The archive is in a hidden folder beside the output until it is complete.
//!
//! Source: Smart In Media, "SZI format description", 2018-11-24, <https://github.com/smartinmedia/SZI-Format>; output
//! of libvips' `dzsave` with `container=szi`.

mod stream;
mod zip;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use edgezoom_geometry::Dzi;

use super::hidden::Hidden;
use super::output_path::{OutputPath, check_free};
use super::{PyramidWriter, Sink, SinkError, Tree};
use crate::sinks::timestamp::Timestamp;
use crate::{Tile, TileLayout};
pub use stream::ArchiveStream;

/// Size of the write buffer in bytes.
const WRITE_BYTES: usize = 256 << 10;

/// Format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// Plain ZIP.
    Zip,
    /// ZIP with the properties of the scan and an index of tiles.
    Szi,
}

/// Writes a pyramid to `<name>.zip` or `<name>.szi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveSink {
    /// Its name is also that of the folder in the archive.
    path: OutputPath,
    format: ArchiveFormat,
    date: SystemTime,
    replaces: bool,
    tree: Tree,
}

/// An archive in a hidden folder.
struct ArchiveWriter {
    // Dropped before the folder is deleted.
    archive: ArchiveStream<BufWriter<File>>,
    hidden: Hidden,
    sink: ArchiveSink,
}

impl ArchiveFormat {
    /// Returns the file extension.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Szi => "szi",
        }
    }

    /// Returns the format of a path's extension.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        [Self::Zip, Self::Szi]
            .into_iter()
            .find(|format| path.extension().is_some_and(|extension| extension == format.extension()))
    }
}

impl ArchiveSink {
    /// Makes a sink for the path `<folder>/<name>`, with or without the format's extension. All entries get the date.
    ///
    /// # Errors
    /// Returns an error if the path does not end in a name.
    pub fn new(path: impl AsRef<Path>, format: ArchiveFormat, date: SystemTime) -> Result<Self, SinkError> {
        let path = OutputPath::new(path.as_ref(), format.extension())?;
        Ok(Self { path, format, date, replaces: false, tree: Tree::default() })
    }

    /// Sets whether an existing archive is replaced. By default it is an error.
    #[must_use]
    pub fn replacing(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Sets the names of the files. Default: those of Deep Zoom, from one pixel on. An SZI has no others.
    #[must_use]
    pub fn with_tree(self, tree: Tree) -> Self {
        Self { tree, ..self }
    }

    /// Returns the archive's path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.path.with_suffix(&self.suffix())
    }

    fn suffix(&self) -> String {
        format!(".{}", self.format.extension())
    }
}

impl Sink for ArchiveSink {
    fn check(&self) -> Result<(), SinkError> {
        if self.replaces { Ok(()) } else { check_free(&[self.path()]) }
    }

    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        self.check()?;
        if self.format == ArchiveFormat::Szi && self.tree.layout != TileLayout::Dz {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "an SZI has the layout dz");
            return Err(SinkError::io(&self.path(), error));
        }
        let mut hidden = Hidden::beside(&self.path)?;
        let file = File::create_new(hidden.add(&self.path.name_with(&self.suffix())))
            .map_err(|error| SinkError::io(&self.path(), error))?;
        let (file, name) = (BufWriter::with_capacity(WRITE_BYTES, file), self.path.name.to_string_lossy());
        let archive =
            ArchiveStream::new(file, name.into_owned(), dzi, self.format, self.date).with_tree(&self.tree);
        Ok(Box::new(ArchiveWriter { archive, hidden, sink: self.clone() }))
    }
}

impl PyramidWriter for ArchiveWriter {
    fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        self.archive.add_tile(&tile).map_err(|error| SinkError::io(&self.sink.path(), error))
    }

    fn put_beside(&mut self, name: &OsStr, content: &[u8]) -> Result<(), SinkError> {
        self.hidden.add_file(name, content)
    }

    fn publish(self: Box<Self>) -> Result<(), SinkError> {
        let finished = self.archive.finish().and_then(|(buffer, _)| Ok(buffer.into_inner()?));
        finished.map_err(|error| SinkError::io(&self.sink.path(), error))?;
        self.sink.check()?;
        self.hidden.publish()
    }
}

/// Returns `scan-properties.xml` of an SZI, with the properties that libvips writes for every picture:
///
/// ```xml
/// <image xmlns="http://www.pathozoom.com/szi" date="2026-11-21T10:10:10Z" version="1.0">
///   <properties>
///     <property>
///       <name>ImageWidth</name>
///       <value type="gint">800</value>
/// ```
fn scan_properties(dzi: &Dzi, date: Timestamp) -> String {
    let property = |name, value| {
        format!(
            "    <property>\n      <name>{name}</name>\n      <value type=\"gint\">{value}</value>\n    </property>\n"
        )
    };
    let (width, height) = (property("ImageWidth", dzi.size.width), property("ImageHeight", dzi.size.height));
    format!(
        "<?xml version=\"1.0\"?>\n<image xmlns=\"http://www.pathozoom.com/szi\" date=\"{date}\" version=\"1.0\">\n  \
         <properties>\n{width}{height}  </properties>\n</image>\n"
    )
}
