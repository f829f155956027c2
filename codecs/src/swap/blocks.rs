//! The sizes of an allocator's blocks: whole pages, with eight sizes between one power of two and the next, so that at most
//! a ninth of a block is not used.

/// The bytes of a page, and what blocks are aligned to.
pub const PAGE_BYTES: usize = 4096;
/// How many sizes of blocks there are: those up to 16 GiB.
pub const SIZES: usize = 160;

/// The bits of a number of pages that tell sizes apart, the first one included.
const BITS: u32 = 4;

/// The number of the smallest size of at least so many bytes, and its bytes. `None`: there is none.
pub fn size_of(bytes: usize) -> Option<(usize, usize)> {
    let last = bytes.max(1).checked_add(PAGE_BYTES - 1)? / PAGE_BYTES - 1;
    let shift = (usize::BITS - last.leading_zeros()).saturating_sub(BITS);
    let step = last >> shift;
    let number = (shift as usize) * (1 << (BITS - 1)) + step;
    let bytes = (step + 1).checked_shl(shift)?.checked_mul(PAGE_BYTES)?;
    (number < SIZES).then_some((number, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_room_and_little_more() {
        let mut last = (0, 0);
        for pages in (1..5000).chain((13..22).map(|bit| 1 << bit)).chain([(1 << 20) + 1]) {
            let (number, bytes) = size_of(pages * PAGE_BYTES).unwrap();
            let wanted = pages * PAGE_BYTES;
            assert!(bytes >= wanted && bytes <= wanted + wanted / 8, "{pages} pages: {bytes} bytes");
            assert_eq!(size_of(bytes), Some((number, bytes)));
            assert_eq!(size_of(bytes - PAGE_BYTES + 1).map(|(number, _)| number), Some(number));
            assert!(pages > 5000 || (number, bytes) >= last, "{pages} pages");
            last = (number, bytes);
        }
        assert_eq!(size_of(1), Some((0, PAGE_BYTES)));
        assert_eq!(size_of(16 << 30).map(|(_, bytes)| bytes), Some(16 << 30));
        assert_eq!(size_of((16 << 30) + 1), None);
        assert_eq!(size_of(usize::MAX), None);
    }
}
