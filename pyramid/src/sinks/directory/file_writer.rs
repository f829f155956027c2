//! Writes tiles to files in a thread, from a bounded queue.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use edgezoom_geometry::Dzi;
use rustix::fs::{Mode, OFlags, openat};

use crate::Tile;
use crate::sinks::SinkError;

/// Largest number of tiles that wait for a thread.
const QUEUED_TILES: usize = 64;

/// A thread that writes files.
pub struct FileWriter {
    queue: Option<SyncSender<Tile>>,
    thread: Option<JoinHandle<Result<(), SinkError>>>,
}

/// Open folders of all levels. Creating a file relative to an open folder saves the lookup of its path.
pub struct LevelFolders {
    path: PathBuf,
    levels: Vec<OwnedFd>,
    extension: &'static str,
}

impl FileWriter {
    pub fn start(folders: Arc<LevelFolders>) -> Self {
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

fn write_all(folders: &LevelFolders, tiles: Receiver<Tile>) -> Result<(), SinkError> {
    tiles.into_iter().try_for_each(|tile| folders.write(&tile))
}

impl LevelFolders {
    pub fn create(path: PathBuf, dzi: &Dzi) -> Result<Self, SinkError> {
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
