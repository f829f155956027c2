//! A pyramid by IIIF's APIs: `info.json` of the Image API 3.0 (section 5), a manifest of the Presentation API 3.0
//! (<https://iiif.io/api/presentation/3.0/>), and the image that a request selects. Level 0 of the Image API names the
//! stored tiles and the preview in another way; its maximum size is that of the preview, so that clients without tiles
//! have a picture too. Where the service renders, it has level 2.

mod image;

pub use image::{StoredImage, canonical_path, select};

use edgezoom_content::{Content, ContentId, Dzi, PreviewKind, Size, TileFormat};
use edgezoom_regions::MAX_PIXELS;
use http::StatusCode;

use crate::config::Addresses;
use crate::response::element::Element::{self, Count, Object, Printed, Text};
use crate::response::{CachePolicy, Response};
use image::{MAX_SIDE, full, scale_factor};

const IMAGE: &str = "http://iiif.io/api/image/3/context.json";
const PRESENTATION: &str = "http://iiif.io/api/presentation/3/context.json";

/// Minimum longer side, in pixels, of the sizes in `info.json`: smaller ones are of no use to clients.
const MIN_SIDE: u32 = 32;

/// Returns the profile of the Image API. `renders`: the service renders what is not stored.
pub fn profile(renders: bool) -> &'static str {
    if renders { "level2" } else { "level0" }
}

/// Returns the description of the image, `info.json`.
pub fn description(id: ContentId, dzi: &Dzi, addresses: &Addresses, renders: bool) -> Response {
    let one_tile = least_level(dzi);
    let useful = |level: &u32| {
        let size = dzi.level_size(*level);
        *level == one_tile || size.width.max(size.height) >= MIN_SIDE
    };
    // If there are as many sizes, the full one included, as scale factors, OpenSeadragon takes them for those of the
    // levels.
    let preview = PreviewKind::Large.size(dzi.size);
    let is_limited = preview != dzi.size;
    let factors = dzi.max_level() - one_tile + 1;
    let most_sizes = match factors {
        3 if is_limited => 2,
        _ => factors.saturating_sub(if is_limited { 3 } else { 2 }).max(1),
    };
    let least = (one_tile + 1).saturating_sub(most_sizes);
    let levels = (least..=one_tile).filter(useful).map(|level| dzi.level_size(level));
    let sizes = levels
        .chain(Some(preview).filter(|size| *size != dzi.level_size(one_tile)))
        .map(|size| Object(vec![("width", Count(size.width.into())), ("height", Count(size.height.into()))]));
    let factors = (one_tile..=dzi.max_level()).rev().map(|level| Count(scale_factor(dzi, level)));
    let tiles = Object(vec![
        ("width", Count(dzi.tile_size.into())),
        ("height", Count(dzi.tile_size.into())),
        ("scaleFactors", list(factors)),
    ]);
    let count = |number: u32| Count(number.into());
    let texts = |texts: &[&str]| list(texts.iter().map(|constant| text(constant)));
    let mut fields = vec![
        ("@context", text(IMAGE)),
        ("id", Text(addresses.iiif(id))),
        ("type", text("ImageService3")),
        ("protocol", text("http://iiif.io/api/image")),
        ("profile", text(profile(renders))),
        ("width", count(dzi.size.width)),
        ("height", count(dzi.size.height)),
    ];
    if renders {
        fields.push(("maxWidth", count(MAX_SIDE)));
        fields.push(("maxHeight", count(MAX_SIDE)));
        fields.push(("maxArea", Count(MAX_PIXELS)));
    } else if is_limited {
        // The same holds for the height.
        fields.push(("maxWidth", count(PreviewKind::Large.long_side())));
    }
    fields.extend([("sizes", list(sizes)), ("tiles", list([tiles]))]);
    let is_png = dzi.tile_format == TileFormat::Png;
    if is_png {
        fields.push(("preferredFormats", texts(&["png"])));
    }
    if renders {
        fields.push(("extraFormats", texts(&["webp"])));
        fields.push(("extraQualities", texts(&["bitonal"])));
        let features = ["canonicalLinkHeader", "mirroring", "profileLinkHeader", "sizeUpscaling"];
        fields.push(("extraFeatures", texts(&features)));
    } else {
        if is_png {
            fields.push(("extraFormats", texts(&["png"])));
        }
        let features =
            ["baseUriRedirect", "canonicalLinkHeader", "cors", "jsonldMediaType", "profileLinkHeader"];
        fields.push(("extraFeatures", texts(&features)));
    }
    document("application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\"", fields)
}

