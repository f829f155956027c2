//! Pages that are one scanned picture: drawn with more pixels than that has they would only be blurred, with fewer they
//! would lose some.

use edgezoom_content::Size;
use pdfium_render::prelude::{
    PdfColorSpace, PdfPage, PdfPageAnnotationType, PdfPageImageObject, PdfPageObject, PdfPageObjectCommon,
    PdfPageObjectsCommon, PdfPageRenderRotation, PdfPageTextRenderMode,
};

/// How much of a page the picture may leave free or have cut off, on each side, as a part of it.
const MARGIN: f32 = 0.02;

/// The one picture that a page is. Invisible text, as programs that recognise letters lay over a scan, does not count.
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

/// The size at which a page shows just the pixels of the one picture that it is. `None` for all other pages.
pub fn native_size(page: &PdfPage<'_>) -> Option<Size> {
    let scale = pixels_per_point(&picture(page)?, page)?;
    let pixels = |points: f32| (points * scale).round().max(1.0) as u32;
    Some(Size { width: pixels(page.width().value), height: pixels(page.height().value) })
}

/// The file that a page's one picture is, if it is a JPEG and the page shows it just as it is. Such a page can be read as
/// that file, which takes less time and far less memory: PDFium decodes a picture as a whole.
///
/// Only in red, green and blue: of other colours a document may say that they are meant inverted, which PDFium does not tell.
pub fn jpeg(page: &PdfPage<'_>) -> Option<Vec<u8>> {
    let picture = picture(page)?;
    let size = native_size(page)?;
    let filters: Vec<String> = picture.filters().iter().map(|filter| filter.name().to_owned()).collect();
    let matrix = picture.matrix().ok()?;
    let bare = page.annotations().iter().all(|note| note.annotation_type() == PdfPageAnnotationType::Link);
    let as_it_is = filters == ["DCTDecode"]
        && picture.color_space().ok()? == PdfColorSpace::DeviceRGB
        && picture.bits_per_pixel().ok()? == 24
        && (picture.width().ok()?, picture.height().ok()?) == (size.width as i32, size.height as i32)
        && !picture.has_transparency()
        && page.rotation().ok()? == PdfPageRenderRotation::None
        && matrix.a() > 0.0
        && matrix.d() > 0.0
        && matrix.b().abs().max(matrix.c().abs()) < 1e-3
        && bare;
    as_it_is.then(|| picture.get_raw_image_data().ok())?.filter(|file| file.starts_with(&[0xff, 0xd8]))
}

/// How many pixels the picture has for each point of the page, the finer of both ways: facsimiles differ. `None` when it
/// does not cover the page.
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
    // The picture may have been turned to lie on the page.
    let upright = (columns / wide).max(rows / high);
    let turned = (columns / high).max(rows / wide);
    let scale = if (columns < rows) == (wide < high) { upright } else { turned };
    (scale.is_finite() && scale > 0.0).then_some(scale)
}
