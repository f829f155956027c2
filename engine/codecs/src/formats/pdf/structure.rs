//! The structure tree of a tagged document: for each page its headings, paragraphs, list items, table cells and pictures,
//! in reading order. It is read from the leaves up, so that a page takes the time of a page. A tree that is damaged, or
//! too large, or has cycles, gives less or nothing: then lines and paragraphs come from places.
//!
//! Source: ISO 32000-1, 7.9.7 (number trees), 14.7 (logical structure), 14.8.4 (standard structure types), 14.9.4
//! (replacement text); ISO 32000-2, 14.7.4 (namespaces).

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use edgezoom_text::Role;
use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, String as Bytes};

use super::marks::{Marks, Tag, Text};
use super::strings::decode;

/// Time for the trees of a document. A page takes about a millisecond.
const TIME: Duration = Duration::from_secs(2);
/// Maximum number of elements inside each other.
const MAX_DEPTH: usize = 64;
/// Maximum number of elements and children that are read in a document.
const MAX_ELEMENTS: usize = 1 << 20;
/// Number of elements and children above which those of earlier pages are forgotten.
const MAX_KEPT: usize = 1 << 17;
/// Maximum number of entries of the parent tree. Each page and each link has one.
const MAX_PARENTS: usize = 1 << 17;
/// Number of children between two looks at the clock.
const PER_LOOK: usize = 1024;
/// Maximum depth of the parent tree.
const MAX_TREE_DEPTH: usize = 16;
/// Maximum number of steps from a type of the document to a standard one.
const MAX_STEPS: usize = 8;
/// Maximum number of pieces of marked content of a page.
const MAX_TAGS: usize = 1 << 15;

/// The structure of a document.
pub struct Structure<'a> {
    pdf: &'a Pdf,
    root: ObjectIdentifier,
    /// Standard types of those that the document defines.
    roles: Dict<'a>,
    /// For each number of a page, drawing or annotation, the elements of its content.
    parents: HashMap<i32, MaybeRef<Object<'a>>>,
    nodes: HashMap<ObjectIdentifier, Option<Rc<Node>>>,
    /// Number of elements and children in `nodes`.
    kept: usize,
    /// Number of elements and children that may still be read.
    left: usize,
    /// Time that is left after this page.
    time: Duration,
    /// End of the time for this page.
    until: Instant,
}

/// The structure of a page.
pub struct Tagged {
    /// Its elements in reading order.
    pub elements: Vec<Element>,
    /// The pieces of marked content in reading order: each belongs to an element.
    pub pieces: Vec<Piece>,
    /// Texts that elements have instead of their letters.
    pub spelled: Vec<Rc<str>>,
    /// For each text in the order of the content, its piece.
    pub texts: Vec<Option<usize>>,
}

/// A heading, paragraph, list item, table cell, or picture.
#[derive(Debug)]
pub struct Element {
    pub role: Role,
    /// Alternative text of a picture.
    pub alternative: Option<String>,
    /// Left, bottom, right and top of a picture in points, if it has others than letters.
    pub at: Option<[f64; 4]>,
}

/// A piece of marked content.
#[derive(Clone, Copy)]
pub struct Piece {
    pub element: usize,
    /// The picture of which it is a part.
    pub picture: Option<usize>,
    /// The text that it has, with the pieces beside it, instead of its letters.
    pub spelled: Option<usize>,
}

/// An element of the tree.
struct Node {
    /// Its position among the children of each element above.
    path: Vec<u32>,
    /// Positions of its children.
    children: HashMap<Child, u32>,
    place: Place,
}

#[derive(PartialEq, Eq, Hash)]
enum Child {
    Element(ObjectIdentifier),
    Content(Option<ObjectIdentifier>, i32),
}

/// The roles that the elements above give to content.
#[derive(Clone, Default)]
struct Place {
    /// The list item or table cell around it.
    around: Option<Role>,
    block: Option<(Role, ObjectIdentifier)>,
    picture: Option<(ObjectIdentifier, Rc<Picture>)>,
    /// The text of an element around it, which it has instead of its letters.
    spelled: Option<(ObjectIdentifier, Rc<str>)>,
    /// Number of sections around it.
    sections: u8,
}

