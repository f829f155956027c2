//! The public face of a collection: its page, its oEmbed, and descriptions for IIIF clients. A request is parsed, the object reads the rows that it
//! wants, and the response is a text: a line of JSON with the status and the headers, then the body.

mod iiif;
mod oembed;
mod page;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use edgezoom_content::conversion::Reply;
use edgezoom_content::{is_own_origin, service_address};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::entry::Row;
use crate::list::Place;
use crate::settings::Settings;
use oembed::Oembed;

/// Number of entries of a part of a IIIF Collection, and of changes of a page of Change Discovery.
const PART: u64 = 1000;
/// Places of the page's first section, as in `edge/viewer/pages/collection.js`.
const SECTION: u64 = 200;
/// Behind all places.
const END: u64 = 1 << 53;

/// A request as the object passes it on.
#[derive(Deserialize)]
pub struct Sent {
    url: String,
    /// `SHARE_BASE` or `BASE_URL`, or empty.
    base: String,
    /// `If-None-Match`, or empty.
    known: String,
}

/// A document of the public face.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Document {
    /// The page, or that for frames.
    Page {
        is_framed: bool,
    },
    Oembed(Oembed),
    /// The IIIF Collection.
    Manifests,
    /// A part of it, counted from 1.
    Part(u64),
    /// The `OrderedCollection` of Change Discovery.
    Changes,
    /// A page of it, counted from 1.
    ChangesPage(u64),
}

/// The rows that a document needs: those of ready entries in the order of addition, or those of all that are or were
/// public in the order of their changes, with places from behind `after` to `upto`.
#[derive(Debug, PartialEq, Serialize)]
pub struct Wanted {
    place: Place,
    after: u64,
    upto: u64,
    limit: u64,
    /// True if the content of the first row is needed, too.
    asks: bool,
}

/// The rows that the object has found.
#[derive(Default, Deserialize)]
pub struct Found {
    rows: Vec<Row>,
    /// The last place up to `after`, and the first one behind `upto`; in the order of changes only.
    before: Option<u64>,
    next: Option<u64>,
    /// Answer of the first row's content.
    content: Option<Result<Reply, String>>,
}

/// The collection as its documents show it.
struct Shown<'a> {
    /// Address of the service without a slash at its end.
    base: &'a str,
    settings: &'a Settings,
    counts: &'a BTreeMap<String, u64>,
}

/// A request for a document.
pub struct Face {
    base: String,
    known: String,
    document: Document,
    settings: Settings,
    counts: BTreeMap<String, u64>,
}

/// Why there is no document.
pub enum NoFace {
    /// The service does not know its address.
    NoBase,
    /// There is no such collection, or no such document.
    Unknown,
    /// There is no such collection. The client is a browser, and this the address of the service.
    NoPage(String),
}

/// A response.
#[derive(Serialize)]
struct Response {
    status: u16,
    headers: BTreeMap<&'static str, String>,
    #[serde(skip)]
    body: String,
}

impl Document {
    fn parse(url: &Url) -> Option<Self> {
        let path = url.path();
        let path = path.strip_suffix('/').unwrap_or(path);
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let number = |text: &str| text.parse().ok().filter(|number| (1..=END / PART).contains(number));
        Some(match parts[..] {
            ["c", _] => Self::Page { is_framed: false },
            ["c", _, "embed"] => Self::Page { is_framed: true },
            ["oembed"] => Self::Oembed(Oembed::parse(url.query().unwrap_or_default())),
            ["iiif", "collection", _] => Self::Manifests,
            ["iiif", "collection", _, part] => Self::Part(number(part)?),
            ["iiif", "activity", _] => Self::Changes,
            ["iiif", "activity", _, page] => Self::ChangesPage(number(page)?),
            _ => return None,
        })
    }
}

