//! Colour profiles: pictures in another colour space than sRGB are converted while their rows are read.
//!
//! Most pictures have no profile, or one of many versions of sRGB. Their pixels are not converted: a profile counts as
//! sRGB if it moves no colour of a coarse grid by more than one step, whatever its name. A profile that is invalid, or
//! of another kind than the picture, is ignored, as in browsers.
//!
//! Source: ICC.1:2022; ITU-T H.273 for code points.

use std::sync::Arc;

use moxcms::{
    CicpColorPrimaries, CicpProfile, ColorProfile, DataColorSpace, MatrixCoefficients,
    TransferCharacteristics, Transform8BitExecutor, Transform16BitExecutor, TransformOptions,
};

use crate::colour::samples::round_16;
use crate::colour::tone_mapping::{self, Curve};
use crate::row_reader::Wrapper;
use crate::{Layout, RowReader, SourceError};

/// The step of the grid on which a profile is compared with sRGB: 0, 17, 34 … 255.
const GRID_STEP: usize = 17;

/// The colour space of a picture.
pub struct Profile(ColorProfile);

/// A picture that is converted to sRGB while its rows are read.
struct Converted {
    source: Box<dyn RowReader>,
    conversion: Conversion,
    rows: Vec<u8>,
}

/// The conversion to sRGB.
enum Conversion {
    /// Each channel separately: greyscale.
    Table(Box<[u8; 256]>),
    /// All channels of a pixel together, by moxcms.
    Pixels(Arc<Transform8BitExecutor>),
    /// PQ and HLG, by tone mapping: the linear value of each sample, and the matrix to the primaries of sRGB.
    ToneMapped(Box<[f32; 256]>, [[f32; 3]; 3]),
}

/// Converts 16-bit colours before they are rounded, because 8 bits have too few steps for a wide gamut.
#[derive(Clone)]
pub struct Transform16 {
    transform: Arc<Transform16BitExecutor>,
    colours: Vec<u16>,
}

impl Transform16 {
    /// Converts whole pixels.
    pub fn convert(&mut self, samples: &[u16], out: &mut [u8]) {
        self.colours.resize(samples.len(), 0);
        // This fails only for slices of different lengths.
        if self.transform.transform(samples, &mut self.colours).is_ok() {
            for (out, &sample) in out.iter_mut().zip(&self.colours) {
                *out = round_16(sample);
            }
        }
    }
}

impl Profile {
    /// Reads an ICC profile. Returns `None` if it is invalid.
    pub fn of_icc(bytes: &[u8]) -> Option<Self> {
        ColorProfile::new_from_slice(bytes).ok().map(Self)
    }

    /// Returns the colour space of code points of ITU-T H.273, for primaries (table 2) and transfer (table 3), or
    /// `None` for sRGB or unspecified code points.
    ///
    /// The transfer function of BT.709 counts as that of sRGB, as in browsers, because encoders write it by default.
    pub fn of_cicp(primaries: u16, transfer: u16) -> Option<Self> {
        const SRGB: TransferCharacteristics = TransferCharacteristics::Srgb;
        let primaries = CicpColorPrimaries::try_from(u8::try_from(primaries).ok()?).ok()?;
        let primaries = match primaries {
            CicpColorPrimaries::Reserved | CicpColorPrimaries::Unspecified => CicpColorPrimaries::Bt709,
            known => known,
        };
        let transfer = match transfer {
            4 | 5 | 8..=10 | 16..=18 => {
                TransferCharacteristics::try_from(u8::try_from(transfer).ok()?).ok()?
            }
            _ => SRGB,
        };
        (primaries != CicpColorPrimaries::Bt709 || transfer != SRGB).then(|| {
            Self(ColorProfile::new_from_cicp(CicpProfile {
                color_primaries: primaries,
                transfer_characteristics: transfer,
                matrix_coefficients: MatrixCoefficients::Identity,
                full_range: true,
            }))
        })
    }

    /// Returns the colour space with a gamma and the chromaticities of white, red, green and blue.
    pub fn of_gamma(gamma: f32, chromaticities: Option<[(f32, f32); 4]>) -> Self {
        let mut profile = ColorProfile::new_srgb();
        if let Some([white, red, green, blue]) = chromaticities {
            let at = |(x, y)| moxcms::Chromaticity { x, y };
            let primaries = moxcms::ColorPrimaries { red: at(red), green: at(green), blue: at(blue) };
            profile.update_rgb_colorimetry(at(white).to_xyyb(), primaries);
        }
        profile.cicp = None;
        let curve = Some(moxcms::ToneReprCurve::Parametric(vec![gamma]));
        (profile.red_trc, profile.green_trc, profile.blue_trc) = (curve.clone(), curve.clone(), curve);
        Self(profile)
    }

    /// Converts a picture to sRGB.
    pub fn apply(&self, source: Box<dyn RowReader>) -> Box<dyn RowReader> {
        match self.conversion(source.layout()) {
            Some(conversion) => Box::new(Converted { source, conversion, rows: Vec::new() }),
            None => source,
        }
    }

    /// Returns true if pixels in this layout have to be converted.
    pub fn changes(&self, layout: Layout) -> bool {
        self.conversion(layout).is_some()
    }

    /// Returns the conversion of 16-bit pixels in this layout, if they need one that mixes channels.
    pub fn transform_16(&self, layout: Layout) -> Option<Transform16> {
        let Some(Conversion::Pixels(_)) = self.conversion(layout) else { return None };
        let layout = if layout == Layout::Rgba { moxcms::Layout::Rgba } else { moxcms::Layout::Rgb };
        let srgb = ColorProfile::new_srgb();
        let transform = self.0.create_transform_16bit(layout, &srgb, layout, TransformOptions::default());
        Some(Transform16 { transform: transform.ok()?, colours: Vec::new() })
    }

