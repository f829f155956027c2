//! HEIF: HEIC, coded with HEVC, and AVIF, coded with AV1. Buffered. Rotation, mirroring and crop come from the
//! container's properties; the orientation in EXIF has no meaning here.
//!
//! Source: ISO/IEC 23008-12 (HEIF), 6.5 for properties, 6.6.2.3 for grids; AV1 Image File Format (AVIF), 1.1.0.

mod av1;
mod tail;

use edgezoom_content::Size;
use heifer::heifer_isobmff::boxes::{ColorInfo, Property};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use heifer::{Error, Options};

use crate::buffered::Buffered;
use crate::buffered::{self, catch_panics};
use crate::colour::icc::Profile;
use crate::decoder::Decoded;
use crate::decoder::{Input, Open};
use crate::{Bounds, Format, Layout, Orientation, Reading, SourceError};

pub(crate) static AVIF: Format = Format {
    name: "AVIF",
    media_types: &["image/avif"],
    endings: &["avif"],
    reading: Reading::Buffered,
    signature: |head| has_brand(head, &[b"avif", b"avis"]),
    open: Open::Directly(|input| open(input, &AVIF)),
};

/// HEIC, and HEIF whose codec is known only when the boxes are parsed.
pub(crate) static HEIC: Format = Format {
    name: "HEIC",
    media_types: &["image/heic", "image/heif"],
    endings: &["heic", "heif"],
    reading: Reading::Buffered,
    signature: |head| has_brand(head, HEIF_BRANDS),
    open: Open::Directly(|input| open(input, &HEIC)),
};

/// The brands of HEVC's pictures, and the general ones. Source: ISO/IEC 23008-12, annex B and clause 10.
const HEIF_BRANDS: &[&[u8; 4]] =
    &[b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"mif2", b"msf1"];

/// The memory that decoding takes for each pixel, in bytes: the codec's planes, and RGBA twice while a picture is
/// rotated.
const BYTES_A_PIXEL: u64 = 16;

/// Whether the `ftyp` box at a file's start has one of these brands: the major one or a compatible one.
///
/// ```text
/// bytes  0      4       8            12             16
///        length "ftyp"  major brand  minor version  compatible brands, 4 bytes each, up to length
/// ```
/// Source: ISO/IEC 14496-12, clause 4.3.
fn has_brand(head: &[u8], known: &[&[u8; 4]]) -> bool {
    let [l0, l1, l2, l3, b'f', b't', b'y', b'p', ..] = *head else { return false };
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    let (brands, _) = head.get(8..head.len().min(length)).unwrap_or_default().as_chunks::<4>();
    brands.iter().any(|brand| known.contains(&brand))
}

fn open(Input { file, bounds, .. }: Input<'_>, format: &'static Format) -> Result<Decoded, SourceError> {
    catch_panics(format.name, || {
        let bytes = buffered::read_all(file, bounds)?;
        decode(tail::without_tail(&bytes), format, bounds)
    })
}

fn decode(bytes: &[u8], format: &'static Format, bounds: Bounds) -> Result<Decoded, SourceError> {
    let corrupt = |error| format.corrupt(error);
    let file = HeifFile::parse(bytes).map_err(corrupt)?;
    let Some((width, height)) = file.image_size(file.primary_id).map_err(corrupt)? else {
        return Err(format.corrupt("its size is missing"));
    };
    let size = bounds.admit(width, height)?;
    bounds.admit_memory(bytes.len() as u64 + size.pixels() * BYTES_A_PIXEL, "decoding a HEIF")?;
    // The sizes that parts of the picture claim count against the memory too.
    let max_pixels = bounds.memory / BYTES_A_PIXEL;
    let image = match codec(&file)? {
        Codec::Hevc => {
            let options = Options { max_threads: 0, max_pixels };
            heifer::decode_rgba8(bytes, &options).map_err(|error| source_error(format, error))?
        }
        Codec::Av1 => av1::decode(&file, format, max_pixels)?,
    };
    let profile = match file.icc_profile(file.primary_id).map_err(corrupt)? {
        Some(profile) => Profile::of_icc(profile),
        None => coded_colours(&file).and_then(|(primaries, transfer)| Profile::of_cicp(primaries, transfer)),
    };
    let size = Size { width: image.width, height: image.height };
    let picture = Buffered::of(size, Layout::Rgba, image.data).without_opaque_alpha();
    Ok(Decoded { reader: Box::new(picture), orientation: Orientation::UPRIGHT, profile })
}

enum Codec {
    Hevc,
    Av1,
}

/// The codec of the primary picture, or of its tiles.
fn codec(file: &HeifFile<'_>) -> Result<Codec, SourceError> {
    let unsupported = |kind: &dyn std::fmt::Display| HEIC.unsupported(format_args!("its codec is {kind}"));
    let item_type = |id: ItemId| file.item(id).map(|item| item.item_type);
    let mut types = vec![item_type(file.primary_id)];
    types.extend(file.referenced_items(file.primary_id, b"dimg").first().map(|&tile| item_type(tile)));
    for kind in types.into_iter().flatten() {
        match &kind.0 {
            b"av01" => return Ok(Codec::Av1),
            b"hvc1" | b"hev1" => return Ok(Codec::Hevc),
            b"grid" | b"iden" | b"iovl" => {}
            _ => return Err(unsupported(&kind)),
        }
    }
    Err(unsupported(&"unknown"))
}

/// The primaries and the transfer of the primary picture, or of its first tile, as code points of ITU-T H.273.
fn coded_colours(file: &HeifFile<'_>) -> Option<(u16, u16)> {
    let own = |id: ItemId| {
        file.item_properties(id).ok()?.find_map(|property| match property {
            Property::Color(ColorInfo::Nclx { primaries, transfer, .. }) => Some((*primaries, *transfer)),
            _ => None,
        })
    };
    own(file.primary_id).or_else(|| own(*file.referenced_items(file.primary_id, b"dimg").first()?))
}

fn source_error(format: &'static Format, error: Error) -> SourceError {
    match error {
        Error::Unsupported(reason) => format.unsupported(reason),
        other => format.corrupt(other),
    }
}
