//! The physical size of a pixel in slides and maps. XResolution counts only in files of scanners that are known to mean
//! the specimen by it: elsewhere it is what a printer should use.
//!
//! | file | statement |
//! |---|---|
//! | Aperio SVS | `MPP` in the description, in micrometres |
//! | Hamamatsu NDPI, Leica SCN | XResolution and YResolution per centimetre |
//! | Ventana BIF | `ScanRes` of `iScan` in the first directory's XML, in micrometres |
//! | OME-TIFF | `PhysicalSizeX` and `PhysicalSizeY` of the `Pixels` with this size |
//! | GeoTIFF | ModelPixelScale, otherwise ModelTransformation, in the unit of the coordinate system |
//!
//! Source: openslide.org/formats for the slides; OME-XML schema 2016-06, `Pixels`; OGC 19-008r4 (GeoTIFF 1.1), 7.1.2,
//! 7.2, annex B.

use edgezoom_geometry::{Scale, ScaleBasis, ScaleUnit, Size};

use super::bif::{attribute, number};
use super::directory::{Directory, Tiff};
use super::tag;

const MICROMETRE: f64 = 1e-6;
/// Value of ResolutionUnit for centimetres.
const CENTIMETRE: u64 = 3;
/// Largest cosine between the axes of pixels that count as rectangles.
const SKEWED: f64 = 0.01;

/// Returns the scale of a picture. `is_page` is true if it was chosen by its number: then it may be a level of a slide
/// whose statement is about the largest one.
pub fn scale(tiff: &mut Tiff, directory: &Directory, size: Size, is_page: bool) -> Option<Scale> {
    if let Some(scale) = of_map(tiff, directory) {
        return Some(scale);
    }
    let first = tiff.directory(tiff.first).ok()?;
    let description = tiff.text(&first, tag::DESCRIPTION).unwrap_or_default();
    if description.contains("<OME ") {
        return of_ome(&description, size);
    }
    if is_page {
        return None;
    }
    if tiff.is_ndpi() {
        return of_resolution(tiff, directory, ScaleBasis::Hamamatsu);
    }
    if description.contains("leica-microsystems.com/scn") {
        return of_resolution(tiff, directory, ScaleBasis::Leica);
    }
    if description.starts_with("Aperio") {
        return of_aperio(&description);
    }
    of_ventana(&tiff.text(&first, tag::XML)?)
}

fn of_aperio(description: &str) -> Option<Scale> {
    let properties = description.split('|').filter_map(|property| property.split_once('='));
    let (_, value) = properties.into_iter().find(|(name, _)| name.trim() == "MPP")?;
    let side = value.trim().parse::<f64>().ok()? * MICROMETRE;
    Scale::new(side, side, ScaleUnit::Metre, ScaleBasis::Aperio)
}

fn of_resolution(tiff: &mut Tiff, directory: &Directory, basis: ScaleBasis) -> Option<Scale> {
    if tiff.first_or(directory, tag::RESOLUTION_UNIT, 0) != CENTIMETRE {
        return None;
    }
    let side = |tag| Some(0.01 / *tiff.fractions(directory, tag)?.first()?);
    Scale::new(side(tag::X_RESOLUTION)?, side(tag::Y_RESOLUTION)?, ScaleUnit::Metre, basis)
}

fn of_ventana(xml: &str) -> Option<Scale> {
    let (_, scan) = xml.split_once("<iScan")?;
    let side = number(scan.split('>').next()?, "ScanRes")? * MICROMETRE;
    Scale::new(side, side, ScaleUnit::Metre, ScaleBasis::Ventana)
}

fn of_ome(xml: &str, size: Size) -> Option<Scale> {
    let mut pixels = xml.split("<Pixels").skip(1).filter_map(|element| element.split('>').next());
    let is_this = |element: &&str| {
        let has = |name, side: u32| number(element, name) == Some(side.into());
        has("SizeX", size.width) && has("SizeY", size.height)
    };
    let element = pixels.find(is_this)?;
    let side = |name, unit| {
        let metres = match attribute(element, unit).unwrap_or("µm") {
            "pm" => 1e-12,
            "Å" => 1e-10,
            "nm" => 1e-9,
            // The micro sign, and the Greek letter.
            "\u{b5}m" | "\u{3bc}m" => MICROMETRE,
            "mm" => 1e-3,
            "cm" => 1e-2,
            "m" => 1.0,
            _ => return None,
        };
        Some(number(element, name)? * metres)
    };
    let (width, height) =
        (side("PhysicalSizeX", "PhysicalSizeXUnit")?, side("PhysicalSizeY", "PhysicalSizeYUnit")?);
    Scale::new(width, height, ScaleUnit::Metre, ScaleBasis::Ome)
}

