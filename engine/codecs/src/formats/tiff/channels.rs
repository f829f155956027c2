//! Pictures of microscopes whose red, green and blue are pages of their own.
//!
//! Source: OME-TIFF specification 6.3 (`DimensionOrder`, `TiffData`); Akoya Biosciences, "QPTIFF file format", 2021.

use edgezoom_geometry::Size;

use super::bif::{attribute, number};
use crate::format::Decoded;
use crate::{Layout, RowReader, SourceError};

/// Number of the channels that are colours.
const COLOURS: usize = 3;

/// Begins the description of each picture of a QPTIFF.
const QPTIFF: &str = "<PerkinElmer-QPI-ImageDescription";

/// Returns true if a description is that of a picture in a QPTIFF.
pub fn is_qptiff(description: &str) -> bool {
    description.contains(QPTIFF)
}

/// Returns the kind of a picture in a QPTIFF: `FullResolution`, `ReducedResolution`, `Thumbnail`, `Overview`, `Label`.
pub fn kind_in_qptiff(description: &str) -> Option<&str> {
    let (_, kind) = description.split_once(QPTIFF)?.1.split_once("<ImageType>")?;
    kind.split('<').next().map(str::trim)
}

/// Returns the pages of red, green and blue that the description of an OME-TIFF states for a picture of this size.
///
/// ```text
/// <Pixels DimensionOrder="XYCZT" SizeX="…" SizeY="…" SizeC="3" SizeZ="1" SizeT="1">
///   <TiffData IFD="0" PlaneCount="3"/>, or one for each page: <TiffData FirstC="1" IFD="1"/>
/// ```
pub fn of_ome(xml: &str, Size { width, height }: Size) -> Option<[usize; COLOURS]> {
    let (_, pixels) = xml.split_once("<Pixels")?;
    let size =
        |name| number(pixels, name).filter(|size| (1.0..=1e6).contains(size)).map(|size| size as usize);
    let is_this = size("SizeX") == Some(width as usize) && size("SizeY") == Some(height as usize);
    if !is_this || size("SizeC") != Some(COLOURS) {
        return None;
    }
    let order = attribute(pixels, "DimensionOrder").unwrap_or("XYCZT");
    let before = order.strip_prefix("XY")?.split('C').next()?;
    let step = before.chars().filter_map(|axis| {
        size(match axis {
            'Z' => "SizeZ",
            _ => "SizeT",
        })
    });
    let step: usize = step.product();
    let pixels = pixels.split("</Pixels").next()?;
    let blocks: Vec<&str> =
        pixels.split("<TiffData").skip(1).filter_map(|block| block.split('>').next()).collect();
    let of_block = |block: &str, name| {
        number(block, name).filter(|value| (0.0..=1e6).contains(value)).map(|value| value as usize)
    };
    let first = blocks.first().and_then(|block| of_block(block, "IFD")).unwrap_or(0);
    let page = |channel: usize| {
        let is_own = |block: &&&str| {
            let at = |name| of_block(block, name).unwrap_or(0);
            blocks.len() > 1 && (at("FirstC"), at("FirstZ"), at("FirstT")) == (channel, 0, 0)
        };
        let stated = blocks.iter().find(is_own).and_then(|block| of_block(block, "IFD"));
        stated.unwrap_or(first + channel * step)
    };
    Some([page(0), page(1), page(2)])
}

/// Puts grey pictures of the same size together as red, green and blue.
pub fn merge(channels: Vec<Box<dyn RowReader>>) -> Result<Decoded, SourceError> {
    let size = channels.first().map(|channel| channel.size()).ok_or(SourceError::Empty)?;
    let mut channels: Vec<_> =
        channels.into_iter().map(|channel| (channel, vec![0; size.width as usize])).collect();
    Ok(Decoded::rows(size, Layout::Rgb, move |row| {
        for (index, (channel, greys)) in channels.iter_mut().enumerate() {
            channel.read_rows(greys)?;
            let places = row.iter_mut().skip(index).step_by(COLOURS);
            places.zip(&*greys).for_each(|(place, &grey)| *place = grey);
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(pixels: &str, blocks: &str) -> Option<[usize; 3]> {
        let xml =
            format!("<OME><Image><Pixels {pixels} SizeX=\"30\" SizeY=\"20\">{blocks}</Pixels></Image></OME>");
        of_ome(&xml, Size { width: 30, height: 20 })
    }

    #[test]
    fn the_pages_of_channels_follow_from_the_order_of_dimensions() {
        let one = "<TiffData IFD=\"0\" PlaneCount=\"3\"/>";
        assert_eq!(
            pages("DimensionOrder=\"XYCZT\" SizeC=\"3\" SizeZ=\"1\" SizeT=\"1\"", one),
            Some([0, 1, 2])
        );
        assert_eq!(
            pages("DimensionOrder=\"XYZCT\" SizeC=\"3\" SizeZ=\"4\" SizeT=\"2\"", ""),
            Some([0, 4, 8])
        );
        assert_eq!(
            pages("DimensionOrder=\"XYTZC\" SizeC=\"3\" SizeZ=\"4\" SizeT=\"2\"", ""),
            Some([0, 8, 16])
        );
        let each = "<TiffData FirstC=\"0\" IFD=\"2\"/><TiffData FirstC=\"1\" IFD=\"1\"/><TiffData FirstC=\"2\" IFD=\"0\"/>";
        assert_eq!(
            pages("DimensionOrder=\"XYCZT\" SizeC=\"3\" SizeZ=\"1\" SizeT=\"1\"", each),
            Some([2, 1, 0])
        );
        assert_eq!(pages("DimensionOrder=\"XYCZT\" SizeC=\"2\" SizeZ=\"1\" SizeT=\"1\"", ""), None);
        assert_eq!(pages("SizeC=\"3\" SizeZ=\"1e99\"", ""), Some([0, 1, 2]));
    }

    #[test]
    fn a_qptiff_names_the_kind_of_each_picture() {
        let description = "<?xml?><PerkinElmer-QPI-ImageDescription><ImageType>Thumbnail</ImageType>";
        assert_eq!(kind_in_qptiff(description), Some("Thumbnail"));
        assert_eq!(kind_in_qptiff("<ImageType>Thumbnail</ImageType>"), None);
    }
}
