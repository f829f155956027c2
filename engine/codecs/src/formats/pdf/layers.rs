//! The layers of a document (optional content), and which of them are off. The rules are PDFium's, which draws the picture:
//! it chooses the configuration, and believes what a group states of its use, in ways of its own.
//!
//! Source: ISO 32000-1, 8.11; PDFium, `cpdf_occontext.cpp`.

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier};

/// Maximum number of groups in a list, and of items of an expression.
const MAX_GROUPS: usize = 1 << 12;
/// Maximum depth of an expression.
const MAX_DEPTH: usize = 32;

/// The groups of a document that its configuration turns off.
#[derive(Default)]
pub struct Layers(HashSet<ObjectIdentifier>);

impl Layers {
    pub fn of(pdf: &Pdf) -> Option<Self> {
        let catalogue = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id())?;
        let properties = catalogue.get::<Dict<'_>>("OCProperties")?;
        let others = properties.get::<Array<'_>>("Configs");
        let mut others = others.iter().flat_map(Array::iter::<Dict<'_>>).take(MAX_GROUPS);
        let chosen = others.find(|other| has_intent(other, false)).or_else(|| properties.get("D"))?;
        let listed = groups(&properties, "OCGs");
        let is_on = chosen.get::<Name<'_>>("BaseState").is_none_or(|state| *state != *b"OFF");
        let mut off = if is_on { HashSet::new() } else { &listed - &groups(&chosen, "ON") };
        off.extend(&groups(&chosen, "OFF") & &listed);
        Some(Self(off))
    }

    /// Returns true if what belongs to the layer under this key of a dictionary is not drawn.
    pub fn hide(&self, holder: &Dict<'_>, key: impl AsRef<[u8]>) -> bool {
        let shows = |layer: Dict<'_>| match layer.get::<Name<'_>>("Type") {
            Some(kind) if *kind != *b"OCG" => self.shows_members(&layer),
            _ => self.is_on(&layer),
        };
        holder.get::<Dict<'_>>(key).is_some_and(|layer| !shows(layer))
    }

    fn is_on(&self, group: &Dict<'_>) -> bool {
        let view = group.get::<Dict<'_>>("Usage").and_then(|usage| usage.get::<Dict<'_>>("View"));
        let stated = view.and_then(|view| view.get::<Name<'_>>("ViewState"));
        let is_off = match stated {
            Some(state) => *state == *b"OFF",
            None => group.obj_id().is_some_and(|id| self.0.contains(&id)),
        };
        !is_off || !has_intent(group, true)
    }

    /// Returns true if the groups of a membership dictionary show its content.
    fn shows_members(&self, layer: &Dict<'_>) -> bool {
        if let Some(expression) = layer.get::<Array<'_>>("VE") {
            return self.value(&expression, 0, &mut 0);
        }
        let groups = match layer.get::<Object<'_>>("OCGs") {
            Some(Object::Dict(group)) => return self.is_on(&group),
            Some(Object::Array(groups)) => groups,
            _ => return true,
        };
        let mut states =
            groups.iter::<Dict<'_>>().take(MAX_GROUPS).map(|group| self.is_on(&group)).peekable();
        let policy = layer.get::<Name<'_>>("P");
        states.peek().is_none()
            || match policy.as_deref() {
                Some(b"AllOn") => states.all(|is_on| is_on),
                Some(b"AnyOff") => states.any(|is_on| !is_on),
                Some(b"AllOff") => states.all(|is_on| !is_on),
                _ => states.any(|is_on| is_on),
            }
    }

    /// Returns the value of a visibility expression.
    fn value(&self, expression: &Array<'_>, depth: usize, seen: &mut usize) -> bool {
        let mut items = expression.iter::<Object<'_>>();
        let Some(Object::Name(operator)) = items.next() else { return false };
        let mut values = items.map(|item| {
            *seen += 1;
            match item {
                Object::Dict(group) => self.is_on(&group),
                Object::Array(inner) if depth < MAX_DEPTH && *seen < MAX_GROUPS => {
                    self.value(&inner, depth + 1, seen)
                }
                _ => false,
            }
        });
        match &*operator {
            b"Not" => values.next().is_some_and(|value| !value),
            b"And" => values.next().is_some_and(|first| first && values.all(|value| value)),
            b"Or" => values.any(|value| value),
            _ => false,
        }
    }
}

/// Returns true if a group or configuration is for viewing. `otherwise` is the answer if it does not say.
fn has_intent(of: &Dict<'_>, otherwise: bool) -> bool {
    let is_view = |name: Name<'_>| matches!(&*name, b"View" | b"All");
    match of.get::<Object<'_>>("Intent") {
        Some(Object::Name(name)) => is_view(name),
        Some(Object::Array(names)) => names.iter::<Name<'_>>().take(MAX_GROUPS).any(is_view),
        Some(_) => false,
        None => otherwise,
    }
}

/// Returns the groups of a list.
fn groups(of: &Dict<'_>, key: &str) -> HashSet<ObjectIdentifier> {
    let groups = of.get::<Array<'_>>(key);
    let ids = groups.iter().flat_map(Array::raw_iter).take(MAX_GROUPS);
    ids.filter_map(|group| group.as_obj_ref().map(ObjectIdentifier::from)).collect()
}
