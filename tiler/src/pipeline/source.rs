//! Opens a source, so that a renderer can read it: downloads it, opens it in a browser if it is a web page, and follows
//! a page that navigates to a picture or document. Does not wait for a picture that can be rendered while it arrives.

use std::fs::File;
use std::num::NonZeroU32;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_codecs::{Format, Reading};
use edgezoom_content::{SourceUrl, Title};
use tokio::time::timeout;

use super::download::Download;
use super::{Origin, Pipeline, PipelineError, Progress, SourceKind};
use crate::browser::{Capturing, Html, OpenPage, PageError, Pages};
use crate::fetch::{FetchError, Fetched};
use crate::renderer::{Arrival, Coding};

/// Interval between progress reports while a page loads.
const PAGE_PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// An opened source.
pub(super) struct Source {
    pub input: Input,
    pub kind: SourceKind,
    /// Page of a document, as selected by the source's URL.
    pub document_page: Option<NonZeroU32>,
    /// Title of a web page.
    pub title: Option<Title>,
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
    /// Number of redirects so far, including navigations of web pages.
    redirects: u32,
    document_page: Option<NonZeroU32>,
}

impl Pipeline {
    /// Opens a source. A web page that navigates to a picture or document counts as a redirect to it.
    pub(super) async fn open_source(
        &self,
        origin: Origin,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Source, PipelineError> {
        let document_page = origin.document_page();
        let mut opening = Opening { origin, redirects: 0, document_page };
        loop {
            let opened = match &opening.origin {
                Origin::Url(url) => {
                    let fetcher = Arc::clone(self.fetcher().await?);
                    let mut download = Download::start(fetcher, opening.redirects, url.clone());
                    if let Some(arrival) = download.head(on_progress).await? {
                        let document_page = opening.document_page;
                        let input = Input::Arriving(opening, Box::new(download), arrival);
                        // Only pictures can be rendered while they arrive.
                        return Ok(Source { input, kind: SourceKind::Picture, document_page, title: None });
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
        let Opening { origin, redirects, document_page } = opening;
        let (mut file, is_as_declared) = self.unpacked(&provided).await?;
        let Provided { content_type, url, .. } = provided;
        let html = Html::recognise(&mut file, content_type.as_deref())?;
        let Some(mut html) = html else {
            let kind = kind_of(&mut file);
            let input = Input::Whole { file, capturing: None };
            return Ok(Opened::Source(Source { input, kind, document_page, title: None }));
        };
        html.is_as_declared = is_as_declared;
        if let Origin::Url(requested) = &origin {
            let urls: Vec<_> = [requested].into_iter().chain(&url).collect();
            self.fetcher().await?.may_visit(&urls).await?;
        }
        match open_page(self.pages().await, &origin, html, on_progress).await {
            Ok(page) => {
                if let Origin::Url(requested) = &origin {
                    self.may_show(&page, url.as_ref().unwrap_or(requested)).await?;
                }
                let title = page.title().cloned();
                let (file, capturing) = page.stream().map_err(PageError::File)?;
                let input = Input::Whole { file, capturing: Some(capturing) };
                let kind = SourceKind::Page;
                Ok(Opened::Source(Source { input, kind, document_page: None, title }))
            }
            Err(PageError::LeadsTo(lead)) => Ok(Opened::Lead(Opening {
                document_page: page_after_lead(document_page, &lead),
                origin: Origin::Url(lead),
                redirects: redirects + 1,
            })),
            Err(error) => Err(error.into()),
        }
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
    /// It is a web page that navigates to this source.
    Lead(Opening),
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
    on_progress: &mut impl FnMut(Progress),
) -> Result<OpenPage, PageError> {
    let begun = Instant::now();
    let mut opening = pin!(async {
        match origin {
            Origin::Url(url) => pages.open(url, Some(html)).await,
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
