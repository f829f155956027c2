//! A site: a page and the viewer beside a pyramid, which any static host can serve, and which works from a disk. Both are
//! built from `edge/viewer/site/`. The page has placeholders, which are filled here.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use edgezoom_codecs::Metadata;
use edgezoom_geometry::Dzi;
use edgezoom_text::Text;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::output_path::{OutputPath, check_free};
use super::{SinkError, VectorPages};
use crate::Built;

/// The characters that are percent-encoded in a file's name: all but RFC 3986's unreserved ones.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The element with the content object. A page without it is not replaced.
const CONTENT: &str = r#"<script type="application/json" id="content">"#;

/// The files of the built viewer, and what a page says of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Contents of [`FILES`](Self::FILES); the page is the template.
    pub viewer: [String; 3],
    /// Title of a picture that states none.
    pub name: String,
    /// Alternative text, for people who do not see the picture.
    pub alternative: Option<String>,
}

/// Title, alternative text and credits of a page.
pub(super) struct Shown<'a> {
    pub built: &'a Built,
    pub metadata: &'a Metadata,
    pub text: Option<&'a Text>,
    pub vectors: &'a VectorPages,
}

/// The content object of the service's API with the words and the places of the vectors in place of their URLs.
#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    members: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<&'a VectorPages>,
}

impl Site {
    /// Names of the files. The page is the last: it must not exist without the others.
    pub const FILES: [&'static str; 3] = ["viewer.js", "viewer.css", "index.html"];

    /// Returns the names and contents of the files. `extension` is that of the tiles.
    pub(super) fn files(
        &self,
        path: &OutputPath,
        extension: &str,
        shown: &Shown<'_>,
    ) -> Result<[(&'static str, Cow<'_, str>); 3], SinkError> {
        let [script, style, template] = &self.viewer;
        let [script_name, style_name, page_name] = Self::FILES;
        let page = self.page(template, path, extension, shown);
        let page = page.map_err(|error| SinkError::io(&path.folder.join(page_name), error.into()))?;
        Ok([(script_name, script.into()), (style_name, style.into()), (page_name, page.into())])
    }

    /// Fills the placeholders of the page.
    fn page(
        &self,
        template: &str,
        path: &OutputPath,
        extension: &str,
        &Shown { built: Built { dzi, damage, scale }, metadata, text, vectors }: &Shown<'_>,
    ) -> serde_json::Result<String> {
        let vector = Some(vectors).filter(|vectors| !vectors.is_empty());
        let title = metadata.title.as_deref().unwrap_or(&self.name);
        let alternative = self.alternative.as_deref();
        let mut pyramid = serde_json::to_value(dzi)?;
        pyramid["url"] = json!(url_of(path, ".dzi"));
        pyramid["tileFormat"] = json!(extension);
        let scale = scale
            .map(|scale| json!({ "value": scale.value(), "unit": scale.unit.name(), "basis": scale.basis.words() }));
        let members = [
            ("title", json!(title)),
            ("alt", json!(alternative)),
            ("credits", credits(metadata)),
            ("warning", json!(damage.map(|damage| damage.to_string()))),
            ("scale", json!(scale)),
            ("dzi", pyramid),
            ("pages", json!(text.map(|text| text.pages.len()))),
        ];
        // A member that does not apply is left out: the viewer reads null as a value.
        let members = members.into_iter().filter(|(_, value)| !value.is_null());
        let members = members.map(|(name, value)| (name.to_owned(), value)).collect();
        // The characters that could end the element, or open a comment in it, occur only in strings.
        let content = serde_json::to_string(&Content { members, text, vector })?.replace('<', "\\u003c");
        let level = level_of_one_tile(dzi);
        Ok(fill(template, |placeholder| match placeholder {
            "title" => Some(edgezoom_text::escape(title)),
            "description" => Some(edgezoom_text::escape(alternative.unwrap_or(title))),
            "preview" => Some(format!("{}/{level}/0_0.{extension}", url_of(path, "_files")).into()),
            "content" => Some((&*content).into()),
            _ => None,
        }))
    }
}

/// Returns the credits as the service's API has them. Pages link rights, so only known addresses count.
fn credits(Metadata { title: _, creator, credit, copyright, rights, alternative }: &Metadata) -> Value {
    let rights = rights.as_deref().and_then(edgezoom_text::rights_uri);
    let members = [
        ("creator", creator),
        ("credit", credit),
        ("copyright", copyright),
        ("rights", &rights),
        ("alternative", alternative),
    ];
    let stated: Map<_, _> = members
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), json!(text.as_ref()?))))
        .collect();
    if stated.is_empty() { Value::Null } else { stated.into() }
}

/// Fails if the folder has files of a site that may not be replaced, or a page that is none, or if a host would leave out
/// the pyramid.
pub(super) fn check(path: &OutputPath, replaces: bool) -> Result<(), SinkError> {
    if ["_", ".", "%23"].iter().any(|mark| url_of(path, "").starts_with(mark)) {
        return Err(SinkError::Unhosted(path.with_suffix("")));
    }
    let [script, style, page] = Site::FILES.map(|name| path.folder.join(name));
    match fs::read_to_string(&page) {
        Ok(text) if replaces && !text.contains(CONTENT) => Err(SinkError::OtherPage(page)),
        _ if replaces => Ok(()),
        _ => check_free(&[page, style, script]),
    }
}

