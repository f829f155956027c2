//! A recorded page, and its SVG: `path`, `g`, `clipPath`, `image` and one inert `set`, nothing else. Coordinates are whole
//! numbers, relative, so that letters repeat and compress. Neighbours of the same style are one element: few elements
//! are what makes a browser quick.

use std::collections::HashMap;
use std::fmt::Write as _;

use hayro_interpret::kurbo::{Affine, Cap, Join, Rect, Shape as _};

use crate::items::{Colour, Item, Kind, Layer, LayerKind, Outline, Pen, Rule, Style};
use crate::limits::{MAX_AREA, MAX_BYTES, MAX_GROUPS, MAX_NESTED};
use crate::notation::{number, transform, write};
use crate::picture::Picture;
use crate::refusal::Refusal;

/// Maximum number of segments of a path of several objects, and of one that spans a large part of the page. A browser
/// looks at a whole path to draw a part of it.
pub const JOINED: usize = 400;
const JOINED_AFAR: usize = 24;
/// Part of the page's longer side above which a path spans a large part.
const LARGE_PART: f64 = 1.0 / 8.0;

/// Turns off Firefox's cache of the whole drawing as a bitmap, of up to 2 GB: it does not cache what may move.
const INERT: &str = r#"<set attributeName="class" begin="indefinite"/>"#;

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

/// A path that the next object may join.
struct Joining {
    style: usize,
    bounds: Rect,
    segments: usize,
}

struct Writer<'a> {
    drawing: &'a Drawing,
    least_width: f64,
    svg: String,
    open: Vec<usize>,
    /// Numbers of the clips so far.
    clips: HashMap<String, usize>,
    groups: usize,
    area: f64,
    joining: Option<Joining>,
}

