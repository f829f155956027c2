//! Pages of PDFs, by hayro's interpreter. It follows PDFium, which draws the pixels; where it does not, the check
//! refuses the page.

mod fonts;
mod layers;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

use hayro_interpret::encode::EncodedShadingType;
use hayro_interpret::font::{Glyph, GlyphRun, OutlineGlyph};
use hayro_interpret::gradient::SvgGradientKind;
use hayro_interpret::kurbo::{Affine, BezPath, Circle, Rect, Shape as _};
use hayro_interpret::pattern::{Pattern, ShadingPattern, TilingPattern};
use hayro_interpret::shading::ShadingType;
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, FillRule, Image, ImageData, ImageDrawProps,
    InterpreterCache, InterpreterSettings, InterpreterWarning, LumaData, Paint, SoftMask, StrokeProps,
    TransformExt as _, interpret_page,
};
use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name};
use hayro_syntax::page::Page;

use crate::drawing::Drawing;
use crate::gradients::{self, Gradient, cells};
use crate::items::{Colour, Pen, Rule};
use crate::limits::{MAX_CALLS, MAX_PICTURE_PIXELS, MIN_UNITS};
use crate::picture::Picture;
use crate::recorder::{Recorded, Recorder};
use crate::refusal::Refusal;
use fonts::Substituted;

/// Difference of colours from 0 to 1 by which stops may stand for a gradient's function.
const GRADIENT_TOLERANCE: f32 = 1.0 / 512.0;

/// Number of calls as which a clip counts: a drawing within a drawing begins with one, and is parsed.
const CLIP: usize = 8;
/// Number of pixels of a picture that count as a call: it is decoded each time, shown or not.
const PIXELS: u64 = 64;

/// A document whose pages are drawn.
pub struct Document<'a> {
    pdf: &'a Pdf,
    cache: InterpreterCache<'a>,
    /// Why none of its pages has vectors.
    refusal: Option<Refusal>,
}

impl<'a> Document<'a> {
    /// Makes a document of a parsed PDF.
    #[must_use]
    pub fn new(pdf: &'a Pdf) -> Self {
        let refusal =
            guarded(|| Ok(layers::are_uncommon(pdf))).map(|uncommon| uncommon.then_some(Refusal::Layers));
        Self { pdf, cache: InterpreterCache::new(), refusal: refusal.unwrap_or_else(Some) }
    }

    /// Draws a page. Pages are counted from 0.
    ///
    /// The interpreter unpacks streams as a whole: call it where memory is limited, and after what must not fail.
    ///
    /// # Errors
    /// The page has no vectors, for a reason that another try does not change.
    pub fn page(&mut self, index: usize) -> Result<Drawing, Refusal> {
        self.refusal.map_or(Ok(()), Err)?;
        let drawn = guarded(|| {
            let page = self.pdf.pages().get(index).ok_or(Refusal::Interpreter)?;
            draw(page, &self.cache)
        });
        if drawn.is_err() {
            // Its locks may be poisoned.
            self.cache = InterpreterCache::new();
        }
        drawn
    }
}

/// Calls the interpreter, which knows no errors: a refusal leaves it as a panic that no one reports.
fn guarded<T>(draw: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let refused = |panic: Box<dyn std::any::Any + Send>| {
        panic.downcast().map_or(Refusal::Interpreter, |refusal| *refusal)
    };
    catch_unwind(AssertUnwindSafe(draw)).unwrap_or_else(|panic| Err(refused(panic)))
}

