//! Chooses the picture of a TIFF that is shown.
//!
//! A TIFF is a chain of pictures: pages, the levels of a pyramid, a thumbnail, the label of a slide. The first one that
//! is not marked as something else is shown, unless one of the same aspect ratio is at least four times as wide: then the
//! first is a level of a pyramid. Pages of one document do not differ so much. Slide scanners whose files need another
//! rule are recognised by their descriptions. `#page=N` counts the pictures that are not reduced versions of others.
//!
//! Source: TIFF 6.0, section 8 (NewSubfileType); openslide.org/formats for files of slide scanners.

use std::collections::HashSet;
use std::num::NonZeroU32;

use edgezoom_geometry::Size;

use super::directory::{Directory, Tiff};
use super::tag;
use super::{FORMAT, channels};
use crate::SourceError;

/// Maximum number of directories that are read to find the largest level. A pyramid has one for each halving.
const MAX_LEVELS: usize = 64;
/// Maximum number of directories that are read to find a page.
const MAX_PAGES: usize = 1 << 16;
/// Bit of NewSubfileType for a reduced version of another picture.
const REDUCED: u64 = 1;
/// Bit of NewSubfileType for a page of a document.
const PAGE: u64 = 2;
/// Bit of NewSubfileType for a mask.
const MASK: u64 = 4;
/// Number by which the largest level of a pyramid is wider than the first picture, if that is a level of it.
const LEVELS: u64 = 4;
/// Tolerance for the sides of a level, in pixels of the smaller one: each level is rounded.
const ROUNDING: u64 = 2;

/// The picture to show.
pub struct Choice {
    pub directory: Directory,
    /// The pictures of its green and blue, if it is only the red.
    pub others: Vec<Directory>,
    /// The mask of the same size.
    pub mask: Option<Directory>,
}

/// A picture that may be shown.
struct Candidate {
    directory: Directory,
    size: (u64, u64),
    kind: u64,
}

impl Candidate {
    /// Returns true if it may be the main picture, as far as its tags say.
    fn is_main(&self) -> bool {
        self.kind & (REDUCED | MASK) == 0
    }

    fn is_mask_of(&self, size: (u64, u64)) -> bool {
        self.kind & MASK != 0 && self.size == size
    }
}

/// Reads the directory of the picture to show.
pub fn choose(tiff: &mut Tiff, page: Option<NonZeroU32>) -> Result<Choice, SourceError> {
    match page {
        Some(page) => choose_page(tiff, page),
        None => choose_level(tiff),
    }
}

fn choose_page(tiff: &mut Tiff, page: NonZeroU32) -> Result<Choice, SourceError> {
    let mut last = 0;
    let (mut found, mut mask) = (None::<Candidate>, None);
    walk(tiff, MAX_PAGES, |candidate| {
        if let Some(found) = &found {
            mask = candidate.is_mask_of(found.size).then_some(candidate.directory);
            return false;
        }
        if candidate.is_main() {
            last += 1;
            if last == page.get() {
                found = Some(candidate);
            }
        }
        true
    })?;
    let found = found.ok_or(SourceError::NoSuchPage { page: page.get(), last })?;
    Ok(Choice { directory: found.directory, others: Vec::new(), mask })
}

fn choose_level(tiff: &mut Tiff) -> Result<Choice, SourceError> {
    let mut candidates = Vec::new();
    walk(tiff, MAX_LEVELS, |candidate| {
        candidates.push(candidate);
        true
    })?;
    let describe = |candidate: &Candidate| tiff.text(&candidate.directory, tag::DESCRIPTION);
    let descriptions: Vec<Option<String>> = candidates.iter().map(describe).collect();
    for (candidate, description) in candidates.iter_mut().zip(&descriptions) {
        if description.as_deref().is_some_and(is_aside) {
            candidate.kind |= REDUCED;
        }
    }
    let chosen = match level_of_slide(tiff, &candidates, &descriptions) {
        Some(chosen) => chosen,
        None => largest_level(&candidates),
    };
    let Candidate { directory, size, .. } = candidates.get(chosen).ok_or_else(|| FORMAT.ends_early())?;
    let others = others(tiff, &candidates, &descriptions, chosen);
    let mask = candidates.iter().find(|candidate| candidate.is_mask_of(*size));
    let clone = |candidate: &Candidate| candidate.directory.clone();
    Ok(Choice { directory: directory.clone(), others, mask: mask.map(clone) })
}

