//! Reads the descriptions of pictures that IIIF viewers open: `info.json` of the Image API 1.0 to 3.0, and manifests of the
//! Presentation API 2 and 3, and Deep Zoom's descriptors. A description leads to the whole picture that its server offers;
//! if it offers none, the [`tiles`] are named, too. Runs only in the sandbox of [`unpack`](super::unpack), because the
//! bytes may be hostile.
//!
//! Source: iiif.io/api/image/1.1, /2.1 (5.3) and /3.0 (4.2, 5 and 5.6); iiif.io/api/presentation/2.1 (3.2, 3.4, 4.3, 5) and
//! /3.0 (3.3, 4.2, 4.5, 5).

mod statements;

use std::io::Read;
use std::num::NonZeroU32;

use edgezoom_codecs::{Mosaic, SourceError};
use edgezoom_content::{Credits, Failure, FailureCode, Size, SourceUrl};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::reported;
use super::tiles::{self, TileUrls, Tiles};
pub(super) use statements::{credits, words};

/// Maximum size of a description. A manifest of a thousand pages has 2 to 4 MiB.
const MAX_BYTES: usize = 8 << 20;

/// How to read a description.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct DescriptionRequest {
    /// URL of the description, to which its own are relative.
    pub url: Option<String>,
    /// Page of a manifest, counted from 1; `None` for the first one.
    pub page: Option<NonZeroU32>,
    /// True if a manifest has led here: only an `info.json` counts.
    pub is_of_manifest: bool,
}

/// The source that a description names, and its credits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// Source of the picture.
    pub target: Target,
    /// Credits.
    pub credits: Box<Credits>,
    /// The tiles, if the server may offer the picture in full resolution only as such.
    pub tiles: Option<Box<Tiles>>,
}

/// Where a description leads. The URL is not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// To the `info.json` of a manifest's page.
    Description(String),
    /// To a picture, and the size that the description states for it.
    Picture(String, Option<Size>),
    /// To tiles alone.
    Tiles,
}

/// Reads a description. Returns `None` for other files.
///
/// # Errors
/// The description leads to no picture.
pub fn read(file: impl Read, request: &DescriptionRequest) -> Result<Option<Lead>, Failure> {
    let mut json = Vec::new();
    let is_read = file.take(MAX_BYTES as u64 + 1).read_to_end(&mut json);
    if is_read.is_ok() && has_word(&json, tiles::NAMESPACE) && !request.is_of_manifest {
        let url = request.url.as_deref().and_then(|url| Url::parse(url).ok());
        let tiles = tiles::read(&String::from_utf8_lossy(&json), url.as_ref())?;
        return Ok(Some(Lead { target: Target::Tiles, credits: Box::default(), tiles: Some(tiles.into()) }));
    }
    // Those of version 1.0 may not name IIIF.
    let is_iiif = ["iiif", "scale_factors"].iter().any(|word| has_word(&json, word));
    if is_read.is_err() || !is_iiif {
        return Ok(None);
    }
    if json.len() > MAX_BYTES {
        let message = format!("The IIIF manifest is larger than {} MiB.", MAX_BYTES >> 20);
        return Err(Failure::new(FailureCode::SourceTooLarge, message));
    }
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&json);
    let description: Value = serde_json::from_slice(json).map_err(|_| broken("it is not valid JSON"))?;
    let mut from = request.url.as_deref().and_then(|url| Url::parse(url).ok());
    from.iter_mut().for_each(|from| from.set_fragment(None));
    if let Some(version) = image_version(&description) {
        return picture(&description, version, from.as_ref()).map(Some);
    }
    if request.is_of_manifest || !says(&description, "@context", &["/api/presentation", "shared-canvas"]) {
        return Ok(None);
    }
    match kind(&description) {
        "Manifest" => of_page(&description, from.as_ref(), request.page).map(Some),
        "Collection" => {
            Err(unsupported("The IIIF document is a collection. Submit the URL of one of its manifests."))
        }
        _ => {
            Err(unsupported("The IIIF document has no pages. Submit the URL of a manifest or an info.json."))
        }
    }
}

fn has_word(json: &[u8], word: &str) -> bool {
    json.windows(word.len()).any(|bytes| bytes == word.as_bytes())
}

