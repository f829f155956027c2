//! The part of a picture that is being reconstructed: some rows of coding tree blocks. The highest one is only a reference
//! for those below. All heights and positions given to `heifer` are relative to the window.
//!
//! Source: ITU-T H.265, 6.4.1 (availability of reference blocks), 8.7.2.3 and 8.7.2.4 (edges).

use heifer::heifer_hevc_dec::Error;
use heifer::heifer_hevc_dec::filters::{FilterInfo, SliceFilterParams};
use heifer::heifer_hevc_dec::params::{Pps, Sps};
use heifer::heifer_hevc_dec::recon::{Frame, Reconstructor};
use heifer::heifer_hevc_dec::scan::CtbLayout;
use heifer::heifer_hevc_dec::slice::SliceHeader;
use heifer::heifer_hevc_dec::syntax::{CodingUnit, Sink, TransformBlock};

use super::batch::Event;

/// Number of coefficients of the largest block.
const MAX_COEFFICIENTS: usize = 32 * 32;

/// Returns the parameters of a picture that has only some rows of coding tree blocks.
pub fn cut(sps: &Sps, rows: u32) -> Sps {
    let height = sps.pic_height_in_luma_samples.min(rows << sps.log2_ctb_size);
    Sps { pic_height_in_luma_samples: height, ..sps.clone() }
}

/// Reconstructed rows before the filters.
pub struct Unfiltered {
    pub frame: Frame,
    pub info: FilterInfo,
    /// The row of luma in the picture at which it begins.
    pub top: u32,
    /// True for the last rows. The frame may then be higher than the rest of the picture.
    pub is_last: bool,
}

/// The rows that are being reconstructed.
pub struct Window<'a> {
    sps: &'a Sps,
    reconstructor: Reconstructor<'a>,
    /// The filters' parameters of its blocks.
    info: FilterInfo,
    /// The slices that have blocks in the window, as in `info.slices`, and the last slice.
    slices: Vec<SliceHeader>,
    /// Height and width in coding tree blocks.
    rows: u32,
    columns: u32,
    /// The first row of coding tree blocks, counted in the picture.
    first_row: u32,
    coefficients: [i32; MAX_COEFFICIENTS],
}

impl<'a> Window<'a> {
    /// Returns the window at the top of a picture. `sps` comes from [`cut`].
    pub fn new(sps: &'a Sps, pps: &'a Pps, rows: u32) -> Self {
        let layout = CtbLayout::new(sps, pps);
        Self {
            sps,
            reconstructor: Reconstructor::new(sps, pps),
            info: FilterInfo::new(sps, &layout),
            slices: Vec::new(),
            rows,
            columns: layout.width,
            first_row: 0,
            coefficients: [0; MAX_COEFFICIENTS],
        }
    }

    /// Returns the number of rows of samples above the window, in a component.
    fn top(&self, component: u8) -> u32 {
        let (_, down) = if component == 0 { (1, 1) } else { self.sps.chroma_subsampling() };
        (self.first_row << self.sps.log2_ctb_size) / down
    }

    /// Returns true if an event is about blocks below the window, which then has to advance first.
    pub fn is_below(&self, event: &Event<'_>) -> bool {
        let luma = match event {
            Event::Slice(_) => return false,
            Event::Sao { y, .. } => return *y >= self.first_row + self.rows,
            Event::Block(block, _) if block.c_idx == 0 => block.y,
            Event::Block(block, _) => block.y * self.sps.chroma_subsampling().1,
            Event::Pcm { y, .. } => *y,
            Event::Unit(unit) => unit.y,
        };
        luma >> self.sps.log2_ctb_size >= self.first_row + self.rows
    }

    /// Reconstructs an output of the parser.
    ///
    /// # Errors
    /// If there are more slices than any level allows.
    pub fn apply(&mut self, event: Event<'_>) -> Result<(), Error> {
        match event {
            Event::Slice(header) => self.slice(header)?,
            Event::Sao { x, y, parameters } => {
                let index = (y - self.first_row) * self.columns + x;
                if let Some(own) = self.info.sao.get_mut(index as usize) {
                    *own = *parameters;
                }
            }
            Event::Block(block, coefficients) => self.block(block, coefficients),
            Event::Pcm { x, y, log2_size, samples } => {
                self.reconstructor.pcm(x, y - self.top(0), log2_size, samples);
            }
            Event::Unit(unit) => self.unit(CodingUnit { y: unit.y - self.top(0), ..unit }),
        }
        Ok(())
    }

    fn slice(&mut self, header: &SliceHeader) -> Result<(), Error> {
        if self.slices.len() > usize::from(u16::MAX) {
            return Err(Error::Invalid("too many slices"));
        }
        self.reconstructor.start_slice(header);
        self.info.slices.push(SliceFilterParams {
            deblocking_disabled: header.slice_deblocking_filter_disabled_flag,
            beta_offset_div2: header.slice_beta_offset_div2,
            tc_offset_div2: header.slice_tc_offset_div2,
            loop_filter_across_slices: header.slice_loop_filter_across_slices_enabled_flag,
        });
        self.slices.push(header.clone());
        Ok(())
    }

