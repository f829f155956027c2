//! Channels that share the bits of a number, as in BMP and DDS.

/// The bits of a channel.
#[derive(Clone, Copy)]
pub struct BitMask {
    pub mask: u32,
    shift: u32,
    most: u32,
}

impl BitMask {
    pub fn new(mask: u32) -> Self {
        let shift = mask.trailing_zeros().min(31);
        Self { mask, shift, most: mask >> shift }
    }

    /// Returns the channel's value, scaled to 8 bits. It is 0 without bits.
    pub fn of(self, pixel: u32) -> u8 {
        match (self.most, (pixel & self.mask) >> self.shift) {
            (255, value) => value as u8,
            (0, _) => 0,
            (most, value) => ((u64::from(value) * 255 + u64::from(most) / 2) / u64::from(most)) as u8,
        }
    }
}
