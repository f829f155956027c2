//! A pyramid by IIIF's APIs: `info.json` of the Image API 3.0 (section 5), the image that a request selects, and the
//! [`manifest`]. Level 0 of the Image API names the
//! stored tiles and the preview in another way; its maximum size is that of the preview, so that clients without tiles
//! have a picture too. Where the service renders, it has level 2.

mod image;
mod manifest;

pub use image::{StoredImage, canonical_path, select};
pub use manifest::{has_canvases, manifest};

use edgezoom_content::{Dzi, PreviewKind, RightsUri, Size, StoredPage, TileFormat};
use edgezoom_regions::{MAX_PIXELS, Region, Rendering};
use http::StatusCode;

use crate::response::element::Element::{self, Count, Object, Printed, Text};
use crate::response::{CachePolicy, Response};
use image::{MAX_SIDE, scale_factor};

const IMAGE: &str = "http://iiif.io/api/image/3/context.json";

/// Minimum longer side, in pixels, of the sizes in `info.json`: smaller ones are of no use to clients.
const MIN_SIDE: u32 = 32;

/// Returns the profile of the Image API. `renders`: the service renders what is not stored.
pub fn profile(renders: bool) -> &'static str {
    if renders { "level2" } else { "level0" }
}

/// Side of the tiles of a page of a document. They are rendered, and a client may have few renderings.
const PAGE_TILE: u32 = 1024;
/// Returns the pyramid that a page of a picture seems to have.
pub fn page_dzi(dzi: &Dzi, page: &StoredPage) -> Dzi {
    let [_, _, width, height] = page.at;
    Dzi { size: Size { width, height }, tile_size: PAGE_TILE, tile_overlap: 0, tile_format: dzi.tile_format }
}

/// Returns the rendering of part of a page as one of the picture.
pub fn of_picture(rendering: Rendering, page: &StoredPage) -> Rendering {
    let Region { left, top, width, height } = rendering.region;
    let region = Region { left: left + page.at[0], top: top + page.at[1], width, height };
    Rendering { region, ..rendering }
}

/// Returns the description of the image with a base URI, `info.json`. `rights` is the URI of its licence.
pub fn description(base: String, dzi: &Dzi, rights: Option<&RightsUri>, renders: bool) -> Response {
    let one_tile = least_level(dzi);
    let preview = PreviewKind::Large.size(dzi.size);
    let is_limited = preview != dzi.size;
    let sizes = sizes(dzi, preview)
        .into_iter()
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
        ("id", Text(base)),
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
    fields.extend(rights.map(|uri| ("rights", text(uri.as_str()))));
    document("application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\"", fields)
}

/// Returns the sizes in `info.json`. OpenSeadragon before version 6 takes them for those of the levels if there are as
/// many as scale factors, or one fewer. So there are two fewer, or the levels themselves.
fn sizes(dzi: &Dzi, preview: Size) -> Vec<Size> {
    let one_tile = least_level(dzi);
    let factors = dzi.max_level() - one_tile + 1;
    if factors < 3 {
        let levels = (one_tile..=dzi.max_level()).map(|level| dzi.level_size(level));
        return levels.filter(|size| preview == dzi.size || *size != dzi.size).collect();
    }
    let least = (one_tile + 4).saturating_sub(factors);
    let levels = (least..=one_tile).map(|level| dzi.level_size(level));
    let useful = levels.filter(|size| size.width.max(size.height) >= MIN_SIDE && *size != preview);
    useful.chain([preview]).collect()
}

fn sides(Size { width, height }: Size) -> [(&'static str, Element); 2] {
    [("width", Count(width.into())), ("height", Count(height.into()))]
}

fn document(media_type: &'static str, fields: Vec<(&'static str, Element)>) -> Response {
    Response::new(StatusCode::OK, media_type, CachePolicy::OneHour, Object(fields).json()).tagged()
}

#[inline(never)] // it is called some sixty times
fn text(constant: &str) -> Element {
    Text(constant.to_owned())
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

    /// Returns the levels that OpenSeadragon 4 and 5 make of the sizes, as powers of two; `None` if they take them for
    /// something else. <https://github.com/openseadragon/openseadragon/blob/v5.0.1/src/iiiftilesource.js>
    fn levels_of(info: &serde_json::Value) -> Option<Vec<f64>> {
        let width = info["width"].as_f64().unwrap();
        let mut widths: Vec<f64> =
            info["sizes"].as_array().unwrap().iter().map(|size| size["width"].as_f64().unwrap()).collect();
        let max_level = info["tiles"][0]["scaleFactors"].as_array().unwrap().len() - 1;
        if widths.len() == max_level {
            widths.push(width);
        }
        (widths.len() == max_level + 1).then(|| widths.iter().map(|at| (width / at).log2()).collect())
    }

    #[test]
    fn sizes_are_not_taken_for_those_of_the_levels_unless_they_are() {
        for (side, tile_size) in
            (1..=200).flat_map(|step| [256, 512, PAGE_TILE].map(|tile| (step * 97, tile)))
        {
            for renders in [false, true] {
                let dzi = Dzi { tile_size, ..dzi(side, side * 2 / 3 + 1) };
                let info = description(String::new(), &dzi, None, renders).body;
                let info: serde_json::Value = serde_json::from_str(&info).unwrap();
                let levels = levels_of(&info).unwrap_or_default();
                for (level, scale) in levels.iter().rev().enumerate() {
                    assert!((scale - level as f64).abs() < 0.01, "{info}");
                }
                let sizes = info["sizes"].as_array().unwrap();
                assert!(!sizes.is_empty(), "{info}");
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
