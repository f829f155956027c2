//! A lossy WebP without an alpha channel, from the planes that its codec gives: they take half the memory of pixels.
//! Tiles in JPEG are made of planes again, so no colour is converted then.
//!
//! Source: RFC 6386, section 9.2 (the colour space is that of ITU-R BT.601, with luma from 16 to 235 and chroma from 16
//! to 240); libwebp's `src/dsp/yuv.h` and `src/dsp/upsampling.c`, whose rounding this is.

use edgezoom_content::Size;
use image_webp::vp8::Frame;

use crate::ycbcr420;
use crate::{Layout, RowReader, SourceError};

/// A picture in planes.
pub struct Planes {
    size: Size,
    layout: Layout,
    frame: Frame,
    /// The bytes of a row of luma.
    stride: usize,
    /// Luma and chroma of the codec in the range that JPEG has.
    full_range: [[u8; 256]; 2],
    next: usize,
    /// The chroma of a row with the resolution of luma.
    chroma: [Vec<u8>; 2],
}

impl Planes {
    /// The rows of a frame of this size, as planes or as RGB. `None` if the frame has another size.
    pub fn new(frame: Frame, size: Size, as_planes: bool) -> Option<Self> {
        let stride = ycbcr420::stride(size.width);
        let rows = size.height.next_multiple_of(ycbcr420::ROWS) as usize;
        let chroma_bytes = stride / 2 * (rows / 2);
        let is_whole = frame.ybuf.len() == stride * rows
            && frame.ubuf.len() == chroma_bytes
            && frame.vbuf.len() == chroma_bytes;
        let full = |middle: i32, from: i32, range: i32| {
            std::array::from_fn(|value| {
                let scaled = ((value as i32 - from) * 510 + range).div_euclid(2 * range);
                (scaled + middle).clamp(0, 255) as u8
            })
        };
        is_whole.then(|| Self {
            size,
            layout: if as_planes { Layout::YCbCr420 } else { Layout::Rgb },
            frame,
            stride,
            full_range: [full(0, 16, 219), full(128, 128, 224)],
            next: 0,
            chroma: [Vec::new(), Vec::new()],
        })
    }

    fn read_planes(&mut self, into: &mut [u8]) {
        let [luma, chroma] = &self.full_range;
        for pair in ycbcr420::pairs_mut(into, self.size.width) {
            let convert = |from: &[u8], row: usize, stride: usize, table: &[u8; 256], to: &mut [u8]| {
                let from = from.get(row * stride..).unwrap_or_default();
                to.iter_mut().zip(from).for_each(|(to, &value)| *to = table[usize::from(value)]);
            };
            let [upper, lower] = pair.luma;
            convert(&self.frame.ybuf, self.next, self.stride, luma, upper);
            convert(&self.frame.ybuf, self.next + 1, self.stride, luma, lower);
            for (plane, to) in [&self.frame.ubuf, &self.frame.vbuf].into_iter().zip(pair.chroma) {
                convert(plane, self.next / 2, self.stride / 2, chroma, to);
            }
            self.next += 2;
        }
    }

    fn read_row(&mut self, into: &mut [u8]) {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let chroma_rows = height.div_ceil(2);
        // Each sample of chroma is in the middle of 2×2 pixels: three quarters are of the nearest row, a quarter is of
        // the one on the row's other side.
        let near = self.next / 2;
        let far = if self.next.is_multiple_of(2) {
            near.saturating_sub(1)
        } else {
            (near + 1).min(chroma_rows - 1)
        };
        let stride = self.stride / 2;
        for (plane, out) in [&self.frame.ubuf, &self.frame.vbuf].into_iter().zip(&mut self.chroma) {
            out.resize(width, 0);
            let row = |row: usize| &plane[row * stride..][..width.div_ceil(2)];
            upsample(row(near), row(far), out);
        }
        let luma = &self.frame.ybuf[self.next * self.stride..][..width];
        let [blue, red] = &self.chroma;
        let pixels = into.as_chunks_mut::<3>().0.iter_mut();
        for (out, ((&y, &u), &v)) in pixels.zip(luma.iter().zip(blue).zip(red)) {
            *out = rgb(y, u, v);
        }
        self.next += 1;
    }
}

/// Makes a row of chroma of full resolution of the nearest row and the next but one.
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

/// With 14 bits behind the point, of which the products lose 8.
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
            self.read_planes(into);
        } else {
            into.chunks_exact_mut(Layout::Rgb.row_bytes(self.size.width)).for_each(|row| self.read_row(row));
        }
        Ok(())
    }
}
