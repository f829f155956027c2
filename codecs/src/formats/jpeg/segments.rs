//! What stands beside a JPEG's pixels: EXIF, the colour profile, Adobe's mark.

use mozjpeg::{Decompress, Marker};

/// The segments that libjpeg is to keep.
pub const KEPT: &[Marker] = &[EXIF, PROFILE, ADOBE];

const EXIF: Marker = Marker::APP(1);
const PROFILE: Marker = Marker::APP(2);
const ADOBE: Marker = Marker::APP(14);

/// The block of EXIF.
pub fn exif<R>(header: &Decompress<R>) -> Option<&[u8]> {
    segments(header, EXIF, b"Exif\0\0").next()
}

/// Whether one of Adobe's programs wrote the file, or one that does as they do.
pub fn is_adobes<R>(header: &Decompress<R>) -> bool {
    segments(header, ADOBE, b"Adobe").next().is_some()
}

/// The colour profile. A segment holds 64 KiB at most, so it may come in several, each with its number from 1 on and how
/// many there are. `None` when one is missing.
///
/// Source: ICC.1:2022, annex B.4.
pub fn profile<R>(header: &Decompress<R>) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = segments(header, PROFILE, b"ICC_PROFILE\0").collect();
    parts.sort_by_key(|part| part.first().copied());
    let count = usize::from(*parts.first()?.get(1)?);
    let in_order = parts.iter().zip(1..=u8::MAX).all(|(part, number)| part.first() == Some(&number));
    (in_order && parts.len() == count)
        .then(|| parts.iter().flat_map(|part| part.get(2..).unwrap_or_default()).copied().collect())
}

fn segments<'a, R>(
    header: &'a Decompress<R>,
    marker: Marker,
    name: &'static [u8],
) -> impl Iterator<Item = &'a [u8]> {
    header
        .markers()
        .filter(move |found| found.marker == marker)
        .filter_map(|found| found.data.strip_prefix(name))
}