/// Returns the major version of the Image API that a description is for. Those of 1.0 have no context.
fn image_version(description: &Value) -> Option<u32> {
    let says = |words: &[&str]| {
        ["@context", "protocol", "profile", "type"].iter().any(|name| says(description, name, words))
    };
    let has = |name: &str| description.get(name).is_some();
    if kind(description) == "Manifest" {
        None
    } else if says(&["/api/image/3", "ImageService3"]) {
        Some(3)
    } else if says(&["/api/image/2", "ImageService2"]) {
        Some(2)
    } else if says(&["/image-api", "/api/image/1"]) || has("identifier") && has("scale_factors") {
        Some(1)
    } else {
        says(&["/api/image"]).then(|| if has("@id") { 2 } else { 3 })
    }
}

/// Leads to the whole picture. Servers know `full` before version 3, `max` from there on and wherever they state a limit.
/// One of level 0 has files: the largest that it lists.
fn picture(info: &Value, version: u32, from: Option<&Url>) -> Result<Lead, Failure> {
    let whole = size(info).ok_or_else(|| broken("it states no width and height"))?;
    let base = match text(info, &["id", "@id"]) {
        Some(id) => resolve(id, from)?,
        None => from.map(|from| from.as_str().to_owned()).ok_or_else(|| broken("it states no address"))?,
    };
    let base = base.rfind("/info.json").map_or(base.as_str(), |end| &base[..end]).trim_end_matches('/');
    let profile = || each(&info["profile"]);
    let is_limited = profile().chain([info]).any(|limits| {
        ["maxWidth", "maxHeight", "maxArea"].iter().any(|name| number(&limits[name]).is_some())
    });
    let is_level_0 = profile().filter_map(Value::as_str).any(|level| level.contains("level0"));
    let largest = each(&info["sizes"]).filter_map(size).max_by_key(|size| size.pixels());
    let smaller = largest.filter(|largest| is_level_0 && !is_limited && largest.width < whole.width);
    let size = match (version, smaller) {
        (1, _) => "full".to_owned(),
        (2, Some(Size { width, .. })) => format!("{width},"),
        (2, None) if !is_limited => "full".to_owned(),
        (_, Some(Size { width, height })) => format!("{width},{height}"),
        (_, None) => "max".to_owned(),
    };
    let quality = if version == 1 { "native" } else { "default" };
    let target = Target::Picture(format!("{base}/full/{size}/0/{quality}.jpg"), Some(whole));
    let is_listed = largest.is_some_and(|largest| largest.width >= whole.width);
    let tiles = if is_level_0 && !is_listed { tiles_of(info, base, version, whole) } else { None };
    Ok(Lead { target, credits: credits(&[info]).into(), tiles: tiles.map(Box::new) })
}

/// Returns the largest tiles in full resolution that the description of a picture of this size lists. Version 1 is served
/// by programs, which have the whole.
fn tiles_of(info: &Value, base: &str, version: u32, size: Size) -> Option<Tiles> {
    let is_full = |tile: &&Value| each(&tile["scaleFactors"]).any(|factor| number(factor) == Some(1));
    let side = |tile: &Value| {
        let width = number(&tile["width"])?;
        Some(Size { width, height: number(&tile["height"]).unwrap_or(width) })
    };
    let tile = each(&info["tiles"]).filter(is_full).filter_map(side).max_by_key(|tile| tile.pixels())?;
    let mosaic = Mosaic { size, tile, overlap: 0 };
    (version >= 2).then(|| Tiles { mosaic, urls: TileUrls::Iiif(base.to_owned(), version) })
}

/// Leads to the first picture on a page of a manifest.
fn of_page(manifest: &Value, from: Option<&Url>, page: Option<NonZeroU32>) -> Result<Lead, Failure> {
    let pages = [&manifest["items"], &manifest["sequences"][0]["canvases"]];
    let Some(pages) = pages.into_iter().find_map(Value::as_array).filter(|pages| !pages.is_empty()) else {
        return Err(unsupported("The IIIF manifest has no pages."));
    };
    let (page, last) = (page.map_or(1, NonZeroU32::get), u32::try_from(pages.len()).unwrap_or(u32::MAX));
    let Some(canvas) = pages.get(page as usize - 1) else {
        return Err(reported::of_source(&SourceError::NoSuchPage { page, last }));
    };
    let Some(body) = picture_on(canvas) else {
        return Err(unsupported(&format!("The IIIF manifest has no picture on page {page}.")));
    };
    let credits = credits(&[body, canvas, manifest]).into();
    if let Some(service) = service_of(body) {
        return Ok(Lead { target: Target::Description(resolve(&service, from)?), credits, tiles: None });
    }
    let id = text(body, &["id", "@id"]).ok_or_else(|| broken("its picture has no address"))?;
    Ok(Lead { target: Target::Picture(resolve(id, from)?, size(body)), credits, tiles: None })
}

