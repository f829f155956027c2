//! Filters reconstructed rows and finds out which of them are complete. The filters reach across the lower edge of a window:
//! deblocking changes three rows of luma above it and one of chroma, and the sample offsets depend on the row below.
//!
//! Source: ITU-T H.265, 8.7.2 (deblocking), 8.7.3 (sample adaptive offset), 7.4.3.2.1 (the conformance window).

use std::ops::Range;

use heifer::heifer_hevc_dec::filters;
use heifer::heifer_hevc_dec::params::Sps;
use heifer::heifer_hevc_dec::recon::Frame;
use heifer::heifer_hevc_dec::scan::CtbLayout;

use super::Parameters;
use super::window::Unfiltered;

/// Number of rows of luma at the lower edge of a window that only the next window can complete. Even in chroma of half height.
const INCOMPLETE_ROWS: u32 = 8;

/// Filters a window and crops it to the picture's width. Returns it with the range of rows that no window before it had, or
/// `None` if none of its rows are shown.
pub fn finish(window: Unfiltered, parameters: &Parameters) -> Option<(Frame, Range<usize>)> {
    let Unfiltered { mut frame, mut info, top, is_last } = window;
    let Parameters { sps, pps } = parameters;
    let left = sps.pic_height_in_luma_samples - top;
    let height = frame.heights[0].min(left);
    let shown = shown_rows(sps);
    let crop_top = shown.start.saturating_sub(top);
    let crop_bottom = (top + height).saturating_sub(shown.end);
    let new = match (top, is_last) {
        (0, true) => 0..height,
        (0, false) => 0..height - INCOMPLETE_ROWS,
        (_, true) => sps.ctb_size() - INCOMPLETE_ROWS..height,
        (_, false) => sps.ctb_size() - INCOMPLETE_ROWS..height - INCOMPLETE_ROWS,
    };
    let rows = new.start.max(crop_top)..new.end.min(height.saturating_sub(crop_bottom));
    if rows.is_empty() {
        return None;
    }

    let (_, down) = sps.chroma_subsampling();
    let [crop_left, crop_right, ..] = sps.conf_win_offsets;
    let sps = Sps {
        pic_height_in_luma_samples: height,
        conf_win_offsets: [crop_left, crop_right, crop_top / down, crop_bottom / down],
        ..sps.clone()
    };
    for (component, plane) in frame.planes.iter_mut().enumerate() {
        let rows = if component == 0 { height } else { height / down };
        if frame.heights[component] > rows {
            frame.heights[component] = rows;
            plane.truncate(rows as usize * frame.widths[component] as usize);
        }
    }
    info.h4 = height.div_ceil(4) as usize;
    let layout = CtbLayout::new(&sps, pps);
    filters::deblock(&mut frame, &info, &sps, pps, &layout);
    filters::sao(&mut frame, &info, &sps, pps, &layout);
    // Most pictures have no conformance window.
    let frame = if sps.conf_win_offsets == [0; 4] { frame } else { frame.cropped(&sps) };
    Some((frame, (rows.start - crop_top) as usize..(rows.end - crop_top) as usize))
}

/// Returns the rows of luma that are shown.
fn shown_rows(sps: &Sps) -> Range<u32> {
    let (_, height) = sps.output_size();
    let (_, down) = sps.chroma_subsampling();
    let top = sps.conf_win_offsets[2] * down;
    top..top + height
}
