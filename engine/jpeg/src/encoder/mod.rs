//! Encodes baseline JPEG row by row, each file with the shortest Huffman codes for it. With the same steps and rounding it shows
//! what libjpeg-turbo's file shows, sample by sample.
//!
//! [`Encoder::begin`] starts a file, [`Encoder::row`] adds a row of pixels, and [`Encoder::finish`] returns the file. An encoder
//! encodes one file after the other and reuses its memory. To have several files open at the same time, make further encoders
//! with [`Encoder::another`].
//!
//! # How it works
//! libjpeg transforms one block after the other. This encoder transforms a row of MCUs at once, 32 blocks side by side, with the
//! widest vectors that the processor has. Blocks become tokens, which are counted and wait in memory; at the file's end they are
//! written as Huffman codes, several at a time. Once a dense file has its tables, its blocks are coded at once.
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
pub(crate) mod tokens;
pub(crate) mod transform;

use std::cell::{Ref, RefCell};
use std::mem;
use std::ops::Range;
use std::rc::Rc;

use crate::quantisation::Quantisation;
use crate::vectors::with_vectors;
use crate::ycbcr420::Pair;

use entropy::{Coder, Codes, PendingBits, Scan};
use header::{END_OF_IMAGE, Header};
use mcu_row::McuRow;
use tokens::Kind::{Chroma, Luma};
use tokens::{BlockSink, Counted, Frequencies, RowTokens, Spare, StoredTokens, Uncounted};
pub use tokens::{Mcus, Piece};
use transform::{BLOCKS, Coefficients, Quantiser, Transformed, transform};

/// Memory for the tokens of unfinished files, unless [`Encoder::with_token_bytes`] sets it.
const DEFAULT_TOKEN_BYTES: usize = 16 << 20;
const TOKEN_BLOCK_BYTES: usize = size_of::<u16>() * StoredTokens::BLOCK;

/// If the first quarter of a file has this number of tokens, and half as many tokens as pixels, the file is coded with tables for
/// these rows. Dense pictures, such as noise, take most of the time, and their first rows are like the others.
const ENOUGH_TOKENS: usize = 8 << 10;

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
    /// Number of pixels so far.
    pixels: usize,
    /// Symbols of all tokens.
    frequencies: Box<Frequencies>,
    /// The file so far, if its tokens are not stored.
    coded: Option<Coded>,
}

