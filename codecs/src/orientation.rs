//! How a picture has to be turned to stand upright, as cameras note it in EXIF (and TIFF in a tag of its own).
//!
//! A picture that is only mirrored left to right is still a stream of rows. All other turns need rows that come last to go
//! out first: such a picture is decoded as a whole, which the renderer's memory limit bounds (at 768 MiB, 268 megapixels
//! of colour), and fails with a clear message beyond. A temporary file would lift that bound, but the renderer has no
//! file system, and phones, whose pictures these are, make none as large.

use edgezoom_content::Size;

use crate::{Bounds, Buffered, Layout, RowReader, SourceError};

/// Where a pixel of the upright picture is found in the stored one: at (x, y), swapped, then counted from the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orientation {
    swapped: bool,
    from_right: bool,
    from_bottom: bool,
}

impl Orientation {
    /// Stored as it is to be shown.
    pub const UPRIGHT: Self = Self { swapped: false, from_right: false, from_bottom: false };

    /// The orientation by its number in EXIF, 1 to 8. Others mean nothing and count as upright.
    #[must_use]
    pub fn from_exif(number: u32) -> Self {
        let (swapped, from_right, from_bottom) = match number {
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, false, true),
            7 => (true, true, true),
            8 => (true, true, false),
            _ => return Self::UPRIGHT,
        };
        Self { swapped, from_right, from_bottom }
    }

    /// The orientation that a block of EXIF names. Broken EXIF is no reason not to show a picture: it counts as none.
    pub(crate) fn of_exif(block: &[u8]) -> Self {
        let number = exif::Reader::new()
            .read_raw(block.to_vec())
            .ok()
            .and_then(|exif| exif.get_field(exif::Tag::Orientation, exif::In::PRIMARY)?.value.get_uint(0));
        number.map_or(Self::UPRIGHT, Self::from_exif)
    }

    /// The source, upright.
    pub(crate) fn apply(
        self,
        mut strips: Box<dyn RowReader>,
        bounds: Bounds,
    ) -> Result<Box<dyn RowReader>, SourceError> {
        if self == Self::UPRIGHT {
            return Ok(strips);
        }
        if !self.swapped && !self.from_bottom {
            return Ok(Box::new(Mirrored { strips }));
        }
        let stored = Buffered::load(&mut *strips, bounds)?;
        Ok(Box::new(Turned { stored, orientation: self, next: 0 }))
    }
}

/// A picture that is mirrored left to right.
struct Mirrored {
    strips: Box<dyn RowReader>,
}

/// A picture that is held as it was stored, and read turned.
struct Turned {
    stored: Buffered,
    orientation: Orientation,
    /// The upright picture's next row.
    next: usize,
}

impl RowReader for Mirrored {
    fn size(&self) -> Size {
        self.strips.size()
    }

    fn layout(&self) -> Layout {
        self.strips.layout()
    }

    fn needs_opacity(&self) -> bool {
        self.strips.needs_opacity()
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.strips.read_rows(into)?;
        let width = self.size().width as usize;
        match self.layout() {
            Layout::Grey => mirror::<1>(into, width),
            Layout::Rgb => mirror::<3>(into, width),
            Layout::Rgba => mirror::<4>(into, width),
            // Only upright pictures come so.
            Layout::YCbCr420 => {}
        }
        Ok(())
    }
}

impl RowReader for Turned {
    fn size(&self) -> Size {
        let Size { width, height } = self.stored.size;
        if self.orientation.swapped { Size { width: height, height: width } } else { self.stored.size }
    }

    fn layout(&self) -> Layout {
        self.stored.layout
    }

    fn needs_opacity(&self) -> bool {
        true
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        match self.stored.layout {
            Layout::Grey => self.read::<1>(into),
            Layout::Rgb => self.read::<3>(into),
            Layout::Rgba => self.read::<4>(into),
            // Only upright pictures come so.
            Layout::YCbCr420 => {}
        }
        Ok(())
    }
}

impl Turned {
    fn read<const N: usize>(&mut self, into: &mut [u8]) {
        let (stored, _) = self.stored.pixels.as_chunks::<N>();
        let (into, _) = into.as_chunks_mut::<N>();
        let Size { width, height } = self.stored.size;
        let (width, height) = (width as usize, height as usize);
        let Orientation { swapped, from_right, from_bottom } = self.orientation;
        let column = |x: usize| if from_right { width - 1 - x } else { x };
        let row = |y: usize| if from_bottom { height - 1 - y } else { y };
        if swapped {
            // A stored row is a column here: each gives a few neighbouring pixels to the rows that are read at once.
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
