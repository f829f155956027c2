//! The size of a pixel on the sky, from the world coordinates of a picture. It holds at the reference pixel: elsewhere
//! the projection decides.
//!
//! ```text
//! CTYPE1 = 'RA---TAN'  CUNIT1 = 'deg'   the axes' kind and unit; degrees if it is missing
//! CD1_1 CD1_2 CD2_1 CD2_2               units per pixel; or CDELT1 CDELT2, with the matrix PC1_1 …
//! ```
//! Source: FITS Standard 4.0, 8.2, 8.3; Greisen and Calabretta, "Representations of world coordinates in FITS" (2002).

use edgezoom_geometry::{Scale, ScaleBasis, ScaleUnit};

use super::cards::Header;

/// Returns the scale if both axes are on the sky.
pub fn scale(header: &Header) -> Option<Scale> {
    let units = [unit(header, 1)?, unit(header, 2)?];
    let number = |keyword: &str| header.number(keyword);
    let matrix = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(i, j)| number(&format!("CD{i}_{j}")));
    let step = |axis: usize, pixel: usize| {
        if matrix.iter().any(Option::is_some) {
            return Some(matrix[2 * (axis - 1) + pixel - 1].unwrap_or(0.0));
        }
        let identity = if axis == pixel { 1.0 } else { 0.0 };
        Some(number(&format!("CDELT{axis}"))? * number(&format!("PC{axis}_{pixel}")).unwrap_or(identity))
    };
    let side = |pixel| Some((step(1, pixel)? * units[0]).hypot(step(2, pixel)? * units[1]));
    Scale::new(side(1)?, side(2)?, ScaleUnit::Degree, ScaleBasis::Fits)
}

/// Returns the unit of an axis in degrees. `None` if it is not a longitude or latitude of the sky.
fn unit(header: &Header, axis: usize) -> Option<f64> {
    let kind = header.text(&format!("CTYPE{axis}"))?.split('-').next()?;
    let is_on_sky =
        matches!(kind, "RA" | "DEC") || ["LON", "LAT", "LN", "LT"].iter().any(|end| kind.ends_with(end));
    if !is_on_sky {
        return None;
    }
    match header.text(&format!("CUNIT{axis}")).unwrap_or("deg").trim() {
        "" | "deg" => Some(1.0),
        "arcmin" => Some(1.0 / 60.0),
        "arcsec" => Some(1.0 / 3600.0),
        "mas" => Some(1.0 / 3_600_000.0),
        "rad" => Some(1f64.to_degrees()),
        _ => None,
    }
}