/// Returns the manifest, with one canvas and the picture's `name` as its label.
pub fn manifest(content: &Content, name: &str, addresses: &Addresses, renders: bool) -> Option<Response> {
    let dzi = &content.status.finished()?.dzi;
    let id = content.id;
    let base = addresses.iiif(content.id);
    let here = |part: &str| Text(format!("{base}/{part}"));
    let sides = |width: u32, height: u32| [("width", Count(width.into())), ("height", Count(height.into()))];
    let service = || {
        let image = [
            ("id", Text(base.clone())),
            ("type", text("ImageService3")),
            ("profile", text(profile(renders))),
        ];
        list([Object(image.into())])
    };
    let picture = |size: Size, format: TileFormat| {
        let path = canonical_path(&full(size, format, dzi), dzi, renders);
        let mut fields =
            vec![("id", here(&path)), ("type", text("Image")), ("format", text(format.media_type()))];
        fields.extend(sides(size.width, size.height));
        fields.push(("service", service()));
        Object(fields)
    };
    // Clients without tiles show this image alone.
    let body = picture(PreviewKind::Large.size(dzi.size), TileFormat::Jpg);
    let annotation = Object(vec![
        ("id", here("annotation/1")),
        ("type", text("Annotation")),
        ("motivation", text("painting")),
        ("body", body),
        ("target", here("canvas/1")),
    ]);
    let page =
        Object(vec![("id", here("page/1")), ("type", text("AnnotationPage")), ("items", list([annotation]))]);
    let mut canvas = vec![("id", here("canvas/1")), ("type", text("Canvas"))];
    canvas.extend(sides(dzi.size.width, dzi.size.height));
    canvas.push(("items", list([page])));
    let source = Object(vec![
        ("label", in_language("en", "Source")),
        ("value", in_language("none", content.url.as_str())),
    ]);
    let homepage = Object(vec![
        ("id", Text(addresses.share(id))),
        ("type", text("Text")),
        ("label", in_language("en", "To zoom into")),
        ("format", text("text/html")),
    ]);
    let download = Object(vec![
        ("id", Text(format!("{}/download", addresses.share(id)))),
        ("type", text("Dataset")),
        ("label", in_language("en", "Deep Zoom Image in one file")),
        ("format", text("application/zip")),
    ]);
    let fields = vec![
        ("@context", text(PRESENTATION)),
        ("id", here("manifest.json")),
        ("type", text("Manifest")),
        ("label", in_language("none", name)),
        ("metadata", list([source])),
        ("homepage", list([homepage])),
        ("thumbnail", list([picture(dzi.level_size(least_level(dzi)), dzi.tile_format)])),
        ("rendering", list([download])),
        ("items", list([Object(canvas)])),
    ];
    let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
    Some(document(media_type, fields))
}

fn document(media_type: &'static str, fields: Vec<(&'static str, Element)>) -> Response {
    Response::new(StatusCode::OK, media_type, CachePolicy::OneHour, Object(fields).json()).tagged()
}

fn text(constant: &str) -> Element {
    Text(constant.to_owned())
}

/// Returns a language map with one text.
fn in_language(language: &'static str, value: &str) -> Element {
    Object(vec![(language, list([text(value)]))])
}

fn list(items: impl IntoIterator<Item = Element>) -> Element {
    let items: Vec<String> = items.into_iter().map(Element::json).collect();
    Printed(format!("[{}]", items.join(",")))
}

/// Returns the smallest level in `info.json`: the largest that is one tile.
fn least_level(dzi: &Dzi) -> u32 {
    (0..=dzi.max_level()).rev().find(|level| dzi.grid(*level) == (1, 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dzi(width: u32, height: u32) -> Dzi {
        Dzi { size: Size { width, height }, tile_size: 512, tile_overlap: 0, tile_format: TileFormat::Jpg }
    }

    /// OpenSeadragon counts the sizes below the full one, which it adds, and compares with the number of scale factors.
    #[test]
    fn sizes_are_not_taken_for_those_of_the_levels_unless_they_are() {
        let addresses = Addresses { base: String::new(), share: String::new(), cache: String::new() };
        for side in (1..=200).map(|step| step * 97) {
            for renders in [false, true] {
                let dzi = dzi(side, side * 2 / 3 + 1);
                let info = description("6qy4OXfXSid".parse().unwrap(), &dzi, &addresses, renders).body;
                let info: serde_json::Value = serde_json::from_str(&info).unwrap();
                let count = |list: &serde_json::Value| list.as_array().unwrap().len();
                let sizes = info["sizes"].as_array().unwrap();
                let has_full = sizes.iter().any(|size| size["width"] == side);
                let levels = count(&info["tiles"][0]["scaleFactors"]);
                let halves: Vec<_> =
                    sizes.iter().map(|size| f64::from(side) / size["width"].as_f64().unwrap()).collect();
                let are_levels =
                    halves.iter().all(|scale| (scale.log2() - scale.log2().round()).abs() < 0.01);
                assert!(sizes.len() + usize::from(!has_full) != levels || are_levels, "{side}: {info}");
                assert!(
                    sizes.windows(2).all(|two| two[0]["width"].as_u64() < two[1]["width"].as_u64()),
                    "{info}"
                );
                let max = if renders { Some(2048) } else { (side > 1200).then_some(1200) };
                assert_eq!(info["maxWidth"].as_u64(), max);
            }
        }
    }
}
