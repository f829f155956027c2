//! The output of `tiler convert` on disk: a directory or an archive.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::bail;
use bytes::Bytes;
use clap::ValueEnum;
use edgezoom_codecs::PageVectors;
use edgezoom_content::{Dzi, PreviewKind};
use edgezoom_pyramid::sinks::{
    self, ArchiveFormat, ArchiveSink, DirectorySink, PyramidWriter, Sink, Site, Tree,
};
use edgezoom_text::Text;
use edgezoom_tiler::renderer::{Built, Labels, Tile};
use edgezoom_tiler::s3::{SinkError, TileSink};

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Container {
    /// <OUTPUT>.dzi and <OUTPUT>_files/
    Directory,
    /// <OUTPUT>.zip: the same in one uncompressed file
    Zip,
    /// <OUTPUT>.szi: a ZIP with the properties that slide viewers need
    Szi,
}

impl Container {
    /// Returns the format of an archive; `None` for a directory.
    pub(super) fn archive(self) -> Option<ArchiveFormat> {
        match self {
            Self::Directory => None,
            Self::Zip => Some(ArchiveFormat::Zip),
            Self::Szi => Some(ArchiveFormat::Szi),
        }
    }
}

/// A pyramid on disk. Dropping it before it is published deletes it.
pub(super) struct FileSink {
    sink: Box<dyn Sink>,
    writer: Option<Box<dyn PyramidWriter>>,
    path: PathBuf,
    /// The words of the picture.
    text: Option<Text>,
    /// True if the words are written to files of their own.
    writes_text: bool,
}

impl FileSink {
    /// Creates a sink at `path` for a tree of files, in an archive or a directory, there with a site if there is one. It
    /// discards words that are not in the site.
    ///
    /// # Errors
    /// The directory does not exist and is no site's, or the pyramid exists and `replace` is not set.
    pub(super) fn new(
        path: &Path,
        archive: Option<ArchiveFormat>,
        tree: Tree,
        site: Option<Site>,
        replace: bool,
    ) -> anyhow::Result<Self> {
        let other = if site.is_some() { "another folder for --output" } else { "another --output" };
        let sink: Box<dyn Sink> = match archive {
            None => {
                let sink = DirectorySink::new(path)?.replacing(replace).with_tree(tree);
                Box::new(match site {
                    Some(site) => sink.with_site(site)?,
                    None => sink,
                })
            }
            Some(format) => Box::new(
                ArchiveSink::new(path, format, SystemTime::now())?.replacing(replace).with_tree(tree),
            ),
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("the directory {} does not exist: create it first", folder.display());
        }
        sink.check().map_err(|error| match error {
            sinks::SinkError::Unhosted(_) => error.into(),
            _ if replace => anyhow::Error::new(error).context(format!("choose {other}")),
            _ => anyhow::Error::new(error).context(format!("add --force to replace it, or choose {other}")),
        })?;
        Ok(Self { sink, writer: None, path: path.to_owned(), text: None, writes_text: false })
    }

    /// Sets whether words are written to files of their own.
    pub(super) fn with_text(self, writes_text: bool) -> Self {
        Self { writes_text, ..self }
    }
}

impl TileSink for FileSink {
    type Published = ();

    async fn begin(&mut self, dzi: &Dzi) -> Result<(), SinkError> {
        self.writer = Some(self.sink.begin(dzi)?);
        Ok(())
    }

    async fn put(&mut self, _: &Dzi, tile: Tile) -> Result<(), SinkError> {
        if let Some(writer) = &mut self.writer {
            writer.put(tile)?;
        }
        Ok(())
    }

    async fn restart(&mut self) -> Result<(), SinkError> {
        self.writer = None;
        self.text = None;
        Ok(())
    }

    /// Discards previews, which only the service's pages need.
    async fn put_preview(&mut self, _: &Dzi, _: PreviewKind, _: Bytes) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put_text(&mut self, _: &Dzi, text: Text) -> Result<(), SinkError> {
        self.text = Some(text);
        Ok(())
    }

    async fn put_vectors(&mut self, _: &Dzi, page: PageVectors) -> Result<(), SinkError> {
        Ok(self.writer.as_mut().map_or(Ok(()), |writer| writer.put_vectors(&page))?)
    }

    async fn publish(
        &mut self,
        built: &Built,
        labels: &Labels,
        _: impl FnMut(usize, usize) + Send,
    ) -> Result<(), SinkError> {
        let text = self.text.take();
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        if let Some(text) = text.as_ref().filter(|_| self.writes_text) {
            let json = text.to_json().unwrap_or_default();
            for (ending, file) in [("text.json", json), ("hocr", text.hocr().into_bytes())] {
                let path = self.path.with_added_extension(ending);
                writer.put_beside(path.file_name().unwrap_or_default(), &file)?;
            }
        }
        writer.describe(built, &labels.into(), text.as_ref())?;
        Ok(writer.publish()?)
    }
}
