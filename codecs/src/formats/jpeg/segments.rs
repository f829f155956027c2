//! The application segments of a JPEG: EXIF (APP1), the colour profile (APP2), Adobe's marker (APP14).
//!
//! Source: CIPA DC-008 (Exif 2.3), 4.7.2; ICC.1:2022, annex B.4; Adobe Technical Note 5116, section 18.

use mozjpeg::{Decompress, Marker};

/// The segments that libjpeg saves.
pub const SAVED: &[Marker] = &[EXIF, PROFILE, ADOBE];

const EXIF: Marker = Marker::APP(1);
const PROFILE: Marker = Marker::APP(2);
const ADOBE: Marker = Marker::APP(14);

/// The block of EXIF.
pub fn exif<R>(header: &Decompress<R>) -> Option<&[u8]> {
    segments(header, EXIF, b"Exif\0\0").next()
}

/// Whether the file has Adobe's marker: its CMYK is inverted then.
pub fn has_adobe_marker<R>(header: &Decompress<R>) -> bool {
    segments(header, ADOBE, b"Adobe").next().is_some()
}

/// The colour profile. A segment has at most 64 KiB, so a profile may be in several, each with its number, counted from
/// 1, and the count. `None` when one is missing.
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
