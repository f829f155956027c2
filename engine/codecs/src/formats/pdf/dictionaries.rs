//! Reads what PDFium does not tell about a page: the size of its unit, the sizes of its pictures' masks, its
//! [`links`](super::links), its [marked content](super::marks) and its [`structure`](super::structure). And about the
//! document: its XMP. Another parser reads them. A file that it cannot read is drawn without them.
//!
//! Source: ISO 32000-1, 7.7.3.3 (UserUnit), 14.3.2 (Metadata), 8.9.6.3 (Mask), 11.6.5.3 (SMask).

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name, Object, Stream};

use super::annotations::MAX_ANNOTATIONS;
use super::layers::Layers;
use super::links::Annotation;
use super::marks::Marks;
use super::structure::{Structure, Tagged};
use crate::formats::metadata::xmp;
use crate::{Metadata, SourceFile};

/// Largest part of the memory that the file may take while its dictionaries are read.
const MEMORY_SHARE: u64 = 4;
/// Maximum depth of drawings inside each other.
const MAX_DEPTH: usize = 8;
/// Maximum number of pictures of a page.
const MAX_PICTURES: usize = 10_000;

/// The dictionaries of a document.
pub struct Dictionaries {
    pdf: Option<Pdf>,
    layers: Layers,
}

/// The resources of a page and of its drawings.
#[derive(Default)]
pub struct Resources {
    /// For each size of pictures that have a mask, the factor by which the mask is finer.
    masks: HashMap<(i32, i32), f64>,
    /// True if no patterns are defined.
    pub are_plain: bool,
}

impl Dictionaries {
    /// Reads a document that has this number of pages.
    pub fn read(file: &SourceFile, pages: i32, memory: u64) -> Self {
        let pdf = parse(file, pages, memory);
        let layers = guarded(|| Layers::of(pdf.as_ref()?)).flatten().unwrap_or_default();
        Self { pdf, layers }
    }

    /// Returns what the document's XMP states.
    pub fn metadata(&self) -> Metadata {
        let read = || {
            let xref = self.pdf.as_ref()?.xref();
            let stream = xref.get::<Dict<'_>>(xref.root_id())?.get::<Stream<'_>>("Metadata")?;
            let is_small = stream.raw_data().len() as u64 <= xmp::MAX_BYTES;
            is_small.then(|| stream.decoded_data().ok()).flatten().map(|packet| xmp::of_packet(&packet))
        };
        guarded(read).flatten().unwrap_or_default()
    }

    /// Returns the size of a page's unit, in points.
    pub fn unit(&self, page: i32) -> f64 {
        let unit =
            guarded(|| self.pdf.as_ref()?.pages().get(usize::try_from(page).ok()?)?.raw().get("UserUnit"));
        unit.flatten().filter(|unit: &f64| unit.is_finite() && *unit > 0.0).unwrap_or(1.0)
    }

    /// Returns the annotations of a page's links.
    pub fn links(&self, page: i32) -> Vec<Annotation> {
        let read = || {
            let pages = self.pdf.as_ref()?.pages();
            let number = u32::try_from(page).ok()?;
            Some(Annotation::of_page(
                pages.get(number as usize)?.raw(),
                number,
                u32::try_from(pages.len()).ok()?,
                &self.layers,
            ))
        };
        guarded(read).flatten().unwrap_or_default()
    }

    /// Returns the numbers of a page's annotations whose layers are off.
    pub fn annotations_off(&self, page: i32) -> Vec<usize> {
        let read = || {
            let page = self.pdf.as_ref()?.pages().get(usize::try_from(page).ok()?)?.raw();
            let annotations = page.get::<Array<'_>>("Annots")?;
            let is_off = |annotation: &Object<'_>| matches!(annotation, Object::Dict(annotation) if self.layers.hide(annotation, "OC"));
            let numbered = annotations.iter::<Object<'_>>().enumerate().take(MAX_ANNOTATIONS);
            Some(numbered.filter(|(_, annotation)| is_off(annotation)).map(|(number, _)| number).collect())
        };
        guarded(read).flatten().unwrap_or_default()
    }

