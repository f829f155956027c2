//! libjpeg's encoder, used again for one tile after the other: setting it up takes as long as a twentieth of a tile, and the
//! safe binding to it does that for each. It writes straight into the buffer that the tile goes out from.
#![allow(unsafe_code)]

use std::mem;
use std::os::raw::c_void;
use std::ptr::{self, NonNull};

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{
    J_COLOR_SPACE, J_INT_PARAM, JINT_COMPRESS_PROFILE_VALUE, boolean, jpeg_common_struct,
    jpeg_compress_struct, jpeg_destination_mgr, jpeg_error_mgr,
};

/// The bytes that a tile's buffer begins with. It grows, and stays as large for the next tile.
const FIRST_BYTES: usize = 16 << 10;

/// What comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Pixels of a colour space, row by row.
    Pixels(J_COLOR_SPACE),
    /// Planes, chroma with half the resolution both ways.
    Planes,
}

/// An encoder.
pub struct Compressor {
    /// Owned, and only ever used through this pointer: libjpeg keeps pointers to its parts.
    state: NonNull<State>,
    /// The bytes of a row of pixels, or of each plane's blocks in a row of them.
    row_bytes: [usize; 3],
}

struct State {
    info: jpeg_compress_struct,
    errors: jpeg_error_mgr,
    target: jpeg_destination_mgr,
    file: Vec<u8>,
}

impl Compressor {
    /// An encoder for tiles of a quality. With `halves_chroma` the colours get half the resolution, as far as there are any.
    pub fn new(input: Input, quality: u8, halves_chroma: bool) -> Self {
        // SAFETY: these structures consist of numbers, pointers and optional functions, for all of which zero is a value.
        let zeroed = unsafe {
            State { info: mem::zeroed(), errors: mem::zeroed(), target: mem::zeroed(), file: Vec::new() }
        };
        let state = Box::into_raw(Box::new(zeroed));
        // SAFETY: the pointers are to fields of one allocation, which lives until `drop` has destroyed the encoder.
        let info = unsafe {
            let errors = libjpeg::jpeg_std_error(&mut (*state).errors);
            errors.error_exit = Some(fail);
            errors.emit_message = Some(ignore_message);
            errors.output_message = Some(ignore);
            (*state).info.common.err = errors;
            libjpeg::jpeg_create_compress(&raw mut (*state).info);
            (*state).info.common.client_data = state.cast::<c_void>();
            (*state).target.init_destination = Some(begin);
            (*state).target.empty_output_buffer = Some(grow);
            (*state).target.term_destination = Some(end);
            (*state).info.dest = &raw mut (*state).target;
            &mut (*state).info
        };
        info.in_color_space = match input {
            Input::Pixels(space) => space,
            Input::Planes => J_COLOR_SPACE::JCS_YCbCr,
        };
        info.input_components = match info.in_color_space {
            J_COLOR_SPACE::JCS_GRAYSCALE => 1,
            J_COLOR_SPACE::JCS_EXT_RGBA => 4,
            _ => 3,
        };
        let fastest = JINT_COMPRESS_PROFILE_VALUE::JCP_FASTEST as i32;
        // SAFETY: the encoder is created, and knows what comes in.
        unsafe {
            libjpeg::jpeg_c_set_int_param(info, J_INT_PARAM::JINT_COMPRESS_PROFILE, fastest);
            libjpeg::jpeg_set_defaults(info);
            libjpeg::jpeg_set_quality(info, quality.into(), 0);
        }
        info.raw_data_in = boolean::from(input == Input::Planes);
        if !halves_chroma && !info.comp_info.is_null() {
            // SAFETY: the defaults are set, so there are components, and the first is that of lightness.
            let luma = unsafe { &mut *info.comp_info };
            (luma.h_samp_factor, luma.v_samp_factor) = (1, 1);
        }
        // SAFETY: it comes from a box.
        Self { state: unsafe { NonNull::new_unchecked(state) }, row_bytes: [0; 3] }
    }

    /// Begins a tile. One that was not finished is given up.
    pub fn begin(&mut self, width: u32, height: u32) {
        let info = self.info();
        (info.image_width, info.image_height) = (width, height);
        // SAFETY: the encoder is set up and has nowhere else to write to than its state.
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
        // SAFETY: it reads as many bytes as were just compared. It takes no row past the last.
        unsafe { libjpeg::jpeg_write_scanlines(self.info(), rows.as_ptr(), 1) };
    }

