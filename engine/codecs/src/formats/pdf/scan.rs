//! What is on a page, which decides its resolution and the format of its tiles. A page that is one scanned picture is drawn with exactly its
//! pixels: more would only blur it, and fewer would lose detail. Any other page is drawn at least as fine as the finest
//! pictures that cover a part of it. A page without pictures and with few colours needs no JPEG.
//!
//! Source: ISO 32000-1, 8.9.5 (image dictionaries), 8.10 (form XObjects), 7.4.8 (DCTDecode), 9.3.6 (invisible text),
//! 12.5.2 (annotations).

use edgezoom_geometry::Size;
use pdfium_render::prelude::{
    PdfColorSpace, PdfMatrix, PdfPage, PdfPageAnnotationCommon, PdfPageAnnotationType, PdfPageImageObject,
    PdfPageObject, PdfPageObjectCommon, PdfPageObjectsCommon, PdfPageRenderRotation, PdfRect,
};

use super::colours::Colours;
use super::dictionaries::Resources;

/// The largest distance of the picture's edges from those of the page, as a fraction of the page.
const MARGIN: f64 = 0.02;
/// The part of a page that pictures must cover so that the page is drawn as fine as they are: a logo does not count.
const COVERED: f64 = 0.05;
/// Maximum depth of drawings inside each other.
const MAX_DEPTH: usize = 8;
/// Maximum number of objects of a page that are searched for pictures.
const MAX_OBJECTS: usize = 1 << 18;

/// The content of a page, as far as resolution and format depend on it.
pub struct Contents<'page> {
    pictures: Vec<Picture<'page>>,
    /// True if something other than pictures is visible.
    has_others: bool,
    colours: Colours,
    sheet: Sheet,
    objects: usize,
}

/// The visible rectangle of a page, in points.
#[derive(Clone, Copy)]
struct Sheet {
    left: f64,
    bottom: f64,
    width: f64,
    height: f64,
}

struct Picture<'page> {
    /// `None` if it is in a drawing that is used as an object.
    object: Option<PdfPageImageObject<'page>>,
    /// Pixels per point of the page: the larger value of both directions, which differ in fax.
    resolution: f64,
    /// Part of the page that it covers, at most.
    part: f64,
    covers_page: bool,
    is_opaque: bool,
}

impl<'page> Contents<'page> {
    /// Examines the objects and annotations of a page.
    pub fn of(page: &'page PdfPage<'_>, resources: &Resources) -> Option<Self> {
        let sheet = Sheet::of(page.boundaries().bounding().ok()?.bounds)?;
        let mut contents =
            Self { pictures: Vec::new(), has_others: false, colours: Colours::default(), sheet, objects: 0 };
        for object in page.objects().iter() {
            contents.add(object, PdfMatrix::IDENTITY, 0, resources);
        }
        let has_notes = page.annotations().iter().any(|note| {
            let is_drawn =
                !matches!(note.annotation_type(), PdfPageAnnotationType::Link | PdfPageAnnotationType::Popup);
            let area = note.bounds().map_or(0.0, |bounds| bounds.width().value * bounds.height().value);
            is_drawn && !note.is_hidden() && area > 0.0
        });
        contents.has_others |= has_notes;
        if has_notes || !resources.are_plain {
            contents.colours.add_any();
        }
        Some(contents)
    }

    /// Adds an object of the page, or of a drawing that the matrix places on it.
    fn add(&mut self, object: PdfPageObject<'page>, outer: PdfMatrix, depth: usize, resources: &Resources) {
        self.objects += 1;
        if self.objects > MAX_OBJECTS {
            self.has_others = true;
            return self.colours.add_any();
        }
        match object {
            PdfPageObject::Image(image) => {
                let Some(picture) = self.picture(image, outer, depth, resources) else { return };
                if picture.covers_page && picture.is_opaque {
                    // It hides everything that was drawn before.
                    self.pictures.clear();
                    self.has_others = false;
                }
                self.pictures.push(picture);
            }
            // Text recognition adds invisible text to a scan.
            PdfPageObject::Text(text) if !text.is_visible() => {}
            PdfPageObject::Text(_) | PdfPageObject::Path(_) => {
                self.has_others = true;
                self.colours.add(&object);
            }
            PdfPageObject::XObjectForm(form) if depth < MAX_DEPTH => {
                let Ok(matrix) = form.matrix() else { return };
                for index in form.as_range() {
                    if let Ok(inside) = form.get(index) {
                        self.add(inside, matrix.multiply(outer), depth + 1, resources);
                    }
                }
            }
            _ => {
                self.has_others = true;
                self.colours.add_any();
            }
        }
    }

