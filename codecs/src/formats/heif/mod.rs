//! HEIF: HEIC, coded with HEVC, and AVIF, coded with AV1. A grid is read row of cells by row of cells. A single frame
//! of HEVC is decoded while it is read. One of AV1 is decoded as a whole, kept in its own planes, in the temporary file if
//! they are large, and converted as it is read.
//! Rotation, mirroring and crop come from the container's properties; the orientation in EXIF has no meaning here.
//!
//! Source: ISO/IEC 23008-12 (HEIF), 6.5 for properties, 6.6.2.3 for grids; AV1 Image File Format (AVIF), 1.1.0.

mod bands;
mod cells;
mod cost;
mod decoder;
mod frame;
mod hevc;
mod item;
mod samples;
mod tail;
mod transform;

use edgezoom_geometry::Size;
use heifer::heifer_isobmff::boxes::{ColorInfo, Property};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use heifer::{Error, Options};

use crate::buffered::Buffered;
use crate::buffered::{self, catch_panics};
use crate::colour::icc::Profile;
use crate::format::{Decoded, Input, Open};
use crate::read_ahead::{BandSender, ReadAhead};
use crate::swap::Swap;
use crate::{Bounds, DecodeOptions, Format, Layout, Orientation, Reading, SourceError};
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

/// HEIC, and HEIF whose codec is known only when the boxes are parsed.
pub(crate) static HEIC: Format = Format {
    name: "HEIC",
    media_types: &["image/heic", "image/heif"],
    endings: &["heic", "heif"],
    reading: Reading::Rows,
    in_order: false,
    signature: |head| has_brand(head, HEIF_BRANDS),
    open: Open::Directly(|input| open(input, &HEIC)),
};

/// The brands of HEVC's pictures, and the general ones. Source: ISO/IEC 23008-12, annex B and clause 10.
const HEIF_BRANDS: &[&[u8; 4]] =
    &[b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"mif2", b"msf1"];

/// The memory that an overlay, or a picture that is derived in another rare way, takes for each pixel, in bytes: the
/// codec's planes, and RGBA twice while it is rotated.
const DERIVED_BYTES_A_PIXEL: u64 = 16;

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

fn open(
    Input { file, bounds, options, temporary }: Input<'_>,
    format: &'static Format,
) -> Result<Decoded, SourceError> {
    catch_panics(format, || {
        let mut bytes = buffered::read_all(file, bounds)?;
        bytes.truncate(tail::without_tail(&bytes).len());
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
                let swap = cost::admit(&file, &picture, options.threads.get(), bounds, temporary.as_ref())?;
                drop(file);
                open_frames(bytes, picture, profile, format, *options, swap)
            }
            None => open_derived(&bytes, &file, profile, format, bounds),
        }
    })
}

/// Opens a picture of frames. A thread decodes them while they are read.
fn open_frames(
    bytes: Vec<u8>,
    picture: Primary,
    profile: Option<Profile>,
    format: &'static Format,
    options: DecodeOptions,
    swap: Option<Swap>,
) -> Result<Decoded, SourceError> {
    let orientation = picture.transform.orientation();
    // Crop, alpha, turning and colour conversion work on pixels, not on planes.
    let planes = options.ycbcr420
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
        // Single frames are decoded now, or have what they need but for a few rows. Of a grid the other cells follow.
        let swap = swap.filter(|_| picture.colours.cells.len() > 1);
        let sent = bands::send(&picture, colours, alpha, bands);
        drop(swap);
        sent
    };
    let reader = Box::new(ReadAhead::start(format, decode)?);
    Ok(Decoded { reader, orientation, profile })
}

/// Decodes a picture that is derived from others: an overlay, or a grid of turned pictures. Only `heifer` puts such
/// pictures together, and only those of HEVC.
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
    // The sizes that parts of the picture claim count against the memory too.
    let options = Options { max_threads: 0, max_pixels: bounds.memory / DERIVED_BYTES_A_PIXEL };
    let image = heifer::decode_rgba8(bytes, &options).map_err(|error| source_error(format, error))?;
    let size = Size { width: image.width, height: image.height };
    let picture = Buffered::of(size, Layout::Rgba, image.data).without_opaque_alpha();
    Ok(Decoded { reader: Box::new(picture), orientation: Orientation::UPRIGHT, profile })
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
