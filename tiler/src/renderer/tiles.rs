//! Where the tiles of a picture are that its server does not offer whole: the grid and the URLs that Deep Zoom's descriptor
//! or IIIF's `tiles` state. [`description`](super::description) reads IIIF. Runs only in the sandbox of
//! [`unpack`](super::unpack), except for [`Tiles::url`].
//!
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>;
//! iiif.io/api/image/2.1 (5.3) and /3.0 (5.4).

use edgezoom_codecs::Mosaic;
use edgezoom_content::{Failure, FailureCode, Size};
use roxmltree::{Document, Node, ParsingOptions};
use serde::{Deserialize, Serialize};
use url::Url;

/// The tiles of a picture in full resolution. The URLs are not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiles {
    /// Their grid.
    pub mosaic: Mosaic,
    /// Their URLs.
    pub urls: TileUrls,
}

/// The URLs of tiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TileUrls {
    /// Column and row are between these texts, as in `…/11/3_4.jpg`.
    DeepZoom([String; 2]),
    /// Regions of an IIIF service at this address, of this version of the API.
    Iiif(String, u32),
}

/// Maximum number of XML nodes of a descriptor. One with a level for each of many regions has a few hundred.
const MAX_NODES: u32 = 10_000;
/// Words of the namespace of descriptors, of 2008 and 2009.
pub const NAMESPACE: &str = "http://schemas.microsoft.com/deepzoom/";
/// Formats of tiles that are read.
const FORMATS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];

impl Tiles {
    /// Returns the URL of a tile.
    #[must_use]
    pub fn url(&self, column: u32, row: u32) -> String {
        match &self.urls {
            TileUrls::DeepZoom([before, after]) => format!("{before}{column}_{row}{after}"),
            TileUrls::Iiif(base, version) => {
                let (left, top, Size { width, height }) = self.mosaic.part(column, row);
                let size = if *version < 3 { format!("{width},") } else { format!("{width},{height}") };
                format!("{base}/{left},{top},{width},{height}/{size}/0/default.jpg")
            }
        }
    }
}

/// Reads Deep Zoom's descriptor at a URL.
///
/// # Errors
/// The descriptor has no tiles that can be read.
pub fn read(xml: &str, url: Option<&Url>) -> Result<Tiles, Failure> {
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(xml, options).map_err(|_| broken("it is not valid XML"))?;
    let image = document.root_element();
    if image.tag_name().name() == "Collection" {
        let message = "The file describes a collection of Deep Zoom images. Submit the URL of one of them.";
        return Err(Failure::new(FailureCode::UnsupportedFormat, message));
    }
    let size = image.children().find(|node| node.has_tag_name((image_namespace(image), "Size")));
    let size = size.ok_or_else(|| broken("it states no size"))?;
    let number = |node: Node<'_, '_>, name: &str, least: u32| {
        let number: Option<u32> = node.attribute(name).and_then(|text| text.trim().parse().ok());
        number.filter(|number| (least..=i32::MAX as u32).contains(number))
    };
    let side = |name: &str| number(size, name, 1).ok_or_else(|| broken("it states no width and height"));
    let size = Size { width: side("Width")?, height: side("Height")? };
    let tile = number(image, "TileSize", 1).ok_or_else(|| broken("it states no size of tiles"))?;
    let overlap = number(image, "Overlap", 0).unwrap_or(0);
    if overlap > tile {
        return Err(broken("the overlap is larger than a tile"));
    }
    let format = image.attribute("Format").unwrap_or_default();
    if !FORMATS.iter().any(|known| known.eq_ignore_ascii_case(format)) {
        let message = "The tiles of the Deep Zoom image are not JPEG, PNG or WebP.";
        return Err(Failure::new(FailureCode::UnsupportedFormat, message));
    }
    let url = url.ok_or_else(|| {
        let message = "The file describes a Deep Zoom image, whose tiles are elsewhere. Submit its URL.";
        Failure::new(FailureCode::UnsupportedFormat, message)
    })?;
    let level = size.width.max(size.height).next_power_of_two().ilog2();
    let folder = folder(url, image.attribute("Url"))?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let urls = TileUrls::DeepZoom([format!("{folder}{level}/"), format!(".{format}{query}")]);
    Ok(Tiles { mosaic: Mosaic { size, tile: Size { width: tile, height: tile }, overlap }, urls })
}

