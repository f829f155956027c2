//! DirectDraw surfaces: the largest level of the first texture, face or slice. The picture is buffered, because textures are
//! compressed in blocks.
//!
//! A crate decodes blocks, floats and the usual kinds of pixels. [`uncompressed`] reads pixels of any masks, luminance and
//! palettes.
//!
//! Source: Microsoft, "DDS file layout", "DDS_HEADER", "Block Compression (Direct3D 10)".

mod bc3;
mod header;
mod uncompressed;

use std::io::{BufReader, Read};

use ::dds::{Channels, ColorFormat, Decoder, DecodingError, Format as Stored, ImageViewMut, Precision};

use crate::buffered::{Buffered, catch_panics};
use crate::colour::tone_mapping;
use crate::format::{Decoded, Input, Open};
use crate::{Bounds, Format, Layout, Reading, SourceError, SourceFile};
use bc3::Bc3;
use header::Pixels;

pub(crate) static FORMAT: Format = Format {
    name: "DDS",
    media_types: &["image/vnd-ms.dds"],
    endings: &["dds"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| head.starts_with(b"DDS "),
    open: Open::Directly(open),
};

/// Bytes that the decoder may allocate besides the picture.
const DECODER_BYTES: usize = 64 << 20;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(&FORMAT, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(mut file: BufReader<SourceFile>, bounds: Bounds) -> Result<Buffered, SourceError> {
    let (header, stored) = match header::read(&mut file)? {
        Pixels::Known(header, stored) => (header, stored),
        Pixels::Masks { size, masks } => return uncompressed::masks(file, bounds, size, &masks),
        Pixels::Palette { size, has_alpha } => return uncompressed::palette(file, bounds, size, has_alpha),
    };
    let is_bc3 = matches!(
        stored,
        Stored::BC3_UNORM
            | Stored::BC3_UNORM_PREMULTIPLIED_ALPHA
            | Stored::BC3_UNORM_RXGB
            | Stored::BC3_UNORM_NORMAL
    );
    match is_bc3 {
        true => decode_from(Decoder::from_header_with(Bc3::new(file), header, stored), bounds),
        false => decode_from(Decoder::from_header_with(file, header, stored), bounds),
    }
}

fn decode_from(
    decoder: Result<Decoder<impl Read>, DecodingError>,
    bounds: Bounds,
) -> Result<Buffered, SourceError> {
    let mut decoder = decoder.map_err(error)?;
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
