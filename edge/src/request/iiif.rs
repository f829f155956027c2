//! Requests of the IIIF Image API 3.0 (<https://iiif.io/api/image/3.0/>), below `/iiif/<id>`:
//! `/{region}/{size}/{rotation}/{quality}.{format}` is an image, `/info.json` its description. `/iiif/<id>:<number>` is a
//! page of a document, as an image of its own. What no configuration of the service supports gets another error than a
//! malformed request.

use edgezoom_regions::{Colours, Format, Region, Turn};
use percent_encoding::percent_decode_str;

use super::decimal::parse_decimal;

/// A request below `/iiif/<id>`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IiifRequest {
    Base,
    /// `/info.json`: the description of the image.
    Info,
    /// `/manifest.json`: the manifest of the Presentation API.
    Manifest,
    /// `/annotations/<number>.json`: the lines of a page, counted from 1, as annotations of the Presentation API.
    Annotations(u32),
    Image(Result<ImageRequest, ImageRequestError>),
}

/// A request for part of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageRequest {
    pub region: RequestedRegion,
    pub size: RequestedSize,
    /// True if the image is mirrored, left to right, before it is turned.
    pub mirrored: bool,
    pub turn: Turn,
    pub colours: Colours,
    pub format: Format,
}

/// The part of the image (section 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestedRegion {
    Full,
    /// The largest square, at the centre.
    Square,
    /// A rectangle that may end beyond the image. Neither side is zero.
    Pixels(Region),
    /// Distances from the left and the top edge, width and height, in percent of the image. Neither side is zero.
    Percent([f64; 4]),
}

/// The size to scale to (section 4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestedSize {
    /// True if the size may be larger than the region: `^`.
    pub upscaled: bool,
    pub form: SizeForm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeForm {
    /// The largest available size.
    Max,
    /// Percent of the region's size.
    Percent(f64),
    /// `w,h`, `w,` or `,h`. A missing side follows from the other one.
    Sides { width: Option<u32>, height: Option<u32> },
    /// `!w,h`: the largest size with the region's aspect ratio within these sides.
    Confined { width: u32, height: u32 },
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
    #[error("The size is larger than the region. For a larger image, begin the size with ^.")]
    Enlarged,
    /// The size is larger than the service makes: 400.
    #[error("The size is larger than maxWidth, maxHeight or maxArea in info.json.")]
    TooLarge,
    /// The service has no such rotation or format: 501.
    #[error("Rotations are multiples of 90 degrees, and formats are jpg, png and webp.")]
    Unsupported,
    /// The service renders no images, and stores no such one: 501.
    #[error(
        "Only level 0 is supported: the sizes and tiles that info.json lists, unrotated, in their own quality and format."
    )]
    NotStored,
}

use ImageRequestError::{Malformed, Unsupported};

impl IiifRequest {
    /// Parses the path after `/iiif/<id>/`. `None`: the API has no such address.
    pub fn parse(path: &str) -> Option<Self> {
        match path {
            "" => return Some(Self::Base),
            "info.json" => return Some(Self::Info),
            "manifest.json" => return Some(Self::Manifest),
            _ => {}
        }
        if let Some(page) = path.strip_prefix("annotations/") {
            return page.strip_suffix(".json").and_then(page_number).map(Self::Annotations);
        }
        let parts: Vec<_> =
            path.split('/').map(|part| percent_decode_str(part).decode_utf8_lossy()).collect();
        match parts.as_slice() {
            [region, size, rotation, name] => {
                Some(Self::Image(ImageRequest::parse(region, size, rotation, name)))
            }
            // A URL's backslash is a slash, so a malformed part may have become two.
            [_, _, _, _, _, ..] => Some(Self::Image(Err(Malformed("address")))),
            _ => None,
        }
    }
}

impl ImageRequest {
    fn parse(region: &str, size: &str, rotation: &str, name: &str) -> Result<Self, ImageRequestError> {
        let region = parse_region(region).ok_or(Malformed("region"))?;
        let size = parse_size(size).ok_or(Malformed("size"))?;
        let rotation = parse_rotation(rotation);
        let (quality, format) = name.rsplit_once('.').ok_or(Malformed("format"))?;
        let colours = parse_quality(quality).ok_or(Malformed("quality"))?;
        let format = parse_format(format);
        // A malformed part is 400, even beside one that is not supported.
        let results = [rotation.err(), format.err()];
        if let Some(malformed) = results.into_iter().flatten().find(|error| *error != Unsupported) {
            return Err(malformed);
        }
        let (mirrored, turn) = rotation?;
        Ok(Self { region, size, mirrored, turn, colours, format: format? })
    }
}

