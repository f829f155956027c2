//! Makes the previews while the pyramid is built, by shrinking the smallest level that is large enough. The picture is neither
//! decoded nor read a second time. Previews are JPEG, and opacity is flattened onto white: some sites show transparent cards
//! on black, and IIIF's clients ask for JPEG.
//!
//! Rows of an upright picture are encoded at once. If the picture has to be turned, the preview (at most 4 MB) is held and turned
//! at the end.

use std::io;
use std::mem;

use edgezoom_codecs::{Layout, Orientation};
use edgezoom_geometry::{Dzi, PreviewKind, Size, TileFormat};

use crate::TileOutput;
use crate::coarse::on_white;
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
    layout: Layout,
    orientation: Orientation,
    output: &'a dyn TileOutput,
    filter: Filter,
    encoder: TileEncoder,
    /// A row without opacity.
    flattened: Vec<u8>,
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
    let Encoding { layout, orientation, .. } = encoding;
    let shown = if layout == Layout::Rgba { Layout::Rgb } else { layout };
    let encoding = Encoding { format: TileFormat::Jpg, layout: shown, ..encoding };
    let made = |kind: PreviewKind| {
        let size = kind.size(dzi.size);
        let stored = orientation.turned(size);
        let is_large_enough =
            |level: &&Level| level.columns.side >= stored.width && level.rows.side >= stored.height;
        let level = levels.iter().find(is_large_enough)?;
        let from = Size { width: level.columns.side, height: level.rows.side };
        let filter = match layout.channels() {
            1 => Filter::Grey(MeanFilter::new(from, stored)),
            3 => Filter::Colours(MeanFilter::new(from, stored)),
            _ => Filter::Opacity(MeanFilter::new(from, stored)),
        };
        let encoder = TileEncoder::of_pixels(encoding);
        let (flattened, held) = (Vec::new(), Vec::new());
        Some(PreviewMaker {
            kind,
            size,
            level,
            layout,
            orientation,
            output,
            filter,
            encoder,
            flattened,
            held,
            rows: 0,
        })
    };
    PreviewKind::ALL.into_iter().filter_map(made).collect()
}

impl PreviewMaker<'_> {
    /// Adds a strip of any level. A level's strips must be added in order.
    pub fn take(&mut self, strip: &Strip) -> io::Result<()> {
        let Strip::Rows(strip) = strip else { return Ok(()) };
        if strip.level != self.level.number {
            return Ok(());
        }
        let is_upright = self.orientation == Orientation::UPRIGHT;
        let Self { level, layout, filter, encoder, flattened, held, rows, size, .. } = self;
        if *rows == 0 && is_upright {
            encoder.begin(size.width, size.height)?;
        }
        let mut shrunk = |shrunk: &[u8]| {
            let mut row = shrunk;
            if *layout == Layout::Rgba {
                flattened.clear();
                flattened.extend(shrunk.as_chunks().0.iter().flat_map(|pixel| on_white(*pixel)));
                row = flattened;
            }
            if is_upright {
                return encoder.row(row);
            }
            held.extend_from_slice(row);
            Ok(())
        };
        strip.for_each_row(*layout, level, |row| {
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
        let channels = if self.layout == Layout::Grey { 1 } else { 3 };
        let width = self.orientation.turned(self.size).width as usize;
        let stored: Vec<&[u8]> = held.chunks_exact(channels * width).collect();
        match self.layout {
            Layout::Grey => turn::<1>(&stored, self.orientation, &mut upright),
            _ => turn::<3>(&stored, self.orientation, &mut upright),
        }
        self.encoder.begin(self.size.width, self.size.height)?;
        upright.chunks_exact(channels * self.size.width as usize).try_for_each(|row| self.encoder.row(row))
    }
}
