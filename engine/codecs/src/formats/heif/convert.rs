//! Converts a frame's planes to rows of 8 bits: grey, RGB, or YCbCr 4:2:0 as in JPEG.

use std::ops::Range;

use edgezoom_jpeg::ycbcr420;
use heifer::color::{ColorParams, frame_to_rgba_into};

use super::frame::{Frame, Row};
use crate::Layout;

/// Number of rows that are converted at once. Even.
pub const BAND_ROWS: usize = 64;
/// Number of rows above and below them that the interpolation of chroma uses. Even.
const MARGIN_ROWS: usize = 2;

/// Returns the layout to convert a frame to. Planes stay planes if they mean the same as in JPEG: 4:2:0 by the matrix
/// of BT.601. Other depths and the limited range are only a matter of scale.
pub fn layout(frame: &Frame, params: ColorParams, planes: bool) -> Layout {
    // 2 is "unspecified", which counts as BT.601 (ITU-T H.273, table 4).
    let is_bt601 = matches!(params.matrix, 2 | 5 | 6);
    match frame.subsampling() {
        None => Layout::Grey,
        Some((2, 2)) if planes && is_bt601 => Layout::YCbCr420,
        Some(_) => Layout::Rgb,
    }
}

/// Converts the first `width` columns of some rows, starting at an even row. Returns `None` if the frame lacks these
/// rows or planes.
pub fn convert(
    frame: &Frame,
    params: ColorParams,
    layout: Layout,
    width: usize,
    rows: Range<usize>,
) -> Option<Vec<u8>> {
    let (full_width, full_height) = frame.size();
    if width > full_width || rows.end > full_height {
        return None;
    }
    match layout {
        Layout::YCbCr420 => to_planes(frame, params, width, rows),
        Layout::Grey => to_grey(frame, params, width, rows),
        _ => to_rgb(frame, params, width, rows),
    }
}

fn to_planes(frame: &Frame, params: ColorParams, width: usize, rows: Range<usize>) -> Option<Vec<u8>> {
    if frame.subsampling() != Some((2, 2)) {
        return None;
    }
    let [luma_bits, chroma_bits] = frame.bit_depths();
    let luma = Scale::luma(luma_bits, params.full_range);
    let chroma = Scale::chroma(chroma_bits, params.full_range);
    let bytes = Layout::YCbCr420.row_bytes(width as u32) * rows.len().next_multiple_of(2);
    let mut out = vec![0; bytes];
    for (pair, y) in ycbcr420::pairs_mut(&mut out, width as u32).zip(rows.step_by(2)) {
        for (row, y) in pair.luma.into_iter().zip([y, y + 1]) {
            luma.apply(frame.row(0, y)?, &mut row[..width]);
        }
        for (row, component) in pair.chroma.into_iter().zip([1, 2]) {
            chroma.apply(frame.row(component, y / 2)?, &mut row[..width.div_ceil(2)]);
        }
    }
    Some(out)
}

fn to_grey(frame: &Frame, params: ColorParams, width: usize, rows: Range<usize>) -> Option<Vec<u8>> {
    let luma = Scale::luma(frame.bit_depths()[0], params.full_range);
    let mut out = vec![0; width * rows.len()];
    for (row, y) in out.chunks_exact_mut(width).zip(rows) {
        luma.apply(frame.row(0, y)?, row);
    }
    Some(out)
}

