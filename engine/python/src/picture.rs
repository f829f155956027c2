//! A picture without a pyramid: its size, a region of its pixels, its words.

use edgezoom_pyramid::codecs::{DecodeOptions, RowReader, SourceError};
use edgezoom_text::Ink;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Failure;
use crate::job::Running;
use crate::settings::Settings;
use crate::source::{Opener, Source};

/// Rows that are read at once: enough for several threads.
const ROWS: u32 = 64;

/// A picture's size, and the number of samples of a pixel.
#[derive(IntoPyObject)]
pub struct Description {
    width: u32,
    height: u32,
    bands: usize,
    title: Option<String>,
}

/// Runs work with an opened source, while Python handles signals.
fn with_source<T: Send + 'static>(
    source: &Bound<'_, PyAny>,
    settings: Settings,
    work: impl FnOnce(Opener, DecodeOptions) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (decode, py) = (settings.decode_options()?, source.py());
    let source = Source::of(source)?;
    let job = Running::start(move |watch| {
        work(source.opener(settings.bounds(), settings.pdfium.as_deref(), &watch.cancel)?, decode)
    });
    job?.result(py)
}

/// Reads a picture up to a row, and passes on each row with its number.
fn each_row(
    reader: &mut dyn RowReader,
    end: u32,
    mut take: impl FnMut(u32, &[u8]),
) -> Result<(), SourceError> {
    let (height, row_bytes) = (reader.size().height, reader.layout().row_bytes(reader.size().width));
    let (mut number, mut rows) = (0, Vec::new());
    while number < end {
        let read = reader.rows_at_once().max(ROWS).min(height - number);
        rows.resize(read as usize * row_bytes, 0);
        reader.read_rows(&mut rows)?;
        (number..end).zip(rows.chunks_exact(row_bytes)).for_each(|(number, row)| take(number, row));
        number += read;
    }
    Ok(())
}

/// Returns a picture's size.
#[pyfunction]
pub fn describe(source: &Bound<'_, PyAny>, settings: Settings) -> PyResult<Description> {
    with_source(source, settings, |mut open, decode| {
        let mut reader = open(&decode)?;
        let (size, title) = (reader.size(), reader.take_metadata().read().title);
        Ok(Description { width: size.width, height: size.height, bands: reader.layout().channels(), title })
    })
}

/// Returns the pixels of a region, row by row. All rows above it are decoded, too.
#[pyfunction]
pub fn region<'py>(
    source: &Bound<'py, PyAny>,
    settings: Settings,
    place: [u32; 4],
) -> PyResult<(Bound<'py, PyBytes>, usize)> {
    let ([left, top, width, height], memory) = (place, settings.bounds().memory);
    let (pixels, bands) = with_source(source, settings, move |mut open, decode| {
        let mut reader = open(&decode)?;
        let (size, layout) = (reader.size(), reader.layout());
        let is_within =
            |start: u32, length: u32, side: u32| length > 0 && start.checked_add(length) <= Some(side);
        let fits = is_within(left, width, size.width) && is_within(top, height, size.height);
        let bottom = top.checked_add(height).filter(|_| fits).ok_or(Failure::Outside)?;
        let bytes = layout.row_bytes(width) as u64 * u64::from(height);
        if bytes > memory {
            return Err(SourceError::TooMuchMemory { reason: "the region", bytes, memory }.into());
        }
        let part = layout.row_bytes(left)..layout.row_bytes(left) + layout.row_bytes(width);
        let mut pixels = Vec::with_capacity(bytes as usize);
        each_row(&mut *reader, bottom, |number, row| {
            if number >= top {
                pixels.extend_from_slice(row.get(part.clone()).unwrap_or_default());
            }
        })?;
        Ok((pixels, layout.channels()))
    })?;
    Ok((PyBytes::new(source.py(), &pixels), bands))
}

/// Returns the words that a picture shows, as JSON, and as plain text; `None` if the format has none.
#[pyfunction]
pub fn words(source: &Bound<'_, PyAny>, settings: Settings) -> PyResult<Option<(String, String)>> {
    with_source(source, settings, |mut open, mut decode| {
        decode.drawing.text = true;
        let mut reader = open(&decode)?;
        let (size, layout) = (reader.size(), reader.layout());
        let Some(text) = reader.take_text() else { return Ok(None) };
        let text = text.bounded(size);
        let mut ink = Ink::new(&text, size, size);
        each_row(&mut *reader, size.height, |_, row| ink.row(row, layout.channels()))?;
        let shown = ink.shown();
        let json = shown.to_json().and_then(|json| String::from_utf8(json).ok());
        Ok(json.map(|json| (json, shown.plain())))
    })
}
