//! From the stored samples of a chunk to pixels of the layout that is read: byte order, predictor, sample format,
//! chroma subsampling, colour space, row by row.

use std::mem;
use std::ops::Range;

use super::colour::Colour;
use super::no_data::NoData;
use super::picture::{Picture, unit_bytes};
use super::predictor::Predictor;
use super::sample_format::SampleFormat;
use super::stretch::Stretch;
use crate::Layout;
use crate::colour::icc::Transform16;

/// The conversion of a picture's stored rows to pixels.
pub struct Pixels {
    pub picture: Picture,
    pub colour: Colour,
    pub stretch: Option<Stretch>,
    /// The conversion of colours of 16 bits to sRGB.
    pub transform_16: Option<Transform16>,
    /// The value of all colours of a pixel that is transparent.
    pub no_data: Option<NoData>,
}

/// Intermediate rows, which a thread keeps.
#[derive(Default)]
pub struct Rows {
    samples: Vec<u8>,
    plane: Vec<u8>,
    wide: Vec<u16>,
    predicted: Vec<u8>,
    colours: Vec<u8>,
    transform_16: Option<Transform16>,
}

impl Pixels {
    /// Returns the layout of the pixels.
    pub fn layout(&self) -> Layout {
        if self.no_data.is_some() { Layout::Rgba } else { self.colour.layout() }
    }

    /// Returns true if stored rows are pixels already.
    pub fn is_final(&self) -> bool {
        self.picture.predictor == Predictor::None && self.is_final_once_restored()
    }

    /// Returns true if stored rows are pixels once the predictor is undone.
    pub fn is_final_once_restored(&self) -> bool {
        let Picture { sample, together, subsampling, .. } = self.picture;
        sample == SampleFormat::BYTE
            && self.colour.is_final()
            && together == self.colour.samples()
            && self.stretch.is_none()
            && self.no_data.is_none()
            && subsampling == (1, 1)
    }

    /// Restores the samples of a row as they were before compression, in little-endian order. Rows that
    /// [are pixels](Self::is_final_once_restored) then need not be restored: [`Self::convert`] does so while it copies
    /// them.
    pub fn restore(&self, row: &mut [u8], rows: &mut Rows) {
        let Picture { sample, together, predictor, is_big_endian, .. } = self.picture;
        let bytes = sample.bytes_in_order();
        if is_big_endian && bytes > 1 && predictor != Predictor::Float {
            match bytes {
                2 => row.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse()),
                4 => row.as_chunks_mut::<4>().0.iter_mut().for_each(|sample| sample.reverse()),
                _ => row.chunks_exact_mut(bytes).for_each(<[u8]>::reverse),
            }
        }
        predictor.undo(row, sample.bits, together, &mut rows.predicted);
    }

    /// Fills `out` with the leftmost pixels of a row, which is at `place` in each plane. `line` is the number of the
    /// row within its units of subsampled chroma.
    pub fn convert(
        &self,
        planes: &[Vec<u8>],
        place: Range<usize>,
        line: usize,
        rows: &mut Rows,
        out: &mut [u8],
    ) {
        let Some(no_data) = self.no_data else {
            return self.convert_colours(planes, place, line, rows, out);
        };
        let (out, _) = out.as_chunks_mut::<4>();
        let channels = self.colour.layout().channels();
        let mut colours = mem::take(&mut rows.colours);
        colours.resize(out.len() * channels, 0);
        self.convert_colours(planes, place.clone(), line, rows, &mut colours);
        for ((index, out), colour) in out.iter_mut().enumerate().zip(colours.chunks_exact(channels)) {
            *out = match *colour {
                _ if self.has_no_data(no_data, planes, place.clone(), index, colour) => [0; 4],
                [grey] => [grey, grey, grey, 255],
                [red, green, blue] => [red, green, blue, 255],
                [red, green, blue, alpha] => [red, green, blue, alpha],
                _ => [0; 4],
            };
        }
        rows.colours = colours;
    }

    /// Returns true if all colours of a pixel, whose converted form is `colour`, have the value for no data.
    fn has_no_data(
        &self,
        no_data: NoData,
        planes: &[Vec<u8>],
        place: Range<usize>,
        column: usize,
        colour: &[u8],
    ) -> bool {
        let Picture { sample, together, .. } = self.picture;
        if !self.colour.has_own_values() {
            return colour.iter().take(3).all(|&value| no_data.is(value.into()));
        }
        (0..self.colour.colours()).all(|channel| {
            let (plane, index) =
                if planes.len() > 1 { (channel, column) } else { (0, column * together + channel) };
            let row = planes.get(plane).and_then(|plane| plane.get(place.clone())).unwrap_or_default();
            no_data.is(sample.value(row, index))
        })
    }

    fn convert_colours(
        &self,
        planes: &[Vec<u8>],
        place: Range<usize>,
        line: usize,
        rows: &mut Rows,
        out: &mut [u8],
    ) {
        let Picture { together, predictor, subsampling, .. } = self.picture;
        let (samples, channels) = (self.colour.samples(), self.colour.layout().channels());
        let columns = out.len() / channels;
        let Some(row) = planes.first().and_then(|plane| plane.get(place.clone())) else { return };
        if self.is_final_once_restored() {
            return predictor.undo_into(row, together, out);
        }
        if let Some(transform) = &self.transform_16 {
            let transform = rows.transform_16.get_or_insert_with(|| transform.clone());
            let stored = row.as_chunks::<2>().0.iter().take(columns * samples);
            rows.wide.clear();
            rows.wide.extend(stored.map(|&sample| u16::from_le_bytes(sample)));
            return transform.convert(&rows.wide, out);
        }
        rows.samples.resize(columns * samples, 0);
        if subsampling != (1, 1) {
            unpack_units(row, line, subsampling, &mut rows.samples);
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
        let Picture { sample, together, .. } = self.picture;
        match &self.stretch {
            Some(stretch) => stretch.to_8_bit(sample, row, together, first, out),
            None => self.colour.unpack(sample, row, together, first, out),
        }
    }
}

/// Unpacks a row of pixels, counted from the top of its [units](unit_bytes), as luma, Cb and Cr for each.
fn unpack_units(units: &[u8], row: usize, (across, down): (u32, u32), out: &mut [u8]) {
    let in_unit = across as usize;
    let units = units.chunks_exact(unit_bytes((across, down)));
    for (unit, out) in units.zip(out.chunks_mut(3 * in_unit)) {
        let Some(&[blue, red]) = unit.last_chunk::<2>() else { return };
        for (pixel, &luma) in out.as_chunks_mut::<3>().0.iter_mut().zip(&unit[row * in_unit..]) {
            *pixel = [luma, blue, red];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_share_the_chroma_of_their_unit() {
        let units = [1, 2, 3, 4, 50, 60, 5, 6, 7, 8, 70, 80];
        let mut row = [0; 9];
        unpack_units(&units, 1, (2, 2), &mut row);
        assert_eq!(row, [3, 50, 60, 4, 50, 60, 7, 70, 80]);
    }
}
