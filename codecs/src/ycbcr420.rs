//! RowReader in planes: the colours of a JPEG as it stores them, lightness for every pixel and chroma for every 2×2. A
//! JPEG that becomes JPEG again needs no more. Half the bytes go through the pyramid so, and neither side converts colours
//! or makes chroma larger only to make it smaller again.
//!
//! Two rows of pixels are a pair: both rows of lightness, then a row of each chroma. All rows are padded to whole blocks
//! of JPEG, so that a decoder can write where the rows are to be, and what is read at once is [`ROWS`] rows.

/// The rows of pixels that are decoded and encoded at once: those of two blocks of lightness, one of each chroma.
pub const ROWS: u32 = 16;

/// Two rows of pixels.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The lightness of the upper and the lower row. Below an odd lower edge there is nothing useful.
    pub luma: [&'a [u8]; 2],
    /// The chroma of both.
    pub chroma: [&'a [u8]; 2],
}

/// The same to be written.
pub struct PairMut<'a> {
    /// The lightness of the upper and the lower row.
    pub luma: [&'a mut [u8]; 2],
    /// The chroma of both.
    pub chroma: [&'a mut [u8]; 2],
}

impl PairMut<'_> {
    /// Takes the left part of another pair, as wide as this one.
    pub fn copy_from(self, pair: &Pair<'_>) {
        let rows = self.luma.into_iter().zip(pair.luma).chain(self.chroma.into_iter().zip(pair.chroma));
        for (to, from) in rows {
            to.copy_from_slice(&from[..to.len()]);
        }
    }
}

impl<'a> PairMut<'a> {
    /// Parts of it, each for so many pixels in a row, or as many as fill whole blocks.
    pub fn split(self, width: u32) -> impl Iterator<Item = PairMut<'a>> {
        let width = stride(width);
        let [upper, lower] = self.luma.map(|row| row.chunks_mut(width));
        let [blue, red] = self.chroma.map(|row| row.chunks_mut(width / 2));
        upper
            .zip(lower)
            .zip(blue.zip(red))
            .map(|((upper, lower), (blue, red))| PairMut { luma: [upper, lower], chroma: [blue, red] })
    }
}

/// The bytes of a row of lightness, padding included.
#[must_use]
pub fn stride(width: u32) -> usize {
    width.next_multiple_of(16) as usize
}

/// The bytes of a pair.
fn pair_bytes(width: u32) -> usize {
    3 * stride(width)
}

/// The pairs in so many pixels of this width.
pub fn pairs(pixels: &[u8], width: u32) -> impl Iterator<Item = Pair<'_>> {
    let stride = stride(width);
    pixels.chunks_exact(pair_bytes(width)).map(move |pair| {
        let (upper, rest) = pair.split_at(stride);
        let (lower, chroma) = rest.split_at(stride);
        Pair { luma: [upper, lower], chroma: chroma.split_at(stride / 2).into() }
    })
}

/// The same to be written.
pub fn pairs_mut(pixels: &mut [u8], width: u32) -> impl Iterator<Item = PairMut<'_>> {
    let stride = stride(width);
    pixels.chunks_exact_mut(pair_bytes(width)).map(move |pair| {
        let (upper, rest) = pair.split_at_mut(stride);
        let (lower, chroma) = rest.split_at_mut(stride);
        PairMut { luma: [upper, lower], chroma: chroma.split_at_mut(stride / 2).into() }
    })
}
