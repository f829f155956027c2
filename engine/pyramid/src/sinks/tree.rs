//! Names of a pyramid's files in each layout, and the files that describe it. The names are those of libvips' `dzsave`:
//!
//! ```text
//! dz        <name>.dzi, <name>_files/<level>/<column>_<row>.jpg
//! zoomify   <name>/ImageProperties.xml, <name>/TileGroup<n>/<level>-<column>-<row>.jpg     256 tiles in a group
//! google    <name>/blank.png, <name>/<level>/<row>/<column>.jpg
//! iiif      <name>/info.json, <name>/<left>,<top>,<width>,<height>/<width>,/0/default.jpg
//! iiif3     <name>/info.json, <name>/<left>,<top>,<width>,<height>/<width>,<height>/0/default.jpg
//! ```
//!
//! Level 0 is the smallest level that the pyramid has. IIIF's clients call the region of the whole picture `full`, and
//! so does libvips 8.18; 8.14 calls it by its numbers and leaves the last scale factor out of `info.json`. A region
//! that is not scaled has a second name in IIIF: see [`Names::other_paths`].
//!
//! Sources: output of libvips 8.14 and 8.18; IIIF Image API 2.1 and 3.0, sections 4 and 5,
//! <https://iiif.io/api/image/3.0/>.

use std::fmt::Write as _;
use std::io;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_geometry::{Dzi, Size, TileFormat};

use crate::tile_encoder::{Encoding, TileEncoder};
use crate::{Depth, Options, TileLayout};

/// Tiles in a group of Zoomify.
const GROUP_TILES: u64 = 256;

/// The tree of files that a sink writes: a layout, and what the files say that is not in the pyramid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub(super) layout: TileLayout,
    depth: Depth,
    background: [u8; 3],
    id: String,
    has_properties: bool,
    jpeg_extension: &'static str,
}

/// The tree of one pyramid.
#[derive(Clone, Debug)]
pub(super) struct Names {
    tree: Tree,
    dzi: Dzi,
    /// Smallest level, as [`Dzi`] counts.
    first: u32,
    /// Number of tiles of all levels below each level, from the first on.
    below: Vec<u64>,
}

impl Default for Tree {
    fn default() -> Self {
        Self::of(&Options::default())
    }
}

impl Tree {
    /// Returns the tree for pyramids that are built with these options.
    #[must_use]
    pub fn of(options: &Options) -> Self {
        let Options { layout, depth, background, .. } = *options;
        let id = "https://example.com/iiif".to_owned();
        Self { layout, depth, background, id, has_properties: false, jpeg_extension: "jpg" }
    }

    /// Returns the name of the file that every pyramid of this layout has in its folder; `None` in Deep Zoom.
    pub(super) fn descriptor_name(&self) -> Option<&'static str> {
        match self.layout {
            TileLayout::Dz => None,
            TileLayout::Zoomify => Some("ImageProperties.xml"),
            TileLayout::Google => Some("blank.png"),
            TileLayout::Iiif | TileLayout::Iiif3 => Some("info.json"),
        }
    }

    /// Sets the URL of the folder in which IIIF's clients will find the pyramid's. Default as in libvips:
    /// `https://example.com/iiif`.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// Adds `vips-properties.xml` with the picture's size.
    #[must_use]
    pub fn with_properties(self, has_properties: bool) -> Self {
        Self { has_properties, ..self }
    }

    /// Lets the names of JPEG tiles end in `.jpeg` instead of `.jpg`.
    #[must_use]
    pub fn with_jpeg_extension(self) -> Self {
        Self { jpeg_extension: "jpeg", ..self }
    }

    pub(super) fn names(&self, dzi: &Dzi) -> Names {
        let first = self.depth.first_level(dzi);
        let mut sum = 0;
        let below = (first..=dzi.max_level()).map(|level| {
            let (columns, rows) = dzi.grid(level);
            let below = sum;
            sum += u64::from(columns) * u64::from(rows);
            below
        });
        Names { tree: self.clone(), dzi: *dzi, first, below: below.collect() }
    }
}

impl Names {
    /// Returns the number of levels.
    pub fn levels(&self) -> u32 {
        self.dzi.max_level() - self.first + 1
    }

    /// Returns a level's number in names.
    pub fn level(&self, level: u32) -> io::Result<u32> {
        let is_known = (self.first..=self.dzi.max_level()).contains(&level);
        is_known
            .then(|| level - self.first)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the tile is outside the pyramid"))
    }

    /// Returns true if all tiles of a level are in one folder, without others: in Deep Zoom.
    pub fn has_level_folders(&self) -> bool {
        self.tree.layout == TileLayout::Dz
    }

