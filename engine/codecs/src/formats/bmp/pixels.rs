//! The rows of a bitmap that is not compressed.

use std::sync::Arc;

use edgezoom_geometry::Size;

use super::FORMAT;
use super::header::Header;
use crate::formats::section::ReadAt;
use crate::tolerant::missing;
use crate::{Damage, Layout, RowReader, SourceError, SourceFile};

/// Bytes that are read at once.
const BLOCK_BYTES: u64 = 1 << 20;

/// Reads the rows of a bitmap that is not compressed.
pub struct PixelRows {
    file: Arc<SourceFile>,
    header: Header,
    size: Size,
    pixel: Pixel,
    /// Number of rows that the file has, in the order in which they are stored.
    stored: u32,
    /// The next row from the top.
    next: u32,
    block: Vec<u8>,
}

/// The conversion of pixels.
enum Pixel {
    /// An index into a palette of greys.
    Grey(Vec<u8>),
    /// An index into the header's palette.
    Palette,
    /// Blue, green and red.
    Bgr,
    /// Channels in 16 or 32 bits.
    Masks { channels: [BitMask; 3], alpha: Option<BitMask> },
}

/// The bits of a channel, one of several that share the bits of a number.
#[derive(Clone, Copy)]
struct BitMask {
    mask: u32,
    shift: u32,
    most: u32,
}

impl BitMask {
    fn new(mask: u32) -> Self {
        let shift = mask.trailing_zeros().min(31);
        Self { mask, shift, most: mask >> shift }
    }

    /// Returns the channel's value, scaled to 8 bits. It is 0 without bits.
    fn of(self, pixel: u32) -> u8 {
        match (self.most, (pixel & self.mask) >> self.shift) {
            (255, value) => value as u8,
            (0, _) => 0,
            (most, value) => ((u64::from(value) * 255 + u64::from(most) / 2) / u64::from(most)) as u8,
        }
    }
}

impl PixelRows {
    pub fn open(file: Arc<SourceFile>, header: Header, size: Size) -> Result<Self, SourceError> {
        let (stride, padding) = (header.stride(), header.stride() - header.used_bytes());
        let there = file.length()?.saturating_sub(header.rows_at);
        // The padding of the last row may be missing.
        let stored = u32::try_from((there + padding) / stride.max(1)).unwrap_or(u32::MAX).min(size.height);
        if stored == 0 {
            return Err(FORMAT.corrupt("it ends before its first row"));
        }
        let pixel = match header.bits {
            0..=8 if header.is_grey() => {
                Pixel::Grey(header.palette.iter().map(|&[grey, _, _]| grey).collect())
            }
            0..=8 => Pixel::Palette,
            24 => Pixel::Bgr,
            _ => {
                let [red, green, blue, alpha] = header.masks.map(BitMask::new);
                Pixel::Masks { channels: [red, green, blue], alpha: (alpha.mask != 0).then_some(alpha) }
            }
        };
        let mut rows = Self { file, header, size, pixel, stored, next: 0, block: Vec::new() };
        rows.drop_empty_alpha()?;
        Ok(rows)
    }

    /// Ignores an alpha channel that is zero everywhere. Many programs leave it so without meaning transparency.
    fn drop_empty_alpha(&mut self) -> Result<(), SourceError> {
        let Pixel::Masks { channels, alpha: Some(alpha) } = self.pixel else { return Ok(()) };
        let mut first = 0;
        while first < self.stored {
            let count = self.rows_of_block().min(self.stored - first);
            self.read_block(first, count)?;
            let used = self.header.used_bytes() as usize;
            let mut rows = self.block.chunks_exact(self.header.stride() as usize);
            let is_empty = rows.all(|row| {
                let used = row.get(..used).unwrap_or_default();
                match self.header.bits {
                    16 => {
                        used.as_chunks().0.iter().all(|&p| u32::from(u16::from_le_bytes(p)) & alpha.mask == 0)
                    }
                    _ => used.as_chunks().0.iter().all(|&pixel| u32::from_le_bytes(pixel) & alpha.mask == 0),
                }
            });
            if !is_empty {
                return Ok(());
            }
            first += count;
        }
        self.pixel = Pixel::Masks { channels, alpha: None };
        Ok(())
    }

