//! Fonts that are not in the file. PDFium and the interpreter draw the fourteen standard ones with the same shapes. In place of any
//! other, PDFium draws letters of its own design, or of an installed font, and the interpreter stretches a standard one.
//!
//! Source: ISO 32000-1, 9.6.2 and 9.8; PDFium, `cfx_fontmapper.cpp`; hayro-font, `standard_font.rs`.

use std::collections::HashSet;

use hayro_interpret::font::OutlineGlyph;
use hayro_syntax::object::{Array, Dict, Name, ObjectIdentifier, Stream};
use hayro_syntax::page::{Page, Resources};

/// Maximum depth of drawings in each other.
const MAX_DEPTH: usize = 16;

/// Parts of a standard font's name that say its style, and what is left of the names that PDFium knows.
const STYLES: [&str; 10] = ["Bold", "Italic", "Oblique", "Roman", "PS", "MT", "Std", ",", "-", " "];
const STANDARD: [&str; 8] =
    ["Arial", "Helvetica", "Times", "TimesNew", "Courier", "CourierNew", "Symbol", "ZapfDingbats"];

/// Fonts of a page that are neither standard nor in the file.
#[derive(Default)]
pub struct Substituted {
    fonts: Vec<Widths>,
    /// Drawings whose fonts are known.
    seen: HashSet<ObjectIdentifier>,
}

/// The code of the first letter, and the widths of all, in thousandths of the font's size. Composite fonts have none here.
type Widths = Option<(usize, Vec<f32>)>;

impl Substituted {
    pub fn of(page: &Page<'_>) -> Self {
        let mut found = Self::default();
        found.add(page.resources(), 0);
        let annotations = page.raw().get::<Array<'_>>("Annots");
        for annotation in annotations.iter().flat_map(Array::iter::<Dict<'_>>) {
            if let Some(appearances) = annotation.get::<Dict<'_>>("AP") {
                found.add_drawings(&appearances, 0);
            }
        }
        found
    }

    /// Returns true if a letter may be of one of these fonts: it is not in the file, or of a font whose kind does not tell, and its
    /// code has the width that one of these fonts gives it.
    pub fn have(&self, letter: &OutlineGlyph) -> bool {
        let code = letter.char_code() as usize;
        let has_width = |(first, widths): &(usize, Vec<f32>)| {
            let width = code.checked_sub(*first).and_then(|index| widths.get(index));
            width.is_some() && width.copied() == letter.advance_width()
        };
        !self.fonts.is_empty()
            && letter.font_data().is_none()
            && self.fonts.iter().any(|widths| widths.as_ref().is_none_or(has_width))
    }

    fn add(&mut self, resources: &Resources<'_>, depth: usize) {
        let fonts = &resources.fonts;
        let fonts = fonts.keys().filter_map(|name| fonts.get::<Dict<'_>>(name));
        self.fonts.extend(fonts.filter(is_substituted).map(|font| {
            let widths = font.get::<Array<'_>>("Widths")?;
            Some((font.get::<usize>("FirstChar")?, widths.iter::<f32>().collect()))
        }));
        self.add_drawings(&resources.x_objects, depth);
    }

    /// Adds the fonts of the drawings in a dictionary, or in those within, as states of an annotation are.
    fn add_drawings(&mut self, of: &Dict<'_>, depth: usize) {
        for name in of.keys().filter(|_| depth < MAX_DEPTH) {
            if let Some(drawing) = of.get::<Stream<'_>>(&name) {
                let resources = drawing.dict().get::<Dict<'_>>("Resources");
                if let Some(resources) = resources.filter(|_| self.seen.insert(drawing.obj_id())) {
                    self.add(&Resources::new(resources), depth + 1);
                }
            } else if let Some(states) = of.get::<Dict<'_>>(&name) {
                self.add_drawings(&states, depth + 1);
            }
        }
    }
}

/// Returns true for a font that is neither in the file nor standard. Those that consist of drawings have no name.
fn is_substituted(font: &Dict<'_>) -> bool {
    let Some(name) = font.get::<Name<'_>>("BaseFont") else { return false };
    let inner = font.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    let descriptor = inner.as_ref().unwrap_or(font).get::<Dict<'_>>("FontDescriptor").unwrap_or_default();
    let is_embedded =
        ["FontFile", "FontFile2", "FontFile3"].into_iter().any(|file| descriptor.contains_key(file));
    // A subset's name begins with six letters and a sign.
    let family = name.as_str().rsplit('+').next().unwrap_or_default().to_owned();
    let family = STYLES.into_iter().fold(family, |name, style| name.replace(style, ""));
    !is_embedded && !STANDARD.contains(&family.as_str())
}
