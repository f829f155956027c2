//! A recorded page, and the walk through its objects: for its SVG, and for the picture of it that is compared. Both have the same
//! layers. Neighbours of the same style are one path: few elements are what makes a browser quick.

use hayro_interpret::kurbo::Rect;

use crate::items::{Item, Kind, Layer, LayerKind, Outline, Style};
use crate::picture::Picture;
use crate::refusal::Refusal;

/// Maximum number of segments of a path of several objects, and of one that spans a large part of the page. A browser
/// looks at a whole path to draw a part of it.
const JOINED: usize = 400;
const JOINED_AFAR: usize = 24;
/// Part of the page's longer side above which a path spans a large part.
const LARGE_PART: f64 = 1.0 / 8.0;

/// A page as outlines, clips and pictures.
pub struct Drawing {
    pub(crate) page: Rect,
    pub(crate) unit: f64,
    pub(crate) data: String,
    pub(crate) items: Vec<Item>,
    pub(crate) styles: Vec<Style>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) pictures: Vec<Picture>,
    /// True if the page's pixels are PDFium's.
    pub(crate) is_by_pdfium: bool,
}

/// What is drawn on.
pub trait Surface<'a> {
    /// Opens a layer within those that are open.
    fn open(&mut self, layer: &'a Layer) -> Result<(), Refusal>;
    /// Closes the layer that was opened last.
    fn close(&mut self);
    /// Begins a path of a style, by its number.
    fn begin(&mut self, style: usize) -> Result<(), Refusal>;
    /// Adds an object to the path.
    fn add(&mut self, outline: &Outline);
    /// Ends the path.
    fn end(&mut self);
    fn picture(&mut self, picture: &'a Picture);
}

/// A path that the next object may join.
struct Joining {
    style: usize,
    bounds: Rect,
    segments: usize,
}

impl Drawing {
    /// Returns the page's width and height in points.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        (self.page.width(), self.page.height())
    }

    /// Returns the number of segments of all paths.
    pub(crate) fn segments(&self) -> usize {
        let of = |item: &Item| if let Kind::Path(outline) = &item.kind { outline.segments } else { 0 };
        self.items.iter().map(of).sum()
    }

    /// Draws some of the objects, in their order.
    pub(crate) fn draw<'a>(
        &'a self,
        items: impl IntoIterator<Item = &'a Item>,
        on: &mut impl Surface<'a>,
    ) -> Result<(), Refusal> {
        let (mut open, mut path): (Vec<usize>, Option<Joining>) = (Vec::new(), None);
        for item in items {
            let needed = self.layers_around(item);
            let same = needed.iter().zip(&open).take_while(|(one, other)| one == other).count();
            let is_same = same == needed.len() && same == open.len();
            let joins = |last: &mut Joining| is_same && self.joins(last, item);
            if !path.as_mut().is_some_and(joins) && path.take().is_some() {
                on.end();
            }
            open.drain(same..).for_each(|_| on.close());
            for layer in &needed[same..] {
                open.push(*layer);
                self.layers.get(*layer).map_or(Ok(()), |layer| on.open(layer))?;
            }
            match &item.kind {
                Kind::Path(outline) if path.is_some() => on.add(outline),
                Kind::Path(outline) => {
                    let &Outline { style, segments, joins, .. } = outline;
                    on.begin(style)?;
                    on.add(outline);
                    if joins {
                        path = Some(Joining { style, bounds: item.shown, segments });
                    } else {
                        on.end();
                    }
                }
                Kind::Picture(number) => {
                    if let Some(picture) = self.pictures.get(*number) {
                        on.picture(picture);
                    }
                }
            }
        }
        if path.is_some() {
            on.end();
        }
        open.iter().for_each(|_| on.close());
        Ok(())
    }

    /// Returns true if an object becomes part of the last path.
    fn joins(&self, last: &mut Joining, item: &Item) -> bool {
        let Kind::Path(outline) = &item.kind else { return false };
        let (area, count) = (last.bounds.union(item.shown), last.segments + outline.segments);
        let is_small =
            area.width().max(area.height()) <= self.page.width().max(self.page.height()) * LARGE_PART;
        let joins = outline.joins
            && last.style == outline.style
            && count <= if is_small { JOINED } else { JOINED_AFAR };
        if joins {
            (last.bounds, last.segments) = (area, count);
        }
        joins
    }

    /// Returns the layers that an object needs, the outermost first. A rectangle around the whole object is none.
    fn layers_around(&self, item: &Item) -> Vec<usize> {
        let mut needed = Vec::new();
        let mut next = Some(item.layer);
        while let Some((number, layer)) = next.and_then(|number| Some((number, self.layers.get(number)?))) {
            next = layer.around;
            let is_needed = match &layer.kind {
                LayerKind::Page => false,
                LayerKind::Rect(rect) => rect.union(item.whole) != *rect,
                LayerKind::Clip(_) | LayerKind::Opacity(_) => true,
            };
            if is_needed {
                needed.push(number);
            }
        }
        needed.reverse();
        needed
    }
}
