//! Requests of the IIIF Image API 3.0 (<https://iiif.io/api/image/3.0/>), below `/iiif/<id>`:
//! `/{region}/{size}/{rotation}/{quality}.{format}` is an image, `/info.json` its description. Requests beyond level 0
//! of the API get another error than malformed ones.

use edgezoom_content::TileFormat;
use percent_encoding::percent_decode_str;

/// A request below `/iiif/<id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IiifRequest {
    Base,
    /// `/info.json`: the description of the image.
    Info,
    /// `/manifest.json`: the manifest of the Presentation API.
    Manifest,
    Image(Result<ImageRequest, ImageRequestError>),
}

/// A request for part of an image, neither rotated nor in other colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageRequest {
    /// The part; `None`: the full image.
    pub region: Option<Region>,
    /// Size to scale to.
    pub size: ImageSize,
    pub format: TileFormat,
}

/// A rectangle in pixels of the full image. Neither side is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Distance from the left edge.
    pub x: u32,
    /// Distance from the top edge.
    pub y: u32,
    /// Width; the region may end beyond the image.
    pub width: u32,
    /// Height; the region may end beyond the image.
    pub height: u32,
}

/// The size that a region is scaled to. A missing side follows from the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSize {
    /// The region's own size.
    Max,
    /// `w,h`, `w,` or `,h`.
    Sides { width: Option<u32>, height: Option<u32> },
}

/// Why an image request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageRequestError {
    /// The request is malformed: 400.
    #[error("The {0} is malformed. See https://iiif.io/api/image/3.0/.")]
    Malformed(&'static str),
    /// The region is outside the image: 400.
    #[error("The region is outside the image.")]
    Outside,
    /// The size is larger than the region, without the `^` that asks for upscaling: 400.
    #[error("The size is larger than the region.")]
    Enlarged,
    /// The request is beyond level 0: 501.
    #[error(
        "Only level 0 is supported: the sizes and tiles that info.json lists, unrotated, in their own quality and format."
    )]
    NotImplemented,
}

use ImageRequestError::{Malformed, NotImplemented};

impl IiifRequest {
    /// Parses the path after `/iiif/<id>/`. `None`: the API has no such address.
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
        // All parts are parsed before one is refused as beyond level 0: a malformed request is always 400.
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

/// Parses the region (section 4.1).
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

/// Parses the size (section 4.2).
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

/// Parses the rotation (section 4.3).
fn parse_rotation(text: &str) -> Result<(), ImageRequestError> {
    let degrees = decimal(text.strip_prefix('!').unwrap_or(text)).filter(|degrees| *degrees <= 360.0);
    match degrees.ok_or(Malformed("rotation"))? {
        0.0 if !text.starts_with('!') => Ok(()),
        _ => Err(NotImplemented),
    }
}

/// Parses the quality (section 4.4).
fn parse_quality(text: &str) -> Result<(), ImageRequestError> {
    match text {
        "default" => Ok(()),
        "color" | "gray" | "bitonal" => Err(NotImplemented),
        _ => Err(Malformed("quality")),
    }
}

/// Parses the format (section 4.5).
fn parse_format(text: &str) -> Result<TileFormat, ImageRequestError> {
    match text {
        "jpg" => Ok(TileFormat::Jpg),
        "png" => Ok(TileFormat::Png),
        "tif" | "gif" | "jp2" | "pdf" | "webp" => Err(NotImplemented),
        _ => Err(Malformed("format")),
    }
}

/// Parses an integer without a sign.
fn integer(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses a number without sign or exponent (section 4.6).
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
    fn requests_beyond_level_0_are_not_malformed() {
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
    fn the_api_has_no_other_addresses() {
        assert_eq!(IiifRequest::parse("info.json"), Some(IiifRequest::Info));
        assert_eq!(IiifRequest::parse("manifest.json"), Some(IiifRequest::Manifest));
        for path in
            ["info.xml", "full/max/default.jpg", "full/max/0/default.jpg/", "a/full/max/0/default.jpg"]
        {
            assert_eq!(IiifRequest::parse(path), None, "{path}");
        }
    }
}
