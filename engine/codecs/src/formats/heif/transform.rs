//! The transformation of a coded picture into the one that is shown: the part to crop, and its orientation.
//!
//! Source: ISO/IEC 23008-12, 6.5.9 (`clap`), 6.5.10 (`irot`), 6.5.12 (`imir`); ISO/IEC 14496-12, 12.1.4.

use edgezoom_geometry::Size;
use heifer::heifer_isobmff::boxes::Property;

use crate::Orientation;

/// A part of the coded picture, and its orientation. The properties of a file are applied in their order, and each
/// refers to the result of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    pub left: u32,
    pub top: u32,
    /// The part's size, before it is turned.
    pub size: Size,
    pub orientation: Orientation,
}

impl Transform {
    /// Applies properties to a picture of this size. Returns `None` if nothing is left.
    pub fn of<'a>(properties: impl Iterator<Item = &'a Property>, size: Size) -> Option<Self> {
        let mut transform = Self { left: 0, top: 0, size, orientation: Orientation::UPRIGHT };
        for property in properties {
            match *property {
                Property::Rotation(quarters) => (0..quarters % 4).for_each(|_| transform.turn()),
                Property::Mirror(top_bottom) => transform.mirror(top_bottom),
                Property::CleanAperture { width, height, horiz_offset, vert_offset } => {
                    let shown = transform.orientation.turned(transform.size);
                    let across = aperture(shown.width, width, horiz_offset);
                    let down = aperture(shown.height, height, vert_offset);
                    transform.crop(across, down)?;
                }
                _ => {}
            }
        }
        Some(transform)
    }

    /// Returns true if the whole picture is shown, turned or not.
    pub fn is_whole(&self, coded: Size) -> bool {
        self.size == coded
    }

    /// Turns the picture by 90° anti-clockwise: its pixel (x, y) was at (width − 1 − y, x).
    fn turn(&mut self) {
        let Orientation { swapped, from_right, from_bottom } = &mut self.orientation;
        let side = if *swapped { from_bottom } else { from_right };
        *side = !*side;
        *swapped = !*swapped;
    }

    fn mirror(&mut self, top_bottom: bool) {
        let Orientation { swapped, from_right, from_bottom } = &mut self.orientation;
        let side = if top_bottom == *swapped { from_right } else { from_bottom };
        *side = !*side;
    }

    /// Crops the picture to a start and a length in each direction.
    fn crop(&mut self, across: (u32, u32), down: (u32, u32)) -> Option<()> {
        let Orientation { swapped, from_right, from_bottom } = self.orientation;
        let (across, down) = if swapped { (down, across) } else { (across, down) };
        let place = |(start, length): (u32, u32), side: u32, from_far_side: bool| {
            let start = if from_far_side { side.checked_sub(start)?.checked_sub(length)? } else { start };
            (length > 0).then_some((start, length))
        };
        let (left, width) = place(across, self.size.width, from_right)?;
        let (top, height) = place(down, self.size.height, from_bottom)?;
        self.left += left;
        self.top += top;
        self.size = Size { width, height };
        Some(())
    }
}

/// Returns the start and the length of a clean aperture in one direction (ISO/IEC 14496-12, 12.1.4).
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
        Transform::of(properties.iter(), SIZE).unwrap().orientation
    }

    #[test]
    fn an_aperture_is_centred_then_moved_and_stays_inside() {
        assert_eq!(aperture(100, (50, 1), (0, 1)), (25, 50));
        assert_eq!(aperture(1204, (1203, 1), (-1, 2)), (0, 1203));
        assert_eq!(aperture(100, (500, 1), (0, 1)), (0, 100));
        assert_eq!(aperture(100, (10, 0), (-200, 1)), (0, 10));
    }

    #[test]
    fn rotations_and_mirrors_match_those_of_exif() {
        use Property::{Mirror, Rotation};
        assert_eq!(orientation(&[]), Orientation::UPRIGHT);
        assert_eq!(orientation(&[Rotation(1)]), Orientation::from_exif(8));
        assert_eq!(orientation(&[Rotation(2)]), Orientation::from_exif(3));
        assert_eq!(orientation(&[Rotation(3)]), Orientation::from_exif(6));
        assert_eq!(orientation(&[Mirror(false)]), Orientation::from_exif(2));
        assert_eq!(orientation(&[Mirror(true)]), Orientation::from_exif(4));
        // Turned by 90° anti-clockwise, then mirrored top to bottom, rows become columns.
        assert_eq!(orientation(&[Rotation(1), Mirror(true)]), Orientation::from_exif(5));
        assert_eq!(orientation(&[Mirror(false), Rotation(1)]), Orientation::from_exif(5));
        assert_eq!(orientation(&[Rotation(3), Mirror(true)]), Orientation::from_exif(7));
    }

    #[test]
    fn a_crop_after_a_rotation_is_a_crop_of_the_coded_picture() {
        // After the rotation, the upper quarter of the picture is the right quarter of the coded one.
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
