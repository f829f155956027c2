//! Layers (optional content) that are off. The interpreter leaves them out by the document's first configuration;
//! PDFium, which draws the pixels, believes more. Where it may hide a layer that the interpreter shows, the document has no
//! vectors: what is hidden must not be in the file.
//!
//! Source: ISO 32000-1, 8.11; PDFium, `cpdf_occontext.cpp`; hayro-interpret, `ocg.rs`.

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier};

/// Maximum depth of dictionaries in each other. Those of pages have about five.
const MAX_DEPTH: usize = 16;

/// Returns true if PDFium may hide a layer that the interpreter shows.
pub fn are_uncommon(pdf: &Pdf) -> bool {
    let catalogue = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let Some(properties) = catalogue.and_then(|catalogue| catalogue.get::<Dict<'_>>("OCProperties")) else {
        return false;
    };
    // PDFium takes the first of these that is for viewing.
    let others = properties.get::<Array<'_>>("Configs");
    let mut others = others.iter().flat_map(Array::iter::<Dict<'_>>);
    if others.any(|other| other.contains_key("Intent")) {
        return true;
    }
    let off = off(&properties);
    pdf.objects().into_iter().any(|object| match object {
        Object::Dict(dictionary) => is_uncommon(&dictionary, &off, 0),
        Object::Stream(stream) => is_uncommon(stream.dict(), &off, 0),
        _ => false,
    })
}

/// Returns the groups that the interpreter leaves out.
fn off(properties: &Dict<'_>) -> HashSet<ObjectIdentifier> {
    let listed = |of: &Dict<'_>, key: &str| -> Vec<ObjectIdentifier> {
        let groups = of.get::<Array<'_>>(key);
        groups.iter().flat_map(Array::raw_iter).filter_map(|group| Some(group.as_obj_ref()?.into())).collect()
    };
    let Some(chosen) = properties.get::<Dict<'_>>("D") else { return HashSet::new() };
    let is_off = chosen.get::<Name<'_>>("BaseState").is_some_and(|state| *state == *b"OFF");
    let mut off: HashSet<_> =
        if is_off { listed(properties, "OCGs") } else { Vec::new() }.into_iter().collect();
    listed(&chosen, "ON").iter().for_each(|group| {
        off.remove(group);
    });
    off.extend(listed(&chosen, "OFF"));
    off
}

/// Returns true for a layer with an expression, which the interpreter does not read, for one with a state of its own that
/// is not in the document's list, and for one that is no object of its own.
fn is_uncommon(of: &Dict<'_>, off: &HashSet<ObjectIdentifier>, depth: usize) -> bool {
    let view = of.get::<Dict<'_>>("Usage").and_then(|usage| usage.get::<Dict<'_>>("View"));
    let state = view.and_then(|view| view.get::<Name<'_>>("ViewState"));
    if state.is_some_and(|state| *state == *b"OFF") && !of.obj_id().is_some_and(|id| off.contains(&id)) {
        return true;
    }
    let kind = of.get::<Name<'_>>("Type");
    let is_layer = kind.is_some_and(|kind| matches!(&*kind, b"OCG" | b"OCMD"));
    let is_inside = |key| match of.get_raw::<Dict<'_>>(key) {
        Some(MaybeRef::NotRef(inner)) => depth > MAX_DEPTH || is_uncommon(&inner, off, depth + 1),
        _ => false,
    };
    is_layer && (depth > 0 || of.contains_key("VE")) || of.keys().any(is_inside)
}