/// A folder that is deleted if it is still empty when this is dropped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewFolder(PathBuf);

impl NewFolder {
    /// Creates a folder; `None` if it exists.
    pub fn create(path: &Path) -> Result<Option<Self>, SinkError> {
        match fs::create_dir(path) {
            Ok(()) => Ok(Some(Self(path.to_owned()))),
            Err(_) if path.is_dir() => Ok(None),
            Err(error) => Err(SinkError::io(path, error)),
        }
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0); // it has files unless the conversion failed
    }
}

/// Returns the relative URL of a file beside the page.
pub(super) fn url_of(path: &OutputPath, suffix: &str) -> String {
    percent_encode(path.name_with(suffix).as_encoded_bytes(), RESERVED).to_string()
}

/// Returns the largest level that is a single tile.
fn level_of_one_tile(dzi: &Dzi) -> u32 {
    (0..=dzi.max_level()).rev().find(|level| dzi.grid(*level) == (1, 1)).unwrap_or(0)
}

/// Replaces `{name}` by values. What a value contains is not replaced again, and other braces stay.
fn fill<'a>(template: &str, value: impl Fn(&str) -> Option<Cow<'a, str>>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}').and_then(|(name, after)| Some((value(name)?, after))) {
            Some((value, after)) => {
                filled.push_str(&value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use edgezoom_codecs::{Damage, PageVectors};
    use edgezoom_geometry::{Scale, ScaleBasis, ScaleUnit, Size, TileFormat};
    use edgezoom_text::Rect;

    use super::*;

    #[test]
    fn a_value_is_not_filled_again() {
        let value = |name: &str| match name {
            "title" => Some("{content}".into()),
            "content" => Some("{title}".into()),
            _ => None,
        };
        assert_eq!(fill("{a {title} {b} {content}} {", value), "{a {content} {b} {title}} {");
    }

    #[test]
    fn a_page_has_the_title_the_scale_and_the_damage() {
        let site = Site { viewer: Default::default(), name: "a".to_owned(), alternative: None };
        let size = Size { width: 1000, height: 700 };
        let dzi = Dzi { size, tile_size: 256, tile_overlap: 0, tile_format: TileFormat::Jpg };
        let damage = Some(Damage::FromRow { row: 600, rows: 700 });
        let scale = Scale::new(2.5e-7, 2.5e-7, ScaleUnit::Metre, ScaleBasis::Aperio);
        let path = OutputPath::new(Path::new("site/a"), "dzi").unwrap();
        let template = "{title}|{description}|{preview}|{content}";
        let built = Built { dzi, damage, scale };
        let text = |text: &str| Some(text.to_owned());
        let (title, creator) = (text("Tides & currents"), text("</script>Ann"));
        let rights = text("https://creativecommons.org/licenses/by/4.0/deed.en");
        let metadata = Metadata { title, creator, rights, ..Metadata::default() };
        let mut vectors = VectorPages::default();
        let at = Rect::new(10, 20, 300, 400);
        vectors.add(
            &PageVectors { page: 1, pages: 3, at, svg: String::new() },
            "a_files/vector/1.svg".to_owned(),
        );
        let shown = Shown { built: &built, metadata: &metadata, text: None, vectors: &vectors };
        let page = site.page(template, &path, "jpeg", &shown).unwrap();
        let terms = Metadata { rights: text("javascript:alert(1)"), ..Metadata::default() };
        assert_eq!(credits(&terms), Value::Null, "pages link rights");
        let (filled, content) = page.rsplit_once('|').unwrap();
        assert_eq!(filled, "Tides &amp; currents|Tides &amp; currents|a_files/8/0_0.jpeg");
        let expected = json!({
            "title": "Tides & currents",
            "credits": {"creator": "</script>Ann", "rights": "http://creativecommons.org/licenses/by/4.0/"},
            "warning": "The file is damaged: from row 601 of 700 on nothing could be read.",
            "scale": {"value": 2.5e-7, "unit": "metre", "basis": "MPP of the Aperio slide"},
            "dzi": {"url": "a.dzi", "width": 1000, "height": 700, "tileSize": 256, "tileOverlap": 0, "tileFormat": "jpeg"},
            "vector": {"pages": [null, {"x": 10, "y": 20, "width": 300, "height": 400, "url": "a_files/vector/1.svg"}, null]},
        });
        assert_eq!(serde_json::from_str::<Value>(content).unwrap(), expected);
    }

    #[test]
    fn a_file_s_url_is_relative() {
        let path = OutputPath::new(Path::new("site/a:50% #1 ä.dzi"), "dzi").unwrap();
        assert_eq!(url_of(&path, ".dzi"), "a%3A50%25%20%231%20%C3%A4.dzi");
    }
}
