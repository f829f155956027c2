//! Lossless WebP, by rows. The codec refers to pixels that lie up to 2^20 back, so that many are kept, and its
//! transforms need no more than the row above.
//!
//! Source: RFC 9649, section 3: 3.4 for the header, 3.5 for the transforms, 3.6 for the coding of pixels, 3.7 for the
//! prefix codes.

use std::io::Read;

use edgezoom_geometry::Size;

use super::bits::Bits;
use super::coded::{Coded, WINDOW, cache_bits};
use super::error::{Result, broken};
use super::groups::Groups;
use super::transforms::Transform;
use crate::{Bounds, Layout, RowReader, SourceError};

/// The memory that prefix codes may have, whatever the bounds.
const LEAST_BYTES: u64 = 8 << 20;
/// A lossless picture.
pub struct Lossless<R> {
    size: Size,
    layout: Layout,
    bits: Bits<R>,
    /// In the order in which they are undone.
    transforms: Vec<Transform>,
    coded: Coded,
    groups: Groups,
    row: Vec<u32>,
}

impl<R: Read> Lossless<R> {
    /// Reads the header, the transforms and the codes.
    pub fn open(file: R, bounds: Bounds) -> std::result::Result<Self, SourceError> {
        let mut bits = Bits::new(file);
        let mut parse = || -> Result<(u32, u32, bool)> {
            let is_lossless = bits.read(8)? == 0x2f;
            let (width, height) = (bits.read(14)? + 1, bits.read(14)? + 1);
            let has_alpha = bits.read(1)? == 1;
            if !is_lossless || bits.read(3)? != 0 {
                return Err(broken("its header is invalid"));
            }
            Ok((width, height, has_alpha))
        };
        let (width, height, has_alpha) = parse()?;
        let size = bounds.admit(width, height)?;
        let mut coded_width = width;
        let mut transforms = Vec::new();
        let mut kinds = 0;
        while bits.read(1)? == 1 {
            let kind = bits.read(2)?;
            if kinds & 1 << kind != 0 {
                return Err(broken("a transform occurs twice").into());
            }
            kinds |= 1 << kind;
            transforms.push(Transform::read(kind, &mut bits, &mut coded_width, height)?);
        }
        transforms.reverse();
        let cache_bits = cache_bits(&mut bits)?;
        let memory = bounds.memory.max(LEAST_BYTES);
        let groups = Groups::read(&mut bits, coded_width, height, cache_bits, memory)?;
        Ok(Self {
            size,
            layout: if has_alpha { Layout::Rgba } else { Layout::Rgb },
            bits,
            transforms,
            coded: Coded::new(coded_width, cache_bits, WINDOW),
            groups,
            row: Vec::new(),
        })
    }
}

impl<R: Read> RowReader for Lossless<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> std::result::Result<(), SourceError> {
        let row_bytes = self.layout.row_bytes(self.size.width);
        for out in into.chunks_exact_mut(row_bytes) {
            let groups = &self.groups;
            self.row.clear();
            self.coded.row(&mut self.bits, |x, y| groups.at(x, y), &mut self.row)?;
            for transform in &mut self.transforms {
                transform.undo(&mut self.row);
            }
            if self.layout == Layout::Rgba {
                for (out, pixel) in out.as_chunks_mut::<4>().0.iter_mut().zip(&self.row) {
                    let [alpha, red, green, blue] = pixel.to_be_bytes();
                    *out = [red, green, blue, alpha];
                }
            } else {
                for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(&self.row) {
                    let [_, red, green, blue] = pixel.to_be_bytes();
                    *out = [red, green, blue];
                }
            }
        }
        Ok(())
    }
}