/// Parses the region (section 4.1).
fn parse_region(text: &str) -> Option<RequestedRegion> {
    match text {
        "full" => return Some(RequestedRegion::Full),
        "square" => return Some(RequestedRegion::Square),
        _ => {}
    }
    if let Some(parts) = text.strip_prefix("pct:") {
        let parts: Vec<f64> = parts.split(',').map(parse_decimal).collect::<Option<_>>()?;
        let [left, top, width, height] = parts.try_into().ok()?;
        return (width > 0.0 && height > 0.0).then_some(RequestedRegion::Percent([left, top, width, height]));
    }
    let parts: Vec<u32> = text.split(',').map(integer).collect::<Option<_>>()?;
    let [left, top, width, height] = parts.try_into().ok()?;
    (width > 0 && height > 0).then_some(RequestedRegion::Pixels(Region { left, top, width, height }))
}

/// Parses the size (section 4.2).
fn parse_size(text: &str) -> Option<RequestedSize> {
    let (upscaled, size) = text.strip_prefix('^').map_or((false, text), |size| (true, size));
    let form = if size == "max" {
        SizeForm::Max
    } else if let Some(percent) = size.strip_prefix("pct:") {
        SizeForm::Percent(parse_decimal(percent).filter(|n| *n > 0.0 && (upscaled || *n <= 100.0))?)
    } else {
        let (confined, sides) = size.strip_prefix('!').map_or((false, size), |sides| (true, sides));
        let (width, height) = sides.split_once(',')?;
        let side = |text: &str| match text {
            "" => Some(None),
            text => integer(text).filter(|side| *side > 0).map(Some),
        };
        match (side(width)?, side(height)?) {
            (Some(width), Some(height)) if confined => SizeForm::Confined { width, height },
            (width, height) if !confined && width.or(height).is_some() => SizeForm::Sides { width, height },
            _ => return None,
        }
    };
    Some(RequestedSize { upscaled, form })
}

/// Parses the rotation (section 4.3).
fn parse_rotation(text: &str) -> Result<(bool, Turn), ImageRequestError> {
    let (mirrored, degrees) = text.strip_prefix('!').map_or((false, text), |degrees| (true, degrees));
    let degrees = parse_decimal(degrees).filter(|degrees| *degrees <= 360.0).ok_or(Malformed("rotation"))?;
    let turn =
        Turn::ALL.into_iter().zip([0.0, 90.0, 180.0, 270.0]).find(|(_, turned)| degrees % 360.0 == *turned);
    turn.map(|(turn, _)| (mirrored, turn)).ok_or(Unsupported)
}

/// Parses the quality (section 4.4).
fn parse_quality(text: &str) -> Option<Colours> {
    match text {
        "default" | "color" => Some(Colours::Colour),
        "gray" => Some(Colours::Grey),
        "bitonal" => Some(Colours::Bitonal),
        _ => None,
    }
}

/// Parses the format (section 4.5).
fn parse_format(text: &str) -> Result<Format, ImageRequestError> {
    match text {
        "jpg" => Ok(Format::Jpg),
        "png" => Ok(Format::Png),
        "webp" => Ok(Format::WebP),
        "tif" | "gif" | "jp2" | "pdf" => Err(Unsupported),
        _ => Err(Malformed("format")),
    }
}

/// Parses the number of a page, counted from 1.
pub fn page_number(text: &str) -> Option<u32> {
    integer(text).filter(|page| *page > 0 && !text.starts_with('0'))
}