    /// Returns the extension of tiles, without a dot.
    pub fn extension(&self) -> &'static str {
        match self.dzi.tile_format {
            TileFormat::Jpg => self.tree.jpeg_extension,
            format @ (TileFormat::Png | TileFormat::Webp) => format.extension(),
        }
    }

    /// Returns true if a tile has the name of one of the next larger level, and is left out. It happens in IIIF, whose
    /// names are a region and a size: the last pixel of a side of 2ⁿ + 1 is a tile of several levels, and in version 2
    /// names have no height, so tiles one pixel wide differ only in that. The tile of the larger level is the one that
    /// the name asks for: it is not scaled.
    pub fn repeats(&self, level: u32, column: u32, row: u32) -> bool {
        let is_iiif = matches!(self.tree.layout, TileLayout::Iiif | TileLayout::Iiif3);
        if !is_iiif || level < self.first || level >= self.dzi.max_level() {
            return false;
        }
        let (column_above, row_above) = (column.saturating_mul(2), row.saturating_mul(2));
        let (columns, rows) = self.dzi.grid(level + 1);
        column_above < columns
            && row_above < rows
            && self.iiif_tile(level, column, row) == self.iiif_tile(level + 1, column_above, row_above)
    }

    /// Returns the other paths of a tile, by which IIIF's clients ask for a region that is not scaled: its size is
    /// `full` in version 2 if the region has the picture's width, and `max` if it is the whole picture.
    pub fn other_paths(&self, level: u32, column: u32, row: u32) -> Vec<String> {
        let Dzi { size: Size { width, height }, tile_size, .. } = self.dzi;
        let is_iiif_2 = self.tree.layout == TileLayout::Iiif;
        if level != self.dzi.max_level()
            || width > tile_size
            || !is_iiif_2 && self.tree.layout != TileLayout::Iiif3
        {
            return Vec::new();
        }
        let region = self.iiif_region(level, column, row);
        let is_whole = height <= tile_size;
        let sizes = [("full", is_iiif_2), ("max", is_whole)].into_iter().filter(|&(_, is_used)| is_used);
        let extension = self.extension();
        sizes.map(|(size, _)| format!("{region}/{size}/0/default.{extension}")).collect()
    }

    /// Returns the path of a tile in the folder of tiles.
    pub fn tile(&self, level: u32, column: u32, row: u32) -> io::Result<String> {
        let (number, extension) = (self.level(level)?, self.extension());
        Ok(match self.tree.layout {
            TileLayout::Dz => format!("{number}/{column}_{row}.{extension}"),
            TileLayout::Zoomify => {
                let below = self.below.get(number as usize).copied().unwrap_or_default();
                let (columns, _) = self.dzi.grid(level);
                let index = below + u64::from(row) * u64::from(columns) + u64::from(column);
                format!("TileGroup{}/{number}-{column}-{row}.{extension}", index / GROUP_TILES)
            }
            TileLayout::Google => format!("{number}/{row}/{column}.{extension}"),
            TileLayout::Iiif | TileLayout::Iiif3 => self.iiif_tile(level, column, row),
        })
    }

    /// Returns `<region>/<size>/0/default.<format>`.
    fn iiif_tile(&self, level: u32, column: u32, row: u32) -> String {
        let shown = self.dzi.level_size(level);
        let side = |index: u32, shown: u32| {
            let start = u64::from(index) * u64::from(self.dzi.tile_size);
            u64::from(self.dzi.tile_size).min(u64::from(shown).saturating_sub(start))
        };
        let size = match self.tree.layout {
            TileLayout::Iiif => format!("{},", side(column, shown.width)),
            _ => format!("{},{}", side(column, shown.width), side(row, shown.height)),
        };
        format!("{}/{size}/0/default.{}", self.iiif_region(level, column, row), self.extension())
    }

    /// Returns the region of a tile, in pixels of the full picture.
    fn iiif_region(&self, level: u32, column: u32, row: u32) -> String {
        let Size { width, height } = self.dzi.size;
        let tile = u64::from(self.dzi.tile_size) << (self.dzi.max_level() - level);
        let axis = |index: u32, side: u32| {
            let start = (u64::from(index) * tile).min(u64::from(side));
            (start, tile.min(u64::from(side) - start))
        };
        let ((left, across), (top, down)) = (axis(column, width), axis(row, height));
        if (across, down) == (width.into(), height.into()) {
            return "full".to_owned();
        }
        format!("{left},{top},{across},{down}")
    }

    /// Returns Deep Zoom's descriptor, which is beside the folder of tiles; `None` in other layouts.
    pub fn descriptor(&self) -> Option<String> {
        let extension = |name: &str| format!("Format=\"{name}\"");
        let [named, own] = [self.dzi.tile_format.extension(), self.extension()].map(extension);
        (self.tree.layout == TileLayout::Dz).then(|| self.dzi.descriptor().replace(&named, &own))
    }

    /// Returns the files in the folder of tiles that are not tiles. `name` is the pyramid's, `tiles` the number of its
    /// tiles.
    pub fn other_files(
        &self,
        name: &str,
        tiles: u64,
        date: impl std::fmt::Display,
    ) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        let Dzi { size: Size { width, height }, tile_size, .. } = self.dzi;
        let mut files = match self.tree.layout {
            TileLayout::Dz => vec![],
            TileLayout::Zoomify => {
                let properties = format!(
                    "<IMAGE_PROPERTIES WIDTH=\"{width}\" HEIGHT=\"{height}\" NUMTILES=\"{tiles}\" NUMIMAGES=\"1\" \
                     VERSION=\"1.8\" TILESIZE=\"{tile_size}\" />\n"
                );
                vec![("ImageProperties.xml", properties.into_bytes())]
            }
            TileLayout::Google => vec![("blank.png", self.blank()?)],
            TileLayout::Iiif | TileLayout::Iiif3 => vec![("info.json", self.info(name).into_bytes())],
        };
        if self.tree.has_properties {
            files.push(("vips-properties.xml", properties(self.dzi.size, &date).into_bytes()));
        }
        Ok(files)
    }

    /// Returns a tile of background, which viewers show instead of tiles that were left out.
    fn blank(&self) -> io::Result<Vec<u8>> {
        let side = self.dzi.tile_size;
        let encoding = Encoding {
            format: TileFormat::Png,
            quality: 100,
            layout: Layout::Rgb,
            orientation: Orientation::UPRIGHT,
        };
        let mut encoder = TileEncoder::new(encoding);
        encoder.begin(side, side)?;
        let row = self.tree.background.repeat(side as usize);
        (0..side).try_for_each(|_| encoder.row(&row))?;
        let mut blank = Vec::new();
        encoder.finish(|bytes| {
            blank = bytes.to_vec();
            Ok(())
        })?;
        Ok(blank)
    }

    /// Returns `info.json`.
    fn info(&self, name: &str) -> String {
        let Dzi { size: Size { width, height }, tile_size, .. } = self.dzi;
        let factors: Vec<String> = (0..self.levels()).map(|level| (1_u64 << level).to_string()).collect();
        let (factors, format) = (factors.join(","), self.extension());
        let id = json_string(&format!("{}/{name}", self.tree.id));
        let tiles = format!(
            r#""tiles":[{{"scaleFactors":[{factors}],"width":{tile_size}}}],"width":{width},"height":{height}"#
        );
        let protocol = r#""protocol":"http://iiif.io/api/image""#;
        if self.tree.layout == TileLayout::Iiif {
            return format!(
                "{{\"@context\":\"http://iiif.io/api/image/2/context.json\",\"@id\":{id},\"profile\":[\
                 \"http://iiif.io/api/image/2/level0.json\",{{\"formats\":[\"{format}\"],\"qualities\":[\"default\"]}}],\
                 {protocol},{tiles}}}\n"
            );
        }
        // JPEG needs no mention.
        let formats =
            if format == "jpg" { String::new() } else { format!("\"extraFormats\":[\"{format}\"],") };
        format!(
            "{{\"@context\":\"http://iiif.io/api/image/3/context.json\",\"id\":{id},\"type\":\"ImageService3\",\
             \"profile\":\"level0\",{formats}{protocol},{tiles}}}\n"
        )
    }
}

