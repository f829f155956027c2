//! The keys of R2 that may be read: descriptors and tiles. A path of another form is never looked up.

use std::fmt;
use std::str::FromStr;

use edgezoom_content::{ContentId, Dzi, TileFormat};

/// The key of a descriptor, `<id>/<attempt>.dzi`, or of a tile,
/// `<id>/<attempt>_files/<level>/<column>_<row>.<extension>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectKey {
    key: String,
    media_type: &'static str,
}

/// A text is not the key of a descriptor or a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the key of a descriptor or a tile")]
pub struct ObjectKeyError;

impl ObjectKey {
    /// The media type, which the key tells.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// The key in R2.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.key
    }
}

impl FromStr for ObjectKey {
    type Err = ObjectKeyError;

    fn from_str(key: &str) -> Result<Self, ObjectKeyError> {
        let parts: Vec<&str> = key.split('/').collect();
        let media_type = match parts.as_slice() {
            [id, descriptor] if is_id(id) => {
                descriptor.strip_suffix(".dzi").filter(|attempt| is_number(attempt)).map(|_| Dzi::MEDIA_TYPE)
            }
            [id, files, level, tile] if is_id(id) && is_number(level) => files
                .strip_suffix("_files")
                .filter(|attempt| is_number(attempt))
                .and_then(|_| tile_media_type(tile)),
            _ => None,
        };
        Ok(Self { key: key.to_owned(), media_type: media_type.ok_or(ObjectKeyError)? })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)
    }
}

fn tile_media_type(tile: &str) -> Option<&'static str> {
    let (place, extension) = tile.split_once('.')?;
    let (column, row) = place.split_once('_')?;
    let format =
        [TileFormat::Jpg, TileFormat::Png].into_iter().find(|format| format.extension() == extension)?;
    (is_number(column) && is_number(row)).then(|| format.media_type())
}

fn is_id(text: &str) -> bool {
    text.parse::<ContentId>().is_ok()
}

/// A `u32` as it is printed.
fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_and_tiles_can_be_read() {
        for (key, media_type) in [
            ("6qy4OXfXSid/1.dzi", "application/xml; charset=utf-8"),
            ("6qy4OXfXSid/12_files/0/0_0.jpg", "image/jpeg"),
            ("6qy4OXfXSid/1_files/14/103_7.png", "image/png"),
        ] {
            assert_eq!(key.parse::<ObjectKey>().map(|key| key.media_type()), Ok(media_type), "{key}");
        }
    }

    #[test]
    fn nothing_else_can() {
        for key in [
            "",
            "6qy4OXfXSid",
            "6qy4OXfXSid/",
            "6qy4OXfXSid/1.xml",
            "6qy4OXfXSid/01.dzi",
            "6qy4OXfXSid/+1.dzi",
            "6qy4OXfXSid/.dzi",
            "6qy4OXfXSi/1.dzi",
            "6qy4OXfXSid/1_files/0/0_0.gif",
            "6qy4OXfXSid/1_files/0/0_0.jpg/",
            "6qy4OXfXSid/1_files/0/0-0.jpg",
            "6qy4OXfXSid/1_files/../0/0_0.jpg",
            "6qy4OXfXSid//1.dzi",
            "../secrets",
        ] {
            assert_eq!(key.parse::<ObjectKey>(), Err(ObjectKeyError), "{key}");
        }
    }
}
