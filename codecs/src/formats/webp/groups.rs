//! Which prefix codes code which pixels of a lossless WebP.
//!
//! Source: RFC 9649, section 3.7.2.2.

use std::io::Read;

use super::bits::Bits;
use super::coded::decode_image;
use super::error::{Broken, Result};
use super::prefix::{Codes, blocks_in};

/// The codes of the whole picture.
pub struct Groups {
    groups: Vec<Codes>,
    /// The group of each block, row by row. Empty if there is one.
    blocks: Vec<u16>,
    blocks_across: usize,
    /// The side of a block is 2 to this power.
    block_bits: u32,
}

impl Groups {
    /// Reads the codes, which may take so much memory.
    pub fn read<R: Read>(
        bits: &mut Bits<R>,
        width: u32,
        height: u32,
        cache_bits: u32,
        memory: u64,
    ) -> Result<Self> {
        let (mut blocks, mut block_bits) = (Vec::new(), 0);
        if bits.read(1)? == 1 {
            block_bits = bits.read(3)? + 2;
            let image = decode_image(bits, blocks_in(width, block_bits), blocks_in(height, block_bits))?;
            blocks = image.into_iter().map(|pixel| (pixel >> 8) as u16).collect();
        }
        let count = blocks.iter().max().map_or(1, |&last| usize::from(last) + 1);
        let (mut groups, mut bytes) = (Vec::new(), 0);
        for _ in 0..count {
            let codes = Codes::read(bits, cache_bits)?;
            bytes += codes.bytes();
            if bytes > memory {
                return Err(Broken::TooLarge);
            }
            groups.push(codes);
        }
        Ok(Self { groups, blocks, blocks_across: blocks_in(width, block_bits) as usize, block_bits })
    }

    /// The codes of a pixel.
    #[inline]
    pub fn at(&self, x: u32, y: u32) -> &Codes {
        let block = (y >> self.block_bits) as usize * self.blocks_across + (x >> self.block_bits) as usize;
        &self.groups[self.blocks.get(block).map_or(0, |&group| usize::from(group))]
    }
}
