//! Where pyramids are written. Into memory where there is room, so that no file system is measured.

use std::path::Path;

use anyhow::Result;
use tempfile::{Builder, TempDir};

/// The system's folder in memory, on Linux.
const MEMORY: &str = "/dev/shm";

pub struct Outputs {
    folder: TempDir,
    is_memory: bool,
}

impl Outputs {
    /// In memory, or else in a folder.
    pub fn new(folder: &Path) -> Result<Self> {
        let new = |parent: &Path| Builder::new().prefix("edgezoom-output-").tempdir_in(parent);
        let memory = new(Path::new(MEMORY)).ok();
        let is_memory = memory.is_some();
        Ok(Self { folder: memory.map_or_else(|| new(folder), Ok)?, is_memory })
    }

    /// An empty folder. In memory it goes when it is dropped. On a disk it stays until all is done: for minutes ext4 looks
    /// at each inode that was freed, one after the other, before it gives out another, which was 40 % of the next run's time.
    pub fn next(&self) -> Result<TempDir> {
        Ok(Builder::new().disable_cleanup(!self.is_memory).tempdir_in(self.folder.path())?)
    }
}
