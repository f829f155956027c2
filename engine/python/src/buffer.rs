//! The memory of Python's objects (PEP 3118), as bytes of a file or as pixels of an array. It is read where it is, without
//! the interpreter's lock: bytes that Python code changes meanwhile may be read in either state.

#![allow(unsafe_code, reason = "the buffer protocol gives a pointer")]

use std::io;
use std::slice;
use std::sync::Arc;

use edgezoom_pyramid::codecs::{Cancel, Layout, Pixels, ReadAt, SourceError};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Bytes that several readers share.
#[derive(Clone)]
pub struct Shared(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl ReadAt for Shared {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_ref().read_at(into, offset)
    }

    fn length(&self) -> io::Result<u64> {
        self.as_ref().length()
    }
}

/// An object's memory, which the object neither moves nor frees meanwhile.
struct Memory {
    buffer: PyUntypedBuffer,
    /// Distance of the first element from the first byte: with negative strides it is not 0.
    origin: usize,
    length: usize,
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        let first = self.buffer.buf_ptr().cast_const().cast::<u8>();
        // SAFETY: PEP 3118: the elements that shape and strides name are in the object's memory, and so are the bytes
        // between them. The memory is neither moved nor freed until `buffer` is dropped.
        unsafe { slice::from_raw_parts(first.sub(self.origin), self.length) }
    }
}

impl Memory {
    fn of(buffer: PyUntypedBuffer) -> PyResult<Self> {
        if buffer.suboffsets().is_some_and(|offsets| offsets.iter().any(|&offset| offset >= 0)) {
            return Err(PyValueError::new_err("an array of pointers to its rows cannot be read; copy it"));
        }
        if buffer.shape().contains(&0) {
            return Ok(Self { buffer, origin: 0, length: 0 });
        }
        let (mut before, mut after) = (0, 0);
        for (&length, &stride) in buffer.shape().iter().zip(buffer.strides()) {
            let reach = stride.unsigned_abs() * (length - 1);
            if stride < 0 { before += reach } else { after += reach }
        }
        Ok(Self { origin: before, length: before + after + buffer.item_size(), buffer })
    }
}

/// Pixels of an array.
pub struct Array {
    bytes: Shared,
    origin: usize,
    height: u32,
    width: u32,
    layout: Layout,
    /// Distance of rows, pixels and samples in bytes.
    strides: [isize; 3],
    /// Bytes of a sample: 1 or 2.
    sample: usize,
}

/// The content of a buffer.
pub enum Content {
    /// The bytes of a file.
    File(Shared),
    /// Pixels.
    Array(Array),
}

/// Reads an object's memory: with one dimension as a file, with two or three as pixels.
pub fn content(buffer: PyUntypedBuffer) -> PyResult<Content> {
    let sample = match buffer.format().to_bytes() {
        [b'B'] | [b'@' | b'=' | b'<' | b'>' | b'!', b'B'] => 1,
        [b'H'] | [b'@' | b'=', b'H'] => 2,
        [b'<', b'H'] if cfg!(target_endian = "little") => 2,
        other => {
            let format = String::from_utf8_lossy(other).into_owned();
            return Err(PyTypeError::new_err(format!(
                "an array has samples of uint8 or uint16 in this machine's order, not {format:?}"
            )));
        }
    };
    if buffer.dimensions() == 1 {
        if sample != 1 || !buffer.is_c_contiguous() {
            return Err(PyTypeError::new_err("a file in memory is bytes without gaps"));
        }
        return Ok(Content::File(Shared(Arc::new(Memory::of(buffer)?))));
    }
    let (layout, strides) = match (buffer.shape(), buffer.strides()) {
        (&[_, _], &[row, pixel]) => (Layout::Grey, [row, pixel, sample as isize]),
        (&[_, _, channels @ (1 | 3 | 4)], &[row, pixel, channel]) => {
            let layout = match channels {
                1 => Layout::Grey,
                3 => Layout::Rgb,
                _ => Layout::Rgba,
            };
            (layout, [row, pixel, channel])
        }
        _ => {
            return Err(PyValueError::new_err(
                "an array has the shape (height, width) or (height, width, 1, 3 or 4)",
            ));
        }
    };
    let side = |dimension: usize| {
        let side = buffer.shape().get(dimension).and_then(|&side| u32::try_from(side).ok());
        side.filter(|&side| side > 0)
            .ok_or_else(|| PyValueError::new_err("the array has no pixels, or too many"))
    };
    let (height, width) = (side(0)?, side(1)?);
    let memory = Memory::of(buffer)?;
    let origin = memory.origin;
    Ok(Content::Array(Array {
        bytes: Shared(Arc::new(memory)),
        origin,
        height,
        width,
        layout,
        strides,
        sample,
    }))
}

impl Array {
    /// Returns the pixels: where they are, if each row is without gaps, else copied.
    pub fn pixels(self, cancel: &Cancel) -> Result<Pixels<Shared>, SourceError> {
        let Self { width, height, layout, sample, strides: [row, pixel, channel], .. } = self;
        let bytes_of_row = layout.row_bytes(width) * sample;
        let is_packed = (channel, pixel) == (sample as isize, (sample * layout.channels()) as isize);
        let (bytes, stride) = match usize::try_from(row) {
            Ok(stride) if is_packed && (stride >= bytes_of_row || height == 1) => {
                (self.bytes, stride.max(bytes_of_row))
            }
            _ => (Shared(Arc::new(self.packed(cancel)?)), bytes_of_row),
        };
        let pixels = Pixels::new(bytes, width, height, layout)?;
        if sample == 2 { pixels.with_16_bits()?.with_stride(stride) } else { pixels.with_stride(stride) }
    }

    /// Copies the samples, row by row.
    fn packed(&self, cancel: &Cancel) -> Result<Vec<u8>, SourceError> {
        let (bytes, channels, [row_stride, pixel_stride, channel_stride]) =
            (self.bytes.as_ref(), self.layout.channels(), self.strides);
        let mut packed = Vec::new();
        let length = self.layout.row_bytes(self.width) * self.sample * self.height as usize;
        packed.try_reserve_exact(length).map_err(|_| SourceError::OutOfMemory)?;
        for row in 0..self.height as isize {
            if cancel.is_cancelled() {
                return Err(SourceError::Cancelled);
            }
            let row = self.origin as isize + row * row_stride;
            for pixel in 0..self.width as isize {
                for channel in 0..channels as isize {
                    let start = (row + pixel * pixel_stride + channel * channel_stride) as usize;
                    let sample = bytes.get(start..start + self.sample).ok_or(SourceError::Empty)?;
                    packed.extend_from_slice(sample);
                }
            }
        }
        Ok(packed)
    }
}
