//! libjpeg's compressor, used again for one tile after the other.
//!
//! Setting a compressor up takes as long as a twentieth of a tile, and the safe binding (`mozjpeg`) does that for each
//! image. This one writes straight into the buffer that the tile is passed on from.
//!
//! Source: libjpeg's `libjpeg.txt`, sections "Compression details", "Error handling", "Compressed data handling (source
//! and destination managers)" and "Raw (downsampled) image data".
#![allow(unsafe_code)]

use std::mem;
use std::os::raw::c_void;
use std::ptr::{self, NonNull};

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{
    J_COLOR_SPACE, J_INT_PARAM, JINT_COMPRESS_PROFILE_VALUE, boolean, jpeg_common_struct,
    jpeg_compress_struct, jpeg_destination_mgr, jpeg_error_mgr,
};

/// The initial capacity of a tile's buffer. The buffer grows, and keeps its capacity for the next tile.
const INITIAL_BYTES: usize = 16 << 10;

/// What the encoder is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Rows of pixels in a colour space.
    Pixels(J_COLOR_SPACE),
    /// Rows of MCUs whose chroma is already halved ("raw data" in libjpeg).
    YCbCr420,
}

/// A JPEG encoder.
pub struct JpegEncoder {
    /// Owned, and only used through this pointer: libjpeg keeps pointers to its parts.
    state: NonNull<State>,
    /// The bytes of a row of pixels; with raw data, the bytes that libjpeg reads of a row of luma, Cb and Cr.
    row_bytes: [usize; 3],
}

struct State {
    info: jpeg_compress_struct,
    error_manager: jpeg_error_mgr,
    destination: jpeg_destination_mgr,
    file: Vec<u8>,
}

impl JpegEncoder {
    /// An encoder for tiles of a quality. With `halves_chroma` the file has chroma at half the resolution, unless it is
    /// grey.
    pub fn new(input: Input, quality: u8, halves_chroma: bool) -> Self {
        // SAFETY: these structures consist of numbers, pointers and optional functions, for all of which zero is a
        // value.
        let zeroed = unsafe {
            State {
                info: mem::zeroed(),
                error_manager: mem::zeroed(),
                destination: mem::zeroed(),
                file: Vec::new(),
            }
        };
        let state = Box::into_raw(Box::new(zeroed));
        // SAFETY: the pointers are to fields of one allocation, which lives until `drop` has destroyed the compressor.
        let info = unsafe {
            let errors = libjpeg::jpeg_std_error(&mut (*state).error_manager);
            errors.error_exit = Some(error_exit);
            errors.emit_message = Some(emit_message);
            errors.output_message = Some(output_message);
            (*state).info.common.err = errors;
            libjpeg::jpeg_create_compress(&raw mut (*state).info);
            (*state).info.common.client_data = state.cast::<c_void>();
            (*state).destination.init_destination = Some(init_destination);
            (*state).destination.empty_output_buffer = Some(empty_output_buffer);
            (*state).destination.term_destination = Some(term_destination);
            (*state).info.dest = &raw mut (*state).destination;
            &mut (*state).info
        };
        info.in_color_space = match input {
            Input::Pixels(space) => space,
            Input::YCbCr420 => J_COLOR_SPACE::JCS_YCbCr,
        };
        info.input_components = match info.in_color_space {
            J_COLOR_SPACE::JCS_GRAYSCALE => 1,
            J_COLOR_SPACE::JCS_EXT_RGBA => 4,
            _ => 3,
        };
        let fastest = JINT_COMPRESS_PROFILE_VALUE::JCP_FASTEST as i32;
        // SAFETY: the compressor is created, and its input colour space is set.
        unsafe {
            libjpeg::jpeg_c_set_int_param(info, J_INT_PARAM::JINT_COMPRESS_PROFILE, fastest);
            libjpeg::jpeg_set_defaults(info);
            libjpeg::jpeg_set_quality(info, quality.into(), 0);
        }
        info.raw_data_in = boolean::from(input == Input::YCbCr420);
        if !halves_chroma && !info.comp_info.is_null() {
            // SAFETY: the defaults are set, so there are components, and the first is luma.
            let luma = unsafe { &mut *info.comp_info };
            (luma.h_samp_factor, luma.v_samp_factor) = (1, 1);
        }
        // SAFETY: the pointer comes from a box.
        Self { state: unsafe { NonNull::new_unchecked(state) }, row_bytes: [0; 3] }
    }

    /// Begins a tile. A tile that was not finished is discarded.
    pub fn begin(&mut self, width: u32, height: u32) {
        let info = self.info();
        (info.image_width, info.image_height) = (width, height);
        // SAFETY: the compressor is set up, and its destination is a field of its own state.
        unsafe {
            libjpeg::jpeg_abort_compress(info);
            libjpeg::jpeg_start_compress(info, 1);
        }
        let pixels = width as usize * info.input_components as usize;
        let blocks = |pixels: u32| pixels.div_ceil(8) as usize * 8;
        let chroma = blocks(width.div_ceil(2));
        self.row_bytes = if info.raw_data_in == 0 { [pixels; 3] } else { [blocks(width), chroma, chroma] };
    }

