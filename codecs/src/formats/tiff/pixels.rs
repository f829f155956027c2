//! From the stored samples of a chunk to pixels of the layout that is read: byte order, predictor, sample format,
//! colour space, row by row.

use std::ops::Range;

use super::colour::Colour;
use super::predictor::Predictor;
use super::samples::Sample;
use super::stretch::Stretch;
use super::subsampled;
use crate::Layout;
use crate::colour::icc::Transform16;

/// How the stored rows of a picture become pixels.
pub struct Pixels {
    pub sample: Sample,
    pub colour: Colour,
    /// The samples of a pixel that are stored together.
    pub together: usize,
    pub predictor: Predictor,
    pub is_big_endian: bool,
    pub subsampling: (u32, u32),
    pub stretch: Option<Stretch>,
    /// The conversion of colours of 16 bits to sRGB.
    pub transform_16: Option<Transform16>,
}

/// Rows in between, which a thread keeps.
#[derive(Default)]
pub struct Rows {
    samples: Vec<u8>,
    plane: Vec<u8>,
    wide: Vec<u16>,
    predicted: Vec<u8>,
    transform_16: Option<Transform16>,
}

impl Pixels {
    /// The bytes of a stored row of so many columns: in subsampled YCbCr, of a row of units.
    pub fn row_bytes(&self, columns: usize) -> usize {
        match self.subsampling {
            (1, 1) => self.sample.row_bytes(columns * self.together),
            factors => subsampled::row_bytes(columns, factors),
        }
    }

    pub fn layout(&self) -> Layout {
        self.colour.layout()
    }

    /// Whether stored rows are pixels as they are.
    pub fn is_final(&self) -> bool {
        self.predictor == Predictor::None && self.is_final_once_restored()
    }

    /// Restores the samples of a row as they were before they were compressed, in little-endian order. Rows that
    /// [are pixels](Self::is_final_once_restored) then may be left: [`Self::convert`] restores them while it copies them.
    pub fn restore(&self, row: &mut [u8], rows: &mut Rows) {
        let bytes = self.sample.bytes_in_order();
        if self.is_big_endian && bytes > 1 && self.predictor != Predictor::Float {
            match bytes {
                2 => row.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse()),
                4 => row.as_chunks_mut::<4>().0.iter_mut().for_each(|sample| sample.reverse()),
                _ => row.chunks_exact_mut(bytes).for_each(<[u8]>::reverse),
            }
        }
        self.predictor.undo(row, self.sample.bits, self.together, &mut rows.predicted);
    }

    /// Converts the left part of a row, which lies at `place` in each plane; as many pixels as `out` has. `line` is
    /// the number of the row in its units.
    pub fn convert(
        &self,
        planes: &[Vec<u8>],
        place: Range<usize>,
        line: usize,
        rows: &mut Rows,
        out: &mut [u8],
    ) {
        let (samples, channels) = (self.colour.samples(), self.layout().channels());
        let columns = out.len() / channels;
        let Some(row) = planes.first().and_then(|plane| plane.get(place.clone())) else { return };
        if self.is_final_once_restored() {
            return self.predictor.undo_into(row, self.together, out);
        }
        if let Some(transform) = &self.transform_16 {
            let transform = rows.transform_16.get_or_insert_with(|| transform.clone());
            let stored = row.as_chunks::<2>().0.iter().take(columns * samples);
            rows.wide.clear();
            rows.wide.extend(stored.map(|&sample| u16::from_le_bytes(sample)));
            return transform.convert(&rows.wide, out);
        }
        rows.samples.resize(columns * samples, 0);
        if self.subsampling != (1, 1) {
            subsampled::unpack(row, line, self.subsampling, &mut rows.samples);
        } else if planes.len() == 1 {
            self.unpack(row, 0, &mut rows.samples);
        } else {
            rows.plane.resize(columns, 0);
            for (plane, row) in planes.iter().enumerate() {
                self.unpack(&row[place.clone()], plane, &mut rows.plane);
                let places = rows.samples.iter_mut().skip(plane).step_by(samples);
                places.zip(&rows.plane).for_each(|(place, &sample)| *place = sample);
            }
        }
        self.colour.convert(&rows.samples, out);
    }

    fn unpack(&self, row: &[u8], first: usize, out: &mut [u8]) {
        match &self.stretch {
            Some(stretch) => stretch.to_8_bit(self.sample, row, self.together, first, out),
            None => self.colour.unpack(self.sample, row, self.together, first, out),
        }
    }

    /// Whether stored rows are pixels when the predictor is undone.
    pub fn is_final_once_restored(&self) -> bool {
        self.sample == Sample::BYTE
            && self.colour.is_final()
            && self.together == self.colour.samples()
            && self.stretch.is_none()
            && self.subsampling == (1, 1)
    }
}
