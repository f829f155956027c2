//! A pyramid as files, where everybody's tools expect them: `<name>.dzi`, and beside it `<name>_files/<level>/<column>_<row>.<format>`.
//!
//! It grows in a hidden folder beside its place and is moved there when it is complete, the descriptor last. Whatever ends
//! it before, nothing is left.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use edgezoom_content::Dzi;
use rustix::fs::{Mode, OFlags, openat};
use tempfile::TempDir;

use super::SinkError;
use crate::Tile;

/// The threads that write. Creating a file costs more than its bytes, and the kernel creates files of different folders
/// side by side.
const WRITERS: usize = 2;
/// The tiles that may wait for each writer.
const WAITING_TILES: usize = 64;

/// The place of a pyramid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    name: OsString,
}

/// A pyramid that grows. Dropped, it is gone.
pub struct DirectorySink {
    // Dropped in this order: the writers have to be done before the folder is deleted.
    writers: Vec<Writer>,
    next_writer: usize,
    growing: TempDir,
    place: Place,
    dzi: Dzi,
    replace: bool,
}

struct Writer {
    inbox: Option<SyncSender<Tile>>,
    thread: Option<JoinHandle<Result<(), SinkError>>>,
}

/// The folder of each level, open.
struct Folders {
    path: PathBuf,
    levels: Vec<OwnedFd>,
    extension: &'static str,
}

impl Place {
    /// The place that a path means: `<folder>/<name>`, with or without `.dzi` at its end.
    ///
    /// # Errors
    /// When the path has no name at its end.
    pub fn new(path: &Path) -> Result<Self, SinkError> {
        let is_descriptor = path.extension().is_some_and(|extension| extension == "dzi");
        let name = if is_descriptor { path.file_stem() } else { path.file_name() };
        let name = name.ok_or_else(|| SinkError::Nameless(path.to_owned()))?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self { folder: folder.to_owned(), name })
    }

    /// The descriptor's path.
    #[must_use]
    pub fn descriptor(&self) -> PathBuf {
        self.folder.join(self.with_suffix(".dzi"))
    }

    /// The path of the folder that the levels are in.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join(self.with_suffix("_files"))
    }

    fn with_suffix(&self, suffix: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(suffix);
        name
    }

    /// That nothing is there yet.
    ///
    /// # Errors
    /// When something is.
    pub fn must_be_free(&self) -> Result<(), SinkError> {
        let taken =
            [self.descriptor(), self.files()].into_iter().find(|path| path.symlink_metadata().is_ok());
        taken.map_or(Ok(()), |path| Err(SinkError::Exists(path)))
    }
}

impl DirectorySink {
    /// Begins a pyramid. With `replace` it takes the place of one that is there.
    ///
    /// # Errors
    /// When the place is taken or cannot be written to.
    pub fn begin(place: &Place, dzi: &Dzi, replace: bool) -> Result<Self, SinkError> {
        if !replace {
            place.must_be_free()?;
        }
        let growing = tempfile::Builder::new()
            .prefix(&place.with_suffix(".growing-"))
            .tempdir_in(&place.folder)
            .map_err(|error| SinkError::io(&place.folder, error))?;
        let folders = Arc::new(Folders::create(growing.path().join("files"), dzi)?);
        let writers = (0..WRITERS).map(|_| Writer::start(Arc::clone(&folders))).collect();
        Ok(Self { writers, next_writer: 0, growing, place: place.clone(), dzi: *dzi, replace })
    }

    /// Takes a tile. Waits while the writers are behind.
    ///
    /// # Errors
    /// When this tile or one before could not be written.
    pub fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        self.next_writer = (self.next_writer + 1) % self.writers.len();
        let writer = &mut self.writers[self.next_writer];
        let Some(inbox) = &writer.inbox else { return writer.finish() };
        if inbox.send(tile).is_err() {
            return writer.finish();
        }
        Ok(())
    }

    /// Moves the complete pyramid to its place.
    ///
    /// # Errors
    /// When a tile could not be written, or the place has been taken.
    pub fn publish(mut self) -> Result<(), SinkError> {
        self.writers.iter_mut().try_for_each(Writer::finish)?;
        let (files, descriptor) = (self.place.files(), self.place.descriptor());
        let (grown_files, grown_descriptor) =
            (self.growing.path().join("files"), self.growing.path().join("descriptor"));
        fs::write(&grown_descriptor, self.dzi.descriptor())
            .map_err(|error| SinkError::io(&descriptor, error))?;
        if !self.replace {
            self.place.must_be_free()?;
        } else if files.symlink_metadata().is_ok() {
            fs::rename(&files, self.growing.path().join("replaced"))
                .map_err(|error| SinkError::io(&files, error))?;
        }
        fs::rename(&grown_files, &files).map_err(|error| SinkError::io(&files, error))?;
        fs::rename(&grown_descriptor, &descriptor).map_err(|error| {
            // Back under the folder that is about to be deleted.
            let _ = fs::rename(&files, &grown_files);
            SinkError::io(&descriptor, error)
        })
    }
}

impl Folders {
    fn create(path: PathBuf, dzi: &Dzi) -> Result<Self, SinkError> {
        let create = |path: &Path| fs::create_dir(path).map_err(|error| SinkError::io(path, error));
        create(&path)?;
        let levels = (0..=dzi.max_level())
            .map(|level| path.join(level.to_string()))
            .map(|path| {
                create(&path)?;
                Ok(OwnedFd::from(File::open(&path).map_err(|error| SinkError::io(&path, error))?))
            })
            .collect::<Result<_, SinkError>>()?;
        Ok(Self { path, levels, extension: dzi.tile_format.extension() })
    }

    fn write(&self, tile: &Tile) -> Result<(), SinkError> {
        let Tile { level, column, row, bytes } = tile;
        let name = format!("{column}_{row}.{}", self.extension);
        let write = || -> io::Result<()> {
            let folder = self.levels.get(*level as usize).ok_or(io::ErrorKind::NotFound)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            File::from(openat(folder, &name, flags, Mode::from_raw_mode(0o666))?).write_all(bytes)
        };
        write().map_err(|error| SinkError::io(&self.path.join(level.to_string()).join(&name), error))
    }
}

impl Writer {
    fn start(folders: Arc<Folders>) -> Self {
        let (inbox, tiles) = sync_channel(WAITING_TILES);
        Self { inbox: Some(inbox), thread: Some(thread::spawn(move || write_all(&folders, tiles))) }
    }

    /// Waits until everything is written. An error is told once.
    fn finish(&mut self) -> Result<(), SinkError> {
        self.inbox = None;
        let died =
            |_| Err(SinkError::io(Path::new("tiles"), io::Error::other("the thread that writes died")));
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(died))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Whoever drops a pyramid has given it up already, with an error of its own.
        let _ = self.finish();
    }
}

fn write_all(folders: &Folders, tiles: Receiver<Tile>) -> Result<(), SinkError> {
    tiles.into_iter().try_for_each(|tile| folders.write(&tile))
}
