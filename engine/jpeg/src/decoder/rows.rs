//! Rows of pixels: chroma enlarged and colours converted, sample by sample as libjpeg-turbo does both.
//!
//! Chroma that is halved is interpolated linearly between the centres of its samples ("fancy upsampling"), so a row
//! needs the nearest row of chroma above and below; other factors repeat samples.
//!
//! Source: libjpeg-turbo's `jdsample.c` and `jdcolor.c`; ITU-T T.871 for the colours.

use super::frame::{Colours, Frame};
use super::mcu_rows::{McuRows, Source, Stop};
use crate::vectors::with_vectors;

/// A picture that is decoded into rows of its colours: grey, RGB or CMYK.
pub struct Rows<S> {
    mcu_rows: McuRows<S>,
    /// The planes of rows of MCUs: the one before the current row, the current one, and the next.
    bands: [Band; 3],
    /// The row of MCUs of the current band.
    band: u32,
    /// The next row of pixels.
    row: u32,
    /// A row of each component at full width.
    full: Vec<Vec<u8>>,
    /// Weighted sums of two rows of samples.
    sums: Vec<u16>,
    /// Of each component.
    scales: Vec<Scale>,
    /// Rows of pixels of a band.
    band_rows: u32,
}

/// The planes of a row of MCUs.
type Band = Vec<Vec<u8>>;

/// The way a component is enlarged.
#[derive(Clone, Copy)]
struct Scale {
    across: usize,
    down: usize,
    /// Samples of a row.
    width: usize,
    /// Rows in all.
    height: usize,
    /// Rows of a band.
    rows: usize,
    /// Bytes from a row to the next.
    stride: usize,
}

impl Scale {
    fn of(frame: &Frame, component: usize) -> Option<Self> {
        let (most_across, most_down) = frame.most_blocks();
        let part = frame.components.get(component)?;
        let (across, down) = (u32::from(part.across), u32::from(part.down));
        let is_whole = most_across.is_multiple_of(across) && most_down.is_multiple_of(down);
        is_whole.then_some(Self {
            across: (most_across / across) as usize,
            down: (most_down / down) as usize,
            width: (frame.width * across).div_ceil(most_across) as usize,
            height: (frame.height * down).div_ceil(most_down) as usize,
            rows: 8 * down as usize,
            stride: (8 * across * frame.mcus().0) as usize,
        })
    }

    /// Returns true if rows above and below are needed.
    fn is_smooth_down(self) -> bool {
        self.down == 2 && (self.across == 1 || self.is_smooth_across())
    }

    fn is_smooth_across(self) -> bool {
        self.across == 2 && self.down <= 2 && self.width > 2
    }
}

/// Returns true if [`Rows`] can be made of a picture.
#[must_use]
pub fn can_read(frame: &Frame) -> bool {
    (0..frame.components.len()).all(|component| Scale::of(frame, component).is_some())
}

impl<S: Source> Rows<S> {
    /// Makes rows of the samples that a source decodes.
    #[must_use]
    pub fn new(source: S) -> Self {
        let frame = source.frame();
        let none = Scale { across: 1, down: 1, width: 0, height: 1, rows: 8, stride: 0 };
        let count = frame.components.len();
        let scales: Vec<_> =
            (0..count).map(|component| Scale::of(frame, component).unwrap_or(none)).collect();
        let band = || scales.iter().map(|scale| vec![0; scale.stride * scale.rows]).collect::<Band>();
        let (full, bands) = (vec![Vec::new(); count], [band(), band(), band()]);
        let band_rows = 8 * frame.most_blocks().1;
        let mcu_rows = McuRows::new(source);
        Self { mcu_rows, bands, band: 0, row: 0, full, sums: Vec::new(), scales, band_rows }
    }

