//! The words of a drawing: its own strings, where resvg sets their letters, in the order of the drawing; [`rows`](super::rows)
//! makes lines of them. Its links and alternative texts are here, too.
//!
//! Source: SVG 1.1, 10.5 (chunks of text), 10.13 (text on a path).

use std::collections::HashMap;

use edgezoom_geometry::Size;
use edgezoom_text::{Block, Link, MAX_PAGE_WORDS, Page, Rect, Target, Text};
use resvg::tiny_skia::{Point, Transform};
use resvg::usvg::layout::PositionedGlyph;
use resvg::usvg::{self, Group, ImageKind, Node, TextChunk, Tree, fontdb};
use skrifa::{FontRef, GlyphId, MetadataProvider, instance};
use unicode_bidi::{BidiInfo, Level};

use super::notes::Notes;
use super::rows::{Letter, Place, blocks_of};
use crate::formats::lines::{around, is_rtl, rect};

/// Part of the font's size that letters rise above the baseline, and descend below it: together 1.
const ASCENT: f32 = 0.8;
const DESCENT: f32 = 0.2;
/// Width of a letter whose font does not say it, in units of which the font's size has [`UNITS`].
const WIDTH: f32 = 600.0;
const UNITS: f32 = 1000.0;
/// Maximum number of letters.
const MAX_LETTERS: usize = 8 * MAX_PAGE_WORDS;

/// Returns the words of a drawing that is drawn in this size, and what its notes say.
pub fn of(tree: &Tree, size: Size, notes: &Notes) -> Text {
    let to_pixels = Transform::from_scale(
        size.width as f32 / tree.size().width(),
        size.height as f32 / tree.size().height(),
    );
    let at = Rect::new(0, 0, size.width, size.height);
    let whole = notes.whole.clone().map(|alternative| Block::picture(at, alternative));
    let mut found = Words { blocks: whole.into_iter().collect(), ..Words::default() };
    found.collect(tree.root(), Source { fonts: tree.fontdb(), to_pixels, notes: Some(notes) });
    let page = Page { blocks: found.blocks, links: found.links, ..Page::new(at) };
    Text { total: 1, pages: vec![page], language: notes.language.clone(), ..Text::default() }
}

/// A drawing, or a picture in it that is a drawing and has no notes.
#[derive(Clone, Copy)]
struct Source<'a> {
    fonts: &'a fontdb::Database,
    /// From its coordinates to pixels.
    to_pixels: Transform,
    notes: Option<&'a Notes>,
}

#[derive(Default)]
struct Words {
    letters: usize,
    blocks: Vec<Block>,
    links: Vec<Link>,
    /// Widths of glyphs, with the units of their fonts' size.
    widths: HashMap<(fontdb::ID, u32), (f32, f32)>,
}

/// Letters that are set together, and the widest of their glyphs.
struct Cluster<'a> {
    text: &'a str,
    is_visible: bool,
    to_text: Transform,
    width: f32,
    units: f32,
}

