//! The site of `--viewer`: a page and the viewer beside a pyramid, which any static host can serve, and which works from a
//! disk. Both are built from `edge/viewer/site/`. The page has placeholders, which are filled here.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use edgezoom_content::{Alternative, Dzi, TileFormat, Title};
use edgezoom_pyramid::sinks::{DirectorySink, SinkError};
use edgezoom_text::Text;
use edgezoom_tiler::renderer::Built;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

/// The files of a site. The page is the last: it must not exist without the others.
const FILES: [&str; 3] = ["viewer.js", "viewer.css", PAGE];
const PAGE: &str = "index.html";
/// The element with the content object. A page without it is not replaced.
const CONTENT: &str = r#"<script type="application/json" id="content">"#;

/// The characters that are percent-encoded in a file's name: all but RFC 3986's unreserved ones.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The page and the viewer, before the conversion.
pub(super) struct Site {
    /// Script, style and the page with placeholders, in the order of [`FILES`].
    viewer: [String; FILES.len()],
    /// Names of the descriptor and of the folder of tiles.
    descriptor: String,
    tiles: String,
    jpeg_extension: &'static str,
    /// Title for sources without one.
    name: String,
    alternative: Option<Alternative>,
    _new_folder: Option<NewFolder>,
}

/// The content object of the API (`Content` in `edge/interface/openapi.json`) with the words in place of their URL.
#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    members: Value,
    text: Option<&'a Text>,
}

impl Site {
    /// Prepares a site for the pyramid at `output`, and creates its folder if that does not exist. `name` is the title if
    /// the source has none.
    ///
    /// # Errors
    /// The viewer is not installed, the folder cannot be created, or it has a page that may not be replaced.
    pub(super) fn new(
        output: &Path,
        name: String,
        alternative: Option<Alternative>,
        has_jpeg_extension: bool,
        replace: bool,
    ) -> anyhow::Result<Self> {
        let sink = DirectorySink::new(output)?;
        let viewer = locate().context(NO_VIEWER)?;
        let read = |name: &str| {
            let path = viewer.join(name);
            fs::read_to_string(&path).with_context(|| format!("{NO_VIEWER}: {}", path.display()))
        };
        let viewer = [read(FILES[0])?, read(FILES[1])?, read(FILES[2])?];
        let folder =
            output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        check(folder, replace)?;
        let descriptor = url_of(&sink.descriptor());
        if ["_", ".", "%23"].iter().any(|mark| descriptor.starts_with(mark)) {
            bail!(
                "web hosts leave out files whose names begin with _, . or #: choose another name for --output"
            );
        }
        Ok(Self {
            viewer,
            descriptor,
            tiles: url_of(&sink.files()),
            jpeg_extension: if has_jpeg_extension { "jpeg" } else { TileFormat::Jpg.extension() },
            name,
            alternative,
            _new_folder: NewFolder::create(folder)?,
        })
    }

    /// Returns the names and contents of the files.
    pub(super) fn files(
        &self,
        built: &Built,
        title: Option<&Title>,
        text: Option<&Text>,
    ) -> Result<[(&'static str, Cow<'_, str>); FILES.len()], SinkError> {
        let [script, style, template] = &self.viewer;
        let page = self
            .page(template, built, title, text)
            .map_err(|error| SinkError::Io { path: PAGE.into(), reason: error.into() })?;
        Ok([(FILES[0], script.into()), (FILES[1], style.into()), (FILES[2], page.into())])
    }

    /// Fills the placeholders of the page.
    fn page(
        &self,
        template: &str,
        Built { dzi, damage, scale }: &Built,
        title: Option<&Title>,
        text: Option<&Text>,
    ) -> serde_json::Result<String> {
        let title = title.map_or(&*self.name, Title::as_str);
        let alternative = self.alternative.as_ref().map(Alternative::as_str);
        let extension = match dzi.tile_format {
            TileFormat::Jpg => self.jpeg_extension,
            TileFormat::Png => dzi.tile_format.extension(),
        };
        let mut pyramid = serde_json::to_value(dzi)?;
        pyramid["url"] = json!(self.descriptor);
        pyramid["tileFormat"] = json!(extension);
        let scale = scale
            .map(|scale| json!({ "value": scale.value(), "unit": scale.unit.name(), "basis": scale.basis.words() }));
        let members = json!({
            "title": title,
            "alt": alternative,
            "warning": damage.map(|damage| damage.to_string()),
            "scale": scale,
            "dzi": pyramid,
            "pages": text.map(|text| text.pages.len()),
        });
        // The characters that could end the element, or open a comment in it, occur only in strings.
        let content = serde_json::to_string(&Content { members, text })?.replace('<', "\\u003c");
        Ok(fill(template, |placeholder| match placeholder {
            "title" => Some(edgezoom_text::escape(title)),
            "description" => Some(edgezoom_text::escape(alternative.unwrap_or(title))),
            "preview" => Some(format!("{}/{}/0_0.{extension}", self.tiles, level_of_one_tile(dzi)).into()),
            "content" => Some((&*content).into()),
            _ => None,
        }))
    }
}

const NO_VIEWER: &str = "--viewer needs the built viewer: take the program from a release, which has it in viewer/, or set \
                         EDGEZOOM_VIEWER to the path of such a folder";