struct Picture {
    alternative: String,
    at: Option<[f64; 4]>,
}

/// Kinds of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It holds other elements.
    Group,
    Section,
    Heading(Option<u8>),
    Paragraph,
    Item,
    Cell,
    Picture,
    /// It is a part of a line.
    Inline,
}

impl<'a> Structure<'a> {
    /// Returns the structure of a tagged document.
    pub fn of(pdf: &'a Pdf) -> Option<Self> {
        let catalogue = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id())?;
        let root = catalogue.get_ref("StructTreeRoot")?.into();
        let tree = pdf.xref().get::<Dict<'_>>(root)?;
        let roles = tree.get::<Dict<'_>>("RoleMap").unwrap_or_default();
        let mut parents = HashMap::new();
        read_parents(&tree.get::<Dict<'_>>("ParentTree")?, &mut parents, 0, &mut 0);
        let (nodes, kept, until) = (HashMap::new(), 0, Instant::now());
        Some(Self { pdf, root, roles, parents, nodes, kept, left: MAX_ELEMENTS, time: TIME, until })
    }

    /// Returns the structure of a page with this marked content.
    pub fn page(&mut self, page: usize, marks: &Marks) -> Option<Tagged> {
        let began = Instant::now();
        self.until = began + self.time;
        let tagged = self.read_page(page, marks);
        self.time = self.time.saturating_sub(began.elapsed());
        tagged
    }

    fn read_page(&mut self, page: usize, marks: &Marks) -> Option<Tagged> {
        if self.time.is_zero() || self.left == 0 {
            return None;
        }
        if self.kept > MAX_KEPT {
            self.nodes.clear();
            self.kept = 0;
        }
        let page = self.pdf.pages().get(page)?;
        let of_texts = marks.texts.iter().filter_map(|text| text.tag);
        let tags: BTreeSet<Tag> = of_texts.chain(marks.areas.keys().copied()).take(4 * MAX_TAGS).collect();
        if tags.is_empty() || tags.len() > MAX_TAGS {
            return None;
        }
        let mut owners = HashMap::new();
        let mut found: Vec<(Vec<u32>, Tag, Rc<Node>)> = Vec::new();
        for tag in tags {
            if Instant::now() > self.until {
                return None;
            }
            let of_stream = owners.entry(tag.parents).or_insert_with(|| self.owners(tag.parents));
            let owner = match tag.id {
                Some(id) => usize::try_from(id).ok().and_then(|id| *of_stream.get(id)?),
                None => of_stream.first().copied().flatten(),
            };
            let Some(node) = owner.and_then(|owner| self.node(owner, MAX_DEPTH)) else { continue };
            let position = |of_page| node.children.get(&Child::Content(of_page, tag.id?)).copied();
            let position = position(page.raw().obj_id()).or_else(|| position(None)).unwrap_or(u32::MAX);
            let mut path = node.path.clone();
            path.push(position);
            found.push((path, tag, node));
        }
        found.sort_by(|(path, tag, _), (other, of_other, _)| (path, tag).cmp(&(other, of_other)));
        (!found.is_empty()).then(|| tagged(&found, marks))
    }

