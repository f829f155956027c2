//! Encodes baseline JPEG row by row: byte for byte what libjpeg-turbo writes with the standard's tables, in less time.
//!
//! [`Encoder::begin`] starts a file, [`Encoder::row`] adds a row of pixels, and [`Encoder::finish`] returns the file. An encoder
//! encodes one file after the other and reuses its memory. To have several files open at the same time, make further encoders
//! with [`Encoder::another`].
//!
//! # How it works
//! libjpeg transforms one block after the other. This encoder transforms a row of MCUs at once, 32 blocks side by side, with the
//! widest vectors that the processor has, and writes two Huffman codes at a time.
//!
//! ```text
//! rows of pixels ─▶ mcu_row (colours) ─▶ transform ─▶ entropy ─▶ the file, after its header
//! ```

mod colours;
mod entropy;
mod header;
mod mcu_row;
#[cfg(test)]
mod tests;
mod transform;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use crate::tables;
use crate::vectors::with_vectors;
use crate::ycbcr420::Pair;

use entropy::{Codes, PendingBits, Scan};
use header::{END_OF_IMAGE, Header};
use mcu_row::McuRow;
use transform::{BLOCKS, Coefficients, Quantiser, transform};

/// Initial capacity of a file in bytes. A larger one is kept for the next file.
const INITIAL_BYTES: usize = 16 << 10;

/// Layout of the rows that an encoder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// One byte of luma per pixel.
    Grey,
    /// Three bytes per pixel.
    Rgb,
    /// Four bytes per pixel. The last one is ignored.
    Rgba,
    /// Luma, Cb and Cr of each pixel.
    YCbCr,
    /// Pairs of rows in the layout of [`crate::ycbcr420`]. The file has halved chroma too.
    YCbCr420,
}

impl Input {
    fn bytes_per_pixel(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb | Self::YCbCr | Self::YCbCr420 => 3,
            Self::Rgba => 4,
        }
    }
}

/// Chroma of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sampling {
    Grey,
    /// At full resolution (4:4:4).
    Full,
    /// At half the resolution both ways (4:2:0).
    Halved,
}

impl Sampling {
    /// Rows of pixels in an MCU.
    fn mcu_rows(self) -> usize {
        if self == Self::Halved { 16 } else { 8 }
    }
}

/// A JPEG encoder.
pub struct Encoder {
    input: Input,
    shared: Rc<Shared>,
    mcu_row: McuRow,
    /// First coefficients of the last block of luma, Cb and Cr.
    previous_dc: [i16; 3],
    pending: PendingBits,
    file: Vec<u8>,
}

/// The part that encoders of one kind share.
struct Shared {
    sampling: Sampling,
    header: Header,
    /// For luma and chroma.
    quantisers: [Quantiser; 2],
    codes: [Codes; 2],
    /// Used by one encoder at a time, which keeps it in the cache.
    scratch: RefCell<Scratch>,
}

#[derive(Default)]
struct Scratch {
    /// Groups of blocks of a row of MCUs: one of each plane, or two of luma and one of both chroma planes.
    coefficients: [Coefficients; 3],
    scan: Scan,
}

impl Encoder {
    /// Makes an encoder for a quality of 1 to 100. `halves_chroma` stores chroma at half the resolution both ways (4:2:0).
    /// [`Input::YCbCr420`] always does.
    pub fn new(input: Input, quality: u8, halves_chroma: bool) -> Self {
        let sampling = match input {
            Input::Grey => Sampling::Grey,
            Input::Rgb | Input::Rgba | Input::YCbCr if !halves_chroma => Sampling::Full,
            Input::Rgb | Input::Rgba | Input::YCbCr | Input::YCbCr420 => Sampling::Halved,
        };
        let steps = tables::quantisation(quality);
        let shared = Shared {
            sampling,
            header: Header::new(sampling, &steps),
            quantisers: steps.each_ref().map(Quantiser::new),
            codes: [0, 1].map(|kind| Codes::new(&tables::DC[kind], &tables::AC[kind])),
            scratch: RefCell::default(),
        };
        Self::with_shared(input, Rc::new(shared))
    }

    /// Makes another encoder of the same kind. Both share their tables and working memory.
    pub fn another(&self) -> Self {
        Self::with_shared(self.input, Rc::clone(&self.shared))
    }

    fn with_shared(input: Input, shared: Rc<Shared>) -> Self {
        let mcu_row = McuRow::new(input, shared.sampling);
        Self {
            input,
            shared,
            mcu_row,
            previous_dc: [0; 3],
            pending: PendingBits::default(),
            file: Vec::new(),
        }
    }