/// Parses an integer without a sign.
fn integer(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
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
    fn regions_are_parsed() {
        let region = |text: &str| image(&format!("{text}/max/0/default.jpg")).map(|image| image.region);
        let pixels = RequestedRegion::Pixels(Region { left: 1024, top: 0, width: 512, height: 300 });
        assert_eq!(region("full"), Ok(RequestedRegion::Full));
        assert_eq!(region("square"), Ok(RequestedRegion::Square));
        assert_eq!(region("1024,0,512,300"), Ok(pixels));
        assert_eq!(region("1024%2C0%2C512%2C300"), Ok(pixels));
        assert_eq!(region("pct:10,0,.5,100"), Ok(RequestedRegion::Percent([10.0, 0.0, 0.5, 100.0])));
        for text in [
            "",
            "whole",
            "0,0,10",
            "0,0,0,10",
            "0,0,+1,10",
            "-1,0,1,1",
            "0,0,1,99999999999",
            "pct:0,0,0,10",
            "pct:0,0,10",
            "pct:0,0,1e1,10",
            "pct:0,0,.,10",
        ] {
            assert_eq!(region(text), Err(Malformed("region")), "{text}");
        }
    }

    #[test]
    fn sizes_are_parsed() {
        let size = |text: &str| {
            let size = image(&format!("full/{text}/0/default.jpg"))?.size;
            Ok((size.upscaled, size.form))
        };
        let sides = |width, height| SizeForm::Sides { width, height };
        assert_eq!(size("max"), Ok((false, SizeForm::Max)));
        assert_eq!(size("^max"), Ok((true, SizeForm::Max)));
        assert_eq!(size("256,150"), Ok((false, sides(Some(256), Some(150)))));
        assert_eq!(size("256,"), Ok((false, sides(Some(256), None))));
        assert_eq!(size("%5E,150"), Ok((true, sides(None, Some(150)))));
        assert_eq!(size("!400,300"), Ok((false, SizeForm::Confined { width: 400, height: 300 })));
        assert_eq!(size("^!400,300"), Ok((true, SizeForm::Confined { width: 400, height: 300 })));
        assert_eq!(size("pct:50"), Ok((false, SizeForm::Percent(50.0))));
        assert_eq!(size("^pct:150"), Ok((true, SizeForm::Percent(150.0))));
        for text in
            ["full", ",", "0,5", "!5,", "!max", "pct:101", "pct:0", "^pct:0", "pct:", "!^5,5", "5", "5,5,5"]
        {
            assert_eq!(size(text), Err(Malformed("size")), "{text}");
        }
    }

    #[test]
    fn rotations_qualities_and_formats_are_parsed() {
        let rotation = |text: &str| {
            image(&format!("full/max/{text}/gray.png")).map(|image| (image.mirrored, image.turn))
        };
        for (text, parsed) in [
            ("0", (false, Turn::None)),
            ("0.0", (false, Turn::None)),
            ("90", (false, Turn::Right)),
            ("!270", (true, Turn::Left)),
            ("360", (false, Turn::None)),
        ] {
            assert_eq!(rotation(text), Ok(parsed), "{text}");
        }
        assert_eq!([rotation("22.5"), rotation("!1")], [Err(Unsupported); 2]);
        for text in ["361", "1e2", "", "!", "-90"] {
            assert_eq!(rotation(text), Err(Malformed("rotation")), "{text}");
        }
        let name =
            |text: &str| image(&format!("full/max/0/{text}")).map(|image| (image.colours, image.format));
        assert_eq!(name("default.jpg"), Ok((Colours::Colour, Format::Jpg)));
        assert_eq!(name("color.webp"), Ok((Colours::Colour, Format::WebP)));
        assert_eq!(name("gray.png"), Ok((Colours::Grey, Format::Png)));
        assert_eq!(name("bitonal.png"), Ok((Colours::Bitonal, Format::Png)));
        assert_eq!(name("native.jpg"), Err(Malformed("quality")));
        assert_eq!([name("default"), name("default.jpeg")], [Err(Malformed("format")); 2]);
        for format in ["tif", "gif", "jp2", "pdf"] {
            assert_eq!(name(&format!("default.{format}")), Err(Unsupported));
        }
    }

    #[test]
    fn a_malformed_request_is_malformed_although_it_is_not_supported_either() {
        assert_eq!(image("full/max/22.5/native.jpg"), Err(Malformed("quality")));
        assert_eq!(image("full/max/22.5/default.jpeg"), Err(Malformed("format")));
        assert_eq!(image("full/max/361/default.tif"), Err(Malformed("rotation")));
    }

    #[test]
    fn the_api_has_no_other_addresses() {
        assert_eq!(IiifRequest::parse("info.json"), Some(IiifRequest::Info));
        assert_eq!(IiifRequest::parse("manifest.json"), Some(IiifRequest::Manifest));
        for path in ["info.xml", "full/max/default.jpg"] {
            assert_eq!(IiifRequest::parse(path), None, "{path}");
        }
        for path in ["full/max/0/default.jpg/", "a/full/max/0/default.jpg"] {
            assert_eq!(image(path), Err(Malformed("address")), "{path}");
        }
    }
}
