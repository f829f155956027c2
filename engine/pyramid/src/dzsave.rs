//! The crate in one function: writes the pyramid of a picture to a sink.

use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use edgezoom_codecs::{DecodeOptions, RowReader, SourceError};
use edgezoom_geometry::Dzi;

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
    options.check()?;
    sink.check()?;
    let source = TileSource::open(options, open).map_err(BuildError::from)?;
    let output = SinkOutput { sink, writer: Mutex::new(None) };
    let built = source.build(options, &output).map_err(with_sink_error)?;
    if let Some(writer) = output.writer.into_inner().unwrap_or_else(PoisonError::into_inner) {
        writer.publish()?;
    }
    Ok(built)
}

/// Passes tiles of all encoder threads to a sink's writer, one at a time.
struct SinkOutput<'a> {
    sink: &'a dyn Sink,
    writer: Mutex<Option<Box<dyn PyramidWriter>>>,
}

impl TileOutput for SinkOutput<'_> {
    fn begin(&self, dzi: &Dzi) -> io::Result<()> {
        let writer = self.sink.begin(dzi).map_err(io::Error::other)?;
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }

    fn tile(&self, TileCoord { level, column, row }: TileCoord, bytes: &[u8]) -> io::Result<()> {
        let tile = Tile { level, column, row, bytes: Bytes::copy_from_slice(bytes) };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = writer
            .as_mut()
            .ok_or_else(|| io::Error::other("a tile was sent before the pyramid had begun"))?;
        writer.put(tile).map_err(io::Error::other)
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
