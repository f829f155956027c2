//! The part of the canvas that a strip shows, and layers of its size.

use resvg::tiny_skia::{Pixmap, Rect, Transform};

/// Full rows of the canvas.
#[derive(Clone, Copy)]
pub struct StripArea {
    pub width: u32,
    pub top: u32,
    pub rows: u32,
}

impl StripArea {
    /// A clear pixmap of the strip's size.
    pub fn layer(self) -> Option<Pixmap> {
        Pixmap::new(self.width, self.rows)
    }

    /// The transform to the strip's own pixels.
    pub fn local(self, transform: Transform) -> Transform {
        transform.post_translate(0.0, -(self.top as f32))
    }

    /// The strip on the canvas.
    pub fn rect(self) -> Option<Rect> {
        Rect::from_xywh(0.0, self.top as f32, self.width as f32, self.rows as f32)
    }

    /// Whether a part of an area may be visible. Anti-aliasing extends it by a pixel.
    pub fn shows(self, area: Rect, transform: Transform) -> bool {
        let Some(area) = area.transform(transform) else { return true };
        area.top() < (self.top + self.rows) as f32 + 2.0
            && area.bottom() > self.top as f32 - 2.0
            && area.left() < self.width as f32 + 2.0
            && area.right() > -2.0
    }
}
