//! The tilers' disk for temporary files: a small file system in memory that chaos fills up.

use std::fs::{File, read_dir};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::proxy::FaultProxy;
use crate::System;

/// Time between two fillings. A content fails after four attempts, and its pauses are seconds.
const APART: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// The file system that only the system sees.
pub struct Disk {
    /// Its path through the system's mount namespace.
    path: PathBuf,
    /// Keeps the file system when the system has ended.
    folder: File,
    filled: Mutex<Option<Instant>>,
}

impl Disk {
    /// Finds the disk of a system that was started with [`Options::disk`](crate::Options::disk).
    ///
    /// # Errors
    /// There is none.
    pub fn of(system: &System) -> Result<Self> {
        Self::of_process(system.process(), &System::temporary(system.state().path()))
    }

    fn of_process(process: u32, inside: &Path) -> Result<Self> {
        let root = Path::new("/proc").join(process.to_string()).join("root");
        let path = root.join(inside.strip_prefix("/")?);
        let folder = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { path, folder, filled: Mutex::default() })
    }

    /// Leaves no room for this time, or until a content has its last chance. Returns false if the disk was full a
    /// moment ago.
    ///
    /// # Errors
    /// The disk cannot be filled.
    pub async fn fill(&self, time: Duration, proxy: &FaultProxy) -> Result<bool> {
        {
            let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
            if filled.is_some_and(|at| at.elapsed() < APART + time) {
                return Ok(false);
            }
            *filled = Some(Instant::now());
        }
        let filler = self.path.join("filler");
        let file = File::create(&filler)?;
        // Others write meanwhile, so the room is taken in smaller and smaller pieces.
        let mut length = 0;
        loop {
            let system = statvfs(&self.path)?;
            let free = system.f_bavail * system.f_frsize;
            if free == 0 || fallocate(&file, FallocateFlags::empty(), length, free).is_err() {
                break;
            }
            length += free;
        }
        eprintln!("chaos | the disk is full for {time:?}");
        let begun = Instant::now();
        while begun.elapsed() < time && !proxy.is_a_last_chance() {
            tokio::time::sleep(LOOK).await;
        }
        std::fs::remove_file(&filler)?;
        Ok(length > 0)
    }

    /// Returns the files on the disk, also when the system has ended.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn files(&self) -> Result<Vec<std::ffi::OsString>> {
        let entries = read_dir(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))?;
        Ok(entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    use std::sync::Arc;

    use super::*;
    use crate::system::with_disk;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_disk_takes_nothing_until_it_has_room_again() -> Result<()> {
        // Writes to the disk for each line of its input, and says whether it could.
        const WRITER: &str = r#"echo ready; while read line; do
            if head -c 100000 /dev/zero 2>/dev/null > "$0/file"; then echo written; else echo full; fi; done"#;
        let folder = tempfile::tempdir()?;
        let mut writer = with_disk(folder.path(), 1, Path::new("sh"));
        writer.args(["-c", WRITER]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut writer = writer.spawn()?;
        let mut orders = writer.stdin.take().context("no input")?;
        let mut lines = BufReader::new(writer.stdout.take().context("no output")?).lines();
        let mut next = || lines.next().context("it has ended")?.map_err(anyhow::Error::from);
        assert_eq!(next()?, "ready");
        let disk = Arc::new(Disk::of_process(writer.id(), folder.path())?);
        let proxy = FaultProxy::start(String::new()).await?;

        let filling = Arc::clone(&disk);
        let fill = tokio::spawn(async move { filling.fill(Duration::from_secs(2), &proxy).await });
        while statvfs(&disk.path)?.f_bavail > 0 {
            tokio::time::sleep(LOOK).await;
        }
        writeln!(orders)?;
        assert_eq!(next()?, "full");
        assert!(fill.await??);
        writeln!(orders)?;
        assert_eq!(next()?, "written");
        drop(orders);
        writer.wait()?;
        assert_eq!(disk.files()?, ["file"], "its files are known when the system has ended");
        Ok(())
    }
}
