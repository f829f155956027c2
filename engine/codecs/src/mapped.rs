//! A temporary file as memory, for decoders that write pixels in any order and only to memory. A gigapixel of JPEG XL takes
//! 3 GB, more than a renderer has. Written pages are in the system's file cache, which goes to the disk when memory is short.
//! Pages that a process has touched count as its own until it releases them, so a thread does that regularly.
//!
//! `unsafe` is needed to call `madvise` and `clock_gettime`, and for the slice of the mapping.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, slice, thread};

use memmap2::{MmapOptions, MmapRaw, UncheckedAdvice};

/// Number of bytes written at once to extend the file.
const BLOCK_BYTES: usize = 1 << 20;
/// Interval between checks for releasable memory.
const PAGING: Duration = Duration::from_millis(10);
/// CPU time after which memory is released. A decoder that fills its planes touches up to 200 MiB in that time. Touching a
/// page again takes one or two microseconds, so a busy machine, which does less in the same time, must release less often.
const BETWEEN: Duration = Duration::from_millis(40);
/// Wall time after which memory is released anyway.
const AT_LATEST: Duration = Duration::from_secs(1);

/// A file as memory.
pub(crate) struct Mapping {
    memory: Arc<MmapRaw>,
}

impl Mapping {
    /// Maps the first bytes of a file that no other process has open, and sets them to `value`.
    pub(crate) fn new(file: &File, bytes: usize, value: u8) -> io::Result<Self> {
        // Allocating the file's blocks here makes a full disk an error, rather than a signal when memory is written.
        let block = vec![value; BLOCK_BYTES.min(bytes)];
        for start in (0..bytes).step_by(BLOCK_BYTES) {
            file.write_all_at(&block[..BLOCK_BYTES.min(bytes - start)], start as u64)?;
        }
        Self::of(file, 0, bytes)
    }

    /// Maps bytes of a file that no other process has open. Bytes beyond its end must not be touched.
    pub(crate) fn of(file: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let memory = Arc::new(MmapOptions::new().offset(offset).len(bytes).map_raw(file)?);
        let paged = Arc::downgrade(&memory);
        thread::Builder::new().name("paging".into()).spawn(move || {
            let (mut used, mut since) = (Duration::ZERO, Instant::now());
            while let Some(memory) = paged.upgrade() {
                let now = processor_time();
                let is_due = now.is_none_or(|now| now.saturating_sub(used) >= BETWEEN);
                if is_due || since.elapsed() >= AT_LATEST {
                    // SAFETY: pages of a shared mapping of a file are read from the file again when they are next used
                    // (madvise(2), MADV_DONTNEED). No byte changes, even if it is read or written at the same time. If
                    // the call fails, memory stays in use.
                    let _ = unsafe { memory.unchecked_advise(UncheckedAdvice::DontNeed) };
                    (used, since) = (now.unwrap_or_default(), Instant::now());
                }
                drop(memory);
                thread::sleep(PAGING);
            }
        })?;
        Ok(Self { memory })
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `self` owns the memory, and nothing else refers to its bytes. The file is temporary, has no name, and only
        // this process writes it and never truncates it (the sandbox has no system call for that). So no byte changes or
        // disappears while it is borrowed.
        unsafe { slice::from_raw_parts_mut(self.start(), self.memory.len()) }
    }

    /// Returns the address of the memory.
    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.as_mut_ptr()
    }
}

/// Returns the CPU time of all threads of the process.
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `time` and keeps no pointer.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    let nanoseconds = u32::try_from(time.tv_nsec).ok();
    let seconds = u64::try_from(time.tv_sec).ok().filter(|_| result == 0);
    seconds.zip(nanoseconds).map(|(seconds, nanoseconds)| Duration::new(seconds, nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of bytes of mapped files in this process's memory.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }

    #[test]
    fn written_bytes_survive_the_release_of_their_memory() {
        const BYTES: usize = 200 << 20;
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[9; 3_000_000], 0).unwrap();
        let mut mapping = Mapping::new(&file, BYTES, 5).unwrap();
        assert!(mapping.bytes().iter().all(|&byte| byte == 5));
        mapping.bytes()[2_400_000] = 7;
        let is_released = || {
            thread::sleep(PAGING);
            resident() < BYTES as u64 / 2
        };
        assert!((0..200).any(|_| is_released()), "{} bytes are in memory", resident());
        assert_eq!(mapping.bytes()[2_400_000], 7);
        drop(mapping);
        let mut byte = [0];
        file.read_exact_at(&mut byte, 2_400_000).unwrap();
        assert_eq!(byte, [7]);
    }
}