    /// Returns the elements of the content with a number in the parent tree.
    fn owners(&self, parents: i32) -> Vec<Option<ObjectIdentifier>> {
        let object = match self.parents.get(&parents) {
            Some(MaybeRef::Ref(object)) => {
                let id = ObjectIdentifier::from(*object);
                match self.pdf.xref().get::<Object<'_>>(id) {
                    Some(Object::Array(array)) => array,
                    _ => return vec![Some(id)],
                }
            }
            Some(MaybeRef::NotRef(Object::Array(array))) => array.clone(),
            _ => return Vec::new(),
        };
        let element = |item: MaybeRef<Object<'_>>| item.as_obj_ref().map(ObjectIdentifier::from);
        object.raw_iter().take(MAX_TAGS).map(element).collect()
    }

    /// Returns an element; `None` if it does not belong to the tree.
    fn node(&mut self, id: ObjectIdentifier, depth: usize) -> Option<Rc<Node>> {
        if let Some(node) = self.nodes.get(&id) {
            return node.clone();
        }
        // It stays that way if the element is above itself.
        self.nodes.insert(id, None);
        let node = self.read_node(id, depth.checked_sub(1)?).map(Rc::new);
        self.nodes.insert(id, node.clone());
        node
    }

    fn read_node(&mut self, id: ObjectIdentifier, depth: usize) -> Option<Node> {
        self.left = self.left.checked_sub(1)?;
        self.kept += 1;
        let element = self.pdf.xref().get::<Dict<'_>>(id)?;
        let page = element.get_ref("Pg").map(ObjectIdentifier::from);
        let children = self.children(&element, page)?;
        if id == self.root {
            return Some(Node { path: Vec::new(), children, place: Place::default() });
        }
        let above = element.get_ref("P")?.into();
        let parent = self.node(above, depth)?;
        let mut path = parent.path.clone();
        path.push(parent.children.get(&Child::Element(id)).copied().unwrap_or(u32::MAX));
        let kind = self.kind(&element);
        let mut place = parent.place.inside(kind, id, above, || picture(&element));
        if place.spelled.is_none() && kind != Kind::Picture {
            let text = element.get::<Bytes<'_>>("ActualText").map(|text| decode(&text));
            place.spelled = text.map(|text| (id, text.into()));
        }
        Some(Node { path, children, place })
    }

    /// Returns the positions of an element's children.
    fn children(
        &mut self,
        element: &Dict<'a>,
        page: Option<ObjectIdentifier>,
    ) -> Option<HashMap<Child, u32>> {
        let mut children = HashMap::new();
        let mut add = |child: MaybeRef<Object<'_>>| {
            let position = children.len() as u32;
            let child = match child {
                MaybeRef::Ref(element) => Child::Element(element.into()),
                MaybeRef::NotRef(Object::Number(id)) => Child::Content(page, id.as_i64() as i32),
                MaybeRef::NotRef(Object::Dict(content)) => {
                    let page = content.get_ref("Pg").map(ObjectIdentifier::from).or(page);
                    Child::Content(page, content.get::<i32>("MCID").unwrap_or(-1))
                }
                MaybeRef::NotRef(_) => return,
            };
            children.entry(child).or_insert(position);
        };
        let list = match element.get_raw::<Object<'_>>("K") {
            Some(MaybeRef::NotRef(Object::Array(list))) => Some(list),
            Some(MaybeRef::Ref(child)) => match self.pdf.xref().get::<Object<'_>>(child.into()) {
                Some(Object::Array(list)) => Some(list),
                _ => {
                    add(MaybeRef::Ref(child));
                    None
                }
            },
            Some(child) => {
                add(child);
                None
            }
            None => None,
        };
        for child in list.iter().flat_map(Array::raw_iter) {
            self.left = self.left.checked_sub(1)?;
            self.kept += 1;
            if self.left.is_multiple_of(PER_LOOK) && Instant::now() > self.until {
                return None;
            }
            add(child);
        }
        Some(children)
    }

    /// Returns the kind of an element. Types of the document are looked up.
    fn kind(&self, element: &Dict<'_>) -> Kind {
        let Some(mut name) = element.get::<Name<'_>>("S") else { return Kind::Inline };
        let namespace = element.get::<Dict<'_>>("NS").and_then(|space| space.get::<Dict<'_>>("RoleMapNS"));
        if let Some(known) = namespace.and_then(|roles| standard_of(&roles, &name)) {
            name = known;
        }
        for _ in 0..MAX_STEPS {
            if let Some(kind) = kind(&name) {
                return kind;
            }
            let Some(next) = self.roles.get::<Name<'_>>(&name) else { break };
            name = next;
        }
        Kind::Inline
    }
}

