//! Opens a source, so that a renderer can read it: downloads it, opens it in a browser if it is a web page, and follows
//! a page that navigates to a picture or document, or the description of a picture. Does not wait for a picture that can be
//! rendered while it arrives.

use std::fs::File;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_codecs::{Format, Mosaic, Reading};
use edgezoom_content::{Credits, Failure, FailureCode, Size, SourceUrl};
use tokio::time::timeout;

use super::download::Download;
use super::stitching::failed;
use super::{Origin, Pipeline, PipelineError, Progress, SourceKind};
use crate::OWN_PROGRAM;
use crate::browser::{Capturing, Html, OpenPage, PageError, Pages};
use crate::credentials::Credentials;
use crate::fetch::{FetchError, Fetched};
use crate::renderer::unpack::describe;
use crate::renderer::{Arrival, Coding, DescriptionRequest, Labels, Lead, NAMESPACE, RenderError, Target};

/// Interval between progress reports while a page loads.
const PAGE_PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// An opened source.
pub(super) struct Source {
    pub input: Input,
    pub kind: SourceKind,
    /// Page of a document, as selected by the options or the source's URL.
    pub document_page: Option<NonZeroU32>,
    /// Size that a description states for the picture.
    pub stated: Option<Size>,
    /// Title of a web page, and credits that a description states.
    pub labels: Labels,
}

/// The bytes of an opened source.
pub(super) enum Input {
    /// The renderer reads it from start to end.
    Whole {
        /// Picture or document, or the stream of a web page's screenshots.
        file: File,
        /// Capture that writes the screenshots.
        capturing: Option<Capturing>,
    },
    /// A file with the tiles of a picture.
    Tiles(File, Mosaic),
    /// A picture that can be rendered while it arrives. Contains the part that has arrived.
    Arriving(Opening, Box<Download>, Arrival),
}

/// The file that an origin has provided.
pub(super) struct Provided {
    pub file: File,
    /// `Content-Type` of its response.
    pub content_type: Option<String>,
    /// Content codings of the file, in the order in which they were applied.
    pub codings: Vec<Coding>,
    /// Its URL after all redirects.
    pub url: Option<SourceUrl>,
}

impl From<File> for Provided {
    fn from(file: File) -> Self {
        Self { file, content_type: None, codings: Vec::new(), url: None }
    }
}

/// A source that is being opened.
pub(super) struct Opening {
    origin: Origin,
    /// Number of redirects so far, including navigations of web pages and descriptions.
    redirects: u32,
    document_page: Option<NonZeroU32>,
    /// What a description leads to.
    described: Option<Lead>,
    /// Headers and cookies for the origin of the source.
    credentials: Option<Credentials>,
}

