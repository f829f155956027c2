//! Chooses the picture of a TIFF that is shown.
//!
//! A TIFF is a chain of pictures: pages, the levels of a pyramid, a thumbnail, the label of a slide. The first one is
//! shown, unless a larger one has the same aspect ratio: then the first is a level of a pyramid. Slide scanners whose
//! files need another rule are recognised by their descriptions. `#page=N` counts the pictures that are not reduced
//! versions of others.
//!
//! Source: TIFF 6.0, section 8 (NewSubfileType); openslide.org/formats for files of slide scanners.

use std::collections::HashSet;
use std::num::NonZeroU32;

use super::FORMAT;
use super::directory::{Directory, Tiff};
use super::tag;
use crate::SourceError;

/// Maximum number of directories that are read to find the largest level. A pyramid has one for each halving.
const MAX_LEVELS: usize = 64;
/// Maximum number of directories that are read to find a page.
const MAX_PAGES: usize = 1 << 16;
/// Bit of NewSubfileType for a reduced version of another picture.
const REDUCED: u64 = 1;
/// Bit of NewSubfileType for a mask.
const MASK: u64 = 4;
/// Tolerance for the sides of a level, in pixels of the smaller one: each level is rounded.
const ROUNDING: u64 = 2;

/// A picture that may be shown.
struct Candidate {
    directory: Directory,
    size: (u64, u64),
    kind: u64,
}

/// Reads the directory of the picture to show.
pub fn choose(tiff: &mut Tiff, page: Option<NonZeroU32>) -> Result<Directory, SourceError> {
    match page {
        Some(page) => choose_page(tiff, page),
        None => choose_level(tiff),
    }
}

fn choose_page(tiff: &mut Tiff, page: NonZeroU32) -> Result<Directory, SourceError> {
    let mut last = 0;
    let mut found = None;
    walk(tiff, MAX_PAGES, |candidate| {
        if candidate.kind & (REDUCED | MASK) == 0 {
            last += 1;
            if last == page.get() {
                found = Some(candidate.directory);
            }
        }
        found.is_none()
    })?;
    found.ok_or(SourceError::NoSuchPage { page: page.get(), last })
}

fn choose_level(tiff: &mut Tiff) -> Result<Directory, SourceError> {
    let mut candidates = Vec::new();
    walk(tiff, MAX_LEVELS, |candidate| {
        candidates.push(candidate);
        true
    })?;
    let chosen = match level_of_slide(tiff, &candidates) {
        Some(chosen) => chosen,
        None => largest_level(&candidates),
    };
    candidates.into_iter().nth(chosen).map(|candidate| candidate.directory).ok_or_else(|| FORMAT.ends_early())
}

/// Returns the index of the first picture, or of a larger version.
fn largest_level(candidates: &[Candidate]) -> usize {
    let Some(first) = candidates.first() else { return 0 };
    let is_thumbnail = first.kind & REDUCED != 0;
    let (mut chosen, mut largest) = (0, pixels(first.size));
    for (index, candidate) in candidates.iter().enumerate().skip(1) {
        let is_level = is_thumbnail && candidate.kind & REDUCED == 0
            || have_same_aspect(first.size, candidate.size) && candidate.kind & MASK == 0;
        if is_level && pixels(candidate.size) > largest {
            (chosen, largest) = (index, pixels(candidate.size));
        }
    }
    chosen
}

/// Returns the index of the highest level in files of scanners that put something else first.
fn level_of_slide(tiff: &mut Tiff, candidates: &[Candidate]) -> Option<usize> {
    if tiff.is_ndpi() {
        return Some(0);
    }
    let descriptions: Vec<Option<String>> =
        candidates.iter().map(|candidate| tiff.text(&candidate.directory, tag::DESCRIPTION)).collect();
    let has = |index: usize, part: &str| {
        descriptions.get(index).is_some_and(|text| text.as_ref().is_some_and(|text| text.contains(part)))
    };
    let tiled = || (0..candidates.len()).filter(|&index| candidates[index].directory.has(tag::TILE_WIDTH));
    // Ventana: the label and a map come first.
    if let Some(level) = tiled().find(|&index| has(index, "level=0 ") && has(index, "mag=")) {
        return Some(level);
    }
    // Leica: an overview comes first.
    if has(0, "leica-microsystems.com/scn") {
        return tiled().max_by_key(|&index| pixels(candidates[index].size));
    }
    None
}

/// Calls `see` with the pictures of the chain until it returns false. The chain ends where it leads into itself or to
/// something other than a directory.
fn walk(tiff: &mut Tiff, most: usize, mut see: impl FnMut(Candidate) -> bool) -> Result<(), SourceError> {
    let mut seen = HashSet::new();
    let (mut offset, mut found) = (tiff.first, false);
    while offset != 0 && seen.len() < most && seen.insert(offset) {
        let directory = match tiff.directory(offset) {
            Ok(directory) => directory,
            // The first page is shown even if a later one cannot be read.
            Err(_) if found => break,
            Err(error) => return Err(error),
        };
        offset = directory.next;
        let width = tiff.first_or(&directory, tag::WIDTH, 0);
        let length = tiff.first_or(&directory, tag::LENGTH, 0);
        if width == 0 || length == 0 {
            continue;
        }
        found = true;
        let kind = tiff.first_or(&directory, tag::NEW_SUBFILE_TYPE, 0);
        if !see(Candidate { directory, size: (width, length), kind }) {
            break;
        }
    }
    if found { Ok(()) } else { Err(SourceError::Empty) }
}

fn pixels((width, height): (u64, u64)) -> u64 {
    width.saturating_mul(height)
}

/// Returns true if two sizes have the same aspect ratio, within rounding.
fn have_same_aspect((width, height): (u64, u64), (other_width, other_height): (u64, u64)) -> bool {
    let one = width.saturating_mul(other_height);
    let other = other_width.saturating_mul(height);
    one.abs_diff(other) <= ROUNDING.saturating_mul(width.max(height).max(other_width).max(other_height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_same_aspect_and_pages_do_not() {
        assert!(have_same_aspect((1001, 667), (501, 334)));
        assert!(have_same_aspect((125, 84), (1001, 667)));
        assert!(!have_same_aspect((1001, 667), (667, 1001)));
        assert!(!have_same_aspect((1001, 667), (1001, 800)));
    }
}
