//! The endpoints: a variant of [`Route`] each, with its parameters parsed.

use edgezoom_content::{CollectionName, ContentId, PreviewKind, SourceUrl, capture};
use url::form_urlencoded;

use super::iiif::IiifRequest;
use super::object_key::ObjectKey;
use super::place::Place;
use super::upload::{UploadQuery, UploadStep};
use super::url::url_parameter;
use crate::response::ApiError;
use crate::response::negotiation::{TextForm, Variant};

/// An endpoint with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// `/v1/content…`: get a content.
    Content {
        key: Result<ContentKey, ApiError>,
        variant: Variant,
        /// True if a failed or waiting content should be tried again now.
        retry: bool,
    },
    /// `DELETE /v1/content/<id>`: delete the content of an uploaded file.
    Delete(ContentId),
    /// `POST /v1/content/`: upload a file.
    Upload {
        query: Result<UploadQuery, ApiError>,
        variant: Variant,
    },
    /// `/v1/uploads/…`: upload a file in parts.
    UploadInParts(UploadStep),
    /// `/v1/collections/<name>…`: a collection and its entries.
    Collection(CollectionName, CollectionCall),
    /// `/v1/dzi…`: get the `dzi` object of a content.
    Dzi {
        key: Result<ContentKey, ApiError>,
        variant: Variant,
    },
    /// `/v1/content/<id>/events`: stream a content's progress.
    Events(ContentId),
    /// `/v1/content/<id>/text`, `/<id>/text`, `/<id>/text.txt`: get the words in the picture.
    Text(ContentId, TextForm),
    /// `/v1/content/<id>/dzi.js`: get the descriptor as a script.
    DescriptorScript(ContentId),
    /// `/<id>/preview.jpg`, `/<id>/thumbnail.jpg`: get a preview image.
    Preview(ContentId, PreviewKind),
    /// `/<id>/at/<place>.jpg`: get the picture of a place for cards.
    Card(ContentId, Place),
    /// `/<id>/download`: download the pyramid as one archive.
    Download(ContentId),
    /// `/iiif/<id>/…`: the pyramid by IIIF's APIs. `/iiif/<id>:<number>/…`: one page.
    Iiif(ContentId, Option<u32>, IiifRequest),
    /// `/v1/content/<id>/search`: find words in the picture.
    Search(ContentId, Search),
    /// `/oembed`: get the HTML that embeds a share link.
    Oembed(OembedRequest),
    /// `/`: the home page, with its form if it was submitted. `/https://…` submits it too.
    Home(Option<HomeForm>),
    /// `/<id>`: the share page, and the place that it opens at, or the page of a document.
    Share(ContentId, Option<Opening>),
    /// `/<id>.js`: the embed script, the same for every id, known or not.
    EmbedScript,
    /// `/<id>/embed`: the page for frames.
    Frame(ContentId),
    /// `/cache/<key>`: a descriptor, tile or coarse picture.
    Object(ObjectKey),
    /// `POST /internal/content/<id>/…`: a call of a tiler or the operator.
    TilerCall(ContentId, TilerCall),
    /// `POST /internal/backlog`: a tiler's report on the queue.
    Backlog,
    Health,
    Version,
    Robots,
    Sitemap,
    /// `OPTIONS`: a preflight request (Fetch standard).
    Preflight(Methods),
    /// The path has other methods.
    MethodNotAllowed(Methods),
    NotFound {
        /// True if the response is a page, for people; otherwise it is text, for programs.
        page: bool,
    },
}

/// The methods of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Methods {
    Read,
    /// Reading, and `POST` where uploads are enabled.
    ReadOrUpload,
    /// Reading, and `DELETE`, which is possible while uploads are off.
    ReadOrDelete,
    /// `POST` where uploads are enabled.
    Upload,
    /// `PUT` where uploads are enabled.
    UploadPart,
    /// `POST`, for tilers and the operator.
    Call,
    /// Reading, `PUT` and `DELETE`.
    Collection,
    /// Reading and `POST`.
    Entries,
}

/// A request about a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectionCall {
    Get,
    /// Begin the collection, or change its settings.
    Put,
    Delete,
    /// Send lines.
    Post,
    /// Send the file that a query describes.
    File(String),
    /// List the entries that a query names.
    List(String),
}

/// The way a request names a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentKey {
    /// By its source. The content is created if it does not exist.
    Source {
        url: SourceUrl,
        /// The first id that its content may have.
        id: ContentId,
    },
    Id(ContentId),
    /// By a share link of this service instead of a source's URL. If the content does not exist, the link is a source
    /// like any other.
    Shared {
        /// Content that the link shows.
        id: ContentId,
        /// The link as a source.
        source: Result<SourceUrl, ApiError>,
    },
}

/// The form of the home page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeForm {
    /// Text as it was entered.
    pub text: String,
    /// True if the text has no scheme, so that `https` is tried first.
    pub assumes_https: bool,
    /// Content that the text names.
    pub key: Result<ContentKey, ApiError>,
}