impl Place {
    /// Returns the place in an element, which is `above` another one.
    fn inside(
        &self,
        kind: Kind,
        id: ObjectIdentifier,
        above: ObjectIdentifier,
        picture: impl FnOnce() -> Option<Picture>,
    ) -> Self {
        let mut place = self.clone();
        match kind {
            Kind::Group | Kind::Section => {
                (place.around, place.block) = (None, None);
                place.sections = self.sections.saturating_add(u8::from(kind == Kind::Section));
            }
            Kind::Heading(level) => {
                place.around = None;
                place.block = Some((heading(level.unwrap_or(self.sections)), id));
            }
            Kind::Item => (place.around, place.block) = (Some(Role::Li), Some((Role::Li, id))),
            Kind::Cell => (place.around, place.block) = (Some(Role::Td), Some((Role::Td, id))),
            Kind::Paragraph => match (self.around, self.block) {
                (Some(Role::Td), _) => place.block = Some((Role::Td, id)),
                (None, None | Some((Role::P, _))) => place.block = Some((Role::P, id)),
                // A paragraph in a list item or in a heading belongs to that.
                _ => {}
            },
            Kind::Picture => {
                if let Some(picture) = picture() {
                    place.picture = Some((id, Rc::new(picture)));
                    (place.around, place.block) = (None, Some((Role::P, id)));
                }
            }
            Kind::Inline => place.block = self.block.or(Some((Role::P, above))),
        }
        place
    }
}

/// Returns the structure of a page, of pieces in reading order.
fn tagged(found: &[(Vec<u32>, Tag, Rc<Node>)], marks: &Marks) -> Tagged {
    let mut elements = Vec::new();
    let mut pieces = Vec::new();
    let mut by_tag = HashMap::new();
    let mut pictures = HashMap::new();
    let mut spelled: Vec<Rc<str>> = Vec::new();
    let mut last_spelled = None;
    let mut last = None;
    for (_, tag, node) in found {
        let picture = node.place.picture.as_ref().map(|(id, picture)| {
            *pictures.entry(*id).or_insert_with(|| {
                last = None;
                let alternative = Some(picture.alternative.clone());
                elements.push(Element { role: Role::Img, alternative, at: picture.at });
                elements.len() - 1
            })
        });
        if let Some(element) = picture.and_then(|picture: usize| elements.get_mut(picture)) {
            element.at = around(element.at, marks.areas.get(tag).copied());
        }
        // Content of a group itself is a paragraph.
        let block = node.place.block;
        if last.is_none() || block.is_none() || last != block {
            let role = block.map_or(Role::P, |(role, _)| role);
            elements.push(Element { role, alternative: None, at: None });
        }
        last = block;
        by_tag.insert(*tag, pieces.len());
        let spells = node.place.spelled.as_ref();
        if let Some((id, text)) = spells
            && last_spelled != Some(*id)
        {
            spelled.push(Rc::clone(text));
        }
        last_spelled = spells.map(|(id, _)| *id);
        let of_piece = spells.and(spelled.len().checked_sub(1));
        pieces.push(Piece { element: elements.len() - 1, picture, spelled: of_piece });
    }
    let piece = |text: &Text| text.tag.and_then(|tag| by_tag.get(&tag).copied());
    Tagged { texts: marks.texts.iter().map(piece).collect(), elements, pieces, spelled }
}

/// Returns the smallest area that holds both.
fn around(one: Option<[f64; 4]>, other: Option<[f64; 4]>) -> Option<[f64; 4]> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some([one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])])
        }
        (one, other) => one.or(other),
    }
}

/// Reads a node of the parent tree.
fn read_parents<'a>(
    node: &Dict<'a>,
    parents: &mut HashMap<i32, MaybeRef<Object<'a>>>,
    depth: usize,
    seen: &mut usize,
) {
    if let Some(numbers) = node.get::<Array<'a>>("Nums") {
        let mut items = numbers.raw_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            *seen += 1;
            if *seen > MAX_PARENTS {
                return;
            }
            if let MaybeRef::NotRef(Object::Number(key)) = key {
                parents.insert(key.as_i64() as i32, value);
            }
        }
    }
    if depth < MAX_TREE_DEPTH
        && let Some(kids) = node.get::<Array<'a>>("Kids")
    {
        for kid in kids.iter::<Dict<'a>>() {
            *seen += 1;
            if *seen > MAX_PARENTS {
                return;
            }
            read_parents(&kid, parents, depth + 1, seen);
        }
    }
}

