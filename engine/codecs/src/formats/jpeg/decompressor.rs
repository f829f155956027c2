//! libjpeg's raw data output: the planes of a picture, 16 rows at a time. The safe binding offers it only for a whole picture
//! at once. The [error manager](super::error_manager) handles errors; make all calls within
//! [`catch_errors`](super::catch_errors).
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

use super::{error_manager, fail};
use edgezoom_jpeg::ycbcr420::{PairMut, ROWS};

/// A decoder of the planes of a picture with 4:2:0 chroma subsampling.
pub struct Decompressor<'a> {
    /// Owned, and used only through this pointer: libjpeg has pointers to its parts.
    state: NonNull<State<'a>>,
}

struct State<'a> {
    info: jpeg_decompress_struct,
    errors: jpeg_error_mgr,
    source: jpeg_source_mgr,
    file: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
}

impl<'a> Decompressor<'a> {
    /// Returns a decoder that reads the file in blocks of `block_bytes` bytes.
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
            Self { state: NonNull::new_unchecked(state) }
        }
    }

    /// Reads the header and starts decoding. Returns the picture's width and height.
    pub fn start(&mut self) -> io::Result<(u32, u32)> {
        // SAFETY: the decoder is new, and has a source. It cannot be short of input, which `fill` gives or unwinds.
        unsafe { libjpeg::jpeg_read_header(self.info(), 1) };
        let sampling = self.components().map(|component| (component.h_samp_factor, component.v_samp_factor));
        if sampling != [(2, 2), (1, 1), (1, 1)] {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its chroma subsampling is not 4:2:0"));
        }
        let info = self.info();
        info.raw_data_out = 1;
        info.out_color_space = info.jpeg_color_space;
        // SAFETY: the header is read.
        unsafe { libjpeg::jpeg_start_decompress(info) };
        Ok((info.image_width, info.image_height))
    }

    /// Decodes the next 16 rows into 8 pairs.
    pub fn read_band(&mut self, mut band: Vec<PairMut<'_>>) -> io::Result<()> {
        // libjpeg writes whole blocks of 8×8, which have to fit into the rows.
        let blocks = self.components().map(|component| component.width_in_blocks as usize);
        let fits = |plane: usize, row: &[u8]| blocks[plane] * 8 <= row.len();
        let fits = band.iter().all(|pair| {
            fits(0, pair.luma[0])
                && fits(0, pair.luma[1])
                && fits(1, pair.chroma[0])
                && fits(2, pair.chroma[1])
        });
        if !fits || band.len() * 2 != ROWS as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut luma = [ptr::null_mut(); ROWS as usize];
        let mut chroma = [[ptr::null_mut(); ROWS as usize / 2]; 2];
        for (number, pair) in band.iter_mut().enumerate() {
            for (row, to) in luma[2 * number..].iter_mut().zip(&mut pair.luma) {
                *row = to.as_mut_ptr();
            }
            for (rows, to) in chroma.iter_mut().zip(&mut pair.chroma) {
                rows[number] = to.as_mut_ptr();
            }
        }
        let mut planes = [luma.as_mut_ptr(), chroma[0].as_mut_ptr(), chroma[1].as_mut_ptr()];
        // SAFETY: for the sampling that was checked, it writes 16 rows of the first plane and 8 of each other, each of
        // as many blocks as were compared with the rows, which are borrowed until it returns.
        match unsafe { libjpeg::jpeg_read_raw_data(self.info(), planes.as_mut_ptr(), ROWS) } {
            ROWS => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn info(&mut self) -> &mut jpeg_decompress_struct {
        // SAFETY: the state lives as long as `self`, which is borrowed for as long as the reference.
        unsafe { &mut (*self.state.as_ptr()).info }
    }

    /// Returns the three components, once the header is read.
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

/// Fills the input buffer. At the end of the file inserts the marker for the end of the picture, as libjpeg does.
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
        Err(_) => fail(libjpeg::JERR_FILE_READ),
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