    /// Reads the next row of pixels: grey, RGB or CMYK.
    ///
    /// # Errors
    /// If the scan cannot be decoded any further.
    pub fn read_row(&mut self, into: &mut [u8]) -> Result<(), Stop> {
        let band = self.row / self.band_rows;
        while self.band < band {
            self.bands.rotate_left(1);
            self.band += 1;
        }
        // The next one is only needed where chroma is interpolated, but it is decoded by other threads.
        let needed = if self.scales.iter().any(|scale| scale.is_smooth_down()) {
            (band + 2).min(self.mcu_rows.frame().mcus().1)
        } else {
            band + 1
        };
        while self.mcu_rows.row() < needed {
            self.read_band()?;
        }
        for component in 0..self.full.len() {
            self.enlarge(component);
        }
        convert(self.mcu_rows.frame().colours, &self.full, into);
        self.row += 1;
        Ok(())
    }

    /// Reads the planes of the next row of MCUs.
    fn read_band(&mut self) -> Result<(), Stop> {
        let place = (self.mcu_rows.row() + 1 - self.band) as usize;
        let scales = &self.scales;
        let Some(band) = self.bands.get_mut(place) else { return Err(Stop::Irregular) };
        self.mcu_rows.read(|plan, segment| {
            for (component, (plane, scale)) in band.iter_mut().zip(scales).enumerate() {
                segment.copy_to(plan, component, plane.chunks_exact_mut(scale.stride.max(1)));
            }
        })
    }

    /// Enlarges the current row of a component.
    fn enlarge(&mut self, component: usize) {
        let scale = self.scales[component];
        let row = self.row as usize / scale.down;
        let mut full = std::mem::take(&mut self.full[component]);
        let mut sums = std::mem::take(&mut self.sums);
        let near = self.samples(component, scale, row);
        full.resize(scale.width * scale.across, 0);
        if scale.is_smooth_down() {
            let is_upper = self.row.is_multiple_of(2);
            let other = if is_upper { row.saturating_sub(1) } else { (row + 1).min(scale.height - 1) };
            let far = self.samples(component, scale, other);
            with_vectors!(_simd => match scale.across {
                1 => mix_down(near, far, is_upper, &mut full),
                _ => mix_both(near, far, &mut sums, &mut full),
            });
        } else if scale.across == 2 && scale.down == 1 && scale.is_smooth_across() {
            with_vectors!(_simd => mix_across(near, &mut full));
        } else if scale.across == 1 {
            full.copy_from_slice(near);
        } else {
            for (&sample, to) in near.iter().zip(full.chunks_exact_mut(scale.across)) {
                to.fill(sample);
            }
        }
        self.full[component] = full;
        self.sums = sums;
    }

    /// Returns a row of a component's plane.
    fn samples(&self, component: usize, scale: Scale, row: usize) -> &[u8] {
        let place = row / scale.rows + 1 - self.band as usize;
        let start = row % scale.rows * scale.stride;
        &self.bands[place][component][start..start + scale.width]
    }
}

/// Three quarters of the nearer row and one of the other.
#[inline(always)]
fn mix_down(near: &[u8], far: &[u8], is_upper: bool, out: &mut [u8]) {
    let bias = if is_upper { 1 } else { 2 };
    for ((&near, &far), out) in near.iter().zip(far).zip(out) {
        *out = ((3 * u16::from(near) + u16::from(far) + bias) >> 2) as u8;
    }
}

/// Three quarters of the nearer sample and one of the other, along a row of at least three.
#[inline(always)]
fn mix_across(row: &[u8], out: &mut [u8]) {
    let count = row.len();
    let pairs = out.as_chunks_mut::<2>().0;
    let inner = row.iter().zip(&row[1..]).zip(&row[2..]);
    for (((&before, &this), &next), out) in inner.zip(&mut pairs[1..]) {
        let [before, this, next] = [before, this, next].map(u16::from);
        *out = pair((3 * this + before + 1) >> 2, (3 * this + next + 2) >> 2);
    }
    let end =
        |nearer: u8, other: u8, bias: u16| ((3 * u16::from(nearer) + u16::from(other) + bias) >> 2) as u8;
    pairs[0] = [row[0], end(row[0], row[1], 2)];
    pairs[count - 1] = [end(row[count - 1], row[count - 2], 1), row[count - 1]];
}

