//! YCbCr read as planes with 4:2:0 chroma subsampling by libjpeg. Tiles in JPEG are encoded from planes again, so no colour is
//! converted.

use std::io::{self, BufRead};

use edgezoom_geometry::Size;
use mozjpeg::decompress::DecompressStarted;
use mozjpeg::{ColorSpace, Decompress};

use super::error_manager::catch_damage;
use super::losses::Losses;
use super::read_header;
use crate::{Damage, Layout, RowReader, SourceError};
use edgezoom_jpeg::ycbcr420::{self, PairMut};

/// Returns true for YCbCr with 4:2:0 chroma subsampling.
pub fn is_ycbcr420<R>(header: &Decompress<R>) -> bool {
    let sampling =
        header.components().iter().map(|component| (component.h_samp_factor, component.v_samp_factor));
    header.color_space() == ColorSpace::JCS_YCbCr && sampling.eq([(2, 2), (1, 1), (1, 1)])
}

/// A JPEG that is read as planes. Of more chroma, each 2×2 samples are averaged. libjpeg goes on here where `edgezoom_jpeg`
/// stops.
pub struct PlanesReader<R> {
    size: Size,
    averages: Averages<R>,
    losses: Losses,
}

impl<R: BufRead> PlanesReader<R> {
    /// Opens a JPEG of this size, whose file is at its start.
    pub fn open(file: R, size: Size) -> Result<Self, SourceError> {
        let header = read_header(file)?;
        let mut losses = Losses::default();
        let averages = catch_damage(&mut losses, || Averages::start(header))?;
        Ok(Self { size, averages, losses })
    }
}

impl<R: BufRead> RowReader for PlanesReader<R> {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::YCbCr420
    }

    fn damage(&self) -> Option<Damage> {
        self.losses.damage()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let Self { size, averages, losses, .. } = self;
        ycbcr420::pairs_mut(into, size.width)
            .try_for_each(|pair| catch_damage(losses, || averages.read(pair)))
    }
}

/// Pairs of rows whose chroma is averaged from the pixels that libjpeg decodes. It repeats samples of halved chroma, whose mean
/// is what was stored.
pub struct Averages<R> {
    decoder: DecompressStarted<R>,
    /// Rows of pixels that have not been read.
    left: usize,
    /// Two rows of YCbCr pixels.
    pixels: [Vec<u8>; 2],
}

impl<R: BufRead> Averages<R> {
    /// Starts to decode.
    pub fn start(mut header: Decompress<R>) -> io::Result<Self> {
        let (row_bytes, left) = (3 * header.width(), header.height());
        header.do_fancy_upsampling(false);
        let decoder = header.to_colorspace(ColorSpace::JCS_YCbCr)?;
        Ok(Self { decoder, left, pixels: [vec![0; row_bytes], vec![0; row_bytes]] })
    }

    /// Decodes the next two rows into a pair, which may be narrower. At an odd edge the last sample is repeated.
    pub fn read(&mut self, pair: PairMut<'_>) -> io::Result<()> {
        let [upper, lower] = &mut self.pixels;
        for row in [&mut *upper, &mut *lower].into_iter().take(self.left) {
            self.decoder.read_scanlines_into(row)?;
        }
        if self.left == 1 {
            lower.copy_from_slice(upper);
        }
        self.left = self.left.saturating_sub(2);
        let rows = [upper, lower].map(|row| row.as_chunks::<3>().0);
        for (row, to) in rows.iter().zip(pair.luma) {
            row.iter().zip(to).for_each(|([luma, ..], to)| *to = *luma);
        }
        for (plane, to) in (1..).zip(pair.chroma) {
            for ((upper, lower), to) in rows[0].chunks(2).zip(rows[1].chunks(2)).zip(to) {
                let ends = [upper.first(), upper.last(), lower.first(), lower.last()];
                let sum: u16 = ends.into_iter().flatten().map(|pixel| u16::from(pixel[plane])).sum();
                *to = ((sum + 2) / 4) as u8;
            }
        }
        Ok(())
    }
}
