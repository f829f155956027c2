//! DirectDraw surfaces: the largest level of the first texture, face or slice. The picture is buffered, because textures are
//! compressed in blocks.
//!
//! Source: Microsoft, "DDS file layout", "DDS_HEADER", "Block Compression (Direct3D 10)".
use std::io::{self, BufReader, Read, Seek};

use ::dds::{Channels, ColorFormat, Decoder, DecodingError, Format as Stored, ImageViewMut, Precision};

use crate::buffered::{Buffered, catch_panics};
use crate::colour::tone_mapping;
use crate::format::{Decoded, Input, Open};
use crate::{Bounds, Format, Layout, Reading, SourceError, SourceFile};

pub(crate) static FORMAT: Format = Format {
    name: "DDS",
    media_types: &["image/vnd-ms.dds"],
    endings: &["dds"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(b"DDS "),
    open: Open::Directly(open),
};

/// Bytes of the headers of all files.
const HEADER_BYTES: usize = 128;
/// Bytes of the headers of newer files, which have the FourCC "DX10".
const NEWER_HEADER_BYTES: usize = 148;
const FOUR_CC_AT: usize = 84;

/// Bytes that the decoder may allocate besides the picture.
const DECODER_BYTES: usize = 64 << 20;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(&FORMAT, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(mut file: BufReader<SourceFile>, bounds: Bounds) -> Result<Buffered, SourceError> {
    let mut head = [0; HEADER_BYTES];
    file.read_exact(&mut head).map_err(|_| FORMAT.corrupt("it ends in its header"))?;
    file.rewind()?;
    let stored = Decoder::new(&mut file).map_err(error)?.format();
    file.rewind()?;
    let is_bc3 = matches!(
        stored,
        Stored::BC3_UNORM
            | Stored::BC3_UNORM_PREMULTIPLIED_ALPHA
            | Stored::BC3_UNORM_RXGB
            | Stored::BC3_UNORM_NORMAL
    );
    if is_bc3 {
        let is_newer = head[FOUR_CC_AT..].starts_with(b"DX10");
        let header = if is_newer { NEWER_HEADER_BYTES } else { HEADER_BYTES };
        return decode_from(Bc3::new(file, header), bounds);
    }
    decode_from(file, bounds)
}

fn decode_from(file: impl Read, bounds: Bounds) -> Result<Buffered, SourceError> {
    let mut decoder = Decoder::new(file).map_err(error)?;
    decoder.options.memory_limit = DECODER_BYTES;
    let stored = decoder.main_size();
    let size = bounds.admit(stored.width, stored.height)?;
    let native = decoder.native_color();
    if native.precision == Precision::F32 {
        // Linear colours without an upper limit.
        let bytes = stored.pixels() * 12;
        // The floats and the picture exist at the same time.
        bounds.admit_memory(bytes + stored.pixels() * 3, "decoding a DDS of floats")?;
        let mut floats = vec![0; usize::try_from(bytes).map_err(|_| SourceError::OutOfMemory)?];
        read(&mut decoder, &mut floats, stored, ColorFormat::new(Channels::Rgb, Precision::F32))?;
        let mut picture = Buffered::new(size, Layout::Rgb, bounds)?;
        let pixels = floats.as_chunks::<4>().0.as_chunks::<3>().0;
        for (out, linear) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
            *out = tone_mapping::map(linear.map(f32::from_ne_bytes));
        }
        return Ok(picture);
    }
    let (layout, channels) = match native.channels {
        Channels::Grayscale => (Layout::Grey, Channels::Grayscale),
        Channels::Rgb => (Layout::Rgb, Channels::Rgb),
        Channels::Rgba | Channels::Alpha => (Layout::Rgba, Channels::Rgba),
    };
    let mut picture = Buffered::new(size, layout, bounds)?;
    read(&mut decoder, &mut picture.pixels, stored, ColorFormat::new(channels, Precision::U8))?;
    Ok(picture.without_opaque_alpha())
}

fn read(
    decoder: &mut Decoder<impl Read>,
    pixels: &mut [u8],
    size: ::dds::Size,
    format: ColorFormat,
) -> Result<(), SourceError> {
    let view =
        ImageViewMut::new(pixels, size, format).ok_or_else(|| FORMAT.corrupt("its size is invalid"))?;
    decoder.read_surface(view).map_err(error)
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::Format(error) => FORMAT.unsupported(error),
        DecodingError::Io(_) => FORMAT.corrupt("it ends before its last row"),
        DecodingError::MemoryLimitExceeded => SourceError::OutOfMemory,
        other => FORMAT.corrupt(other),
    }
}
/// Bytes of a block of BC3.
const BLOCK_BYTES: usize = 16;

