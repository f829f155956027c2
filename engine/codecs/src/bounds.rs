//! The bounds on a picture. Decoders compare them with the header before they allocate anything.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use edgezoom_geometry::Size;

use crate::SourceError;

/// Limits on the size of a picture, and on the memory to decode it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// Maximum number of pixels of a picture.
    pub pixels: u64,
    /// Maximum number of pixels of a picture, given the length of its file.
    pub pixels_by_length: u64,
    /// Maximum number of pixels with which a document or drawing is drawn. A document of many pages may have four times as
    /// many, so that their text can be read.
    pub drawn_pixels: u64,
    /// Maximum number of pixels with which a page of a document is drawn.
    pub page_pixels: u64,
    /// Maximum number of pixels for a page that is a scan, which has pixels of its own.
    pub scan_pixels: u64,
    /// Longest side in pixels.
    pub side: u32,
    /// Maximum number of bytes of memory to buffer a picture.
    pub memory: u64,
    /// Maximum number of pages of a PDF that are drawn; the rest is left out.
    pub pdf_pages: NonZeroUsize,
    /// Maximum number of bytes of an unpacked SVG. In memory it is a tree about ten times as large.
    pub svg_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            pixels: 20_000_000_000,
            pixels_by_length: u64::MAX,
            drawn_pixels: 1_000_000_000,
            page_pixels: 200_000_000,
            scan_pixels: 200_000_000,
            side: 1_000_000,
            memory: 768 << 20,
            pdf_pages: NonZeroUsize::MIN.saturating_add(999),
            svg_bytes: 64 << 20,
        }
    }
}

/// Returns the memory that this process and its children may use, in bytes: the machine's, or less where control groups
/// limit it (proc(5), cgroups(7), version 2). `None`: the system does not say.
#[must_use]
pub fn machine_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes =
        machine.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.split_whitespace().next()?;
    let installed = kibibytes.parse::<u64>().ok()?.checked_mul(1024)?;
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let folder = Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/'));
    let groups = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
    let limits =
        groups.filter_map(|folder| fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse().ok());
    Some(limits.fold(installed, u64::min))
}

impl Bounds {
    /// Returns the default bounds, but with a quarter of this machine's memory to buffer a picture if that is more.
    #[must_use]
    pub fn of_machine() -> Self {
        let default = Self::default();
        Self { memory: default.memory.max(machine_memory().unwrap_or_default() / 4), ..default }
    }

    /// Returns the size if it is within the bounds.
    pub(crate) fn admit(&self, width: u32, height: u32) -> Result<Size, SourceError> {
        let size = Size { width, height };
        if width == 0 || height == 0 {
            return Err(SourceError::Empty);
        }
        if size.pixels() > self.pixels {
            return Err(SourceError::TooManyPixels { size, pixels: self.pixels });
        }
        if width.max(height) > self.side {
            return Err(SourceError::TooLong { size, side: self.side });
        }
        if size.pixels() > self.pixels_by_length {
            return Err(SourceError::TooFewBytes { size, pixels: self.pixels_by_length });
        }
        Ok(size)
    }

    /// Returns the bounds of documents and drawings, whose size does not depend on the length of the file.
    #[cfg(any(feature = "pdf", feature = "svg"))]
    pub(crate) fn of_drawings(self) -> Self {
        Self { pixels: self.pixels.min(self.drawn_pixels), pixels_by_length: u64::MAX, ..self }
    }

    /// Checks that `bytes` bytes may be used. `reason` names the use.
    pub(crate) fn admit_memory(&self, bytes: u64, reason: &'static str) -> Result<(), SourceError> {
        if bytes > self.memory {
            return Err(SourceError::TooMuchMemory { reason, bytes, memory: self.memory });
        }
        Ok(())
    }

    /// Allocates `bytes` bytes, all zero, if they may be used. `reason` names the use.
    pub(crate) fn allocate(&self, bytes: u64, reason: &'static str) -> Result<Vec<u8>, SourceError> {
        self.admit_memory(bytes, reason)?;
        let mut memory = Vec::new();
        usize::try_from(bytes)
            .ok()
            .and_then(|bytes| memory.try_reserve_exact(bytes).ok())
            .ok_or(SourceError::TooMuchMemory { reason, bytes, memory: self.memory })?;
        memory.resize(bytes as usize, 0);
        Ok(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_machine_buffers_larger_pictures() {
        let memory = machine_memory().unwrap();
        assert!((1 << 28..1 << 50).contains(&memory), "{memory}");
        assert_eq!(Bounds::of_machine().memory, (memory / 4).max(Bounds::default().memory));
    }
}