    /// Takes the next 16 rows of lightness and 8 of each chroma, each plane's rows one after the other.
    pub fn band(&mut self, planes: [&[u8]; 3]) {
        let mut rows = [[ptr::null(); 16]; 3];
        let counts = [16, 8, 8];
        for (((rows, plane), count), bytes) in rows.iter_mut().zip(planes).zip(counts).zip(self.row_bytes) {
            let stride = plane.len() / count;
            assert!(bytes <= stride && bytes > 0, "whole blocks");
            for (row, pixels) in rows.iter_mut().zip(plane.chunks_exact(stride)) {
                *row = pixels.as_ptr();
            }
        }
        assert!(self.info().raw_data_in != 0, "planes");
        let planes = [rows[0].as_ptr(), rows[1].as_ptr(), rows[2].as_ptr()];
        // SAFETY: of so many rows it reads the blocks that the tile's width has, which were compared with the rows.
        unsafe { libjpeg::jpeg_write_raw_data(self.info(), planes.as_ptr(), 16) };
    }

    /// The finished tile. All its rows must have come.
    pub fn finish(&mut self) -> &[u8] {
        // SAFETY: a tile was begun.
        unsafe { libjpeg::jpeg_finish_compress(self.info()) };
        // SAFETY: nothing else uses the file until the next tile begins, which needs `self` for itself.
        unsafe { &(*self.state.as_ptr()).file }
    }

    fn info(&mut self) -> &mut jpeg_compress_struct {
        // SAFETY: the state lives as long as `self`, which is borrowed for as long as the reference.
        unsafe { &mut (*self.state.as_ptr()).info }
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: the state was made by a box, and nothing uses it once the encoder is destroyed.
        unsafe {
            libjpeg::jpeg_destroy_compress(&mut (*self.state.as_ptr()).info);
            drop(Box::from_raw(self.state.as_ptr()));
        }
    }
}

/// There is nothing in rows of pixels that an encoder could fail at: this is a bug, or memory has run out.
extern "C-unwind" fn fail(encoder: &mut jpeg_common_struct) {
    // SAFETY: libjpeg calls its handlers with the structure whose error manager `new` set.
    let code = unsafe { encoder.err.as_ref() }.map_or(0, |errors| errors.msg_code);
    panic!("libjpeg refuses to encode: its error {code}");
}

extern "C-unwind" fn ignore(_: &mut jpeg_common_struct) {}

extern "C-unwind" fn ignore_message(_: &mut jpeg_common_struct, _: i32) {}

unsafe extern "C-unwind" fn begin(info: &mut jpeg_compress_struct) {
    // SAFETY: libjpeg calls it with the structure that `new` made.
    let (file, target) = unsafe { target(info) };
    file.clear();
    file.reserve(FIRST_BYTES);
    offer(file, target);
}

/// The file has no more room: all that was offered is written to.
unsafe extern "C-unwind" fn grow(info: &mut jpeg_compress_struct) -> boolean {
    // SAFETY: libjpeg calls it with the structure that `new` made, when it has written to the whole capacity.
    let (file, target) = unsafe { target(info) };
    unsafe { file.set_len(file.capacity()) };
    file.reserve(file.len());
    offer(file, target);
    1
}

unsafe extern "C-unwind" fn end(info: &mut jpeg_compress_struct) {
    // SAFETY: libjpeg calls it with the structure that `new` made, and has written to all but what it says is free.
    let (file, target) = unsafe { target(info) };
    unsafe { file.set_len(file.capacity() - target.free_in_buffer) };
}

/// The file of an encoder, and where libjpeg writes in it.
///
/// # Safety
/// The structure must be that of a [`State`] of which nothing else is borrowed.
unsafe fn target(info: &mut jpeg_compress_struct) -> (&mut Vec<u8>, &mut jpeg_destination_mgr) {
    let state = info.common.client_data.cast::<State>();
    // SAFETY: it is what `new` set. Only other fields than `info` are touched.
    unsafe { (&mut (*state).file, &mut (*state).target) }
}

/// Lets libjpeg write to what the file has room for.
fn offer(file: &mut Vec<u8>, target: &mut jpeg_destination_mgr) {
    let room = file.spare_capacity_mut();
    target.next_output_byte = room.as_mut_ptr().cast();
    target.free_in_buffer = room.len();
}
