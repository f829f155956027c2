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

impl Drawing {
    /// Returns the drawing without objects that the page's pixels do not show: their box has one colour alone, and that is not
    /// theirs, or it is, and reaches beyond the letter.
    ///
    /// # Errors
    /// [`Refusal::NoOutlines`]: nothing but pictures is left. [`Refusal::Unlike`]: a picture is not shown.
    pub fn without_unseen(mut self, page: Pixels<'_>) -> Result<Self, Refusal> {
        let plain = Plain::of(page);
        if self.items.iter().any(|item| self.is_unseen_picture(item, &plain)) {
            return Err(Refusal::Unlike);
        }
        let items = std::mem::take(&mut self.items);
        self.items = items.into_iter().filter(|item| !self.is_unseen(item, &plain)).collect();
        let has_outlines = self.items.iter().any(|item| matches!(item.kind, Kind::Path(_)));
        if has_outlines { Ok(self) } else { Err(Refusal::NoOutlines) }
    }

    fn is_unseen(&self, item: &Item, plain: &Plain<'_>) -> bool {
        let Kind::Path(outline) = &item.kind else { return false };
        let (colour, is_letter) = match self.styles.get(outline.style) {
            Some(Style::Fill(colour, _)) => (colour, outline.joins),
            Some(Style::Stroke(colour, ..)) => (colour, false),
            None => return false,
        };
        let place = plain.place(item, self.size());
        let Some(seen) = plain.colour(place) else { return false };
        let Colour(own, opacity) = colour;
        let contrast = own.iter().zip(seen).map(|(own, seen)| own.abs_diff(*seen)).max().unwrap_or(0);
        if contrast <= NEAR {
            return is_letter && plain.colour(place.inflate(AROUND, AROUND)).is_some();
        }
        let pixels = (place.width().ceil() + 1.0) * (place.height().ceil() + 1.0);
        let is_narrow = place.width().max(place.height()) > NARROW * place.width().min(place.height());
        let ink = if is_narrow { INK_OF_NARROW } else { INK };
        let ink = ink * place.area() / pixels * f64::from(*opacity);
        ink * f64::from(contrast) >= LEAST
    }

    /// Something that is no cover hides the picture, or covers hide only a part.
    fn is_unseen_picture(&self, item: &Item, plain: &Plain<'_>) -> bool {
        let Kind::Picture(number) = item.kind else { return false };
        let place = plain.place(item, self.size());
        let is_drawn = |picture: &Picture| place.area() >= 1.0 && !picture.is_plain();
        self.pictures.get(number).is_some_and(is_drawn) && plain.colour(place).is_some()
    }
}

/// The parts of a page that have one colour.
struct Plain<'a> {
    page: Pixels<'a>,
    /// For each pixel, the number of pixels above and left of its corner that differ from the one left of them or above.
    changes: Vec<u32>,
}

impl<'a> Plain<'a> {
    fn of(page: Pixels<'a>) -> Self {
        let (width, pixels) = (page.width as usize, page.rgb.as_chunks::<3>().0);
        let mut changes = vec![0; (width + 1) * (page.height as usize + 1)];
        let mut above: &[[u8; 3]] = &[];
        for (y, row) in pixels.chunks_exact(width.max(1)).enumerate() {
            above = if y == 0 { row } else { above };
            let (sums, sum) = changes.split_at_mut((y + 1) * (width + 1));
            let sums = sums[y * (width + 1)..].iter().skip(1);
            let mut in_row = 0;
            let mut left = row.first().copied().unwrap_or_default();
            for (((pixel, above), sum), before) in row.iter().zip(above).zip(sum.iter_mut().skip(1)).zip(sums)
            {
                let is_same = *pixel == left && pixel == above; // most of a page
                in_row += u32::from(!is_same && (is_far(&left, pixel) || is_far(above, pixel)));
                *sum = before + in_row;
                left = *pixel;
            }
            above = row;
        }
        Self { page, changes }
    }

    /// Returns the box of an object of a page of this size in points.
    fn place(&self, item: &Item, (width, height): (f64, f64)) -> Rect {
        let (across, down) = (f64::from(self.page.width) / width, f64::from(self.page.height) / height);
        let Rect { x0, y0, x1, y1 } = item.shown;
        Rect::new(x0 * across, y0 * down, x1 * across, y1 * down)
    }

    /// Returns the colour of a rectangle of pixels that has no other.
    fn colour(&self, place: Rect) -> Option<&'a [u8; 3]> {
        let (width, height) = (self.page.width as usize, self.page.height as usize);
        let side = |from: f64, to: f64, end: usize| {
            let first = (from.floor().max(0.0) as usize).min(end.saturating_sub(1));
            (first, (to.ceil().max(0.0) as usize).clamp(first + 1, end.max(first + 1)))
        };
        let ((left, right), (top, bottom)) =
            (side(place.x0, place.x1, width), side(place.y0, place.y1, height));
        // Inside, neighbours are near each other; the edge is near one colour, so that it is no gradient.
        let sum = |x: usize, y: usize| self.changes.get(y * (width + 1) + x).copied().unwrap_or(0);
        let inside =
            sum(right, bottom) + sum(left + 1, top + 1) - sum(left + 1, bottom) - sum(right, top + 1);
        let colours = self.page.rgb.as_chunks::<3>().0;
        let at = |x: usize, y: usize| colours.get(y * width + x);
        let first = at(left, top)?;
        let is_near = |x, y| at(x, y).is_some_and(|colour| !is_far(colour, first));
        let is_plain = inside == 0
            && (left..right).all(|x| is_near(x, top) && is_near(x, bottom - 1))
            && (top..bottom).all(|y| is_near(left, y) && is_near(right - 1, y));
        is_plain.then_some(first)
    }
}

fn is_far(one: &[u8; 3], other: &[u8; 3]) -> bool {
    one.iter().zip(other).any(|(one, other)| one.abs_diff(*other) > NEAR)
}