/// Returns the alternative text of a picture and its place.
fn picture(element: &Dict<'_>) -> Option<Picture> {
    let text = |key| element.get::<Bytes<'_>>(key).map(|text| decode(&text));
    let is_some = |text: &String| !text.trim().is_empty();
    let alternative = text("Alt").filter(is_some).or_else(|| text("ActualText").filter(is_some))?;
    let attributes = match element.get::<Object<'_>>("A") {
        Some(Object::Dict(attributes)) => Some(attributes),
        Some(Object::Array(list)) => {
            let mut items = list.iter::<Object<'_>>().take(MAX_STEPS).filter_map(Object::into_dict);
            items.find(|attributes| attributes.contains_key("BBox"))
        }
        _ => None,
    };
    let at = attributes.and_then(|attributes| attributes.get::<Array<'_>>("BBox"));
    let at = at.and_then(|at| <[f32; 4]>::try_from(at).ok()).map(|at| at.map(f64::from));
    Some(Picture { alternative, at })
}

/// Returns the type of another namespace that a type corresponds to.
fn standard_of<'a>(roles: &Dict<'a>, name: &Name<'_>) -> Option<Name<'a>> {
    match roles.get::<Object<'a>>(name)? {
        Object::Name(name) => Some(name),
        Object::Array(pair) => pair.iter::<Name<'a>>().next(),
        _ => None,
    }
}

fn heading(level: u8) -> Role {
    match level {
        0 | 1 => Role::H1,
        2 => Role::H2,
        3 => Role::H3,
        4 => Role::H4,
        5 => Role::H5,
        _ => Role::H6,
    }
}

/// Returns the kind of a standard type.
fn kind(name: &[u8]) -> Option<Kind> {
    Some(match name {
        b"Document" | b"DocumentFragment" | b"Index" | b"L" | b"TOC" | b"Table" | b"THead" | b"TBody"
        | b"TFoot" | b"TR" => Kind::Group,
        b"Part" | b"Art" | b"Sect" | b"Aside" => Kind::Section,
        b"Title" => Kind::Heading(Some(1)),
        b"H" => Kind::Heading(None),
        [b'H', level @ b'1'..=b'9'] => Kind::Heading(Some(level - b'0')),
        b"P" | b"Div" | b"BlockQuote" | b"Caption" | b"Note" | b"FENote" | b"BibEntry" => Kind::Paragraph,
        b"LI" | b"TOCI" => Kind::Item,
        b"TD" | b"TH" => Kind::Cell,
        b"Figure" | b"Formula" => Kind::Picture,
        b"Span" | b"Quote" | b"Reference" | b"Code" | b"Link" | b"Annot" | b"Form" | b"Lbl" | b"LBody"
        | b"NonStruct" | b"Private" | b"Em" | b"Strong" | b"Sub" | b"Ruby" | b"RB" | b"RT" | b"RP"
        | b"Warichu" | b"WT" | b"WP" | b"Artifact" => Kind::Inline,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: ObjectIdentifier = ObjectIdentifier { obj_number: 1, gen_number: 0 };
    const INNER: ObjectIdentifier = ObjectIdentifier { obj_number: 2, gen_number: 0 };

    /// Returns the role of content in elements of these types, and whether it belongs to the last one.
    fn role(types: &[&str]) -> (Role, bool) {
        let mut place = Place::default();
        let last = types.len() - 1;
        for (index, name) in types.iter().enumerate() {
            let id = if index == last { INNER } else { OUTER };
            place = place.inside(kind(name.as_bytes()).unwrap(), id, OUTER, || None);
        }
        place.block.map_or((Role::P, false), |(role, id)| (role, id == INNER))
    }

    #[test]
    fn content_has_the_role_of_the_element_that_a_reader_would_name() {
        assert_eq!(role(&["Document", "P", "Span"]), (Role::P, false));
        assert_eq!(role(&["Document", "Sect", "Sect", "H"]), (Role::H2, true));
        assert_eq!(role(&["H8"]), (Role::H6, true));
        assert_eq!(role(&["L", "LI", "LBody", "P"]), (Role::Li, false));
        assert_eq!(role(&["L", "LI", "LBody", "L", "LI"]), (Role::Li, true));
        assert_eq!(role(&["Table", "TR", "TD", "P"]), (Role::Td, true));
        assert_eq!(role(&["Table", "TR", "TH", "NonStruct"]), (Role::Td, false));
        assert_eq!(role(&["TD", "Table", "Caption"]), (Role::P, true));
        assert_eq!(role(&["Div", "Div", "Link"]), (Role::P, false));
    }
}
