//! The words of a drawing: its own strings, where resvg sets their letters, in the order of the drawing. Geometry decides
//! only between letters that the drawing places itself. Its links and alternative texts are here, too.
//!
//! Source: SVG 1.1, 10.5 (chunks of text), 10.13 (text on a path).

use std::collections::HashMap;
use std::ops::Range;

use edgezoom_geometry::Size;
use edgezoom_text::{Block, Line, Link, MAX_PAGE_WORDS, Page, Rect, Role, Target, Text};
use resvg::tiny_skia::{Point, Transform};
use resvg::usvg::layout::PositionedGlyph;
use resvg::usvg::{self, Group, ImageKind, Node, TextChunk, TextFlow, Tree, WritingMode, fontdb};
use skrifa::{FontRef, GlyphId, MetadataProvider, instance};
use unicode_bidi::{BidiInfo, Level};

use super::notes::Notes;
use crate::formats::lines::{around, is_rtl, rect};

/// Part of the font's size that letters rise above the baseline, and descend below it: together 1.
const ASCENT: f32 = 0.8;
const DESCENT: f32 = 0.2;
/// Width of a letter whose font does not say it, in units of which the font's size has [`UNITS`].
const WIDTH: f32 = 600.0;
const UNITS: f32 = 1000.0;
/// Gap that begins a word where the drawing itself places letters, as a part of their height.
const NEXT_WORD: f32 = 0.2;
/// Gap that begins another column or label.
const NEXT_COLUMN: f32 = 1.0;
/// Movement across the line that begins another one.
const NEXT_LINE: f32 = 0.5;
/// Distances between the lines of a paragraph.
const PARAGRAPH: Range<f32> = 0.3..1.55;
/// Change of the letters' height that begins another paragraph.
const OTHER_HEIGHT: f32 = 0.2;
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

/// A letter of a text, in the order in which glyphs are set.
#[derive(Clone, Copy)]
struct Place {
    letter: char,
    /// Its number in the text, and that of its chunk.
    number: usize,
    chunk: usize,
}

/// Letters that are set together, and the widest of their glyphs.
struct Cluster<'a> {
    text: &'a str,
    is_visible: bool,
    to_text: Transform,
    width: f32,
    units: f32,
}

/// A letter that is seen, in pixels.
#[derive(Clone, Copy)]
struct Letter {
    place: Place,
    /// Top left, top right, bottom left and bottom right, as it is read.
    corners: [Point; 4],
}

/// A direction in the picture, of length 1.
#[derive(Clone, Copy)]
struct Direction {
    x: f32,
    y: f32,
}