    /// Returns the marked content of a page.
    pub fn marks(&self, page: i32, until: Instant) -> Option<Marks> {
        let read = || {
            let page = self.pdf.as_ref()?.pages().get(usize::try_from(page).ok()?)?;
            Marks::read(page, &self.layers, until)
        };
        guarded(read).flatten()
    }

    /// Returns the structure of a tagged document.
    pub fn structure(&self) -> Option<Structure<'_>> {
        guarded(|| Structure::of(self.pdf.as_ref()?)).flatten()
    }

    /// Returns the resources of a page and of its drawings.
    pub fn resources(&self, page: i32) -> Resources {
        let mut found = Resources::default();
        let _ = guarded(|| {
            let page = self.pdf.as_ref()?.pages().get(usize::try_from(page).ok()?)?;
            let resources = page.resources();
            found.are_plain = resources.patterns.keys().next().is_none();
            found.collect(&resources.x_objects, MAX_DEPTH, &mut 0);
            Some(())
        });
        found
    }
}

impl Resources {
    /// Returns the factor by which the mask of a picture of this size is finer, or `None` if it has none.
    pub fn mask_of(&self, width: i32, height: i32) -> Option<f64> {
        self.masks.get(&(width, height)).copied()
    }

    fn collect(&mut self, objects: &Dict<'_>, depth: usize, seen: &mut usize) {
        for name in objects.keys() {
            *seen += 1;
            let Some(object) = objects.get::<Stream<'_>>(&name).filter(|_| *seen <= MAX_PICTURES) else {
                continue;
            };
            let object = object.dict();
            if object.get::<Name<'_>>("Subtype").is_some_and(|kind| *kind == *b"Form") {
                let resources = object.get::<Dict<'_>>("Resources");
                let resource = |name: &str| resources.as_ref()?.get::<Dict<'_>>(name);
                self.are_plain &= resource("Pattern").is_none();
                let inside = resource("XObject");
                if let (Some(inside), Some(depth)) = (inside, depth.checked_sub(1)) {
                    self.collect(&inside, depth, seen);
                }
                continue;
            }
            let side = |of: &Dict<'_>, name| of.get::<i32>(name).filter(|&side| side > 0);
            let (Some(width), Some(height)) = (side(object, "Width"), side(object, "Height")) else {
                continue;
            };
            for mask in ["SMask", "Mask"].into_iter().filter_map(|name| object.get::<Stream<'_>>(name)) {
                let sides = side(mask.dict(), "Width").zip(side(mask.dict(), "Height"));
                let finer = sides.map_or(1.0, |(across, down)| {
                    let of = |one: i32, other: i32| f64::from(one) / f64::from(other);
                    of(across, width).max(of(down, height)).max(1.0)
                });
                let known = self.masks.entry((width, height)).or_insert(1.0);
                *known = known.max(finer);
            }
        }
    }
}

/// Parses a document that has this number of pages, if its file is small enough.
pub fn parse(file: &SourceFile, pages: i32, memory: u64) -> Option<Pdf> {
    let read = || {
        let length = file.length().ok().filter(|&length| length <= memory / MEMORY_SHARE)?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        // If the page tree is damaged, both parsers guess, and may count pages differently.
        Pdf::new(bytes).ok().filter(|pdf| i32::try_from(pdf.pages().len()) == Ok(pages))
    };
    guarded(read).flatten()
}

/// Returns the structure of a page of a tagged document.
pub fn tagged(structure: &mut Option<Structure<'_>>, page: i32, marks: &Marks) -> Option<Tagged> {
    let structure = structure.as_mut()?;
    guarded(|| structure.page(usize::try_from(page).ok()?, marks)).flatten()
}

/// Calls the parser. Returns `None` if it panics: a page can be drawn without what it reads.
pub fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}
