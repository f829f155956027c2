//! Encodes tiles as PNG.
//!
//! Tiles of drawings have few colours. While a tile has at most 256, its pixels are stored as indices; at its end the
//! indices, or the greys, are compressed at once. Another tile is a photograph: its rows are filtered and compressed as
//! they arrive, so it takes little memory while it is unfinished.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

use edgezoom_codecs::Layout;
use libdeflater::{CompressionLvl, Compressor};
use png::{BitDepth, ColorType, StreamWriter};

/// Size of an IDAT chunk in bytes. A larger one costs memory for every unfinished tile.
const IDAT_BYTES: usize = 16 << 10;
/// libdeflate's level. Level 6 saves 4 % of a drawing for more time.
const LEVEL: i32 = 4;
/// Memory for the indices of unfinished tiles in bytes, unless [`PngEncoder::with_stored_bytes`] sets it. A tile that
/// finds none left streams.
const STORED_BYTES: usize = 12 << 20;
/// Number of colours of a palette.
const COLOURS: usize = 256;
/// Slots of the table that finds colours, a power of two.
const SLOTS: usize = 4 * COLOURS;
/// Largest number of remembered files of one colour.
const PLAIN_FILES: usize = 64;

/// Red, green, blue and alpha.
type Colour = [u8; 4];

/// Encodes one tile after the other.
pub struct PngEncoder {
    layout: Layout,
    size: (u32, u32),
    tile: Tile,
    file: Buffer,
    shared: Rc<RefCell<Shared>>,
}

/// An unfinished tile.
enum Tile {
    None,
    Stored(Box<Stored>),
    Streaming(Box<StreamWriter<'static, Buffer>>),
}

/// The pixels of a tile with few colours.
struct Stored {
    colours: Vec<Colour>,
    /// A hash table: numbers of colours plus one, 0 for an empty slot.
    slots: [u16; SLOTS],
    indices: Vec<u8>,
    /// The last row of pixels, which drawings often repeat.
    last_row: Vec<u8>,
    last: (Colour, u8),
    /// Number of pixels that equal the one before.
    repeated: usize,
}

/// Memory that the encoders of a thread share.
struct Shared {
    compressor: Compressor,
    /// Bytes that may still be used for indices.
    room: usize,
    spare: Vec<Stored>,
    packed: Vec<u8>,
    compressed: Vec<u8>,
    /// Files of tiles of one colour, which drawings are full of.
    plain: HashMap<(Colour, (u32, u32)), Vec<u8>>,
}

/// The file. It is shared, because `png`'s writer owns what it writes to.
#[derive(Clone, Default)]
struct Buffer(Rc<RefCell<Vec<u8>>>);

impl PngEncoder {
    pub fn new(layout: Layout) -> Self {
        let level = CompressionLvl::new(LEVEL).unwrap_or_default();
        let shared = Shared {
            compressor: Compressor::new(level),
            room: STORED_BYTES,
            spare: vec![],
            packed: vec![],
            compressed: vec![],
            plain: HashMap::new(),
        };
        Self::with(layout, Rc::new(RefCell::new(shared)))
    }

    /// Sets the memory in bytes for all unfinished tiles of this encoder and of those made from it, 12 MiB by default.
    pub fn with_stored_bytes(self, bytes: usize) -> Self {
        self.shared.borrow_mut().room = bytes;
        self
    }

    /// Makes another encoder, which shares memory with this one.
    pub fn another(&self) -> Self {
        Self::with(self.layout, Rc::clone(&self.shared))
    }

    fn with(layout: Layout, shared: Rc<RefCell<Shared>>) -> Self {
        Self { layout, size: (0, 0), tile: Tile::None, file: Buffer::default(), shared }
    }

    /// Begins a tile.
    pub fn begin(&mut self, width: u32, height: u32) -> io::Result<()> {
        self.discard();
        self.size = (width, height);
        self.file.0.borrow_mut().clear();
        let bytes = self.pixels();
        let mut shared = self.shared.borrow_mut();
        self.tile = match shared.room.checked_sub(bytes) {
            Some(left) => {
                shared.room = left;
                let mut stored = shared.spare.pop().unwrap_or_default();
                stored.clear();
                Tile::Stored(Box::new(stored))
            }
            None => Tile::Streaming(self.stream()?),
        };
        Ok(())
    }

