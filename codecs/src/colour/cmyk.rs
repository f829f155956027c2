//! Pictures in the four colours of print, made RGB: by their profile, or by the plain formula where they have none.
//!
//! The formula takes inks for perfect filters: `light = (1 - ink) × (1 - black)`. It is what browsers do with untagged
//! files, so nobody is surprised; what a press would print is duller, but which press is not known.

use std::sync::Arc;

use moxcms::Transform8BitExecutor;

use crate::Profile;

/// How inks become RGB. 255 is all ink that the paper takes, 0 is none.
pub enum Inks {
    Plain,
    Profiled(Arc<Transform8BitExecutor>),
}

impl Inks {
    /// The way for a picture with this profile, if it has one.
    pub fn new(profile: Option<&Profile>) -> Self {
        profile.and_then(Profile::of_inks).map_or(Self::Plain, Self::Profiled)
    }

    /// Makes RGB of cyan, magenta, yellow and black.
    pub fn convert(&self, inks: &[u8], out: &mut [u8]) {
        let (pixels, _) = inks.as_chunks::<4>();
        match self {
            Self::Profiled(transform) if transform.transform(inks, out).is_ok() => {}
            _ => {
                for (out, &inks) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
                    *out = plain(inks);
                }
            }
        }
    }
}

fn plain([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; 3] {
    [cyan, magenta, yellow].map(|ink| multiply(255 - ink, 255 - black))
}

/// The product of two fractions of 255, rounded.
fn multiply(one: u8, other: u8) -> u8 {
    ((u32::from(one) * u32::from(other) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_is_white_and_black_ink_is_black() {
        assert_eq!(plain([0, 0, 0, 0]), [255; 3]);
        assert_eq!(plain([255, 0, 0, 0]), [0, 255, 255]);
        assert_eq!(plain([0, 0, 0, 255]), [0; 3]);
    }
}