impl Words {
    fn collect(&mut self, group: &Group, source: Source<'_>) {
        if group.opacity().get() == 0.0 || self.letters > MAX_LETTERS {
            return;
        }
        if let Some(notes) = source.notes.filter(|_| !group.id().is_empty()) {
            self.note(group, notes, source.to_pixels);
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.collect(group, source),
                Node::Text(text) => self.add(text, source),
                Node::Image(image) if image.is_visible() => {
                    if let ImageKind::SVG(tree) = image.kind() {
                        let to_pixels = source.to_pixels.pre_concat(image.abs_transform());
                        self.collect(tree.root(), Source { fonts: tree.fontdb(), to_pixels, notes: None });
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the link and the alternative text of a group.
    fn note(&mut self, group: &Group, notes: &Notes, to_pixels: Transform) {
        let Some(seen) = group.abs_stroke_bounding_box().transform(to_pixels) else { return };
        let at = rect([seen.left(), seen.top(), seen.right(), seen.bottom()].map(f64::from));
        if let Some(url) = notes.links.get(group.id()) {
            self.links.push(Link { at, to: Target::Url(url.clone()) });
        }
        if let Some(alternative) = notes.pictures.get(group.id()) {
            self.blocks.push(Block::picture(at, alternative.clone()));
        }
    }

    fn add(&mut self, text: &usvg::Text, source: Source<'_>) {
        self.letters += text.chunks().iter().map(|chunk| chunk.text().chars().count()).sum::<usize>();
        if self.letters > MAX_LETTERS {
            return;
        }
        let to_pixels = source.to_pixels.pre_concat(text.abs_transform());
        let letters = letters_of(&self.clusters(text, source.fonts), &places_of(text.chunks()), to_pixels);
        let links = source.notes.and_then(|notes| notes.in_texts.get(text.id()));
        self.links.extend(links_in(&letters, links.map(Vec::as_slice).unwrap_or_default()));
        self.blocks.extend(blocks_of(text, letters, to_pixels));
    }

    fn clusters<'a>(&mut self, text: &'a usvg::Text, fonts: &fontdb::Database) -> Vec<Cluster<'a>> {
        let mut clusters: Vec<Cluster<'_>> = Vec::new();
        for span in text.layouted() {
            // The glyphs of a letter and its marks: the last one has the text, from right to left the first.
            let mut before: Option<Cluster<'_>> = None;
            for glyph in &span.positioned_glyphs {
                let (width, units) = self.width(glyph, fonts);
                let own = Cluster {
                    text: &glyph.text,
                    is_visible: span.visible,
                    to_text: glyph.transform(),
                    width,
                    units,
                };
                let of_last = clusters.last_mut().filter(|last| last.text.starts_with(is_rtl));
                match (own.text.is_empty(), of_last) {
                    (true, Some(last)) => last.widen(&own),
                    (true, None) => match &mut before {
                        Some(before) => before.widen(&own),
                        None => before = Some(own),
                    },
                    (false, _) => {
                        let mut own = own;
                        before.take().iter().for_each(|before| own.widen(before));
                        clusters.push(own);
                    }
                }
            }
        }
        clusters
    }

    /// Returns the width of a glyph, and the units of its font's size.
    fn width(&mut self, glyph: &PositionedGlyph, fonts: &fontdb::Database) -> (f32, f32) {
        *self.widths.entry((glyph.font, glyph.id.0)).or_insert_with(|| {
            let read = fonts.with_face_data(glyph.font, |bytes, index| {
                let font = FontRef::from_index(bytes, index).ok()?;
                let (size, location) = (instance::Size::unscaled(), instance::LocationRef::default());
                let width = font.glyph_metrics(size, location).advance_width(GlyphId::new(glyph.id.0))?;
                Some((width, f32::from(font.metrics(size, location).units_per_em)))
            });
            read.flatten().unwrap_or((WIDTH, UNITS))
        })
    }
}

impl Cluster<'_> {
    /// Takes the place of a wider glyph of the same letters.
    fn widen(&mut self, other: &Self) {
        if other.width > self.width {
            (self.to_text, self.width, self.units) = (other.to_text, other.width, other.units);
        }
    }

    /// Returns the corners of one of its letters, which share its width.
    fn corners(&self, letter: usize, letters: usize, to_pixels: Transform) -> [Point; 4] {
        // Marks alone have no width.
        let width = if self.width > 0.0 { self.width } else { WIDTH / UNITS * self.units };
        let (top, bottom) = (-ASCENT * self.units, DESCENT * self.units);
        let [from, to] = [letter, letter + 1].map(|letter| width * letter as f32 / letters as f32);
        let mut corners = [(from, top), (to, top), (from, bottom), (to, bottom)].map(Point::from);
        to_pixels.pre_concat(self.to_text).map_points(&mut corners);
        corners
    }
}

/// Returns the letters of a text in the order in which resvg sets their glyphs: span by span, from left to right.
fn places_of(chunks: &[TextChunk]) -> Vec<Place> {
    let mut places = Vec::new();
    for (chunk, of) in chunks.iter().enumerate() {
        let first = places.len();
        let letters: Vec<(usize, char)> = of.text().char_indices().collect();
        let place = |index: usize| Place { letter: letters[index].1, number: first + index, chunk };
        if !of.text().contains(is_rtl) {
            places.extend((0..letters.len()).map(place));
            continue;
        }
        let index_at = |byte: usize| letters.partition_point(|&(start, _)| start < byte);
        let bidi = BidiInfo::new(of.text(), Some(Level::ltr()));
        for paragraph in &bidi.paragraphs {
            let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
            for run in runs {
                let is_backward = levels[run.start].is_rtl();
                let run = index_at(run.start)..index_at(run.end);
                if is_backward { places.extend(run.rev().map(place)) } else { places.extend(run.map(place)) }
            }
        }
        let span_of = |place: &Place| {
            let (byte, _) = letters[place.number - first];
            of.spans().partition_point(|span| span.end() <= byte)
        };
        places[first..].sort_by_key(span_of);
    }
    places
}

/// Returns the visible letters of a text, as they are read. Letters that resvg leaves out, such as those behind the end of a path,
/// are skipped.
fn letters_of(clusters: &[Cluster<'_>], places: &[Place], to_pixels: Transform) -> Vec<Letter> {
    let mut letters = Vec::with_capacity(places.len());
    let mut rest = places;
    for cluster in clusters {
        let count = cluster.text.chars().count();
        let is_here = |places: &[Place]| {
            let here = || places.iter().map(|place| place.letter);
            here().eq(cluster.text.chars()) || here().rev().eq(cluster.text.chars())
        };
        // A missing cluster ends the text: each is looked for once.
        let Some(at) = rest.windows(count).position(is_here) else { break };
        let (here, behind) = rest[at..].split_at(count);
        rest = behind;
        if cluster.is_visible {
            letters.extend(
                here.iter().enumerate().map(|(index, &place)| Letter {
                    place,
                    corners: cluster.corners(index, count, to_pixels),
                }),
            );
        }
    }
    letters.sort_by_key(|letter| letter.place.number);
    letters
}

/// Finds the words of links in a text, each after the one before, and a box around them. Ends at the first that is not
/// found, so that it looks at each letter about once.
fn links_in(letters: &[Letter], links: &[(String, String)]) -> Vec<Link> {
    let seen: Vec<&Letter> = letters.iter().filter(|letter| !letter.place.letter.is_whitespace()).collect();
    let mut from = 0;
    let mut found = Vec::new();
    for (words, to) in links {
        let wanted: Vec<char> = words.chars().collect();
        let is_at = |at: &usize| {
            let piece = seen.get(*at..*at + wanted.len()).unwrap_or_default();
            piece.iter().map(|letter| letter.place.letter).eq(wanted.iter().copied())
        };
        let last = seen.len().saturating_sub(wanted.len());
        let Some(at) = (from..=last).find(is_at).filter(|_| !wanted.is_empty()) else { break };
        from = at + wanted.len();
        let boxes = seen.get(at..from).unwrap_or_default().iter().map(|letter| letter.at());
        let at = boxes.reduce(around);
        found.extend(at.map(|at| Link { at: rect(at), to: Target::Url(to.clone()) }));
    }
    found
}

#[cfg(test)]
mod tests;
