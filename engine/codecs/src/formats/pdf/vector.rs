//! Pages as vectors, by `edgezoom-vector`, if they look like the pixels that PDFium draws. They are drawn after the last row,
//! because a second interpreter goes through the document, and unpacks streams as a whole.

use std::io;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use edgezoom_geometry::Size;
use edgezoom_text::Rect;
use edgezoom_vector::hayro_syntax::Pdf;
use edgezoom_vector::{Document, Drawing, Pixels, Refusal, check};
use pdfium_render::prelude::PdfDocument;

use super::dictionaries::{guarded, parse};
use super::layout::Area;
use super::{CHANNELS, calling_pdfium, draw_rows};
use crate::vectors::{SIDE, found};
use crate::{PageVectors, PixelsOnly, SourceFile, Vectors};

/// Time after which a document's next page is not begun, as a part of what its pixels took, and for a short one whose pixels
/// take less. The page that is begun, and the parent's look at each, come on top: together at most half.
const SHARE: f64 = 0.4;
const LEAST_TIME: Duration = Duration::from_secs(1);
/// Part for documents of many pages, of which the last ones may have none.
const SHARE_OF_LONG: f64 = 0.22;
/// Part for documents with half their resolution: together, both take about as long as all pixels would.
const SHARE_OF_HALVED: f64 = 2.0;
/// Number of pages from which a document is long.
const LONG: usize = 50;
/// Maximum number of pixels with which all pages together are compared.
const PIXELS: f64 = 60e6;
/// Maximum number of pixels per point with which a page is compared: 150 per inch.
const DENSITY: f64 = 150.0 / 72.0;
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
    /// True for pages that are one scanned picture: they have no outlines.
    pub are_scans: Vec<bool>,
    /// True if the pages have half their resolution, as [`Vectors::are_needed`] says.
    pub halved: bool,
}

impl Vectors for VectorPages {
    fn are_needed(&self) -> bool {
        self.halved
    }

    fn draw(
        self: Box<Self>,
        clock: &dyn Fn() -> Duration,
        each: &mut dyn FnMut(Result<PageVectors, PixelsOnly>) -> io::Result<()>,
    ) -> io::Result<()> {
        let began = clock();
        let time = if self.halved {
            began.mul_f64(SHARE_OF_HALVED).max(LEAST_TIME)
        } else if self.areas.len() >= LONG {
            began.mul_f64(SHARE_OF_LONG)
        } else {
            began.mul_f64(SHARE).max(LEAST_TIME)
        };
        let until = began + time;
        let pages = calling_pdfium(|| self.document.pages().len());
        let pdf = parse(&self.source, pages, self.memory);
        let mut rgb = Vec::new();
        // A page is interpreted while PDFium draws it: both take about as long.
        thread::scope(|scope| {
            let (ask, asked) = mpsc::channel();
            let (answer, drawings) = mpsc::channel();
            if let Some(pdf) = &pdf {
                scope.spawn(move || interpret(pdf, &asked, &answer));
            }
            for (page, (area, is_scan)) in self.areas.iter().zip(&self.are_scans).enumerate() {
                let number = self.first as usize + page;
                let start = clock();
                let drawn = if *is_scan {
                    Err(Refusal::NoOutlines)
                } else if pdf.is_none() {
                    Err(Refusal::Interpreter)
                } else if start > until {
                    Err(Refusal::Time)
                } else {
                    let _ = ask.send(number);
                    let size = guarded(|| self.draw_pixels(number, area.size, &mut rgb)).flatten();
                    let drawing = drawings.recv().unwrap_or(Err(Refusal::Interpreter));
                    guarded(|| svg(drawing?, area.size, size.ok_or(Refusal::Unlike)?, &rgb))
                        .unwrap_or(Err(Refusal::Interpreter))
                };
                let at = Rect::new(area.left, area.top, area.size.width, area.size.height);
                let numbers = (page as u32, self.areas.len() as u32);
                each(found(numbers, at, drawn, clock().saturating_sub(start)))?;
            }
            Ok(())
        })
    }
}

fn interpret(pdf: &Pdf, asked: &Receiver<usize>, answer: &Sender<Result<Drawing, Refusal>>) {
    let mut document = Document::new(pdf);
    for number in asked {
        let _ = answer.send(document.page(number)); // no one asks any more
    }
}

/// Returns the SVG of a page of a size in the picture, which looks like its pixels of another size. Lines are at least half a pixel
/// of the picture wide, so that they do not pale where the SVG takes over: PDFium draws them a pixel wide.
fn svg(drawing: Drawing, size: Size, compared: Size, rgb: &[u8]) -> Result<String, Refusal> {
    let pixels = Pixels { width: compared.width, height: compared.height, rgb };
    let drawing = drawing.without_unseen(pixels)?;
    let svg = drawing.svg(drawing.size().0 / f64::from(size.width) / 2.0)?;
    check(&drawing, pixels)?;
    Ok(svg)
}

impl VectorPages {
    /// Draws a page of this size in the picture, as it is compared. Returns the size in which it is drawn.
    fn draw_pixels(&self, number: usize, size: Size, rgb: &mut Vec<u8>) -> Option<Size> {
        calling_pdfium(|| {
            let page = self.document.pages().get(number as i32).ok()?;
            let points = f64::from(page.width().value) * f64::from(page.height().value);
            let size = self.compared(size, points);
            let stride = draw_rows(&page, size, 0..size.height, rgb).ok()?;
            (stride == size.width as usize * CHANNELS).then_some(size)
        })
    }

    /// Returns the size in which a page of this size in pixels, and of that many square points, is compared. Its rows are whole
    /// words of 32 bits.
    fn compared(&self, size: Size, points: f64) -> Size {
        let pixels = (PIXELS / self.areas.len() as f64).min(points * DENSITY * DENSITY);
        let by_side = SIDE / f64::from(size.width.max(size.height));
        let scale = by_side.min((pixels.max(LEAST_PIXELS) / size.pixels() as f64).sqrt()).min(1.0);
        let side = |side: u32| (f64::from(side) * scale).round().max(1.0) as u32;
        Size { width: side(size.width).next_multiple_of(4), height: side(size.height) }
    }
}
