//! A picture's rows in bands: a row of a grid's cells, which are decoded in parallel, or some rows of a single frame.
//! Alpha is added to them and the crop cut out.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use heifer::color::ColorParams;
use heifer::heifer_isobmff::HeifFile;

use edgezoom_jpeg::ycbcr420;

use super::convert::{self, BAND_ROWS, convert};
use super::frame::{Frame, decode};
use super::item::{Coded, Primary};
use crate::colour::samples::unmultiply;
use crate::parallel::in_parallel;
use crate::read_ahead::BandSender;
use crate::{Format, Layout, SourceError};

/// The bands of a coded picture, without alpha and crop.
pub struct Cells<'a> {
    file: &'a HeifFile<'a>,
    coded: &'a Coded,
    format: &'static Format,
    threads: usize,
    pub layout: Layout,
    params: ColorParams,
    /// The first frame, which was decoded to find out the layout.
    first: Mutex<Option<Frame>>,
    next_row: u32,
}

impl<'a> Cells<'a> {
    /// Decodes the first frame. If `planes`, the layout may be [`Layout::YCbCr420`].
    pub fn open(
        file: &'a HeifFile<'a>,
        coded: &'a Coded,
        format: &'static Format,
        threads: usize,
        planes: bool,
    ) -> Result<Self, SourceError> {
        let (id, is_single) = (coded.cells[0], coded.cells.len() == 1);
        let frame = decode(file, id, (coded.codec, coded.cell_size), threads, format)?;
        let params = coded.params.unwrap_or_else(|| frame.colour_coding());
        // A sample of chroma must not belong to two cells.
        let is_even = coded.cell_size.width.is_multiple_of(2) && coded.cell_size.height.is_multiple_of(2);
        let layout = convert::layout(&frame, params, planes && (is_even || is_single));
        let first = Mutex::new(Some(frame));
        Ok(Self { file, coded, format, threads, layout, params, first, next_row: 0 })
    }

    /// Returns the next rows, or `None` after the last one.
    pub fn next_band(&mut self) -> Result<Option<Vec<u8>>, SourceError> {
        let height = self.coded.size.height;
        if self.next_row >= height {
            return Ok(None);
        }
        let top = self.next_row;
        if self.coded.cells.len() == 1 {
            return self.next_rows((height - top) as usize);
        }
        // Enough rows of cells to give each thread a cell.
        let columns = self.coded.columns;
        let first_row = top / self.coded.cell_size.height;
        let cell_rows = self
            .threads
            .div_ceil(columns)
            .min(self.coded.cell_rows().saturating_sub(first_row as usize))
            .max(1);
        let begin = first_row as usize * columns;
        let cells = in_parallel(cell_rows * columns, self.threads, |index| self.cell(begin + index))?;
        let rows = u64::from(self.coded.cell_size.height) * cell_rows as u64;
        self.next_row = u32::try_from((u64::from(top) + rows).min(u64::from(height))).unwrap_or(height);
        Ok(Some(self.assembled(&cells, (self.next_row - top) as usize)))
    }

    /// Returns the next rows of a single frame. `left` is the number of rows not returned yet.
    fn next_rows(&mut self, left: usize) -> Result<Option<Vec<u8>>, SourceError> {
        let rows = self.next_row as usize..self.next_row as usize + left.min(BAND_ROWS);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(frame) = &*first else { return Ok(None) };
        let band = self.converted(frame, rows.clone())?;
        self.next_row += rows.len() as u32;
        if rows.len() == left {
            *first = None;
        }
        Ok(Some(band))
    }

    /// Decodes and converts a cell.
    fn cell(&self, index: usize) -> Result<Vec<u8>, SourceError> {
        let coded = self.coded;
        let known =
            if index == 0 { self.first.lock().unwrap_or_else(PoisonError::into_inner).take() } else { None };
        let id = *coded.cells.get(index).ok_or_else(|| self.format.corrupt("its grid is invalid"))?;
        let frame = match known {
            Some(frame) => frame,
            None => decode(self.file, id, (coded.codec, coded.cell_size), 1, self.format)?,
        };
        self.converted(&frame, 0..coded.cell_size.height as usize)
    }

    fn converted(&self, frame: &Frame, rows: Range<usize>) -> Result<Vec<u8>, SourceError> {
        // A grid of one cell may show less than the cell.
        let is_single = self.coded.cells.len() == 1;
        let size = if is_single { self.coded.size } else { self.coded.cell_size };
        convert(frame, self.params, self.layout, size.width as usize, rows)
            .ok_or_else(|| self.format.corrupt("its frames are of different kinds"))
    }

