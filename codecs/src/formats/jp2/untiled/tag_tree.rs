//! Tag trees: a number for each code block of a precinct, of which a packet's header tells as much as is needed.
//!
//! Source: ITU-T T.800, B.10.2.

use super::bits::Bits;
use crate::SourceError;

/// A tree above a grid of numbers: each node is the least of up to four below.
pub struct TagTree {
    /// The columns of each level, and where its nodes begin; the leaves' level first.
    levels: Vec<(u32, u32)>,
    nodes: Vec<Node>,
}

/// A number of which is known that it is `least` at least, and whether it is just that.
#[derive(Clone, Copy, Default)]
struct Node {
    least: u16,
    is_known: bool,
}

impl TagTree {
    pub fn new(columns: u32, rows: u32) -> Self {
        let (mut columns, mut rows, mut count) = (columns, rows, 0);
        let mut levels = Vec::new();
        loop {
            levels.push((columns, count));
            count += columns * rows;
            if columns * rows <= 1 {
                break;
            }
            (columns, rows) = (columns.div_ceil(2), rows.div_ceil(2));
        }
        Self { levels, nodes: vec![Node::default(); count as usize] }
    }

    /// Reads until it is known whether the number of a leaf is below a limit, and returns whether it is.
    pub fn is_below(
        &mut self,
        [column, row]: [u32; 2],
        limit: u32,
        bits: &mut Bits<'_, '_>,
    ) -> Result<bool, SourceError> {
        let mut least = 0;
        let mut is_below = false;
        for (level, &(columns, first)) in self.levels.iter().enumerate().rev() {
            let index = first + (row >> level) * columns + (column >> level);
            let Some(node) = self.nodes.get_mut(index as usize) else { return Ok(false) };
            if !node.is_known {
                node.least = node.least.max(least);
            }
            while !node.is_known && u32::from(node.least) < limit {
                match bits.bit()? {
                    true => node.is_known = true,
                    false => node.least = node.least.saturating_add(1),
                }
            }
            least = node.least;
            is_below = node.is_known && u32::from(node.least) < limit;
        }
        Ok(is_below)
    }
}
