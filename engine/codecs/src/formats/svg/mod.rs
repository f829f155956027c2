//! SVG and SVGZ, drawn by resvg strip by strip in several threads. References to other files are ignored, and so are
//! scripts and animations. Text is set in [`Fonts`]. [`features`] finds what resvg does not know; a caller that has a
//! browser lets that draw it.
//!
//! Source: Scalable Vector Graphics (SVG) 1.1 (Second Edition), W3C 2011; the parts of SVG 2 that resvg supports.

mod compositing;
mod css;
mod document;
mod features;
mod filter_cost;
mod filter_layers;
mod notes;
mod painter;
mod pattern;
mod rows;
mod signature;
mod strip;
mod text;
#[cfg(feature = "vector")]
mod vector;

use std::sync::Arc;

use edgezoom_geometry::{DrawingFeatures, Size};

use crate::format::{Decoded, Input, Open, Opener, System};
use crate::formats::fonts::Fonts;
use crate::row_reader::BandBuffer;
use crate::{Bounds, BrowserDrawing, Damage, Format, Layout, Reading, RowReader, SourceError};
use document::Parsed;
use painter::{Canvas, Painter};
pub(crate) use signature::may_be_svg;

pub(crate) static FORMAT: Format = Format {
    name: document::NAME,
    media_types: &["image/svg+xml"],
    endings: &["svg", "svgz"],
    reading: Reading::Regions,
    in_order: false,
    signature: signature::is_svg,
    open: Open::Prepared(prepare),
};

/// A drawing whose strips are drawn by several threads.
struct Drawing {
    size: Size,
    layout: Layout,
    painter: Painter,
    strip: BandBuffer,
    /// Features that it lacks.
    features: DrawingFeatures,
}

/// Loads the fonts.
fn prepare(system: &System<'_>) -> Opener {
    let fonts = if system.fonts { Fonts::of_system() } else { Fonts::built_in() };
    Box::new(move |input| open(input, &fonts))
}

fn open(Input { file, bounds, options, .. }: Input<'_>, fonts: &Fonts) -> Result<Decoded, SourceError> {
    let bounds = bounds.of_drawings();
    let Parsed { tree, features, notes, metadata } =
        document::read(file.into_inner(), bounds.svg_bytes, fonts, options.drawing.text)?;
    let natural = tree.size();
    if options.drawing.to_browser && !features.is_empty() {
        let pixels = |length: f32| (length.ceil() as u32).max(1);
        let size = Size { width: pixels(natural.width()), height: pixels(natural.height()) };
        return Err(SourceError::NeedsBrowser(BrowserDrawing { size, features, metadata: metadata.into() }));
    }
    let size = size_of(natural.width().into(), natural.height().into(), options.drawing.svg_side, bounds);
    let size = bounds.admit(size.width, size.height)?;
    let layout = if options.transparent { Layout::Rgba } else { Layout::Rgb };
    let text = options.drawing.text.then(|| text::of(&tree, size, &notes));
    let tree = Arc::new(tree);
    #[cfg(not(feature = "vector"))]
    let vectors = None;
    // The viewer draws on white.
    #[cfg(feature = "vector")]
    let vectors = (options.drawing.vectors && layout == Layout::Rgb)
        .then(|| -> Box<dyn crate::Vectors> { Box::new(vector::VectorDrawing { tree: tree.clone(), size }) });
    let canvas = Canvas::new(tree, size, layout, bounds.memory / 4)?;
    let threads = canvas.threads_within(bounds.memory / 2, options.threads.get());
    let painter = Painter::start(&canvas, threads)?;
    let drawing = Decoded::plain(Drawing { size, layout, painter, strip: BandBuffer::default(), features });
    Ok(Decoded { text, vectors, metadata, ..drawing })
}

/// Returns the size in pixels of a drawing with this natural size. Its longer side has at least `side` pixels, within
/// the bounds.
fn size_of(width: f64, height: f64, side: u32, bounds: Bounds) -> Size {
    let wanted = (f64::from(side) / width.max(height)).max(1.0);
    let by_side = f64::from(bounds.side) / width.max(height);
    let by_pixels = (bounds.pixels as f64 / (width * height)).sqrt();
    let scale = wanted.min(by_side).min(by_pixels);
    // Rounding up could exceed the bounds again.
    let round = if scale < wanted { f64::floor } else { f64::round };
    let pixels = |length: f64| (round(length * scale) as u32).max(1);
    Size { width: pixels(width), height: pixels(height) }
}

impl RowReader for Drawing {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn needs_opacity(&self) -> bool {
        // The options ask for an alpha channel only to keep the opacity.
        true
    }

    fn damage(&self) -> Option<Damage> {
        (!self.features.is_empty()).then_some(Damage::NotDrawn(self.features))
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let Self { painter, strip, .. } = self;
        strip.read_rows(into, |_| painter.next().ok_or_else(|| FORMAT.corrupt("it cannot be drawn")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bounds(pixels: u64, side: u32) -> Bounds {
        Bounds { pixels, side, ..Bounds::default() }
    }

    #[test]
    fn a_drawing_is_enlarged_to_the_wanted_side_and_never_reduced() {
        let bounds = bounds(u64::MAX, u32::MAX);
        assert_eq!(size_of(300.0, 150.0, 8192, bounds), Size { width: 8192, height: 4096 });
        assert_eq!(size_of(10_000.0, 20_000.4, 8192, bounds), Size { width: 10_000, height: 20_000 });
        assert_eq!(size_of(1.0, 100_000.0, 8192, bounds), Size { width: 1, height: 100_000 });
    }

    proptest! {
        #[test]
        fn no_drawing_is_larger_than_the_bounds(
            width in 0.1_f64..1e7, height in 0.1_f64..1e7, side in 1_u32..20_000,
            pixels in 1_000_000_u64..1_000_000_000, longest in 1_000_u32..100_000,
        ) {
            let size = size_of(width, height, side, bounds(pixels, longest));
            prop_assert!(size.width.max(size.height) <= longest);
            prop_assert!(size.pixels() <= pixels.max(u64::from(longest)), "{size:?}");
        }
    }
}
