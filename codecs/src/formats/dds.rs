//! DirectDraw surfaces: the largest level of the first texture, face or slice. Buffered: textures are compressed in
//! blocks.
//!
//! Source: Microsoft, "DDS file layout" and "DDS_HEADER".

use std::io::BufReader;

use ::dds::{Channels, ColorFormat, Decoder, DecodingError, ImageViewMut, Precision};

use crate::buffered::Buffered;
use crate::buffered::catch_panics;
use crate::colour::tone_mapping;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
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

/// The bytes that the decoder may allocate beside the picture.
const DECODER_BYTES: usize = 64 << 20;

fn open(Input { file, bounds, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    catch_panics(FORMAT.name, || decode(file, bounds)).map(Decoded::plain)
}

fn decode(file: BufReader<SourceFile>, bounds: Bounds) -> Result<Buffered, SourceError> {
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
        decoder: &mut Decoder<BufReader<SourceFile>>,
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
    decoder: &mut Decoder<BufReader<SourceFile>>,
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