fn draw<'a>(page: &Page<'a>, cache: &InterpreterCache<'a>) -> Result<Drawing, Refusal> {
    if has_redactions(page) {
        return Err(Refusal::Redactions);
    }
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let recorder = Recorder::new(width, height, MIN_UNITS)?;
    let mut device = Interpreted { recorder, fonts: Substituted::of(page), calls: 0 };
    let missing = Arc::new(OnceLock::new());
    let is_missing = missing.clone();
    let settings = InterpreterSettings {
        warning_sink: Arc::new(move |warning| {
            let _ = match warning {
                InterpreterWarning::UnsupportedFont => is_missing.set(Refusal::Letters),
                InterpreterWarning::ImageDecodeFailure => is_missing.set(Refusal::Picture),
                _ => return,
            };
        }),
        ..InterpreterSettings::default()
    };
    let place = page.initial_transform(true).to_kurbo();
    let bounds = Rect::new(0.0, 0.0, width, height);
    let mut context = Context::new(place, bounds, cache, page.xref(), settings);
    interpret_page(page, &mut context, &mut device);
    missing.get().copied().map_or(Ok(()), Err)?;
    Ok(Drawing { is_by_pdfium: true, ..device.recorder.finish()? })
}

fn has_redactions(page: &Page<'_>) -> bool {
    let annotations = page.raw().get::<Array<'_>>("Annots");
    let is_redaction =
        |annotation: Dict<'_>| annotation.get::<Name<'_>>("Subtype").is_some_and(|kind| *kind == *b"Redact");
    annotations.is_some_and(|annotations| annotations.iter::<Dict<'_>>().any(is_redaction))
}

/// Records what the interpreter draws.
struct Interpreted {
    recorder: Recorder,
    fonts: Substituted,
    calls: usize,
}

impl Interpreted {
    /// Counts a call, and ends the interpretation if one is refused.
    fn count(&mut self, weight: usize, draw: impl FnOnce(&mut Self) -> Recorded) {
        self.calls += weight;
        let drawn = if self.calls > MAX_CALLS { Err(Refusal::Steps) } else { draw(self) };
        if let Err(refusal) = drawn {
            // Unlike a panic, this is not written to standard error.
            resume_unwind(Box::new(refusal));
        }
    }

    fn path<'a>(&mut self, path: &BezPath, props: &DrawProps<'a>, mode: &DrawMode, joins: bool) -> Recorded {
        is_simple(props.soft_mask.as_ref(), props.blend_mode)?;
        match mode {
            DrawMode::Fill(rule) => self.fill(&(props.transform * path), *rule, &props.paint, joins),
            DrawMode::Stroke(pen) => self.stroke(path, props, pen),
            DrawMode::FillAndStroke(rule, pen) => {
                self.fill(&(props.transform * path), *rule, &props.paint, false)?;
                self.stroke(path, props, pen)
            }
            DrawMode::Invisible => Ok(()),
        }
    }

    fn letter<'a>(
        &mut self,
        letter: &OutlineGlyph,
        place: Affine,
        props: &DrawProps<'a>,
        mode: &DrawMode,
    ) -> Recorded {
        self.recorder.is_substitute = self.fonts.have(letter);
        if let (DrawMode::Fill(rule), paint @ Paint::Color(_)) = (mode, &props.paint) {
            is_simple(props.soft_mask.as_ref(), props.blend_mode)?;
            let (key, place, colour) =
                (letter.identifier().cache_key(), props.transform * place, colour_of(paint)?);
            self.recorder.letter(key, || letter.outline(), place, colour, rule_of(*rule))?;
        } else {
            self.path(&(place * letter.outline()), props, mode, true)?;
        }
        self.recorder.is_substitute = false;
        Ok(())
    }

    fn fill<'a>(&mut self, path: &BezPath, rule: FillRule, paint: &Paint<'a>, joins: bool) -> Recorded {
        let rule = rule_of(rule);
        match paint {
            Paint::Color(_) => self.recorder.fill(path, colour_of(paint)?, rule, joins),
            Paint::Pattern(pattern) => match &**pattern {
                Pattern::Shading(shading) => self.shade(path, rule, shading),
                Pattern::Tiling(tiling) => self.tile(path, rule, tiling),
            },
        }
    }

    fn stroke(&mut self, path: &BezPath, props: &DrawProps<'_>, pen: &StrokeProps) -> Recorded {
        let pen = Pen {
            width: f64::from(pen.line_width),
            cap: pen.line_cap,
            join: pen.line_join,
            miter_limit: f64::from(pen.miter_limit),
            dashes: pen.dash_array.iter().copied().map(f64::from).collect(),
            dash_offset: f64::from(pen.dash_offset),
        };
        self.recorder.stroke(path, props.transform, &pen, colour_of(&props.paint)?)
    }

    fn shade(&mut self, path: &BezPath, rule: Rule, pattern: &ShadingPattern) -> Recorded {
        if !matches!(*pattern.shading.shading_type, ShadingType::RadialAxial { .. }) {
            return Err(Refusal::Gradient);
        }
        let encoded = pattern.encode();
        let EncodedShadingType::RadialAxial(shading) = &encoded.shading_type else {
            return Err(Refusal::Gradient);
        };
        let clip = pattern.shading.clip_path.as_ref();
        if let Some(clip) = clip {
            self.recorder.push_clip(clip, Rule::NonZero)?;
        }
        let bounds = path.bounding_box().intersect(self.recorder.shown());
        let gradient =
            shading.as_svg_gradient(&encoded, bounds, GRADIENT_TOLERANCE).ok_or(Refusal::Gradient)?;
        let shape = match gradient.kind {
            SvgGradientKind::Linear { start, end } => gradients::Shape::Linear(start, end),
            SvgGradientKind::Radial { start_center, start_radius, end_center, end_radius } => {
                gradients::Shape::Radial(
                    Circle::new(start_center, f64::from(start_radius)),
                    Circle::new(end_center, f64::from(end_radius)),
                )
            }
        };
        let stops = gradient.stops.iter().map(|stop| (f64::from(stop.offset), stop.color)).collect();
        self.recorder.fill_with_gradient(path, rule, Gradient { shape, place: gradient.transform, stops })?;
        if clip.is_some() {
            self.recorder.pop();
        }
        Ok(())
    }

    fn tile<'a>(&mut self, path: &BezPath, rule: Rule, pattern: &TilingPattern<'a>) -> Recorded {
        if pattern.opacity < 1.0 {
            return Err(Refusal::Pattern);
        }
        self.recorder.push_clip(path, rule)?;
        let steps = (f64::from(pattern.x_step), f64::from(pattern.y_step));
        for place in cells(pattern.matrix, pattern.bbox, steps, self.recorder.shown())? {
            pattern.interpret(self, place, false).ok_or(Refusal::Pattern)?;
        }
        self.recorder.pop();
        Ok(())
    }

    fn image(&mut self, image: &Image<'_, '_>, props: &ImageDrawProps<'_>) -> Recorded {
        is_simple(props.soft_mask.as_ref(), props.blend_mode)?;
        if u64::from(image.width()) * u64::from(image.height()) > MAX_PICTURE_PIXELS {
            return Err(Refusal::Pictures);
        }
        let mut picture = Err(Refusal::Picture);
        match image {
            Image::Stencil(stencil) => {
                stencil.with_stencil(|mask, paint| picture = stencilled(&mask, paint, props.transform), None)
            }
            Image::Raster(raster) => {
                raster.with_rgba(
                    |colours, mask| picture = coloured(&colours, mask.as_ref(), props.transform),
                    None,
                );
            }
        }
        self.recorder.picture(picture?)
    }
}