    fn block(&mut self, block: TransformBlock<'static>, coefficients: Option<&[i16]>) {
        let size = 1_usize << block.log2_size;
        let block = TransformBlock { y: block.y - self.top(block.c_idx), ..block };
        if block.c_idx == 0 {
            self.mark_edges(block.x, block.y, size as u32);
        }
        let Some(coefficients) = coefficients else { return self.reconstructor.transform_block(&block) };
        let columns = usize::from(block.coeff_bounds.0);
        for (row, from) in self.coefficients.chunks_exact_mut(size).zip(coefficients.chunks_exact(columns)) {
            row.iter_mut().zip(from).for_each(|(to, &from)| *to = from.into());
        }
        let coeffs = Some(&self.coefficients[..size * size]);
        self.reconstructor.transform_block(&TransformBlock { coeffs, ..block });
    }

    fn unit(&mut self, unit: CodingUnit) {
        let size = 1 << unit.log2_size;
        self.mark_edges(unit.x, unit.y, size);
        let no_filter = unit.transquant_bypass
            || unit.pcm && self.sps.pcm.is_some_and(|pcm| pcm.loop_filter_disabled_flag);
        let slice = (self.slices.len().max(1) - 1) as u16;
        let info = &mut self.info;
        let (left, right) = (unit.x as usize / 4, ((unit.x + size) as usize).div_ceil(4).min(info.w4));
        let (top, bottom) = (unit.y as usize / 4, ((unit.y + size) as usize).div_ceil(4).min(info.h4));
        for y in top..bottom {
            let row = y * info.w4 + left..y * info.w4 + right;
            info.qp_y[row.clone()].fill(unit.qp_y as i8);
            info.no_filter[row.clone()].fill(no_filter);
            info.slice[row].fill(slice);
        }
    }

    /// Marks the left and upper edge of a block, to be filtered.
    fn mark_edges(&mut self, x: u32, y: u32, size: u32) {
        let info = &mut self.info;
        let (x, y, units) = (x as usize / 4, y as usize / 4, (size as usize).div_ceil(4));
        for y in y..(y + units).min(info.h4) {
            info.edges[y * info.w4 + x] |= 1;
        }
        for x in x..(x + units).min(info.w4) {
            info.edges[y * info.w4 + x] |= 2;
        }
    }

    /// Moves the window down until its last row becomes its first, and returns what it held.
    pub fn advance(&mut self) -> Unfiltered {
        let top = self.top(0);
        let ctb = self.sps.ctb_size();
        let last_row = self.first_row + self.rows - 1;

        let frame = Frame { planes: Default::default(), ..self.reconstructor.frame };
        let frame = std::mem::replace(&mut self.reconstructor.frame, frame);
        for component in 0..3 {
            let rows = if component == 0 { ctb } else { ctb / self.sps.chroma_subsampling().1 };
            let plane = &frame.planes[component];
            self.reconstructor.frame.planes[component] =
                scrolled(plane, rows as usize * frame.widths[component] as usize);
        }

        // The blocks of the last row stay available, each to its own slice.
        let (width, height) = (self.sps.pic_width_in_luma_samples, self.sps.pic_height_in_luma_samples);
        self.reconstructor.set_reconstructed(0, 0, width, height, false);
        let row = last_row * self.columns..(last_row + 1) * self.columns;
        let gone = self.slices.partition_point(|slice| slice.slice_segment_address <= row.start).max(1) - 1;
        for (index, slice) in self.slices.iter().enumerate().skip(gone) {
            self.reconstructor.start_slice(slice);
            let next = self.slices.get(index + 1).map_or(row.end, |next| next.slice_segment_address);
            let from = slice.slice_segment_address.clamp(row.start, row.end) - row.start;
            let to = next.clamp(row.start, row.end) - row.start;
            if from < to {
                self.reconstructor.set_reconstructed(from * ctb, 0, (to - from) * ctb, ctb, true);
            }
        }

        let info = self.scrolled_info(gone);
        self.slices.drain(..gone);
        self.first_row = last_row;
        Unfiltered { frame, info: std::mem::replace(&mut self.info, info), top, is_last: false }
    }

    /// Returns the filters' parameters of the last row, without those of the first slices.
    fn scrolled_info(&self, gone: usize) -> FilterInfo {
        let info = &self.info;
        let units = info.w4 * (self.sps.ctb_size() as usize / 4);
        let mut slice = scrolled(&info.slice, units);
        slice.iter_mut().for_each(|slice| *slice = slice.saturating_sub(gone as u16));
        FilterInfo {
            w4: info.w4,
            h4: info.h4,
            edges: scrolled(&info.edges, units),
            qp_y: scrolled(&info.qp_y, units),
            no_filter: scrolled(&info.no_filter, units),
            slice,
            slices: info.slices[gone..].to_vec(),
            sao: scrolled(&info.sao, self.columns as usize),
        }
    }

    /// Returns the rows at the bottom of the picture.
    pub fn finish(self) -> Unfiltered {
        let top = self.top(0);
        Unfiltered { frame: self.reconstructor.frame, info: self.info, top, is_last: true }
    }
}

/// Returns a vector of the same length that begins with the last `kept` values.
fn scrolled<T: Clone + Default>(values: &[T], kept: usize) -> Vec<T> {
    let mut scrolled = vec![T::default(); values.len()];
    let kept = kept.min(values.len());
    scrolled[..kept].clone_from_slice(&values[values.len() - kept..]);
    scrolled
}
