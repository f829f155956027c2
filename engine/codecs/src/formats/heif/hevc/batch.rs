//! The parser's output in batches, until it is reconstructed. Of a block's coefficients, only the corner that is not zero is
//! kept.

use heifer::heifer_hevc_dec::slice::SliceHeader;
use heifer::heifer_hevc_dec::syntax::{CodingUnit, SaoParams, TransformBlock};

/// The number of coefficients that makes a batch full: more than a block of 64×64 has, and few enough to stay in a core's
/// cache.
const COEFFICIENTS: usize = 48 << 10;
/// The number of records that makes a batch full.
const RECORDS: usize = 6 << 10;

/// Blocks and parameters, in the order of the bitstream.
#[derive(Default)]
pub struct Batch {
    records: Vec<Record>,
    /// The coefficients of all blocks, one block after the other.
    coefficients: Vec<i16>,
    samples: Vec<u16>,
    slices: Vec<SliceHeader>,
    sao: Vec<SaoParams>,
}

enum Record {
    Slice,
    Sao {
        x: u32,
        y: u32,
    },
    /// A block. If it has coefficients, `coeffs` is an empty slice.
    Block(TransformBlock<'static>),
    Pcm {
        x: u32,
        y: u32,
        log2_size: u8,
        lengths: [usize; 3],
    },
    Unit(CodingUnit),
}

/// An output of the parser.
pub enum Event<'a> {
    /// An independent slice segment begins.
    Slice(&'a SliceHeader),
    Sao {
        x: u32,
        y: u32,
        parameters: &'a SaoParams,
    },
    /// A block, with the coefficients in its `coeff_bounds`.
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
        // This list may be long, and is not needed.
        self.slices.push(SliceHeader { entry_point_offsets: Vec::new(), ..header.clone() });
    }

    pub fn sao(&mut self, x: u32, y: u32, parameters: &SaoParams) {
        self.records.push(Record::Sao { x, y });
        self.sao.push(*parameters);
    }

    pub fn block(&mut self, block: &TransformBlock<'_>) {
        let size = 1 << block.log2_size;
        // Without a transform, all coefficients are needed.
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
        self.records.push(Record::Block(TransformBlock {
            c_idx: block.c_idx,
            x: block.x,
            y: block.y,
            log2_size: block.log2_size,
            intra_mode: block.intra_mode,
            coeffs: block.coeffs.map(|_| [].as_slice()),
            coeff_bounds: bounds,
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

    /// Returns all outputs, in the order in which they were recorded.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> {
        let (mut coefficients, mut samples) = (self.coefficients.as_slice(), self.samples.as_slice());
        let (mut slices, mut sao) = (self.slices.iter(), self.sao.iter());
        self.records.iter().filter_map(move |record| {
            Some(match record {
                Record::Slice => Event::Slice(slices.next()?),
                &Record::Sao { x, y } => Event::Sao { x, y, parameters: sao.next()? },
                Record::Block(block) => {
                    let (columns, rows) = block.coeff_bounds;
                    let own = match block.coeffs {
                        Some(_) => Some(coefficients.split_off(..usize::from(columns) * usize::from(rows))?),
                        None => None,
                    };
                    Event::Block(TransformBlock { coeffs: None, ..*block }, own)
                }
                &Record::Pcm { x, y, log2_size, lengths: [luma, cb, cr] } => {
                    let mut take = |length: usize| samples.split_off(..length);
                    Event::Pcm { x, y, log2_size, samples: [take(luma)?, take(cb)?, take(cr)?] }
                }
                &Record::Unit(unit) => Event::Unit(unit),
            })
        })
    }
}
