//! Encodes baseline JPEG row by row, each file with the shortest Huffman codes for it. With the same steps and rounding it shows
//! what libjpeg-turbo's file shows, sample by sample.
//!
//! [`Encoder::begin`] starts a file, [`Encoder::row`] adds a row of pixels, and [`Encoder::finish`] returns the file. An encoder
//! encodes one file after the other and reuses its memory. To have several files open at the same time, make further encoders
//! with [`Encoder::another`].
//!
//! # How it works
//! libjpeg transforms one block after the other. This encoder transforms a row of MCUs at once, 32 blocks side by side, with the
//! widest vectors that the processor has. Blocks become tokens, which wait in memory; at the file's end they are counted, and two
//! at a time are written as Huffman codes.
//!
//! ```text
//! rows of pixels ─▶ mcu_row (colours) ─▶ transform ─▶ tokens ─▶ huffman, entropy ─▶ the file
//! ```

mod colours;
mod entropy;
mod header;
mod huffman;
mod mcu_row;
#[cfg(test)]
mod tests;
mod tokens;
mod transform;

use std::cell::{Ref, RefCell};
use std::ops::Range;
use std::rc::Rc;

use crate::quantisation::Quantisation;
use crate::vectors::with_vectors;
use crate::ycbcr420::Pair;

use entropy::{Codes, Frequencies, PendingBits, Scan};
use header::{END_OF_IMAGE, Header};
use mcu_row::McuRow;
use tokens::Kind::{Chroma, Luma};
use tokens::{RowTokens, Spare, StoredTokens};
use transform::{BLOCKS, Coefficients, Quantiser, transform};

/// Memory for the tokens of unfinished files, unless [`Encoder::with_token_bytes`] sets it.
const DEFAULT_TOKEN_BYTES: usize = 16 << 20;
const TOKEN_BLOCK_BYTES: usize = size_of::<u16>() * StoredTokens::BLOCK;

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
    tables: Rc<Tables>,
    working: Rc<RefCell<Working>>,
    size: (u32, u32),
    mcu_row: McuRow,
    /// First coefficients of the last block of luma, Cb and Cr.
    previous_dc: [i16; 3],
    tokens: StoredTokens,
    /// The file so far, if its tokens are not stored.
    coded: Option<Coded>,
}

/// A file that is coded as its rows arrive.
struct Coded {
    codes: Codes,
    pending: PendingBits,
    file: Vec<u8>,
}

/// The part that encoders of one kind share.
struct Tables {
    sampling: Sampling,
    header: Header,
    /// For luma and chroma.
    quantisers: [Quantiser; 2],
}

/// Memory that encoders share. One at a time uses it, which keeps it in the cache.
struct Working {
    /// Groups of blocks of a row of MCUs: one of each plane, or two of luma and one of both chroma planes.
    coefficients: [Coefficients; 3],
    row: RowTokens,
    spare: Spare,
    scan: Scan,
    /// The last finished file.
    file: Vec<u8>,
}

impl Encoder {
    /// Makes an encoder. `halves_chroma` stores chroma at half the resolution both ways (4:2:0). [`Input::YCbCr420`] always does.
    pub fn new(input: Input, quantisation: &Quantisation, halves_chroma: bool) -> Self {
        let sampling = match input {
            Input::Grey => Sampling::Grey,
            Input::Rgb | Input::Rgba | Input::YCbCr if !halves_chroma => Sampling::Full,
            Input::Rgb | Input::Rgba | Input::YCbCr | Input::YCbCr420 => Sampling::Halved,
        };
        let working = Working {
            coefficients: Default::default(),
            row: RowTokens::default(),
            spare: Spare { blocks: vec![], left: DEFAULT_TOKEN_BYTES / TOKEN_BLOCK_BYTES },
            scan: Scan::default(),
            file: vec![],
        };
        Self::with(input, Rc::new(Tables::new(sampling, quantisation)), Rc::new(RefCell::new(working)))
    }

    /// Sets the memory in bytes for the tokens of all unfinished files of this encoder and of those made from it, 16 MiB by
    /// default. A file that finds none left is coded with tables for its first rows.
    #[must_use]
    pub fn with_token_bytes(self, bytes: usize) -> Self {
        self.working.borrow_mut().spare.left = bytes / TOKEN_BLOCK_BYTES;
        self
    }

    /// Makes another encoder of the same kind. Both share their tables and working memory.
    pub fn another(&self) -> Self {
        Self::with(self.input, Rc::clone(&self.tables), Rc::clone(&self.working))
    }

    /// Makes another encoder that quantises differently. Both share their working memory.
    pub fn with_quantisation(&self, quantisation: &Quantisation) -> Self {
        let tables = Rc::new(Tables::new(self.tables.sampling, quantisation));
        Self::with(self.input, tables, Rc::clone(&self.working))
    }

    fn with(input: Input, tables: Rc<Tables>, working: Rc<RefCell<Working>>) -> Self {
        let mcu_row = McuRow::new(input, tables.sampling);
        Self {
            input,
            tables,
            working,
            size: (0, 0),
            mcu_row,
            previous_dc: [0; 3],
            tokens: StoredTokens::default(),
            coded: None,
        }
    }

