//! Requests of the IIIF Image API 3.0 (<https://iiif.io/api/image/3.0/>), below `/iiif/<id>`:
//! `/{region}/{size}/{rotation}/{quality}.{format}` is a picture, `/info.json` its description. What is well formed and
//! beyond level 0 of the API is told from what is malformed.

use edgezoom_content::TileFormat;
use percent_encoding::percent_decode_str;

/// What is asked for of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IiifRequest {
    /// The base URI.
    Base,
    /// `/info.json`: the description of the picture.
    Info,
    /// `/manifest.json`: the picture as an object of the Presentation API.
    Manifest,
    /// A part of the picture.
    Image(Result<ImageRequest, ImageRequestError>),
}

/// A part of a picture in a size, neither turned nor in other colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageRequest {
    /// Which part; `None`: the whole picture.
    pub region: Option<Region>,
    /// In which size.
    pub size: ImageSize,
    /// In which format.
    pub format: TileFormat,
}

/// A rectangle of the full picture in pixels, neither side of it zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// From the left.
    pub x: u32,
    /// From the top.
    pub y: u32,
    /// To the right; it may end beyond the picture.
    pub width: u32,
    /// Downwards; it may end beyond the picture.
    pub height: u32,
}

/// The size that a region is scaled to. A side that is not given follows from the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSize {
    /// The region's own.
    Max,
    /// `w,h`, `w,` or `,h`.
    Sides {
        /// In pixels.
        width: Option<u32>,
        /// In pixels.
        height: Option<u32>,
    },
}

/// Why a part of a picture is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageRequestError {
    /// The request is malformed: 400.
    #[error("The {0} is malformed: see https://iiif.io/api/image/3.0/.")]
    Malformed(&'static str),
    /// The region lies beside the picture: 400.
    #[error("The region is not part of the picture.")]
    Outside,
    /// The size is larger than the region, without asking for that by `^`: 400.
    #[error("The size is larger than the region.")]
    Enlarged,
    /// The request is beyond level 0: 501.
    #[error(
        "Only the sizes and tiles that info.json names are here, upright, in their own colours and format (level 0)."
    )]
    NotImplemented,
}

use ImageRequestError::{Malformed, NotImplemented};

impl IiifRequest {
    /// Parses what follows `/iiif/<id>`, without a slash at the beginning. `None`: no address of the API.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        match path {
            "" => return Some(Self::Base),
            "info.json" => return Some(Self::Info),
            "manifest.json" => return Some(Self::Manifest),
            _ => {}
        }
        let parts: Vec<_> =
            path.split('/').map(|part| percent_decode_str(part).decode_utf8_lossy()).collect();
        let [region, size, rotation, name] = parts.as_slice() else { return None };
        Some(Self::Image(ImageRequest::parse(region, size, rotation, name)))
    }
}

impl ImageRequest {
    fn parse(region: &str, size: &str, rotation: &str, name: &str) -> Result<Self, ImageRequestError> {
        // All parts are parsed before one is refused as beyond level 0: a malformed request is 400 in any case.
        let region = parse_region(region);
        let size = parse_size(size);
        let rotation = parse_rotation(rotation);
        let (quality, format) = name.rsplit_once('.').ok_or(Malformed("format"))?;
        let (quality, format) = (parse_quality(quality), parse_format(format));
        let results = [region.err(), size.err(), rotation.err(), quality.err(), format.err()];
        if let Some(malformed) = results.into_iter().flatten().find(|error| *error != NotImplemented) {
            return Err(malformed);
        }
        rotation?;
        quality?;
        Ok(Self { region: region?, size: size?, format: format? })
    }
}

/// Section 4.1.
fn parse_region(text: &str) -> Result<Option<Region>, ImageRequestError> {
    let malformed = Malformed("region");
    if text == "full" {
        return Ok(None);
    }
    if text == "square" {
        return Err(NotImplemented);
    }
    if let Some(parts) = text.strip_prefix("pct:") {
        let parts: Option<Vec<f64>> = parts.split(',').map(decimal).collect();
        return match parts.as_deref() {
            Some([_, _, width, height]) if *width > 0.0 && *height > 0.0 => Err(NotImplemented),
            _ => Err(malformed),
        };
    }
    let parts: Option<Vec<u32>> = text.split(',').map(integer).collect();
    match parts.as_deref() {
        Some(&[x, y, width, height]) if width > 0 && height > 0 => Ok(Some(Region { x, y, width, height })),
        _ => Err(malformed),
    }
}

/// Section 4.2.
fn parse_size(text: &str) -> Result<ImageSize, ImageRequestError> {
    let malformed = Malformed("size");
    let (enlarged, size) = text.strip_prefix('^').map_or((false, text), |size| (true, size));
    if let Some(percent) = size.strip_prefix("pct:") {
        let percent = decimal(percent).filter(|n| *n > 0.0 && (enlarged || *n <= 100.0));
        return Err(percent.map_or(malformed, |_| NotImplemented));
    }
    let (confined, sides) = size.strip_prefix('!').map_or((false, size), |size| (true, size));
    let parsed = if sides == "max" && !confined {
        ImageSize::Max
    } else {
        let (width, height) = sides.split_once(',').ok_or(malformed)?;
        let side = |text: &str| match text {
            "" => Ok(None),
            text => integer(text).filter(|side| *side > 0).map(Some).ok_or(malformed),
        };
        let (width, height) = (side(width)?, side(height)?);
        let is_given =
            if confined { width.is_some() && height.is_some() } else { width.or(height).is_some() };
        if !is_given {
            return Err(malformed);
        }
        ImageSize::Sides { width, height }
    };
    if enlarged || confined { Err(NotImplemented) } else { Ok(parsed) }
}