fn to_rgb(frame: &Frame, params: ColorParams, width: usize, rows: Range<usize>) -> Option<Vec<u8>> {
    let (_, height) = frame.size();
    let mut out = vec![0; 3 * width * rows.len()];
    let mut rgba = vec![0; (BAND_ROWS + 2 * MARGIN_ROWS) * width * 4];
    for (out, top) in out.chunks_mut(3 * width * BAND_ROWS).zip(rows.clone().step_by(BAND_ROWS)) {
        let margin = top.min(MARGIN_ROWS);
        let count = BAND_ROWS.min(rows.end - top);
        let from = top - margin;
        let window = frame.window(from..(top + count + MARGIN_ROWS).min(height), params)?;
        let mut lines: Vec<&mut [u8]> =
            rgba.chunks_exact_mut(width * 4).take(window.heights[0] as usize).collect();
        let lines_count = lines.len();
        frame_to_rgba_into(&window, params, &mut lines, width, lines_count);
        let pixels = rgba.get(margin * width * 4..(margin + count) * width * 4)?;
        for (out, &[red, green, blue, _]) in out.as_chunks_mut().0.iter_mut().zip(pixels.as_chunks().0) {
            *out = [red, green, blue];
        }
    }
    Some(out)
}

/// The conversion from some depth and range to 8 bits of full range.
enum Scale {
    /// No conversion is needed.
    Same,
    Table(Vec<u8>),
}

impl Scale {
    /// Source: ITU-T H.273, 8.3, equations 20 to 25.
    fn luma(bits: u32, full_range: bool) -> Self {
        let (black, steps) =
            if full_range { (0, (1 << bits) - 1) } else { (16 << (bits - 8), 219 << (bits - 8)) };
        Self::table(bits, full_range, |sample| f64::from(sample - black) / f64::from(steps) * 255.0)
    }

    fn chroma(bits: u32, full_range: bool) -> Self {
        let steps = if full_range { (1 << bits) - 1 } else { 224 << (bits - 8) };
        let middle = 1 << (bits - 1);
        Self::table(bits, full_range, |sample| f64::from(sample - middle) / f64::from(steps) * 255.0 + 128.0)
    }

    fn table(bits: u32, full_range: bool, value: impl Fn(i32) -> f64) -> Self {
        if bits == 8 && full_range {
            return Self::Same;
        }
        Self::Table((0..1 << bits).map(|sample| value(sample).round().clamp(0.0, 255.0) as u8).collect())
    }

    /// Converts a row, as far as `out` is long.
    fn apply(&self, row: Row<'_>, out: &mut [u8]) {
        match (self, row) {
            (Self::Same, Row::Bytes(row)) => out.copy_from_slice(&row[..out.len()]),
            (Self::Same, Row::Words(row)) => {
                out.iter_mut().zip(&*row).for_each(|(out, &sample)| *out = sample as u8);
            }
            (Self::Table(table), Row::Bytes(row)) => {
                out.iter_mut().zip(row).for_each(|(out, &sample)| *out = at(table, sample.into()));
            }
            (Self::Table(table), Row::Words(row)) => {
                out.iter_mut().zip(&*row).for_each(|(out, &sample)| *out = at(table, sample.into()));
            }
        }
    }
}

/// Returns the value of a sample. Samples that are too large count as the largest.
fn at(table: &[u8], sample: usize) -> u8 {
    table.get(sample).or(table.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(scale: &Scale, sample: u16) -> u8 {
        let mut out = [0];
        scale.apply(Row::Words([sample].as_slice().into()), &mut out);
        out[0]
    }

    #[test]
    fn samples_of_all_depths_and_ranges_become_8_bits_of_full_range() {
        for bits in [8, 10, 12] {
            let luma = Scale::luma(bits, false);
            let chroma = Scale::chroma(bits, false);
            assert_eq!([0, 16, 235, 255].map(|sample| scaled(&luma, sample << (bits - 8))), [0, 0, 255, 255]);
            assert_eq!([16, 128, 240].map(|sample| scaled(&chroma, sample << (bits - 8))), [1, 128, 255]);
            let full = [Scale::luma(bits, true), Scale::chroma(bits, true)];
            assert_eq!(full.each_ref().map(|scale| scaled(scale, (1 << bits) - 1)), [255, 255]);
            assert_eq!(full.each_ref().map(|scale| scaled(scale, 1 << (bits - 1))), [128, 128]);
        }
    }
}
