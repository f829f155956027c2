//! The words of a drawing, as resvg sets them, in the order of the drawing, its links and alternative texts.

use edgezoom_geometry::Size;
use edgezoom_text::{Block, Line, Link, MAX_PAGE_WORDS, Page, Rect, Role, Target, Text};
use resvg::tiny_skia::{Point, Transform};
use resvg::usvg::layout::PositionedGlyph;
use resvg::usvg::{self, Group, Node, Tree};

use super::notes::Notes;
use crate::formats::lines::{Letter, Lines, is_rtl, rect};

/// Part of the font's size that letters rise above the baseline, and descend below it.
const ASCENT: f32 = 0.8;
const DESCENT: f32 = 0.2;
/// Width of a letter whose next one is elsewhere, as a part of the font's size.
const WIDTH: f32 = 0.6;
/// Distance of a letter that follows another one, as a part of the font's size.
const MAX_ADVANCE: f32 = 2.0;
/// Maximum number of letters.
const MAX_LETTERS: usize = 8 * MAX_PAGE_WORDS;

/// Returns the words of a drawing that is drawn in this size, and what its notes say.
pub fn of(tree: &Tree, size: Size, notes: Notes) -> Text {
    let scale = Transform::from_scale(
        size.width as f32 / tree.size().width(),
        size.height as f32 / tree.size().height(),
    );
    let at = Rect::new(0, 0, size.width, size.height);
    let whole = notes.whole.clone().map(|alternative| Block::picture(at, alternative));
    let mut found =
        Words { scale, notes, letters: 0, blocks: whole.into_iter().collect(), links: Vec::new() };
    found.collect(tree.root());
    let page = Page { blocks: found.blocks, links: found.links, ..Page::new(at) };
    Text { total: 1, pages: vec![page], ..Text::default() }
}

struct Words {
    /// From the drawing's coordinates to pixels.
    scale: Transform,
    notes: Notes,
    letters: usize,
    blocks: Vec<Block>,
    links: Vec<Link>,
}

impl Words {
    fn collect(&mut self, group: &Group) {
        if group.opacity().get() == 0.0 || self.letters > MAX_LETTERS {
            return;
        }
        if !group.id().is_empty() {
            self.note(group);
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.collect(group),
                Node::Text(text) => self.add(text),
                _ => {}
            }
        }
    }

    /// Adds the link and the alternative text of a group.
    fn note(&mut self, group: &Group) {
        let Some(seen) = group.abs_stroke_bounding_box().transform(self.scale) else { return };
        let at = rect([seen.left(), seen.top(), seen.right(), seen.bottom()].map(f64::from));
        if let Some(url) = self.notes.links.get(group.id()) {
            self.links.push(Link { at, to: Target::Url(url.clone()) });
        }
        if let Some(alternative) = self.notes.pictures.get(group.id()) {
            self.blocks.push(Block::picture(at, alternative.clone()));
        }
    }

    fn add(&mut self, text: &usvg::Text) {
        let to_pixels = self.scale.pre_concat(text.abs_transform());
        let glyphs: Vec<&PositionedGlyph> = text
            .layouted()
            .iter()
            .filter(|span| span.visible)
            .flat_map(|span| &span.positioned_glyphs)
            .collect();
        let letters = glyphs.iter().map(|glyph| glyph.text.chars().count()).sum::<usize>();
        self.letters += letters;
        if letters == 0 || self.letters > MAX_LETTERS {
            return;
        }
        // Glyphs are in the order in which they are seen, which for these letters is not that in which they are read.
        if glyphs.iter().any(|glyph| glyph.text.chars().any(is_rtl)) {
            let words: String = text.chunks().iter().map(usvg::TextChunk::text).collect();
            let seen = text.bounding_box().transform(to_pixels);
            let at = seen.map(|seen| [seen.left(), seen.top(), seen.right(), seen.bottom()].map(f64::from));
            let line = at.map(|at| Line { rtl: true, ..Line::new(rect(at), words, Vec::new()) });
            self.blocks.extend(line.map(|line| Block::lines(Role::P, vec![line])));
            return;
        }
        let mut letters = Vec::with_capacity(letters);
        for (index, glyph) in glyphs.iter().enumerate() {
            push(&mut letters, glyph, glyphs.get(index + 1).copied(), to_pixels);
        }
        let links = self.notes.in_texts.get(text.id()).map(Vec::as_slice).unwrap_or_default();
        self.links.extend(links_in(&letters, links));
        let mut lines = Lines::default();
        letters.into_iter().for_each(|letter| lines.push(letter));
        self.blocks.extend(lines.finish());
    }
}

