//! The bands of the shown picture: those of its colours, with alpha put between them and the crop cut out.

use super::cells::Cells;
use super::item::Primary;
use super::samples::BAND_ROWS;
use crate::colour::samples::unmultiply;
use crate::read_ahead::BandSender;
use crate::{Layout, SourceError};

/// The rows of a coded picture, one at a time.
struct Rows<'a> {
    cells: Cells<'a>,
    row_bytes: usize,
    band: Vec<u8>,
    /// How many bytes of the band have been taken.
    taken: usize,
}

impl<'a> Rows<'a> {
    fn new(cells: Cells<'a>, width: u32) -> Self {
        let row_bytes = cells.layout.row_bytes(width);
        Self { cells, row_bytes, band: Vec::new(), taken: 0 }
    }

    /// The next row. There is one for each of the coded picture.
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

/// Decodes a picture and passes it on.
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