impl Drawing {
    /// Returns the page's width and height in points.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        (self.page.width(), self.page.height())
    }

    /// Returns the SVG. Lines are drawn at least this wide, in points.
    ///
    /// # Errors
    /// The SVG would be beyond the bounds.
    pub fn svg(&self, least_width: f64) -> Result<String, Refusal> {
        let (width, height) = self.size();
        let [across, down] = [width, height].map(|side| (side * self.unit).round());
        // Browsers round the size of an image. They would centre the drawing in it, away from its pixels, instead of stretching it.
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {across} {down}" preserveAspectRatio="none">{INERT}"#,
            number(width),
            number(height)
        );
        let mut writer = Writer {
            drawing: self,
            least_width,
            svg,
            open: Vec::new(),
            clips: HashMap::new(),
            groups: 0,
            area: 0.0,
            joining: None,
        };
        for item in &self.items {
            writer.item(item)?;
        }
        writer.end_path();
        writer.close_to(0);
        writer.svg += "</svg>";
        if writer.svg.len() > MAX_BYTES { Err(Refusal::Bytes) } else { Ok(writer.svg) }
    }

    /// Returns the number of segments of all paths.
    pub(crate) fn segments(&self) -> usize {
        let of = |item: &Item| if let Kind::Path(outline) = &item.kind { outline.segments } else { 0 };
        self.items.iter().map(of).sum()
    }

    /// Returns the layers that an object needs, the outermost first. A rectangle around the whole object is none.
    pub(crate) fn layers_around(&self, item: &Item) -> Vec<usize> {
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

impl Writer<'_> {
    fn item(&mut self, item: &Item) -> Result<(), Refusal> {
        self.open_layers(item)?;
        match &item.kind {
            Kind::Path(outline) => self.path(item.shown, outline),
            Kind::Picture(picture) => {
                self.end_path();
                if let Some(picture) = self.drawing.pictures.get(*picture) {
                    picture.write(self.drawing.unit, &mut self.svg);
                }
            }
        }
        if self.svg.len() > MAX_BYTES { Err(Refusal::Bytes) } else { Ok(()) }
    }

    fn path(&mut self, bounds: Rect, outline: &Outline) {
        let &Outline { style, segments, joins, .. } = outline;
        let data = self.drawing.data.get(outline.data.clone()).unwrap_or_default();
        if let Some(last) = self.joining.as_mut().filter(|last| joins && last.style == style) {
            let (area, count) = (last.bounds.union(bounds), last.segments + segments);
            let page = self.drawing.page;
            let is_small = area.width().max(area.height()) <= page.width().max(page.height()) * LARGE_PART;
            if count <= if is_small { JOINED } else { JOINED_AFAR } {
                (last.bounds, last.segments) = (area, count);
                self.svg += data;
                return;
            }
        }
        self.end_path();
        self.svg += "<path";
        if let Some(style) = self.drawing.styles.get(style) {
            attributes(style, self.least_width, self.drawing.unit, &mut self.svg);
        }
        self.svg += r#" d=""#;
        self.svg += data;
        if joins {
            self.joining = Some(Joining { style, bounds, segments });
        } else {
            self.svg += r#""/>"#;
        }
    }

    fn end_path(&mut self) {
        if self.joining.take().is_some() {
            self.svg += r#""/>"#;
        }
    }

    /// Opens and closes groups, until those are open that an object needs.
    fn open_layers(&mut self, item: &Item) -> Result<(), Refusal> {
        let drawing = self.drawing;
        let needed = drawing.layers_around(item);
        let same = needed.iter().zip(&self.open).take_while(|(one, other)| one == other).count();
        if same == needed.len() && same == self.open.len() {
            return Ok(());
        }
        self.end_path();
        self.close_to(same);
        for &number in &needed[same..] {
            let Some(layer) = drawing.layers.get(number) else { continue };
            self.groups += 1;
            self.area += layer.shown.area();
            self.open.push(number);
            if self.groups > MAX_GROUPS || self.open.len() > MAX_NESTED {
                return Err(Refusal::Groups);
            }
            if self.area > MAX_AREA * drawing.page.area() {
                return Err(Refusal::Area);
            }
            self.open_layer(layer)?;
        }
        Ok(())
    }

    fn open_layer(&mut self, layer: &Layer) -> Result<(), Refusal> {
        let paths = match &layer.kind {
            LayerKind::Page => return Ok(()),
            LayerKind::Opacity(opacity) => {
                let _ = write!(self.svg, r#"<g opacity="{}">"#, number(f64::from(*opacity)));
                return Ok(());
            }
            LayerKind::Clip(paths) => paths.iter().fold(String::new(), |markup, (data, rule)| {
                let rule = if *rule == Rule::EvenOdd { r#" clip-rule="evenodd""# } else { "" };
                markup + &format!(r#"<path{rule} d="{data}"/>"#)
            }),
            LayerKind::Rect(rect) => {
                let mut data = String::new();
                write(&rect.to_path(0.1), self.drawing.unit, &mut data)?;
                format!(r#"<path d="{data}"/>"#)
            }
        };
        let next = self.clips.len();
        let id = *self.clips.entry(paths.clone()).or_insert(next);
        if id == next {
            let _ = write!(self.svg, r#"<clipPath id="c{id}">{paths}</clipPath>"#);
        }
        let _ = write!(self.svg, r#"<g clip-path="url(#c{id})">"#);
        Ok(())
    }

    fn close_to(&mut self, depth: usize) {
        for _ in depth..self.open.len() {
            self.svg += "</g>";
        }
        self.open.truncate(depth);
    }
}

fn attributes(style: &Style, least_width: f64, unit: f64, svg: &mut String) {
    match style {
        Style::Fill(Colour(colour, opacity), rule) => {
            if *colour != [0; 3] {
                let _ = write!(svg, r#" fill="{}""#, hex(*colour));
            }
            if *opacity < 1.0 {
                let _ = write!(svg, r#" fill-opacity="{}""#, number(f64::from(*opacity)));
            }
            if *rule == Rule::EvenOdd {
                *svg += r#" fill-rule="evenodd""#;
            }
        }
        Style::Stroke(Colour(colour, opacity), pen, place) => {
            let _ = write!(svg, r#" fill="none" stroke="{}""#, hex(*colour));
            if *opacity < 1.0 {
                let _ = write!(svg, r#" stroke-opacity="{}""#, number(f64::from(*opacity)));
            }
            line(pen, pen.width.max(least_width), unit, svg);
            if let Some(place) = place {
                let _ = write!(svg, r#" transform="{}""#, transform(Affine::new(*place), unit, unit));
            }
        }
    }
}

fn line(pen: &Pen, width: f64, unit: f64, svg: &mut String) {
    let _ = write!(svg, r#" stroke-width="{}""#, number(width * unit));
    match pen.cap {
        Cap::Butt => {}
        Cap::Round => *svg += r#" stroke-linecap="round""#,
        Cap::Square => *svg += r#" stroke-linecap="square""#,
    }
    match pen.join {
        Join::Miter if pen.miter_limit == 4.0 => {}
        Join::Miter => {
            let _ = write!(svg, r#" stroke-miterlimit="{}""#, number(pen.miter_limit.max(1.0)));
        }
        Join::Round => *svg += r#" stroke-linejoin="round""#,
        Join::Bevel => *svg += r#" stroke-linejoin="bevel""#,
    }
    if !pen.dashes.is_empty() {
        let dashes: Vec<_> = pen.dashes.iter().map(|dash| number(dash * unit)).collect();
        let _ = write!(svg, r#" stroke-dasharray="{}""#, dashes.join(" "));
        if pen.dash_offset != 0.0 {
            let _ = write!(svg, r#" stroke-dashoffset="{}""#, number(pen.dash_offset * unit));
        }
    }
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    let is_short = [red, green, blue].iter().all(|part| part >> 4 == part & 15);
    if is_short {
        format!("#{:x}{:x}{:x}", red & 15, green & 15, blue & 15)
    } else {
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}
