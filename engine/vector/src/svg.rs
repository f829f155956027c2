//! Drawings in SVG, as usvg understands them: references, styles and texts are resolved, so what unfolds is bounded by
//! its parser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hayro_interpret::kurbo::{Affine, BezPath, Cap, Circle, Join, Point, Rect, Shape as _};
use resvg::tiny_skia::{self, Path, PathSegment, Pixmap, Transform};
use resvg::usvg;
use usvg::{
    BaseGradient, BlendMode, ClipPath, Group, ImageKind, ImageRendering, LineCap, LineJoin, Node, Opacity,
    Paint, PaintOrder, SpreadMethod, Tree,
};

use crate::drawing::Drawing;
use crate::gradients::{self, Gradient, cells};
use crate::items::{Colour, Pen, Rule};
use crate::limits::{MAX_DEPTH, MAX_PICTURE_PIXELS, MAX_SEGMENTS, MAX_SIDE, MIN_UNITS_OF_DRAWING};
use crate::picture::Picture;
use crate::recorder::{Recorded, Recorder};
use crate::refusal::Refusal;

/// Number of pixels of a picture that count as a node.
const PIXELS: usize = 64;

/// Draws a parsed SVG.
///
/// # Errors
/// It has no vectors, for a reason that another try does not change.
pub fn tree(tree: &Tree) -> Result<Drawing, Refusal> {
    let (width, height) = (f64::from(tree.size().width()), f64::from(tree.size().height()));
    // The units of a drawing may be metres of a map.
    let scale = (MAX_SIDE / width.max(height)).min(1.0);
    let recorder = Recorder::new(width * scale, height * scale, MIN_UNITS_OF_DRAWING)?;
    let mut walk = Walk { recorder, nodes: 0, are_letters: false };
    walk.group(tree.root(), Affine::scale(scale), 0)?;
    walk.recorder.finish()
}

struct Walk {
    recorder: Recorder,
    /// Number of nodes so far, and of pixels of pictures, divided by [`PIXELS`].
    nodes: usize,
    /// True within a text.
    are_letters: bool,
}

