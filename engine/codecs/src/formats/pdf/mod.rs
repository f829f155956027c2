//! PDF, drawn by PDFium strip by strip. Forms and annotations are drawn as in viewers. Scripts do not run. A page that
//! consists of one scanned picture has the pixels of that picture. [`dictionaries`] reads what PDFium does not tell.
//!
//! Source: ISO 32000-1:2008 (PDF 1.7).

mod annotations;
mod clusters;
mod colours;
mod coordinates;
mod dictionaries;
mod elements;
mod hidden;
mod layers;
mod layout;
mod letters;
mod library;
mod links;
mod marks;
mod scan;
mod strings;
mod structure;
mod substitutes;
mod text;
mod texts;
#[cfg(feature = "vector")]
mod vector;

use std::ops::Range;
use std::rc::Rc;

use edgezoom_geometry::Size;
use pdfium_render::prelude::{
    PdfBitmap, PdfBitmapFormat, PdfDocument, PdfDocumentMetadataTagType, PdfPage, PdfRenderConfig,
    PdfiumError, PdfiumInternalError,
};

use crate::format::{Decoded, Input, Open, Opener, System};
use crate::formats::jpeg;
use crate::formats::section::SharedBytes;
use crate::row_reader::BandBuffer;
use crate::{Bounds, Damage, DrawingOptions, Format, Layout, Metadata, Reading, RowReader, SourceError};
use annotations::Copies;
use dictionaries::Dictionaries;
use layout::{Area, Paper, lay_out, pixels_of};
use library::calling_pdfium;
pub use library::{Library, locate};
use scan::Contents;
pub use substitutes::installed_cjk_font;
use text::Collector;

pub(crate) static FORMAT: Format = Format {
    name: "PDF",
    media_types: &["application/pdf"],
    endings: &["pdf"],
    reading: Reading::Regions,
    in_order: false,
    signature: |head| head.windows(5).take(SIGNATURE_WITHIN).any(|window| window == b"%PDF-"),
    open: Open::Prepared(prepare),
};

/// The largest offset at which a PDF may begin. Readers have always accepted files to which mail or a server added a
/// header (PDF Reference 1.7, appendix H, note 13).
const SIGNATURE_WITHIN: usize = 1024;

/// Bytes of a strip. PDFium goes through all objects of a page for each strip.
const STRIP_BYTES: usize = 24 << 20;
/// The grey between pages, so that white pages stand out.
const BETWEEN_PAGES: u8 = 0xdd;
/// Red, green, blue.
const CHANNELS: usize = 3;