    /// Adds a row of pixels.
    pub fn row(&mut self, pixels: &[u8]) -> io::Result<()> {
        match &mut self.tile {
            Tile::None => Err(io::Error::other("no tile has begun")),
            Tile::Streaming(stream) => stream.write_all(pixels),
            Tile::Stored(stored) => {
                if stored.add(pixels, self.layout) {
                    return Ok(());
                }
                self.stream_stored()?.write_all(pixels)
            }
        }
    }

    /// Passes the finished tile to `take`.
    pub fn finish(&mut self, take: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if matches!(&self.tile, Tile::Stored(stored) if !stored.is_drawing()) {
            self.stream_stored()?;
        }
        match std::mem::replace(&mut self.tile, Tile::None) {
            Tile::None => return Err(io::Error::other("no tile has begun")),
            Tile::Streaming(stream) => stream.finish().map_err(io::Error::other)?,
            Tile::Stored(stored) => {
                let written = self.write(&stored);
                self.give_back(stored);
                written?;
            }
        }
        take(&self.file.0.borrow())
    }

    /// Writes the file of stored pixels.
    fn write(&self, stored: &Stored) -> io::Result<()> {
        let Shared { compressor, packed, compressed, plain, .. } = &mut *self.shared.borrow_mut();
        let plain_key = (stored.colours.len() == 1).then_some((stored.last.0, self.size));
        if let Some(file) = plain_key.and_then(|key| plain.get(&key)) {
            self.file.0.borrow_mut().extend_from_slice(file);
            return Ok(());
        }
        let mut encoder = png::Encoder::new(self.file.clone(), self.size.0, self.size.1);
        let depth = stored.depth();
        encoder.set_depth(depth);
        let is_grey = depth == BitDepth::Eight && stored.is_grey();
        let values = if is_grey {
            encoder.set_color(ColorType::Grayscale);
            stored.colours.iter().map(|colour| colour[0]).collect()
        } else {
            let (order, values) = stored.transparent_first();
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(
                order.iter().flat_map(|&[red, green, blue, _]| [red, green, blue]).collect::<Vec<_>>(),
            );
            let alpha: Vec<u8> =
                order.iter().map(|colour| colour[3]).take_while(|alpha| *alpha < 255).collect();
            if !alpha.is_empty() {
                encoder.set_trns(alpha);
            }
            values
        };
        stored.pack(self.size.0 as usize, depth, &values, packed);
        compressed.resize(compressor.zlib_compress_bound(packed.len()), 0);
        let length = compressor.zlib_compress(packed, compressed).map_err(io::Error::other)?;
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_chunk(png::chunk::IDAT, &compressed[..length]).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)?;
        if let Some(key) = plain_key.filter(|_| plain.len() < PLAIN_FILES) {
            plain.insert(key, self.file.0.borrow().clone());
        }
        Ok(())
    }