/// Returns the first picture on a canvas.
pub(super) fn picture_on(canvas: &Value) -> Option<&Value> {
    let annotations = each(&canvas["items"]).flat_map(|page| each(&page["items"]));
    let bodies = annotations.map(|image| &image["body"]);
    each(&canvas["images"]).map(|image| &image["resource"]).chain(bodies).find_map(picture_in)
}

/// Returns the URL of the `info.json` of a picture's service, which may be relative.
pub(super) fn service_of(picture: &Value) -> Option<String> {
    let is_image = |service: &&Value| {
        ["@context", "type", "@type", "profile"].iter().any(|name| says(service, name, &["image", "Image"]))
    };
    let service =
        each(&picture["service"]).find(is_image).and_then(|service| text(service, &["id", "@id"]))?;
    let service = service.split('#').next().unwrap_or_default();
    Some(format!("{}/info.json", service.trim_end_matches('/').trim_end_matches("/info.json")))
}

/// Returns the first picture of an annotation's body: of several, of a choice, or of a picture's part.
fn picture_in(body: &Value) -> Option<&Value> {
    each(body).find_map(|body| {
        let inner =
            ["default", "item", "items", "full", "source"].into_iter().filter_map(|name| body.get(name));
        match kind(body) {
            "Image" => Some(body),
            "Choice" | "SpecificResource" | "List" => inner.into_iter().find_map(picture_in),
            _ => None,
        }
    })
}

/// Returns an absolute URL. A server behind a proxy may state `http:` for what was fetched by `https:`.
pub(super) fn resolve(id: &str, from: Option<&Url>) -> Result<String, Failure> {
    let url = from.map_or_else(|| Url::parse(id), |from| from.join(id));
    let mut url = url.map_err(|_| broken("its address is malformed"))?;
    if from.is_some_and(|from| from.scheme() == "https" && from.host() == url.host()) && url.port().is_none()
    {
        let _ = url.set_scheme("https");
    }
    url.set_fragment(None);
    if url.as_str().len() > SourceUrl::MAX_LENGTH {
        return Err(broken("its address is too long"));
    }
    Ok(url.into())
}

/// Returns the type, without a prefix as in `sc:Manifest`.
pub(super) fn kind(value: &Value) -> &str {
    let kind = text(value, &["type", "@type"]).unwrap_or_default();
    kind.rsplit(':').next().unwrap_or_default()
}

/// Returns true if a member, or a text in its list, has one of the words.
fn says(value: &Value, name: &str, words: &[&str]) -> bool {
    let mut texts = each(&value[name]).filter_map(Value::as_str);
    texts.any(|text| words.iter().any(|word| text.contains(word)))
}

/// Returns the first of these members that is a text, or the first text of its list.
pub(super) fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| each(&value[name]).find_map(Value::as_str))
}

/// Returns the elements of a list. Where one is allowed, a list may be left out.
pub(super) fn each(value: &Value) -> impl Iterator<Item = &Value> {
    let one = std::slice::from_ref(value);
    let list = value.as_array().map_or(if value.is_null() { &[] } else { one }, Vec::as_slice);
    list.iter()
}

fn size(value: &Value) -> Option<Size> {
    Some(Size { width: number(&value["width"])?, height: number(&value["height"])? })
}

/// Returns a number of pixels, which some servers write as a text or a fraction.
fn number(value: &Value) -> Option<u32> {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    (1.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32)
}

fn broken(reason: &str) -> Failure {
    Failure::new(FailureCode::CorruptSource, format!("The IIIF description is broken: {reason}."))
}

