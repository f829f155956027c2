//! Writes a pyramid as files, in the layout of a [`Tree`]. That of the Deep Zoom file format is the default:
//!
//! ```text
//! <name>.dzi                                       the descriptor
//! <name>_files/<level>/<column>_<row>.<format>     the tiles
//! ```
//!
//! Other layouts have one folder, `<name>/`, with tiles and descriptor. The files are in a hidden folder beside the
//! output until they are complete.
//!
//! Source: the Deep Zoom file format,
//! <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>.

mod file_writer;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use edgezoom_codecs::{Metadata, PageVectors};
use edgezoom_geometry::Dzi;
use edgezoom_text::Text;

use super::hidden::Hidden;
use super::output_path::{OutputPath, check_free};
use super::site::{self, NewFolder, Shown};
use super::timestamp::Timestamp;
use super::tree::Names;
use super::{PyramidWriter, Sink, SinkError, Site, Tree, VectorPages};
use crate::{Built, Tile};
use file_writer::{FileWriter, TileFolders};

/// Number of threads that write files. Creating a file costs more than writing it, and the kernel creates files in
/// different folders in parallel.
const WRITER_THREADS: usize = 2;

/// Ending of the name of Deep Zoom's descriptor.
const DESCRIPTOR: &str = ".dzi";

/// Writes a pyramid to `<name>.dzi` and `<name>_files/`, or to `<name>/` in other layouts than Deep Zoom's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorySink {
    path: OutputPath,
    replaces: bool,
    tree: Tree,
    /// With its folder, if that is new. It is dropped after the files in it.
    site: Option<Arc<(Site, Option<NewFolder>)>>,
}

/// A pyramid in a hidden folder.
struct DirectoryWriter {
    // Fields are dropped in this order: the threads must end before the folder is deleted.
    threads: Vec<FileWriter>,
    next_thread: usize,
    hidden: Hidden,
    /// The folder of tiles in the hidden folder.
    files: PathBuf,
    sink: DirectorySink,
    names: Arc<Names>,
    /// Number of tiles so far.
    tiles: u64,
    vectors: VectorPages,
}

impl DirectorySink {
    /// Makes a sink for the path `<folder>/<name>`, with or without `.dzi`.
    ///
    /// # Errors
    /// Returns an error if the path does not end in a name.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, SinkError> {
        Ok(Self {
            path: OutputPath::new(path.as_ref(), "dzi")?,
            replaces: false,
            tree: Tree::default(),
            site: None,
        })
    }

    /// Sets whether an existing pyramid is replaced. By default it is an error.
    #[must_use]
    pub fn replacing(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Sets the names of the files. Default: those of Deep Zoom, from one pixel on.
    #[must_use]
    pub fn with_tree(self, tree: Tree) -> Self {
        Self { tree, ..self }
    }

    /// Writes a site beside a whole pyramid of Deep Zoom. Creates its folder if that does not exist; an unfinished site is
    /// deleted with it.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub fn with_site(self, site: Site) -> Result<Self, SinkError> {
        let folder = NewFolder::create(&self.path.folder)?;
        Ok(Self { site: Some(Arc::new((site, folder))), ..self })
    }

    /// Returns the path of Deep Zoom's descriptor.
    #[must_use]
    pub fn descriptor(&self) -> PathBuf {
        self.path.with_suffix(DESCRIPTOR)
    }

    /// Returns the path of the folder of tiles.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.path.with_suffix(self.suffix())
    }

    /// Returns the ending of the name of the folder of tiles. Only in Deep Zoom it has a descriptor beside it.
    fn suffix(&self) -> &'static str {
        if self.tree.descriptor_name().is_none() { "_files" } else { "" }
    }
}

impl Sink for DirectorySink {
    fn check(&self) -> Result<(), SinkError> {
        if self.site.is_some() {
            site::check(&self.path, self.replaces)?;
        }
        let files = self.files();
        match (self.tree.descriptor_name(), self.replaces) {
            (None, false) => check_free(&[self.descriptor(), files]),
            (Some(_), false) => check_free(&[files]),
            (None, true) if self.descriptor().is_dir() => {
                Err(SinkError::io(&self.descriptor(), io::ErrorKind::IsADirectory.into()))
            }
            (None, true) => Ok(()),
            // The folder's name is the user's own, so it may be a folder of something else.
            (Some(descriptor), true) => {
                let is_replaceable = files.symlink_metadata().is_err() || files.join(descriptor).is_file();
                if is_replaceable { Ok(()) } else { Err(SinkError::NoPyramid { path: files, descriptor }) }
            }
        }
    }

    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        self.check()?;
        let mut hidden = Hidden::beside(&self.path)?;
        let names = Arc::new(self.tree.names(dzi));
        let files = hidden.add(&self.path.name_with(self.suffix()));
        if let Some(content) = names.descriptor() {
            hidden.add_file(&self.path.name_with(DESCRIPTOR), content.as_bytes())?;
        }
        let folders = Arc::new(TileFolders::create(files.clone(), Arc::clone(&names))?);
        let threads = (0..WRITER_THREADS).map(|_| FileWriter::start(Arc::clone(&folders))).collect();
        Ok(Box::new(DirectoryWriter {
            threads,
            next_thread: 0,
            hidden,
            files,
            sink: self.clone(),
            names,
            tiles: 0,
            vectors: VectorPages::default(),
        }))
    }
}

impl PyramidWriter for DirectoryWriter {
    fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        if self.names.repeats(tile.level, tile.column, tile.row) {
            return Ok(());
        }
        self.tiles += 1;
        self.next_thread = (self.next_thread + 1) % self.threads.len();
        self.threads[self.next_thread].put(tile)
    }

    fn put_beside(&mut self, name: &OsStr, content: &[u8]) -> Result<(), SinkError> {
        self.hidden.add_file(name, content)
    }

    fn put_vectors(&mut self, page: &PageVectors) -> Result<(), SinkError> {
        if self.sink.site.is_none() {
            return Ok(());
        }
        let name = format!("vector/{}.svg", page.page);
        self.vectors.add(page, format!("{}/{name}", site::url_of(&self.sink.path, "_files")));
        let file = self.files.join(name);
        let folder = file.parent().unwrap_or(&self.files);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, &page.svg))
            .map_err(|error| SinkError::io(&file, error))
    }

    fn describe(&mut self, built: &Built, metadata: &Metadata, text: Option<&Text>) -> Result<(), SinkError> {
        let Some(site) = self.sink.site.as_deref() else { return Ok(()) };
        let shown = Shown { built, metadata, text, vectors: &self.vectors };
        let files = site.0.files(&self.sink.path, self.names.extension(), &shown)?;
        files.iter().try_for_each(|(name, content)| self.hidden.add_file(name.as_ref(), content.as_bytes()))
    }

    fn publish(mut self: Box<Self>) -> Result<(), SinkError> {
        self.threads.iter_mut().try_for_each(FileWriter::finish)?;
        let name = self.sink.path.name.to_string_lossy();
        let files = self.sink.files();
        let others = self.names.other_files(&name, self.tiles, Timestamp::from(SystemTime::now()));
        for (other, content) in others.map_err(|error| SinkError::io(&files, error))? {
            fs::write(self.files.join(other), content)
                .map_err(|error| SinkError::io(&files.join(other), error))?;
        }
        self.sink.check()?;
        self.hidden.publish()
    }
}
