//! The crate in one function: writes the pyramid of a picture to a sink, watched by the caller.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use edgezoom_codecs::{Cancel, DecodeOptions, Metadata, RowReader, SourceError};
use edgezoom_geometry::Dzi;
use edgezoom_text::Text;

use crate::sinks::{PyramidWriter, Sink, SinkError};
use crate::{BuildError, Built, Options, OptionsError, Tile, TileCoord, TileOutput, TileSource};

/// An error of [`dzsave`].
#[derive(Debug, thiserror::Error)]
pub enum DzsaveError {
    /// An option is out of range.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The picture cannot be opened, read or encoded.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The sink refused the pyramid or a tile of it.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The caller has [ended](Cancel) the work.
    #[error("The work was cancelled.")]
    Cancelled,
    /// A decoder has a bug.
    #[error("The picture could not be converted: an internal check failed.")]
    Panicked,
}

/// Watches a pyramid that is being made, and may end it. Nothing of an ended one is left at the sink.
///
/// A closure that takes the numbers of rows that are read and of all rows is one. So is a [`Cancel`], which also ends
/// opening and reading if the [file has it](edgezoom_codecs::SourceFile::cancelled_by).
pub trait Observer: Sync {
    /// Receives the number of rows of the picture that have been read, which never falls, and of all rows. The thread that
    /// called [`dzsave_with`] calls it every few rows, and encoders wait for it.
    fn progress(&self, rows: u32, of: u32) {
        let _ = (rows, of);
    }