/// Finds the built viewer: the folder named by `EDGEZOOM_VIEWER`, or else `viewer/` beside the executable (as in a
/// release), or the repository's. Returns `None` if it is not installed.
fn locate() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("EDGEZOOM_VIEWER").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let executable = std::env::current_exe().ok()?;
    let folder = executable.parent()?;
    // The programs are in target/debug/, their tests one folder deeper, as are programs for another machine.
    let built = folder.ancestors().take(4).map(|above| above.join("edge/build/site"));
    std::iter::once(folder.join("viewer")).chain(built).find(|folder| folder.join(PAGE).is_file())
}

/// Fails if the folder has files of a site that may not be replaced, or a page that `--viewer` did not write.
fn check(folder: &Path, replace: bool) -> anyhow::Result<()> {
    let taken = FILES.iter().rev().map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_ok());
    if let Some(taken) = taken.filter(|_| !replace) {
        return Err(SinkError::Exists(taken))
            .context("add --force to replace it, or choose another folder for --output");
    }
    let page = folder.join(PAGE);
    match fs::read_to_string(&page) {
        Ok(text) if !text.contains(CONTENT) => {
            bail!("{} is not a page of --viewer: choose another folder for --output", page.display())
        }
        _ => Ok(()),
    }
}

/// A folder that is deleted if it is still empty when this is dropped.
struct NewFolder(PathBuf);

impl NewFolder {
    /// Creates a folder; `None` if it exists.
    fn create(path: &Path) -> anyhow::Result<Option<Self>> {
        if path.is_dir() {
            return Ok(None);
        }
        fs::create_dir(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Some(Self(path.to_owned())))
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0); // it has files unless the conversion failed
    }
}

/// Returns the title of a source that has none: the name of its file without the ending, or its host.
pub(super) fn name_of(source: &Path) -> String {
    let url = source.to_str().filter(|text| text.starts_with("http")).and_then(|text| Url::parse(text).ok());
    let file = match &url {
        Some(url) => {
            let last = url.path_segments().and_then(|parts| parts.rev().find(|part| !part.is_empty()));
            last.map(|part| percent_decode_str(part).decode_utf8_lossy())
        }
        None => source.file_name().map(|name| name.to_string_lossy()),
    };
    let title = file.and_then(|file| Title::of_file(&file)).map(|title| title.to_string());
    let host = || url.as_ref().and_then(Url::host_str).unwrap_or("Picture").to_owned();
    title.unwrap_or_else(host)
}

/// Returns the relative URL of a file beside the page.
fn url_of(path: &Path) -> String {
    percent_encode(path.file_name().unwrap_or_default().as_encoded_bytes(), RESERVED).to_string()
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
    use edgezoom_content::{Damage, Scale, ScaleBasis, ScaleUnit, Size};

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
    fn a_page_has_the_title_of_a_web_page_the_scale_and_the_damage() {
        let site = Site {
            viewer: Default::default(),
            descriptor: "a.dzi".to_owned(),
            tiles: "a_files".to_owned(),
            jpeg_extension: "jpeg",
            name: "a".to_owned(),
            alternative: None,
            _new_folder: None,
        };
        let size = Size { width: 1000, height: 700 };
        let dzi = Dzi { size, tile_size: 256, tile_overlap: 0, tile_format: TileFormat::Jpg };
        let damage = Some(Damage::FromRow { row: 600, rows: 700 });
        let scale = Scale::new(2.5e-7, 2.5e-7, ScaleUnit::Metre, ScaleBasis::Aperio);
        let title = Title::of_document("Tides & currents");
        let template = "{title}|{description}|{preview}|{content}";
        let page = site.page(template, &Built { dzi, damage, scale }, title.as_ref(), None).unwrap();
        let (filled, content) = page.rsplit_once('|').unwrap();
        assert_eq!(filled, "Tides &amp; currents|Tides &amp; currents|a_files/8/0_0.jpeg");
        let expected = json!({
            "title": "Tides & currents",
            "alt": null,
            "warning": "The file is damaged: from row 601 of 700 on nothing could be read.",
            "scale": {"value": 2.5e-7, "unit": "metre", "basis": "MPP of the Aperio slide"},
            "dzi": {"url": "a.dzi", "width": 1000, "height": 700, "tileSize": 256, "tileOverlap": 0, "tileFormat": "jpeg"},
            "pages": null,
            "text": null,
        });
        assert_eq!(serde_json::from_str::<Value>(content).unwrap(), expected);
    }

    #[test]
    fn a_source_has_the_name_of_its_file_or_host() {
        for (source, name) in [
            ("scans/old town.jpg", "old town"),
            ("https://example.com/maps/old%20town.jpg?size=9#x", "old town"),
            ("https://example.com/", "example.com"),
            ("httpd.png", "httpd"),
            ("/", "Picture"),
        ] {
            assert_eq!(name_of(Path::new(source)), name, "{source}");
        }
    }

    #[test]
    fn a_file_s_url_is_relative() {
        assert_eq!(url_of(Path::new("site/a:50% #1 ä.dzi")), "a%3A50%25%20%231%20%C3%A4.dzi");
    }
}