fn image_namespace<'a>(image: Node<'a, '_>) -> &'a str {
    image.tag_name().namespace().unwrap_or_default()
}

/// Returns the folder of the levels: the one that the descriptor states, or the one beside it, `a_files/` of `a.dzi`.
fn folder(url: &Url, stated: Option<&str>) -> Result<String, Failure> {
    let wrong = |_| broken("its address is malformed");
    if let Some(stated) = stated {
        let mut folder = url.join(stated).map_err(wrong)?;
        folder.set_query(None);
        folder.set_fragment(None);
        return Ok(format!("{}/", folder.as_str().trim_end_matches('/')));
    }
    let mut folder = url.clone();
    folder.set_query(None);
    folder.set_fragment(None);
    let path = folder.path().trim_end_matches('/').to_owned();
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = [".dzi", ".xml"].iter().find_map(|ending| {
        let (stem, found) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
        found.eq_ignore_ascii_case(ending).then_some(stem)
    });
    let parent = &path[..path.len() - name.len()];
    folder.set_path(&format!("{parent}{}_files/", stem.unwrap_or(name)));
    Ok(folder.into())
}

fn broken(reason: &str) -> Failure {
    Failure::new(FailureCode::CorruptSource, format!("The Deep Zoom description is broken: {reason}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(attributes: &str, inside: &str) -> String {
        format!(r#"<?xml version="1.0"?><Image xmlns="{NAMESPACE}2008" {attributes}>{inside}</Image>"#)
    }

    const SIZE: &str = r#"<Size Width="9000" Height="6000"/>"#;
    const TILES: &str = r#"TileSize="254" Overlap="1" Format="jpg""#;

    fn at(url: &str, xml: &str) -> Result<Tiles, String> {
        let url = Url::parse(url).unwrap();
        read(xml, Some(&url)).map_err(|failure| format!("{}: {}", failure.code.name(), failure.message))
    }

    #[test]
    fn tiles_are_beside_the_descriptor_or_where_it_says() {
        let xml = descriptor(TILES, SIZE);
        for (url, expected) in [
            ("https://a.example/b/c.dzi", "https://a.example/b/c_files/14/2_1.jpg"),
            (
                "https://a.example/c.XML?key=1&x=%2F#page=2",
                "https://a.example/c_files/14/2_1.jpg?key=1&x=%2F",
            ),
            ("https://a.example/b/c", "https://a.example/b/c_files/14/2_1.jpg"),
            ("https://a.example/b/c%20d.dzi/", "https://a.example/b/c%20d_files/14/2_1.jpg"),
            ("https://a.example/", "https://a.example/_files/14/2_1.jpg"),
            ("https://a.example/b/ä.dzi", "https://a.example/b/%C3%A4_files/14/2_1.jpg"),
        ] {
            assert_eq!(at(url, &xml).unwrap().url(2, 1), expected);
        }
        for (stated, expected) in [
            ("../x/", "https://a.example/x/14/0_0.jpg"),
            ("https://tiles.example/y_files", "https://tiles.example/y_files/14/0_0.jpg"),
        ] {
            let xml = descriptor(&format!(r#"{TILES} Url="{stated}""#), SIZE);
            assert_eq!(at("https://a.example/b/c.dzi", &xml).unwrap().url(0, 0), expected);
        }
    }

    #[test]
    fn grid_overlap_and_level_are_those_of_the_descriptor() {
        for (width, height, level) in [(1, 1, 0), (2, 1, 1), (256, 256, 8), (257, 9, 9), (10_000, 9_999, 14)]
        {
            let size = format!(r#"<Size Height="{height}" Width=" {width} "/>"#);
            let xml = descriptor(r#"Format="PNG" TileSize="256""#, &size).replace("2008", "2009");
            let tiles = at("https://a.example/c.dzi", &xml).unwrap();
            assert_eq!(tiles.url(0, 0), format!("https://a.example/c_files/{level}/0_0.PNG"));
            let tile = Size { width: 256, height: 256 };
            assert_eq!(tiles.mosaic, Mosaic { size: Size { width, height }, tile, overlap: 0 });
        }
        let rectangles = format!("{SIZE}<DisplayRects><DisplayRect/></DisplayRects>");
        let tiles = at("https://a.example/c.dzi", &descriptor(TILES, &rectangles)).unwrap();
        assert_eq!((tiles.mosaic.overlap, tiles.mosaic.grid()), (1, (36, 24)));
    }

    #[test]
    fn regions_of_iiif_have_the_form_of_their_version() {
        let mosaic = Mosaic {
            size: Size { width: 1000, height: 700 },
            tile: Size { width: 512, height: 256 },
            overlap: 0,
        };
        for (version, column, row, expected) in [
            (2, 0, 0, "/b/0,0,512,256/512,/0/default.jpg"),
            (2, 1, 2, "/b/512,512,488,188/488,/0/default.jpg"),
            (3, 1, 2, "/b/512,512,488,188/488,188/0/default.jpg"),
        ] {
            let tiles = Tiles { mosaic, urls: TileUrls::Iiif("/b".to_owned(), version) };
            assert_eq!(tiles.url(column, row), expected);
        }
    }

    #[test]
    fn a_descriptor_that_leads_nowhere_says_why() {
        let corrupt = "corrupt-source: The Deep Zoom description is broken:";
        for (xml, expected) in [
            (descriptor(TILES, ""), format!("{corrupt} it states no size.")),
            (descriptor(TILES, r#"<Size Width="0" Height="9"/>"#), format!("{corrupt} it states no width and height.")),
            (
                descriptor(TILES, r#"<Size Width="9" Height="99999999999"/>"#),
                format!("{corrupt} it states no width and height."),
            ),
            (descriptor(r#"Format="jpg""#, SIZE), format!("{corrupt} it states no size of tiles.")),
            (descriptor(r#"Format="jpg" TileSize="0""#, SIZE), format!("{corrupt} it states no size of tiles.")),
            (
                descriptor(r#"Format="jpg" TileSize="5" Overlap="6""#, SIZE),
                format!("{corrupt} the overlap is larger than a tile."),
            ),
            (
                descriptor(r#"Format="../x" TileSize="5""#, SIZE),
                "unsupported-format: The tiles of the Deep Zoom image are not JPEG, PNG or WebP.".to_owned(),
            ),
            (
                format!(r#"<Collection xmlns="{NAMESPACE}2008"><Items/></Collection>"#),
                "unsupported-format: The file describes a collection of Deep Zoom images. Submit the URL of one of them."
                    .to_owned(),
            ),
            (descriptor(TILES, SIZE).replace("</Image>", ""), format!("{corrupt} it is not valid XML.")),
            (
                descriptor(TILES, SIZE).replace("<Image", r#"<!DOCTYPE a [<!ENTITY b "c">]><Image"#),
                format!("{corrupt} it is not valid XML."),
            ),
            (descriptor(TILES, &"<a/>".repeat(20_000)), format!("{corrupt} it is not valid XML.")),
            (
                descriptor(&format!(r#"{TILES} Url="http://[""#), SIZE),
                format!("{corrupt} its address is malformed."),
            ),
        ] {
            assert_eq!(at("https://a.example/c.dzi", &xml).unwrap_err(), expected);
        }
        let failure = read(&descriptor(TILES, SIZE), None).unwrap_err();
        assert!(failure.message.ends_with("Submit its URL."), "{}", failure.message);
    }
}
