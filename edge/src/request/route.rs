//! What a request can ask for: one variant of [`Route`] an endpoint, with its parameters parsed.

use edgezoom_content::{ContentId, SourceUrl};

use super::object_key::ObjectKey;
use crate::response::Refusal;
use crate::response::negotiation::Variant;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// `/v1/content…`: a content object.
    Content {
        /// Which one.
        wish: Result<Wish, Refusal>,
        /// In which form.
        variant: Variant,
    },
    /// `/v1/content/<id>/events`: a content as it changes.
    Events(ContentId),
    /// `/v1/content/<id>/dzi.js`: the descriptor as a script.
    DescriptorScript(ContentId),
    /// `/<id>/preview.jpg`: a small picture.
    Preview(ContentId),
    /// `/oembed`: what to put into a page for a share link.
    Oembed(OembedRequest),
    /// `/`: the page with one field, with what was entered in it if it was sent.
    Home(Option<Entry>),
    /// `/<id>`: the share page.
    Share(ContentId),
    /// `/<id>.js`: the embed script, which is the same for all.
    Embed,
    /// `/<id>/embed`: the page for frames.
    Framed(ContentId),
    /// `/cache/<key>`: a descriptor or a tile.
    Object(ObjectKey),
    /// `POST /internal/content/<id>/…`: a tiler or the operator.
    Internal(ContentId, Internal),
    /// `POST /internal/backlog`: a tiler tells how much waits.
    Backlog,
    /// `/health`.
    Health,
    /// `/version`.
    Version,
    /// `/robots.txt`.
    Robots,
    /// `OPTIONS`: what a browser asks before a request to another origin.
    Preflight,
    /// The path exists, but not with this method; these are allowed.
    WrongMethod(&'static str),
    /// There is nothing at the path. A person looks at pages, programs at objects.
    Nothing {
        /// Whether the answer should be a page.
        page: bool,
    },
}

/// Which content is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The one of a source, to be created if there is none.
    Source(SourceUrl),
    /// The one with an id.
    Id(ContentId),
}

/// What somebody entered on the home page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// As entered.
    pub text: String,
    /// What it means.
    pub source: Result<SourceUrl, Refusal>,
}

/// What the other side of `/internal` wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Internal {
    /// A tiler wants the job.
    Claim,
    /// A tiler tells what became of it.
    Report,
    /// The operator wants it tried anew.
    Reset,
}

impl Route {
    /// The content that it is about: whose record may be all that the answer takes.
    #[must_use]
    pub fn content_id(&self) -> Option<ContentId> {
        match self {
            Self::Content { wish: Ok(Wish::Source(url)), .. } => ContentId::candidates(url).next(),
            Self::Home(Some(Entry { source: Ok(url), .. })) => ContentId::candidates(url).next(),
            Self::Content { wish: Ok(Wish::Id(id)), .. } => Some(*id),
            Self::Events(id)
            | Self::DescriptorScript(id)
            | Self::Preview(id)
            | Self::Share(id)
            | Self::Framed(id) => Some(*id),
            _ => None,
        }
    }
}

/// What a consumer asks for, as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OembedRequest {
    /// The share link.
    pub url: Option<String>,
    /// `json` or `xml`.
    pub format: Option<String>,
    /// The most pixels.
    pub max_width: Option<u32>,
    /// The most pixels.
    pub max_height: Option<u32>,
}