    fn picture(
        &self,
        image: PdfPageImageObject<'page>,
        outer: PdfMatrix,
        depth: usize,
        resources: &Resources,
    ) -> Option<Picture<'page>> {
        let matrix = image.matrix().ok()?.multiply(outer);
        let [a, b, c, d, e, f] =
            [matrix.a(), matrix.b(), matrix.c(), matrix.d(), matrix.e(), matrix.f()].map(f64::from);
        let (columns, rows) = (image.width().ok()?, image.height().ok()?);
        let mask = resources.mask_of(columns, rows);
        let resolution = (f64::from(columns) / a.hypot(b)).max(f64::from(rows) / c.hypot(d));
        let resolution = resolution * mask.unwrap_or(1.0);
        if !(resolution.is_finite() && resolution > 0.0) {
            return None;
        }
        let ends = |start: f64, one: f64, other: f64| {
            (start + one.min(0.0) + other.min(0.0), start + one.max(0.0) + other.max(0.0))
        };
        let ((left, right), (bottom, top)) = (ends(e, a, c), ends(f, b, d));
        let Sheet { width, height, .. } = self.sheet;
        // A stencil mask lets through what is below.
        let is_stencil = image.color_space().ok() == Some(PdfColorSpace::Unknown);
        let is_opaque = mask.is_none() && !image.has_transparency() && !is_stencil;
        Some(Picture {
            resolution,
            part: ((a * d - b * c).abs() / (width * height)).min(1.0),
            covers_page: self.sheet.is_covered([left, right, bottom, top]),
            is_opaque,
            object: (depth == 0).then_some(image),
        })
    }

    /// Returns true if the page has no pictures, and greys or one colour alone.
    pub fn has_few_colours(&self) -> bool {
        self.pictures.is_empty() && self.colours.are_few()
    }

    /// Returns the picture of which the page consists.
    fn scan(&self) -> Option<&Picture<'page>> {
        match self.pictures.as_slice() {
            [picture] if picture.covers_page && !self.has_others => Some(picture),
            _ => None,
        }
    }

    /// Returns the size at which a page has exactly the pixels of its scanned picture, or `None` for other pages.
    pub fn native_size(&self, page: &PdfPage<'_>) -> Option<Size> {
        let resolution = self.scan()?.resolution;
        let pixels = |points: f32| (f64::from(points) * resolution).round().max(1.0) as u32;
        Some(Size { width: pixels(page.width().value), height: pixels(page.height().value) })
    }

    /// Returns the resolution that shows every pixel of the pictures on a page, in pixels per point. The finest ones do
    /// not count as long as they cover next to nothing.
    pub fn finest(&self) -> f64 {
        let mut pictures: Vec<_> =
            self.pictures.iter().map(|picture| (picture.resolution, picture.part)).collect();
        pictures.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut covered = 0.0;
        let enough = pictures.into_iter().find(|&(_, part)| {
            covered += part;
            covered >= COVERED
        });
        enough.map_or(0.0, |(resolution, _)| resolution)
    }

    /// Returns the JPEG of which a page consists, if the page shows it unchanged. Reading the JPEG directly takes less
    /// time and far less memory, because PDFium buffers pictures.
    ///
    /// Only for RGB: a document may invert other colours, and PDFium does not report that.
    pub fn jpeg(&self, page: &PdfPage<'_>) -> Option<Vec<u8>> {
        let scan = self.scan().filter(|scan| scan.is_opaque)?;
        let picture = scan.object.as_ref()?;
        let size = self.native_size(page)?;
        let filters: Vec<String> = picture.filters().iter().map(|filter| filter.name().to_owned()).collect();
        let matrix = picture.matrix().ok()?;
        let is_unchanged = filters == ["DCTDecode"]
            && picture.color_space().ok()? == PdfColorSpace::DeviceRGB
            && picture.bits_per_pixel().ok()? == 24
            && (picture.width().ok()?, picture.height().ok()?) == (size.width as i32, size.height as i32)
            && page.rotation().ok()? == PdfPageRenderRotation::None
            && matrix.a() > 0.0
            && matrix.d() > 0.0
            && matrix.b().abs().max(matrix.c().abs()) < 1e-3;
        is_unchanged
            .then(|| picture.get_raw_image_data().ok())?
            .filter(|file| file.starts_with(&[0xff, 0xd8]))
    }
}

impl Sheet {
    fn of(bounds: PdfRect) -> Option<Self> {
        let (left, bottom) = (f64::from(bounds.left().value), f64::from(bounds.bottom().value));
        let (width, height) = (f64::from(bounds.width().value), f64::from(bounds.height().value));
        (width > 0.0 && height > 0.0).then_some(Self { left, bottom, width, height })
    }

    /// Returns true if a rectangle (left, right, bottom, top) has the edges of the sheet.
    fn is_covered(&self, [left, right, bottom, top]: [f64; 4]) -> bool {
        let off = [
            (left - self.left) / self.width,
            (right - self.left) / self.width - 1.0,
            (bottom - self.bottom) / self.height,
            (top - self.bottom) / self.height - 1.0,
        ];
        off.iter().all(|off| off.abs() <= MARGIN)
    }
}