    /// Joins rows of cells. Cells at the right and lower edge may be cropped.
    fn assembled(&self, cells: &[Vec<u8>], rows: usize) -> Vec<u8> {
        let (width, cell_width) = (self.coded.size.width as usize, self.coded.cell_size.width as usize);
        let cell_height = self.coded.cell_size.height as usize;
        let is_planes = self.layout == Layout::YCbCr420;
        let row_bytes = self.layout.row_bytes(self.coded.size.width);
        let mut band = vec![0; row_bytes * if is_planes { rows.next_multiple_of(2) } else { rows }];
        let bands = band.chunks_mut(row_bytes * cell_height);
        for (band, cells) in bands.zip(cells.chunks(self.coded.columns)) {
            for (cell, left) in cells.iter().zip((0..width).step_by(cell_width)) {
                let columns = cell_width.min(width - left);
                if is_planes {
                    let from = ycbcr420::pairs(cell, cell_width as u32);
                    for (to, from) in ycbcr420::pairs_mut(band, width as u32).zip(from) {
                        let luma = to.luma.into_iter().zip(from.luma);
                        luma.for_each(|(to, from)| {
                            to[left..left + columns].copy_from_slice(&from[..columns])
                        });
                        let (left, columns) = (left / 2, columns.div_ceil(2));
                        let chroma = to.chroma.into_iter().zip(from.chroma);
                        chroma.for_each(|(to, from)| {
                            to[left..left + columns].copy_from_slice(&from[..columns])
                        });
                    }
                } else {
                    let channels = self.layout.channels();
                    let (left, columns) = (left * channels, columns * channels);
                    let from = cell.chunks_exact(cell_width * channels);
                    for (to, from) in band.chunks_exact_mut(row_bytes).zip(from) {
                        to[left..left + columns].copy_from_slice(&from[..columns]);
                    }
                }
            }
        }
        band
    }
}

/// The rows of a coded picture, one at a time.
struct Rows<'a> {
    cells: Cells<'a>,
    row_bytes: usize,
    band: Vec<u8>,
    /// Number of bytes of the band that have been taken.
    taken: usize,
}

impl<'a> Rows<'a> {
    fn new(cells: Cells<'a>, width: u32) -> Self {
        let row_bytes = cells.layout.row_bytes(width);
        Self { cells, row_bytes, band: Vec::new(), taken: 0 }
    }

    /// Returns the next row. Must not be called after the last one.
    fn next(&mut self) -> Result<&[u8], SourceError> {
        if self.taken == self.band.len() {
            self.band = Vec::new();
            self.band = self.cells.next_band()?.ok_or(SourceError::Empty)?;
            self.taken = 0;
        }
        let row = self.taken..self.taken + self.row_bytes;
        self.taken = row.end;
        self.band.get(row).ok_or(SourceError::Empty)
    }
}

/// Decodes a picture and passes on its bands.
pub fn send(
    picture: &Primary,
    mut colours: Cells<'_>,
    alpha: Option<Cells<'_>>,
    bands: &BandSender,
) -> Result<(), SourceError> {
    let transform = picture.transform;
    let layout = if alpha.is_some() { Layout::Rgba } else { colours.layout };
    bands.begin(transform.size, layout)?;
    if alpha.is_none() && transform.is_whole(picture.colours.size) {
        while let Some(band) = colours.next_band()? {
            bands.send(band)?;
        }
        return Ok(());
    }
    let channels = colours.layout.channels();
    let mut colours = Rows::new(colours, picture.colours.size.width);
    let alpha_width = picture.alpha.as_ref().map_or(0, |alpha| alpha.size.width);
    let mut alpha = alpha.map(|alpha| Rows::new(alpha, alpha_width));
    let (left, width) = (transform.left as usize, transform.size.width as usize);
    let end = transform.top + transform.size.height;
    let mut band = Vec::new();
    for y in 0..end {
        let colours = colours.next()?;
        let alpha = alpha.as_mut().map(Rows::next).transpose()?;
        if y < transform.top {
            continue;
        }
        let colours = &colours[left * channels..(left + width) * channels];
        match alpha {
            None => band.extend_from_slice(colours),
            Some(alpha) => {
                let pixels = colours.chunks_exact(channels).zip(&alpha[left..left + width]);
                band.extend(pixels.flat_map(|(pixel, &alpha)| {
                    let colour = |channel: usize| {
                        let value = pixel[channel.min(channels - 1)];
                        if picture.is_premultiplied { unmultiply(value, alpha) } else { value }
                    };
                    [colour(0), colour(1), colour(2), alpha]
                }));
            }
        }
        if (y + 1 - transform.top).is_multiple_of(BAND_ROWS as u32) || y + 1 == end {
            bands.send(std::mem::take(&mut band))?;
        }
    }
    Ok(())
}