/// A call of `/internal/content/<id>/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TilerCall {
    Claim,
    Report,
    /// The operator starts the conversion again.
    Reset,
}

impl Methods {
    /// Returns the methods as `Allow` lists them.
    pub fn names(self, has_uploads: bool) -> &'static str {
        match self {
            Self::ReadOrUpload if has_uploads => "GET, HEAD, OPTIONS, POST",
            Self::ReadOrDelete => "GET, HEAD, OPTIONS, DELETE",
            Self::Read | Self::ReadOrUpload => "GET, HEAD, OPTIONS",
            Self::Upload if has_uploads => "OPTIONS, POST",
            Self::UploadPart if has_uploads => "OPTIONS, PUT",
            Self::Upload | Self::UploadPart => "OPTIONS",
            Self::Call => "POST",
            Self::Collection => "GET, HEAD, OPTIONS, PUT, DELETE",
            Self::Entries => "GET, HEAD, OPTIONS, POST",
        }
    }
}

impl ContentKey {
    /// Returns the key of a source.
    pub fn of_source(url: SourceUrl) -> Self {
        Self::Source { id: ContentId::of(&url), url }
    }

    /// Returns the id under which KV may have the content.
    pub fn content_id(&self) -> ContentId {
        match self {
            Self::Source { id, .. } | Self::Id(id) | Self::Shared { id, .. } => *id,
        }
    }
}

impl Route {
    /// Returns the text that a client signs for a request of this route with a query: the URL of a source and the options
    /// of its capture as the client wrote them, the id of a content, `upload:` and the digest of a file, or `collection:` and
    /// the name of a collection. `None`: nothing
    /// that is admitted, or an upload that was admitted when it began.
    pub fn signed_text(&self, query: &str) -> Option<String> {
        match self {
            Self::Content { key: Ok(ContentKey::Id(id)), .. }
            | Self::Dzi { key: Ok(ContentKey::Id(id)), .. } => Some(id.to_string()),
            Self::Content { .. } | Self::Dzi { .. } => {
                url_parameter(query).map(|url| url + &signed_options(query))
            }
            Self::Home(form) => form.as_ref().map(|form| form.text.clone() + &signed_options(query)),
            Self::Upload { query: Ok(asked), .. } | Self::UploadInParts(UploadStep::Begin(Ok(asked))) => {
                asked.digest.as_ref().map(|digest| format!("upload:{digest}"))
            }
            Self::Collection(name, _) => Some(format!("collection:{name}")),
            _ => self.content_id().map(|id| id.to_string()),
        }
    }

    /// Returns the id under which KV may have the content of this route.
    pub fn content_id(&self) -> Option<ContentId> {
        match self {
            Self::Content { key, .. } | Self::Dzi { key, .. } | Self::Home(Some(HomeForm { key, .. })) => {
                key.as_ref().ok().map(ContentKey::content_id)
            }
            Self::Events(id)
            | Self::Text(id, _)
            | Self::DescriptorScript(id)
            | Self::Preview(id, _)
            | Self::Card(id, _)
            | Self::Download(id)
            | Self::Iiif(id, ..)
            | Self::Search(id, _)
            | Self::Share(id, _)
            | Self::Frame(id) => Some(*id),
            _ => None,
        }
    }
}

/// Returns the options of a capture in a query as they are written, after a line feed; empty if there are none.
fn signed_options(query: &str) -> String {
    let mut options = String::new();
    for pair in query.split('&') {
        if form_urlencoded::parse(pair.as_bytes()).any(|(name, _)| name.starts_with(capture::PREFIX)) {
            options.push(if options.is_empty() { '\n' } else { '&' });
            options.push_str(pair);
        }
    }
    options
}

/// Where a share page opens.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// `?at=`.
    Place(Place),
    /// `?page=`: at the page with this number.
    Page(u32),
    /// `?q=`: at the first place of these words, from a page on, which is 1 unless `?page=` names another.
    Words { query: String, from: u32 },
}

/// A search for words in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Its first [`MAX_CHARACTERS`](Self::MAX_CHARACTERS) characters.
    pub query: String,
    /// The page from which on hits are returned, counted from 1.
    pub from: u32,
    pub version: SearchVersion,
}

impl Search {
    /// Maximum length of a query, as in the viewer's field. The rest is not searched for.
    pub const MAX_CHARACTERS: usize = 200;
}

/// The version of IIIF's Content Search API. Mirador and Universal Viewer know only the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchVersion {
    /// `/v1/content/<id>/search/1`.
    One,
    /// `/v1/content/<id>/search`.
    Two,
}

/// The parameters of `/oembed`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OembedRequest {
    pub url: Option<String>,
    /// The form of the home page, if the URL is the address to which that leads.
    pub form: Option<HomeForm>,
    pub format: Option<String>,
    pub max_width: Option<u32>,
    pub max_height: Option<u32>,
}