impl Walk {
    fn group(&mut self, group: &Group, around: Affine, depth: usize) -> Recorded {
        if group.mask().is_some() {
            return Err(Refusal::Mask);
        }
        if !group.filters().is_empty() {
            return Err(Refusal::Filter);
        }
        if group.blend_mode() != BlendMode::Normal {
            return Err(Refusal::Blending);
        }
        if depth > MAX_DEPTH {
            return Err(Refusal::Groups);
        }
        let place = around * affine(group.transform());
        let opacity = group.opacity().get();
        if opacity < 1.0 {
            self.recorder.push_opacity(opacity)?;
        }
        let clips = self.clips(group.clip_path(), place)?;
        for node in group.children() {
            self.node(node, place, depth)?;
        }
        for _ in 0..clips + usize::from(opacity < 1.0) {
            self.recorder.pop();
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, place: Affine, depth: usize) -> Recorded {
        self.nodes += 1;
        if self.nodes > MAX_SEGMENTS {
            return Err(Refusal::Segments);
        }
        match node {
            Node::Group(group) => self.group(group, place, depth + 1),
            Node::Text(text) => {
                self.are_letters = true;
                let drawn = self.group(text.flattened(), place, depth + 1);
                self.are_letters = false;
                drawn
            }
            Node::Image(image) if image.is_visible() => self.image(image, place, depth),
            Node::Path(path) if path.is_visible() => {
                if path.paint_order() == PaintOrder::StrokeAndFill {
                    self.stroke(path, place)?;
                }
                self.fill(path, place, depth)?;
                if path.paint_order() == PaintOrder::FillAndStroke {
                    self.stroke(path, place)?;
                }
                Ok(())
            }
            Node::Image(_) | Node::Path(_) => Ok(()),
        }
    }

    /// Opens the clips of a group. Returns their number.
    fn clips(&mut self, clip: Option<&ClipPath>, place: Affine) -> Result<usize, Refusal> {
        let (mut count, mut next) = (0, clip);
        while let Some(clip) = next {
            let mut paths = Vec::new();
            outlines(clip.root(), place * affine(clip.transform()), &mut paths, 0)?;
            self.recorder.push_clips(&paths)?;
            (count, next) = (count + 1, clip.clip_path());
        }
        Ok(count)
    }

    fn fill(&mut self, path: &usvg::Path, place: Affine, depth: usize) -> Recorded {
        let Some(fill) = path.fill() else { return Ok(()) };
        let outline = place * bezier(path.data());
        let rule = rule_of(fill.rule());
        let opacity = fill.opacity();
        match fill.paint() {
            Paint::Color(colour) if self.are_letters => {
                letters(&bezier(path.data())).into_iter().try_for_each(|letter| {
                    self.recorder.fill(&(place * letter), colour_of(*colour, opacity), rule, true)
                })
            }
            Paint::Color(colour) => self.recorder.fill(&outline, colour_of(*colour, opacity), rule, false),
            Paint::LinearGradient(gradient) => {
                let at = |x, y| Point::new(f64::from(x), f64::from(y));
                let shape = gradients::Shape::Linear(
                    at(gradient.x1(), gradient.y1()),
                    at(gradient.x2(), gradient.y2()),
                );
                self.recorder.fill_with_gradient(&outline, rule, of_paint(shape, place, gradient, opacity)?)
            }
            Paint::RadialGradient(gradient) => {
                let circle = |x, y, radius| Circle::new((f64::from(x), f64::from(y)), f64::from(radius));
                let shape = gradients::Shape::Radial(
                    circle(gradient.fx(), gradient.fy(), gradient.fr().get()),
                    circle(gradient.cx(), gradient.cy(), gradient.r().get()),
                );
                self.recorder.fill_with_gradient(&outline, rule, of_paint(shape, place, gradient, opacity)?)
            }
            Paint::Pattern(pattern) => {
                if opacity < Opacity::ONE {
                    return Err(Refusal::Pattern);
                }
                let rect = pattern.rect();
                let cell = Rect::new(
                    rect.left().into(),
                    rect.top().into(),
                    rect.right().into(),
                    rect.bottom().into(),
                );
                self.recorder.push_clip(&outline, rule)?;
                let matrix = place * affine(pattern.transform());
                for place in cells(matrix, cell, (cell.width(), cell.height()), self.recorder.shown())? {
                    let corners = cell.to_path(0.1);
                    self.recorder.push_clip(&(place * corners), Rule::NonZero)?;
                    self.group(pattern.root(), place * Affine::translate((cell.x0, cell.y0)), depth + 1)?;
                    self.recorder.pop();
                }
                self.recorder.pop();
                Ok(())
            }
        }
    }

    fn stroke(&mut self, path: &usvg::Path, place: Affine) -> Recorded {
        let Some(stroke) = path.stroke() else { return Ok(()) };
        let colour = match stroke.paint() {
            Paint::Color(colour) => colour_of(*colour, stroke.opacity()),
            Paint::LinearGradient(_) | Paint::RadialGradient(_) => return Err(Refusal::Gradient),
            Paint::Pattern(_) => return Err(Refusal::Pattern),
        };
        let pen = Pen {
            width: f64::from(stroke.width().get()),
            cap: match stroke.linecap() {
                LineCap::Butt => Cap::Butt,
                LineCap::Round => Cap::Round,
                LineCap::Square => Cap::Square,
            },
            join: match stroke.linejoin() {
                LineJoin::Miter | LineJoin::MiterClip => Join::Miter,
                LineJoin::Round => Join::Round,
                LineJoin::Bevel => Join::Bevel,
            },
            miter_limit: f64::from(stroke.miterlimit().get()),
            dashes: stroke.dasharray().unwrap_or_default().iter().copied().map(f64::from).collect(),
            dash_offset: f64::from(stroke.dashoffset()),
        };
        self.recorder.stroke(&bezier(path.data()), place, &pen, colour)
    }

    fn image(&mut self, image: &usvg::Image, place: Affine, depth: usize) -> Recorded {
        let (kind, file) = match image.kind() {
            ImageKind::PNG(file) => ("png", file),
            ImageKind::JPEG(file) => ("jpeg", file),
            ImageKind::GIF(file) => ("gif", file),
            ImageKind::WEBP(file) => ("webp", file),
            ImageKind::SVG(tree) => return self.group(tree.root(), place, depth + 1),
        };
        let (width, height) = (image.size().width(), image.size().height());
        if f64::from(width) * f64::from(height) > MAX_PICTURE_PIXELS as f64 {
            return Err(Refusal::Pictures);
        }
        // It is decoded each time, shown or not.
        self.nodes += (width * height) as usize / PIXELS;
        if self.nodes > MAX_SEGMENTS {
            return Err(Refusal::Pictures);
        }
        let pixmap = pixels(kind, file, width as u32, height as u32).ok_or(Refusal::Picture)?;
        let pixels = pixmap.pixels().iter().map(|pixel| pixel.demultiply());
        let pixels =
            pixels.flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]).collect();
        let smooth = !matches!(
            image.rendering_mode(),
            ImageRendering::OptimizeSpeed | ImageRendering::Pixelated | ImageRendering::CrispEdges
        );
        let picture = Picture::new(width as u32, height as u32, pixels, place, smooth);
        self.recorder.picture(picture.ok_or(Refusal::Picture)?)
    }
}