    /// Returns the conversion from CMYK, where 255 is full ink, to RGB, or `None` if the profile is not of CMYK.
    pub fn cmyk_to_rgb(&self) -> Option<Arc<Transform8BitExecutor>> {
        // `moxcms` treats any four channels as RGBA.
        let is_cmyk = self.0.color_space == DataColorSpace::Cmyk;
        is_cmyk.then(|| self.transform(moxcms::Layout::Rgba, moxcms::Layout::Rgb)).flatten()
    }

    /// Returns the conversion of pixels in this layout, or `None` if they are sRGB or the profile is of another kind.
    fn conversion(&self, layout: Layout) -> Option<Conversion> {
        match (self.0.color_space, layout) {
            (_, Layout::YCbCr420) => None,
            (DataColorSpace::Gray, _) | (DataColorSpace::Rgb, Layout::Grey) => {
                let table = self.table()?;
                let is_srgb = table.iter().zip(0..=255).all(|(&to, from): (_, u8)| to.abs_diff(from) <= 1);
                (!is_srgb).then_some(Conversion::Table(table))
            }
            (DataColorSpace::Rgb, Layout::Rgb | Layout::Rgba) => {
                if let Some(curve) = self.curve() {
                    let matrix = self.0.transform_matrix(&ColorProfile::new_srgb()).v;
                    return Some(Conversion::ToneMapped(
                        Box::new(std::array::from_fn(|value| curve.linear(value as f32 / 255.0))),
                        matrix.map(|row| row.map(|factor| factor as f32)),
                    ));
                }
                if self.is_srgb()? {
                    return None;
                }
                let layout = if layout == Layout::Rgba { moxcms::Layout::Rgba } else { moxcms::Layout::Rgb };
                self.transform(layout, layout).map(Conversion::Pixels)
            }
            _ => None,
        }
    }

    /// Returns the transfer function of a picture that may be brighter than the screen's white.
    fn curve(&self) -> Option<Curve> {
        match self.0.cicp?.transfer_characteristics {
            TransferCharacteristics::Smpte2084 => Some(Curve::Quantizer),
            TransferCharacteristics::Hlg => Some(Curve::HybridLogGamma),
            _ => None,
        }
    }

    fn transform(&self, from: moxcms::Layout, to: moxcms::Layout) -> Option<Arc<Transform8BitExecutor>> {
        let srgb = ColorProfile::new_srgb();
        self.0.create_transform_8bit(from, &srgb, to, TransformOptions::default()).ok()
    }

    /// Returns the sRGB value of each grey value.
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

impl Wrapper for Converted {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        match &self.conversion {
            Conversion::Table(table) => {
                self.source.read_rows(into)?;
                let channels = self.source.layout().channels();
                for pixel in into.chunks_exact_mut(channels) {
                    // Alpha is not converted.
                    for shade in pixel.iter_mut().take(3) {
                        *shade = table[usize::from(*shade)];
                    }
                }
                Ok(())
            }
            Conversion::ToneMapped(table, matrix) => {
                self.source.read_rows(into)?;
                let channels = self.source.layout().channels();
                for pixel in into.chunks_exact_mut(channels) {
                    let &mut [red, green, blue, ..] = pixel else { continue };
                    let [red, green, blue] = [red, green, blue].map(|value| table[usize::from(value)]);
                    let linear = matrix.map(|[r, g, b]| r * red + g * green + b * blue);
                    pixel[..3].copy_from_slice(&tone_mapping::map(linear));
                }
                Ok(())
            }
            Conversion::Pixels(transform) => {
                self.rows.resize(into.len(), 0);
                self.source.read_rows(&mut self.rows)?;
                // This fails only for slices of different lengths.
                transform.transform(&self.rows, into).map_err(|_| SourceError::OutOfMemory)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_is_not_converted() {
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
    fn code_points_of_srgb_need_no_profile() {
        for (primaries, transfer) in [(1, 13), (2, 2), (1, 1), (1, 6), (0, 0)] {
            assert!(Profile::of_cicp(primaries, transfer).is_none(), "{primaries}, {transfer}");
        }
        let p3 = Profile::of_cicp(12, 13).unwrap();
        assert!(matches!(p3.conversion(Layout::Rgb), Some(Conversion::Pixels(_))));
        for transfer in [16, 18] {
            let bright = Profile::of_cicp(9, transfer).unwrap();
            assert!(matches!(bright.conversion(Layout::Rgba), Some(Conversion::ToneMapped(..))));
        }
    }

    #[test]
    fn gamma_2_2_with_primaries_of_srgb_is_nearly_srgb_and_gamma_1_is_not() {
        let srgb = Some([(0.3127, 0.329), (0.64, 0.33), (0.3, 0.6), (0.15, 0.06)]);
        let table = Profile::of_gamma(2.2, srgb).table().unwrap();
        assert!(table.iter().zip(0..=255).all(|(to, from): (&u8, u8)| to.abs_diff(from) <= 10), "{table:?}");
        assert_eq!(Profile::of_gamma(1.0, None).table().unwrap()[55], 128);
    }

    #[test]
    fn profiles_of_another_kind_are_ignored() {
        let grey = Profile(ColorProfile::new_gray_with_gamma(1.0));
        assert!(grey.cmyk_to_rgb().is_none());
        assert!(Profile::of_icc(b"no profile").is_none());
    }
}
