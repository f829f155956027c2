//! Converts CMYK to RGB, by the file's ICC profile or, without one, by a simple formula.
//!
//! The formula treats inks as perfect filters: `red = (1 - cyan) × (1 - black)`, and so on. Browsers use it for
//! untagged files. A printing press would give duller colours, but which press is unknown.

use std::sync::Arc;

use moxcms::Transform8BitExecutor;

use crate::colour::icc::Profile;

/// Converts CMYK to RGB. 255 is full ink, 0 is none.
pub enum CmykConverter {
    Formula,
    Icc(Arc<Transform8BitExecutor>),
}

impl CmykConverter {
    /// Returns the converter for a picture. `profile` is its profile, if any.
    pub fn new(profile: Option<&Profile>) -> Self {
        profile.and_then(Profile::cmyk_to_rgb).map_or(Self::Formula, Self::Icc)
    }

    /// Converts whole pixels of cyan, magenta, yellow and black.
    pub fn convert(&self, cmyk: &[u8], out: &mut [u8]) {
        let (pixels, _) = cmyk.as_chunks::<4>();
        match self {
            Self::Icc(transform) if transform.transform(cmyk, out).is_ok() => {}
            _ => {
                for (out, &pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
                    *out = formula(pixel);
                }
            }
        }
    }
}

fn formula([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; 3] {
    [cyan, magenta, yellow].map(|ink| multiply(255 - ink, 255 - black))
}

/// Returns the product of two fractions of 255, rounded.
fn multiply(one: u8, other: u8) -> u8 {
    ((u32::from(one) * u32::from(other) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_is_white_and_black_ink_is_black() {
        assert_eq!(formula([0, 0, 0, 0]), [255; 3]);
        assert_eq!(formula([255, 0, 0, 0]), [0, 255, 255]);
        assert_eq!(formula([0, 0, 0, 255]), [0; 3]);
    }
}