impl Pipeline {
    /// Opens a source, or a page of it. A web page that navigates to a picture or document counts as a redirect to it, as
    /// does a description.
    pub(super) async fn open_source(
        &self,
        origin: Origin,
        page: Option<NonZeroU32>,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Source, PipelineError> {
        let document_page = page.or(origin.document_page());
        let credentials = match &origin {
            Origin::Url(url) => self.settings.access.to(url)?,
            Origin::File(_) | Origin::Upload(_) => None,
        };
        let mut opening = Opening { origin, redirects: 0, document_page, described: None, credentials };
        loop {
            let opened = match &opening.origin {
                Origin::Url(url) => {
                    let fetcher = Arc::clone(self.fetcher().await?);
                    let (url, credentials) = (url.without_options(), opening.credentials.clone());
                    let mut download = Download::start(fetcher, opening.redirects, url, credentials);
                    let head = download.head(on_progress).await;
                    if let Some(arrival) = head.map_err(|error| opening.explained(error))? {
                        let (document_page, stated) = (opening.document_page, opening.stated());
                        let labels = opening.labels();
                        let input = Input::Arriving(opening, Box::new(download), arrival);
                        // Only pictures can be rendered while they arrive.
                        let kind = SourceKind::Picture;
                        return Ok(Source { input, kind, document_page, stated, labels });
                    }
                    let fetched = download.whole(on_progress).await?;
                    self.open_fetched(opening, fetched, on_progress).await?
                }
                Origin::File(path) => {
                    let file = File::open(path)?;
                    self.open_file(opening, file.into(), on_progress).await?
                }
                Origin::Upload(file) => {
                    let file = file.try_clone()?;
                    self.open_file(opening, file.into(), on_progress).await?
                }
            };
            match opened {
                Opened::Source(source) => return Ok(source),
                Opened::Lead(lead) => opening = lead,
            }
        }
    }

    /// Opens a source that was arriving and is now complete.
    pub(super) async fn open_again(
        &self,
        opening: Opening,
        fetched: Fetched,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Source, PipelineError> {
        match self.open_fetched(opening, fetched, on_progress).await? {
            Opened::Source(source) => Ok(source),
            // It was a picture when the download began. Another attempt will open the web page that it is now.
            Opened::Lead(_) => Err(FetchError::BrokenOff.into()),
        }
    }

    /// Opens a complete download.
    async fn open_fetched(
        &self,
        opening: Opening,
        fetched: Fetched,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Opened, PipelineError> {
        let Fetched { file, content_type, codings, url, redirects, .. } = fetched;
        let document_page = page_after_lead(opening.document_page, &url);
        let opening = Opening { redirects, document_page, ..opening };
        self.open_file(opening, Provided { file, content_type, codings, url: Some(url) }, on_progress).await
    }

    /// Opens the file that an origin has provided.
    async fn open_file(
        &self,
        opening: Opening,
        provided: Provided,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Opened, PipelineError> {
        let (mut file, is_as_declared) = self.unpacked(&provided).await?;
        let url = provided.url.as_ref();
        if let Some(opened) = self.described(&opening, &mut file, url, on_progress).await? {
            return Ok(opened);
        }
        let (stated, labels) = (opening.stated(), opening.labels());
        let Opening { origin, redirects, document_page, described, credentials } = opening;
        let Provided { content_type, url, .. } = provided;
        let html = Html::recognise(&mut file, content_type.as_deref())?;
        let Some(mut html) = html else {
            let kind = kind_of(&mut file);
            let input = Input::Whole { file, capturing: None };
            return Ok(Opened::Source(Source { input, kind, document_page, stated, labels }));
        };
        if described.is_some() {
            let message = "The IIIF description leads to a web page in place of a picture.";
            return Err(RenderError::Reported(Failure::new(FailureCode::UnsupportedFormat, message)).into());
        }
        html.is_as_declared = is_as_declared;
        if let Origin::Url(requested) = &origin {
            let requested = requested.without_options();
            let urls: Vec<_> = [&requested].into_iter().chain(&url).collect();
            self.fetcher().await?.may_visit(&urls).await?;
        }
        match open_page(self.pages().await, &origin, html, credentials, on_progress).await {
            Ok(page) => {
                if let Origin::Url(requested) = &origin {
                    self.may_show(&page, url.as_ref().unwrap_or(requested)).await?;
                }
                let labels = Labels { title: page.title().cloned(), credits: None };
                let (file, capturing) = page.stream().map_err(PageError::File)?;
                let input = Input::Whole { file, capturing: Some(capturing) };
                let kind = SourceKind::Page;
                Ok(Opened::Source(Source { input, kind, document_page: None, stated: None, labels }))
            }
            Err(PageError::LeadsTo(lead)) => Ok(Opened::Lead(Opening {
                document_page: page_after_lead(document_page, &lead),
                origin: Origin::Url(lead),
                redirects: redirects + 1,
                described: None,
                credentials: None,
            })),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a file as a description in a process of its own. Here it is only compared with the beginning of JSON. An
    /// uploaded one is not followed: its content is the file.
    async fn described(
        &self,
        opening: &Opening,
        file: &mut File,
        url: Option<&SourceUrl>,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Option<Opened>, PipelineError> {
        let Opening { origin, redirects, document_page, described, credentials } = opening;
        let target = described.as_ref().map(|described| &described.target);
        let is_followed =
            !matches!((origin, target), (Origin::Upload(_), _) | (_, Some(Target::Picture(..))));
        let is_one = is_json_object(file)? || names_deep_zoom(file)?;
        if !is_followed || !is_one || Format::sniff(file).is_ok() {
            return Ok(None);
        }
        let url_of_file = url;
        let request = DescriptionRequest {
            url: url.map(|url| url.as_str().to_owned()),
            page: *document_page,
            is_of_manifest: described.is_some(),
        };
        let (folder, limits) = (&self.settings.temporary, &self.settings.limits);
        let lead = describe(Path::new(OWN_PROGRAM), file, request, folder, limits).await?;
        let Some(mut lead) = lead else { return Ok(None) };
        if let Some(Lead { credits, .. }) = described {
            lead.credits = Credits::clone(credits).or(*lead.credits).into();
        }
        let redirects = redirects + 1;
        if let Some(tiles) = lead.tiles.as_ref().filter(|tiles| self.may_stitch(tiles)) {
            let input = Input::Tiles(self.stitched(tiles, redirects, on_progress).await?, tiles.mosaic);
            let labels = labels_of(&lead);
            let kind = SourceKind::Picture;
            let source = Source { input, kind, document_page: None, stated: None, labels };
            return Ok(Some(Opened::Source(source)));
        }
        let (Target::Description(url) | Target::Picture(url, _)) = &lead.target else {
            let message = "The file describes a Deep Zoom image, which its server offers only as tiles. Submit the URL of \
                           the picture itself.";
            return Err(failed(FailureCode::UnsupportedFormat, message));
        };
        let to = SourceUrl::parse(url).map_err(FetchError::RedirectRefused)?;
        let by = url_of_file.map(SourceUrl::as_str);
        let may_have = |of: &Credentials| of.cover(to.as_str()) && by.is_some_and(|by| of.cover(by));
        let credentials = credentials.clone().filter(may_have);
        let (origin, described) = (Origin::Url(to), Some(lead));
        Ok(Some(Opened::Lead(Opening { origin, redirects, document_page: None, described, credentials })))
    }

    /// Checks the robots.txt of the page that the browser shows, if the page has navigated away from `asked`.
    async fn may_show(&self, page: &OpenPage, asked: &SourceUrl) -> Result<(), PipelineError> {
        match SourceUrl::parse(page.url()) {
            Ok(shown) if shown != *asked => Ok(self.fetcher().await?.may_visit(&[&shown]).await?),
            _ => Ok(()),
        }
    }
}

/// Recognises a picture or document by its first bytes. An unknown format counts as a picture; the renderer reports it.
fn kind_of(file: &mut File) -> SourceKind {
    match Format::sniff(file) {
        Ok(format) if format.reading == Reading::Regions => SourceKind::Document,
        _ => SourceKind::Picture,
    }
}

/// Result of opening a file.
enum Opened {
    Source(Source),
    /// It is a web page that navigates to this source, or a description of it.
    Lead(Opening),
}

impl Opening {
    /// Returns the size that a description states for the picture.
    fn stated(&self) -> Option<Size> {
        match self.described {
            Some(Lead { target: Target::Picture(_, stated), .. }) => stated,
            _ => None,
        }
    }

    /// Returns the credits that descriptions state.
    fn labels(&self) -> Labels {
        self.described.as_ref().map(labels_of).unwrap_or_default()
    }

    /// Returns the reason why a download failed, if the server may have the picture only as tiles.
    fn explained(&self, error: FetchError) -> PipelineError {
        let has_tiles = self.described.as_ref().is_some_and(|lead| lead.tiles.is_some());
        match error {
            FetchError::Answered { status, .. } if has_tiles && status.is_client_error() && status != 429 => {
                let message =
                    "The server offers this picture only as tiles. Submit the URL of the picture itself.";
                failed(FailureCode::UnsupportedFormat, message)
            }
            error => error.into(),
        }
    }
}

/// Returns the credits that a description states.
fn labels_of(lead: &Lead) -> Labels {
    Labels { title: None, credits: Credits::clone(&lead.credits).some().map(Box::new) }
}

/// Returns true if the beginning of a file has the namespace of Deep Zoom's descriptors.
fn names_deep_zoom(file: &File) -> io::Result<bool> {
    let mut head = [0; 1024];
    let read = file.read_at(&mut head, 0)?;
    let name = NAMESPACE.as_bytes();
    Ok(head[..read].windows(name.len()).any(|bytes| bytes == name))
}

/// Returns true if a file begins as a JSON object with members.
fn is_json_object(file: &File) -> io::Result<bool> {
    let mut head = [0; 64];
    let read = file.read_at(&mut head, 0)?;
    let head = head[..read].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head[..read]).trim_ascii_start();
    Ok(head.strip_prefix(b"{").is_some_and(|members| members.trim_ascii_start().starts_with(b"\"")))
}

impl Origin {
    fn document_page(&self) -> Option<NonZeroU32> {
        match self {
            Self::Url(url) => url.page(),
            Self::File(_) | Self::Upload(_) => None,
        }
    }
}

/// Returns the page of the document that a web page navigates to. As with an HTTP redirect (RFC 9110, 10.2.2), the
/// fragment of the requested URL remains valid unless the new URL has one of its own.
fn page_after_lead(document_page: Option<NonZeroU32>, lead: &SourceUrl) -> Option<NonZeroU32> {
    lead.page().or(document_page)
}

/// Opens a web page in a browser and reports progress while it loads.
async fn open_page(
    pages: &Pages,
    origin: &Origin,
    html: Html,
    credentials: Option<Credentials>,
    on_progress: &mut impl FnMut(Progress),
) -> Result<OpenPage, PageError> {
    let begun = Instant::now();
    let mut opening = pin!(async {
        match origin {
            Origin::Url(url) => pages.open_with(url, Some(html), credentials).await,
            Origin::File(path) => pages.open_file(Path::new(path), html).await,
            Origin::Upload(_) => Err(PageError::SentAsFile),
        }
    });
    loop {
        on_progress(Progress::LoadingPage(begun.elapsed()));
        if let Ok(opened) = timeout(PAGE_PROGRESS_INTERVAL, &mut opening).await {
            return opened;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requested_page_counts_unless_the_target_names_one() {
        for (requested, lead, expected) in [
            ("http://a.example/#page=3", "http://a.example/b.pdf", Some(3)),
            ("http://a.example/#page=3", "http://a.example/b.pdf#page=2", Some(2)),
            ("http://a.example/#page=3", "http://a.example/b.pdf#/route", Some(3)),
            ("http://a.example/", "http://a.example/b.pdf#page=2", Some(2)),
            ("http://a.example/", "http://a.example/b.pdf", None),
        ] {
            let requested = Origin::Url(SourceUrl::parse(requested).unwrap()).document_page();
            let page = page_after_lead(requested, &SourceUrl::parse(lead).unwrap());
            assert_eq!(page.map(NonZeroU32::get), expected, "{lead}");
        }
    }
}