/// Finds the words of links in a text, each after the one before, and a box around them. Ends at the first that is not
/// found, so that it looks at each letter about once.
fn links_in(letters: &[Letter], links: &[(String, String)]) -> Vec<Link> {
    let seen: Vec<&Letter> = letters.iter().filter(|letter| !letter.letter.is_whitespace()).collect();
    let mut from = 0;
    let mut found = Vec::new();
    for (words, to) in links {
        let wanted: Vec<char> = words.chars().collect();
        let is_at = |at: &usize| {
            let piece = seen.get(*at..*at + wanted.len()).unwrap_or_default();
            piece.iter().map(|letter| letter.letter).eq(wanted.iter().copied())
        };
        let last = seen.len().saturating_sub(wanted.len());
        let Some(at) = (from..=last).find(is_at).filter(|_| !wanted.is_empty()) else { break };
        from = at + wanted.len();
        let boxes = seen.get(at..from).unwrap_or_default().iter().map(|letter| letter.at);
        let around = boxes.reduce(|[left, top, right, bottom], [x, y, to_x, to_y]| {
            [left.min(x), top.min(y), right.max(to_x), bottom.max(to_y)]
        });
        found.extend(around.map(|around| Link { at: rect(around), to: Target::Url(to.clone()) }));
    }
    found
}

/// Adds the letters of a glyph. They share its width.
fn push(
    letters: &mut Vec<Letter>,
    glyph: &PositionedGlyph,
    next: Option<&PositionedGlyph>,
    to_pixels: Transform,
) {
    let transform = glyph.transform();
    let size = glyph.font_size();
    let length = transform.sx.hypot(transform.ky).max(f32::MIN_POSITIVE);
    let along = (transform.sx / length, transform.ky / length);
    let origin = Point::from_xy(transform.tx, transform.ty);
    let advance = next.map(|next| {
        let next = next.transform();
        (next.tx - origin.x) * along.0 + (next.ty - origin.y) * along.1
    });
    let advance =
        advance.filter(|advance| (0.0..MAX_ADVANCE * size).contains(advance)).unwrap_or(WIDTH * size);
    let count = glyph.text.chars().count().max(1) as f32;
    for (index, letter) in glyph.text.chars().enumerate() {
        let corner = |part: f32, above: f32| {
            let distance = advance * (index as f32 + part) / count;
            // The glyph's own top is to the left of its direction.
            let x = origin.x + along.0 * distance + along.1 * above;
            let y = origin.y + along.1 * distance - along.0 * above;
            let mut point = Point::from_xy(x, y);
            to_pixels.map_point(&mut point);
            point
        };
        let corners = [
            corner(0.0, ASCENT * size),
            corner(1.0, ASCENT * size),
            corner(0.0, -DESCENT * size),
            corner(1.0, -DESCENT * size),
        ];
        let least = |of: fn(&Point) -> f32| f64::from(corners.iter().map(of).fold(f32::MAX, f32::min));
        let most = |of: fn(&Point) -> f32| f64::from(corners.iter().map(of).fold(f32::MIN, f32::max));
        let angle = f64::from((corners[1].y - corners[0].y).atan2(corners[1].x - corners[0].x)).to_degrees();
        let at =
            [least(|point| point.x), least(|point| point.y), most(|point| point.x), most(|point| point.y)];
        letters.push(Letter { letter, at, angle, is_hyphen: false });
    }
}
