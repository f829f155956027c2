//! The manifest of the Presentation API 3.0, <https://iiif.io/api/presentation/3.0/>.

use edgezoom_content::{Content, ContentId, Dzi, PageTable, PreviewKind, Size, StoredPage, TileFormat};

use super::image::{canonical_path, full, max_size};
use super::{document, least_level, list, page_dzi, profile, sides, text};
use crate::config::Addresses;
use crate::representation::credit_lines;
use crate::response::Response;
use crate::response::element::Element::{self, Object, Text};

const PRESENTATION: &str = "http://iiif.io/api/presentation/3/context.json";
/// Maximum number of pages whose lines the canvas of a whole picture lists: a client may read them all.
const MAX_ANNOTATED: usize = 20;

/// Returns the manifest, with the picture's `name` as its label, and the table of its pages if it has words. It has a
/// canvas for each page where pages are rendered, otherwise one.
pub fn manifest(
    content: &Content,
    name: &str,
    table: Option<&PageTable>,
    addresses: &Addresses,
    renders: bool,
) -> Option<Response> {
    let dzi = &content.status.finished()?.dzi;
    let id = content.id;
    let base = addresses.iiif(id);
    let pages = table.map(|table| table.pages.as_slice()).unwrap_or_default();
    let canvases = canvases(id, dzi, pages, addresses, renders);
    let source = Object(vec![
        ("label", in_language("en", "Source")),
        ("value", in_language("none", content.url.address())),
    ]);
    let share = addresses.share(id);
    let mut renderings = vec![linked(
        format!("{share}/download"),
        "Dataset",
        "Deep Zoom Image in one file",
        "application/zip",
    )];
    if !pages.is_empty() {
        renderings.push(linked(format!("{share}/text"), "Text", "Words", "text/html"));
        renderings.push(linked(format!("{share}/text.txt"), "Text", "Words as plain text", "text/plain"));
    }
    let thumbnail = picture(&base, dzi.level_size(least_level(dzi)), dzi.tile_format, dzi, renders);
    let mut fields = vec![
        ("@context", text(PRESENTATION)),
        ("id", Text(format!("{base}/manifest.json"))),
        ("type", text("Manifest")),
        ("label", in_language("none", name)),
        ("metadata", list([source])),
        ("homepage", list([linked(share.clone(), "Text", "To zoom into", "text/html")])),
        ("thumbnail", list([thumbnail])),
        ("rendering", list(renderings)),
    ];
    if let Some(alternative) = content.alternative_text() {
        fields.push(("summary", in_language("none", alternative.as_str())));
    }
    if let Some(credits) = content.credits() {
        let lines: Vec<_> = credit_lines(credits).into_iter().map(|(_, line)| value(line)).collect();
        if !lines.is_empty() {
            let lines = Object(vec![("none", list(lines))]);
            let statement = vec![("label", in_language("en", "Attribution")), ("value", lines)];
            fields.push(("requiredStatement", Object(statement)));
        }
        fields.extend(credits.rights.as_ref().map(|uri| ("rights", text(uri.as_str()))));
    }
    if !pages.is_empty() {
        fields.push(("service", search_services(&format!("{}/search", addresses.content(id)))));
    }
    fields.push(("items", list(canvases)));
    let media_type = "application/ld+json;profile=\"http://iiif.io/api/presentation/3/context.json\"";
    Some(document(media_type, fields))
}