/// Splits the outline of a text, which is written along the x axis, into parts beside each other: letters with their holes.
/// A shape that hides one letter need not hide the others.
fn letters(text: &BezPath) -> Vec<BezPath> {
    let figures = text.subpaths().map(|figure| BezPath::from_vec(figure.to_vec()));
    let mut figures: Vec<_> = figures.map(|figure| (figure.control_box(), figure)).collect();
    figures.sort_by(|one, other| one.0.x0.total_cmp(&other.0.x0));
    let mut letters: Vec<(f64, BezPath)> = Vec::new();
    for (bounds, figure) in figures {
        match letters.last_mut() {
            Some((right, letter)) if bounds.x0 <= *right => {
                *right = right.max(bounds.x1);
                letter.extend(figure);
            }
            _ => letters.push((bounds.x1, figure)),
        }
    }
    letters.into_iter().map(|(_, letter)| letter).collect()
}

/// Draws a picture alone, so that its decoder is that of the drawing's pixels.
fn pixels(kind: &str, file: &[u8], width: u32, height: u32) -> Option<Pixmap> {
    let file = STANDARD.encode(file);
    let svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><image width="{width}" height="{height}" href="data:image/{kind};base64,{file}"/></svg>"#
    );
    let tree = Tree::from_str(&svg, &usvg::Options::default()).ok()?;
    let mut pixmap = Pixmap::new(width, height)?;
    resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
    Some(pixmap)
}

/// Collects the outlines of a clip.
fn outlines(group: &Group, around: Affine, paths: &mut Vec<(BezPath, Rule)>, depth: usize) -> Recorded {
    // A clip within a clip's own shapes is rare.
    if group.clip_path().is_some() && depth > 0 || depth > MAX_DEPTH {
        return Err(Refusal::Groups);
    }
    let place = around * affine(group.transform());
    for node in group.children() {
        match node {
            Node::Group(inner) => outlines(inner, place, paths, depth + 1)?,
            Node::Text(text) => outlines(text.flattened(), place, paths, depth + 1)?,
            Node::Path(path) if path.is_visible() => {
                let rule = path.fill().map_or(Rule::NonZero, |fill| rule_of(fill.rule()));
                paths.push((place * bezier(path.data()), rule));
            }
            Node::Path(_) | Node::Image(_) => {}
        }
    }
    Ok(())
}

fn of_paint(
    shape: gradients::Shape,
    place: Affine,
    paint: &BaseGradient,
    opacity: Opacity,
) -> Result<Gradient, Refusal> {
    if paint.spread_method() != SpreadMethod::Pad {
        return Err(Refusal::Gradient);
    }
    let stops = paint.stops().iter().map(|stop| {
        let Colour(colour, opacity) = colour_of(stop.color(), stop.opacity() * opacity);
        let [red, green, blue] = colour.map(|part| f32::from(part) / 255.0);
        (f64::from(stop.offset().get()), [red, green, blue, opacity])
    });
    Ok(Gradient { shape, place: place * affine(paint.transform()), stops: stops.collect() })
}

fn colour_of(colour: usvg::Color, opacity: Opacity) -> Colour {
    Colour([colour.red, colour.green, colour.blue], opacity.get())
}

fn rule_of(rule: usvg::FillRule) -> Rule {
    match rule {
        usvg::FillRule::NonZero => Rule::NonZero,
        usvg::FillRule::EvenOdd => Rule::EvenOdd,
    }
}

fn affine(of: Transform) -> Affine {
    Affine::new([of.sx, of.ky, of.kx, of.sy, of.tx, of.ty].map(f64::from))
}

fn bezier(path: &Path) -> BezPath {
    let point = |point: tiny_skia::Point| Point::new(f64::from(point.x), f64::from(point.y));
    let mut to = BezPath::new();
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(next) => to.move_to(point(next)),
            PathSegment::LineTo(next) => to.line_to(point(next)),
            PathSegment::QuadTo(control, next) => to.quad_to(point(control), point(next)),
            PathSegment::CubicTo(one, two, next) => to.curve_to(point(one), point(two), point(next)),
            PathSegment::Close => to.close_path(),
        }
    }
    to
}