impl Face {
    /// Parses a request for a document of the collection with these settings and counts, as the object stores them.
    ///
    /// # Errors
    /// There is no such document.
    pub fn new(
        sent: &Sent,
        settings: Option<Settings>,
        counts: BTreeMap<String, u64>,
    ) -> Result<Self, NoFace> {
        let url = Url::parse(&sent.url).map_err(|_| NoFace::Unknown)?;
        let origin = url.origin().ascii_serialization();
        let base = if sent.base.is_empty() { &origin } else { &sent.base };
        let is_known = !sent.base.is_empty() || is_own_origin(&origin);
        let base = service_address(base).filter(|_| is_known).ok_or(NoFace::NoBase)?;
        let document = Document::parse(&url).ok_or(NoFace::Unknown)?;
        let no_collection = || match &document {
            Document::Page { .. } => NoFace::NoPage(base.clone()),
            _ => NoFace::Unknown,
        };
        let settings = settings.filter(|settings| !settings.leaves).ok_or_else(no_collection)?;
        Ok(Self { base, known: sent.known.clone(), document, settings, counts })
    }

    /// Returns the rows that the document needs.
    pub fn wanted(&self) -> Option<Wanted> {
        let of = |place, part: u64| {
            Some(Wanted { place, after: (part - 1) * PART, upto: part * PART, limit: PART, asks: false })
        };
        let first = |limit, asks| Some(Wanted { place: Place::Number, after: 0, upto: SECTION, limit, asks });
        match self.document {
            Document::Page { .. } => first(page::PREVIEWS, false),
            Document::Oembed(_) => first(1, true),
            Document::Manifests if iiif::is_one_part(&self.counts) => of(Place::Number, 1),
            Document::Manifests => None,
            Document::Part(part) => of(Place::Number, part),
            // The first and the last change.
            Document::Changes => {
                Some(Wanted { place: Place::Seq, after: END, upto: 0, limit: 0, asks: false })
            }
            Document::ChangesPage(page) => of(Place::Seq, page),
        }
    }

    /// Returns the response with the rows that were found.
    pub fn response(&self, found: &Found) -> String {
        let shown = Shown { base: &self.base, settings: &self.settings, counts: &self.counts };
        let document = match &self.document {
            Document::Page { is_framed } => return shown.page(found, *is_framed).tagged(&self.known).text(),
            Document::Oembed(asked) => return shown.oembed(asked, found).tagged(&self.known).text(),
            Document::Manifests => Some(shown.manifests(&found.rows)),
            Document::Part(part) => shown.part(*part, &found.rows),
            Document::Changes => Some(shown.changes(found)),
            Document::ChangesPage(page) => shown.changes_page(*page, found),
        };
        let Some((context, body)) = document else { return NoFace::Unknown.response() };
        let media_type = format!("application/ld+json;profile=\"{context}\"");
        Response::new(200, media_type, body.to_string()).tagged(&self.known).text()
    }
}

impl NoFace {
    fn text(&self) -> &'static str {
        match self {
            Self::NoBase => "The service is not set up yet. Set BASE_URL to its address.",
            Self::Unknown => "There is no such collection, or it has no such part.",
            Self::NoPage(_) => "There is no collection of this name.",
        }
    }

    pub fn response(&self) -> String {
        let plain =
            |status| Response::new(status, "text/plain; charset=utf-8".to_owned(), self.text().to_owned());
        let response = match self {
            Self::NoBase => plain(503),
            Self::Unknown => plain(404),
            Self::NoPage(base) => page::not_found(base, self.text()),
        };
        response.text()
    }
}

impl Response {
    /// Returns a response. Caches may keep one that is no error for a minute: a collection changes.
    fn new(status: u16, media_type: String, body: String) -> Self {
        let headers = [
            ("Content-Type", media_type),
            ("Cache-Control", if status < 400 { "public, max-age=60" } else { "no-store" }.to_owned()),
            ("Access-Control-Allow-Origin", "*".to_owned()),
            ("Access-Control-Expose-Headers", "ETag, Retry-After".to_owned()),
            ("Cross-Origin-Resource-Policy", "cross-origin".to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
        ];
        Self { status, headers: headers.into(), body }
    }

    /// Adds an entity tag. If the header `If-None-Match` names it, the body is left out (RFC 9110, section 13.1.2).
    fn tagged(mut self, known: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.body.as_bytes());
        let tag = format!("{:016x}", hasher.finish());
        if known.split('"').skip(1).step_by(2).any(|other| other == tag) {
            self.status = 304;
            self.body.clear();
        }
        self.headers.insert("ETag", format!("\"{tag}\""));
        self
    }

    fn text(&self) -> String {
        // Texts always serialize.
        serde_json::to_string(self).unwrap_or_default() + "\n" + &self.body
    }
}