    fn rows_of_block(&self) -> u32 {
        u32::try_from(BLOCK_BYTES / self.header.stride().max(1)).unwrap_or(1).clamp(1, self.size.height)
    }

    /// Reads stored rows.
    fn read_block(&mut self, first: u32, count: u32) -> Result<(), SourceError> {
        let stride = self.header.stride();
        self.block.resize((stride * u64::from(count)) as usize, 0);
        let at = self.header.rows_at.saturating_add(stride.saturating_mul(first.into()));
        self.file.read_with_zeros(at, &mut self.block)?;
        Ok(())
    }

    fn convert(&self, row: &[u8], out: &mut [u8]) {
        match &self.pixel {
            Pixel::Grey(palette) => {
                let greys = indices(row, self.header.bits).map(|index| palette.get(index).copied());
                out.iter_mut().zip(greys).for_each(|(out, grey)| *out = grey.unwrap_or_default());
            }
            Pixel::Palette => {
                let (out, _) = out.as_chunks_mut::<3>();
                for (out, index) in out.iter_mut().zip(indices(row, self.header.bits)) {
                    *out = self.header.palette.get(index).copied().unwrap_or_default();
                }
            }
            Pixel::Bgr => {
                let (out, _) = out.as_chunks_mut::<3>();
                for (out, &[blue, green, red]) in out.iter_mut().zip(row.as_chunks::<3>().0) {
                    *out = [red, green, blue];
                }
            }
            Pixel::Masks { channels, alpha } if self.header.bits == 16 => {
                let pixels = row.as_chunks().0.iter().map(|&pixel| u16::from_le_bytes(pixel).into());
                split(pixels, *channels, *alpha, out);
            }
            Pixel::Masks { channels, alpha } => {
                let pixels = row.as_chunks().0.iter().map(|&pixel| u32::from_le_bytes(pixel));
                split(pixels, *channels, *alpha, out);
            }
        }
    }
}

/// Returns the indices in a row. The first is in the highest bits.
fn indices(row: &[u8], bits: u32) -> impl Iterator<Item = usize> + '_ {
    let mask = (1_usize << bits) - 1;
    row.iter().flat_map(move |&byte| {
        (0..8 / bits).map(move |place| usize::from(byte) >> (8 - bits * (place + 1)) & mask)
    })
}

fn split(pixels: impl Iterator<Item = u32>, channels: [BitMask; 3], alpha: Option<BitMask>, out: &mut [u8]) {
    match alpha {
        Some(alpha) => {
            for (out, pixel) in out.as_chunks_mut::<4>().0.iter_mut().zip(pixels) {
                let [red, green, blue] = channels.map(|channel| channel.of(pixel));
                *out = [red, green, blue, alpha.of(pixel)];
            }
        }
        None => {
            for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
                *out = channels.map(|channel| channel.of(pixel));
            }
        }
    }
}

impl RowReader for PixelRows {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        match self.pixel {
            Pixel::Grey(_) => Layout::Grey,
            Pixel::Masks { alpha: Some(_), .. } => Layout::Rgba,
            Pixel::Palette | Pixel::Bgr | Pixel::Masks { .. } => Layout::Rgb,
        }
    }

    fn damage(&self) -> Option<Damage> {
        let rows = self.size.height;
        (self.stored < rows).then_some(Damage::FromRow { row: self.stored, rows })
    }

    fn rows_at_once(&self) -> u32 {
        u32::MAX
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let row_bytes = self.layout().row_bytes(self.size.width).max(1);
        let stride = self.header.stride() as usize;
        for out in into.chunks_mut(row_bytes.saturating_mul(self.rows_of_block() as usize)) {
            let count = u32::try_from(out.len() / row_bytes).unwrap_or(u32::MAX);
            let end = self.next.saturating_add(count).min(self.size.height);
            let first = if self.header.is_top_down { self.next } else { self.size.height - end };
            let there = self.stored.saturating_sub(first).min(count);
            self.read_block(first, there)?;
            let blank = missing(self.layout());
            for (number, out) in (0..count).zip(out.chunks_exact_mut(row_bytes)) {
                let place = if self.header.is_top_down { number } else { count - 1 - number };
                let start = place as usize * stride;
                match self.block.get(start..start + stride).filter(|_| place < there) {
                    Some(row) => self.convert(row, out),
                    None => out.fill(blank),
                }
            }
            self.next = end;
        }
        Ok(())
    }
}
