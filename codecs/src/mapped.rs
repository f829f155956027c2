//! A temporary file as memory, for decoders that write a picture at any place and know only memory. What is written is in
//! the system's cache of files, which it writes to the disk when memory is short; what a process has touched of it counts
//! as its own until it lets go, so a thread does that all the time.
//!
//! `unsafe` are calls of `madvise` and `clock_gettime`, and the slice of what is mapped. A gigapixel of JPEG XL takes 3 GB,
//! which a renderer has not; its decoder writes groups of pixels in the order of the file.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, slice, thread};

use memmap2::{MmapOptions, MmapRaw, UncheckedAdvice};

/// The bytes that are written at once where the file is made as long as it has to be.
const BLOCK_BYTES: usize = 1 << 20;
/// How often it is looked whether memory is to be let go.
const PAGING: Duration = Duration::from_millis(10);
/// The processor time after which it is let go. Meanwhile a decoder that fills its planes touches up to 200 MiB. To touch a
/// page again takes a microsecond or two, so a busy machine, where less is done in the same time, must not let go as often.
const BETWEEN: Duration = Duration::from_millis(40);
/// The time after which it is let go anyway.
const AT_LATEST: Duration = Duration::from_secs(1);

/// A file as memory.
pub(crate) struct Mapping {
    memory: Arc<MmapRaw>,
}

impl Mapping {
    /// The first bytes of a file that no other process has, all of this value.
    pub(crate) fn new(file: &File, bytes: usize, value: u8) -> io::Result<Self> {
        // With the file's blocks allocated here a full disk is an error, and not a signal when memory is written.
        let block = vec![value; BLOCK_BYTES.min(bytes)];
        for start in (0..bytes).step_by(BLOCK_BYTES) {
            file.write_all_at(&block[..BLOCK_BYTES.min(bytes - start)], start as u64)?;
        }
        Self::of(file, 0, bytes)
    }

    /// Some bytes of a file that no other process has. What lies beyond its end must not be touched.
    pub(crate) fn of(file: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let memory = Arc::new(MmapOptions::new().offset(offset).len(bytes).map_raw(file)?);
        let paged = Arc::downgrade(&memory);
        thread::Builder::new().name("paging".into()).spawn(move || {
            let (mut used, mut since) = (Duration::ZERO, Instant::now());
            while let Some(memory) = paged.upgrade() {
                let now = processor_time();
                let is_due = now.is_none_or(|now| now.saturating_sub(used) >= BETWEEN);
                if is_due || since.elapsed() >= AT_LATEST {
                    // SAFETY: Of a shared mapping of a file, pages are read from the file again when they are next used
                    // (madvise(2), MADV_DONTNEED): no byte changes, also of what is read or written meanwhile. When it
                    // fails, memory stays in use.
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
        // SAFETY: This owns the memory, and nothing else refers to its bytes. The file is temporary, has no name, and is
        // written by this process alone, which never makes it shorter (the sandbox has no system call for that). So no
        // byte changes or goes away behind the owner.
        unsafe { slice::from_raw_parts_mut(self.start(), self.memory.len()) }
    }

    /// Where the memory begins.
    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.as_mut_ptr()
    }
}

/// The processor time that the process has used, all its threads together.
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: The kernel writes to `time` and keeps nothing.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    let nanoseconds = u32::try_from(time.tv_nsec).ok();
    let seconds = u64::try_from(time.tv_sec).ok().filter(|_| result == 0);
    seconds.zip(nanoseconds).map(|(seconds, nanoseconds)| Duration::new(seconds, nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of mapped files that this process has touched.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }

    #[test]
    fn what_is_written_outlives_its_memory() {
        const BYTES: usize = 200 << 20;
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[9; 3_000_000], 0).unwrap();
        let mut mapping = Mapping::new(&file, BYTES, 5).unwrap();
        assert!(mapping.bytes().iter().all(|&byte| byte == 5));
        mapping.bytes()[2_400_000] = 7;
        let is_let_go = || {
            thread::sleep(PAGING);
            resident() < BYTES as u64 / 2
        };
        assert!((0..200).any(|_| is_let_go()), "{} bytes are in memory", resident());
        assert_eq!(mapping.bytes()[2_400_000], 7);
        drop(mapping);
        let mut byte = [0];
        file.read_exact_at(&mut byte, 2_400_000).unwrap();
        assert_eq!(byte, [7]);
    }
}