/// Returns `vips-properties.xml` with the properties that do not depend on libvips.
fn properties(Size { width, height }: Size, date: &impl std::fmt::Display) -> String {
    let property = |name, value| {
        format!(
            "    <property>\n      <name>{name}</name>\n      <value type=\"gint\">{value}</value>\n    </property>\n"
        )
    };
    let properties = [property("width", width), property("height", height)].concat();
    format!(
        "<?xml version=\"1.0\"?>\n<image xmlns=\"http://www.vips.ecs.soton.ac.uk//dzsave\" date=\"{date}\" version=\"8.14\">\n  \
         <properties>\n{properties}  </properties>\n</image>\n"
    )
}

/// Returns a text as a string of JSON (RFC 8259, section 7).
fn json_string(text: &str) -> String {
    let mut string = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => string.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(string, "\\u{:04x}", u32::from(control)); // never fails
            }
            other => string.push(other),
        }
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_string() {
        assert_eq!(json_string("a\"b\\c\nä"), r#""a\"b\\c\u000aä""#);
    }

    #[test]
    fn a_tile_of_a_level_that_the_depth_leaves_out_is_refused() {
        let size = Size { width: 1000, height: 700 };
        let dzi = Dzi { size, tile_size: 256, tile_overlap: 0, tile_format: TileFormat::Jpg };
        let options = Options { layout: TileLayout::Zoomify, depth: Depth::OneTile, ..Options::default() };
        let names = Tree::of(&options).names(&dzi);
        assert_eq!(names.levels(), 3);
        assert_eq!(names.tile(8, 0, 0).unwrap(), "TileGroup0/0-0-0.jpg");
        assert!(names.tile(7, 0, 0).is_err() && names.tile(11, 0, 0).is_err());
    }
}
