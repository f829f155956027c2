//! Writes a pyramid as files, in the layout of a [`Tree`]. That of the Deep Zoom file format is the default:
//!
//! ```text
//! <name>.dzi                                       the descriptor
//! <name>_files/<level>/<column>_<row>.<format>     the tiles
//! ```
//!
//! Other layouts have one folder, `<name>/`, with tiles and descriptor. The files are in a hidden folder beside the
//! output until they are complete. Then they are moved, the descriptor last. Dropping the writer before that deletes
//! the hidden folder.
//!
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>.

mod file_writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use edgezoom_geometry::Dzi;
use tempfile::TempDir;

use super::output_path::{OutputPath, check_free};
use super::timestamp::Timestamp;
use super::tree::Names;
use super::{PyramidWriter, Sink, SinkError, Tree};
use crate::Tile;
use file_writer::{FileWriter, TileFolders};

/// Number of threads that write files. Creating a file costs more than writing it, and the kernel creates files in
/// different folders in parallel.
const WRITER_THREADS: usize = 2;

/// Writes a pyramid to `<name>.dzi` and `<name>_files/`, or to `<name>/` in other layouts than Deep Zoom's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorySink {
    path: OutputPath,
    replaces: bool,
    tree: Tree,
}

/// A pyramid in a hidden folder.
struct DirectoryWriter {
    // Fields are dropped in this order: the threads must end before the folder is deleted.
    threads: Vec<FileWriter>,
    next_thread: usize,
    temporary: TempDir,
    sink: DirectorySink,
    names: Arc<Names>,
    /// Number of tiles so far.
    tiles: u64,
}

impl DirectorySink {
    /// Makes a sink for the path `<folder>/<name>`, with or without `.dzi`.
    ///
    /// # Errors
    /// Returns an error if the path does not end in a name.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, SinkError> {
        Ok(Self { path: OutputPath::new(path.as_ref(), "dzi")?, replaces: false, tree: Tree::default() })
    }

    /// Sets whether an existing pyramid is replaced. By default it is an error.
    #[must_use]
    pub fn replacing(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Sets the names of the files. Default: those of Deep Zoom, from one pixel on.
    #[must_use]
    pub fn with_tree(self, tree: Tree) -> Self {
        Self { tree, ..self }
    }

    /// Returns the path of Deep Zoom's descriptor.
    #[must_use]
    pub fn descriptor(&self) -> PathBuf {
        self.path.with_suffix(".dzi")
    }

    /// Returns the path of the folder of tiles.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.path.with_suffix(if self.has_descriptor() { "_files" } else { "" })
    }

    /// Returns true if a descriptor is beside the folder of tiles.
    fn has_descriptor(&self) -> bool {
        self.tree.descriptor_name().is_none()
    }
}

impl Sink for DirectorySink {
    fn check(&self) -> Result<(), SinkError> {
        let files = self.files();
        match (self.tree.descriptor_name(), self.replaces) {
            (None, false) => check_free(&[self.descriptor(), files]),
            (Some(_), false) => check_free(&[files]),
            (None, true) => Ok(()),
            // The folder's name is the user's own, so it may be a folder of something else.
            (Some(descriptor), true) => {
                let is_replaceable = files.symlink_metadata().is_err() || files.join(descriptor).is_file();
                if is_replaceable { Ok(()) } else { Err(SinkError::NoPyramid { path: files, descriptor }) }
            }
        }
    }

    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        self.check()?;
        let temporary = tempfile::Builder::new()
            .prefix(&self.path.temporary_prefix())
            .tempdir_in(&self.path.folder)
            .map_err(|error| self.path.folder_error(error))?;
        let names = Arc::new(self.tree.names(dzi));
        let folders = Arc::new(TileFolders::create(temporary.path().join("files"), Arc::clone(&names))?);
        let threads = (0..WRITER_THREADS).map(|_| FileWriter::start(Arc::clone(&folders))).collect();
        Ok(Box::new(DirectoryWriter {
            threads,
            next_thread: 0,
            temporary,
            sink: self.clone(),
            names,
            tiles: 0,
        }))
    }
}

impl PyramidWriter for DirectoryWriter {
    fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        if self.names.repeats(tile.level, tile.column, tile.row) {
            return Ok(());
        }
        self.tiles += 1;
        self.next_thread = (self.next_thread + 1) % self.threads.len();
        self.threads[self.next_thread].put(tile)
    }

    fn publish(mut self: Box<Self>) -> Result<(), SinkError> {
        self.threads.iter_mut().try_for_each(FileWriter::finish)?;
        let (files, descriptor) = (self.sink.files(), self.sink.descriptor());
        let new_files = self.temporary.path().join("files");
        let new_descriptor = self.temporary.path().join("descriptor");
        let name = self.sink.path.name.to_string_lossy();
        let others = self.names.other_files(&name, self.tiles, Timestamp::from(SystemTime::now()));
        for (other, content) in others.map_err(|error| SinkError::io(&files, error))? {
            fs::write(new_files.join(other), content)
                .map_err(|error| SinkError::io(&files.join(other), error))?;
        }
        let content = self.names.descriptor();
        if let Some(content) = &content {
            fs::write(&new_descriptor, content).map_err(|error| SinkError::io(&descriptor, error))?;
        }
        self.sink.check()?;
        if self.sink.replaces && files.symlink_metadata().is_ok() {
            fs::rename(&files, self.temporary.path().join("replaced"))
                .map_err(|error| SinkError::io(&files, error))?;
        }
        fs::rename(&new_files, &files).map_err(|error| SinkError::io(&files, error))?;
        if content.is_none() {
            return Ok(());
        }
        fs::rename(&new_descriptor, &descriptor).map_err(|error| {
            // Move the files back into the hidden folder, which is deleted next.
            let _ = fs::rename(&files, &new_files);
            SinkError::io(&descriptor, error)
        })
    }
}
