//! A temporary file as memory, for decoders that write a picture at any place and know only memory. What is written is in
//! the system's cache of files, which it writes to the disk when memory is short.
//!
//! The only `unsafe` code here: calls of `mmap` and `madvise`. A gigapixel of JPEG XL takes 3 GB, which a renderer has not;
//! its decoder writes groups of pixels in the order of the file.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memmap2::{MmapMut, MmapOptions, UncheckedAdvice};

/// The bytes that are written at once where the file is made as long as it has to be.
const BLOCK_BYTES: usize = 1 << 20;

/// A file as memory.
pub(crate) struct Mapping {
    memory: MmapMut,
}

impl Mapping {
    /// The first bytes of a file that no other process has, all of this value.
    pub(crate) fn new(file: &File, bytes: usize, value: u8) -> io::Result<Self> {
        // With the file's blocks allocated here a full disk is an error, and not a signal when memory is written.
        let block = vec![value; BLOCK_BYTES.min(bytes)];
        for start in (0..bytes).step_by(BLOCK_BYTES) {
            file.write_all_at(&block[..BLOCK_BYTES.min(bytes - start)], start as u64)?;
        }
        // SAFETY: The file is temporary, has no name, and is written by this process alone, which never makes it shorter
        // (the sandbox has no system call for that). So no byte changes or goes away behind the memory's owner.
        let memory = unsafe { MmapOptions::new().len(bytes).map_mut(file) }?;
        Ok(Self { memory })
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Lets go of the memory, but not of what is written in it: that is in the file.
    pub(crate) fn release(&mut self) {
        // SAFETY: Of a shared mapping of a file, pages are read from the file again when they are next used (madvise(2),
        // MADV_DONTNEED), and this has the only reference to them. When it fails, memory stays in use.
        let _ = unsafe { self.memory.unchecked_advise(UncheckedAdvice::DontNeed) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_outlives_its_memory() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[9; 3_000_000], 0).unwrap();
        let mut mapping = Mapping::new(&file, 2_500_000, 5).unwrap();
        assert!(mapping.bytes().iter().all(|&byte| byte == 5));
        mapping.bytes()[2_400_000] = 7;
        mapping.release();
        assert_eq!(mapping.bytes()[2_400_000], 7);
        drop(mapping);
        let mut byte = [0];
        file.read_exact_at(&mut byte, 2_400_000).unwrap();
        assert_eq!(byte, [7]);
    }
}
