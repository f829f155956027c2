use libdeflater::{CompressionLvl, Compressor, Decompressor};
use proptest::prelude::*;

use super::TwoInflater;

/// Bytes by a generator of the "numerical recipes".
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    };
    let mut state = seed;
    (0..length).filter_map(|_| next(&mut state)).collect()
}

/// Bytes of which each value is half as frequent as the one before: the codes of rare ones are as long as codes may be.
fn skewed(seed: u32, length: usize) -> Vec<u8> {
    let one = noise(seed, length).into_iter().zip(noise(!seed, length));
    one.map(|pair| u16::from_le_bytes(pair.into()).leading_zeros() as u8).collect()
}

/// Noise with repetitions of all lengths, some of which overlap with themselves.
fn repeating(seed: u32, length: usize) -> Vec<u8> {
    let mut bytes = noise(seed, 1000);
    while bytes.len() < length {
        let kind = noise(seed ^ bytes.len() as u32, 8);
        let from = bytes.len().saturating_sub(1 + usize::from(kind[4]) * usize::from(kind[5] % 120));
        let count = usize::from(kind[6]) + 3;
        (from..from + count).for_each(|at| bytes.push(bytes[at]));
        bytes.extend_from_slice(&kind[..usize::from(kind[7] % 8)]);
    }
    bytes.truncate(length);
    bytes
}

fn content(kind: u8, seed: u32, length: usize) -> Vec<u8> {
    match kind {
        0 => noise(seed, length),
        1 => skewed(seed, length),
        2 => repeating(seed, length),
        3 => vec![seed as u8; length],
        _ => noise(seed, length).into_iter().map(|byte| byte & 0x7f).collect(),
    }
}

fn compressed(bytes: &[u8], level: i32) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
    let mut out = vec![0; compressor.zlib_compress_bound(bytes.len())];
    let length = compressor.zlib_compress(bytes, &mut out).unwrap();
    out.truncate(length);
    out
}

fn decoded(two: &mut TwoInflater, stored: [&[u8]; 2], lengths: [usize; 2]) -> Option<[Vec<u8>; 2]> {
    let mut out = lengths.map(|length| vec![0; length]);
    let [one, other] = &mut out;
    two.decode_while(stored, [one, other], |_, _| true).map(|()| out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_are_decoded_as_they_were(
        kinds: [u8; 2], seeds: [u32; 2], lengths in [0..200_000_usize, 0..200_000_usize], levels in [0..=12, 0..=12],
    ) {
        let bytes = [0, 1].map(|one| content(kinds[one] % 5, seeds[one], lengths[one]));
        let stored = [0, 1].map(|one| compressed(&bytes[one], levels[one]));
        let mut two = TwoInflater::default();
        // Twice, so that tables of before are there.
        for _ in 0..2 {
            prop_assert!(decoded(&mut two, [&stored[0], &stored[1]], lengths).as_ref() == Some(&bytes));
        }
    }

    #[test]
    fn what_is_damaged_is_left_to_others(
        kind: u8, seed: u32, length in 1..20_000_usize, level in 0..=12, place: prop::sample::Index, bits in 1..=255_u8,
        is_other: bool,
    ) {
        let bytes = content(kind % 5, seed, length);
        let stored = compressed(&bytes, level);
        let mut two = TwoInflater::default();
        let mut decode = |damaged: &[u8], length| {
            let pair = if is_other { [stored.as_slice(), damaged] } else { [damaged, stored.as_slice()] };
            let lengths = if is_other { [bytes.len(), length] } else { [length, bytes.len()] };
            decoded(&mut two, pair, lengths)
        };
        let place = place.index(stored.len());
        prop_assert_eq!(decode(&stored[..place], length), None);
        prop_assert_eq!(decode(&stored, length - 1), None);
        prop_assert_eq!(decode(&stored, length + 1), None);
        let mut damaged = stored.clone();
        damaged[place] ^= bits;
        // Some damage has the same checksum, or is of bits that mean nothing.
        if let Some([one, other]) = decode(&damaged, length) {
            let mut expected = vec![0; length];
            let decoded = Decompressor::new().zlib_decompress(&damaged, &mut expected);
            prop_assert_eq!(decoded.ok(), Some(length));
            let out = if is_other { other } else { one };
            prop_assert!(out == expected);
        }
        let random = noise(seed, length);
        prop_assert_eq!(decode(&random, length), None);
    }
}

#[test]
fn many_matches_are_left_to_others() {
    for (kind, is_decoded) in [(0, true), (1, false)] {
        let bytes = content(kind, 7, 100_000);
        let stored = compressed(&bytes, 6);
        let mut out = [vec![0; bytes.len()], vec![0; bytes.len()]];
        let [one, other] = &mut out;
        let decoded = TwoInflater::default().decode([&stored, &stored], [one, other]);
        assert_eq!(decoded.is_some(), is_decoded, "content {kind}");
    }
}

#[test]
fn codes_of_all_lengths_are_read() {
    // Values as frequent as the numbers of Fibonacci.
    let (mut bytes, mut counts) = (Vec::new(), (1, 1));
    for value in 0..20 {
        bytes.extend(std::iter::repeat_n(value, counts.0));
        counts = (counts.1, counts.0 + counts.1);
    }
    // In an order in which nothing repeats for long.
    let order = noise(1, 4 * bytes.len());
    let keys = order.as_chunks::<4>().0.iter().map(|key| u32::from_le_bytes(*key));
    let mut sorted: Vec<_> = keys.zip(bytes).collect();
    sorted.sort_unstable();
    let bytes: Vec<u8> = sorted.into_iter().map(|(_, value)| value).collect();
    for level in [1, 6, 12] {
        let stored = compressed(&bytes, level);
        let out = decoded(&mut TwoInflater::default(), [&stored, &stored], [bytes.len(); 2]);
        assert!(out == Some([bytes.clone(), bytes.clone()]), "level {level}");
    }
}
