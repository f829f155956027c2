//! What the page's own pixels do not show, the vectors must not show: white words on white, and whatever is below shapes that
//! are no [cover](crate::covers). Words beside the tiles have the same rule.

use hayro_interpret::kurbo::Rect;

use crate::check::Pixels;
use crate::drawing::Drawing;
use crate::items::{Colour, Item, Kind, Style};
use crate::picture::Picture;
use crate::refusal::Refusal;

/// Part of an object's box that is inked, at least, and of one that is narrow, such as that of an l.
const INK: f64 = 0.15;
const INK_OF_NARROW: f64 = 0.5;
/// Ratio of the sides of a narrow box.
const NARROW: f64 = 4.0;
/// Difference of colours, of 255, that no one sees.
const NEAR: u8 = 8;
/// Difference of a pixel that an object must make if it shows: two steps. What is smaller or paler is not judged.
const LEAST: f64 = 16.0;
/// Distance in pixels around a letter in its own colour: if it showed, there would be another colour.
const AROUND: f64 = 2.0;
/// Maximum number of looks at every pixel of the page. What shows is known after a few rows of its box.
const MAX_LOOKS: usize = 16;

impl Drawing {
    /// Returns the drawing without objects that the page's pixels do not show: their box has one colour alone, and that is not
    /// theirs, or it is, and reaches beyond the letter.
    ///
    /// # Errors
    /// [`Refusal::NoOutlines`]: nothing but pictures is left. [`Refusal::Letters`]: a letter is shown whose font PDFium and the
    /// interpreter replace by different ones. [`Refusal::Unlike`]: a picture is not shown. [`Refusal::Area`]: too many large objects
    /// may be hidden.
    pub fn without_unseen(mut self, page: Pixels<'_>) -> Result<Self, Refusal> {
        let mut looks = Looks::at(page);
        for item in std::mem::take(&mut self.items) {
            if self.is_unseen_picture(&item, &mut looks)? {
                return Err(Refusal::Unlike);
            }
            if self.is_unseen(&item, &mut looks)? {
                continue;
            }
            // Where the page has one colour, the letter has the same, or is too small to be read.
            if item.is_substitute && looks.colour(looks.place(&item, self.size()))?.is_none() {
                return Err(Refusal::Letters);
            }
            self.items.push(item);
        }
        let has_outlines = self.items.iter().any(|item| matches!(item.kind, Kind::Path(_)));
        if has_outlines { Ok(self) } else { Err(Refusal::NoOutlines) }
    }

    fn is_unseen(&self, item: &Item, looks: &mut Looks<'_>) -> Result<bool, Refusal> {
        let Kind::Path(outline) = &item.kind else { return Ok(false) };
        let (colour, is_letter) = match self.styles.get(outline.style) {
            Some(Style::Fill(colour, _)) => (colour, outline.joins),
            Some(Style::Stroke(colour, ..)) => (colour, false),
            None => return Ok(false),
        };
        let place = looks.place(item, self.size());
        let Some(seen) = looks.colour(place)? else { return Ok(false) };
        let Colour(own, opacity) = colour;
        let contrast = own.iter().zip(seen).map(|(own, seen)| own.abs_diff(seen)).max().unwrap_or(0);
        if contrast <= NEAR {
            return Ok(is_letter && looks.colour(place.inflate(AROUND, AROUND))?.is_some());
        }
        let pixels = (place.width().ceil() + 1.0) * (place.height().ceil() + 1.0);
        let is_narrow = place.width().max(place.height()) > NARROW * place.width().min(place.height());
        let ink = if is_narrow { INK_OF_NARROW } else { INK };
        let ink = ink * place.area() / pixels * f64::from(*opacity);
        Ok(ink * f64::from(contrast) >= LEAST)
    }

    /// Something that is no cover hides the picture, or covers hide only a part.
    fn is_unseen_picture(&self, item: &Item, looks: &mut Looks<'_>) -> Result<bool, Refusal> {
        let Kind::Picture(number) = item.kind else { return Ok(false) };
        let place = looks.place(item, self.size());
        let is_drawn = |picture: &Picture| place.area() >= 1.0 && !picture.is_plain();
        Ok(self.pictures.get(number).is_some_and(is_drawn) && looks.colour(place)?.is_some())
    }
}

/// A page of which the boxes of objects are looked at.
struct Looks<'a> {
    page: Pixels<'a>,
    /// Number of pixels that may still be looked at.
    left: usize,
}

impl<'a> Looks<'a> {
    fn at(page: Pixels<'a>) -> Self {
        Self { page, left: page.rgb.len() / 3 * MAX_LOOKS }
    }

    /// Returns the box of an object of a page of this size in points.
    fn place(&self, item: &Item, (width, height): (f64, f64)) -> Rect {
        let (across, down) = (f64::from(self.page.width) / width, f64::from(self.page.height) / height);
        let Rect { x0, y0, x1, y1 } = item.shown;
        Rect::new(x0 * across, y0 * down, x1 * across, y1 * down)
    }

    /// Returns the colour of a rectangle of pixels that has no other.
    fn colour(&mut self, place: Rect) -> Result<Option<[u8; 3]>, Refusal> {
        let (width, height) = (self.page.width as usize, self.page.height as usize);
        let side = |from: f64, to: f64, end: usize| {
            let first = (from.floor().max(0.0) as usize).min(end.saturating_sub(1));
            first..(to.ceil().max(0.0) as usize).clamp(first + 1, end.max(first + 1))
        };
        let (columns, rows) = (side(place.x0, place.x1, width), side(place.y0, place.y1, height));
        let pixels = self.page.rgb.as_chunks::<3>().0;
        let mut first = None;
        for row in rows {
            self.left = self.left.checked_sub(columns.len()).ok_or(Refusal::Area)?;
            let row = pixels.get(row * width + columns.start..row * width + columns.end).unwrap_or_default();
            let first = *first.get_or_insert(row.first().copied().unwrap_or_default());
            if row.iter().any(|pixel| is_far(pixel, &first)) {
                return Ok(None);
            }
        }
        Ok(first)
    }
}

fn is_far(one: &[u8; 3], other: &[u8; 3]) -> bool {
    one.iter().zip(other).any(|(one, other)| one.abs_diff(*other) > NEAR)
}
