//! Huffman tables with the shortest codes for one file.
//!
//! Source: ITU-T T.81, section K.2; J. van Leeuwen, "On the construction of Huffman trees", 1976, for the two queues.

/// Number of symbols of a table, and one that stands for the code of ones only, which JPEG forbids.
const MOST_SYMBOLS: usize = 256 + 1;
/// Length of the longest code that JPEG allows in bits.
const LONGEST: usize = 16;

/// A Huffman table as files define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Number of codes of each length, from 1 to 16 bits.
    pub counts: [u8; LONGEST],
    /// Symbols in the order of their codes.
    pub symbols: Vec<u8>,
}

impl Table {
    /// Returns the table with the shortest codes for symbols of these frequencies. A symbol of frequency 0 has no code.
    pub fn optimal(frequencies: impl Iterator<Item = (u8, u32)>) -> Self {
        let mut leaves: Vec<(u32, u8)> =
            frequencies.filter(|(_, count)| *count > 0).map(|(symbol, count)| (count, symbol)).collect();
        leaves.sort_unstable();
        let mut lengths = lengths(&leaves);
        shorten(&mut lengths);
        // The forbidden code is the last one.
        if let Some(longest) = lengths.iter_mut().rfind(|count| **count > 0) {
            *longest -= 1;
        }
        let mut counts = [0; LONGEST];
        counts.iter_mut().zip(&lengths[1..]).for_each(|(to, count)| *to = *count as u8);
        Self { counts, symbols: leaves.iter().rev().map(|(_, symbol)| *symbol).collect() }
    }

    /// Iterates over the symbols with their codes and the codes' lengths. Codes are consecutive numbers, which get another zero
    /// bit at each greater length.
    pub fn codes(&self) -> impl Iterator<Item = (u8, u32, u32)> {
        let lengths = (1..).zip(self.counts).flat_map(|(length, count)| (0..count).map(move |_| length));
        let (mut next, mut previous) = (0_u32, 0_u32);
        self.symbols.iter().zip(lengths).map(move |(&symbol, length)| {
            next <<= length - previous;
            previous = length;
            next += 1;
            (symbol, next - 1, length)
        })
    }
}

/// Returns the number of codes of each length in bits for sorted leaves and the forbidden code.
fn lengths(leaves: &[(u32, u8)]) -> [u32; MOST_SYMBOLS] {
    // Leaves first, the forbidden code before all, then inner nodes, which are made in the order of their weights.
    let count = leaves.len() + 1;
    let mut weights: Vec<u32> = [0].into_iter().chain(leaves.iter().map(|leaf| leaf.0)).collect();
    let mut parents = vec![0; (2 * count).saturating_sub(1)];
    let (mut leaf, mut inner) = (0, count);
    for node in count..parents.len() {
        let mut lightest = || {
            let takes_leaf = leaf < count && (inner >= weights.len() || weights[leaf] <= weights[inner]);
            let from = if takes_leaf { &mut leaf } else { &mut inner };
            *from += 1;
            parents[*from - 1] = node;
            weights[*from - 1]
        };
        let weight = lightest() + lightest();
        weights.push(weight);
    }
    let mut depths = vec![0; parents.len()];
    for node in (0..parents.len().saturating_sub(1)).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    let mut lengths = [0; MOST_SYMBOLS];
    depths[..count].iter().for_each(|&depth: &usize| lengths[depth] += 1);
    lengths
}

/// Shortens codes of more than 16 bits at the cost of others (figure K.3).
fn shorten(lengths: &mut [u32; MOST_SYMBOLS]) {
    for length in (LONGEST + 1..MOST_SYMBOLS).rev() {
        while lengths[length] > 0 {
            let Some(shorter) = (1..length - 1).rev().find(|&shorter| lengths[shorter] > 0) else { break };
            lengths[length] -= 2;
            lengths[length - 1] += 1;
            lengths[shorter + 1] += 2;
            lengths[shorter] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Table;

    fn check(frequencies: &[u32]) -> u64 {
        let table = Table::optimal((0..=255).zip(frequencies.iter().copied()));
        let codes: Vec<_> = table.codes().collect();
        assert_eq!(codes.len(), frequencies.iter().filter(|count| **count > 0).count());
        let taken: u32 = codes.iter().map(|(_, _, length)| 1 << (16 - length)).sum();
        assert!(taken < 1 << 16, "the code of ones only is taken");
        for (number, (_, code, length)) in codes.iter().enumerate() {
            let is_prefix =
                |(_, other, more): &(u8, u32, u32)| more >= length && other >> (more - length) == *code;
            assert!(!codes[number + 1..].iter().any(is_prefix));
        }
        codes
            .iter()
            .map(|(symbol, _, length)| u64::from(frequencies[usize::from(*symbol)]) * u64::from(*length))
            .sum()
    }

    #[test]
    fn codes_are_the_shortest_and_at_most_16_bits_long() {
        assert_eq!(check(&[7]), 7);
        assert_eq!(check(&[1, 1]), 3);
        assert_eq!(check(&[8, 4, 2, 2]), 8 + 8 + 6 + 8);
        // Frequencies that grow as Fibonacci's numbers would need codes of 24 bits.
        let (mut fibonacci, mut next) = (vec![], (1, 1));
        for _ in 0..25 {
            fibonacci.push(next.0);
            next = (next.1, next.0 + next.1);
        }
        check(&fibonacci);
    }

    proptest! {
        #[test]
        fn any_frequencies_give_a_valid_table(frequencies in prop::collection::vec(prop_oneof![Just(0_u32), 1_u32..9, 1_u32..100_000], 1..256)) {
            prop_assume!(frequencies.iter().any(|count| *count > 0));
            check(&frequencies);
        }
    }
}
