//! WebP, lossy or lossless; of an animation the first frame. Lossy pictures without an alpha channel are read row by row
//! while libwebp decodes them, and so are lossless ones that are large. The rest is buffered.
//!
//! Source: RFC 9649: section 2.4 for the file header, 2.7 for the chunks, of which EXIF and ICCP are read.

mod bits;
mod chunks;
mod coded;
mod cut_off;
mod error;
mod groups;
mod lossless;
mod lossy;
mod planes;
mod prefix;
pub(crate) mod small;
mod transforms;

use std::io::{BufRead, BufReader, Cursor, Seek, SeekFrom};

use image_webp::{DecodingError, WebPDecoder};

use crate::buffered::{Buffered, read_all};
use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::scratch::TemporaryFile;
use crate::swap::Swap;
use crate::{
    Bounds, DecodeOptions, Format, Layout, Orientation, Reading, RowReader, SourceError, SourceFile,
};
use cut_off::CutOff;
use lossless::Lossless;
use lossy::Lossy;
use planes::Planes;

pub(crate) static FORMAT: Format = Format {
    name: "WebP",
    media_types: &["image/webp"],
    endings: &["webp"],
    reading: Reading::Buffered,
    in_order: false,
    signature: |head| matches!(head, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]),
    open: Open::Directly(open),
};

/// The memory that decoding takes at most for each pixel, in bytes: the picture, and either the planes of the lossy
/// codec or a copy of four channels for the lossless one.
const BYTES_A_PIXEL: u64 = 8;
/// The bytes that EXIF and the profile may have.
const METADATA_BYTES: usize = 4 << 20;

/// Where the flags of the extended header are (RFC 9649, 2.7.1), and those for metadata: profile, EXIF and XMP.
const FLAGS_AT: usize = 20;
const METADATA_FLAGS: u8 = 0x2c;

/// What may be used to decode a picture.
#[derive(Clone, Copy)]
struct Means<'a> {
    bounds: Bounds,
    options: &'a DecodeOptions,
    temporary: Option<&'a TemporaryFile>,
}

fn open(Input { file, bounds, options, temporary }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut again = file.get_ref().clone();
    match open_whole(file, Means { bounds, options, temporary: temporary.as_ref() }) {
        Err(error @ SourceError::Corrupt { .. }) if !options.strict => {
            again.rewind()?;
            open_cut_off(BufReader::new(again), bounds, options).ok().flatten().ok_or(error)
        }
        result => result,
    }
}

/// Opens a file that ends too early. `None`: it does not.
fn open_cut_off(
    file: BufReader<SourceFile>,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Option<Decoded>, SourceError> {
    let Some(completed) = cut_off::completed(file, bounds)? else { return Ok(None) };
    let half = Bounds { memory: bounds.memory / 2, ..bounds };
    let means = Means { bounds: half, options, temporary: None };
    let [one, other] = completed.map(|bytes| decode(Cursor::new(bytes), means, true));
    let (one, other) = (one?, other?);
    Ok(Some(Decoded { reader: Box::new(CutOff::new([one.reader, other.reader])), ..one }))
}

fn open_whole(mut file: BufReader<SourceFile>, means: Means<'_>) -> Result<Decoded, SourceError> {
    // Metadata that is announced and not there is no reason to refuse the picture: browsers show it.
    let lacks_chunk = matches!(WebPDecoder::new(&mut file), Err(DecodingError::ChunkMissing));
    file.rewind()?;
    if !lacks_chunk {
        return decode(file, means, false);
    }
    let mut bytes = read_all(file, means.bounds)?;
    if let Some(flags) = bytes.get_mut(FLAGS_AT) {
        *flags &= !METADATA_FLAGS;
    }
    decode(Cursor::new(bytes), means, false)
}

/// Decodes a file. One that was cut off, and completed with no matter what, has no sure opacity.
fn decode<R>(mut file: R, means: Means<'_>, is_cut_off: bool) -> Result<Decoded, SourceError>
where
    R: BufRead + Seek + 'static,
{
    let Means { bounds, options, temporary } = means;
    let pixels = chunks::find(&mut file)?;
    file.rewind()?;
    let mut decoder = WebPDecoder::new(&mut file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    decoder.set_memory_limit(METADATA_BYTES);
    let exif = decoder.exif_metadata().ok().flatten();
    let profile = decoder.icc_profile().ok().flatten().and_then(|profile| Profile::of_icc(&profile));
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, Orientation::of_exif);
    let is_srgb = !profile.as_ref().is_some_and(|profile| profile.changes(Layout::Rgb));
    let as_planes = is_srgb && options.allow_planes(orientation, size);
    let is_large = size.pixels() * BYTES_A_PIXEL > bounds.memory;
    if let Some(pixels) = pixels.filter(|pixels| is_large || pixels.is_lossy || is_cut_off) {
        drop(decoder);
        file.seek(SeekFrom::Start(pixels.start))?;
        let file = file.take(pixels.bytes);
        let reader: Box<dyn RowReader> = if pixels.is_lossy {
            // The planes, what is known of each macroblock, and the file.
            bounds.admit_memory(size.pixels() * 7 / 4 + pixels.bytes, "decoding a WebP")?;
            let lossy = Lossy::open(file, pixels, size, options.threads.get() > 1)?;
            Box::new(Planes::new(lossy, size, as_planes))
        } else {
            Box::new(Lossless::open(file, bounds)?)
        };
        if reader.size() != size {
            return Err(FORMAT.corrupt("its pixels have another size than its header says"));
        }
        return Ok(Decoded { reader, orientation, profile: profile.filter(|_| !is_srgb) });
    }
    // An animation, or a lossy picture with opacity: if it is large, in the temporary file.
    let (bounds, _swap) = Swap::admit(size.pixels() * BYTES_A_PIXEL, "decoding a WebP", bounds, temporary)?;
    decoder.set_memory_limit(usize::try_from(bounds.memory).unwrap_or(usize::MAX));
    let layout = if decoder.has_alpha() { Layout::Rgba } else { Layout::Rgb };
    let mut picture = Buffered::new(size, layout, bounds)?;
    decoder.read_image(&mut picture.pixels).map_err(error)?;
    let picture = if is_cut_off { picture } else { picture.without_opaque_alpha() };
    Ok(Decoded { reader: Box::new(picture), orientation, profile })
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::IoError(_) => FORMAT.corrupt("it ends too early"),
        DecodingError::UnsupportedFeature(feature) => FORMAT.unsupported(feature),
        other => FORMAT.corrupt(other),
    }
}