/// Returns true if the description of a picture says that it is a thumbnail, a photograph of the slide or of its label.
fn is_aside(description: &str) -> bool {
    if let Some(kind) = channels::kind_in_qptiff(description) {
        return kind != "FullResolution";
    }
    description.lines().any(|line| {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default().to_ascii_lowercase();
        // Aperio's scanners write the size behind the name.
        let is_alone = words.next().is_none_or(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        is_alone && matches!(name.as_str(), "label" | "macro" | "thumbnail" | "overview")
    })
}

/// Returns the index of the first picture, or of a larger version.
fn largest_level(candidates: &[Candidate]) -> usize {
    let first = candidates.iter().position(Candidate::is_main);
    let Some(first) = first.or_else(|| candidates.iter().position(|candidate| candidate.kind & MASK == 0))
    else {
        return 0;
    };
    let of = candidates[first].size;
    let is_level = |candidate: &Candidate| {
        let is_larger = candidate.size.0.saturating_add(LEVELS * ROUNDING) >= of.0.saturating_mul(LEVELS);
        let is_main = candidate.is_main() || !candidates[first].is_main() && candidate.kind & MASK == 0;
        is_main && is_larger && candidate.kind & PAGE == 0 && have_same_aspect(of, candidate.size)
    };
    let levels = (first + 1..candidates.len()).filter(|&index| is_level(&candidates[index]));
    // Of equally large ones, the first.
    levels.rev().max_by_key(|&index| pixels(candidates[index].size)).unwrap_or(first)
}

/// Returns the directories of green and blue, if the chosen picture is the red of three pages of 8 bits.
fn others(
    tiff: &Tiff,
    candidates: &[Candidate],
    descriptions: &[Option<String>],
    chosen: usize,
) -> Vec<Directory> {
    let number = |index: usize, tag| tiff.first_or(&candidates[index].directory, tag, 1);
    let is_channel = |&index: &usize| {
        let is_here =
            candidates.get(index).is_some_and(|candidate| candidate.size == candidates[chosen].size);
        is_here
            && number(index, tag::SAMPLES_PER_PIXEL) == 1
            && number(index, tag::BITS_PER_SAMPLE) == 8
            && number(index, tag::PHOTOMETRIC) <= tag::photometric::GREY.into()
    };
    let side = |side: u64| u32::try_from(side).unwrap_or(u32::MAX);
    let size = Size { width: side(candidates[chosen].size.0), height: side(candidates[chosen].size.1) };
    let description = |index: usize| descriptions.get(index).and_then(Option::as_deref).unwrap_or_default();
    let pages: Vec<usize> = if channels::is_qptiff(description(0)) {
        (0..candidates.len()).filter(|&index| candidates[index].is_main() && is_channel(&index)).collect()
    } else if description(0).contains("<OME ") {
        channels::of_ome(description(0), size).map(Vec::from).unwrap_or_default()
    } else {
        Vec::new()
    };
    match *pages {
        [red, green, blue]
            if red == chosen
                && green != blue
                && green != red
                && blue != red
                && pages.iter().all(is_channel) =>
        {
            [green, blue].map(|index| candidates[index].directory.clone()).to_vec()
        }
        _ => Vec::new(),
    }
}

/// Returns the index of the highest level in files of scanners that put something else first.
fn level_of_slide(tiff: &Tiff, candidates: &[Candidate], descriptions: &[Option<String>]) -> Option<usize> {
    if tiff.is_ndpi() {
        return Some(0);
    }
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
    fn labels_and_photographs_of_a_slide_say_what_they_are() {
        for aside in ["label", "Aperio Image Library v11.2.1\r\nmacro 1280x431", "Macro", "Thumbnail 400x300"]
        {
            assert!(is_aside(aside), "{aside}");
        }
        for main in ["", "Aperio Image Library v11.2.1\r\n46000x32914", "Label of a jar", "labels", "A macro"]
        {
            assert!(!is_aside(main), "{main}");
        }
    }

    #[test]
    fn levels_have_the_same_aspect_and_pages_do_not() {
        assert!(have_same_aspect((1001, 667), (501, 334)));
        assert!(have_same_aspect((125, 84), (1001, 667)));
        assert!(!have_same_aspect((1001, 667), (667, 1001)));
        assert!(!have_same_aspect((1001, 667), (1001, 800)));
    }
}