    /// Begins a file of at most 65,535 pixels a side. Discards an unfinished one.
    pub fn begin(&mut self, width: u32, height: u32) {
        self.size = (width, height);
        self.mcu_row.begin(width);
        self.previous_dc = [0; 3];
        self.tokens.clear(&mut self.working.borrow_mut().spare);
        self.coded = None;
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

    /// Returns the finished file. All its rows must have been added. No other encoder that shares memory with this one can be
    /// used before the result is dropped.
    pub fn finish(&mut self) -> Ref<'_, [u8]> {
        if self.mcu_row.rows() > 0 {
            self.mcu_row.pad();
            self.encode();
        }
        {
            let Working { scan, file, spare, .. } = &mut *self.working.borrow_mut();
            file.clear();
            let pending = match self.coded.take() {
                Some(coded) => {
                    file.extend_from_slice(&coded.file);
                    coded.pending
                }
                None => self.code(Frequencies::count(self.tokens.parts()), scan, file).1,
            };
            self.tokens.clear(spare);
            scan.finish(pending);
            scan.move_to(file);
            file.extend_from_slice(&END_OF_IMAGE);
        }
        Ref::map(self.working.borrow(), |working| working.file.as_slice())
    }

    fn encode_if_full(&mut self) {
        if self.mcu_row.is_full() {
            self.encode();
        }
    }

    /// Encodes the row of MCUs.
    fn encode(&mut self) {
        let working = Rc::clone(&self.working);
        let Working { coefficients, row, spare, scan, .. } = &mut *working.borrow_mut();
        row.clear();
        for group in 0..self.mcu_row.groups() {
            self.transform(group, coefficients);
            self.tokenise(group, coefficients, row);
        }
        self.mcu_row.clear();
        if self.coded.is_none() && !self.tokens.add(row.tokens(), spare) {
            // Later rows may have symbols that these have not.
            let frequencies = Frequencies::count(self.tokens.parts().chain([row.tokens()])).with_all();
            let mut file = vec![];
            let (codes, pending) = self.code(frequencies, scan, &mut file);
            self.coded = Some(Coded { codes, pending, file });
            self.tokens.clear(spare);
        }
        if let Some(Coded { codes, pending, file }) = &mut self.coded {
            with_vectors!(_simd => scan.write(row.tokens(), codes, pending));
            scan.move_to(file);
        }
    }

    /// Writes the header and the stored tokens with the tables for these frequencies.
    fn code(&self, frequencies: Frequencies, scan: &mut Scan, file: &mut Vec<u8>) -> (Codes, PendingBits) {
        let tables = frequencies.tables();
        self.tables.header.write(self.size, &tables, file);
        let (codes, mut pending) = (Codes::new(&tables), PendingBits::default());
        for tokens in self.tokens.parts() {
            with_vectors!(_simd => scan.write(tokens, &codes, &mut pending));
        }
        scan.move_to(file);
        (codes, pending)
    }

    /// Transforms a group of blocks of each plane.
    fn transform(&self, group: usize, coefficients: &mut [Coefficients; 3]) {
        let Tables { sampling, quantisers: [luma, chroma], .. } = &*self.tables;
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

    /// Makes tokens of the MCUs of a group.
    fn tokenise(&mut self, group: usize, [first, second, third]: &[Coefficients; 3], row: &mut RowTokens) {
        let Self { tables, mcu_row, previous_dc: [luma, cb, cr], .. } = self;
        let blocks = (mcu_row.blocks_across() - group * BLOCKS).min(BLOCKS);
        row.reserve(blocks.next_multiple_of(2) * 3);
        match tables.sampling {
            Sampling::Grey => with_vectors!(_simd => {
                for block in 0..blocks {
                    row.block(Luma, first, block, luma);
                }
            }),
            Sampling::Full => with_vectors!(_simd => {
                for block in 0..blocks {
                    row.block(Luma, first, block, luma);
                    row.block(Chroma, second, block, cb);
                    row.block(Chroma, third, block, cr);
                }
            }),
            Sampling::Halved => {
                let has_lower = mcu_row.rows() > 8;
                with_vectors!(_simd => for mcu in 0..blocks.div_ceil(2) {
                    for (coefficients, exists) in [(first, true), (second, has_lower)] {
                        for block in [2 * mcu, 2 * mcu + 1] {
                            match exists && block < blocks {
                                true => row.block(Luma, coefficients, block, luma),
                                false => row.empty_block(Luma),
                            }
                        }
                    }
                    row.block(Chroma, third, mcu, cb);
                    row.block(Chroma, third, BLOCKS / 2 + mcu, cr);
                });
            }
        }
    }
}

impl Tables {
    fn new(sampling: Sampling, quantisation: &Quantisation) -> Self {
        let header = Header::new(sampling, &quantisation.steps);
        Self { sampling, header, quantisers: [0, 1].map(|kind| Quantiser::new(quantisation, kind)) }
    }
}