fn of_map(tiff: &mut Tiff, directory: &Directory) -> Option<Scale> {
    let (unit, factor) = unit_of_map(&tiff.list(directory, tag::GEO_KEYS).ok()??)?;
    if let Some(&[width, height, ..]) = tiff.fractions(directory, tag::GEO_SCALE).as_deref() {
        return Scale::new(width * factor, height * factor, unit, ScaleBasis::GeoTiffScale);
    }
    let matrix = tiff.fractions(directory, tag::GEO_TRANSFORMATION)?;
    let &[a, b, _, _, d, e, ..] = matrix.as_slice() else { return None };
    let (width, height) = (a.hypot(d), b.hypot(e));
    if (a * b + d * e).abs() > SKEWED * width * height {
        return None;
    }
    Scale::new(width * factor, height * factor, unit, ScaleBasis::GeoTiffTransformation)
}

/// Returns the unit of a map's coordinates, and its length. `None` if it is not known, or if it has another length on
/// the ground at each latitude, as in the Mercator projection.
///
/// ```text
/// keys   version: 1  revision  minor revision  count  entries         all are u16
/// entry  key  location: 0 if the value is here  count  value
/// ```
fn unit_of_map(keys: &[u64]) -> Option<(ScaleUnit, f64)> {
    const MODEL: u64 = 1024;
    const ANGULAR_UNIT: u64 = 2054;
    const PROJECTED: u64 = 3072;
    const METHOD: u64 = 3075;
    const LINEAR_UNIT: u64 = 3076;
    const MERCATOR: u64 = 7;
    let (entries, _) = keys.get(4..)?.as_chunks::<4>();
    let value = |key| entries.iter().find(|entry| entry[0] == key && entry[1] == 0).map(|entry| entry[3]);
    match value(MODEL)? {
        1 => {
            let projected = value(PROJECTED);
            if matches!(projected, Some(3857 | 3785 | 3395)) || value(METHOD) == Some(MERCATOR) {
                return None;
            }
            match (value(LINEAR_UNIT), projected) {
                (Some(9001), _) => Some((ScaleUnit::Metre, 1.0)),
                (Some(9002), _) => Some((ScaleUnit::Metre, 0.3048)),
                (Some(9003), _) => Some((ScaleUnit::Metre, 1200.0 / 3937.0)),
                // UTM on WGS 84, ETRS89 and NAD83.
                (None, Some(32601..=32660 | 32701..=32760 | 25828..=25838 | 26901..=26923)) => {
                    Some((ScaleUnit::Metre, 1.0))
                }
                _ => None,
            }
        }
        2 => matches!(value(ANGULAR_UNIT), None | Some(9102)).then_some((ScaleUnit::Degree, 1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_have_the_unit_of_their_coordinates() {
        let keys = |entries: &[[u64; 2]]| {
            let mut keys = vec![1, 1, 0, entries.len() as u64];
            keys.extend(entries.iter().flat_map(|&[key, value]| [key, 0, 1, value]));
            unit_of_map(&keys)
        };
        assert_eq!(keys(&[[1024, 1], [3076, 9001]]), Some((ScaleUnit::Metre, 1.0)));
        assert_eq!(keys(&[[1024, 1], [3072, 2263], [3076, 9003]]), Some((ScaleUnit::Metre, 1200.0 / 3937.0)));
        assert_eq!(keys(&[[1024, 1], [3072, 32633]]), Some((ScaleUnit::Metre, 1.0)));
        assert_eq!(keys(&[[1024, 2], [2054, 9102]]), Some((ScaleUnit::Degree, 1.0)));
        assert_eq!(keys(&[[1024, 1], [3072, 2263]]), None, "feet that the file does not state");
        assert_eq!(keys(&[[1024, 1], [3072, 3857], [3076, 9001]]), None);
        assert_eq!(keys(&[[1024, 1], [3075, 7], [3076, 9001]]), None);
        assert_eq!(keys(&[[1024, 3]]), None);
        assert_eq!(unit_of_map(&[1, 1]), None);
    }

    #[test]
    fn ome_states_the_size_of_each_picture_in_a_unit() {
        let xml = r#"<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">
            <Pixels SizeX="10" SizeY="20" PhysicalSizeX="9" PhysicalSizeY="9"/>
            <Pixels SizeX="30" SizeY="20" PhysicalSizeX="0.5" PhysicalSizeY="500" PhysicalSizeYUnit="nm">"#;
        let scale = |width, height| of_ome(xml, Size { width, height }).map(Scale::value);
        assert_eq!(scale(30, 20), Some(5e-7));
        assert_eq!(scale(10, 20), Some(9e-6));
        assert_eq!(scale(31, 20), None);
    }
}