/// A line of words.
struct Row {
    words: Vec<Vec<Letter>>,
    direction: Direction,
    /// The chunk, if it is on a path.
    path: Option<usize>,
    /// Its ends along the direction.
    start: f32,
    end: f32,
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
        self.blocks.extend(blocks_of(&rows_of(text, letters, to_pixels)));
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
        // What is not found is looked for once.
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

/// Returns the lines of a text. On a path, each word is a line with a direction of its own.
fn rows_of(text: &usvg::Text, letters: Vec<Letter>, to_pixels: Transform) -> Vec<Row> {
    let is_vertical = text.writing_mode() == WritingMode::TopToBottom;
    let Transform { sx, kx, ky, sy, .. } = to_pixels;
    let ((x, y), shifts) = if is_vertical { ((kx, sy), text.dy()) } else { ((sx, ky), text.dx()) };
    // A shift of one letter begins a word, one of each letter spaces them.
    let is_shifted = |letter: &Letter| {
        let is_far = |at: Option<usize>| {
            let shift = at.and_then(|at| shifts.get(at)).copied().unwrap_or(0.0);
            shift * x.hypot(y) > NEXT_WORD * letter.height()
        };
        let number = letter.place.number;
        is_far(Some(number)) && !is_far(number.checked_sub(1)) && !is_far(Some(number + 1))
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut last: Option<Letter> = None;
    let mut is_apart = false;
    for letter in letters {
        if letter.place.letter.is_whitespace() {
            is_apart = true;
            continue;
        }
        let Place { chunk, .. } = letter.place;
        let path = matches!(text.chunks()[chunk].text_flow(), TextFlow::Path(_)).then_some(chunk);
        let row = rows.last_mut().zip(last).filter(|(row, _)| row.path == path);
        let row = row.filter(|(row, last)| match path {
            Some(_) => !is_apart,
            None => last.place.chunk == chunk || !row.is_elsewhere(last, &letter),
        });
        if let Some((row, last)) = row {
            is_apart |= is_shifted(&letter) || last.place.chunk != chunk && row.gap(&letter) > NEXT_WORD;
            row.push(letter, is_apart);
        } else {
            rows.push(Row::new(letter, Direction::new(x, y), path));
        }
        last = Some(letter);
        is_apart = false;
    }
    rows
}

/// Returns the paragraphs of a text.
fn blocks_of(rows: &[Row]) -> Vec<Block> {
    let paragraphs = rows.chunk_by(|before, row| row.goes_on(before));
    paragraphs.map(|rows| Block::lines(Role::P, rows.iter().map(Row::line).collect())).collect()
}

impl Letter {
    fn height(&self) -> f32 {
        let [top, _, bottom, _] = self.corners;
        (bottom - top).length()
    }

    /// Returns its ends along a direction, and its middle across it.
    fn lies(&self, direction: Direction) -> (f32, f32, f32) {
        let along = self.corners.map(|corner| direction.along(corner));
        let across = self.corners.map(|corner| direction.across(corner)).iter().sum::<f32>() / 4.0;
        (along.into_iter().fold(f32::MAX, f32::min), along.into_iter().fold(f32::MIN, f32::max), across)
    }

    /// Returns left, top, right and bottom.
    fn at(&self) -> [f64; 4] {
        let [x, y] = [|point: Point| point.x, |point: Point| point.y].map(|side| self.corners.map(side));
        let least = |of: [f32; 4]| f64::from(of.into_iter().fold(f32::MAX, f32::min));
        let most = |of: [f32; 4]| f64::from(of.into_iter().fold(f32::MIN, f32::max));
        [least(x), least(y), most(x), most(y)]
    }
}

impl Direction {
    fn new(x: f32, y: f32) -> Self {
        let length = x.hypot(y);
        if length > 0.0 { Self { x: x / length, y: y / length } } else { Self { x: 1.0, y: 0.0 } }
    }

    fn along(self, point: Point) -> f32 {
        point.x * self.x + point.y * self.y
    }

    fn across(self, point: Point) -> f32 {
        point.y * self.x - point.x * self.y
    }
}

impl Row {
    fn new(letter: Letter, direction: Direction, path: Option<usize>) -> Self {
        let (start, end, _) = letter.lies(direction);
        Self { words: vec![vec![letter]], direction, path, start, end }
    }

    fn push(&mut self, letter: Letter, is_apart: bool) {
        let (start, end, _) = letter.lies(self.direction);
        (self.start, self.end) = (self.start.min(start), self.end.max(end));
        match self.words.last_mut().filter(|_| !is_apart) {
            Some(word) => word.push(letter),
            None => self.words.push(vec![letter]),
        }
    }

    /// Returns the distance of a letter from the line, as a part of its height.
    fn gap(&self, letter: &Letter) -> f32 {
        let (start, end, _) = letter.lies(self.direction);
        (start - self.end).max(self.start - end) / letter.height().max(f32::MIN_POSITIVE)
    }

    /// Returns true if a letter that the drawing places is not in the line, whose last letter is given.
    fn is_elsewhere(&self, last: &Letter, next: &Letter) -> bool {
        let height = last.height().max(next.height());
        let ((start, _, middle), (_, next_end, next_middle)) =
            (last.lies(self.direction), next.lies(self.direction));
        // Letters that are written from right to left go back, and others after them forth.
        let goes_back = next_end <= start + 0.1 * height
            && start > next_end
            && ![last, next].iter().any(|letter| is_rtl(letter.place.letter));
        (middle - next_middle).abs() > NEXT_LINE * height || self.gap(next) > NEXT_COLUMN || goes_back
    }

    fn letters(&self) -> impl Iterator<Item = &Letter> {
        self.words.iter().flatten()
    }

    /// Returns the height of its largest letters, and their middle across.
    fn height(&self) -> (f32, f32) {
        let sizes = self.letters().map(|letter| (letter.height(), letter.lies(self.direction).2));
        sizes.reduce(|one, other| if other.0 > one.0 { other } else { one }).unwrap_or_default()
    }

    /// Returns true if it is in the paragraph of the line before.
    fn goes_on(&self, before: &Self) -> bool {
        if self.path.is_some() || before.path.is_some() {
            return self.path == before.path;
        }
        let ((height, middle), (height_before, middle_before)) = (self.height(), before.height());
        let is_beside = self.start >= before.end || self.end <= before.start;
        let is_same_height = (height / height_before).ln().abs() <= OTHER_HEIGHT;
        let distance = (middle - middle_before) / height.min(height_before);
        !is_beside && is_same_height && PARAGRAPH.contains(&distance)
    }

    /// Returns its direction. On a path it leads from the first letter to the last one.
    fn direction(&self) -> Direction {
        let ends = self.letters().next().zip(self.letters().last());
        let Some((first, last)) = ends.filter(|_| self.path.is_some()) else { return self.direction };
        let (left, right) = if is_rtl(first.place.letter) { (last, first) } else { (first, last) };
        let chord = right.corners[1] + right.corners[3] - left.corners[0] - left.corners[2];
        Direction::new(chord.x, chord.y)
    }

    fn line(&self) -> Line {
        let Direction { x, y } = self.direction();
        let angle = (y.atan2(x).to_degrees().round() as i32).rem_euclid(360) as u16;
        let (y, x) = f32::from(angle).to_radians().sin_cos();
        let direction = Direction { x, y };
        let ends = |letters: &[Letter]| {
            let ends = letters.iter().map(|letter| letter.lies(direction));
            ends.fold((f32::MAX, f32::MIN), |(from, to), (start, end, _)| (from.min(start), to.max(end)))
        };
        let words = self.words.iter().map(|word| word.iter().map(|letter| letter.place.letter));
        let text = words.map(String::from_iter).collect::<Vec<_>>().join(" ");
        let alphabetic = || text.chars().filter(|letter| letter.is_alphabetic());
        let rtl = 2 * alphabetic().filter(|&letter| is_rtl(letter)).count() > alphabetic().count();
        let places: Vec<(f32, f32)> = self.words.iter().map(|word| ends(word)).collect();
        let (start, end) = places
            .iter()
            .fold((f32::MAX, f32::MIN), |(from, to), &(start, end)| (from.min(start), to.max(end)));
        let mut before = 0;
        let spans = places.iter().flat_map(|&(from, to)| {
            let (from, width) =
                (if rtl { end - to } else { from - start }.round() as i32, (to - from).round() as i32);
            let gap = from.saturating_sub(before);
            before = from.saturating_add(width);
            [gap, width]
        });
        let spans = if angle.is_multiple_of(90) { spans.collect() } else { Vec::new() };
        let at = self.letters().map(Letter::at).reduce(around).unwrap_or_default();
        Line { at: rect(at), spans, angle, rtl, text }
    }
}

#[cfg(test)]
mod tests {
    use resvg::usvg::Options;

    use super::*;
    use crate::formats::fonts::Fonts;

    /// Returns the words of a drawing of 400×300 units, in as many pixels.
    fn words(inside: &str) -> Vec<Block> {
        let svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="400" height="300" font-family="DejaVu Sans" font-size="20">{inside}</svg>"##
        );
        let options = Options { fontdb: Fonts::built_in().database(), ..Options::default() };
        let tree = Tree::from_str(&svg, &options).unwrap();
        of(&tree, Size { width: 400, height: 300 }, &Notes::default()).pages.remove(0).blocks
    }

    fn texts(inside: &str) -> Vec<String> {
        words(inside).iter().map(Block::joined).collect()
    }

    /// Returns the words of the first line, with their places.
    fn placed(inside: &str) -> Vec<(String, [u32; 4])> {
        words(inside)[0].lines[0].words().map(|(word, at)| (word.to_owned(), at.into())).collect()
    }

    #[test]
    fn words_that_the_drawing_places_are_apart_by_gaps() {
        let at = |words: &str, second: u32, third: u32| {
            format!(
                r#"<text y="40"><tspan x="10">{words}</tspan><tspan x="{second}">wind</tspan><tspan x="{third}">rose</tspan></text>"#
            )
        };
        // "High" is 46 wide, "wind" 47.
        assert_eq!(texts(&at("High", 66, 122)), ["High wind rose"]);
        assert_eq!(texts(&at("High", 58, 107)), ["Highwindrose"]);
        assert_eq!(texts(&at("High", 100, 200)), ["High", "wind", "rose"]);
        let letters = r#"<text x="10 25 35 55 68 80 94" y="40">Καλή μέρ</text>"#;
        assert_eq!(texts(letters).concat().replace(' ', ""), "Καλήμέρ");
        assert_eq!(texts(r#"<text x="10" y="40" dx="0 0 0 9">seaport</text>"#), ["sea port"]);
        assert_eq!(texts(r#"<text x="10" y="40" dx="0 9 9 9 9 9 9">harbour</text>"#), ["harbour"]);
        assert_eq!(texts(r#"<text x="10" y="40" letter-spacing="12">Нева река</text>"#), ["Нева река"]);
        assert_eq!(
            texts(
                r#"<text x="10" y="40">H<tspan x="26" y="44" font-size="12">2</tspan><tspan x="34" y="40">O</tspan></text>"#
            ),
            ["H2O"]
        );
    }

    #[test]
    fn stretched_words_are_whole_and_where_they_are_drawn() {
        assert_eq!(texts(r#"<text x="10" y="40" textLength="380">wide words</text>"#), ["wide words"]);
        let glyphs =
            placed(r#"<text x="10" y="40" textLength="300" lengthAdjust="spacingAndGlyphs">two two</text>"#);
        let [(_, [left, _, width, _]), (_, [second, ..])] = &glyphs[..] else { panic!("{glyphs:?}") };
        assert!(*left == 10 && (120..145).contains(width) && (170..190).contains(second), "{glyphs:?}");
    }

    #[test]
    fn letters_along_a_curve_and_turned_ones_stay_in_their_words() {
        let curve = r##"<path id="p" d="M20 200 Q200 20 380 200" fill="none"/><text><textPath href="#p">River Ναρέντα течёт далеко</textPath></text>"##;
        assert_eq!(texts(curve), ["River Ναρέντα течёт далеко"]);
        let lines = words(curve).remove(0).lines;
        let angles: Vec<i32> = lines.iter().map(|line| (i32::from(line.angle) + 180) % 360 - 180).collect();
        assert!(angles[0] < -20 && angles.is_sorted() && *angles.last().unwrap() > 5, "{angles:?}");
        // What is behind the end of a path is not shown.
        let short = r##"<path id="p" d="M20 200 H150"/><text><textPath href="#p">shown and cut</textPath></text><text x="20" y="280">next</text>"##;
        let found = texts(short);
        assert!(
            found[0].starts_with("shown") && !found[0].contains("cut") && found[1] == "next",
            "{found:?}"
        );
        assert_eq!(
            texts(r#"<text x="50" y="60" rotate="10 20 30 -40">twisted letters</text>"#),
            ["twisted letters"]
        );
        assert_eq!(texts(r#"<text x="50" y="60" rotate="90">اتجاه</text>"#), ["اتجاه"]);
        assert_eq!(
            texts(r#"<text transform="rotate(37 50 60)" x="50" y="60">slope of a hill</text>"#),
            ["slope of a hill"]
        );
    }

    #[test]
    fn stacked_and_vertical_letters_are_kept() {
        let stacked = r#"<text><tspan x="30" y="60">S</tspan><tspan x="30" dy="20">E</tspan><tspan x="30" dy="20">A</tspan></text>"#;
        assert_eq!(texts(stacked), ["S E A"]);
        for text in ["縦書き", "항구", "ความสูง", "समुद्र", "Up"] {
            let blocks = words(&format!(r#"<text x="300" y="60" writing-mode="tb">{text}</text>"#));
            let line = &blocks[0].lines[0];
            assert_eq!((line.text.as_str(), line.angle), (text, 90));
            assert!(line.at.height > line.at.width && line.at.left < 300, "{line:?}");
        }
        let columns = r#"<text writing-mode="tb"><tspan x="300" y="60">港の</tspan><tspan x="275" y="60">潮汐</tspan></text>"#;
        assert_eq!(texts(columns), ["港の潮汐"]);
    }

    #[test]
    fn letters_of_all_scripts_are_read_in_their_order() {
        for text in [
            "Ἀθῆναι",
            "ёж и йод",
            "שָׁלוֹם",
            "مُحَمَّد ١٢",
            "हिन्दी की",
            "กำลังน้ำ",
            "数字图书",
            "ガイド",
            "한국어",
            "e\u{301}te\u{301}",
            "office",
        ] {
            assert_eq!(texts(&format!(r#"<text x="10" y="40">{text}</text>"#)), [text]);
        }
    }

    #[test]
    fn a_hebrew_word_does_not_turn_the_line_and_has_a_place() {
        let mixed = r#"<text x="10" y="40">Port of <tspan fill="red">חי</tspan>פה in 1918</text>"#;
        let [line] = &words(mixed)[0].lines[..] else { panic!("{:?}", words(mixed)) };
        assert_eq!((line.text.as_str(), line.rtl, line.spans.len()), ("Port of חיפה in 1918", false, 10));
        let lefts: Vec<u32> = line.words().map(|(_, at)| at.left).collect();
        assert!(lefts.is_sorted() && lefts[0] == 10, "{lefts:?}");
        let hebrew = r#"<text x="10" y="40">נמל חיפה 1918 פתוח</text>"#;
        let [line] = &words(hebrew)[0].lines[..] else { panic!("{:?}", words(hebrew)) };
        assert_eq!((line.text.as_str(), line.rtl, line.spans.len()), ("נמל חיפה 1918 פתוח", true, 8));
        let lefts: Vec<u32> = line.words().map(|(_, at)| at.left).collect();
        assert!(lefts.is_sorted_by(|one, other| one > other), "{lefts:?}");
        let placed = r#"<text y="40"><tspan x="90">שלום</tspan><tspan x="30">עולם</tspan></text>"#;
        assert_eq!(texts(placed), ["שלום עולם"]);
    }

    #[test]
    fn lines_are_paragraphs_and_chinese_ones_have_no_spaces_between_them() {
        let lines = |one: &str, two: &str, by: u32| {
            format!(r#"<text x="50" y="60"><tspan>{one}</tspan><tspan x="50" dy="{by}">{two}</tspan></text>"#)
        };
        assert_eq!(texts(&lines("数字图书", "馆检索", 24)), ["数字图书馆检索"]);
        assert_eq!(texts(&lines("first line", "second", 24)), ["first line second"]);
        assert_eq!(texts(&lines("first line", "second", 60)), ["first line", "second"]);
    }

    #[test]
    fn the_words_of_a_picture_in_a_drawing_are_read_where_it_is() {
        let inner = "%3Csvg xmlns='http://www.w3.org/2000/svg' width='100' height='50' font-size='20'%3E%3Ctext x='10' y='30'%3EInner words%3C/text%3E%3C/svg%3E";
        let outer = format!(
            r#"<g transform="translate(100 100)"><image width="200" height="100" href="data:image/svg+xml,{inner}"/></g>"#
        );
        let placed = placed(&outer);
        assert_eq!((placed[0].0.as_str(), placed[1].0.as_str()), ("Inner", "words"));
        // It is twice as large there.
        let [left, top, _, height] = placed[0].1;
        assert!(
            (118..=122).contains(&left) && (126..=130).contains(&top) && (39..=41).contains(&height),
            "{placed:?}"
        );
    }
}
