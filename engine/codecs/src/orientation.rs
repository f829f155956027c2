//! The orientation of a picture in its EXIF.

use edgezoom_geometry::Orientation;

/// Returns the orientation in a block of EXIF. Broken EXIF counts as upright: the pixels may be good.
pub fn of_exif(block: &[u8]) -> Orientation {
    number_of_exif(block).map_or(Orientation::UPRIGHT, Orientation::from_exif)
}

/// Returns its number, if the block has one.
pub fn number_of_exif(block: &[u8]) -> Option<u32> {
    let exif = exif::Reader::new().read_raw(block.to_vec()).ok()?;
    exif.get_field(exif::Tag::Orientation, exif::In::PRIMARY)?.value.get_uint(0)
}