fn unsupported(message: &str) -> Failure {
    Failure::new(FailureCode::UnsupportedFormat, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const V1: &str = r#""@context":"http://library.stanford.edu/iiif/image-api/1.1/context.json""#;
    pub(super) const V2: &str =
        r#""@context":"http://iiif.io/api/image/2/context.json","protocol":"http://iiif.io/api/image""#;
    pub(super) const V3: &str =
        r#""@context":"http://iiif.io/api/image/3/context.json","type":"ImageService3""#;
    pub(super) const P2: &str =
        r#""@context":"http://iiif.io/api/presentation/2/context.json","@type":"sc:Manifest""#;
    pub(super) const P3: &str =
        r#""@context":["a","http://iiif.io/api/presentation/3/context.json"],"type":"Manifest""#;
    pub(super) const SIZE: &str = r#""width":9000,"height":6000"#;

    /// Reads a description at this URL. Returns the address, with the stated size, or the failure's message.
    fn lead_at(url: Option<&str>, page: u32, json: &str) -> String {
        let url = url.map(str::to_owned);
        let request = DescriptionRequest { url, page: NonZeroU32::new(page), is_of_manifest: false };
        match read(json.as_bytes(), &request) {
            Ok(Some(Lead { target, tiles, .. })) => match target {
                Target::Tiles => tiles.unwrap().url(0, 0),
                Target::Picture(url, Some(Size { width, height })) => format!("{url} {width}x{height}"),
                Target::Description(url) | Target::Picture(url, None) => url,
            },
            Ok(None) => "no description".to_owned(),
            Err(failure) => format!("{}: {}", failure.code.name(), failure.message),
        }
    }

    #[test]
    fn a_description_of_a_picture_leads_to_the_whole_that_its_server_offers() {
        let level = |number: u32| format!(r#""profile":["http://iiif.io/api/image/2/level{number}.json"]"#);
        let limited =
            |limits: &str| format!(r#""profile":["http://iiif.io/api/image/2/level2.json",{{{limits}}}]"#);
        let sizes = r#""sizes":[{"width":1125,"height":750},{"width":4500,"height":3000}]"#;
        let stanford = "http://library.stanford.edu/iiif/image-api";
        let own = r#""@id":"https://a.example/iiif/b""#;
        let id = r#""id":"https://a.example/iiif/b""#;
        for (json, expected) in [
            // The Image API 1.0 and 1.1.
            (r#""identifier":"b","scale_factors":[1,2]"#.to_owned(), "full/full/0/native.jpg"),
            (
                format!(r#""identifier":"b","profile":"{stanford}/compliance.html#level0""#),
                "full/full/0/native.jpg",
            ),
            (
                format!(r#"{V1},{own},"profile":"{stanford}/1.1/compliance.html#level1""#),
                "full/full/0/native.jpg",
            ),
            (format!("{V1},{own},{sizes}"), "full/full/0/native.jpg"),
            // 2.0 and 2.1.
            (format!("{V2},{own},{}", level(0)), "full/full/0/default.jpg"),
            (format!("{V2},{own},{},{sizes}", level(0)), "full/4500,/0/default.jpg"),
            (format!("{V2},{own},{},{sizes}", level(1)), "full/full/0/default.jpg"),
            (format!("{V2},{own},{}", level(2)), "full/full/0/default.jpg"),
            (format!(r#""protocol":"http://iiif.io/api/image",{own}"#), "full/full/0/default.jpg"),
            (format!("{V2},{own},{}", limited(r#""maxWidth":2000"#)), "full/max/0/default.jpg"),
            (
                format!("{V2},{own},{}", limited(r#""maxWidth":2000,"maxHeight":1000"#)),
                "full/max/0/default.jpg",
            ),
            (format!("{V2},{own},{}", limited(r#""maxArea":4000000"#)), "full/max/0/default.jpg"),
            (format!(r#"{V2},{own},{},{sizes},"maxWidth":2000"#, level(0)), "full/max/0/default.jpg"),
            // 3.0.
            (format!(r#"{V3},{id},"profile":"level0""#), "full/max/0/default.jpg"),
            (format!(r#"{V3},{id},"profile":"level0",{sizes}"#), "full/4500,3000/0/default.jpg"),
            (format!(r#"{V3},{id},"profile":"level0","sizes":[{{{SIZE}}}]"#), "full/max/0/default.jpg"),
            (format!(r#"{V3},{id},"profile":"level1",{sizes}"#), "full/max/0/default.jpg"),
            (format!(r#"{V3},{id},"profile":"level2","maxArea":4000000"#), "full/max/0/default.jpg"),
            (format!(r#""protocol":"http://iiif.io/api/image",{id}"#), "full/max/0/default.jpg"),
            // Addresses that are left out, end oddly, or are those behind a proxy.
            (V3.to_owned(), "full/max/0/default.jpg"),
            (format!(r#"{V3},"id":"https://a.example/iiif/b/""#), "full/max/0/default.jpg"),
            (format!(r#"{V3},"id":"https://a.example/iiif/b/info.json""#), "full/max/0/default.jpg"),
            (format!(r#"{V3},"id":"http://a.example/iiif/b""#), "full/max/0/default.jpg"),
            (format!(r#"{V3},"id":"/iiif/b""#), "full/max/0/default.jpg"),
        ] {
            let lead =
                lead_at(Some("https://a.example/iiif/b/info.json#page=2"), 2, &format!("{{{json},{SIZE}}}"));
            assert_eq!(lead, format!("https://a.example/iiif/b/{expected} 9000x6000"), "{json}");
        }
        let query = "https://a.example/iip.fcgi?IIIF=b.tif/info.json";
        let lead = lead_at(Some(query), 1, &format!("{{{V2},{SIZE}}}"));
        assert_eq!(lead, "https://a.example/iip.fcgi?IIIF=b.tif/full/full/0/default.jpg 9000x6000");
        let lead = lead_at(
            Some(query),
            1,
            &format!(r#"{{{V2},"@id":"http://c.example:8080/d","width":"9","height":6.0}}"#),
        );
        assert_eq!(lead, "http://c.example:8080/d/full/full/0/default.jpg 9x6");
        assert_eq!(
            lead_at(None, 1, &format!("\u{feff}{{{V3},{id},{SIZE}}}")),
            "https://a.example/iiif/b/full/max/0/default.jpg 9000x6000"
        );
    }

    #[test]
    fn tiles_are_named_where_a_server_may_offer_no_whole_picture() {
        let tiles = |json: String| {
            let url = Some("https://a.example/b/info.json".to_owned());
            let request = DescriptionRequest { url, ..DescriptionRequest::default() };
            let lead = read(format!("{{{json},{SIZE}}}").as_bytes(), &request).unwrap().unwrap();
            lead.tiles.map_or_else(|| "none".to_owned(), |tiles| tiles.url(1, 0))
        };
        let listed = r#""tiles":[{"width":256,"scaleFactors":[1,2]},{"width":512,"height":400,"scaleFactors":[1,2,4]},{"width":2048,"scaleFactors":[8]}]"#;
        let level_0 = r#""profile":["http://iiif.io/api/image/2/level0.json"]"#;
        let smaller = r#""sizes":[{"width":1125,"height":750}]"#;
        for (json, expected) in [
            (format!("{V2},{level_0},{listed}"), "https://a.example/b/512,0,512,400/512,/0/default.jpg"),
            (
                format!("{V2},{level_0},{listed},{smaller}"),
                "https://a.example/b/512,0,512,400/512,/0/default.jpg",
            ),
            (
                format!(r#"{V3},"profile":"level0",{listed}"#),
                "https://a.example/b/512,0,512,400/512,400/0/default.jpg",
            ),
            (format!(r#"{V3},"profile":"level0",{listed},"sizes":[{{{SIZE}}}]"#), "none"),
            (format!(r#"{V3},"profile":"level1",{listed}"#), "none"),
            (format!("{V2},{level_0}"), "none"),
            (format!(r#"{V2},{level_0},"tiles":[{{"width":256,"scaleFactors":[2]}},5,{{}}]"#), "none"),
        ] {
            assert_eq!(tiles(json.clone()), expected, "{json}");
        }
    }

    #[test]
    fn a_descriptor_of_deep_zoom_leads_to_tiles_unless_a_manifest_led_to_it() {
        let xml = r#"<Image xmlns="http://schemas.microsoft.com/deepzoom/2008" Format="jpg" TileSize="256"><Size Width="9" Height="9"/></Image>"#;
        assert_eq!(lead_at(Some("https://a.example/b.dzi"), 1, xml), "https://a.example/b_files/4/0_0.jpg");
        assert!(lead_at(None, 1, xml).ends_with("Submit its URL."));
        let request = DescriptionRequest { is_of_manifest: true, ..DescriptionRequest::default() };
        assert_eq!(read(xml.as_bytes(), &request), Ok(None));
    }

    #[test]
    fn a_manifest_leads_to_the_picture_of_a_page() {
        let login =
            r#"{"@context":"http://iiif.io/api/auth/1/context.json","@id":"https://a.example/login"}"#;
        let service = format!(r#""service":[{login},{{{V2},"@id":"https://b.example/c"}}]"#);
        let image = format!(r#"{{"@id":"https://b.example/c.jpg","@type":"dctypes:Image",{SIZE}}}"#);
        let two = |resource: &str| {
            format!(
                r#"{{{P2},"sequences":[{{"canvases":[{{"images":[]}},{{"images":[{{"resource":{resource}}}]}}]}}]}}"#
            )
        };
        let three = |body: &str| {
            format!(
                r#"{{{P3},"items":[{{"type":"Canvas"}},{{"items":[{{"items":[{{"motivation":"painting","body":{body}}}]}}]}}]}}"#
            )
        };
        let picture = "https://b.example/c.jpg 9000x6000";
        let described = "https://b.example/c/info.json";
        for (manifest, expected) in [
            (two(&image), picture),
            (two(&format!(r#"{{"@type":"dctypes:Image","@id":"d.jpg",{service}}}"#)), described),
            (two(&format!(r#"{{"@type":"oa:Choice","default":{image},"item":[]}}"#)), picture),
            (two(&format!(r#"{{"@type":"oa:SpecificResource","full":{image}}}"#)), picture),
            (three(&image.replace("@id", "id").replace("@type", "type").replace("dctypes:", "")), picture),
            (three(r#"{"type":"Image","id":"e.jpg"}"#), "https://a.example/e.jpg"),
            (
                three(
                    r#"{"type":"Image","id":"e.jpg","service":{"id":"https://b.example/c/","type":"ImageService3"}}"#,
                ),
                described,
            ),
            (three(&format!(r#"[{{"type":"TextualBody"}},{{"type":"Choice","items":[{image}]}}]"#)), picture),
            (
                three(r#"{"type":"Video","id":"e.mp4"}"#),
                "unsupported-format: The IIIF manifest has no picture on page 2.",
            ),
            (
                format!(r#"{{{P2},"sequences":[{{"canvases":[{{}}]}}]}}"#),
                "source-not-found: The document has no page 2: its last one is 1.",
            ),
            (format!(r#"{{{P3},"items":[]}}"#), "unsupported-format: The IIIF manifest has no pages."),
        ] {
            assert_eq!(
                lead_at(Some("https://a.example/manifest.json"), 2, &manifest),
                expected,
                "{manifest}"
            );
        }
        let first = format!(r#"{{{P3},"items":[{{"items":[{{"items":[{{"body":{image}}}]}}]}}]}}"#);
        assert_eq!(lead_at(None, 0, &first), picture);
        let request = DescriptionRequest { is_of_manifest: true, ..DescriptionRequest::default() };
        assert_eq!(read(first.as_bytes(), &request), Ok(None));
    }

    #[test]
    fn a_description_that_leads_nowhere_says_why() {
        for (json, expected) in [
            (
                format!(r#"{{{V2},"width":9}}"#),
                "corrupt-source: The IIIF description is broken: it states no width and height.",
            ),
            (
                format!(r#"{{{V2},"width":0,"height":9}}"#),
                "corrupt-source: The IIIF description is broken: it states no width and height.",
            ),
            (
                format!("{{{V2},{SIZE}}}"),
                "corrupt-source: The IIIF description is broken: it states no address.",
            ),
            (
                format!(r#"{{{V2},{SIZE},"@id":"b"}}"#),
                "corrupt-source: The IIIF description is broken: its address is malformed.",
            ),
            (
                format!(r#"{{{V2},{SIZE},"@id":"https://a.example/{}"}}"#, "b".repeat(99_999)),
                "corrupt-source: The IIIF description is broken: its address is too long.",
            ),
            (
                format!("{{{V2},{SIZE}"),
                "corrupt-source: The IIIF description is broken: it is not valid JSON.",
            ),
            (
                format!("{{{V2},\"a\":{}", "[".repeat(9000)),
                "corrupt-source: The IIIF description is broken: it is not valid JSON.",
            ),
            (
                P3.replace("Manifest", "Collection"),
                "unsupported-format: The IIIF document is a collection. Submit the URL of one of its manifests.",
            ),
            (
                P3.replace("Manifest", "Canvas"),
                "unsupported-format: The IIIF document has no pages. Submit the URL of a manifest or an info.json.",
            ),
            (
                format!("{{{V2}{}", " ".repeat(MAX_BYTES)),
                "source-too-large: The IIIF manifest is larger than 8 MiB.",
            ),
            (r#"{"type":"Manifest","items":[]}"#.to_owned(), "no description"),
            (r#"{"about":"iiif"}"#.to_owned(), "no description"),
            ("{not json".to_owned(), "no description"),
        ] {
            let json = if json.starts_with('{') { json } else { format!("{{{json}}}") };
            assert_eq!(lead_at(None, 1, &json), expected);
        }
    }
}