impl<'a> Device<'a> for Interpreted {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'a>, mode: &DrawMode) {
        self.count(1, |device| device.path(path, &props, mode, false));
    }

    fn push_clip_path(&mut self, clip: &ClipPath) {
        self.count(CLIP, |device| device.recorder.push_clip(&clip.path, rule_of(clip.fill)));
    }

    fn push_transparency_group(&mut self, opacity: f32, mask: Option<SoftMask<'a>>, blend: BlendMode) {
        self.count(1, |device| {
            is_simple(mask.as_ref(), blend)?;
            // Without blending, an opaque group is the same as what it holds.
            if opacity < 1.0 { device.recorder.push_opacity(opacity) } else { device.recorder.push_nothing() }
        });
    }

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, mode: &DrawMode) {
        if matches!(mode, DrawMode::Invisible) {
            return;
        }
        // PDFium adds up the whole parts of the letters' widths: the parts behind the point are lost.
        let mut lost = 0.0;
        for glyph in run.glyphs() {
            let place = glyph.transform() * Affine::translate((-lost, 0.0));
            self.count(1, |device| match &**glyph {
                Glyph::Outline(letter) => {
                    lost += f64::from(letter.advance_width().unwrap_or_default().fract());
                    device.letter(letter, place, &props, mode)
                }
                Glyph::Type3(glyph_of_drawings) => {
                    glyph_of_drawings.interpret(device, props.transform, place, &props.paint);
                    Ok(())
                }
            });
        }
    }

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        let pixels = u64::from(image.width()) * u64::from(image.height());
        let weight = usize::try_from(pixels / PIXELS).unwrap_or(MAX_CALLS);
        self.count(1 + weight, |device| device.image(&image, &props));
    }

    fn pop_clip(&mut self) {
        self.recorder.pop();
    }

    fn pop_transparency_group(&mut self) {
        self.recorder.pop();
    }
}