    /// Returns true if the work is to end.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Observer for () {}

impl<F: Fn(u32, u32) + Sync> Observer for F {
    fn progress(&self, rows: u32, of: u32) {
        self(rows, of);
    }
}

impl Observer for Cancel {
    fn is_cancelled(&self) -> bool {
        Cancel::is_cancelled(self)
    }
}

/// Writes the Deep Zoom pyramid of a picture to a sink and publishes it when it is complete. After an error, nothing is
/// left at the sink.
///
/// `open` returns a reader that starts at the first row, usually [`edgezoom_codecs::open_with`] with a file. It is
/// called a second time if the picture has an opacity channel and its pixels have to be read to decide whether the
/// tiles need one ([`TileSource::open`]). If a picture can be read only once, set [`Options::format`].
///
/// A damaged picture is saved as far as it can be read, with [`Built::damage`], unless [`Options::strict`] is set.
///
/// # Errors
/// Returns an error if an option is out of range, the picture cannot be read, or the sink refuses the pyramid.
pub fn dzsave(
    open: impl FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError>,
    sink: &dyn Sink,
    options: &Options,
) -> Result<Built, DzsaveError> {
    dzsave_with(open, sink, options, &())
}

/// Does the same, watched by the caller. To end opening, too, give the file the same [`Cancel`].
///
/// ```
/// use std::fs::{self, File};
///
/// use edgezoom_pyramid::codecs::{Bounds, Cancel, SourceFile, open_with};
/// use edgezoom_pyramid::sinks::DirectorySink;
/// use edgezoom_pyramid::{DzsaveError, Options, dzsave_with};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let photo = folder.path().join("photo.ppm");
/// # fs::write(&photo, [b"P6 600 400 255\n".as_slice(), &vec![128; 3 * 600 * 400]].concat())?;
/// # let out = folder.path().join("out");
/// let cancel = Cancel::default();
/// cancel.cancel(); // usually by another thread
/// let file = SourceFile::from(File::open(&photo)?).cancelled_by(&cancel);
/// let open = |decode: &_| open_with(file.clone(), Bounds::default(), decode);
/// let ended = dzsave_with(open, &DirectorySink::new(&out)?, &Options::default(), &cancel);
/// assert!(matches!(ended, Err(DzsaveError::Cancelled)));
/// assert!(!out.with_extension("dzi").exists());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`dzsave`], and if the observer ends the work.
pub fn dzsave_with(
    open: impl FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError>,
    sink: &dyn Sink,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Built, DzsaveError> {
    let run = AssertUnwindSafe(|| run(open, sink, options, observer));
    panic::catch_unwind(run).unwrap_or(Err(DzsaveError::Panicked))
}

fn run(
    open: impl FnMut(&DecodeOptions) -> Result<Box<dyn RowReader>, SourceError>,
    sink: &dyn Sink,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Built, DzsaveError> {
    options.check()?;
    sink.check()?;
    let began = Instant::now();
    let source = TileSource::open(options, open);
    // The error may be that of the read that the flag ended.
    if observer.is_cancelled() {
        return Err(DzsaveError::Cancelled);
    }
    let mut source = source.map_err(BuildError::from)?;
    let vectors = source.take_vectors();
    let output = SinkOutput {
        sink,
        writer: Mutex::new(None),
        text: OnceLock::new(),
        metadata: OnceLock::new(),
        observer,
        height: OnceLock::new(),
    };
    let built = source.build(options, &output).map_err(with_sink_error);
    if observer.is_cancelled() {
        return Err(DzsaveError::Cancelled);
    }
    let built = built?;
    let writer = output.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut writer) = writer {
        if let Some(vectors) = vectors {
            let mut put = |page: Result<_, _>| {
                output.check()?;
                page.map_or(Ok(()), |page| writer.put_vectors(&page).map_err(io::Error::other))
            };
            let drawn = vectors.draw(&|| began.elapsed(), &mut put);
            if observer.is_cancelled() {
                return Err(DzsaveError::Cancelled);
            }
            drawn.map_err(|error| with_sink_error(error.into()))?;
        }
        writer.describe(&built, output.metadata.get().unwrap_or(&Metadata::default()), output.text.get())?;
        writer.publish()?;
    }
    Ok(built)
}

/// Passes tiles of all encoder threads to a sink's writer, one at a time.
struct SinkOutput<'a> {
    sink: &'a dyn Sink,
    writer: Mutex<Option<Box<dyn PyramidWriter>>>,
    /// The words that the picture shows.
    text: OnceLock<Text>,
    metadata: OnceLock<Metadata>,
    observer: &'a dyn Observer,
    height: OnceLock<u32>,
}

impl SinkOutput<'_> {
    fn check(&self) -> io::Result<()> {
        if self.observer.is_cancelled() { Err(io::Error::other("cancelled")) } else { Ok(()) }
    }
}

impl TileOutput for SinkOutput<'_> {
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        let _ = self.height.set(dzi.size.height); // it begins once
        let writer = self.sink.begin(dzi).map_err(io::Error::other)?;
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }

    fn tile(&self, TileCoord { level, column, row }: TileCoord, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        let tile = Tile { level, column, row, bytes: Bytes::copy_from_slice(bytes) };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = writer
            .as_mut()
            .ok_or_else(|| io::Error::other("a tile was sent before the pyramid had begun"))?;
        writer.put(tile).map_err(io::Error::other)
    }

    fn text(&self, text: Text) -> io::Result<()> {
        let _ = self.text.set(text); // it comes once
        Ok(())
    }

    fn metadata(&self, metadata: Metadata) -> io::Result<()> {
        let _ = self.metadata.set(metadata); // it comes once
        Ok(())
    }

    fn progress(&self, rows: u32) -> io::Result<()> {
        self.check()?;
        self.observer.progress(rows, self.height.get().copied().unwrap_or_default());
        Ok(())
    }
}

/// Unwraps a sink's error from the `io::Error` in which [`SinkOutput`] passed it through the builder.
fn with_sink_error(error: BuildError) -> DzsaveError {
    match error {
        BuildError::Output(error) => match error.downcast::<SinkError>() {
            Ok(error) => error.into(),
            Err(error) => BuildError::Output(error).into(),
        },
        error => error.into(),
    }
}