/// Section 4.3.
fn parse_rotation(text: &str) -> Result<(), ImageRequestError> {
    let degrees = decimal(text.strip_prefix('!').unwrap_or(text)).filter(|degrees| *degrees <= 360.0);
    match degrees.ok_or(Malformed("rotation"))? {
        0.0 if !text.starts_with('!') => Ok(()),
        _ => Err(NotImplemented),
    }
}

/// Section 4.4.
fn parse_quality(text: &str) -> Result<(), ImageRequestError> {
    match text {
        "default" => Ok(()),
        "color" | "gray" | "bitonal" => Err(NotImplemented),
        _ => Err(Malformed("quality")),
    }
}

/// Section 4.5.
fn parse_format(text: &str) -> Result<TileFormat, ImageRequestError> {
    match text {
        "jpg" => Ok(TileFormat::Jpg),
        "png" => Ok(TileFormat::Png),
        "tif" | "gif" | "jp2" | "pdf" | "webp" => Err(NotImplemented),
        _ => Err(Malformed("format")),
    }
}

/// An integer without a sign.
fn integer(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A number without a sign and without an exponent (section 4.6).
fn decimal(text: &str) -> Option<f64> {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &str) -> Result<ImageRequest, ImageRequestError> {
        match IiifRequest::parse(path) {
            Some(IiifRequest::Image(image)) => image,
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn regions_sizes_and_formats_are_parsed() {
        let jpg = |region, size| Ok(ImageRequest { region, size, format: TileFormat::Jpg });
        let sides = |width, height| ImageSize::Sides { width, height };
        let region = Some(Region { x: 1024, y: 0, width: 512, height: 300 });
        assert_eq!(image("full/max/0/default.jpg"), jpg(None, ImageSize::Max));
        assert_eq!(image("1024,0,512,300/256,150/0/default.jpg"), jpg(region, sides(Some(256), Some(150))));
        assert_eq!(image("1024%2C0%2C512%2C300/256,/0.0/default.jpg"), jpg(region, sides(Some(256), None)));
        assert_eq!(image("full/,150/0/default.jpg"), jpg(None, sides(None, Some(150))));
        assert_eq!(image("full/max/0/default.png").map(|image| image.format), Ok(TileFormat::Png));
    }

    #[test]
    fn what_is_beyond_level_0_is_told_from_what_is_malformed() {
        for path in [
            "square/max/0/default.jpg",
            "pct:10,10.5,80,80/max/0/default.jpg",
            "full/^max/0/default.jpg",
            "full/pct:50/0/default.jpg",
            "full/^pct:150/0/default.jpg",
            "full/!400,300/0/default.jpg",
            "full/^!400,300/0/default.jpg",
            "full/%5E400,/0/default.jpg",
            "full/max/90/default.jpg",
            "full/max/22.5/default.jpg",
            "full/max/!0/default.jpg",
            "full/max/0/gray.jpg",
            "full/max/0/default.webp",
        ] {
            assert_eq!(image(path), Err(NotImplemented), "{path}");
        }
        for path in [
            "/max/0/default.jpg",
            "0,0,10/max/0/default.jpg",
            "0,0,0,10/max/0/default.jpg",
            "0,0,+1,10/max/0/default.jpg",
            "-1,0,1,1/max/0/default.jpg",
            "0,0,1,99999999999/max/0/default.jpg",
            "pct:0,0,0,10/max/0/default.jpg",
            "whole/max/0/default.jpg",
            "full/full/0/default.jpg",
            "full/,/0/default.jpg",
            "full/0,5/0/default.jpg",
            "full/!5,/0/default.jpg",
            "full/pct:101/0/default.jpg",
            "full/pct:0/0/default.jpg",
            "full/max/361/default.jpg",
            "full/max/1e2/default.jpg",
            "full/max//default.jpg",
            "full/max/90/native.jpg",
            "full/max/90/default.jpeg",
            "full/max/0/default",
        ] {
            assert!(matches!(image(path), Err(Malformed(_))), "{path}");
        }
    }

    #[test]
    fn nothing_else_is_an_address_of_the_api() {
        assert_eq!(IiifRequest::parse("info.json"), Some(IiifRequest::Info));
        assert_eq!(IiifRequest::parse("manifest.json"), Some(IiifRequest::Manifest));
        for path in
            ["info.xml", "full/max/default.jpg", "full/max/0/default.jpg/", "a/full/max/0/default.jpg"]
        {
            assert_eq!(IiifRequest::parse(path), None, "{path}");
        }
    }
}
