//! Writes a pyramid as files in the layout of the Deep Zoom file format:
//!
//! ```text
//! <name>.dzi                                       the descriptor
//! <name>_files/<level>/<column>_<row>.<format>     the tiles
//! ```
//!
//! The files are in a hidden folder beside the output until they are complete, then they are moved, the descriptor last. Dropping
//! the writer before that deletes the hidden folder.
//!
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>.

mod file_writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgezoom_geometry::Dzi;
use tempfile::TempDir;

use super::output_path::{OutputPath, check_free};
use super::{PyramidWriter, Sink, SinkError};
use crate::Tile;
use file_writer::{FileWriter, LevelFolders};

/// Number of threads that write files. Creating a file costs more than writing it, and the kernel creates files in different
/// folders in parallel.
const WRITER_THREADS: usize = 2;

/// Writes a pyramid to `<name>.dzi` and `<name>_files/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorySink {
    path: OutputPath,
    replaces: bool,
}

/// A pyramid in a hidden folder.
struct DirectoryWriter {
    // Fields are dropped in this order: the threads must end before the folder is deleted.
    threads: Vec<FileWriter>,
    next_thread: usize,
    temporary: TempDir,
    sink: DirectorySink,
    dzi: Dzi,
}

impl DirectorySink {
    /// Makes a sink for the path `<folder>/<name>`, with or without `.dzi`.
    ///
    /// # Errors
    /// Returns an error if the path does not end in a name.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, SinkError> {
        Ok(Self { path: OutputPath::new(path.as_ref(), "dzi")?, replaces: false })
    }

    /// Sets whether an existing pyramid is replaced. By default it is an error.
    #[must_use]
    pub fn replacing(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Returns the descriptor's path.
    #[must_use]
    pub fn descriptor(&self) -> PathBuf {
        self.path.with_suffix(".dzi")
    }

    /// Returns the path of the folder of the levels.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.path.with_suffix("_files")
    }
}

impl Sink for DirectorySink {
    fn check(&self) -> Result<(), SinkError> {
        if self.replaces { Ok(()) } else { check_free(&[self.descriptor(), self.files()]) }
    }

    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        self.check()?;
        let temporary = tempfile::Builder::new()
            .prefix(&self.path.temporary_prefix())
            .tempdir_in(&self.path.folder)
            .map_err(|error| self.path.folder_error(error))?;
        let folders = Arc::new(LevelFolders::create(temporary.path().join("files"), dzi)?);
        let threads = (0..WRITER_THREADS).map(|_| FileWriter::start(Arc::clone(&folders))).collect();
        Ok(Box::new(DirectoryWriter { threads, next_thread: 0, temporary, sink: self.clone(), dzi: *dzi }))
    }
}

impl PyramidWriter for DirectoryWriter {
    fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        self.next_thread = (self.next_thread + 1) % self.threads.len();
        self.threads[self.next_thread].put(tile)
    }

    fn publish(mut self: Box<Self>) -> Result<(), SinkError> {
        self.threads.iter_mut().try_for_each(FileWriter::finish)?;
        let (files, descriptor) = (self.sink.files(), self.sink.descriptor());
        let new_files = self.temporary.path().join("files");
        let new_descriptor = self.temporary.path().join("descriptor");
        fs::write(&new_descriptor, self.dzi.descriptor())
            .map_err(|error| SinkError::io(&descriptor, error))?;
        self.sink.check()?;
        if self.sink.replaces && files.symlink_metadata().is_ok() {
            fs::rename(&files, self.temporary.path().join("replaced"))
                .map_err(|error| SinkError::io(&files, error))?;
        }
        fs::rename(&new_files, &files).map_err(|error| SinkError::io(&files, error))?;
        fs::rename(&new_descriptor, &descriptor).map_err(|error| {
            // Move the files back into the hidden folder, which is deleted next.
            let _ = fs::rename(&files, &new_files);
            SinkError::io(&descriptor, error)
        })
    }
}