/// The same in both directions.
#[inline(always)]
fn mix_both(near: &[u8], far: &[u8], sums: &mut Vec<u16>, out: &mut [u8]) {
    let count = near.len();
    sums.resize(count, 0);
    for ((&near, &far), sum) in near.iter().zip(far).zip(&mut *sums) {
        *sum = 3 * u16::from(near) + u16::from(far);
    }
    let pairs = out.as_chunks_mut::<2>().0;
    let inner = sums.iter().zip(&sums[1..]).zip(&sums[2..]);
    for (((&before, &this), &next), out) in inner.zip(&mut pairs[1..]) {
        *out = pair((3 * this + before + 8) >> 4, (3 * this + next + 7) >> 4);
    }
    let (first, last) = (sums[0], sums[count - 1]);
    pairs[0] = pair((4 * first + 8) >> 4, (3 * first + sums[1] + 7) >> 4);
    pairs[count - 1] = pair((3 * last + sums[count - 2] + 8) >> 4, (4 * last + 7) >> 4);
}

/// Returns two samples beside each other. Made from one number, they take no shuffle of bytes in vectors.
#[inline(always)]
fn pair(left: u16, right: u16) -> [u8; 2] {
    (left | right << 8).to_le_bytes()
}

/// Converts the samples of a row's pixels.
fn convert(colours: Colours, full: &[Vec<u8>], into: &mut [u8]) {
    match (colours, full) {
        (Colours::Grey, [grey]) => into.copy_from_slice(&grey[..into.len()]),
        (Colours::Rgb, [red, green, blue]) => {
            for (((to, &red), &green), &blue) in
                into.as_chunks_mut::<3>().0.iter_mut().zip(red).zip(green).zip(blue)
            {
                *to = [red, green, blue];
            }
        }
        (Colours::YCbCr, [luma, cb, cr]) => with_vectors!(_simd => to_rgb(luma, cb, cr, into)),
        (Colours::Cmyk, [c, m, y, k]) => {
            let inks = c.iter().zip(m).zip(y.iter().zip(k));
            for (to, ((&c, &m), (&y, &k))) in into.as_chunks_mut::<4>().0.iter_mut().zip(inks) {
                *to = [c, m, y, k];
            }
        }
        (Colours::Ycck, [luma, cb, cr, k]) => {
            let samples = luma.iter().zip(cb).zip(cr.iter().zip(k));
            for (to, ((&luma, &cb), (&cr, &k))) in into.as_chunks_mut::<4>().0.iter_mut().zip(samples) {
                let [red, green, blue] = rgb(luma, cb, cr);
                *to = [255 - red, 255 - green, 255 - blue, k];
            }
        }
        _ => {}
    }
}

/// The fixed point of libjpeg's tables: 16 bits, each product rounded, those of green together.
#[inline(always)]
fn rgb(luma: u8, cb: u8, cr: u8) -> [u8; 3] {
    const HALF: i32 = 1 << 15;
    let (luma, cb, cr) = (i32::from(luma), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = luma + ((91_881 * cr + HALF) >> 16);
    let green = luma + ((-22_554 * cb - 46_802 * cr + HALF) >> 16);
    let blue = luma + ((116_130 * cb + HALF) >> 16);
    [red, green, blue].map(
        #[inline(always)]
        |value| value.clamp(0, 255) as u8,
    )
}

#[inline(always)]
fn to_rgb(luma: &[u8], cb: &[u8], cr: &[u8], into: &mut [u8]) {
    for (((to, &luma), &cb), &cr) in into.as_chunks_mut::<3>().0.iter_mut().zip(luma).zip(cb).zip(cr) {
        *to = rgb(luma, cb, cr);
    }
}
