//! The paths of a pyramid: `<id>/<attempt>.dzi` is the descriptor,
//! `<id>/<attempt>_files/<level>/<column>_<row>.<extension>` a tile, `<id>/<attempt>_coarse/<number>.jpg` a coarse
//! picture, whose path is its key in R2. `<id>/<attempt>_files/vector/pages.json` says which pages are vectors, and
//! `<number>.svg` beside it is one. No other path is looked up.

use std::fmt;
use std::str::FromStr;

use edgezoom_content::{Attempt, CoarseNumber, ContentId, Dzi, TileFormat};

/// The address of an object of a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectKey {
    pub id: ContentId,
    /// Attempt that made the pyramid.
    pub attempt: Attempt,
    pub object: PyramidObject,
}

/// An object of a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyramidObject {
    Descriptor,
    Tile {
        /// Level; 0 is one pixel.
        level: u32,
        /// Column from the left, from 0.
        column: u32,
        /// Row from the top, from 0.
        row: u32,
        /// Format, from the extension.
        format: TileFormat,
    },
    Coarse(CoarseNumber),
    /// The places of the pages that are vectors.
    VectorTable,
    /// The page with this number, from 0, as vectors.
    Vector(u32),
}

/// A text is not the address of an object of a pyramid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the address of an object of a pyramid")]
pub struct ObjectKeyError;

impl ObjectKey {
    pub fn media_type(&self) -> &'static str {
        match self.object {
            PyramidObject::Descriptor => Dzi::MEDIA_TYPE,
            PyramidObject::Tile { format, .. } => format.media_type(),
            PyramidObject::Coarse(_) => TileFormat::Jpg.media_type(),
            PyramidObject::VectorTable => "application/json",
            PyramidObject::Vector(_) => "image/svg+xml",
        }
    }
}

impl FromStr for ObjectKey {
    type Err = ObjectKeyError;

    fn from_str(key: &str) -> Result<Self, ObjectKeyError> {
        parse(key).ok_or(ObjectKeyError)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.object {
            PyramidObject::Descriptor => f.write_str(&self.attempt.descriptor_path(self.id)),
            PyramidObject::Tile { level, column, row, format } => {
                let prefix = self.attempt.tiles_path(self.id);
                let extension = format.extension();
                write!(f, "{prefix}{level}/{column}_{row}.{extension}")
            }
            PyramidObject::Coarse(number) => f.write_str(&self.attempt.coarse_key(self.id, number)),
            PyramidObject::VectorTable => write!(f, "{}pages.json", self.attempt.vectors_path(self.id)),
            PyramidObject::Vector(number) => {
                write!(f, "{}{number}.svg", self.attempt.vectors_path(self.id))
            }
        }
    }
}

fn parse(key: &str) -> Option<ObjectKey> {
    let (id, rest) = key.split_once('/')?;
    let (attempt, object) = if let Some(attempt) = rest.strip_suffix(".dzi") {
        (attempt, PyramidObject::Descriptor)
    } else if let Some((attempt, file)) = rest.split_once("_coarse/") {
        let number = parse_number(file.strip_suffix(".jpg")?)?;
        (attempt, PyramidObject::Coarse(u8::try_from(number).ok()?.try_into().ok()?))
    } else {
        let (attempt, file) = rest.split_once("_files/")?;
        let object = match file.strip_prefix("vector/") {
            None => parse_tile(file)?,
            Some("pages.json") => PyramidObject::VectorTable,
            Some(page) => PyramidObject::Vector(parse_number(page.strip_suffix(".svg")?)?),
        };
        (attempt, object)
    };
    Some(ObjectKey { id: id.parse().ok()?, attempt: Attempt::from_number(parse_number(attempt)?)?, object })
}

fn parse_tile(path: &str) -> Option<PyramidObject> {
    let (level, tile) = path.split_once('/')?;
    let (place, extension) = tile.split_once('.')?;
    let (column, row) = place.split_once('_')?;
    let format =
        [TileFormat::Jpg, TileFormat::Png].into_iter().find(|format| format.extension() == extension)?;
    let (level, column, row) = (parse_number(level)?, parse_number(column)?, parse_number(row)?);
    Some(PyramidObject::Tile { level, column, row, format })
}

/// Parses a `u32` in its printed form: no sign, no leading zeros.
fn parse_number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_pyramid_are_parsed() {
        for (key, media_type) in [
            ("6qy4OXfXSid/1.dzi", "application/xml; charset=utf-8"),
            ("6qy4OXfXSid/12_files/0/0_0.jpg", "image/jpeg"),
            ("6qy4OXfXSid/1_files/14/103_7.png", "image/png"),
            ("6qy4OXfXSid/2_coarse/5.jpg", "image/jpeg"),
            ("6qy4OXfXSid/2_files/vector/pages.json", "application/json"),
            ("6qy4OXfXSid/2_files/vector/0.svg", "image/svg+xml"),
        ] {
            let parsed: ObjectKey = key.parse().unwrap();
            assert_eq!((parsed.media_type(), parsed.to_string().as_str()), (media_type, key));
        }
    }

    #[test]
    fn other_paths_are_refused() {
        for key in [
            "",
            "6qy4OXfXSid",
            "6qy4OXfXSid/",
            "6qy4OXfXSid/1.xml",
            "6qy4OXfXSid/1.szi",
            "6qy4OXfXSid/0.dzi",
            "6qy4OXfXSid/01.dzi",
            "6qy4OXfXSid/+1.dzi",
            "6qy4OXfXSid/.dzi",
            "6qy4OXfXSi/1.dzi",
            "6qy4OXfXSid/1_files/0/0_0.gif",
            "6qy4OXfXSid/1_files/0/0_0.jpg/",
            "6qy4OXfXSid/1_files/0/0-0.jpg",
            "6qy4OXfXSid/1_files/../0/0_0.jpg",
            "6qy4OXfXSid//1.dzi",
            "6qy4OXfXSid/1_coarse/0.jpg",
            "6qy4OXfXSid/1_coarse/6.jpg",
            "6qy4OXfXSid/1_coarse/257.jpg",
            "6qy4OXfXSid/1_coarse/1.png",
            "6qy4OXfXSid/1_files/vector/",
            "6qy4OXfXSid/1_files/vector/01.svg",
            "6qy4OXfXSid/1_files/vector/-1.svg",
            "6qy4OXfXSid/1_files/vector/1.svg.gz",
            "6qy4OXfXSid/1_files/vector/0_0.svg",
            "6qy4OXfXSid/1_files/vector/4294967296.svg",
            "../secrets",
        ] {
            assert_eq!(key.parse::<ObjectKey>(), Err(ObjectKeyError), "{key}");
        }
    }
}