    /// Streams the tile from here on.
    fn stream_stored(&mut self) -> io::Result<&mut StreamWriter<'static, Buffer>> {
        let mut stream = self.stream()?;
        if let Tile::Stored(stored) = std::mem::replace(&mut self.tile, Tile::None) {
            let mut row = vec![];
            for indices in stored.indices.chunks_exact(self.size.0 as usize) {
                row.clear();
                let colours = indices.iter().map(|index| stored.colours[usize::from(*index)]);
                match self.layout {
                    Layout::Grey => row.extend(colours.map(|colour| colour[0])),
                    Layout::Rgb | Layout::YCbCr420 => {
                        row.extend(colours.flat_map(|[red, green, blue, _]| [red, green, blue]))
                    }
                    Layout::Rgba => row.extend(colours.flatten()),
                }
                stream.write_all(&row)?;
            }
            self.give_back(stored);
        }
        self.tile = Tile::Streaming(stream);
        match &mut self.tile {
            Tile::Streaming(stream) => Ok(stream),
            _ => Err(io::Error::other("no stream")),
        }
    }

    /// Returns a stream of filtered and compressed rows.
    fn stream(&self) -> io::Result<Box<StreamWriter<'static, Buffer>>> {
        let mut encoder = png::Encoder::new(self.file.clone(), self.size.0, self.size.1);
        encoder.set_color(match self.layout {
            Layout::Grey => ColorType::Grayscale,
            Layout::Rgb | Layout::YCbCr420 => ColorType::Rgb,
            Layout::Rgba => ColorType::Rgba,
        });
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        // Trying every filter on every row takes a third more time and saves 0.4 % of a photograph's size.
        encoder.set_filter(png::Filter::Paeth);
        let writer = encoder.write_header().map_err(io::Error::other)?;
        Ok(Box::new(writer.into_stream_writer_with_size(IDAT_BYTES).map_err(io::Error::other)?))
    }

    fn pixels(&self) -> usize {
        self.size.0 as usize * self.size.1 as usize
    }

    fn give_back(&self, stored: Box<Stored>) {
        let mut shared = self.shared.borrow_mut();
        shared.room += self.pixels();
        shared.spare.push(*stored);
    }

    fn discard(&mut self) {
        if let Tile::Stored(stored) = std::mem::replace(&mut self.tile, Tile::None) {
            self.give_back(stored);
        }
    }
}

impl Default for Stored {
    fn default() -> Self {
        Self {
            colours: Vec::new(),
            slots: [0; SLOTS],
            indices: Vec::new(),
            last_row: Vec::new(),
            last: ([0; 4], 0),
            repeated: 0,
        }
    }
}

impl Stored {
    fn clear(&mut self) {
        self.colours.clear();
        self.slots.fill(0);
        self.indices.clear();
        self.last_row.clear();
        self.repeated = 0;
    }

    /// Adds a row. Returns false, without the row, if it has too many colours.
    fn add(&mut self, pixels: &[u8], layout: Layout) -> bool {
        let begin = self.indices.len();
        if pixels == self.last_row {
            let width = pixels.len() / layout.channels();
            self.indices.extend_from_within(begin - width..);
            self.repeated += width;
            return true;
        }
        self.last_row.clear();
        self.last_row.extend_from_slice(pixels);
        let is_complete = match layout {
            Layout::Grey => self.add_colours(pixels.iter().map(|&grey| [grey, grey, grey, 255])),
            Layout::Rgb | Layout::YCbCr420 => self
                .add_colours(pixels.as_chunks().0.iter().map(|&[red, green, blue]| [red, green, blue, 255])),
            Layout::Rgba => self.add_colours(pixels.as_chunks().0.iter().copied()),
        };
        if !is_complete {
            self.indices.truncate(begin);
        }
        is_complete
    }

    #[inline(always)]
    fn add_colours(&mut self, colours: impl ExactSizeIterator<Item = Colour>) -> bool {
        let begin = self.indices.len();
        self.indices.resize(begin + colours.len(), 0);
        for (at, colour) in (begin..).zip(colours) {
            if colour == self.last.0 && !self.colours.is_empty() {
                self.repeated += 1;
            } else {
                let Some(index) = self.index(colour) else { return false };
                self.last = (colour, index);
            }
            self.indices[at] = self.last.1;
        }
        true
    }

    /// Returns the number of a colour, or `None` if there are too many.
    fn index(&mut self, colour: Colour) -> Option<u8> {
        let mut slot = (u32::from_ne_bytes(colour).wrapping_mul(0x9e37_79b1) >> 16) as usize;
        loop {
            slot %= SLOTS;
            match usize::from(self.slots[slot]).checked_sub(1) {
                Some(index) if self.colours[index] == colour => return Some(index as u8),
                Some(_) => slot += 1,
                None if self.colours.len() == COLOURS => return None,
                None => {
                    self.colours.push(colour);
                    self.slots[slot] = self.colours.len() as u16;
                    return Some((self.colours.len() - 1) as u8);
                }
            }
        }
    }

