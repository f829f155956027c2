//! Writes a pyramid as an archive from the first byte to the last, without seeking. Sinks for files and object stores
//! share it.

use std::io::{self, Write};
use std::time::SystemTime;

use edgezoom_geometry::{Archive, Dzi, PreviewKind, TileIndex, TileRange, tile_number};

use super::ArchiveFormat;
use super::zip::ZipWriter;
use crate::Tile;
use crate::sinks::Tree;
use crate::sinks::timestamp::Timestamp;
use crate::sinks::tree::Names;

/// Name of the [`TileIndex`] entry in the pyramid's folder.
const INDEX_NAME: &str = "tile-index.bin";

/// Folder of the previews in the pyramid's folder. libvips puts a slide's associated images there.
const PREVIEWS_FOLDER: &str = "associated_images";

/// An archive that is being written.
pub struct ArchiveStream<W> {
    zip: ZipWriter<W>,
    name: String,
    dzi: Dzi,
    format: ArchiveFormat,
    date: Timestamp,
    names: Names,
    /// Tiles so far, with their numbers.
    tiles: Vec<(u64, TileRange)>,
    /// Other files in the index, by their numbers.
    others: Vec<TileRange>,
}

impl<W: Write> ArchiveStream<W> {
    /// Makes an archive of the pyramid `name`. All entries get the date.
    pub fn new(to: W, name: String, dzi: &Dzi, format: ArchiveFormat, date: SystemTime) -> Self {
        let date = date.into();
        let names = Tree::default().names(dzi);
        let zip = ZipWriter::new(to, date);
        Self { zip, name, dzi: *dzi, format, date, names, tiles: Vec::new(), others: Vec::new() }
    }

    /// Sets the names of the files, before the first tile.
    #[must_use]
    pub fn with_tree(self, tree: &Tree) -> Self {
        Self { names: tree.names(&self.dzi), ..self }
    }

    /// Adds a tile. Tiles may be added in any order, each once.
    ///
    /// # Errors
    /// Returns an error if the tile is outside the pyramid or cannot be written.
    pub fn add_tile(&mut self, tile: &Tile) -> io::Result<()> {
        let Tile { level, column, row, bytes } = tile;
        let number = tile_number(&self.dzi, *level, *column, *row)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the tile is outside the pyramid"))?;
        if self.names.repeats(*level, *column, *row) {
            return Ok(());
        }
        let path = self.names.tile(*level, *column, *row)?;
        let offset = self.zip.add(&format!("{}{path}", self.folder()), bytes)?;
        for path in self.names.other_paths(*level, *column, *row) {
            self.zip.add(&format!("{}{path}", self.folder()), bytes)?;
        }
        // An entry is smaller than 4 GiB.
        self.tiles.push((number, TileRange { offset, length: bytes.len() as u32 }));
        Ok(())
    }

    /// Adds a preview, a JPEG, and returns its range.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn add_preview(&mut self, kind: PreviewKind, bytes: &[u8]) -> io::Result<TileRange> {
        self.add_file(&format!("{PREVIEWS_FOLDER}/{}.jpg", kind.name()), bytes)
    }

    /// Adds a file of the caller's to the pyramid's folder, and returns its range.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn add_file(&mut self, name: &str, bytes: &[u8]) -> io::Result<TileRange> {
        let offset = self.zip.add(&format!("{}/{name}", self.name), bytes)?;
        // An entry is smaller than 4 GiB.
        Ok(TileRange { offset, length: bytes.len() as u32 })
    }

    /// Adds a file of the caller's that the index has under this number, after the tiles. Numbers begin at 0; those that
    /// are left out have no file.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn add_numbered(&mut self, number: u32, name: &str, bytes: &[u8]) -> io::Result<()> {
        let range = self.add_file(name, bytes)?;
        let at = number as usize;
        self.others.resize(self.others.len().max(at + 1), TileRange::EMPTY);
        self.others[at] = range;
        Ok(())
    }

    /// Returns the number of files that the index has after the tiles.
    pub fn numbered(&self) -> u32 {
        self.others.len() as u32
    }

    /// Returns the underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        self.zip.get_mut()
    }

    /// Writes the descriptor and the rest. Returns the place of the index, which only an SZI has.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Option<Archive>)> {
        let folder = self.folder();
        for (other, content) in self.names.other_files(&self.name, self.tiles.len() as u64, self.date)? {
            self.zip.add(&format!("{folder}{other}"), &content)?;
        }
        let name = std::mem::take(&mut self.name);
        if let Some(descriptor) = self.names.descriptor() {
            self.zip.add(&format!("{name}/{name}.dzi"), descriptor.as_bytes())?;
        }
        let archive = match self.format {
            ArchiveFormat::Zip => None,
            ArchiveFormat::Szi => {
                let properties = super::scan_properties(&self.dzi, self.date);
                self.zip.add(&format!("{name}/scan-properties.xml"), properties.as_bytes())?;
                Some(self.add_index(&name)?)
            }
        };
        Ok((self.zip.finish()?, archive))
    }

    /// Returns the path of the folder of tiles, with a slash at the end.
    fn folder(&self) -> String {
        let name = &self.name;
        if self.names.has_level_folders() { format!("{name}/{name}_files/") } else { format!("{name}/") }
    }

    fn add_index(&mut self, name: &str) -> io::Result<Archive> {
        self.tiles.sort_unstable_by_key(|(number, _)| *number);
        let mut tiles = self.tiles.iter().peekable();
        // A tile that was never added has no bytes.
        let mut ranges: Vec<TileRange> = (0..self.dzi.tile_count())
            .map(|number| {
                tiles.next_if(|(added, _)| *added == number).map_or(TileRange::EMPTY, |(_, range)| *range)
            })
            .collect();
        ranges.append(&mut self.others);
        let index = TileIndex::encode(&ranges);
        let bytes = index.as_bytes();
        let index_offset = self.zip.add(&format!("{name}/{INDEX_NAME}"), bytes)?;
        Ok(Archive { index_offset, index_length: bytes.len() as u32 })
    }
}
