//! Finds the link at a place of a page. A hostile page has 20,000 words and 2,000 links, so they are not compared one by
//! one.

use std::collections::BTreeMap;
use std::iter::repeat;

use crate::{Link, Rect};

/// The links of a page by place.
pub struct LinkMap<'a> {
    links: &'a [Link],
    /// From left to right, and from top to bottom.
    covered: [Strips; 2],
    /// The same, where each link reaches from its centre to the end.
    centres: [Strips; 2],
}

/// The strips between edges of links in one direction: where each begins, and a bit for each link that covers it.
type Strips = BTreeMap<u64, Vec<u64>>;

impl<'a> LinkMap<'a> {
    pub fn new(links: &'a [Link]) -> Self {
        let covered = |side: fn(Rect) -> (u32, u32)| {
            strips(links.iter().map(|link| side(link.at)).map(|(start, length)| {
                let start = u64::from(start);
                [start, start + u64::from(length)]
            }))
        };
        let (x, y): (Vec<u64>, Vec<u64>) = links.iter().map(|link| link.at.centre()).unzip();
        Self {
            links,
            covered: [covered(|at| (at.left, at.width)), covered(|at| (at.top, at.height))],
            centres: [x, y].map(|centres| strips(centres.into_iter().map(|centre| [centre, u64::MAX]))),
        }
    }

    /// Returns the first link that [contains the centre](Rect::holds) of a word, or else the first whose own centre is in
    /// the word, as that of a footnote's number is.
    pub fn at(&self, word: Rect) -> Option<&'a Link> {
        self.links.get(self.index_at(word)?)
    }

    /// Returns its index.
    pub fn index_at(&self, word: Rect) -> Option<usize> {
        let (x, y) = word.centre();
        let [across, down] = &self.covered;
        let around =
            first_in_both(before(across, x + 1).iter().copied(), before(down, y + 1).iter().copied());
        let within = |strips, start: u32, length: u32| {
            let (start, length) = (u64::from(start), u64::from(length));
            let outside = before(strips, start).iter().chain(repeat(&0));
            before(strips, start + length).iter().zip(outside).map(|(before, outside)| before & !outside)
        };
        let [across, down] = &self.centres;
        around.or_else(|| {
            first_in_both(within(across, word.left, word.width), within(down, word.top, word.height))
        })
    }
}

/// Returns the bits of the last strip that begins before a place.
fn before(strips: &Strips, place: u64) -> &[u64] {
    strips.range(..place).next_back().map_or(&[], |(_, bits)| bits)
}

/// Returns the index of the first bit that is set in both.
fn first_in_both(across: impl Iterator<Item = u64>, down: impl Iterator<Item = u64>) -> Option<usize> {
    let mut both = across.zip(down).map(|(across, down)| across & down).enumerate();
    let (word, bits) = both.find(|(_, bits)| *bits != 0)?;
    Some(word * 64 + bits.trailing_zeros() as usize)
}

/// Returns the strips between the ends of intervals.
fn strips(intervals: impl ExactSizeIterator<Item = [u64; 2]>) -> Strips {
    let mut covering = vec![0; intervals.len().div_ceil(64)];
    let ends = intervals.enumerate().flat_map(|(index, ends)| ends.map(|end| (end, index)));
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    let mut strips = Strips::new();
    for (place, index) in ends {
        covering[index / 64] ^= 1 << (index % 64);
        strips.insert(place, covering.clone()); // of ends at one place, the last one counts
    }
    strips
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn the_first_link_that_contains_the_centre_is_found_or_else_the_first_within() {
        let mut numbers = (1_u32..).map(|turn| (turn.wrapping_mul(2_654_435_761) >> 16) % 60);
        let mut number = || numbers.next().unwrap();
        for (count, base) in [(0, 0), (1, 9), (63, 0), (65, u32::MAX - 59), (200, 0)] {
            let mut rect = || Rect::new(base + number(), base + number(), number(), number());
            let links: Vec<_> = (0..count).map(|_| Link { at: rect(), to: Target::Page(0) }).collect();
            let map = LinkMap::new(&links);
            for word in (0..1000).map(|_| rect()) {
                let mut within = links.iter().filter(|link| word.holds(&link.at));
                let first = links.iter().find(|link| link.at.holds(&word)).or_else(|| within.next());
                assert_eq!(map.at(word).map(std::ptr::from_ref), first.map(std::ptr::from_ref), "{word:?}");
            }
        }
    }
}
