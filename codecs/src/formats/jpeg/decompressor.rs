//! libjpeg's raw data output: the planes of a picture, 16 rows at a time, with chroma at half the resolution, whatever it is
//! stored at. The safe binding offers that only for a whole picture at once. Errors are handled by the
//! [error manager](super::error_manager); all calls belong into [`catch_errors`](super::catch_errors).
//!
//! Source: libjpeg.txt, "Raw (downsampled) image data" and "Compressed data handling (source and destination
//! managers)".
#![allow(unsafe_code)]

use std::io::{self, Read};
use std::mem;
use std::os::raw::{c_long, c_void};
use std::ptr::{self, NonNull};

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{boolean, jpeg_decompress_struct, jpeg_error_mgr, jpeg_source_mgr};

use super::{error_manager, unwinding};
use crate::ycbcr420::{PairMut, ROWS};

/// A decoder of the planes of a picture, with 4:2:0 chroma subsampling.
pub struct Decompressor<'a> {
    /// Owned, and only ever used through this pointer: libjpeg keeps pointers to its parts.
    state: NonNull<State<'a>>,
    sampling: Sampling,
    /// The chroma of a band, as it is stored, where that is more than 4:2:0.
    chroma: [Vec<u8>; 2],
}

/// How many samples of luma lie beside and above each other in one of chroma: 1 or 2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    across: usize,
    down: usize,
}

impl Sampling {
    const HALVED: Self = Self { across: 2, down: 2 };

    /// By the sampling factors of the components. `None`: chroma cannot be halved to 4:2:0.
    pub fn of(factors: &[(i32, i32)]) -> Option<Self> {
        match *factors {
            [(across @ 1..=2, down @ 1..=2), (1, 1), (1, 1)] => {
                Some(Self { across: across as usize, down: down as usize })
            }
            _ => None,
        }
    }
}

struct State<'a> {
    info: jpeg_decompress_struct,
    errors: jpeg_error_mgr,
    source: jpeg_source_mgr,
    file: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
}

impl Sampling {
    /// Makes rows of chroma at half the resolution of those that are stored, of a picture that is so wide.
    fn halve<'a>(
        self,
        mut rows: impl Iterator<Item = &'a [u8]>,
        width: usize,
        out: impl Iterator<Item = &'a mut [u8]>,
    ) {
        let mean = |one: [u8; 2], other: [u8; 2]| {
            let sum: u16 = [one, other].as_flattened().iter().map(|&sample| u16::from(sample)).sum();
            ((sum + 2) >> 2) as u8
        };
        for out in out {
            let Some(upper) = rows.next() else { return };
            // Below an odd lower edge there is no lower row.
            let lower = if self.down == 1 { rows.next().unwrap_or(upper) } else { upper };
            if self.across == 2 {
                let pairs = upper.iter().zip(lower);
                out.iter_mut().zip(pairs).for_each(|(out, (&one, &other))| *out = mean([one; 2], [other; 2]));
                continue;
            }
            let pairs = upper.as_chunks().0.iter().zip(lower.as_chunks().0);
            out.iter_mut().zip(pairs).for_each(|(out, (&one, &other))| *out = mean(one, other));
            // Beside an odd right edge there is nothing that counts.
            if let (1, Some(last)) = (width % 2, width.checked_sub(1))
                && let (Some(out), Some(&one), Some(&other)) =
                    (out.get_mut(last / 2), upper.get(last), lower.get(last))
            {
                *out = mean([one; 2], [other; 2]);
            }
        }
    }
}

impl<'a> Decompressor<'a> {
    /// A decoder that reads the file in blocks of so many bytes.
    pub fn new(file: impl Read + 'a, block_bytes: usize) -> Self {
        let state = Box::into_raw(Box::new(State {
            // SAFETY: it consists of numbers and pointers, for all of which zero is a value.
            info: unsafe { mem::zeroed() },
            errors: error_manager::new(),
            source: jpeg_source_mgr {
                next_input_byte: ptr::null(),
                bytes_in_buffer: 0,
                init_source: Some(nothing),
                fill_input_buffer: Some(fill),
                skip_input_data: Some(skip),
                resync_to_restart: Some(libjpeg::jpeg_resync_to_restart),
                term_source: Some(nothing),
            },
            file: Box::new(file),
            buffer: vec![0; block_bytes],
        }));
        // SAFETY: the pointers are to fields of one allocation, which lives until `drop` has destroyed the decoder.
        unsafe {
            (*state).info.common.err = &raw mut (*state).errors;
            libjpeg::jpeg_create_decompress(&raw mut (*state).info);
            (*state).info.common.client_data = state.cast::<c_void>();
            (*state).info.src = &raw mut (*state).source;
            Self {
                state: NonNull::new_unchecked(state),
                sampling: Sampling::HALVED,
                chroma: [Vec::new(), Vec::new()],
            }
        }
    }

    /// Reads the header and starts decoding. Returns the picture's width and height.
    pub fn start(&mut self) -> io::Result<(u32, u32)> {
        // SAFETY: the decoder is new, and has a source. It cannot be short of input, which `fill` gives or unwinds.
        unsafe { libjpeg::jpeg_read_header(self.info(), 1) };
        let factors = self.components().map(|component| (component.h_samp_factor, component.v_samp_factor));
        self.sampling = Sampling::of(&factors)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its chroma subsampling is odd"))?;
        let info = self.info();
        info.raw_data_out = 1;
        info.out_color_space = info.jpeg_color_space;
        // SAFETY: the header is read.
        unsafe { libjpeg::jpeg_start_decompress(info) };
        Ok((info.image_width, info.image_height))
    }

