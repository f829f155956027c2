//! Pages as vectors, by `edgezoom-vector`, if they look like the pixels that PDFium draws. They are drawn after the last row,
//! because a second interpreter goes through the document, and unpacks streams as a whole.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use edgezoom_geometry::Size;
use edgezoom_text::Rect;
use edgezoom_vector::{Document, Pixels, Refusal, check};
use pdfium_render::prelude::PdfDocument;

use super::dictionaries::{guarded, parse};
use super::layout::Area;
use super::{CHANNELS, broken, calling_pdfium, draw_rows};
use crate::vectors::{SIDE, found};
use crate::{PageVectors, PixelsOnly, SourceFile, Vectors};

/// Time after which a document's next page is not begun, as a part of what its pixels took, and for one whose pixels take
/// less. The page that is begun, and the parent's look at each, come on top: together at most half.
const SHARE: f64 = 0.4;
const LEAST_TIME: Duration = Duration::from_secs(1);
/// Part for documents of many pages, of which the last ones may have none.
const SHARE_OF_LONG: f64 = 0.25;
/// Number of pages from which a document is long.
const LONG: usize = 50;
/// Maximum number of pixels with which all pages together are compared.
const PIXELS: f64 = 60e6;
/// Minimum number of pixels of a page, as 100 per inch of a sheet of paper: with fewer, letters look alike.
const LEAST_PIXELS: f64 = 1e6;

/// The pages of a document that is drawn.
pub struct VectorPages {
    pub document: Rc<PdfDocument<'static>>,
    pub source: SourceFile,
    pub memory: u64,
    /// The first page that is drawn, counted from 0.
    pub first: i32,
    pub areas: Vec<Area>,
}

impl Vectors for VectorPages {
    fn draw(
        self: Box<Self>,
        clock: &dyn Fn() -> Duration,
        each: &mut dyn FnMut(Result<PageVectors, PixelsOnly>) -> io::Result<()>,
    ) -> io::Result<()> {
        let began = clock();
        let share = if self.areas.len() < LONG { SHARE } else { SHARE_OF_LONG };
        let until = began + began.mul_f64(share).max(LEAST_TIME);
        let pages = calling_pdfium(|| self.document.pages().len());
        let Some(pdf) = parse(&self.source, pages, self.memory) else { return Ok(()) };
        let mut document = Document::new(&pdf);
        for (number, area) in self.areas.iter().enumerate() {
            let (page, pages) = (number as u32, self.areas.len() as u32);
            let start = clock();
            let drawn = if start > until {
                Err(Refusal::Time)
            } else {
                guarded(|| self.page(&mut document, number, area)).unwrap_or(Err(Refusal::Interpreter))
            };
            let at = Rect::new(area.left, area.top, area.size.width, area.size.height);
            each(found((page, pages), at, drawn, clock().saturating_sub(start)))?;
        }
        Ok(())
    }
}

impl VectorPages {
    /// Returns a page's SVG, which looks like its pixels. Lines are at least half a pixel of the picture wide, so that they do
    /// not pale where the SVG takes over: PDFium draws them a pixel wide.
    fn page(&self, document: &mut Document<'_>, page: usize, area: &Area) -> Result<String, Refusal> {
        let number = self.first as usize + page;
        let drawing = document.page(number)?;
        let size = self.compared(area.size);
        let rgb = self.pixels(number, size).ok_or(Refusal::Unlike)?;
        let pixels = Pixels { width: size.width, height: size.height, rgb: &rgb };
        let drawing = drawing.without_unseen(pixels)?;
        let svg = drawing.svg(drawing.size().0 / f64::from(area.size.width) / 2.0)?;
        check(&drawing, pixels)?;
        Ok(svg)
    }

    /// Returns the size in which a page is compared.
    fn compared(&self, size: Size) -> Size {
        let pixels = (PIXELS / self.areas.len() as f64).max(LEAST_PIXELS);
        let by_side = SIDE / f64::from(size.width.max(size.height));
        let scale = by_side.min((pixels / size.pixels() as f64).sqrt()).min(1.0);
        let side = |side: u32| (f64::from(side) * scale).round().max(1.0) as u32;
        Size { width: side(size.width), height: side(size.height) }
    }

    fn pixels(&self, number: usize, size: Size) -> Option<Vec<u8>> {
        let mut rows = Vec::new();
        let stride = calling_pdfium(|| {
            let page = self.document.pages().get(number as i32).map_err(broken)?;
            draw_rows(&page, size, 0..size.height, &mut rows)
        });
        let (stride, row_bytes) = (stride.ok()?, size.width as usize * CHANNELS);
        let mut rgb = Vec::with_capacity(row_bytes * size.height as usize);
        rows.chunks_exact(stride).for_each(|row| rgb.extend_from_slice(&row[..row_bytes]));
        Some(rgb)
    }
}
