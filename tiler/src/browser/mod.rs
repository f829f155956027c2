//! Web pages as sources: a page is opened in Chromium, and its picture taken in strips from top to bottom.
//!
//! A page is a program that a stranger wrote, run on our machine. So each has a browser of its own, with a fresh profile,
//! in a [`supervisor`] that leaves nothing of it; its whole traffic goes through a filtering [`proxy`] that applies the address
//! policy to what is really connected to; where the kernel allows it, a [`namespaces`] of namespaces keeps everything else out of
//! reach; and [`PageLimits`] bounds what it may cost. Its picture is parsed where all source bytes are, in the renderer
//! process.
//!
//! [`Pages::open`] gives a page that is at rest. [`OpenPage::stream`] captures it into a pipe, for a renderer that works on
//! the first strips while the last are taken; [`Pages::capture`] captures it into a file.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgezoom_content::{AddressPolicy, Size, SourceUrl, Title};
use tokio::io::AsyncWrite;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::fetch::resolver::{Resolver, SystemResolver};
use crate::http_client::USER_AGENT;

mod browser;
mod capture;
mod cdp;
mod document_check;
mod error;
mod html_sniffing;
mod interception;
mod limits;
mod memory;
mod namespaces;
mod page_state;
mod proxy;
mod screenshot_writer;
mod stream;
pub mod supervisor;
mod tab;

use browser::{Browser, Launch};
use capture::{Camera, Still};
pub use error::PageError;
pub use html_sniffing::Html;
pub use limits::PageLimits;
use proxy::Proxy;
use proxy::connector::Gate;
use proxy::local_files::Folder;
pub use stream::Capturing;
use supervisor::Ending;
use tab::Tab;

/// What captures pages is made from.
pub struct PageSettings {
    /// The browser; `None` looks for the usual ones.
    pub browser: Option<PathBuf>,
    /// The binary that has `page-cell` as a subcommand; `None` is the running one.
    pub cell: Option<PathBuf>,
    /// Whether to put the browser behind the wall of namespaces, where that is possible.
    pub wall: bool,
    /// What may be connected to.
    pub policy: AddressPolicy,
    /// How names are resolved.
    pub resolver: Arc<dyn Resolver>,
    /// Where profiles and captured pages are kept meanwhile.
    pub folder: PathBuf,
    /// What a page may cost.
    pub limits: PageLimits,
}

/// Captures pages. One is enough for a process.
pub struct Pages {
    launch: Option<Launch>,
    gate: Gate,
    places: Arc<Semaphore>,
    limits: PageLimits,
    folder: PathBuf,
}

/// A page that is at rest, in a browser that waits for its picture to be taken.
pub struct OpenPage {
    browser: Browser,
    camera: Camera,
    still: Still,
    limits: PageLimits,
    end: Instant,
    // Both last as long as the browser.
    _proxy: Proxy,
    _place: OwnedSemaphorePermit,
}

/// A page that was captured.
#[derive(Debug)]
pub struct CapturedPage {
    /// Its strips as [`page_strips`](edgezoom_codecs::formats::screenshot) says, from the beginning, in a file without a name.
    pub file: File,
    /// Its picture's size in pixels.
    pub size: Size,
    /// Its title.
    pub title: Option<Title>,
    /// Where it was in the end.
    pub url: String,
}

/// How far a page has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProgress {
    /// It is loading and coming to rest.
    Loading,
    /// So many strips of its picture are taken, of so many.
    Captured {
        /// RowReader taken.
        strips: u32,
        /// RowReader in all.
        of: u32,
    },
}

impl PageSettings {
    /// The usual settings for pages that `policy` lets through, with temporary files in `folder`.
    #[must_use]
    pub fn new(policy: AddressPolicy, folder: PathBuf) -> Self {
        let resolver = Arc::new(SystemResolver);
        Self {
            browser: None,
            cell: None,
            wall: true,
            policy,
            resolver,
            folder,
            limits: PageLimits::default(),
        }
    }
}

impl Pages {
    /// Looks for a browser and tries whether the wall can be built. Without a browser every page fails, with the reason.
    ///
    /// # Errors
    /// The path of the running binary is not known.
    pub fn new(settings: PageSettings) -> io::Result<Self> {
        let PageSettings { browser, cell, wall, policy, resolver, folder, limits } = settings;
        let cell = cell.map_or_else(std::env::current_exe, Ok)?;
        let launch = browser::find(browser.as_deref()).map(|browser| Launch {
            browser,
            cell,
            folder: folder.clone(),
            walled: wall && namespaces::is_possible(),
            memory: limits.memory,
            patience: limits.answer,
        });
        match &launch {
            Some(launch) if wall && !launch.walled => {
                tracing::warn!(
                    "no namespaces here: web pages are kept in by the browser's own sandbox and the proxy only"
                );
            }
            Some(_) => {}
            None => tracing::warn!("no Chromium found: web pages cannot be converted"),
        }
        Ok(Self {
            launch,
            gate: Gate { policy, resolver, patience: limits.connect },
            places: Arc::new(Semaphore::new(limits.at_once.get())),
            limits,
            folder,
        })
    }

