//! Saves pyramids: to a folder or an archive, to an archive in memory, or tile by tile to the caller.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use edgezoom_pyramid::sinks::{
    ArchiveFormat, ArchiveSink, ArchiveStream, DirectorySink, PyramidWriter, Sink, SinkError, Tree,
};
use edgezoom_pyramid::{Built, Dzi, Tile, TileLayout, dzsave_with};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::of_sink;
use crate::job::{Event, Running};
use crate::settings::Settings;
use crate::source::Source;

/// Passes tiles to the caller.
struct CallerSink(SyncSender<Event>);

impl Sink for CallerSink {
    fn begin(&self, _: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        Ok(Box::new(Self(self.0.clone())))
    }
}

impl PyramidWriter for CallerSink {
    fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        // The caller has closed the job, which cancels it.
        self.0.send(Event::Tile(tile)).map_err(|_| SinkError::Other("nobody takes the tiles".into()))
    }

    fn publish(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Writes an archive to memory.
struct MemorySink {
    format: ArchiveFormat,
    name: String,
    tree: Tree,
    archive: Archive,
}

/// The archive, when it is complete.
type Archive = Arc<Mutex<Option<Vec<u8>>>>;

struct MemoryWriter {
    stream: ArchiveStream<Vec<u8>>,
    archive: Archive,
}

impl Sink for MemorySink {
    fn begin(&self, dzi: &Dzi) -> Result<Box<dyn PyramidWriter>, SinkError> {
        let stream = ArchiveStream::new(Vec::new(), self.name.clone(), dzi, self.format, SystemTime::now());
        Ok(Box::new(MemoryWriter {
            stream: stream.with_tree(&self.tree),
            archive: Arc::clone(&self.archive),
        }))
    }
}

impl PyramidWriter for MemoryWriter {
    fn put(&mut self, tile: Tile) -> Result<(), SinkError> {
        self.stream.add_tile(&tile).map_err(other)
    }

    fn publish(self: Box<Self>) -> Result<(), SinkError> {
        let (bytes, _) = self.stream.finish().map_err(other)?;
        *self.archive.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
        Ok(())
    }
}

fn other(error: io::Error) -> SinkError {
    SinkError::Other(error.into())
}

/// A pyramid that was saved, as the package's `Pyramid` has it.
#[derive(IntoPyObject)]
pub struct Saved {
    width: u32,
    height: u32,
    tile_size: u32,
    overlap: u32,
    format: &'static str,
    levels: u32,
    damage: Option<String>,
    archive: Option<Py<PyBytes>>,
}

/// A pyramid that is being saved: an iterator over its events. An event is `(rows, of_rows)`, or `(level, column, row,
/// bytes)` if the tiles go to the caller.
#[pyclass(frozen)]
pub struct Job(Running<(Built, Archive)>);

#[pymethods]
impl Job {
    fn __iter__(job: PyRef<'_, Self>) -> PyRef<'_, Self> {
        job
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let event = match self.0.next(py)? {
            None => return Ok(None),
            Some(Event::Progress(rows, of)) => (rows, of).into_pyobject(py)?,
            Some(Event::Tile(Tile { level, column, row, bytes })) => {
                (level, column, row, PyBytes::new(py, &bytes)).into_pyobject(py)?
            }
        };
        Ok(Some(event.into_any()))
    }

    /// Waits for the end and returns what was saved.
    fn finish(&self, py: Python<'_>) -> PyResult<Saved> {
        let (Built { dzi, damage, .. }, archive) = self.0.finish(py)?;
        let archive = archive.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Saved {
            width: dzi.size.width,
            height: dzi.size.height,
            tile_size: dzi.tile_size,
            overlap: dzi.tile_overlap,
            format: dzi.tile_format.extension(),
            levels: dzi.max_level() + 1,
            damage: damage.map(|damage| damage.to_string()),
            archive: archive.map(|bytes| PyBytes::new(py, &bytes).unbind()),
        })
    }

    /// Ends the work, if it goes on, and waits for the end. Nothing of an incomplete pyramid is left.
    fn close(&self, py: Python<'_>) {
        self.0.close(py);
    }
}

/// Begins to save a pyramid: to the caller, or else to files at the path, or else to memory.
#[pyfunction]
pub fn save(
    source: &Bound<'_, PyAny>,
    path: Option<PathBuf>,
    to_caller: bool,
    settings: Settings,
) -> PyResult<Job> {
    let (options, tree) = (settings.options()?, settings.tree()?);
    let is_deep_zoom = options.layout == TileLayout::Dz;
    let format = settings.container()?.unwrap_or_else(|| match &path {
        Some(path) => ArchiveFormat::from_path(path),
        None => Some(if is_deep_zoom { ArchiveFormat::Szi } else { ArchiveFormat::Zip }),
    });
    if format == Some(ArchiveFormat::Szi) && !is_deep_zoom {
        return Err(PyValueError::new_err("an SZI has the layout dz"));
    }
    let site = settings.site(path.is_some() && format.is_none() && !to_caller)?;
    let archive = Archive::default();
    let sink: Option<Box<dyn Sink>> = match (path, format) {
        _ if to_caller => None,
        (Some(path), Some(format)) => {
            let sink = ArchiveSink::new(path, format, SystemTime::now()).map_err(|error| of_sink(&error))?;
            Some(Box::new(sink.replacing(settings.replace).with_tree(tree)))
        }
        (Some(path), None) => {
            let sink = DirectorySink::new(path).map_err(|error| of_sink(&error))?;
            let sink = sink.replacing(settings.replace).with_tree(tree);
            Some(Box::new(match site {
                Some(site) => sink.with_site(site).map_err(|error| of_sink(&error))?,
                None => sink,
            }))
        }
        (None, Some(format)) => {
            let name = settings.imagename.clone().unwrap_or_else(|| "image".to_owned());
            Some(Box::new(MemorySink { format, name, tree, archive: Arc::clone(&archive) }))
        }
        (None, None) => return Err(PyValueError::new_err("a folder needs a path")),
    };
    let source = Source::of(source)?;
    let job = Running::start(move |watch| {
        let sink = sink.unwrap_or_else(|| Box::new(CallerSink(watch.events.clone())));
        let open = source.opener(settings.bounds(), settings.pdfium.as_deref(), &watch.cancel)?;
        Ok((dzsave_with(open, &*sink, &options, watch)?, archive))
    });
    Ok(Job(job?))
}
