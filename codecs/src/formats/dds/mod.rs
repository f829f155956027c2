//! DirectDraw surfaces: the largest level of the first texture, face or slice. Buffered: textures are compressed in
//! blocks.
//!
//! Source: Microsoft, "DDS file layout" and "DDS_HEADER".

mod bc3;

use std::io::{BufReader, Read, Seek};

use ::dds::{Channels, ColorFormat, Decoder, DecodingError, Format as Stored, ImageViewMut, Precision};

use crate::buffered::Buffered;
use crate::buffered::catch_panics;
use crate::colour::tone_mapping;
use crate::format::{Decoded, Input, Open};
use crate::{Bounds, Format, Layout, Reading, SourceError, SourceFile};
use bc3::Bc3;

pub(crate) static FORMAT: Format = Format {
    name: "DDS",
    media_types: &["image/vnd-ms.dds"],
    endings: &["dds"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(b"DDS "),
    open: Open::Directly(open),
};

/// The bytes of the headers: those of all files, and those of newer ones, which say so at the offset of their FourCC.
const HEADER_BYTES: usize = 128;
const NEWER_HEADER_BYTES: usize = 148;
const FOUR_CC_AT: usize = 84;

/// The bytes that the decoder may allocate beside the picture.
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
        // Linear colours without an upper end.
        let floats = Floats::read(&mut decoder, stored, bounds)?;
        let mut picture = Buffered::new(size, Layout::Rgb, bounds)?;
        for (out, &linear) in picture.pixels.as_chunks_mut::<3>().0.iter_mut().zip(&floats.0) {
            *out = tone_mapping::map(linear);
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

/// Linear pixels.
struct Floats(Vec<[f32; 3]>);

impl Floats {
    fn read(
        decoder: &mut Decoder<impl Read>,
        size: ::dds::Size,
        bounds: Bounds,
    ) -> Result<Self, SourceError> {
        let bytes = size.pixels() * 12;
        // The stored bytes, the floats and the picture exist at the same time.
        bounds.admit_memory(2 * bytes + size.pixels() * 3, "decoding a DDS of floats")?;
        let mut stored = vec![0; usize::try_from(bytes).map_err(|_| SourceError::OutOfMemory)?];
        read(decoder, &mut stored, size, ColorFormat::new(Channels::Rgb, Precision::F32))?;
        let (channels, _) = stored.as_chunks::<4>();
        let (pixels, _) = channels.as_chunks::<3>();
        Ok(Self(pixels.iter().map(|pixel| pixel.map(f32::from_ne_bytes)).collect()))
    }
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
        DecodingError::Io(_) => FORMAT.corrupt("it ends too early"),
        DecodingError::MemoryLimitExceeded => SourceError::OutOfMemory,
        other => FORMAT.corrupt(other),
    }
}
