//! Makes the previews while the pyramid is built, by shrinking the smallest level that is large enough. The picture is neither
//! decoded nor read a second time.
//!
//! Rows of an upright picture are encoded at once. If the picture has to be turned, the preview (at most 4 MB) is held and turned
//! at the end.

use std::io;
use std::mem;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_geometry::{Dzi, PreviewKind, Size};

use crate::TileOutput;
use crate::geometry::Level;
use crate::mean_filter::MeanFilter;
use crate::strip::Strip;
use crate::tile_encoder::{Encoding, TileEncoder};
use crate::turn::turn;

/// Makes one preview.
pub struct PreviewMaker<'a> {
    kind: PreviewKind,
    /// Size of the upright preview.
    size: Size,
    level: &'a Level,
    encoding: Encoding,
    output: &'a dyn TileOutput,
    filter: Filter,
    encoder: TileEncoder,
    /// Rows that have to be turned.
    held: Vec<u8>,
    /// Number of the level's rows added.
    rows: u32,
}

enum Filter {
    Grey(MeanFilter<1>),
    Colours(MeanFilter<3>),
    Opacity(MeanFilter<4>),
}

/// Returns the makers of a pyramid's previews.
pub fn previews<'a>(
    dzi: &Dzi,
    levels: &'a [Level],
    encoding: Encoding,
    output: &'a dyn TileOutput,
) -> Vec<PreviewMaker<'a>> {
    let made = |kind: PreviewKind| {
        let size = kind.size(dzi.size);
        let stored = encoding.orientation.turned(size);
        let is_large_enough =
            |level: &&Level| level.columns.side >= stored.width && level.rows.side >= stored.height;
        let level = levels.iter().find(is_large_enough)?;
        let from = Size { width: level.columns.side, height: level.rows.side };
        let filter = match encoding.layout.channels() {
            1 => Filter::Grey(MeanFilter::new(from, stored)),
            3 => Filter::Colours(MeanFilter::new(from, stored)),
            _ => Filter::Opacity(MeanFilter::new(from, stored)),
        };
        let encoder = TileEncoder::of_pixels(encoding);
        Some(PreviewMaker { kind, size, level, encoding, output, filter, encoder, held: Vec::new(), rows: 0 })
    };
    PreviewKind::ALL.into_iter().filter_map(made).collect()
}

impl PreviewMaker<'_> {
    /// Adds a strip of any level. A level's strips must be added in order.
    pub fn take(&mut self, strip: &Strip) -> io::Result<()> {
        if strip.level != self.level.number {
            return Ok(());
        }
        let is_upright = self.encoding.orientation == Orientation::UPRIGHT;
        let Self { level, encoding, filter, encoder, held, rows, size, .. } = self;
        if *rows == 0 && is_upright {
            encoder.begin(size.width, size.height)?;
        }
        let mut shrunk = |row: &[u8]| {
            if is_upright {
                return encoder.row(row);
            }
            held.extend_from_slice(row);
            Ok(())
        };
        strip.for_each_row(encoding.layout, level, |row| {
            *rows += 1;
            match filter {
                Filter::Grey(filter) => filter.row(row, &mut shrunk),
                Filter::Colours(filter) => filter.row(row, &mut shrunk),
                Filter::Opacity(filter) => filter.row(row, &mut shrunk),
            }
        })?;
        if self.rows < self.level.rows.side { Ok(()) } else { self.finish(is_upright) }
    }

    fn finish(&mut self, is_upright: bool) -> io::Result<()> {
        if !is_upright {
            self.encode_turned()?;
        }
        let Self { kind, output, .. } = *self;
        self.encoder.finish(|bytes| output.preview(kind, bytes))
    }

    fn encode_turned(&mut self) -> io::Result<()> {
        let (held, mut upright) = (mem::take(&mut self.held), Vec::new());
        let channels = self.encoding.layout.channels();
        let stored: Vec<&[u8]> = held
            .chunks_exact(channels * self.encoding.orientation.turned(self.size).width as usize)
            .collect();
        match self.encoding.layout {
            Layout::Grey => turn::<1>(&stored, self.encoding.orientation, &mut upright),
            Layout::Rgb | Layout::YCbCr420 => turn::<3>(&stored, self.encoding.orientation, &mut upright),
            Layout::Rgba => turn::<4>(&stored, self.encoding.orientation, &mut upright),
        }
        self.encoder.begin(self.size.width, self.size.height)?;
        upright.chunks_exact(channels * self.size.width as usize).try_for_each(|row| self.encoder.row(row))
    }
}
