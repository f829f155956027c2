//! What the parser finds in a bitstream, kept until it is reconstructed. Of a block's coefficients only the corner that
//! has some is kept.

use heifer::heifer_hevc_dec::slice::SliceHeader;
use heifer::heifer_hevc_dec::syntax::{CodingUnit, SaoParams, TransformBlock};

/// The coefficients of a batch: more than a block of 64×64 has, and little enough to stay in a core's cache.
const COEFFICIENTS: usize = 48 << 10;
const RECORDS: usize = 6 << 10;

/// Some blocks, in the order of the bitstream.
#[derive(Default)]
pub struct Batch {
    records: Vec<Record>,
    /// What has been taken from these by the records before is not theirs.
    coefficients: Vec<i16>,
    samples: Vec<u16>,
    slices: Vec<SliceHeader>,
    sao: Vec<SaoParams>,
}

enum Record {
    Slice,
    Sao { x: u32, y: u32 },
    Block(Block),
    Pcm { x: u32, y: u32, log2_size: u8, lengths: [usize; 3] },
    Unit(CodingUnit),
}

/// A [`TransformBlock`] without its coefficients.
#[derive(Clone, Copy)]
struct Block {
    x: u32,
    y: u32,
    c_idx: u8,
    log2_size: u8,
    intra_mode: u8,
    has_coefficients: bool,
    bounds: (u8, u8),
    transform_skip: bool,
    transquant_bypass: bool,
    qp_y: i32,
    cu_qp_offset: i8,
    res_scale_val: i8,
}

/// One thing that the parser found.
pub enum Event<'a> {
    /// A slice begins: an independent segment.
    Slice(&'a SliceHeader),
    Sao {
        x: u32,
        y: u32,
        parameters: &'a SaoParams,
    },
    /// A block, whose coefficients are the corner of it that its bounds say.
    Block(TransformBlock<'static>, Option<&'a [i16]>),
    Pcm {
        x: u32,
        y: u32,
        log2_size: u8,
        samples: [&'a [u16]; 3],
    },
    Unit(CodingUnit),
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.coefficients.len() >= COEFFICIENTS || self.records.len() >= RECORDS
    }

    pub fn slice(&mut self, header: &SliceHeader) {
        self.records.push(Record::Slice);
        // A list that nothing here reads, and that may be long.
        self.slices.push(SliceHeader { entry_point_offsets: Vec::new(), ..header.clone() });
    }

    pub fn sao(&mut self, x: u32, y: u32, parameters: &SaoParams) {
        self.records.push(Record::Sao { x, y });
        self.sao.push(*parameters);
    }

    pub fn block(&mut self, block: &TransformBlock<'_>) {
        let size = 1 << block.log2_size;
        // Without a transform all coefficients are read.
        let bounds = if block.transform_skip || block.transquant_bypass {
            (size as u8, size as u8)
        } else {
            (block.coeff_bounds.0.max(1), block.coeff_bounds.1.max(1))
        };
        if let Some(coefficients) = block.coeffs {
            for row in coefficients.chunks_exact(size).take(bounds.1.into()) {
                let row = row.iter().take(bounds.0.into());
                // 7.4.9.11 keeps levels within 16 bits.
                self.coefficients
                    .extend(row.map(|&level| level.clamp(i16::MIN.into(), i16::MAX.into()) as i16));
            }
        }
        self.records.push(Record::Block(Block {
            x: block.x,
            y: block.y,
            c_idx: block.c_idx,
            log2_size: block.log2_size,
            intra_mode: block.intra_mode,
            has_coefficients: block.coeffs.is_some(),
            bounds,
            transform_skip: block.transform_skip,
            transquant_bypass: block.transquant_bypass,
            qp_y: block.qp_y,
            cu_qp_offset: block.cu_qp_offset,
            res_scale_val: block.res_scale_val,
        }));
    }

    pub fn pcm(&mut self, x: u32, y: u32, log2_size: u8, samples: [&[u16]; 3]) {
        self.records.push(Record::Pcm { x, y, log2_size, lengths: samples.map(<[u16]>::len) });
        samples.into_iter().for_each(|samples| self.samples.extend_from_slice(samples));
    }

    pub fn coding_unit(&mut self, unit: &CodingUnit) {
        self.records.push(Record::Unit(*unit));
    }

    /// What was recorded, in that order.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> {
        let (mut coefficients, mut samples) = (self.coefficients.as_slice(), self.samples.as_slice());
        let (mut slices, mut sao) = (self.slices.iter(), self.sao.iter());
        self.records.iter().filter_map(move |record| {
            Some(match *record {
                Record::Slice => Event::Slice(slices.next()?),
                Record::Sao { x, y } => Event::Sao { x, y, parameters: sao.next()? },
                Record::Block(block) => {
                    let own = match block.has_coefficients {
                        true => Some(coefficients.split_off(..block.coefficients())?),
                        false => None,
                    };
                    Event::Block(block.transform_block(), own)
                }
                Record::Pcm { x, y, log2_size, lengths: [luma, cb, cr] } => {
                    let mut take = |length: usize| samples.split_off(..length);
                    Event::Pcm { x, y, log2_size, samples: [take(luma)?, take(cb)?, take(cr)?] }
                }
                Record::Unit(unit) => Event::Unit(unit),
            })
        })
    }
}

impl Block {
    /// How many coefficients are kept.
    fn coefficients(&self) -> usize {
        usize::from(self.bounds.0) * usize::from(self.bounds.1)
    }

    fn transform_block(&self) -> TransformBlock<'static> {
        TransformBlock {
            c_idx: self.c_idx,
            x: self.x,
            y: self.y,
            log2_size: self.log2_size,
            intra_mode: self.intra_mode,
            coeffs: None,
            coeff_bounds: self.bounds,
            transform_skip: self.transform_skip,
            transquant_bypass: self.transquant_bypass,
            qp_y: self.qp_y,
            cu_qp_offset: self.cu_qp_offset,
            res_scale_val: self.res_scale_val,
        }
    }
}
