//! The places of PDFium's coordinates on the page as it is shown.

use pdfium_render::prelude::{PdfPage, PdfPoints, PdfRect, PdfRenderConfig};

/// Parts of a page's width and height in which its text is measured. PDFium rounds places to whole numbers.
const PARTS: i32 = 1 << 16;

/// The conversion from PDFium's coordinates to the page as it is shown: x = a + b·x + c·y, and so on.
#[derive(Clone, Copy, Debug)]
pub struct ToPage {
    x: [f64; 3],
    y: [f64; 3],
}

impl ToPage {
    /// Returns the conversion to a page of this size. PDFium's coordinates begin at the bottom, before the page is turned
    /// and cut.
    pub fn of(page: &PdfPage<'_>, (width, height): (f64, f64)) -> Self {
        let config = PdfRenderConfig::new().set_fixed_size(PARTS, PARTS);
        let shown = |x: f32, y: f32| {
            let (x, y) =
                page.points_to_pixels(PdfPoints::new(x), PdfPoints::new(y), &config).unwrap_or_default();
            (f64::from(x) * width / f64::from(PARTS), f64::from(y) * height / f64::from(PARTS))
        };
        let far = page.width().value.max(page.height().value).max(1.0);
        let (origin, right, up) = (shown(0.0, 0.0), shown(far, 0.0), shown(0.0, far));
        let per = |to: f64, from: f64| (to - from) / f64::from(far);
        Self {
            x: [origin.0, per(right.0, origin.0), per(up.0, origin.0)],
            y: [origin.1, per(right.1, origin.1), per(up.1, origin.1)],
        }
    }

    pub fn point(&self, x: f64, y: f64) -> (f64, f64) {
        let along = |[start, of_x, of_y]: [f64; 3]| start + of_x * x + of_y * y;
        (along(self.x), along(self.y))
    }

    /// Returns left, top, right and bottom.
    pub fn rect(&self, of: &PdfRect) -> [f64; 4] {
        let value = |points: PdfPoints| f64::from(points.value);
        self.corners((value(of.left()), value(of.bottom())), (value(of.right()), value(of.top())))
    }

    /// Returns left, top, right and bottom of the rectangle with these opposite corners.
    pub fn corners(&self, one: (f64, f64), other: (f64, f64)) -> [f64; 4] {
        let (one, other) = (self.point(one.0, one.1), self.point(other.0, other.1));
        [one.0.min(other.0), one.1.min(other.1), one.0.max(other.0), one.1.max(other.1)]
    }
}