    /// Returns true if indices without a filter compress better than filtered pixels: not in a photograph of greys.
    fn is_drawing(&self) -> bool {
        self.depth() != BitDepth::Eight || self.repeated * 2 >= self.indices.len() || !self.is_grey()
    }

    fn is_grey(&self) -> bool {
        self.colours.iter().all(|&[red, green, blue, alpha]| red == green && green == blue && alpha == 255)
    }

    fn depth(&self) -> BitDepth {
        match self.colours.len() {
            ..=2 => BitDepth::One,
            3..=4 => BitDepth::Two,
            5..=16 => BitDepth::Four,
            _ => BitDepth::Eight,
        }
    }

    /// Returns the palette with its opaque colours last, because they need no alpha, and each colour's new number.
    fn transparent_first(&self) -> (Vec<Colour>, Vec<u8>) {
        let (transparent, opaque): (Vec<_>, Vec<_>) =
            (0_usize..).zip(&self.colours).partition(|(_, colour)| colour[3] < 255);
        let mut numbers = vec![0; self.colours.len()];
        let order = transparent.into_iter().chain(opaque);
        let colours = (0_u8..=255).zip(order).map(|(number, (from, colour))| {
            numbers[from] = number;
            *colour
        });
        (colours.collect(), numbers)
    }

    /// Packs the values of the indices, and puts the number of no filter before each row.
    fn pack(&self, width: usize, depth: BitDepth, values: &[u8], packed: &mut Vec<u8>) {
        let bits = depth as usize;
        let mut table = [0; COLOURS];
        table.iter_mut().zip(values).for_each(|(to, value)| *to = *value);
        packed.clear();
        for row in self.indices.chunks_exact(width) {
            packed.push(0);
            if bits == 8 {
                packed.extend(row.iter().map(|index| table[usize::from(*index)]));
                continue;
            }
            for pixels in row.chunks(8 / bits) {
                let shifts = (0..8).step_by(bits).rev();
                let byte = pixels
                    .iter()
                    .zip(shifts)
                    .fold(0, |byte, (index, shift)| byte | table[usize::from(*index)] << shift);
                packed.push(byte);
            }
        }
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use png::Transformations;
    use proptest::prelude::*;

    use super::*;

    fn encode(encoder: &mut PngEncoder, (width, height): (u32, u32), pixels: &[u8]) -> Vec<u8> {
        encoder.begin(width, height).unwrap();
        pixels
            .chunks_exact(width as usize * encoder.layout.channels())
            .for_each(|row| encoder.row(row).unwrap());
        let mut file = vec![];
        encoder.finish(|bytes| file.write_all(bytes)).unwrap();
        file
    }

    /// Returns the colour type, the depth, and the pixels as red, green, blue and alpha.
    fn decode(file: &[u8]) -> (ColorType, u8, Vec<Colour>) {
        let mut decoder = png::Decoder::new(io::Cursor::new(file));
        decoder.set_transformations(Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let colours = match reader.output_color_type().0 {
            ColorType::Grayscale => pixels.iter().map(|&grey| [grey, grey, grey, 255]).collect(),
            ColorType::Rgb => pixels.as_chunks().0.iter().map(|&[r, g, b]| [r, g, b, 255]).collect(),
            ColorType::Rgba => pixels.as_chunks().0.to_vec(),
            other => panic!("{other:?}"),
        };
        (reader.info().color_type, reader.info().bit_depth as u8, colours)
    }

    /// Pixels of this number of colours, each of them in at least one pixel, with runs and repeated rows.
    fn pixels(colours: u32, (width, height): (u32, u32), seed: u32) -> Vec<Colour> {
        let colour = |number: u32| {
            [number as u8, (number >> 8) as u8, (number * seed) as u8, (255 - number % 3 * (seed % 60)) as u8]
        };
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        places.map(|(x, y)| colour((x / 2 + y / 3 * width.div_ceil(2)) % colours)).collect()
    }

    #[test]
    fn a_tile_of_few_colours_has_a_palette_of_as_few_bits_as_possible() {
        let size = (90, 60);
        let mut encoder = PngEncoder::new(Layout::Rgba);
        for (colours, depth) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 4), (16, 4), (17, 8), (256, 8)] {
            let pixels = pixels(colours, size, 7);
            let (colour_type, bits, shown) = decode(&encode(&mut encoder, size, pixels.as_flattened()));
            assert_eq!((colour_type, bits), (ColorType::Indexed, depth), "{colours}");
            assert!(shown == pixels, "{colours}");
        }
        let many = pixels(257, size, 7);
        let (colour_type, _, shown) = decode(&encode(&mut encoder, size, many.as_flattened()));
        assert!(colour_type == ColorType::Rgba && shown == many);
    }