/// A file of BC3 whose blocks are rewritten while they are read.
///
/// A block of BC1 has three colours and black unless its first colour is the greater one. A block of BC3 always has four
/// colours, but the crate decodes it as BC1. So the two colours are swapped into the order that means four.
///
/// ```text
/// a block   alpha: 8 bytes   colour 0: u16   colour 1: u16   16 numbers of 2 bits: u32
/// 0 and 1: the colours; 2 and 3: a third and two thirds between them
/// ```
struct Bc3<R> {
    file: R,
    /// Number of bytes before the first block that have not been read.
    header: usize,
    block: [u8; BLOCK_BYTES],
    /// The range of the block's bytes that have not been read.
    start: usize,
    end: usize,
}

impl<R: Read> Bc3<R> {
    /// Wraps a file at its start, whose first block follows `header` bytes.
    fn new(file: R, header: usize) -> Self {
        Self { file, header, block: [0; BLOCK_BYTES], start: 0, end: 0 }
    }
}

impl<R: Read> Read for Bc3<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.header > 0 {
            let most = self.header.min(into.len());
            let read = self.file.read(&mut into[..most])?;
            self.header -= read;
            return Ok(read);
        }
        let mut done = 0;
        while done < into.len() {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
                while self.end < BLOCK_BYTES {
                    match self.file.read(&mut self.block[self.end..])? {
                        0 => break,
                        read => self.end += read,
                    }
                }
                if self.end == 0 {
                    break;
                }
                order(&mut self.block);
            }
            let bytes = (self.end - self.start).min(into.len() - done);
            into[done..done + bytes].copy_from_slice(&self.block[self.start..self.start + bytes]);
            self.start += bytes;
            done += bytes;
        }
        Ok(done)
    }
}

/// Puts the greater colour first.
fn order(block: &mut [u8; BLOCK_BYTES]) {
    let [.., a0, a1, b0, b1, n0, n1, n2, n3] = *block;
    let (first, second) = (u16::from_le_bytes([a0, a1]), u16::from_le_bytes([b0, b1]));
    if first > second {
        return;
    }
    let numbers = u32::from_le_bytes([n0, n1, n2, n3]);
    // Between two equal colours, all colours are the same.
    let numbers = if first == second { 0 } else { numbers ^ 0x5555_5555 };
    let [n0, n1, n2, n3] = numbers.to_le_bytes();
    block[8..].copy_from_slice(&[b0, b1, a0, a1, n0, n1, n2, n3]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_after_the_header_are_ordered_whatever_the_size_of_reads() {
        let less = [1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x20, 0x30, 0x40, 0b11_10_01_00, 0xff, 0, 0xaa];
        let more = [1, 2, 3, 4, 5, 6, 7, 8, 0x30, 0x40, 0x10, 0x20, 0b10_11_00_01, 0xaa, 0x55, 0xff];
        let same = [0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 0xff, 0xff, 0xff, 0xff];
        let flat = [0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0];
        let file = [&less[..5], &less, &more, &same, &less[..3]].concat();
        let expected = [&less[..5], &more, &more, &flat, &less[..3]].concat();
        for step in [1, 3, 16, 1000] {
            let (mut reader, mut read) = (Bc3::new(&*file, 5), Vec::new());
            loop {
                let mut part = vec![0; step];
                let bytes = reader.read(&mut part).unwrap();
                read.extend_from_slice(&part[..bytes]);
                if bytes == 0 {
                    break;
                }
            }
            assert_eq!(read, expected, "{step} bytes at a time");
        }
    }
}