    /// Begins a file of at most 65,535 pixels a side. Discards an unfinished one.
    pub fn begin(&mut self, width: u32, height: u32) {
        self.mcu_row.begin(width);
        self.previous_dc = [0; 3];
        self.pending = PendingBits::default();
        self.file.clear();
        self.file.reserve(INITIAL_BYTES);
        self.shared.header.write(width, height, &mut self.file);
    }

    /// Adds the next row of pixels.
    ///
    /// # Panics
    /// If the row is not as long as the file is wide.
    pub fn row(&mut self, pixels: &[u8]) {
        assert!(
            pixels.len() == self.mcu_row.width() * self.input.bytes_per_pixel(),
            "expected a whole row of pixels"
        );
        self.mcu_row.add_pixels(pixels);
        self.encode_if_full();
    }

    /// Adds the next row of [`Input::YCbCr420`]: some columns, as many as the file is wide, of the upper or lower row of a
    /// pair.
    pub fn ycbcr420_row(&mut self, pair: &Pair<'_>, is_lower: bool, columns: &Range<u32>) {
        self.mcu_row.add_pair(pair, is_lower, columns);
        self.encode_if_full();
    }

    /// Returns the finished file. All its rows must have been added.
    pub fn finish(&mut self) -> &[u8] {
        if self.mcu_row.rows() > 0 {
            self.mcu_row.pad();
            self.encode();
        }
        let scan = &mut self.shared.scratch.borrow_mut().scan;
        scan.finish(self.pending);
        scan.move_to(&mut self.file);
        self.file.extend_from_slice(&END_OF_IMAGE);
        &self.file
    }

    fn encode_if_full(&mut self) {
        if self.mcu_row.is_full() {
            self.encode();
        }
    }

    /// Encodes the row of MCUs.
    fn encode(&mut self) {
        let shared = Rc::clone(&self.shared);
        let Scratch { coefficients, scan } = &mut *shared.scratch.borrow_mut();
        for group in 0..self.mcu_row.groups() {
            self.transform(group, coefficients);
            self.write(group, coefficients, scan);
        }
        scan.move_to(&mut self.file);
        self.mcu_row.clear();
    }

    /// Transforms a group of blocks of each plane.
    fn transform(&self, group: usize, coefficients: &mut [Coefficients; 3]) {
        let Shared { sampling, quantisers: [luma, chroma], .. } = &*self.shared;
        let row = &self.mcu_row;
        let run = |rows, quantiser, out: &mut Coefficients| {
            with_vectors!(simd => transform(simd, rows, quantiser, out));
        };
        let [first, second, third] = coefficients;
        run(row.group(0, 0, group), luma, first);
        match sampling {
            Sampling::Grey => {}
            Sampling::Full => {
                run(row.group(1, 0, group), chroma, second);
                run(row.group(2, 0, group), chroma, third);
            }
            Sampling::Halved => {
                run(row.group(0, 1, group), luma, second);
                run(row.chroma_group(group).each_ref(), chroma, third);
            }
        }
    }

    /// Writes the MCUs of a group.
    fn write(&mut self, group: usize, [first, second, third]: &[Coefficients; 3], scan: &mut Scan) {
        let Self { shared, mcu_row, previous_dc: [luma, cb, cr], pending, .. } = self;
        let [luma_codes, chroma_codes] = &shared.codes;
        let blocks = (mcu_row.blocks_across() - group * BLOCKS).min(BLOCKS);
        scan.reserve(blocks.next_multiple_of(2) * 3);
        match shared.sampling {
            Sampling::Grey => with_vectors!(_simd => {
                for block in 0..blocks {
                    scan.block(pending, luma_codes, first, block, luma);
                }
            }),
            Sampling::Full => with_vectors!(_simd => {
                for block in 0..blocks {
                    scan.block(pending, luma_codes, first, block, luma);
                    scan.block(pending, chroma_codes, second, block, cb);
                    scan.block(pending, chroma_codes, third, block, cr);
                }
            }),
            Sampling::Halved => {
                let has_lower = mcu_row.rows() > 8;
                with_vectors!(_simd => for mcu in 0..blocks.div_ceil(2) {
                    for (row, exists) in [(first, true), (second, has_lower)] {
                        for block in [2 * mcu, 2 * mcu + 1] {
                            match exists && block < blocks {
                                true => scan.block(pending, luma_codes, row, block, luma),
                                false => scan.empty_block(pending, luma_codes),
                            }
                        }
                    }
                    scan.block(pending, chroma_codes, third, mcu, cb);
                    scan.block(pending, chroma_codes, third, BLOCKS / 2 + mcu, cr);
                });
            }
        }
    }
}
