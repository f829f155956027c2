//! Makes pictures upright, unless the caller takes them [as stored](crate::DecodeOptions::as_stored), with their orientation,
//! and turns them in parts. A picture mirrored left to right is still a stream of rows. All other orientations need the last
//! rows first, so the picture is buffered within the memory bound (768 MiB hold 268 megapixels in RGB), and refused beyond.

use edgezoom_geometry::Size;

use crate::buffered::Buffered;
use crate::row_reader::{Jpeg, Wrapper};
use crate::{Bounds, Damage, Layout, Orientation, RowReader, SourceError};

/// Makes a picture upright, or with `as_stored` sets the orientation of its reader.
pub fn make_upright(
    orientation: Orientation,
    mut source: Box<dyn RowReader>,
    bounds: Bounds,
    as_stored: bool,
) -> Result<Box<dyn RowReader>, SourceError> {
    if orientation == Orientation::UPRIGHT {
        return Ok(source);
    }
    if as_stored {
        return Ok(Box::new(AsStored { source, orientation }));
    }
    if !orientation.swapped && !orientation.from_bottom {
        return Ok(Box::new(Mirrored { source }));
    }
    let stored = Buffered::load(&mut *source, bounds)?;
    Ok(Box::new(Rotated { stored, orientation, next: 0 }))
}

/// A picture that the caller turns.
struct AsStored {
    source: Box<dyn RowReader>,
    orientation: Orientation,
}

/// A picture mirrored left to right.
struct Mirrored {
    source: Box<dyn RowReader>,
}

/// A picture that is buffered as stored, and turned as it is read.
struct Rotated {
    stored: Buffered,
    orientation: Orientation,
    /// Next row of the upright picture.
    next: usize,
}

impl Wrapper for AsStored {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn orientation(&self) -> Orientation {
        self.orientation
    }

    fn as_jpeg(&mut self) -> Option<Jpeg<'_>> {
        self.source.as_jpeg()
    }

    fn damage(&self) -> Option<Damage> {
        let Orientation { swapped, from_bottom, .. } = self.orientation;
        // Stored rows are missing, which are columns or the first rows once turned.
        self.source.damage().map(|damage| if swapped || from_bottom { Damage::Partial } else { damage })
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.source.read_rows(into)
    }
}

impl Wrapper for Mirrored {
    fn source(&self) -> &dyn RowReader {
        &*self.source
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.source.read_rows(into)?;
        let width = self.source.size().width as usize;
        match self.source.layout() {
            Layout::Grey => mirror::<1>(into, width),
            Layout::Rgb => mirror::<3>(into, width),
            Layout::Rgba => mirror::<4>(into, width),
            // Planes are returned upright or as stored.
            Layout::YCbCr420 => {}
        }
        Ok(())
    }
}

impl RowReader for Rotated {
    fn size(&self) -> Size {
        self.orientation.turned(self.stored.size)
    }

    fn layout(&self) -> Layout {
        self.stored.layout
    }

    fn needs_opacity(&self) -> bool {
        true
    }

    fn damage(&self) -> Option<Damage> {
        self.stored.damage
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        match self.stored.layout {
            Layout::Grey => self.read::<1>(into),
            Layout::Rgb => self.read::<3>(into),
            Layout::Rgba => self.read::<4>(into),
            // Planes are returned upright or as stored.
            Layout::YCbCr420 => {}
        }
        Ok(())
    }
}

impl Rotated {
    fn read<const N: usize>(&mut self, into: &mut [u8]) {
        let (stored, _) = self.stored.pixels.as_chunks::<N>();
        let (into, _) = into.as_chunks_mut::<N>();
        let Size { width, height } = self.stored.size;
        let (width, height) = (width as usize, height as usize);
        let Orientation { swapped, from_right, from_bottom } = self.orientation;
        let column = |x: usize| if from_right { width - 1 - x } else { x };
        let row = |y: usize| if from_bottom { height - 1 - y } else { y };
        if swapped {
            // A stored row is a column of the upright picture: it has a pixel for each of the rows.
            let rows = into.len() / height;
            for (x, y) in (0..height).map(|x| (x, row(x))) {
                for offset in 0..rows {
                    into[offset * height + x] = stored[y * width + column(self.next + offset)];
                }
            }
            self.next += rows;
        } else {
            for out in into.chunks_exact_mut(width) {
                let start = row(self.next) * width;
                out.copy_from_slice(&stored[start..start + width]);
                if from_right {
                    out.reverse();
                }
                self.next += 1;
            }
        }
    }
}

fn mirror<const N: usize>(rows: &mut [u8], width: usize) {
    let (pixels, _) = rows.as_chunks_mut::<N>();
    for row in pixels.chunks_exact_mut(width) {
        row.reverse();
    }
}
