//! Colour profiles: what a file says its numbers mean, turned into sRGB as the rows go by.
//!
//! Most pictures have no profile, or one that says sRGB in one of its many wordings. Those go through untouched: a profile
//! counts as sRGB when it moves no colour of a coarse grid by more than one step, whatever its name. A profile that is
//! broken, or not of the picture's kind, is ignored, as browsers do.

use edgezoom_content::Size;
use moxcms::{ColorProfile, DataColorSpace, Transform8BitExecutor, TransformOptions};
use std::sync::Arc;

use super::{Layout, SourceError, Strips};

/// The steps of the grid on which a profile is compared with sRGB: 0, 17, 34 … 255.
const GRID_STEP: usize = 17;

/// What the numbers of a picture mean.
pub struct Profile(ColorProfile);

/// A picture whose colours become sRGB as its rows are read.
struct Converted {
    strips: Box<dyn Strips>,
    conversion: Conversion,
    rows: Vec<u8>,
}

/// How colours become sRGB.
enum Conversion {
    /// Each channel by itself: pictures of grey shades.
    Table(Box<[u8; 256]>),
    /// All channels of a pixel together.
    Pixels(Arc<Transform8BitExecutor>),
}

impl Profile {
    /// Reads an ICC profile. `None` when it makes no sense.
    pub fn of_icc(bytes: &[u8]) -> Option<Self> {
        ColorProfile::new_from_slice(bytes).ok().map(Self)
    }

    /// The picture in sRGB.
    pub fn apply(&self, strips: Box<dyn Strips>) -> Box<dyn Strips> {
        match self.conversion(strips.layout()) {
            Some(conversion) => Box::new(Converted { strips, conversion, rows: Vec::new() }),
            None => strips,
        }
    }

    /// From inks, in which 255 is all that the paper takes, to RGB. `None` when the profile is none for printing.
    pub fn of_inks(&self) -> Option<Arc<Transform8BitExecutor>> {
        // Four channels of any meaning are laid out as RGBA.
        let is_print = self.0.color_space == DataColorSpace::Cmyk;
        is_print.then(|| self.transform(moxcms::Layout::Rgba, moxcms::Layout::Rgb)).flatten()
    }

    /// `None` where nothing is to be done, or nothing can be.
    fn conversion(&self, layout: Layout) -> Option<Conversion> {
        match (self.0.color_space, layout) {
            (DataColorSpace::Gray, _) | (DataColorSpace::Rgb, Layout::Grey) => {
                let table = self.table()?;
                let is_srgb = table.iter().zip(0..).all(|(&to, from): (_, u8)| to.abs_diff(from) <= 1);
                (!is_srgb).then_some(Conversion::Table(table))
            }
            (DataColorSpace::Rgb, Layout::Rgb | Layout::Rgba) => {
                if self.is_srgb()? {
                    return None;
                }
                let layout = if layout == Layout::Rgba { moxcms::Layout::Rgba } else { moxcms::Layout::Rgb };
                self.transform(layout, layout).map(Conversion::Pixels)
            }
            _ => None,
        }
    }

    fn transform(&self, from: moxcms::Layout, to: moxcms::Layout) -> Option<Arc<Transform8BitExecutor>> {
        let srgb = ColorProfile::new_srgb();
        self.0.create_transform_8bit(from, &srgb, to, TransformOptions::default()).ok()
    }

    /// What becomes of each shade of grey.
    fn table(&self) -> Option<Box<[u8; 256]>> {
        let (from, channels) = match self.0.color_space {
            DataColorSpace::Gray => (moxcms::Layout::Gray, 1),
            _ => (moxcms::Layout::Rgb, 3),
        };
        let shades: Vec<u8> = (0..=255).flat_map(|shade| std::iter::repeat_n(shade, channels)).collect();
        let mut colours = vec![0; 256 * 3];
        self.transform(from, moxcms::Layout::Rgb)?.transform(&shades, &mut colours).ok()?;
        let (colours, _) = colours.as_chunks::<3>();
        let mut table = Box::new([0; 256]);
        for (to, &[_, green, _]) in table.iter_mut().zip(colours) {
            *to = green;
        }
        Some(table)
    }

    fn is_srgb(&self) -> Option<bool> {
        let steps = || (0..=u8::MAX).step_by(GRID_STEP);
        let grid: Vec<u8> = steps()
            .flat_map(|red| steps().flat_map(move |green| steps().flat_map(move |blue| [red, green, blue])))
            .collect();
        let mut colours = vec![0; grid.len()];
        self.transform(moxcms::Layout::Rgb, moxcms::Layout::Rgb)?.transform(&grid, &mut colours).ok()?;
        Some(grid.iter().zip(&colours).all(|(from, &to)| from.abs_diff(to) <= 1))
    }
}

impl Strips for Converted {
    fn size(&self) -> Size {
        self.strips.size()
    }

    fn layout(&self) -> Layout {
        self.strips.layout()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        match &self.conversion {
            Conversion::Table(table) => {
                self.strips.read_rows(into)?;
                let channels = self.strips.layout().channels();
                for pixel in into.chunks_exact_mut(channels) {
                    // Opacity is none of its business.
                    for shade in pixel.iter_mut().take(3) {
                        *shade = table[usize::from(*shade)];
                    }
                }
                Ok(())
            }
            Conversion::Pixels(transform) => {
                self.rows.resize(into.len(), 0);
                self.strips.read_rows(&mut self.rows)?;
                // It fails only where the lengths do not fit, which they do.
                transform.transform(&self.rows, into).map_err(|_| SourceError::OutOfMemory)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_goes_through_untouched() {
        assert!(Profile(ColorProfile::new_srgb()).conversion(Layout::Rgb).is_none());
        let encoded = ColorProfile::new_srgb().encode().unwrap();
        assert!(Profile::of_icc(&encoded).unwrap().conversion(Layout::Rgba).is_none());
    }

    #[test]
    fn wide_gamuts_and_other_gammas_are_converted() {
        for profile in
            [ColorProfile::new_display_p3(), ColorProfile::new_adobe_rgb(), ColorProfile::new_bt2020()]
        {
            assert!(Profile(profile).conversion(Layout::Rgb).is_some());
        }
        assert!(Profile(ColorProfile::new_gray_with_gamma(1.0)).conversion(Layout::Grey).is_some());
    }

    #[test]
    fn what_does_not_fit_the_picture_is_ignored() {
        let grey = Profile(ColorProfile::new_gray_with_gamma(1.0));
        assert!(grey.of_inks().is_none());
        assert!(Profile::of_icc(b"no profile").is_none());
    }
}
