//! Finds the link at a place of a page. A hostile page has 20,000 words and 2,000 links, so they are not compared one by
//! one.

use std::collections::BTreeMap;

use crate::{Link, Rect};

/// The links of a page by place.
pub struct LinkMap<'a> {
    links: &'a [Link],
    across: Strips,
    down: Strips,
}

/// The strips between edges of links in one direction: where each begins, and a bit for each link that covers it.
type Strips = BTreeMap<u64, Vec<u64>>;

impl<'a> LinkMap<'a> {
    pub fn new(links: &'a [Link]) -> Self {
        let across = strips(links.iter().map(|link| (link.at.left, link.at.width)));
        let down = strips(links.iter().map(|link| (link.at.top, link.at.height)));
        Self { links, across, down }
    }

    /// Returns the first link that [contains the centre](Rect::holds) of a rectangle.
    pub fn at(&self, rect: Rect) -> Option<&'a Link> {
        self.links.get(self.index_at(rect)?)
    }

    /// Returns its index.
    pub fn index_at(&self, rect: Rect) -> Option<usize> {
        let (x, y) = rect.centre();
        let (_, across) = self.across.range(..=x).next_back()?;
        let (_, down) = self.down.range(..=y).next_back()?;
        let mut both = across.iter().zip(down).map(|(across, down)| across & down).enumerate();
        let (word, bits) = both.find(|(_, bits)| *bits != 0)?;
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// Returns the strips between the ends of intervals, which are given by start and length.
fn strips(intervals: impl ExactSizeIterator<Item = (u32, u32)>) -> Strips {
    let mut covering = vec![0; intervals.len().div_ceil(64)];
    let ends = intervals.enumerate().flat_map(|(index, (start, length))| {
        let start = u64::from(start);
        [(start, index), (start + u64::from(length), index)]
    });
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
    fn the_first_link_that_contains_the_centre_is_found() {
        let mut numbers = (1_u32..).map(|turn| (turn.wrapping_mul(2_654_435_761) >> 16) % 60);
        let mut number = || numbers.next().unwrap();
        for (count, base) in [(0, 0), (1, 9), (63, 0), (65, u32::MAX - 59), (200, 0)] {
            let mut rect = || Rect::new(base + number(), base + number(), number(), number());
            let links: Vec<_> = (0..count).map(|_| Link { at: rect(), to: Target::Page(0) }).collect();
            let map = LinkMap::new(&links);
            for word in (0..1000).map(|_| rect()) {
                let first = links.iter().find(|link| link.at.holds(&word));
                assert_eq!(map.at(word).map(std::ptr::from_ref), first.map(std::ptr::from_ref), "{word:?}");
            }
        }
    }
}
