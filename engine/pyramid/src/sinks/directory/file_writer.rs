//! Writes tiles to files in a thread, from a bounded queue.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::Tile;
use crate::sinks::SinkError;
use crate::sinks::tree::Names;

/// Largest number of tiles that wait for a thread.
const QUEUED_TILES: usize = 64;

/// A thread that writes files.
pub struct FileWriter {
    queue: Option<SyncSender<Tile>>,
    thread: Option<JoinHandle<Result<(), SinkError>>>,
}

/// The folder of tiles.
pub struct TileFolders {
    path: PathBuf,
    /// Open folders of all levels, in Deep Zoom: creating a file relative to an open folder saves the lookup of its
    /// path.
    levels: Vec<OpenFolder>,
    names: Arc<Names>,
}

/// A folder in which files are created. Elsewhere than on Unix it is a path.
struct OpenFolder(#[cfg(unix)] std::os::fd::OwnedFd, #[cfg(not(unix))] PathBuf);

impl OpenFolder {
    fn at(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self(File::open(path)?.into()));
        #[cfg(not(unix))]
        return Ok(Self(path.to_owned()));
    }

    fn create(&self, name: &str) -> io::Result<File> {
        #[cfg(unix)]
        {
            use rustix::fs::{Mode, OFlags, openat};
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            Ok(openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
        }
        #[cfg(not(unix))]
        return File::create_new(self.0.join(name));
    }
}

impl FileWriter {
    pub fn start(folders: Arc<TileFolders>) -> Self {
        let (queue, tiles) = sync_channel(QUEUED_TILES);
        Self { queue: Some(queue), thread: Some(thread::spawn(move || write_all(&folders, tiles))) }
    }

    /// Queues a tile. Waits while the queue is full.
    pub fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        // The thread ends at its first error, which closes the queue. `finish` returns the error.
        let is_queued = self.queue.as_ref().is_some_and(|queue| queue.send(tile).is_ok());
        if is_queued { Ok(()) } else { self.finish() }
    }

    /// Waits until all tiles are written. Returns the thread's error, if any, once.
    pub fn finish(&mut self) -> Result<(), SinkError> {
        self.queue = None;
        let panicked = |_| {
            Err(SinkError::io(Path::new("the tiles"), io::Error::other("the thread that writes panicked")))
        };
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(panicked))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // The pyramid is abandoned, and the caller has the error that caused it.
        let _ = self.finish();
    }
}

fn write_all(folders: &TileFolders, tiles: Receiver<Tile>) -> Result<(), SinkError> {
    tiles.into_iter().try_for_each(|tile| folders.write(&tile))
}

impl TileFolders {
    pub fn create(path: PathBuf, names: Arc<Names>) -> Result<Self, SinkError> {
        let create = |path: &Path| fs::create_dir(path).map_err(|error| SinkError::io(path, error));
        create(&path)?;
        let levels = if names.has_level_folders() { names.levels() } else { 0 };
        let levels = (0..levels)
            .map(|level| path.join(level.to_string()))
            .map(|path| {
                create(&path)?;
                OpenFolder::at(&path).map_err(|error| SinkError::io(&path, error))
            })
            .collect::<Result<_, SinkError>>()?;
        Ok(Self { path, levels, names })
    }

    fn write(&self, tile: &Tile) -> Result<(), SinkError> {
        let written =
            if self.names.has_level_folders() { self.write_in_level(tile) } else { self.write_in_tree(tile) };
        written.map_err(|error| {
            let name = self.names.tile(tile.level, tile.column, tile.row).unwrap_or_default();
            SinkError::io(&self.path.join(name), error)
        })
    }

    fn write_in_level(&self, Tile { level, column, row, bytes }: &Tile) -> io::Result<()> {
        let folder = self.levels.get(self.names.level(*level)? as usize).ok_or(io::ErrorKind::NotFound)?;
        let name = format!("{column}_{row}.{}", self.names.extension());
        folder.create(&name)?.write_all(bytes)
    }

    /// Writes a tile at each of its paths and creates the folders that are missing.
    fn write_in_tree(&self, Tile { level, column, row, bytes }: &Tile) -> io::Result<()> {
        let paths = self.names.other_paths(*level, *column, *row);
        for path in paths.into_iter().chain([self.names.tile(*level, *column, *row)?]) {
            let path = self.path.join(path);
            let mut file = match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(path.parent().unwrap_or(&self.path))?;
                    File::create_new(&path)?
                }
                other => other?,
            };
            file.write_all(bytes)?;
        }
        Ok(())
    }
}
