//! What a request can ask for: one variant of [`Route`] an endpoint, with its parameters parsed.

use edgezoom_content::{ContentId, PreviewKind, SourceUrl};

use super::iiif::IiifRequest;
use super::object_key::ObjectKey;
use super::upload_parts::UploadStep;
use crate::response::ApiError;
use crate::response::negotiation::Variant;

/// An endpoint with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// `/v1/content…`: a content object.
    Content {
        /// Which content.
        key: Result<ContentKey, ApiError>,
        /// In which variant.
        variant: Variant,
        /// Whether a content that failed, or waits for its next attempt, is to be tried now.
        retry: bool,
    },
    /// `POST /v1/content/`: a file.
    Upload {
        /// Its name, if the query has one.
        name: Result<Option<String>, ApiError>,
        /// In which variant the content is answered.
        variant: Variant,
    },
    /// `/v1/uploads/…`: a file in parts.
    UploadInParts(UploadStep),
    /// `/v1/dzi…`: the `dzi` object of a content.
    Dzi {
        /// Which content.
        key: Result<ContentKey, ApiError>,
        /// In which variant.
        variant: Variant,
    },
    /// `/v1/content/<id>/events`: the changes of a content.
    Events(ContentId),
    /// `/v1/content/<id>/dzi.js`: the descriptor as a script.
    DescriptorScript(ContentId),
    /// `/<id>/preview.jpg`, `/<id>/thumbnail.jpg`: a small picture.
    Preview(ContentId, PreviewKind),
    /// `/<id>/download`: the pyramid as one archive.
    Download(ContentId),
    /// `/iiif/<id>/…`: the pyramid as IIIF's APIs have it.
    Iiif(ContentId, IiifRequest),
    /// `/oembed`: how a site embeds a share link.
    Oembed(OembedRequest),
    /// `/`: the page with one form, and its fields if it was sent.
    Home(Option<HomeForm>),
    /// `/<id>`: the share page.
    Share(ContentId),
    /// `/<id>.js`: the embed script, which is the same for all contents, and for what is none.
    EmbedScript,
    /// `/<id>/embed`: the page for frames.
    Frame(ContentId),
    /// `/cache/<key>`: a descriptor or a tile.
    Object(ObjectKey),
    /// `POST /internal/content/<id>/…`: a tiler or the operator.
    TilerCall(ContentId, TilerCall),
    /// `POST /internal/backlog`: a tiler reports how long the backlog is.
    Backlog,
    /// `/health`.
    Health,
    /// `/version`.
    Version,
    /// `/robots.txt`.
    Robots,
    /// `/sitemap.xml`.
    Sitemap,
    /// `OPTIONS`: a preflight request of the Fetch standard.
    Preflight,
    /// The path exists with other methods: these.
    MethodNotAllowed(&'static str),
    /// The path does not exist.
    NotFound {
        /// Whether the response is a page, for people, or text, for programs.
        page: bool,
    },
}

/// How a request names a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentKey {
    /// By its source; the content is created if it does not exist.
    Source(SourceUrl),
    /// By its id.
    Id(ContentId),
    /// By a share link of this service, where the URL of a source is expected: the content that the link shows. If that
    /// does not exist, the link is a source like any other.
    Shared {
        /// The content that the link shows.
        id: ContentId,
        /// The link as a source.
        source: Result<SourceUrl, ApiError>,
    },
}

/// The form of the home page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeForm {
    /// The text of its field.
    pub text: String,
    /// The text as the URL of a source, or as a share link.
    pub key: Result<ContentKey, ApiError>,
}

/// A call of `/internal/content/<id>/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TilerCall {
    /// A tiler claims the job.
    Claim,
    /// A tiler reports on its attempt.
    Report,
    /// The operator starts the conversion anew.
    Reset,
}

impl ContentKey {
    /// The id under which KV may have the content.
    #[must_use]
    pub fn content_id(&self) -> Option<ContentId> {
        match self {
            Self::Source(url) => ContentId::candidates(url).next(),
            Self::Id(id) | Self::Shared { id, .. } => Some(*id),
        }
    }
}

impl Route {
    /// The id under which KV may have the content of this route.
    #[must_use]
    pub fn content_id(&self) -> Option<ContentId> {
        match self {
            Self::Content { key, .. } | Self::Dzi { key, .. } | Self::Home(Some(HomeForm { key, .. })) => {
                key.as_ref().ok().and_then(ContentKey::content_id)
            }
            Self::Events(id)
            | Self::DescriptorScript(id)
            | Self::Preview(id, _)
            | Self::Download(id)
            | Self::Iiif(id, _)
            | Self::Share(id)
            | Self::Frame(id) => Some(*id),
            _ => None,
        }
    }
}

/// The parameters of `/oembed`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OembedRequest {
    /// The share link.
    pub url: Option<String>,
    /// `json` or `xml`.
    pub format: Option<String>,
    /// The largest width in pixels.
    pub max_width: Option<u32>,
    /// The largest height in pixels.
    pub max_height: Option<u32>,
}
