//! Sitemaps and indexes of sitemaps, with the extension for images: sitemaps.org/protocol.html and
//! developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps.
//!
//! The entries of a page are its images; a page without images is an entry itself.

use std::io::{self, BufRead};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use serde_json::{Map, Value};

use super::rationed::Rationed;
use super::{Listed, MAX_ROW_BYTES, Out, broken};

/// Maximum depth of elements. A sitemap has 4.
const MAX_DEPTH: usize = 16;

/// What has been read of a sitemap.
#[derive(Default)]
struct Sitemap {
    /// Local names of the open elements.
    open: Vec<String>,
    /// Text of the innermost one.
    text: String,
    page: Option<String>,
    image: Map<String, Value>,
    /// True if the page has an image.
    has_images: bool,
    /// Number of pages and images so far.
    row: u64,
    is_sitemap: bool,
}

/// Reads a sitemap, or an index of sitemaps.
///
/// # Errors
/// It is not well-formed, or another document.
pub(super) fn read(source: impl BufRead, out: &mut Out<'_>) -> io::Result<()> {
    let (source, ration) = Rationed::new(source);
    let mut xml = Reader::from_reader(source);
    let (mut sitemap, mut buffer) = (Sitemap::default(), Vec::new());
    loop {
        buffer.clear();
        ration.renew();
        match xml.read_event_into(&mut buffer).map_err(cause)? {
            Event::Start(element) => sitemap.begin(element.local_name().into_inner())?,
            Event::End(_) => sitemap.end(out)?,
            Event::Text(text) => sitemap.add(&text)?,
            Event::CData(text) => sitemap.add(&text)?,
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(character)) => sitemap.add(character.encode_utf8(&mut [0; 4]))?,
                _ => sitemap.add(resolve_predefined_entity(&reference).unwrap_or_default())?,
            },
            Event::Eof if sitemap.is_sitemap && sitemap.open.is_empty() => return Ok(()),
            Event::Eof => return Err(broken("The sitemap is cut off.")),
            _ => {}
        }
    }
}

impl Sitemap {
    fn begin(&mut self, name: &str) -> io::Result<()> {
        if self.open.is_empty() && !["urlset", "sitemapindex"].contains(&name) {
            return Err(broken("The list is XML or HTML, but not a sitemap."));
        }
        self.is_sitemap = true;
        if self.open.len() == MAX_DEPTH {
            return Err(broken("The sitemap's elements are nested too deeply."));
        }
        self.open.push(name.to_owned());
        self.text.clear();
        Ok(())
    }

    fn add(&mut self, text: &str) -> io::Result<()> {
        if self.text.len() + text.len() > MAX_ROW_BYTES {
            return Err(broken("A text in the sitemap is too long."));
        }
        self.text.push_str(text);
        Ok(())
    }

    fn end(&mut self, out: &mut Out<'_>) -> io::Result<()> {
        let text = std::mem::take(&mut self.text).trim().to_owned();
        let path: Vec<_> = self.open.iter().skip(1).map(String::as_str).collect();
        match *path {
            ["sitemap", "loc"] if !text.is_empty() => out(Listed::List(text))?,
            ["url", "loc"] if !text.is_empty() => self.page = Some(text),
            ["url", "image", name] if !text.is_empty() => {
                let member = match name {
                    "loc" => Some("url"),
                    "title" => Some("title"),
                    "caption" => Some("alt"),
                    "license" => Some("rights"),
                    _ => None,
                };
                if let Some(member) = member {
                    self.image.entry(member).or_insert(text.into());
                }
            }
            ["url", "image"] => {
                let image = std::mem::take(&mut self.image);
                if image.contains_key("url") {
                    self.has_images = true;
                    self.entry(image, out)?;
                }
            }
            ["url"] => {
                let (page, has_images) = (self.page.take(), std::mem::take(&mut self.has_images));
                if let Some(page) = page.filter(|_| !has_images) {
                    self.entry(Map::from_iter([("url".to_owned(), page.into())]), out)?;
                }
            }
            _ => {}
        }
        self.open.pop();
        Ok(())
    }

    fn entry(&mut self, entry: Map<String, Value>, out: &mut Out<'_>) -> io::Result<()> {
        self.row += 1;
        out(Listed::Entry(self.row, entry))
    }
}

fn cause(error: quick_xml::Error) -> io::Error {
    match error {
        quick_xml::Error::Io(error) => broken(error.to_string()),
        error => broken(format!("The sitemap is not well-formed: {error}.")),
    }
}