fn is_simple(mask: Option<&SoftMask<'_>>, blend: BlendMode) -> Recorded {
    match (mask, blend) {
        (Some(_), _) => Err(Refusal::Mask),
        (None, BlendMode::Normal) => Ok(()),
        (None, _) => Err(Refusal::Blending),
    }
}

fn rule_of(rule: FillRule) -> Rule {
    match rule {
        FillRule::NonZero => Rule::NonZero,
        FillRule::EvenOdd => Rule::EvenOdd,
    }
}

fn colour_of(paint: &Paint<'_>) -> Result<Colour, Refusal> {
    let Paint::Color(colour) = paint else { return Err(Refusal::Pattern) };
    let [red, green, blue, opacity] = colour.to_rgba().to_rgba8();
    Ok(Colour([red, green, blue], f32::from(opacity) / 255.0))
}

fn stencilled(mask: &LumaData, paint: &Paint<'_>, place: Affine) -> Result<Picture, Refusal> {
    let Colour([red, green, blue], opacity) = colour_of(paint)?;
    let pixels =
        mask.data.iter().flat_map(|&part| [red, green, blue, (f32::from(part) * opacity) as u8]).collect();
    placed(mask.width, mask.height, pixels, mask.scale_factors, place, mask.interpolate)
}

fn coloured(colours: &ImageData, mask: Option<&LumaData>, place: Affine) -> Result<Picture, Refusal> {
    let (width, height) = (colours.width(), colours.height());
    let mut pixels: Vec<u8> = match colours {
        ImageData::Rgb(rgb) => {
            rgb.data.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect()
        }
        ImageData::Luma(luma) => luma.data.iter().flat_map(|&grey| [grey, grey, grey, 255]).collect(),
    };
    if let Some(mask) = mask {
        // A mask that is finer than the picture would be lost.
        if mask.width > width || mask.height > height {
            return Err(Refusal::Picture);
        }
        let scaled = |at: u32, side: u32, of: u32| u64::from(at) * u64::from(of) / u64::from(side.max(1));
        let mut pixels = pixels.chunks_exact_mut(4);
        for y in 0..height {
            let row = scaled(y, height, mask.height) * u64::from(mask.width);
            for x in 0..width {
                let opacity = mask.data.get((row + scaled(x, width, mask.width)) as usize);
                if let (Some(pixel), Some(&opacity)) = (pixels.next(), opacity) {
                    pixel[3] = opacity;
                }
            }
        }
    }
    placed(width, height, std::mem::take(&mut pixels), colours.scale_factors(), place, colours.interpolate())
}

fn placed(
    width: u32,
    height: u32,
    pixels: Vec<u8>,
    factors: (f32, f32),
    place: Affine,
    smooth: bool,
) -> Result<Picture, Refusal> {
    let place = place * Affine::scale_non_uniform(f64::from(factors.0), f64::from(factors.1));
    Picture::new(width, height, pixels, place, smooth).ok_or(Refusal::Picture)
}
