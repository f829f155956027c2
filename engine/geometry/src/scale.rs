//! The physical size of a picture's pixels. Files of microscopes, scanners, telescopes and satellites state it; a
//! printer's resolution is none.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Largest significand: six digits are more than any instrument measures.
const MAX_SIGNIFICAND: f64 = 1e6;
/// Largest relative difference between the width and the height of a pixel that counts as square.
const SQUARE: f64 = 0.01;
/// Values that a pixel may have, in metres or degrees.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-12..=1e9;

/// The side of a square pixel. The value is decimal: six digits and an exponent, so that it compares and prints
/// exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    significand: u32,
    exponent: i8,
    /// Unit of the value.
    pub unit: ScaleUnit,
    /// Statement of the file from which the value comes.
    pub basis: ScaleBasis,
}

/// The unit of a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleUnit {
    /// Metre.
    Metre,
    /// Degree of arc.
    Degree,
}

/// The statement of a file from which its scale comes. Each has one rule, in the format's folder of the codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleBasis {
    /// `MPP` in the description of an Aperio slide.
    Aperio,
    /// Resolution of a Hamamatsu slide.
    Hamamatsu,
    /// Resolution of a Leica slide.
    Leica,
    /// `ScanRes` of a Ventana slide.
    Ventana,
    /// `PhysicalSizeX` and `PhysicalSizeY` of OME-XML.
    Ome,
    /// `PixelSpacing` of DICOM.
    DicomPixelSpacing,
    /// `ImagerPixelSpacing` of DICOM: the size at the detector.
    DicomImagerSpacing,
    /// `ModelPixelScale` of a GeoTIFF.
    GeoTiffScale,
    /// `ModelTransformation` of a GeoTIFF.
    GeoTiffTransformation,
    /// World coordinates of FITS.
    Fits,
}

impl Scale {
    /// Returns the scale of pixels of this width and height. `None` if they are not square or not plausible.
    #[must_use]
    pub fn new(width: f64, height: f64, unit: ScaleUnit, basis: ScaleBasis) -> Option<Self> {
        let (width, height) = (width.abs(), height.abs());
        let value = (width * height).sqrt();
        if !PLAUSIBLE.contains(&value) || (width - height).abs() > SQUARE * value {
            return None;
        }
        let mut exponent = value.log10().floor() as i8 - 5;
        let mut significand = (value / 10f64.powi(exponent.into())).round();
        if significand >= MAX_SIGNIFICAND {
            (significand, exponent) = (significand / 10.0, exponent + 1);
        }
        let mut significand = significand as u32;
        while significand > 0 && significand.is_multiple_of(10) {
            (significand, exponent) = (significand / 10, exponent + 1);
        }
        (significand > 0).then_some(Self { significand, exponent, unit, basis })
    }

    /// Returns true if this could come from [`Scale::new`]. Deserialising does not check it.
    #[must_use]
    pub fn is_valid(self) -> bool {
        (1..=MAX_SIGNIFICAND as u32).contains(&self.significand) && (-18..=9).contains(&self.exponent)
    }

    /// Returns the value.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.significand) * 10f64.powi(self.exponent.into())
    }
}

/// Prints the value as a number of JSON and XML: `2532e-10`. Printing a float would add 14 KB to the Worker.
impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exponent {
            0 => write!(f, "{}", self.significand),
            exponent => write!(f, "{}e{exponent}", self.significand),
        }
    }
}

impl ScaleUnit {
    /// Returns the unit's name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Metre => "metre",
            Self::Degree => "degree",
        }
    }
}

impl ScaleBasis {
    /// Returns the words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Aperio => "MPP of the Aperio slide",
            Self::Hamamatsu => "resolution of the Hamamatsu slide",
            Self::Leica => "resolution of the Leica slide",
            Self::Ventana => "ScanRes of the Ventana slide",
            Self::Ome => "PhysicalSize of the OME-XML",
            Self::DicomPixelSpacing => "Pixel Spacing of the DICOM file",
            Self::DicomImagerSpacing => "Imager Pixel Spacing of the DICOM file, at the detector",
            Self::GeoTiffScale => "ModelPixelScale of the GeoTIFF",
            Self::GeoTiffTransformation => "ModelTransformation of the GeoTIFF",
            Self::Fits => "world coordinates of the FITS file, at their reference pixel",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scale(width: f64, height: f64) -> Option<Scale> {
        Scale::new(width, height, ScaleUnit::Metre, ScaleBasis::Ome)
    }

    #[test]
    fn a_value_prints_as_a_number_without_trailing_zeros() {
        let printed = |value| scale(value, value).unwrap().to_string();
        assert_eq!(printed(2.532e-7), "2532e-10");
        assert_eq!(printed(1.0), "1");
        assert_eq!(printed(30.0), "3e1");
        assert_eq!(printed(0.999_999_9), "1");
        assert_eq!(printed(1.0 / 3.0), "333333e-6");
    }

    #[test]
    fn pixels_that_are_not_square_or_not_plausible_have_no_scale() {
        assert!(scale(2.5e-7, -2.51e-7).is_some());
        assert!(scale(2.5e-7, 2.6e-7).is_none());
        for value in [0.0, f64::NAN, f64::INFINITY, 1e-13, 1e10] {
            assert_eq!(scale(value, value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn six_digits_are_kept(value in 1e-12..1e9) {
            let scale = scale(value, value).unwrap();
            prop_assert!(scale.is_valid());
            prop_assert!((scale.value() / value - 1.0).abs() < 1e-5);
            prop_assert!((scale.to_string().parse::<f64>().unwrap() / scale.value() - 1.0).abs() < 1e-12);
        }
    }
}
