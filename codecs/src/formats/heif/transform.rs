//! How a coded picture becomes the one that is shown: the part that is cropped out of it, and the rotation that makes
//! that part upright.
//!
//! Source: ISO/IEC 23008-12, 6.5.9 (`clap`), 6.5.10 (`irot`), 6.5.12 (`imir`); ISO/IEC 14496-12, 12.1.4.

use edgezoom_geometry::Size;
use heifer::heifer_isobmff::boxes::Property;

use crate::Orientation;

/// A part of the coded picture, and how it is turned. The properties of a file are applied in their order, and each
/// refers to what those before it have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    pub left: u32,
    pub top: u32,
    /// The part's size, before it is turned.
    pub size: Size,
    /// The place of a shown pixel (x, y) in the part: swap x and y, then count from the other side.
    swapped: bool,
    from_right: bool,
    from_bottom: bool,
}

impl Transform {
    /// All of a picture, as it is coded.
    fn none(size: Size) -> Self {
        Self { left: 0, top: 0, size, swapped: false, from_right: false, from_bottom: false }
    }

    /// What these properties do with a picture of this size. `None` when nothing is left of it.
    pub fn of<'a>(properties: impl Iterator<Item = &'a Property>, size: Size) -> Option<Self> {
        let mut transform = Self::none(size);
        for property in properties {
            match *property {
                Property::Rotation(quarters) => (0..quarters % 4).for_each(|_| transform.turn()),
                Property::Mirror(top_bottom) => transform.mirror(top_bottom),
                Property::CleanAperture { width, height, horiz_offset, vert_offset } => {
                    let shown = transform.shown();
                    let across = aperture(shown.width, width, horiz_offset);
                    let down = aperture(shown.height, height, vert_offset);
                    transform.crop(across, down)?;
                }
                _ => {}
            }
        }
        Some(transform)
    }

    /// Whether the whole picture is shown, turned or not.
    pub fn is_whole(&self, coded: Size) -> bool {
        self.size == coded
    }

    pub fn orientation(&self) -> Orientation {
        Orientation::from_exif(match (self.swapped, self.from_right, self.from_bottom) {
            (false, false, false) => 1,
            (false, true, false) => 2,
            (false, true, true) => 3,
            (false, false, true) => 4,
            (true, false, false) => 5,
            (true, false, true) => 6,
            (true, true, true) => 7,
            (true, true, false) => 8,
        })
    }

    /// The size of what is shown.
    fn shown(&self) -> Size {
        match (self.swapped, self.size) {
            (true, Size { width, height }) => Size { width: height, height: width },
            (false, size) => size,
        }
    }

    /// Turns what is shown by 90° anti-clockwise: its pixel (x, y) was at (width − 1 − y, x).
    fn turn(&mut self) {
        if self.swapped {
            self.from_bottom = !self.from_bottom;
        } else {
            self.from_right = !self.from_right;
        }
        self.swapped = !self.swapped;
    }

    fn mirror(&mut self, top_bottom: bool) {
        if top_bottom == self.swapped {
            self.from_right = !self.from_right;
        } else {
            self.from_bottom = !self.from_bottom;
        }
    }

    /// Cuts what is shown down to a start and a length in each direction.
    fn crop(&mut self, across: (u32, u32), down: (u32, u32)) -> Option<()> {
        let (across, down) = if self.swapped { (down, across) } else { (across, down) };
        let place = |(start, length): (u32, u32), side: u32, from_far_side: bool| {
            let start = if from_far_side { side.checked_sub(start)?.checked_sub(length)? } else { start };
            (length > 0).then_some((start, length))
        };
        let (left, width) = place(across, self.size.width, self.from_right)?;
        let (top, height) = place(down, self.size.height, self.from_bottom)?;
        self.left += left;
        self.top += top;
        self.size = Size { width, height };
        Some(())
    }
}

/// The start and the length of a clean aperture in one direction (ISO/IEC 14496-12, 12.1.4).
fn aperture(side: u32, (length, over): (u32, u32), (offset, offset_over): (i32, u32)) -> (u32, u32) {
    let length = f64::from(length) / f64::from(over.max(1));
    let offset = f64::from(offset) / f64::from(offset_over.max(1));
    let start = ((f64::from(side) - length) / 2.0 + offset).round().clamp(0.0, f64::from(side));
    let length = length.round().clamp(0.0, f64::from(side) - start);
    (start as u32, length as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 40, height: 20 };

    fn orientation(properties: &[Property]) -> Orientation {
        Transform::of(properties.iter(), SIZE).unwrap().orientation()
    }

    #[test]
    fn crops_are_centred_and_moved() {
        assert_eq!(aperture(100, (50, 1), (0, 1)), (25, 50));
        assert_eq!(aperture(1204, (1203, 1), (-1, 2)), (0, 1203));
        assert_eq!(aperture(100, (500, 1), (0, 1)), (0, 100));
        assert_eq!(aperture(100, (10, 0), (-200, 1)), (0, 10));
    }

    #[test]
    fn turns_and_mirrors_are_those_of_exif() {
        use Property::{Mirror, Rotation};
        assert_eq!(orientation(&[]), Orientation::UPRIGHT);
        assert_eq!(orientation(&[Rotation(1)]), Orientation::from_exif(8));
        assert_eq!(orientation(&[Rotation(2)]), Orientation::from_exif(3));
        assert_eq!(orientation(&[Rotation(3)]), Orientation::from_exif(6));
        assert_eq!(orientation(&[Mirror(false)]), Orientation::from_exif(2));
        assert_eq!(orientation(&[Mirror(true)]), Orientation::from_exif(4));
        // Turned by 90° anti-clockwise, then mirrored top to bottom: the transposed picture's rows are its columns.
        assert_eq!(orientation(&[Rotation(1), Mirror(true)]), Orientation::from_exif(5));
        assert_eq!(orientation(&[Mirror(false), Rotation(1)]), Orientation::from_exif(5));
        assert_eq!(orientation(&[Rotation(3), Mirror(true)]), Orientation::from_exif(7));
    }

    #[test]
    fn a_crop_of_a_turned_picture_is_a_crop_of_the_coded_one() {
        // The upper quarter of the picture after it was turned is the right quarter of the coded one.
        let crop = Property::CleanAperture {
            width: (20, 1),
            height: (10, 1),
            horiz_offset: (0, 1),
            vert_offset: (-15, 1),
        };
        let transform = Transform::of([Property::Rotation(1), crop].iter(), SIZE).unwrap();
        assert_eq!((transform.left, transform.top), (30, 0));
        assert_eq!(transform.size, Size { width: 10, height: 20 });
    }
}