/// Returns a canvas for each page, or one for the whole picture.
fn canvases(
    id: ContentId,
    dzi: &Dzi,
    pages: &[StoredPage],
    addresses: &Addresses,
    renders: bool,
) -> Vec<Element> {
    let base = addresses.iiif(id);
    let list_of_lines = |number: usize| {
        let id = format!("{base}/annotations/{number}.json");
        Object(vec![("id", Text(id)), ("type", text("AnnotationPage"))])
    };
    if has_canvases(pages, renders) {
        let canvas = |(index, page): (usize, &StoredPage)| {
            let number = index + 1;
            let dzi = page_dzi(dzi, page);
            let image = addresses.iiif_page(id, number);
            let body = picture(&image, max_size(&dzi, renders, false), TileFormat::Jpg, &dzi, renders);
            let label = page.label.clone().unwrap_or_else(|| number.to_string());
            canvas(&base, number, Some(label), (dzi.size, body), vec![list_of_lines(number)])
        };
        pages.iter().enumerate().map(canvas).collect()
    } else {
        // Clients without tiles show this image alone.
        let body = picture(&base, PreviewKind::Large.size(dzi.size), TileFormat::Jpg, dzi, renders);
        let lines = (1..=pages.len().min(MAX_ANNOTATED)).map(list_of_lines);
        vec![canvas(&base, 1, None, (dzi.size, body), lines.collect())]
    }
}

/// Returns a link to another form of the content.
fn linked(address: String, kind: &str, label: &'static str, format: &str) -> Element {
    Object(vec![
        ("id", Text(address)),
        ("type", text(kind)),
        ("label", in_language("en", label)),
        ("format", text(format)),
    ])
}

/// Returns the services that search for words, under an address.
fn search_services(address: &str) -> Element {
    let first = Object(vec![
        ("@context", text("http://iiif.io/api/search/1/context.json")),
        ("@id", Text(format!("{address}/1"))),
        ("@type", text("SearchService1")),
        ("profile", text("http://iiif.io/api/search/1/search")),
    ]);
    let second = Object(vec![("id", text(address)), ("type", text("SearchService2"))]);
    list([second, first])
}

/// Returns true if each page is a canvas of its own.
pub fn has_canvases(pages: &[StoredPage], renders: bool) -> bool {
    renders && pages.len() > 1
}

/// Returns a canvas that an image fills.
fn canvas(
    base: &str,
    number: usize,
    label: Option<String>,
    (size, body): (Size, Element),
    annotations: Vec<Element>,
) -> Element {
    let here = |part: &str| Text(format!("{base}/{part}/{number}"));
    let annotation = Object(vec![
        ("id", here("annotation")),
        ("type", text("Annotation")),
        ("motivation", text("painting")),
        ("body", body),
        ("target", here("canvas")),
    ]);
    let page =
        Object(vec![("id", here("page")), ("type", text("AnnotationPage")), ("items", list([annotation]))]);
    let mut fields = vec![("id", here("canvas")), ("type", text("Canvas"))];
    fields.extend(label.map(|label| ("label", in_language("none", &label))));
    fields.extend(sides(size));
    fields.push(("items", list([page])));
    if !annotations.is_empty() {
        fields.push(("annotations", list(annotations)));
    }
    Object(fields)
}

/// Returns the image with a base URI at a size.
fn picture(base: &str, size: Size, format: TileFormat, dzi: &Dzi, renders: bool) -> Element {
    let path = canonical_path(&full(size, format, dzi), dzi, renders);
    let service = Object(vec![
        ("id", Text(base.to_owned())),
        ("type", text("ImageService3")),
        ("profile", text(profile(renders))),
    ]);
    let mut fields = vec![
        ("id", Text(format!("{base}/{path}"))),
        ("type", text("Image")),
        ("format", text(format.media_type())),
    ];
    fields.extend(sides(size));
    fields.push(("service", list([service])));
    Object(fields)
}

/// Returns a language map with one text.
fn in_language(language: &'static str, text: &str) -> Element {
    Object(vec![(language, list([value(text)]))])
}

/// Returns a plain text. One that begins and ends like an element would be HTML (4.2), so it ends in a space.
fn value(plain: &str) -> Element {
    let is_like_html = plain.starts_with('<') && plain.ends_with('>');
    Text(format!("{plain}{}", if is_like_html { " " } else { "" }))
}