/// A file that is coded as its rows arrive.
#[derive(Default)]
struct Coded {
    codes: Box<Codes>,
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
    transformed: Transformed,
    row: RowTokens,
    spare: Spare,
    codes: Box<Codes>,
    /// Memory of earlier files that were coded as their rows arrived.
    coded: Vec<Coded>,
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
            transformed: Transformed::default(),
            row: RowTokens::default(),
            spare: Spare { blocks: vec![], left: DEFAULT_TOKEN_BYTES / TOKEN_BLOCK_BYTES },
            codes: Box::default(),
            coded: vec![],
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
            pixels: 0,
            frequencies: Box::default(),
            coded: None,
        }
    }

    /// Begins a file of at most 65,535 pixels a side. Discards an unfinished one.
    pub fn begin(&mut self, width: u32, height: u32) {
        self.size = (width, height);
        self.mcu_row.begin(width);
        self.previous_dc = [0; 3];
        self.pixels = 0;
        self.frequencies.clear();
        let working = &mut *self.working.borrow_mut();
        self.tokens.clear(&mut working.spare);
        working.coded.extend(self.coded.take());
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

    /// Adds a whole row of MCUs, whose blocks are quantised already, from left to right.
    pub fn mcus<'a>(&mut self, mcus: impl Iterator<Item = Mcus<'a>>) {
        let working = Rc::clone(&self.working);
        let Working { row, spare, coded, scan, .. } = &mut *working.borrow_mut();
        row.clear();
        for mcus in mcus {
            match self.coded {
                None => row.mcus(mcus, &mut self.previous_dc, &mut *self.frequencies),
                Some(_) => row.mcus(mcus, &mut self.previous_dc, &mut Uncounted),
            }
        }
        self.pixels += self.mcu_row.width() * self.tables.sampling.mcu_rows();
        self.store(row, spare, coded, scan);
    }

    /// Returns the finished file. All its rows must have been added. No other encoder that shares memory with this one can be
    /// used before the result is dropped.
    pub fn finish(&mut self) -> Ref<'_, [u8]> {
        if self.mcu_row.rows() > 0 {
            self.mcu_row.pad();
            self.encode();
        }
        {
            let Working { codes, coded, scan, file, spare, .. } = &mut *self.working.borrow_mut();
            file.clear();
            let pending = match self.coded.take() {
                Some(mut own) => {
                    mem::swap(file, &mut own.file);
                    let pending = own.pending;
                    coded.push(own);
                    pending
                }
                None => self.code(false, codes, scan, file),
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
        let Working { coefficients, transformed, row, spare, coded, scan, .. } = &mut *working.borrow_mut();
        row.clear();
        for group in 0..self.mcu_row.groups() {
            self.transform(group, transformed, coefficients);
            let Self { tables, mcu_row, previous_dc, frequencies, coded, .. } = self;
            if let Some(Coded { codes, pending, .. }) = coded {
                let coder = &mut Coder { scan, codes, pending, row };
                tables.add_blocks(mcu_row, group, coefficients, previous_dc, coder);
            } else {
                row.reserve(3 * BLOCKS);
                tables.add_blocks(
                    mcu_row,
                    group,
                    coefficients,
                    previous_dc,
                    &mut Counted { row, frequencies },
                );
            }
        }
        self.pixels += self.mcu_row.width() * self.mcu_row.rows();
        self.mcu_row.clear();
        self.store(row, spare, coded, scan);
    }

    /// Stores the tokens of a row of MCUs, or codes them.
    fn store(&mut self, row: &RowTokens, spare: &mut Spare, coded: &mut Vec<Coded>, scan: &mut Scan) {
        if self.coded.is_none() {
            let is_stored = self.tokens.add(row.tokens(), spare);
            if is_stored && !self.is_dense() {
                return;
            }
            let mut own = coded.pop().unwrap_or_default();
            own.file.clear();
            // Later rows may have symbols that these have not.
            own.pending = self.code(true, &mut own.codes, scan, &mut own.file);
            self.tokens.clear(spare);
            self.coded = Some(own);
            if is_stored {
                return;
            }
        }
        if let Some(Coded { codes, pending, file }) = &mut self.coded {
            with_vectors!(_simd => scan.write(row.tokens(), codes, pending));
            scan.move_to(file);
        }
    }

    /// Returns true if the stored tokens are dense, and enough to code the rest of the file.
    fn is_dense(&self) -> bool {
        let tokens = self.tokens.count();
        let all_pixels = self.size.0 as usize * self.size.1 as usize;
        tokens >= ENOUGH_TOKENS && 2 * tokens >= self.pixels && 4 * self.pixels <= all_pixels
    }

    /// Writes the header and the stored tokens, with codes for all symbols or only for those of the tokens so far.
    fn code(&self, with_all: bool, codes: &mut Codes, scan: &mut Scan, file: &mut Vec<u8>) -> PendingBits {
        let tables = self.frequencies.tables(with_all);
        self.tables.header.write(self.size, &tables, file);
        codes.set(&tables);
        let mut pending = PendingBits::default();
        for tokens in self.tokens.parts() {
            with_vectors!(_simd => scan.write(tokens, codes, &mut pending));
        }
        scan.move_to(file);
        pending
    }

    /// Transforms a group of blocks of each plane.
    fn transform(&self, group: usize, transformed: &mut Transformed, coefficients: &mut [Coefficients; 3]) {
        let Tables { sampling, quantisers: [luma, chroma], .. } = &*self.tables;
        let row = &self.mcu_row;
        let mut run = |rows, quantiser, out: &mut Coefficients| {
            with_vectors!(simd => transform(simd, rows, quantiser, transformed, out));
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
}

impl Tables {
    fn new(sampling: Sampling, quantisation: &Quantisation) -> Self {
        let header = Header::new(sampling, &quantisation.steps);
        Self { sampling, header, quantisers: [0, 1].map(|kind| Quantiser::new(quantisation, kind)) }
    }

    /// Adds the blocks of the MCUs of a group to a sink.
    fn add_blocks(
        &self,
        mcu_row: &McuRow,
        group: usize,
        [first, second, third]: &[Coefficients; 3],
        [luma, cb, cr]: &mut [i16; 3],
        sink: &mut impl BlockSink,
    ) {
        let blocks = (mcu_row.blocks_across() - group * BLOCKS).min(BLOCKS);
        match self.sampling {
            Sampling::Grey => with_vectors!(_simd => {
                for block in 0..blocks {
                    sink.block(Luma, first, block, luma);
                }
            }),
            Sampling::Full => with_vectors!(_simd => {
                for block in 0..blocks {
                    sink.block(Luma, first, block, luma);
                    sink.block(Chroma, second, block, cb);
                    sink.block(Chroma, third, block, cr);
                }
            }),
            Sampling::Halved => {
                let has_lower = mcu_row.rows() > 8;
                with_vectors!(_simd => for mcu in 0..blocks.div_ceil(2) {
                    for (coefficients, exists) in [(first, true), (second, has_lower)] {
                        for block in [2 * mcu, 2 * mcu + 1] {
                            if exists && block < blocks {
                                sink.block(Luma, coefficients, block, luma);
                            } else {
                                sink.empty_block(Luma);
                            }
                        }
                    }
                    sink.block(Chroma, third, mcu, cb);
                    sink.block(Chroma, third, BLOCKS / 2 + mcu, cr);
                });
            }
        }
    }
}
