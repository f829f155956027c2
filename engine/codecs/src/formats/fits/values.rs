//! The values of a picture, by plane and stored row: from a plain file, a gzipped one, or compressed tiles.

use std::io::Read;

use super::cards::number;
use super::header::Picture;
use super::tiles::Tiles;
use super::{FORMAT, Source};
use crate::formats::section::Section;
use crate::{Bounds, SourceError};

/// Reads the values of a picture.
pub struct Values {
    picture: Picture,
    place: Place,
    /// A buffer of stored numbers.
    stored: Vec<u8>,
}

/// The form in which the values are stored.
enum Place {
    /// Rows can be read in any order.
    File(Source),
    /// The rows of each plane are read in order.
    Streams(Vec<Box<dyn Read>>),
    Tiles(Box<Tiles>),
}

impl Values {
    pub fn open(source: &Source, picture: &Picture, bounds: Bounds) -> Result<Self, SourceError> {
        let picture = picture.clone();
        let place = match &picture.compressed {
            Some(_) if source.is_gzipped => {
                return Err(FORMAT.unsupported("its tiles are compressed and the file is gzipped"));
            }
            Some(compressed) => {
                Place::Tiles(Box::new(Tiles::new(&source.file, &picture, compressed, bounds)?))
            }
            None if source.is_gzipped => {
                let streams = (0..picture.planes)
                    .map(|plane| source.from(picture.at + picture.plane_bytes() * plane as u64));
                Place::Streams(streams.collect::<Result<_, _>>()?)
            }
            None => Place::File(source.clone()),
        };
        Ok(Self { picture, place, stored: Vec::new() })
    }

    /// Reads values of a row from a column on. A gzipped picture ignores both: it continues with the plane's next row.
    pub fn read(&mut self, plane: usize, row: u32, column: u32, into: &mut [f64]) -> Result<(), SourceError> {
        let bytes = self.picture.sample_bytes();
        match &mut self.place {
            Place::Tiles(tiles) => return tiles.read(plane, row, column, into),
            Place::File(source) => {
                let pixel = u64::from(row) * u64::from(self.picture.width) + u64::from(column);
                let at = self.picture.at + plane as u64 * self.picture.plane_bytes() + pixel * bytes as u64;
                self.stored.resize(into.len() * bytes, 0);
                let mut section = Section::new(&source.file, at, u64::MAX);
                section.read_exact(&mut self.stored).map_err(|_| FORMAT.ends_early())?;
            }
            Place::Streams(streams) => {
                self.stored.resize(into.len() * bytes, 0);
                let stream = streams.get_mut(plane).ok_or_else(|| FORMAT.ends_early())?;
                stream.read_exact(&mut self.stored).map_err(|_| FORMAT.ends_early())?;
            }
        }
        for (value, stored) in into.iter_mut().zip(self.stored.chunks_exact(bytes)) {
            let (float, integer) = number(stored, self.picture.bitpix)?;
            *value = self.picture.value(float, integer);
        }
        Ok(())
    }

    /// Returns values spread evenly over the picture: at most `most`, or all of a small picture. A picture that is cut
    /// off is sampled as far as it goes.
    pub fn sample(mut self, most: u64) -> Result<Vec<f64>, SourceError> {
        let Picture { width, height, planes, .. } = self.picture;
        let most = most / planes as u64;
        let pixels = u64::from(width) * u64::from(height);
        let is_streamed = matches!(self.place, Place::Streams(_));
        // A part of every n-th row. A stream has to be read completely, so every n-th value of all rows.
        let part = if pixels <= most { width } else { width.min(1024) };
        let step = u64::from(part) * u64::from(height) / most.max(1) + 1;
        let step = if is_streamed { 1 } else { u32::try_from(step).unwrap_or(u32::MAX) };
        let every =
            if is_streamed { usize::try_from(pixels / most.max(1) + 1).unwrap_or(usize::MAX) } else { 1 };
        let mut row_values = vec![0.0; if is_streamed { width } else { part } as usize];
        let mut values = Vec::new();
        for plane in 0..planes {
            let mut skipped = 0;
            for (index, row) in (0..height).step_by(step as usize).enumerate() {
                // Multiples of the golden ratio spread the parts best.
                let column = (u64::from(width - part) as f64 * (index as f64 * 0.618_034).fract()) as u32;
                let column = if is_streamed { 0 } else { column };
                if let Err(error) = self.read(plane, row, column, &mut row_values) {
                    if values.is_empty() {
                        return Err(error);
                    }
                    break;
                }
                values.extend(row_values.iter().skip(skipped).step_by(every));
                let beyond = row_values.len().saturating_sub(skipped).next_multiple_of(every);
                skipped = (skipped + beyond).saturating_sub(row_values.len());
            }
        }
        Ok(values)
    }
}

impl Picture {
    fn plane_bytes(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height) * self.sample_bytes() as u64
    }
}
