//! `info.json` of the Image API 3.0 (section 5), and a manifest of the Presentation API 3.0
//! (<https://iiif.io/api/presentation/3.0/>) with one canvas.

use edgezoom_content::{Content, ContentId, Dzi, Finished, TileFormat};
use http::StatusCode;

use super::tiles::{canonical_path, least_level, scale_factor};
use crate::config::Addresses;
use crate::request::object_key::PyramidObject;
use crate::response::element::Element::{self, Count, Object, Printed, Text};
use crate::response::{CachePolicy, Response};

const IMAGE: &str = "http://iiif.io/api/image/3/context.json";
const PRESENTATION: &str = "http://iiif.io/api/presentation/3/context.json";

/// Sizes of the whole with a longer side of fewer pixels are of no use to clients.
const LEAST_SIDE: u32 = 32;

/// The description of the picture, at `/iiif/<id>/info.json`.
#[must_use]
pub fn description(id: ContentId, dzi: &Dzi, addresses: &Addresses) -> Response {
    let one_tile = least_level(dzi);
    let useful = |level: &u32| {
        let size = dzi.level_size(*level);
        *level == one_tile || size.width.max(size.height) >= LEAST_SIDE
    };
    // OpenSeadragon takes as many sizes as there are scale factors, or one less, for the sizes of these.
    let most_sizes = dzi.max_level().saturating_sub(one_tile + 1).max(1);
    let least = (one_tile + 1).saturating_sub(most_sizes);
    let sizes = (least..=one_tile).filter(useful).map(|level| {
        let size = dzi.level_size(level);
        Object(vec![("width", Count(size.width.into())), ("height", Count(size.height.into()))])
    });
    let factors = (one_tile..=dzi.max_level()).rev().map(|level| Count(scale_factor(dzi, level)));
    let tiles = Object(vec![
        ("width", Count(dzi.tile_size.into())),
        ("height", Count(dzi.tile_size.into())),
        ("scaleFactors", list(factors)),
    ]);
    let features = ["baseUriRedirect", "canonicalLinkHeader", "cors", "jsonldMediaType", "profileLinkHeader"];
    let mut fields = vec![
        ("@context", text(IMAGE)),
        ("id", Text(addresses.iiif(id))),
        ("type", text("ImageService3")),
        ("protocol", text("http://iiif.io/api/image")),
        ("profile", text("level0")),
        ("width", Count(dzi.size.width.into())),
        ("height", Count(dzi.size.height.into())),
        ("sizes", list(sizes)),
        ("tiles", list([tiles])),
    ];
    if dzi.tile_format == TileFormat::Png {
        fields.push(("preferredFormats", list([text("png")])));
        fields.push(("extraFormats", list([text("png")])));
    }
    fields.push(("extraFeatures", list(features.map(text))));
    document("application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\"", fields)
}

/// The picture as an object with one view, at `/iiif/<id>/manifest.json`. `name` is what it is called.
#[must_use]
pub fn manifest(content: &Content, name: &str, addresses: &Addresses) -> Option<Response> {
    let Finished { dzi, archive, .. } = content.status.finished()?;
    let (id, base) = (content.id, addresses.iiif(content.id));
    let here = |part: &str| Text(format!("{base}/{part}"));
    let sides = |width: u32, height: u32| [("width", Count(width.into())), ("height", Count(height.into()))];
    let service = || {
        let image =
            [("id", Text(base.clone())), ("type", text("ImageService3")), ("profile", text("level0"))];
        list([Object(image.into())])
    };
    let picture = |level: u32| {
        let object = PyramidObject::Tile { level, column: 0, row: 0, format: dzi.tile_format };
        let size = dzi.level_size(level);
        let mut fields = vec![
            ("id", here(&canonical_path(object, dzi))),
            ("type", text("Image")),
            ("format", text(dzi.tile_format.media_type())),
        ];
        fields.extend(sides(size.width, size.height));
        fields.push(("service", service()));
        Object(fields)
    };
    let one_tile = least_level(dzi);
    let annotation = Object(vec![
        ("id", here("annotation/1")),
        ("type", text("Annotation")),
        ("motivation", text("painting")),
        ("body", picture(one_tile)),
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
    let mut fields = vec![
        ("@context", text(PRESENTATION)),
        ("id", here("manifest.json")),
        ("type", text("Manifest")),
        ("label", in_language("none", name)),
        ("metadata", list([source])),
        ("homepage", list([homepage])),
        ("thumbnail", list([picture(one_tile)])),
    ];
    if archive.is_some() {
        let download = Object(vec![
            ("id", Text(format!("{}/download", addresses.share(id)))),
            ("type", text("Dataset")),
            ("label", in_language("en", "Deep Zoom Image in one file")),
            ("format", text("application/zip")),
        ]);
        fields.push(("rendering", list([download])));
    }
    fields.push(("items", list([Object(canvas)])));
    let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
    Some(document(media_type, fields))
}

fn document(media_type: &'static str, fields: Vec<(&'static str, Element)>) -> Response {
    Response::new(StatusCode::OK, media_type, CachePolicy::OneHour, Object(fields).json()).tagged()
}

fn text(constant: &str) -> Element {
    Text(constant.to_owned())
}

/// A language map with one text.
fn in_language(language: &'static str, value: &str) -> Element {
    Object(vec![(language, list([text(value)]))])
}

fn list(items: impl IntoIterator<Item = Element>) -> Element {
    let items: Vec<String> = items.into_iter().map(Element::json).collect();
    Printed(format!("[{}]", items.join(",")))
}