    /// Opens a page in a browser of its own and waits until it is at rest. Waits before that while as many are open as may
    /// be at once.
    ///
    /// # Errors
    /// Why the page cannot be seen.
    pub async fn open(&self, source: &SourceUrl) -> Result<OpenPage, PageError> {
        self.open_in(source.as_str(), None, None).await
    }

    /// The same of what was downloaded and found to be a web page, whatever its server calls it.
    ///
    /// # Errors
    /// Why the page cannot be seen.
    pub async fn open_fetched(&self, source: &SourceUrl, html: Html) -> Result<OpenPage, PageError> {
        self.open_in(source.as_str(), Some(html), None).await
    }

    /// Opens a page that is a file. What lies in its folder and below is shown to it, but not told.
    ///
    /// # Errors
    /// Why the page cannot be seen.
    pub async fn open_file(&self, page: &Path, html: Html) -> Result<OpenPage, PageError> {
        let (folder, url) = Folder::of(page)?;
        self.open_in(&url, Some(html), Some(folder)).await
    }

    async fn open_in(
        &self,
        source: &str,
        html: Option<Html>,
        folder: Option<Folder>,
    ) -> Result<OpenPage, PageError> {
        let launch = self.launch.clone().ok_or(PageError::NoBrowser)?;
        let closed = |_| PageError::BrowserGone; // the semaphore is never closed
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(closed)?;
        let end = Instant::now() + self.limits.page;

        let started = tokio::task::spawn_blocking(move || launch.start()).await.map_err(io::Error::other);
        let started = started.and_then(|started| started).map_err(PageError::NotStarted)?;
        let browser = started.browser;
        let opened = async {
            let proxy = Proxy::start(started.listener, self.gate.clone(), folder, &self.limits)?;
            started.protocol.set_nonblocking(true)?;
            let protocol = tokio::net::UnixStream::from_std(started.protocol)?;
            let tab = Tab::open(protocol, &self.limits, &proxy.password, user_agent).await?;
            let mut camera = Camera::new(tab, Arc::clone(&proxy.ledger), &self.limits);
            let still = camera.settle(source, html).await?;
            Ok((proxy, camera, still))
        };
        match in_time(end, &self.limits, opened).await {
            Ok((proxy, camera, still)) => {
                let limits = self.limits.clone();
                Ok(OpenPage { browser, camera, still, limits, end, _proxy: proxy, _place: place })
            }
            Err(error) => Err(explain(error, browser.end().await, &self.limits)),
        }
    }

    /// Captures a page into a file, and tells `on_progress` how far it has come.
    ///
    /// # Errors
    /// Why the page cannot be captured.
    pub async fn capture(
        &self,
        source: &SourceUrl,
        mut on_progress: impl FnMut(PageProgress),
    ) -> Result<CapturedPage, PageError> {
        on_progress(PageProgress::Loading);
        let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(&self.folder)?);
        let page = self.open(source).await?;
        let (size, title, url) = (page.size(), page.title().cloned(), page.url().to_owned());
        page.write_strips(&mut file, on_progress).await?;
        let mut file = file.into_std().await;
        file.seek(SeekFrom::Start(0))?;
        Ok(CapturedPage { file, size, title, url })
    }
}

impl OpenPage {
    /// The size of its picture in pixels.
    #[must_use]
    pub fn size(&self) -> Size {
        self.still.size
    }

    /// Its title.
    #[must_use]
    pub fn title(&self) -> Option<&Title> {
        self.still.title.as_ref()
    }

    /// Where it was in the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.still.url
    }

    /// Captures it into `out` as [`page_strips`](edgezoom_codecs::formats::screenshot) says, and closes the browser.
    ///
    /// # Errors
    /// Why it could not be captured, or that `out` does not take it.
    pub async fn write_strips(
        mut self,
        out: &mut (impl AsyncWrite + Unpin),
        mut on_progress: impl FnMut(PageProgress),
    ) -> Result<(), PageError> {
        let on_strip = |strips, of| on_progress(PageProgress::Captured { strips, of });
        let captured = self.camera.capture(&self.still, out, on_strip);
        let captured = in_time(self.end, &self.limits, captured).await;
        let ending = self.browser.end().await;
        captured.map_err(|error| explain(error, ending, &self.limits))
    }
}

async fn in_time<T>(
    end: Instant,
    limits: &PageLimits,
    work: impl Future<Output = Result<T, PageError>>,
) -> Result<T, PageError> {
    timeout_at(end, work).await.unwrap_or(Err(PageError::TookTooLong(limits.page)))
}

/// A browser that is gone may have been taken away, for a reason that its cell tells.
fn explain(error: PageError, ending: Option<Ending>, limits: &PageLimits) -> PageError {
    if let PageError::Command(problem) = &error {
        tracing::warn!(problem, "the browser refused a command");
    }
    match (error, ending) {
        (PageError::BrowserGone | PageError::Crashed, Some(Ending::OutOfMemory)) => {
            PageError::TooMuchMemory(limits.memory)
        }
        (error, _) => error,
    }
}

/// The browser's own name without the word by which sites turn cameras away, and ours, so that who asks can be told.
fn user_agent(browser: &str) -> String {
    format!("{} {USER_AGENT}", browser.replace("HeadlessChrome", "Chrome"))
}