/// The pages of a document, side by side.
struct Pages {
    /// The pages that are visible in the current strip. They are declared first, to be closed before the document.
    open: Vec<(usize, PdfPage<'static>)>,
    document: Rc<PdfDocument<'static>>,
    /// The first page that is drawn, counted from 0.
    first: i32,
    /// Number of pages of the document; 0 if one was chosen.
    total: u32,
    size: Size,
    areas: Vec<Area>,
    has_few_colours: bool,
    /// The rows of the current strip.
    drawn: Range<u32>,
    /// The strip that is read.
    band: BandBuffer,
    /// The strip that is drawn.
    strip: Vec<u8>,
    bitmap: Vec<u8>,
}

/// Loads PDFium, if it is installed.
fn prepare(system: &System<'_>) -> Opener {
    let library = system.pdfium.and_then(Library::load);
    Box::new(move |input| open(input, library.ok_or(SourceError::NoPdf)?))
}

fn open(Input { file, bounds, options, .. }: Input<'_>, library: Library) -> Result<Decoded, SourceError> {
    let (whole, bounds) = (bounds, bounds.of_drawings());
    let source = file.get_ref().clone();
    let document =
        calling_pdfium(|| library.0.load_pdf_from_reader(file.into_inner(), None)).map_err(refused)?;
    let total = document.pages().len().unsigned_abs();
    let entry = |kind| {
        calling_pdfium(|| document.metadata().get(kind)).and_then(|entry| Metadata::text(entry.value()))
    };
    let information = Metadata {
        title: entry(PdfDocumentMetadataTagType::Title),
        creator: entry(PdfDocumentMetadataTagType::Author),
        ..Metadata::default()
    };
    let dictionaries = Dictionaries::read(&source, document.pages().len(), bounds.memory);
    let metadata = information.or(dictionaries.metadata());
    let mut text = options.drawing.text.then(Collector::new);
    let copy = || library.0.load_pdf_from_reader(source.apart(), None).ok();
    let (chosen, jpeg, papers) =
        calling_pdfium(|| examine(&document, &dictionaries, bounds, &options.drawing, &mut text, &copy))?;
    drop(dictionaries);
    let finish =
        |text: Collector, areas: &[Area]| calling_pdfium(|| text.finish(&document, chosen.start, areas));
    if let Some(jpeg) = jpeg {
        // The document decides the orientation and the colour space: EXIF and ICC of the JPEG are ignored.
        let Decoded { reader, .. } = jpeg::open_shared(SharedBytes::file(jpeg), bounds, options)?;
        let area = Area { left: 0, top: 0, size: reader.size() };
        return Ok(Decoded { text: text.map(|text| finish(text, &[area])), metadata, ..Decoded::of(reader) });
    }
    let bounds = Bounds { pixels: pixels_of(&papers, bounds).min(whole.pixels), ..bounds };
    let layout = lay_out(&papers, &options.drawing, bounds);
    let size = bounds.admit(layout.size.width, layout.size.height)?;
    let text = text.map(|text| finish(text, &layout.areas));
    let document = Rc::new(document);
    #[cfg(not(feature = "vector"))]
    let vectors = None;
    #[cfg(feature = "vector")]
    let vectors = options.drawing.vectors.then(|| -> Box<dyn crate::Vectors> {
        Box::new(vector::VectorPages {
            document: Rc::clone(&document),
            source,
            memory: bounds.memory,
            first: chosen.start,
            areas: layout.areas.clone(),
            are_scans: papers.iter().map(|paper| paper.native.is_some()).collect(),
            halved: layout.halved,
        })
    });
    let pages = Decoded::plain(Pages {
        open: Vec::new(),
        document,
        first: chosen.start,
        total: if options.drawing.page.is_some() { 0 } else { total },
        size,
        areas: layout.areas,
        has_few_colours: papers.iter().all(|paper| paper.has_few_colours),
        drawn: 0..0,
        band: BandBuffer::default(),
        strip: Vec::new(),
        bitmap: Vec::new(),
    });
    Ok(Decoded { text, vectors, metadata, ..pages })
}

/// The pages to draw, and the JPEG of which the only page consists, or else the sizes of the pages.
type Found = (Range<i32>, Option<Vec<u8>>, Vec<Paper>);

/// Finds out what to draw.
fn examine(
    document: &PdfDocument<'static>,
    dictionaries: &Dictionaries,
    bounds: Bounds,
    options: &DrawingOptions,
    text: &mut Option<Collector>,
    copy: &dyn Fn() -> Option<PdfDocument<'static>>,
) -> Result<Found, SourceError> {
    let chosen = choose(document.pages().len(), bounds, options)?;
    let mut papers = Vec::new();
    let mut copies = Copies::new(copy);
    let mut structure = text.as_ref().and_then(|_| dictionaries.structure());
    for index in chosen.clone() {
        let mut page = document.pages().get(index).map_err(broken)?;
        annotations::hide(&page, &dictionaries.annotations_off(index));
        if let Some(text) = text {
            text.read(&mut page, index, dictionaries, &mut structure, &mut copies);
        }
        let contents = Contents::of(&page, &dictionaries.resources(index));
        if let (1, Some(contents)) = (chosen.len(), &contents)
            && let Some(jpeg) = contents.jpeg(&page)
        {
            return Ok((chosen, Some(jpeg), Vec::new()));
        }
        papers.push(measure(&page, contents.as_ref(), dictionaries.unit(index)));
    }
    Ok((chosen, None, papers))
}

/// Returns the pages to draw, counted from 0.
fn choose(pages: i32, bounds: Bounds, options: &DrawingOptions) -> Result<Range<i32>, SourceError> {
    if pages <= 0 {
        return Err(FORMAT.corrupt("it has no pages"));
    }
    let Some(page) = options.page else {
        return Ok(0..pages.min(i32::try_from(bounds.pdf_pages.get()).unwrap_or(i32::MAX)));
    };
    match i32::try_from(page.get()) {
        Ok(page) if page <= pages => Ok(page - 1..page),
        _ => Err(SourceError::NoSuchPage { page: page.get(), last: pages.unsigned_abs() }),
    }
}

/// Returns the size of a page whose unit is that many points.
fn measure(page: &PdfPage<'_>, contents: Option<&Contents<'_>>, unit: f64) -> Paper {
    let side = |units: f32| f64::from(units).max(1.0) * unit;
    Paper {
        width: side(page.width().value),
        height: side(page.height().value),
        native: contents.and_then(|contents| contents.native_size(page)),
        finest: contents.map_or(0.0, |contents| contents.finest() / unit),
        has_few_colours: contents.is_some_and(Contents::has_few_colours),
    }
}

fn refused(error: PdfiumError) -> SourceError {
    match error {
        PdfiumError::PdfiumLibraryInternalError(
            PdfiumInternalError::PasswordError | PdfiumInternalError::SecurityError,
        ) => SourceError::Encrypted,
        other => broken(other),
    }
}

fn broken(_: PdfiumError) -> SourceError {
    FORMAT.corrupt("its structure is invalid")
}

impl RowReader for Pages {
    fn size(&self) -> Size {
        self.size
    }

