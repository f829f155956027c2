//! Opens pages, each in a browser of its own, and limits how many are open at a time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgezoom_content::{AddressPolicy, Capture, SourceUrl};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::drawing::{DrawingSize, OpenDrawing, load_drawing};
use super::error::PageError;
use super::fair_clock::FairClock;
use super::html::Html;
use super::limits::PageLimits;
use super::page_loader::PageLoader;
use super::process::{Browser, Launch, find_browser, namespaces};
use super::proxy::Proxy;
use super::proxy::connector::Connector;
use super::proxy::host_connections::HostConnections;
use super::proxy::local_files::LocalFiles;
use super::screenshot::OpenPage;
use super::tab::Tab;
use crate::OWN_PROGRAM;
use crate::bot::BotSettings;
use crate::credentials::Credentials;
use crate::fetch::resolver::{LimitedResolver, Resolver, SystemResolver};

/// The settings of [`Pages`].
pub struct PageSettings {
    /// Browser executable; `None` looks in the usual places.
    pub browser: Option<PathBuf>,
    /// Executable with the subcommand `browser-supervisor`.
    pub supervisor: PathBuf,
    /// True to run the browser in namespaces of its own where the system allows it.
    pub namespaces: bool,
    /// Addresses that pages may connect to.
    pub policy: AddressPolicy,
    /// Resolves host names.
    pub resolver: Arc<dyn Resolver>,
    /// Directory for browser profiles.
    pub folder: PathBuf,
    /// User agent.
    pub bot: BotSettings,
    /// Limits for one page.
    pub limits: PageLimits,
}

impl PageSettings {
    /// Returns the default settings, with `policy` for connections and browser profiles in `folder`.
    #[must_use]
    pub fn new(policy: AddressPolicy, folder: PathBuf) -> Self {
        Self {
            browser: None,
            supervisor: OWN_PROGRAM.into(),
            namespaces: true,
            policy,
            resolver: Arc::new(SystemResolver),
            folder,
            bot: BotSettings::default(),
            limits: PageLimits::default(),
        }
    }
}

/// Opens pages. A process needs only one.
pub struct Pages {
    /// The command that starts a browser, or the reason why none can be started.
    launch: Result<Launch, fn() -> PageError>,
    connector: Connector,
    /// One permit for each open page.
    permits: Arc<Semaphore>,
    /// Number of pages that wait for a permit.
    waiting: watch::Sender<usize>,
    bot: BotSettings,
    limits: PageLimits,
}

/// A started browser with an empty tab.
struct Ready {
    browser: Browser,
    tab: Tab,
    proxy: Proxy,
}

impl Pages {
    /// Looks for a browser and checks that namespaces are available. Without a browser, opening a page fails with
    /// [`PageError::NoBrowser`]. As root without namespaces it fails with [`PageError::NotContained`], unless
    /// [`PageLimits::without_sandbox`] is set.
    #[must_use]
    pub fn new(settings: PageSettings) -> Self {
        let PageSettings { browser, supervisor, namespaces, policy, resolver, folder, bot, limits } =
            settings;
        let launch = match find_browser(browser.as_deref()) {
            None => {
                tracing::warn!("no Chromium found: web pages cannot be converted");
                Err((|| PageError::NoBrowser) as fn() -> _)
            }
            Some(browser) => {
                let namespaces = namespaces && has_namespaces(&supervisor);
                let is_contained = namespaces || !rustix::process::geteuid().is_root();
                if is_contained || limits.without_sandbox {
                    let PageLimits { memory, cpu, nice, start: timeout, .. } = limits;
                    Ok(Launch { browser, supervisor, folder, namespaces, memory, cpu, nice, timeout })
                } else {
                    tracing::warn!("web pages are refused: the tiler runs as root without namespaces");
                    Err((|| PageError::NotContained) as fn() -> _)
                }
            }
        };
        // A page stops waiting for a request after `request`, so the connection of such a request may be closed.
        let hosts = Arc::new(HostConnections::new(limits.connections_per_host, limits.request));
        Self {
            launch,
            connector: Connector { policy, resolver, hosts, timeout: limits.connect },
            permits: Arc::new(Semaphore::new(limits.at_once.get())),
            waiting: watch::Sender::new(0),
            bot,
            limits,
        }
    }

    /// Returns a receiver of the number of pages that wait because the maximum number is open.
    #[must_use]
    pub fn waiting(&self) -> watch::Receiver<usize> {
        self.waiting.subscribe()
    }

