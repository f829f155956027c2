//! From a URL or a file to the bytes that a renderer reads: downloads, recognises web pages, opens them in a browser, and
//! follows those that lead to a picture or document.

use std::fs::File;
use std::num::NonZeroU32;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use edgezoom_content::{SourceUrl, Title};
use tokio::time::timeout;

use super::{Origin, Pipeline, PipelineError, Progress};
use crate::browser::{Capturing, Html, OpenPage, PageError, Pages};
use crate::fetch::Fetched;

/// How often the progress of a loading page is reported.
const PAGE_PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// What a renderer reads.
pub(super) struct Source {
    /// The picture or document; for a web page the stream of its screenshots.
    pub file: File,
    /// The capture that writes the screenshots.
    pub capturing: Option<Capturing>,
    /// The page of a document that the source's URL selects.
    pub document_page: Option<NonZeroU32>,
    /// The title of a web page.
    pub title: Option<Title>,
}

impl Pipeline {
    /// Opens the source. A web page that goes on to a picture or document counts as a redirect to it.
    pub(super) async fn open_source(
        &self,
        mut origin: Origin,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Source, PipelineError> {
        let mut redirects = 0;
        let mut document_page = origin.document_page();
        loop {
            let (mut file, content_type) = match &origin {
                Origin::Url(url) => {
                    let fetched = self.download(url, redirects, on_progress).await?;
                    redirects = fetched.redirects;
                    (fetched.file, fetched.content_type)
                }
                Origin::File(path) => (File::open(path)?, None),
                Origin::Upload(file) => (file.try_clone()?, None),
            };
            let Some(html) = Html::recognise(&mut file, content_type.as_deref())? else {
                return Ok(Source { file, capturing: None, document_page, title: None });
            };
            match open_page(self.pages().await?, &origin, html, on_progress).await {
                Ok(page) => {
                    let title = page.title().cloned();
                    let (file, capturing) = page.stream().map_err(PageError::File)?;
                    return Ok(Source { file, capturing: Some(capturing), document_page: None, title });
                }
                Err(PageError::LeadsTo(lead)) => {
                    redirects += 1;
                    document_page = page_after_lead(document_page, &lead);
                    origin = Origin::Url(lead);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Downloads what so many redirects led to.
    async fn download(
        &self,
        url: &SourceUrl,
        redirects: u32,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Fetched, PipelineError> {
        let on_bytes = |received| on_progress(Progress::Downloading(received));
        let fetched = self.fetcher().await?.fetch_after(redirects, url, on_bytes).await?;
        on_progress(Progress::Downloaded { bytes: fetched.length });
        Ok(fetched)
    }
}

impl Origin {
    fn document_page(&self) -> Option<NonZeroU32> {
        match self {
            Self::Url(url) => url.page(),
            Self::File(_) | Self::Upload(_) => None,
        }
    }
}

/// The page of the document that a web page leads to. As with an HTTP redirect (RFC 9110, section 10.2.2), the fragment of
/// the requested URL stays in force unless the new URL has one of its own.
fn page_after_lead(document_page: Option<NonZeroU32>, lead: &SourceUrl) -> Option<NonZeroU32> {
    lead.page().or(document_page)
}

/// Opens a web page in a browser, and reports that it loads.
async fn open_page(
    pages: &Pages,
    origin: &Origin,
    html: Html,
    on_progress: &mut impl FnMut(Progress),
) -> Result<OpenPage, PageError> {
    let begun = Instant::now();
    let mut opening = pin!(async {
        match origin {
            Origin::Url(url) => pages.open_fetched(url, html).await,
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
    fn the_requested_page_counts_unless_the_lead_names_one_of_its_own() {
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
