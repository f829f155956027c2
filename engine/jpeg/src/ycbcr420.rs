//! Layout of rows with 4:2:0 chroma subsampling, as a JPEG stores them: luma for every pixel and chroma for every 2×2.
//!
//! A JPEG that is halved and encoded as JPEG again needs no RGB: half the bytes are moved, no colour is converted, and
//! chroma is not upsampled only to be downsampled again.
//!
//! ```text
//! a pair   luma, upper row   luma, lower row   Cb   Cr        two rows of pixels
//!          stride bytes      stride bytes      stride / 2 each
//! ```
//! Rows are padded to full blocks of 16 pixels, so a decoder can write directly into them.

/// Rows of pixels that are decoded and encoded at once: two blocks of luma, one block of each chroma.
pub const ROWS: u32 = 16;

/// Two rows of pixels.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// Luma of the upper and the lower row. The lower row of an odd height's last pair is padding.
    pub luma: [&'a [u8]; 2],
    /// Cb and Cr of both rows.
    pub chroma: [&'a [u8]; 2],
}

/// Two rows of pixels, mutable.
pub struct PairMut<'a> {
    /// Luma of the upper and the lower row.
    pub luma: [&'a mut [u8]; 2],
    /// Cb and Cr of both rows.
    pub chroma: [&'a mut [u8]; 2],
}

impl<'a> PairMut<'a> {
    /// Splits the rows into parts of `width` pixels, rounded up to full blocks.
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

/// Returns the bytes of a row of luma, padding included.
#[must_use]
pub fn stride(width: u32) -> usize {
    width.next_multiple_of(16) as usize
}

/// Returns the bytes of a pair.
fn pair_bytes(width: u32) -> usize {
    3 * stride(width)
}

/// Iterates over the pairs in rows of this width in pixels.
pub fn pairs(pixels: &[u8], width: u32) -> impl Iterator<Item = Pair<'_>> + Clone {
    let stride = stride(width);
    pixels.chunks_exact(pair_bytes(width)).map(move |pair| {
        let (upper, rest) = pair.split_at(stride);
        let (lower, chroma) = rest.split_at(stride);
        Pair { luma: [upper, lower], chroma: chroma.split_at(stride / 2).into() }
    })
}

/// Iterates over the pairs in rows of this width in pixels, mutably.
pub fn pairs_mut(pixels: &mut [u8], width: u32) -> impl Iterator<Item = PairMut<'_>> {
    let stride = stride(width);
    pixels.chunks_exact_mut(pair_bytes(width)).map(move |pair| {
        let (upper, rest) = pair.split_at_mut(stride);
        let (lower, chroma) = rest.split_at_mut(stride);
        PairMut { luma: [upper, lower], chroma: chroma.split_at_mut(stride / 2).into() }
    })
}