    #[test]
    fn greys_need_no_palette_and_a_grey_photograph_is_filtered() {
        let size = (256, 64);
        let mut encoder = PngEncoder::new(Layout::Rgb);
        for (repeats, is_drawing) in [(8, true), (1, false)] {
            let greys = (0..64).flat_map(|y| (0..256).map(move |x| ((x / repeats * 5 + y) % 256) as u8));
            let pixels: Vec<Colour> = greys.map(|grey| [grey, grey, grey, 255]).collect();
            let rgb: Vec<u8> = pixels.iter().flat_map(|pixel| pixel[..3].to_vec()).collect();
            let (colour_type, _, shown) = decode(&encode(&mut encoder, size, &rgb));
            assert_eq!(colour_type, if is_drawing { ColorType::Grayscale } else { ColorType::Rgb });
            assert!(shown == pixels);
        }
    }

    #[test]
    fn a_tile_of_one_colour_is_encoded_once() {
        let mut encoder = PngEncoder::new(Layout::Rgba);
        let tile = |encoder: &mut PngEncoder, colour: Colour, size: (u32, u32)| {
            encode(encoder, size, &colour.repeat((size.0 * size.1) as usize))
        };
        let files = [([9, 8, 7, 0], (512, 512)), ([9, 8, 7, 6], (512, 512)), ([9, 8, 7, 0], (512, 3))];
        for _ in 0..2 {
            for (colour, size) in files {
                let file = tile(&mut encoder, colour, size);
                assert!(file.len() < 200, "{} bytes", file.len());
                assert!(decode(&file).2.iter().all(|shown| *shown == colour));
            }
        }
        assert_eq!(encoder.shared.borrow().plain.len(), 3);
    }

    proptest! {
        #[test]
        fn tiles_that_take_turns_are_exact_with_any_memory(
            tiles in prop::collection::vec((1_u32..300, 1_u32..9, (1_u32..40, 1_u32..30)), 1..5), memory in 0_usize..2000,
        ) {
            let first = PngEncoder::new(Layout::Rgba).with_stored_bytes(memory);
            let mut encoders: Vec<_> = tiles.iter().map(|_| first.another()).collect();
            for _ in 0..2 {
                // The first tile is begun and discarded.
                encoders[0].begin(20, 20).unwrap();
                for (encoder, (_, _, size)) in encoders.iter_mut().zip(&tiles) {
                    encoder.begin(size.0, size.1).unwrap();
                }
                let pixels: Vec<_> = tiles.iter().map(|&(colours, seed, size)| pixels(colours, size, seed)).collect();
                for row in 0..30 {
                    for ((encoder, (_, _, (width, _))), pixels) in encoders.iter_mut().zip(&tiles).zip(&pixels) {
                        if let Some(row) = pixels.chunks_exact(*width as usize).nth(row) {
                            encoder.row(row.as_flattened()).unwrap();
                        }
                    }
                }
                for (encoder, pixels) in encoders.iter_mut().zip(&pixels) {
                    let mut file = vec![];
                    encoder.finish(|bytes| file.write_all(bytes)).unwrap();
                    prop_assert!(decode(&file).2 == *pixels);
                }
                prop_assert_eq!(first.shared.borrow().room, memory);
            }
        }
    }
}
