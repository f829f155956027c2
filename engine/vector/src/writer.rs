//! The SVG of a drawing: `path`, `g`, `clipPath`, `image` and one inert `set`, nothing else. Coordinates are whole
//! numbers, relative, so that letters repeat and compress.

use std::collections::HashMap;
use std::fmt::Write as _;

use hayro_interpret::kurbo::{Affine, Cap, Join, Shape as _};

use crate::drawing::{Drawing, Surface};
use crate::items::{Colour, Layer, LayerKind, Outline, Pen, Rule, Style};
use crate::limits::{MAX_AREA, MAX_BYTES, MAX_GROUPS, MAX_NESTED};
use crate::notation::{number, transform, write};
use crate::picture::Picture;
use crate::refusal::Refusal;

/// Turns off Firefox's cache of the whole drawing as a bitmap, of up to 2 GB: it does not cache what may move.
const INERT: &str = r#"<set attributeName="class" begin="indefinite"/>"#;

struct Writer<'a> {
    drawing: &'a Drawing,
    least_width: f64,
    svg: String,
    /// Number of open layers.
    open: usize,
    /// Numbers of the clips so far.
    clips: HashMap<String, usize>,
    groups: usize,
    area: f64,
}

impl Drawing {
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
        let mut writer =
            Writer { drawing: self, least_width, svg, open: 0, clips: HashMap::new(), groups: 0, area: 0.0 };
        self.draw(&self.items, &mut writer)?;
        writer.svg += "</svg>";
        if writer.svg.len() > MAX_BYTES { Err(Refusal::Bytes) } else { Ok(writer.svg) }
    }
}

impl<'a> Surface<'a> for Writer<'a> {
    fn open(&mut self, layer: &'a Layer) -> Result<(), Refusal> {
        self.groups += 1;
        self.open += 1;
        self.area += layer.shown.area();
        if self.groups > MAX_GROUPS || self.open > MAX_NESTED {
            return Err(Refusal::Groups);
        }
        if self.area > MAX_AREA * self.drawing.page.area() {
            return Err(Refusal::Area);
        }
        self.open_layer(layer)
    }

    fn close(&mut self) {
        self.open -= 1;
        self.svg += "</g>";
    }

    fn begin(&mut self, style: usize) -> Result<(), Refusal> {
        self.svg += "<path";
        if let Some(style) = self.drawing.styles.get(style) {
            attributes(style, self.least_width, self.drawing.unit, &mut self.svg);
        }
        self.svg += r#" d=""#;
        if self.svg.len() > MAX_BYTES { Err(Refusal::Bytes) } else { Ok(()) }
    }

    fn add(&mut self, outline: &Outline) {
        self.svg += self.drawing.data.get(outline.data.clone()).unwrap_or_default();
    }

    fn end(&mut self) {
        self.svg += r#""/>"#;
    }

    fn picture(&mut self, picture: &'a Picture) {
        picture.write(self.drawing.unit, &mut self.svg);
    }
}

impl Writer<'_> {
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