    fn layout(&self) -> Layout {
        Layout::Rgb
    }

    fn has_few_colours(&self) -> bool {
        self.has_few_colours
    }

    fn damage(&self) -> Option<Damage> {
        let (shown, total) = (self.areas.len() as u32, self.total);
        (shown < total).then_some(Damage::MorePages { shown, total })
    }

    fn read_rows(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut band = std::mem::take(&mut self.band);
        let result = band.read_rows(into, |buffer| self.draw_strip(buffer));
        self.band = band;
        result
    }
}

impl Pages {
    /// Draws the next strip into a buffer.
    fn draw_strip(&mut self, buffer: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        let row_bytes = self.size.width as usize * CHANNELS;
        let rows = u32::try_from(STRIP_BYTES / row_bytes).unwrap_or(u32::MAX).clamp(16, 1024);
        let top = self.drawn.end;
        self.drawn = top..top.saturating_add(rows).min(self.size.height);
        self.strip = buffer;
        self.strip.clear();
        self.strip.resize(self.drawn.len() * row_bytes, BETWEEN_PAGES);
        self.open.retain(|&(index, _)| self.areas[index].rows().end > top);
        for index in 0..self.areas.len() {
            let area = self.areas[index];
            if area.rows().start < self.drawn.end && area.rows().end > top {
                calling_pdfium(|| self.draw_page(index, area))?;
            }
        }
        Ok(std::mem::take(&mut self.strip))
    }

    /// Draws the visible part of a page into the strip.
    fn draw_page(&mut self, index: usize, area: Area) -> Result<(), SourceError> {
        let at = match self.open.iter().position(|&(open, _)| open == index) {
            Some(at) => at,
            None => {
                let page = self.document.pages().get(self.first + index as i32).map_err(broken)?;
                self.open.push((index, page));
                self.open.len() - 1
            }
        };
        let (_, page) = &self.open[at];
        let rows = area.rows().start.max(self.drawn.start)..area.rows().end.min(self.drawn.end);
        let stride =
            draw_rows(page, area.size, rows.start - area.top..rows.end - area.top, &mut self.bitmap)?;
        let row_bytes = self.size.width as usize * CHANNELS;
        let page_bytes = area.size.width as usize * CHANNELS;
        let into = self.strip.chunks_exact_mut(row_bytes).skip((rows.start - self.drawn.start) as usize);
        for (from, into) in self.bitmap.chunks_exact(stride).zip(into) {
            let left = area.left as usize * CHANNELS;
            into[left..left + page_bytes].copy_from_slice(&from[..page_bytes]);
        }
        Ok(())
    }
}

/// Draws some rows of a page of this size. Returns their length in bytes: PDFium needs multiples of four.
fn draw_rows(
    page: &PdfPage<'_>,
    size: Size,
    rows: Range<u32>,
    into: &mut Vec<u8>,
) -> Result<usize, SourceError> {
    let (width, height) = (size.width as i32, size.height as i32);
    let stride = (size.width as usize * CHANNELS).next_multiple_of(4);
    into.clear();
    into.resize(stride * rows.len(), 0xff); // the paper; PDFium fills pixel by pixel
    let mut bitmap =
        PdfBitmap::from_bytes(width, rows.len() as i32, PdfBitmapFormat::BGR, into).map_err(broken)?;
    // By default, the byte order is red, green, blue.
    let config = PdfRenderConfig::new()
        .clear_before_rendering(false)
        .set_fixed_size(width, height)
        .set_origin(0, -(rows.start as i32));
    page.render_into_bitmap_with_config(&mut bitmap, &config).map_err(broken)?;
    Ok(stride)
}

impl Area {
    fn rows(&self) -> Range<u32> {
        self.top..self.top + self.size.height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pdf_may_begin_within_its_first_kibibyte() {
        let is_pdf = FORMAT.signature;
        assert!(is_pdf(b"%PDF-1.7\n"));
        assert!(is_pdf(&[b"HTTP header\r\n\r\n".as_slice(), b"%PDF-1.4"].concat()));
        assert!(!is_pdf(&[vec![b' '; 1024], b"%PDF-1.4".to_vec()].concat()));
    }
}
