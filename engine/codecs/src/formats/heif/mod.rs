//! HEIF: HEIC, coded with HEVC, and AVIF, coded with AV1. A grid is read one row of cells at a time. A single
//! frame is decoded as a whole, and converted while it is read.
//!
//! Rotation, mirroring and crop come from the container's properties. The orientation in EXIF has no meaning in HEIF.
//!
//! Source: ISO/IEC 23008-12 (HEIF), 6.5 for properties, 6.6.2.3 for grids; AV1 Image File Format (AVIF), 1.1.0.

mod cells;
mod convert;
mod cost;
mod frame;
mod item;
mod transform;

use edgezoom_geometry::Size;
use heifer::heifer_isobmff::boxes::{ColorInfo, Property};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use heifer::{Error, Options};

use crate::buffered::{self, Buffered, catch_panics};
use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::formats::iso_boxes::boxes;
use crate::read_ahead::{BandSender, ReadAhead};
use crate::{AsPlanes, Bounds, DecodeOptions, Format, Layout, Orientation, Reading, SourceError};
use cells::Cells;
use item::Primary;

pub(crate) static AVIF: Format = Format {
    name: "AVIF",
    media_types: &["image/avif"],
    endings: &["avif"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| has_brand(head, &[b"avif", b"avis"]),
    open: Open::Directly(|input| open(input, &AVIF)),
};

/// HEIC, and HEIF whose codec is known only after its boxes are parsed.
pub(crate) static HEIC: Format = Format {
    name: "HEIC",
    media_types: &["image/heic", "image/heif"],
    endings: &["heic", "heif"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| has_brand(head, HEIF_BRANDS),
    open: Open::Directly(|input| open(input, &HEIC)),
};

/// The brands of pictures in HEVC, and the general ones (ISO/IEC 23008-12, annex B and clause 10).
const HEIF_BRANDS: &[&[u8; 4]] =
    &[b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"mif2", b"msf1"];

/// Bytes of memory for each pixel of an overlay, or of another rare derivation: the codec's planes, and RGBA twice
/// while it is rotated.
const DERIVED_BYTES_A_PIXEL: u64 = 16;

/// Returns true if the `ftyp` box at the start of a file has one of these brands, as the major or a compatible brand.
///
/// ```text
/// bytes  0      4       8            12             16
///        length "ftyp"  major brand  minor version  compatible brands, 4 bytes each, up to length
/// ```
/// Source: ISO/IEC 14496-12, 4.3.
fn has_brand(head: &[u8], known: &[&[u8; 4]]) -> bool {
    let [l0, l1, l2, l3, b'f', b't', b'y', b'p', ..] = *head else { return false };
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    let (brands, _) = head.get(8..head.len().min(length)).unwrap_or_default().as_chunks::<4>();
    brands.iter().any(|brand| known.contains(&brand))
}

fn open(
    Input { file, bounds, options, .. }: Input<'_>,
    format: &'static Format,
) -> Result<Decoded, SourceError> {
    catch_panics(format, || {
        let mut bytes = buffered::read_all(file, bounds)?;
        bytes.truncate(boxes_length(&bytes));
        let file = HeifFile::parse(&bytes).map_err(|error| format.corrupt(error))?;
        let profile = match file.icc_profile(file.primary_id).map_err(|error| format.corrupt(error))? {
            Some(profile) => Profile::of_icc(profile),
            None => {
                coded_colours(&file).and_then(|(primaries, transfer)| Profile::of_cicp(primaries, transfer))
            }
        };
        match Primary::find(&file, format)? {
            Some(picture) => {
                for size in [picture.colours.size, picture.transform.size] {
                    bounds.admit(size.width, size.height)?;
                }
                cost::admit(&file, &picture, options.threads.get(), bounds)?;
                drop(file);
                open_frames(bytes, picture, profile, format, *options)
            }
            None => open_derived(&bytes, &file, profile, format, bounds),
        }
    })
}

/// Opens a picture that consists of frames. A thread decodes it while it is read.
fn open_frames(
    bytes: Vec<u8>,
    picture: Primary,
    profile: Option<Profile>,
    format: &'static Format,
    options: DecodeOptions,
) -> Result<Decoded, SourceError> {
    let orientation = picture.transform.orientation;
    // Planes cannot be cropped, turned or converted, and have no alpha.
    let planes = options.planes != AsPlanes::Never
        && orientation == Orientation::UPRIGHT
        && picture.alpha.is_none()
        && picture.transform.is_whole(picture.colours.size)
        && !profile.as_ref().is_some_and(|profile| profile.changes(Layout::Rgb));
    let decode = move |bands: &BandSender| {
        let file = HeifFile::parse(&bytes).map_err(|error| format.corrupt(error))?;
        let threads = options.threads.get();
        let colours = Cells::open(&file, &picture.colours, format, threads, planes)?;
        let alpha = match &picture.alpha {
            Some(alpha) => {
                let mut cells = Cells::open(&file, alpha, format, threads, false)?;
                cells.layout = Layout::Grey;
                Some(cells)
            }
            None => None,
        };
        cells::send(&picture, colours, alpha, bands)
    };
    let reader = Box::new(ReadAhead::start(format, decode)?);
    Ok(Decoded { orientation, profile, ..Decoded::of(reader) })
}

/// Decodes a picture that is derived from others: an overlay, or a grid of turned pictures. Only `heifer` can do that,
/// and only in HEVC.
fn open_derived(
    bytes: &[u8],
    file: &HeifFile<'_>,
    profile: Option<Profile>,
    format: &'static Format,
    bounds: Bounds,
) -> Result<Decoded, SourceError> {
    let size = file.image_size(file.primary_id).map_err(|error| format.corrupt(error))?;
    let Some((width, height)) = size else { return Err(format.corrupt("its size is missing")) };
    let size = bounds.admit(width, height)?;
    let memory = bytes.len() as u64 + size.pixels() * DERIVED_BYTES_A_PIXEL;
    bounds.admit_memory(memory, "decoding a HEIF that is derived from other pictures")?;
    // The sizes claimed by parts of the picture count as memory, too.
    let options = Options { max_threads: 0, max_pixels: bounds.memory / DERIVED_BYTES_A_PIXEL };
    let image = heifer::decode_rgba8(bytes, &options).map_err(|error| source_error(format, error))?;
    let size = Size { width: image.width, height: image.height };
    let picture = Buffered::of(size, Layout::Rgba, image.data).without_opaque_alpha();
    Ok(Decoded { profile, ..Decoded::plain(picture) })
}

/// Returns the primaries and the transfer of the primary picture, or of its first cell, as code points of ITU-T H.273.
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

/// The boxes at the top level of a HEIF file.
const TOP_LEVEL: &[&[u8; 4]] =
    &[b"ftyp", b"meta", b"mdat", b"moov", b"free", b"skip", b"wide", b"uuid", b"moof", b"idat"];

/// Returns the length of a file without the bytes after its last box: some programs append data of their own, and
/// browsers ignore it. A known box that is cut off counts, for the decoder to report.
fn boxes_length(file: &[u8]) -> usize {
    let mut length = 0;
    for found in boxes(file, 0..file.len() as u64).map_while(Result::ok) {
        match usize::try_from(found.content.end).ok().filter(|&end| end <= file.len()) {
            Some(end) => length = end,
            None if TOP_LEVEL.contains(&&found.kind) => return file.len(),
            None => break,
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_after_the_last_box_are_ignored() {
        let boxes = b"\0\0\0\x0cftypavif\0\0\0\x09mdatx";
        assert_eq!(boxes_length(boxes), boxes.len());
        for tail in [b"more and more".as_slice(), b"\0\0\0", b"\0\0\0\x07free", &[0xff; 40]] {
            assert_eq!(boxes_length(&[boxes, tail].concat()), boxes.len(), "{tail:?}");
        }
        let whole = [boxes.as_slice(), b"\0\0\0\0mdat and so on"].concat();
        assert_eq!(boxes_length(&whole), whole.len());
        assert_eq!(boxes_length(&boxes[..20]), 20, "a known box that is cut off");
    }
}
