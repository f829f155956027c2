//! A lossy WebP without an alpha channel, from the planes of its codec: they take half the memory of pixels. Tiles in
//! JPEG are encoded from planes again, without converting colours.
//!
//! Source: RFC 6386, section 9.2 (the colour space is that of ITU-R BT.601, with luma from 16 to 235 and chroma from 16
//! to 240); libwebp's `src/dsp/yuv.h` and `src/dsp/upsampling.c`, which round the same way.

use edgezoom_geometry::Size;
use edgezoom_jpeg::ycbcr420;

use super::libwebp::Lossy;
use crate::{Layout, RowReader, SourceError};

/// A picture in planes.
pub struct Planes {
    size: Size,
    layout: Layout,
    lossy: Lossy,
    /// Number of bytes in a row of luma.
    stride: usize,
    /// Conversion of luma and of chroma to the range of JPEG.
    full_range: [[u8; 256]; 2],
    next: usize,
    /// Chroma of a row, with the resolution of luma.
    chroma: [Vec<u8>; 2],
}

impl Planes {
    /// Returns the rows of a picture of this size, as planes or as RGB.
    pub fn new(lossy: Lossy, size: Size, as_planes: bool) -> Self {
        let full = |middle: i32, from: i32, range: i32| {
            std::array::from_fn(|value| {
                let scaled = ((value as i32 - from) * 510 + range).div_euclid(2 * range);
                (scaled + middle).clamp(0, 255) as u8
            })
        };
        Self {
            size,
            layout: if as_planes { Layout::YCbCr420 } else { Layout::Rgb },
            lossy,
            stride: ycbcr420::stride(size.width),
            full_range: [full(0, 16, 219), full(128, 128, 224)],
            next: 0,
            chroma: [Vec::new(), Vec::new()],
        }
    }

    fn read_planes(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let [luma_range, chroma_range] = &self.full_range;
        for pair in ycbcr420::pairs_mut(into, self.size.width) {
            self.lossy.decode((self.next + 2).min(height))?;
            let [luma, blue, red] = self.lossy.planes();
            let [upper, lower] = pair.luma;
            let row = |row: usize| &luma[row.min(height - 1) * self.stride..][..width];
            convert(row(self.next), luma_range, upper);
            convert(row(self.next + 1), luma_range, lower);
            for (plane, to) in [blue, red].into_iter().zip(pair.chroma) {
                let row = (self.next / 2).min(height.div_ceil(2) - 1);
                convert(&plane[row * self.stride / 2..][..width.div_ceil(2)], chroma_range, to);
            }
            self.next += 2;
        }
        Ok(())
    }

    fn read_row(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let chroma_rows = height.div_ceil(2);
        // A sample of chroma is in the middle of 2×2 pixels: three quarters of a pixel's chroma are from the nearest
        // row of samples, a quarter is from the row on its other side.
        let near = self.next / 2;
        let far = if self.next.is_multiple_of(2) {
            near.saturating_sub(1)
        } else {
            (near + 1).min(chroma_rows - 1)
        };
        self.lossy.decode((self.next + 1).max(2 * far + 1))?;
        let [luma, blue, red] = self.lossy.planes();
        let stride = self.stride / 2;
        for (plane, out) in [blue, red].into_iter().zip(&mut self.chroma) {
            out.resize(width, 0);
            let row = |row: usize| &plane[row * stride..][..width.div_ceil(2)];
            upsample(row(near), row(far), out);
        }
        let luma = &luma[self.next * self.stride..][..width];
        let [blue, red] = &self.chroma;
        let pixels = into.as_chunks_mut::<3>().0.iter_mut();
        for (out, ((&y, &u), &v)) in pixels.zip(luma.iter().zip(blue).zip(red)) {
            *out = rgb(y, u, v);
        }
        self.next += 1;
        Ok(())
    }
}

/// Changes the range of a row. Repeats its last sample to the end of `to`.
fn convert(from: &[u8], range: &[u8; 256], to: &mut [u8]) {
    to.iter_mut().zip(from).for_each(|(to, &value)| *to = range[usize::from(value)]);
    if let Some((&mut last, more)) = to.get_mut(from.len() - 1..).and_then(<[u8]>::split_first_mut) {
        more.fill(last);
    }
}

/// Interpolates a row of chroma of full resolution from the nearest row of samples and the one on its other side.
fn upsample(near: &[u8], far: &[u8], out: &mut [u8]) {
    let last = near.len() - 1;
    for (x, out) in out.iter_mut().enumerate() {
        let (here, other) =
            (x / 2, if x % 2 == 0 { (x / 2).saturating_sub(1) } else { (x / 2 + 1).min(last) });
        let sample = |row: &[u8], x: usize| u32::from(row[x]);
        let sum = 9 * sample(near, here) + 3 * (sample(near, other) + sample(far, here)) + sample(far, other);
        *out = ((sum + 8) / 16) as u8;
    }
}

/// Converts a pixel to RGB. Factors have 14 fractional bits, of which the products lose 8.
fn rgb(y: u8, u: u8, v: u8) -> [u8; 3] {
    let times = |value: u8, factor: i32| (i32::from(value) * factor) >> 8;
    let luma = times(y, 19_077);
    let red = luma + times(v, 26_149) - 14_234;
    let green = luma - times(u, 6_419) - times(v, 13_320) + 8_708;
    let blue = luma + times(u, 33_050) - 17_685;
    [red, green, blue].map(|value| (value >> 6).clamp(0, 255) as u8)
}

impl RowReader for Planes {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        if self.layout == Layout::YCbCr420 {
            return self.read_planes(into);
        }
        let mut rows = into.chunks_exact_mut(Layout::Rgb.row_bytes(self.size.width));
        rows.try_for_each(|row| self.read_row(row))
    }
}
