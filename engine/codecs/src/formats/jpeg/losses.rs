//! Derives what libjpeg could not decode from its messages, and from its position when it sent them.
//!
//! If a scan runs out of bytes, libjpeg fills the rest with grey, up to a restart marker if one follows. So the picture
//! ends at that position, unless it resumes.
//!
//! Source: jdhuff.c (`jpeg_fill_bit_buffer`), jdmarker.c (`read_restart_marker`) of libjpeg-turbo.

use std::os::raw::c_int;

use mozjpeg_sys as libjpeg;
use mozjpeg_sys::{jpeg_common_struct, jpeg_decompress_struct};

use crate::Damage;

/// `JWRN_ARITH_BAD_CODE` of jerror.h if compiled with arithmetic coding. The binding lacks it.
const ARITH_BAD_CODE: c_int = 126;

/// The part of a picture that could not be decoded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses(Option<Damage>);

/// The position of libjpeg in the picture.
struct Position {
    /// First row of the blocks that it reads.
    row: u32,
    rows: u32,
    is_first_scan: bool,
    is_in_scan: bool,
    /// True if it reads the last row of blocks, or none.
    is_last: bool,
    /// True if all coefficients of all components have been in a scan.
    is_complete: bool,
}

impl Losses {
    pub fn damage(self) -> Option<Damage> {
        self.0
    }

    /// Records a message of libjpeg.
    pub fn note(&mut self, code: c_int, decoder: &jpeg_common_struct) {
        if let Some(position) = position(decoder) {
            self.note_at(code, &position);
        }
    }

    fn note_at(&mut self, code: c_int, position: &Position) {
        let ends = match code {
            libjpeg::JWRN_HIT_MARKER => true,
            // The file ends. In the last row nothing more may be needed.
            libjpeg::JWRN_JPEG_EOF => !position.is_last,
            _ => false,
        };
        let loses = match code {
            libjpeg::JWRN_HUFF_BAD_CODE | ARITH_BAD_CODE | libjpeg::JWRN_MUST_RESYNC => true,
            // Bytes before a restart marker belong to pixels that were not decoded.
            libjpeg::JWRN_EXTRANEOUS_DATA => position.is_in_scan,
            libjpeg::JTRC_EOI => !position.is_complete,
            _ => ends,
        };
        self.0 = match self.0 {
            // The picture resumes at a restart marker.
            Some(_) if code == libjpeg::JTRC_RST => Some(Damage::Partial),
            Some(Damage::FromRow { .. }) => self.0,
            _ if ends && position.is_first_scan => {
                Some(Damage::FromRow { row: position.row, rows: position.rows })
            }
            _ if loses => Some(Damage::Partial),
            before => before,
        };
    }
}

/// Returns the position of a decompressor. `None`: it has not read a frame's header yet.
#[allow(unsafe_code)]
fn position(decoder: &jpeg_common_struct) -> Option<Position> {
    if decoder.is_decompressor == 0 {
        return None;
    }
    // SAFETY: libjpeg calls its handlers with the first part of the decompressor's structure (libjpeg.txt, "Error
    // handling"), and `is_decompressor` says that it is one.
    let info = unsafe { &*std::ptr::from_ref(decoder).cast::<jpeg_decompress_struct>() };
    let block_rows = 8 * u32::try_from(info.max_v_samp_factor).ok().filter(|&factor| factor > 0)?;
    let components = usize::try_from(info.num_components).ok().filter(|&count| count <= MAX_COMPONENTS)?;
    let is_complete = if info.comp_info.is_null() {
        false
    } else if info.coef_bits.is_null() {
        // SAFETY: `comp_info` points to an array of `num_components` elements. The table is set by a component's first
        // scan (jdinput.c, `latch_quant_tables`).
        (0..components).all(|index| unsafe { !(*info.comp_info.add(index)).quant_table.is_null() })
    } else {
        // SAFETY: `coef_bits` points to an array of at least `num_components` elements of 64 integers (jpeglib.h).
        let bits = |index| unsafe { *info.coef_bits.cast::<[c_int; 64]>().add(index) };
        (0..components).all(|index| bits(index).iter().all(|&missing| missing == 0))
    };
    let block_row = info.input_iMCU_row;
    let block_rows_in_all = info.image_height.div_ceil(block_rows);
    Some(Position {
        row: block_row.saturating_mul(block_rows).min(info.image_height.saturating_sub(1)),
        rows: info.image_height,
        is_first_scan: info.input_scan_number <= 1,
        is_in_scan: info.input_scan_number > 0 && block_row < block_rows_in_all,
        is_last: block_row.saturating_add(1) >= block_rows_in_all,
        is_complete,
    })
}

/// Maximum number of components that libjpeg can read: `MAX_COMPONENTS` in jmorecfg.h.
const MAX_COMPONENTS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(row: u32) -> Position {
        Position {
            row,
            rows: 100,
            is_first_scan: true,
            is_in_scan: true,
            is_last: row >= 96,
            is_complete: true,
        }
    }

    fn after(messages: &[(c_int, Position)]) -> Option<Damage> {
        let mut losses = Losses::default();
        messages.iter().for_each(|(code, position)| losses.note_at(*code, position));
        losses.damage()
    }

    #[test]
    fn a_scan_without_bytes_ends_the_picture_unless_it_resumes() {
        use libjpeg::{JTRC_RST, JWRN_HIT_MARKER, JWRN_MUST_RESYNC};
        let ends = Some(Damage::FromRow { row: 16, rows: 100 });
        assert_eq!(after(&[(JTRC_RST, at(0)), (JWRN_HIT_MARKER, at(16))]), ends);
        assert_eq!(after(&[(JWRN_HIT_MARKER, at(16)), (JWRN_MUST_RESYNC, at(32))]), ends);
        let resumes = [(JWRN_HIT_MARKER, at(16)), (JTRC_RST, at(32))];
        assert_eq!(after(&resumes), Some(Damage::Partial));
    }

    #[test]
    fn a_file_without_its_end_is_complete_if_its_last_row_has_arrived() {
        assert_eq!(after(&[(libjpeg::JWRN_JPEG_EOF, at(96))]), None);
        let ends = Some(Damage::FromRow { row: 88, rows: 100 });
        assert_eq!(after(&[(libjpeg::JWRN_JPEG_EOF, at(88))]), ends);
    }

    #[test]
    fn later_scans_only_refine_the_picture() {
        let later = |code| after(&[(code, Position { is_first_scan: false, is_complete: false, ..at(8) })]);
        assert_eq!(later(libjpeg::JWRN_HIT_MARKER), Some(Damage::Partial));
        assert_eq!(later(libjpeg::JTRC_EOI), Some(Damage::Partial));
        let between = Position { is_in_scan: false, ..at(0) };
        assert_eq!(after(&[(libjpeg::JWRN_EXTRANEOUS_DATA, between)]), None);
        assert_eq!(later(libjpeg::JWRN_EXTRANEOUS_DATA), Some(Damage::Partial));
    }
}
