//! HEIF's container: HEIC, whose pictures are HEVC's, and AVIF, whose pictures are AV1's. Decoded as a whole, with the
//! container's own turns, mirrorings and crops; the orientation in EXIF means nothing here.

mod av1;

use std::fs::File;
use std::io::BufReader;

use edgezoom_content::Size;
use heifer::heifer_isobmff::boxes::{ColorInfo, Property};
use heifer::heifer_isobmff::{HeifFile, ItemId};
use heifer::{Error, Options};

use crate::buffered::{self, guarded};
use crate::{Bounds, Buffered, Decoded, Format, Layout, Orientation, Profile, SourceError};

/// What decoding takes for each pixel, in bytes: the codec's planes, and four channels twice while a picture is turned.
const BYTES_A_PIXEL: u64 = 16;

pub fn open(file: BufReader<File>, format: Format, bounds: Bounds) -> Result<Decoded, SourceError> {
    guarded(format, || {
        let bytes = buffered::read_all(file, bounds)?;
        decode(&bytes, format, bounds)
    })
}

fn decode(bytes: &[u8], format: Format, bounds: Bounds) -> Result<Decoded, SourceError> {
    let corrupt = |error| SourceError::corrupt(format, error);
    let file = HeifFile::parse(bytes).map_err(corrupt)?;
    let Some((width, height)) = file.image_size(file.primary_id).map_err(corrupt)? else {
        return Err(SourceError::corrupt(format, "its size is missing"));
    };
    let size = bounds.admit(width, height)?;
    bounds.admit_memory(bytes.len() as u64 + size.pixels() * BYTES_A_PIXEL, "decoding a HEIF")?;
    // What parts of the picture claim of their size counts against the memory as well.
    let most_pixels = bounds.memory / BYTES_A_PIXEL;
    let image = match codec(&file)? {
        Codec::Hevc => {
            let options = Options { max_threads: 0, max_pixels: most_pixels };
            heifer::decode_rgba8(bytes, &options).map_err(|error| refusal(format, error))?
        }
        Codec::Av1 => av1::decode(&file, format, most_pixels)?,
    };
    let profile = match file.icc_profile(file.primary_id).map_err(corrupt)? {
        Some(profile) => Profile::of_icc(profile),
        None => coded_colours(&file).and_then(|(primaries, transfer)| Profile::of_cicp(primaries, transfer)),
    };
    let size = Size { width: image.width, height: image.height };
    let picture = Buffered::of(size, Layout::Rgba, image.data).without_idle_opacity();
    Ok(Decoded { strips: Box::new(picture), orientation: Orientation::UPRIGHT, profile })
}

enum Codec {
    Hevc,
    Av1,
}

/// The codec of the primary picture, or of the tiles that it is put together from.
fn codec(file: &HeifFile<'_>) -> Result<Codec, SourceError> {
    let unsupported = |kind: &dyn std::fmt::Display| {
        SourceError::unsupported(Format::Heic, format_args!("its codec is {kind}"))
    };
    let kind = |id: ItemId| file.item(id).map(|item| item.item_type);
    let mut kinds = vec![kind(file.primary_id)];
    kinds.extend(file.referenced_items(file.primary_id, b"dimg").first().map(|&tile| kind(tile)));
    for kind in kinds.into_iter().flatten() {
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

fn refusal(format: Format, error: Error) -> SourceError {
    match error {
        Error::Unsupported(reason) => SourceError::unsupported(format, reason),
        other => SourceError::corrupt(format, other),
    }
}