    /// Decodes the next 16 rows into 8 pairs.
    pub fn read_band(&mut self, mut band: Vec<PairMut<'_>>) -> io::Result<()> {
        // libjpeg writes whole blocks of 8×8: the rows have to be that long.
        let bytes = self.components().map(|component| component.width_in_blocks as usize * 8);
        let Sampling { down, .. } = self.sampling;
        let is_halved = self.sampling == Sampling::HALVED;
        let fits = |pair: &PairMut<'_>| {
            pair.luma.iter().all(|row| bytes[0] <= row.len())
                && pair.chroma.iter().zip(&bytes[1..]).all(|(row, bytes)| !is_halved || *bytes <= row.len())
        };
        if !band.iter().all(fits) || band.len() * 2 != ROWS as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut luma = [ptr::null_mut(); ROWS as usize];
        let mut chroma = [[ptr::null_mut(); ROWS as usize]; 2];
        for (rows, pair) in luma.chunks_exact_mut(2).zip(&mut band) {
            rows.iter_mut().zip(&mut pair.luma).for_each(|(row, to)| *row = to.as_mut_ptr());
        }
        let mut stored = mem::take(&mut self.chroma);
        if is_halved {
            for (number, pair) in band.iter_mut().enumerate() {
                chroma.iter_mut().zip(&mut pair.chroma).for_each(|(rows, to)| rows[number] = to.as_mut_ptr());
            }
        } else {
            for ((rows, plane), &bytes) in chroma.iter_mut().zip(&mut stored).zip(&bytes[1..]) {
                plane.resize(bytes * ROWS as usize / down, 0);
                rows.iter_mut()
                    .zip(plane.chunks_exact_mut(bytes))
                    .for_each(|(row, to)| *row = to.as_mut_ptr());
            }
        }
        let info = self.info();
        let (width, left) =
            (info.image_width as usize, info.image_height.saturating_sub(info.output_scanline));
        // A row of MCUs is one or two blocks high.
        let mcu_rows = 8 * down;
        for first in (0..ROWS as usize).step_by(mcu_rows) {
            if first > 0 && info.output_scanline >= info.image_height {
                break;
            }
            let [blue, red] = &mut chroma;
            let mut planes = [&mut luma[first..], &mut blue[first / down..], &mut red[first / down..]]
                .map(<[_]>::as_mut_ptr);
            // SAFETY: for the sampling that was checked, it writes as many rows of the first plane and 8 of each other, each
            // of as many blocks as were compared with the rows, which are borrowed or held until the end.
            let read = unsafe { libjpeg::jpeg_read_raw_data(info, planes.as_mut_ptr(), mcu_rows as u32) };
            if read as usize != mcu_rows {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if !is_halved {
            for (plane, (samples, &bytes)) in stored.iter().zip(&bytes[1..]).enumerate() {
                let rows = samples.chunks_exact(bytes.max(1)).take((left as usize).div_ceil(down));
                let to = band.iter_mut().map(|pair| &mut *pair.chroma[plane]);
                self.sampling.halve(rows, width, to);
            }
        }
        self.chroma = stored;
        Ok(())
    }

    fn info(&mut self) -> &mut jpeg_decompress_struct {
        // SAFETY: the state lives as long as `self`, which is borrowed for as long as the reference.
        unsafe { &mut (*self.state.as_ptr()).info }
    }

    /// The three components, once the header is read.
    fn components(&mut self) -> [libjpeg::jpeg_component_info; 3] {
        let info = self.info();
        if info.comp_info.is_null() || info.num_components != 3 {
            return Default::default();
        }
        // SAFETY: `comp_info` points to an array of `num_components` elements.
        std::array::from_fn(|index| unsafe { ptr::read(info.comp_info.add(index)) })
    }
}

impl Drop for Decompressor<'_> {
    fn drop(&mut self) {
        // SAFETY: the state was made by a box, and nothing uses it once the decoder is destroyed.
        unsafe {
            libjpeg::jpeg_destroy_decompress(&mut (*self.state.as_ptr()).info);
            drop(Box::from_raw(self.state.as_ptr()));
        }
    }
}

unsafe extern "C-unwind" fn nothing(_: &mut jpeg_decompress_struct) {}

/// Fills the input buffer. Behind the end of the file comes the marker for the end of the picture, as libjpeg does it.
unsafe extern "C-unwind" fn fill(info: &mut jpeg_decompress_struct) -> boolean {
    let state = info.common.client_data.cast::<State<'_>>();
    // SAFETY: it is what `new` set: the state that `info` is in. Only its other fields are touched through it.
    let (file, buffer, source) = unsafe { (&mut (*state).file, &mut (*state).buffer, &mut (*state).source) };
    let read = loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result,
        }
    };
    match read {
        Ok(bytes @ 1..) => {
            source.next_input_byte = buffer.as_ptr();
            source.bytes_in_buffer = bytes;
        }
        Ok(0) => {
            const END: [u8; 2] = [0xff, 0xd9];
            source.next_input_byte = END.as_ptr();
            source.bytes_in_buffer = END.len();
            error_manager::warn(&info.common, libjpeg::JWRN_JPEG_EOF);
        }
        Err(_) => unwinding::fail(libjpeg::JERR_FILE_READ),
    }
    1
}

unsafe extern "C-unwind" fn skip(info: &mut jpeg_decompress_struct, bytes: c_long) {
    let mut left = usize::try_from(bytes).unwrap_or(0);
    let state = info.common.client_data.cast::<State<'_>>();
    loop {
        // SAFETY: as in `fill`; the pointer is moved within the bytes that it has.
        unsafe {
            let source = &mut (*state).source;
            let now = left.min(source.bytes_in_buffer);
            source.next_input_byte = source.next_input_byte.add(now);
            source.bytes_in_buffer -= now;
            left -= now;
            if left == 0 {
                return;
            }
            fill(info);
        }
    }
}
