//! A pyramid as one file, for those who move it around: a ZIP with what the folder would have, or an SZI ("smart zoom
//! image"), which is that with a description of the scan, as slide viewers take it. Nothing in it is compressed, so that a
//! server can give a tile out of it by its range.
//!
//! It grows in a hidden file beside its place and gets its name when it is complete. Whatever ends it before, nothing is
//! left.

mod date;
mod zip;

use std::ffi::OsString;
use std::fs::File;
#[cfg(unix)]
use std::fs::Permissions;

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use edgezoom_content::Dzi;
use tempfile::{NamedTempFile, PersistError};

use super::SinkError;
use crate::Tile;
use date::Date;
use zip::ZipWriter;

/// How much is collected before it is written.
const WRITE_BYTES: usize = 256 << 10;

/// The kinds of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain ZIP.
    Zip,
    /// A ZIP with the properties of the scan.
    Szi,
}

/// The place of an archive: `<folder>/<name>.zip` or `.szi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    /// The name without the ending, which also is that of the folder in the archive.
    name: OsString,
    kind: Kind,
}

/// An archive that grows. Dropped, it is gone.
pub struct ArchiveSink {
    zip: ZipWriter<BufWriter<NamedTempFile>>,
    place: Place,
    dzi: Dzi,
    date: Date,
    replace: bool,
}

impl Kind {
    /// The ending of the file's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Szi => "szi",
        }
    }

    /// The kind that a file's name asks for by its ending.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        [Self::Zip, Self::Szi]
            .into_iter()
            .find(|kind| path.extension().is_some_and(|extension| extension == kind.extension()))
    }
}

impl Place {
    /// The place that a path means, with or without the ending.
    ///
    /// # Errors
    /// When the path has no name at its end.
    pub fn new(path: &Path, kind: Kind) -> Result<Self, SinkError> {
        let named = Kind::of_name(path) == Some(kind);
        let name = if named { path.file_stem() } else { path.file_name() };
        let name = name.ok_or_else(|| SinkError::Nameless(path.to_owned()))?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self { folder: folder.to_owned(), name, kind })
    }

    /// The archive's path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let mut file = self.name.clone();
        file.push(".");
        file.push(self.kind.extension());
        self.folder.join(file)
    }

    /// That nothing is there yet.
    ///
    /// # Errors
    /// When something is.
    pub fn must_be_free(&self) -> Result<(), SinkError> {
        let path = self.path();
        if path.symlink_metadata().is_ok() { Err(SinkError::Exists(path)) } else { Ok(()) }
    }
}

impl ArchiveSink {
    /// Begins an archive. With `replace` it takes the place of one that is there.
    ///
    /// # Errors
    /// When the place is taken or cannot be written to.
    pub fn begin(place: &Place, dzi: &Dzi, replace: bool, now: SystemTime) -> Result<Self, SinkError> {
        if !replace {
            place.must_be_free()?;
        }
        let growing = growing(place).map_err(|error| SinkError::io(&place.folder, error))?;
        let date = Date::from(now);
        let zip = ZipWriter::new(BufWriter::with_capacity(WRITE_BYTES, growing), date);
        Ok(Self { zip, place: place.clone(), dzi: *dzi, date, replace })
    }

    /// Takes a tile.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&mut self, tile: &Tile) -> Result<(), SinkError> {
        let path = self.dzi.tile_path(tile.level, tile.column, tile.row);
        let name = self.place.name.to_string_lossy();
        self.add(&format!("{name}/{name}_files/{path}"), &tile.bytes)
    }

    /// Completes the archive and gives it its name.
    ///
    /// # Errors
    /// When it cannot be written, or the place has been taken.
    pub fn publish(mut self) -> Result<(), SinkError> {
        let name = self.place.name.to_string_lossy().into_owned();
        self.add(&format!("{name}/{name}.dzi"), self.dzi.descriptor().as_bytes())?;
        if self.place.kind == Kind::Szi {
            let properties = scan_properties(&self.dzi, self.date);
            self.add(&format!("{name}/scan-properties.xml"), properties.as_bytes())?;
        }
        let path = self.place.path();
        let failed = |error| SinkError::io(&path, error);
        let file = self.zip.finish().and_then(|written| Ok(written.into_inner()?)).map_err(failed)?;
        let named = if self.replace { file.persist(&path) } else { file.persist_noclobber(&path) };
        match named {
            Ok(_) => Ok(()),
            Err(PersistError { error, .. }) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SinkError::Exists(path))
            }
            Err(PersistError { error, .. }) => Err(failed(error)),
        }
    }

    fn add(&mut self, name: &str, content: &[u8]) -> Result<(), SinkError> {
        self.zip.add(name, content).map_err(|error| SinkError::io(&self.place.path(), error))
    }
}

/// A hidden file beside the place, with the rights that a new file has.
fn growing(place: &Place) -> io::Result<NamedTempFile<File>> {
    let mut prefix = place.name.clone();
    prefix.push(".growing-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    builder.tempfile_in(&place.folder)
}

/// What SZI readers ask of a scan, in the form that libvips gives it.
fn scan_properties(dzi: &Dzi, date: Date) -> String {
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