    /// Loads a page in a browser of its own and freezes it. Waits first while the maximum number of pages is open.
    /// `html` is the page as it was downloaded, to display if the server declares another media type. Options of the
    /// source replace those of the limits.
    ///
    /// # Errors
    /// The page could not be loaded.
    pub fn open<'a>(
        &'a self,
        source: &'a SourceUrl,
        html: Option<Html>,
    ) -> impl Future<Output = Result<OpenPage, PageError>> + Send + 'a {
        self.open_with(source, html, None)
    }

    /// Does the same with headers and cookies for the source's origin.
    ///
    /// # Errors
    /// The page could not be loaded.
    pub async fn open_with(
        &self,
        source: &SourceUrl,
        html: Option<Html>,
        credentials: Option<Credentials>,
    ) -> Result<OpenPage, PageError> {
        let capture = Some(source.capture()).filter(Capture::needs_page);
        let capture = capture.unwrap_or_else(|| self.limits.capture.clone());
        // On the heap: it is large, and callers open several pages at once.
        Box::pin(self.open_url(source.address(), html, None, (capture, credentials))).await
    }

    /// Opens a local HTML file. The page can embed files from its folder and below, but its scripts cannot read them.
    ///
    /// # Errors
    /// The page could not be loaded.
    pub async fn open_file(&self, page: &Path, html: Html) -> Result<OpenPage, PageError> {
        let (files, url) = LocalFiles::beside(page)?;
        self.open_url(&url, Some(html), Some(files), (self.limits.capture.clone(), None)).await
    }

    /// Opens a drawing in a browser of its own, without any network, and stops it. Waits first while the maximum number
    /// of pages is open.
    ///
    /// # Errors
    /// The drawing could not be opened.
    pub async fn open_drawing(&self, svg: Vec<u8>, size: DrawingSize) -> Result<OpenDrawing, PageError> {
        let (files, url) = LocalFiles::drawing(svg);
        let limits = self.limits.captured(Capture::default());
        let (mut ready, permit, deadline) = self.ready(Some(files), &limits).await?;
        match limits.before(deadline, load_drawing(&mut ready.tab, &url, size, &limits)).await {
            Ok((document, text)) => {
                let Ready { browser, proxy, tab } = ready;
                Ok(OpenDrawing {
                    browser,
                    tab,
                    size,
                    text,
                    document,
                    limits,
                    deadline,
                    _proxy: proxy,
                    _permit: permit,
                })
            }
            Err(error) => Err(limits.explain(error, ready.browser.close().await)),
        }
    }

    /// Waits until another page may be opened, and starts a browser for it. Returns its deadline, too.
    async fn ready(
        &self,
        files: Option<LocalFiles>,
        limits: &PageLimits,
    ) -> Result<(Ready, OwnedSemaphorePermit, Instant), PageError> {
        let launch = self.launch.as_ref().map_err(|error| error())?;
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waits = Waits::begin(&self.waiting);
                let closed = |_| PageError::BrowserGone; // never happens: the semaphore is never closed
                Arc::clone(&self.permits).acquire_owned().await.map_err(closed)?
            }
        };
        let deadline = Instant::now() + self.limits.page_in_all;
        Ok((self.start(launch, files, deadline, limits).await?, permit, deadline))
    }

    async fn open_url(
        &self,
        url: &str,
        html: Option<Html>,
        files: Option<LocalFiles>,
        (capture, credentials): (Capture, Option<Credentials>),
    ) -> Result<OpenPage, PageError> {
        let limits = PageLimits { credentials, ..self.limits.captured(capture) };
        let (mut ready, permit, deadline) = self.ready(files, &limits).await?;
        let load = async {
            PageLoader { tab: &mut ready.tab, proxy: &ready.proxy, limits: &limits }.load(url, html).await
        };
        match limits.before(deadline, load).await {
            Ok(page) => {
                let Ready { browser, proxy, tab } = ready;
                Ok(OpenPage { browser, tab, page, limits, deadline, _proxy: proxy, _permit: permit })
            }
            Err(error) => Err(limits.explain(error, ready.browser.close().await)),
        }
    }

    /// Starts a browser, and tries a second time if that fails, as on a machine that is short of memory or time.
    /// Nothing has been requested from the page's server by then.
    async fn start(
        &self,
        launch: &Launch,
        files: Option<LocalFiles>,
        deadline: Instant,
        limits: &PageLimits,
    ) -> Result<Ready, PageError> {
        match limits.before(deadline, self.start_once(launch, files.clone(), limits)).await {
            Err(error @ (PageError::BrowserGone | PageError::NotStarted(_) | PageError::NeverLoaded(_))) => {
                tracing::warn!(%error, "a browser did not start; trying once more");
                limits.before(deadline, self.start_once(launch, files, limits)).await
            }
            started => started,
        }
    }

    async fn start_once(
        &self,
        launch: &Launch,
        files: Option<LocalFiles>,
        limits: &PageLimits,
    ) -> Result<Ready, PageError> {
        let launch = launch.clone();
        let started = tokio::task::spawn_blocking(move || launch.start()).await.map_err(io::Error::other);
        let started = started.and_then(|started| started).map_err(PageError::NotStarted)?;
        let browser = started.browser;
        let open = async {
            let resolver = LimitedResolver::new(Arc::clone(&self.connector.resolver), limits.look_ups);
            let connector = Connector { resolver: Arc::new(resolver), ..self.connector.clone() };
            let proxy = Proxy::start(started.listener, connector, files, limits)?;
            started.devtools.set_nonblocking(true)?;
            let devtools = UnixStream::from_std(started.devtools)?;
            let clock = FairClock::new(browser.supervisor());
            let tab = Tab::open(devtools, clock, limits, &self.bot.user_agent, &proxy.password).await?;
            Ok((proxy, tab))
        };
        match open.await {
            Ok((proxy, tab)) => Ok(Ready { browser, tab, proxy }),
            Err(error) => Err(limits.explain(error, browser.close().await)),
        }
    }
}

/// A page that waits, until this is dropped.
struct Waits<'a>(&'a watch::Sender<usize>);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|number| *number += 1);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|number| *number -= 1);
    }
}

fn has_namespaces(supervisor: &Path) -> bool {
    let tried = namespaces::try_out(supervisor);
    if let Err(reason) = &tried {
        tracing::warn!(
            reason,
            "no namespaces are available: only the browser's own sandbox and the proxy confine web pages"
        );
    }
    tried.is_ok()
}
