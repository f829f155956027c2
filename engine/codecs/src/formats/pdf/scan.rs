//! Pages that consist of one scanned picture. They are drawn with exactly its pixels: more would only blur it, and
//! fewer would lose detail.
//!
//! Source: ISO 32000-1, 8.9.5 (image dictionaries), 7.4.8 (DCTDecode), 9.3.6 (invisible text, rendering mode 3).

use edgezoom_geometry::Size;
use pdfium_render::prelude::{
    PdfColorSpace, PdfPage, PdfPageAnnotationType, PdfPageImageObject, PdfPageObject, PdfPageObjectCommon,
    PdfPageObjectsCommon, PdfPageRenderRotation, PdfPageTextRenderMode,
};

/// The largest distance of the picture's edges from those of the page, as a fraction of the page.
const MARGIN: f32 = 0.02;

/// Returns the picture of which a page consists. Invisible text, which OCR adds to a scan, is ignored.
fn picture<'page>(page: &'page PdfPage<'_>) -> Option<PdfPageImageObject<'page>> {
    let mut picture = None;
    for object in page.objects().iter() {
        match object {
            PdfPageObject::Image(image) if picture.is_none() => picture = Some(image),
            PdfPageObject::Text(text) if text.render_mode() == PdfPageTextRenderMode::Invisible => {}
            _ => return None,
        }
    }
    picture
}

/// Returns the size at which a page has exactly the pixels of its scanned picture, or `None` for other pages.
pub fn native_size(page: &PdfPage<'_>) -> Option<Size> {
    let scale = pixels_per_point(&picture(page)?, page)?;
    let pixels = |points: f32| (points * scale).round().max(1.0) as u32;
    Some(Size { width: pixels(page.width().value), height: pixels(page.height().value) })
}

/// Returns the JPEG of which a page consists, if the page shows it unchanged. Reading the JPEG directly takes less time
/// and far less memory, because PDFium buffers pictures.
///
/// Only for RGB: a document may invert other colours, and PDFium does not report that.
pub fn jpeg(page: &PdfPage<'_>) -> Option<Vec<u8>> {
    let picture = picture(page)?;
    let size = native_size(page)?;
    let filters: Vec<String> = picture.filters().iter().map(|filter| filter.name().to_owned()).collect();
    let matrix = picture.matrix().ok()?;
    let has_only_links =
        page.annotations().iter().all(|note| note.annotation_type() == PdfPageAnnotationType::Link);
    let is_unchanged = filters == ["DCTDecode"]
        && picture.color_space().ok()? == PdfColorSpace::DeviceRGB
        && picture.bits_per_pixel().ok()? == 24
        && (picture.width().ok()?, picture.height().ok()?) == (size.width as i32, size.height as i32)
        && !picture.has_transparency()
        && page.rotation().ok()? == PdfPageRenderRotation::None
        && matrix.a() > 0.0
        && matrix.d() > 0.0
        && matrix.b().abs().max(matrix.c().abs()) < 1e-3
        && has_only_links;
    is_unchanged.then(|| picture.get_raw_image_data().ok())?.filter(|file| file.starts_with(&[0xff, 0xd8]))
}

/// Returns the pixels of the picture per point of the page: the larger value of both directions, which differ in fax.
/// Returns `None` if the picture does not cover the page.
fn pixels_per_point(image: &PdfPageImageObject<'_>, page: &PdfPage<'_>) -> Option<f32> {
    let bounds = image.bounds().ok()?;
    let sheet = page.boundaries().bounding().ok()?.bounds;
    let (width, height) = (sheet.width().value, sheet.height().value);
    let off = [
        (bounds.left() - sheet.left()).value / width,
        (bounds.right() - sheet.right()).value / width,
        (bounds.bottom() - sheet.bottom()).value / height,
        (bounds.top() - sheet.top()).value / height,
    ];
    let covers = off.iter().all(|off| off.abs() <= MARGIN);
    if !covers {
        return None;
    }
    let (columns, rows) = (image.width().ok()? as f32, image.height().ok()? as f32);
    let (wide, high) = (bounds.width().value, bounds.height().value);
    // The picture may be rotated on the page.
    let upright = (columns / wide).max(rows / high);
    let rotated = (columns / high).max(rows / wide);
    let scale = if (columns < rows) == (wide < high) { upright } else { rotated };
    (scale.is_finite() && scale > 0.0).then_some(scale)
}