    /// Takes the next row of pixels.
    pub fn row(&mut self, pixels: &[u8]) {
        assert!(pixels.len() == self.row_bytes[0] && self.info().raw_data_in == 0, "a whole row of pixels");
        let rows = [pixels.as_ptr()];
        // SAFETY: libjpeg reads as many bytes as were just compared. It takes no row past the last.
        unsafe { libjpeg::jpeg_write_scanlines(self.info(), rows.as_ptr(), 1) };
    }

    /// Takes the next row of MCUs: 16 rows of luma, 8 of Cb and 8 of Cr, the rows of each plane one after the other.
    pub fn mcu_row(&mut self, planes: [&[u8]; 3]) {
        let mut rows = [[ptr::null(); 16]; 3];
        let counts = [16, 8, 8];
        for (((rows, plane), count), bytes) in rows.iter_mut().zip(planes).zip(counts).zip(self.row_bytes) {
            let stride = plane.len() / count;
            assert!(bytes <= stride && bytes > 0, "whole blocks");
            for (row, pixels) in rows.iter_mut().zip(plane.chunks_exact(stride)) {
                *row = pixels.as_ptr();
            }
        }
        assert!(self.info().raw_data_in != 0, "an encoder for YCbCr 4:2:0");
        let planes = [rows[0].as_ptr(), rows[1].as_ptr(), rows[2].as_ptr()];
        // SAFETY: libjpeg reads the blocks of the tile's width of each row, whose bytes were just compared.
        unsafe { libjpeg::jpeg_write_raw_data(self.info(), planes.as_ptr(), 16) };
    }

    /// The finished tile. All its rows must have come.
    pub fn finish(&mut self) -> &[u8] {
        // SAFETY: a tile was begun.
        unsafe { libjpeg::jpeg_finish_compress(self.info()) };
        // SAFETY: the file is not touched until the next tile begins, which borrows `self` mutably.
        unsafe { &(*self.state.as_ptr()).file }
    }

    fn info(&mut self) -> &mut jpeg_compress_struct {
        // SAFETY: the state lives as long as `self`, which is borrowed for as long as the reference.
        unsafe { &mut (*self.state.as_ptr()).info }
    }
}

impl Drop for JpegEncoder {
    fn drop(&mut self) {
        // SAFETY: the state came from a box, and is not used once the compressor is destroyed.
        unsafe {
            libjpeg::jpeg_destroy_compress(&mut (*self.state.as_ptr()).info);
            drop(Box::from_raw(self.state.as_ptr()));
        }
    }
}

/// Encoding rows of pixels cannot fail: an error is a bug, or memory has run out.
extern "C-unwind" fn error_exit(encoder: &mut jpeg_common_struct) {
    // SAFETY: libjpeg calls its handlers with the structure whose error manager `new` set.
    let code = unsafe { encoder.err.as_ref() }.map_or(0, |errors| errors.msg_code);
    panic!("libjpeg cannot encode a tile: its error {code}");
}

extern "C-unwind" fn output_message(_: &mut jpeg_common_struct) {}

extern "C-unwind" fn emit_message(_: &mut jpeg_common_struct, _: i32) {}

unsafe extern "C-unwind" fn init_destination(info: &mut jpeg_compress_struct) {
    // SAFETY: libjpeg calls it with the structure that `new` made.
    let (file, destination) = unsafe { destination(info) };
    file.clear();
    file.reserve(INITIAL_BYTES);
    offer_spare_capacity(file, destination);
}

/// libjpeg calls this when it has filled the whole buffer.
unsafe extern "C-unwind" fn empty_output_buffer(info: &mut jpeg_compress_struct) -> boolean {
    // SAFETY: libjpeg calls it with the structure that `new` made, when it has written to the whole capacity.
    let (file, destination) = unsafe { destination(info) };
    unsafe { file.set_len(file.capacity()) };
    file.reserve(file.len());
    offer_spare_capacity(file, destination);
    1
}

unsafe extern "C-unwind" fn term_destination(info: &mut jpeg_compress_struct) {
    // SAFETY: libjpeg calls it with the structure that `new` made, and has written all but the bytes that it reports as
    // free.
    let (file, destination) = unsafe { destination(info) };
    unsafe { file.set_len(file.capacity() - destination.free_in_buffer) };
}

/// The file of an encoder and the destination manager, which says where in it libjpeg writes.
///
/// # Safety
/// The structure must be that of a [`State`] of which nothing else is borrowed.
unsafe fn destination(info: &mut jpeg_compress_struct) -> (&mut Vec<u8>, &mut jpeg_destination_mgr) {
    let state = info.common.client_data.cast::<State>();
    // SAFETY: `new` set the pointer. Only fields other than `info` are touched.
    unsafe { (&mut (*state).file, &mut (*state).destination) }
}

/// Lets libjpeg write into the file's spare capacity.
fn offer_spare_capacity(file: &mut Vec<u8>, destination: &mut jpeg_destination_mgr) {
    let room = file.spare_capacity_mut();
    destination.next_output_byte = room.as_mut_ptr().cast();
    destination.free_in_buffer = room.len();
}
