//! WebP, lossy or lossless; the first frame of an animation. Lossy pictures without an alpha channel are read row by row while
//! libwebp decodes them, and so are large lossless ones, by [`lossless`]. The rest is buffered.
//!
//! Source: RFC 9649: section 2.4 for the file header, 2.7 for the chunks, of which EXIF and ICCP are read.

mod cut_off;
mod lossless;
pub mod lossy;
mod planes;

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Seek, SeekFrom};

use image_webp::{DecodingError, WebPDecoder};

use crate::buffered::{Buffered, read_all};
use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::{
    Bounds, DecodeOptions, Format, Layout, Orientation, Reading, SourceError, SourceFile, orientation,
};
use cut_off::CutOff;
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

/// Maximum number of bytes of memory that decoding takes for each pixel: the picture, and either the planes of the lossy codec or a copy
/// of four channels for the lossless one.
const BYTES_A_PIXEL: u64 = 8;
/// Maximum number of bytes of EXIF and of the profile.
const METADATA_BYTES: usize = 4 << 20;

/// Offset of the flags of the extended header (RFC 9649, 2.7.1).
const FLAGS_AT: usize = 20;
/// The flags for metadata: profile, EXIF and XMP.
const METADATA_FLAGS: u8 = 0x2c;

/// Maximum number of chunks that are read: a file with more was made to waste time.
const MOST_CHUNKS: u32 = 1000;

/// The chunk of a still picture's pixels.
#[derive(Clone, Copy)]
pub struct Pixels {
    /// True for the lossy codec, without an alpha channel.
    is_lossy: bool,
    /// Offset in the file.
    start: u64,
    /// Length in bytes.
    bytes: u64,
}

/// The bounds and options for decoding a picture.
#[derive(Clone, Copy)]
struct Means<'a> {
    bounds: Bounds,
    options: &'a DecodeOptions,
}

fn open(Input { file, bounds, options, .. }: Input<'_>) -> Result<Decoded, SourceError> {
    let mut again = file.get_ref().clone();
    match open_whole(file, Means { bounds, options }) {
        Err(error @ SourceError::Corrupt { .. }) if !options.strict => {
            again.rewind()?;
            open_cut_off(BufReader::new(again), bounds, options).ok().flatten().ok_or(error)
        }
        result => result,
    }
}

/// Opens a file that ends too early. `None`: it is complete.
fn open_cut_off(
    file: BufReader<SourceFile>,
    bounds: Bounds,
    options: &DecodeOptions,
) -> Result<Option<Decoded>, SourceError> {
    let Some(completed) = cut_off::completed(file, bounds)? else { return Ok(None) };
    let half = Bounds { memory: bounds.memory / 2, ..bounds };
    let means = Means { bounds: half, options };
    let [one, other] = completed.map(|bytes| decode(Cursor::new(bytes), means, true));
    let (one, other) = (one?, other?);
    Ok(Some(Decoded { reader: Box::new(CutOff::new([one.reader, other.reader])), ..one }))
}

fn open_whole(mut file: BufReader<SourceFile>, means: Means<'_>) -> Result<Decoded, SourceError> {
    // A picture without the metadata that its header announces is shown, as in browsers.
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

/// Decodes a file. The opacity of one that was cut off, and completed with arbitrary data, is unknown.
fn decode<R>(mut file: R, means: Means<'_>, is_cut_off: bool) -> Result<Decoded, SourceError>
where
    R: BufRead + Seek + 'static,
{
    let Means { bounds, options } = means;
    let pixels = find_pixels(&mut file)?;
    file.rewind()?;
    let mut decoder = WebPDecoder::new(&mut file).map_err(error)?;
    let (width, height) = decoder.dimensions();
    let size = bounds.admit(width, height)?;
    decoder.set_memory_limit(METADATA_BYTES);
    let exif = decoder.exif_metadata().ok().flatten();
    let profile = decoder.icc_profile().ok().flatten().and_then(|profile| Profile::of_icc(&profile));
    let orientation = exif.as_deref().map_or(Orientation::UPRIGHT, orientation::of_exif);
    let is_srgb = !profile.as_ref().is_some_and(|profile| profile.changes(Layout::Rgb));
    let as_planes = is_srgb && options.allow_planes(orientation, size);
    let is_large = size.pixels() * BYTES_A_PIXEL > bounds.memory;
    if let Some(pixels) = pixels.filter(|pixels| is_large || pixels.is_lossy || is_cut_off) {
        drop(decoder);
        file.seek(SeekFrom::Start(pixels.start))?;
        let file = file.take(pixels.bytes);
        let decoded = if pixels.is_lossy {
            // The planes, the state of each macroblock, and the file.
            bounds.admit_memory(size.pixels() * 7 / 4 + pixels.bytes, "decoding a WebP")?;
            let lossy = Lossy::open(file, pixels, size, options.threads.get() > 1)?;
            Decoded::plain(Planes::new(lossy, size, as_planes))
        } else {
            lossless::open(file, bounds)?
        };
        if decoded.reader.size() != size {
            return Err(FORMAT.corrupt("its pixels do not have the size that its header states"));
        }
        return Ok(Decoded { orientation, profile: profile.filter(|_| !is_srgb), ..decoded });
    }
    // An animation, or a lossy picture with opacity.
    bounds.admit_memory(size.pixels() * BYTES_A_PIXEL, "decoding a WebP")?;
    decoder.set_memory_limit(usize::try_from(bounds.memory).unwrap_or(usize::MAX));
    let layout = if decoder.has_alpha() { Layout::Rgba } else { Layout::Rgb };
    let mut picture = Buffered::new(size, layout, bounds)?;
    decoder.read_image(&mut picture.pixels).map_err(error)?;
    let picture = if is_cut_off { picture } else { picture.without_opaque_alpha() };
    Ok(Decoded { orientation, profile, ..Decoded::plain(picture) })
}

fn error(error: DecodingError) -> SourceError {
    match error {
        DecodingError::IoError(_) => FORMAT.corrupt("it ends too early"),
        DecodingError::UnsupportedFeature(feature) => FORMAT.unsupported(feature),
        other => FORMAT.corrupt(other),
    }
}

/// Finds the pixels of a still picture. `None`: an animation, a lossy picture with an alpha channel, or not a WebP.
///
/// ```text
/// "RIFF"  size: u32  "WEBP"   chunk…
/// chunk   name: 4 bytes  size: u32  content  a byte of padding if the size is odd      numbers are little-endian
/// ```
/// Source: RFC 9649, sections 2.3 to 2.7.
fn find_pixels(file: &mut (impl BufRead + Seek)) -> io::Result<Option<Pixels>> {
    match search(file) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        result => result,
    }
}

fn search(file: &mut (impl BufRead + Seek)) -> io::Result<Option<Pixels>> {
    file.seek(SeekFrom::Start(12))?;
    for _ in 0..MOST_CHUNKS {
        let mut header = [0; 8];
        file.read_exact(&mut header)?;
        let [name @ .., a, b, c, d] = header;
        let bytes = u32::from_le_bytes([a, b, c, d]);
        match &name {
            b"VP8 " | b"VP8L" => {
                let start = file.stream_position()?;
                return Ok(Some(Pixels { is_lossy: &name == b"VP8 ", start, bytes: bytes.into() }));
            }
            b"ANIM" | b"ANMF" | b"ALPH" => return Ok(None),
            _ => file.seek_relative(i64::from(bytes) + i64::from(bytes % 2))?,
        }
    }
    Ok(None)
}
