//! Opens pages, each in a browser of its own, and limits how many are open at a time.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edgezoom_content::{Size, SourceUrl, Title};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::error::PageError;
use super::html_sniffing::Html;
use super::launch::{Browser, Launch};
use super::limits::PageLimits;
use super::open_page::{OpenPage, PageProgress, before, with_exit_reason};
use super::page_loader::PageLoader;
use super::proxy::Proxy;
use super::proxy::connector::Connector;
use super::proxy::host_connections::HostConnections;
use super::proxy::local_files::LocalFiles;
use super::settings::PageSettings;
use super::tab::Tab;
use super::{executable, namespaces, tab_setup};
use crate::bot::BotSettings;

/// Opens and captures pages. A process needs one.
pub struct Pages {
    /// How a browser is started, or why none is.
    launch: Result<Launch, PageError>,
    connector: Connector,
    /// A permit for each open page.
    permits: Arc<Semaphore>,
    bot: BotSettings,
    limits: PageLimits,
    folder: PathBuf,
}

/// A browser that has come up, with an empty tab.
struct Ready {
    browser: Browser,
    tab: Tab,
    proxy: Proxy,
}

/// A captured page.
#[derive(Debug)]
pub struct CapturedPage {
    /// Its [screenshot stream](edgezoom_codecs::formats::screenshot) in an unnamed file, positioned at its start.
    pub file: File,
    /// The size of the screenshot in pixels.
    pub size: Size,
    /// The title of the page.
    pub title: Option<Title>,
    /// The URL of the page after all redirects.
    pub url: String,
}

fn has_namespaces(supervisor: &Path) -> bool {
    let tried = namespaces::try_out(supervisor);
    if let Err(reason) = &tried {
        tracing::warn!(
            reason,
            "no namespaces are available: only the browser's own sandbox and the proxy contain web pages"
        );
    }
    tried.is_ok()
}

impl Pages {
    /// Looks for a browser, and whether namespaces are available. Without a browser, opening a page fails with
    /// [`PageError::NoBrowser`]; without namespaces as root with [`PageError::NotContained`], unless that is allowed.
    ///
    /// # Errors
    /// The path of the running executable is not known.
    pub fn new(settings: PageSettings) -> io::Result<Self> {
        let PageSettings { browser, supervisor, namespaces, policy, resolver, folder, bot, limits } =
            settings;
        let supervisor = supervisor.map_or_else(std::env::current_exe, Ok)?;
        let launch = match executable::find(browser.as_deref()) {
            None => {
                tracing::warn!("no Chromium found: web pages cannot be converted");
                Err(PageError::NoBrowser)
            }
            Some(browser) => {
                let namespaces = namespaces && has_namespaces(&supervisor);
                let is_contained = namespaces || !rustix::process::geteuid().is_root();
                if is_contained || limits.without_sandbox {
                    let folder = folder.clone();
                    let (memory, timeout) = (limits.memory, limits.command);
                    Ok(Launch { browser, supervisor, folder, namespaces, memory, timeout })
                } else {
                    tracing::warn!("as root and without namespaces web pages are refused");
                    Err(PageError::NotContained)
                }
            }
        };
        // A page does not wait for a request that has been pending for so long, so its connection may go.
        let hosts = Arc::new(HostConnections::new(limits.connections_per_host, limits.request));
        Ok(Self {
            launch,
            connector: Connector { policy, resolver, hosts, timeout: limits.connect },
            permits: Arc::new(Semaphore::new(limits.at_once.get())),
            bot,
            limits,
            folder,
        })
    }

    /// Opens a page in a browser of its own, loads it and freezes it. Waits first while the maximum number of pages is
    /// open.
    ///
    /// # Errors
    /// The page could not be loaded.
    pub async fn open(&self, source: &SourceUrl) -> Result<OpenPage, PageError> {
        self.open_url(source.as_str(), None, None).await
    }

    /// Opens a page whose HTML was downloaded already. It is shown if the server declares the page as something else.
    ///
    /// # Errors
    /// The page could not be loaded.
    pub async fn open_fetched(&self, source: &SourceUrl, html: Html) -> Result<OpenPage, PageError> {
        self.open_url(source.as_str(), Some(html), None).await
    }

    /// Opens a page that is a local file. It can embed the files in its folder and below, but not read them.
    ///
    /// # Errors
    /// The page could not be loaded.
    pub async fn open_file(&self, page: &Path, html: Html) -> Result<OpenPage, PageError> {
        let (files, url) = LocalFiles::beside(page)?;
        self.open_url(&url, Some(html), Some(files)).await
    }

    async fn open_url(
        &self,
        url: &str,
        html: Option<Html>,
        files: Option<LocalFiles>,
    ) -> Result<OpenPage, PageError> {
        let launch = match &self.launch {
            Ok(launch) => launch,
            Err(PageError::NotContained) => return Err(PageError::NotContained),
            Err(_) => return Err(PageError::NoBrowser),
        };
        let closed = |_| PageError::BrowserGone; // the semaphore is never closed
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(closed)?;
        let deadline = Instant::now() + self.limits.page;

        let load = async |ready: &mut Ready| {
            let mut loader = PageLoader {
                tab: &mut ready.tab,
                proxy: &ready.proxy,
                limits: &self.limits,
                opt_outs: self.bot.opt_outs,
            };
            loader.load(url, html).await
        };
        let mut ready = self.start(launch, files, deadline).await?;
        match before(deadline, &self.limits, load(&mut ready)).await {
            Ok(page) => {
                let Ready { browser, proxy, tab } = ready;
                let limits = self.limits.clone();
                Ok(OpenPage { browser, tab, page, limits, deadline, _proxy: proxy, _permit: permit })
            }
            Err(error) => Err(with_exit_reason(error, ready.browser.close().await, &self.limits)),
        }
    }

    /// Starts a browser; once more if it does not come up, as on a machine that is short of memory or time. Nothing of the page is
    /// asked for before.
    async fn start(
        &self,
        launch: &Launch,
        files: Option<LocalFiles>,
        deadline: Instant,
    ) -> Result<Ready, PageError> {
        match before(deadline, &self.limits, self.start_once(launch, files.clone())).await {
            Err(error @ (PageError::BrowserGone | PageError::NotStarted(_) | PageError::NeverLoaded(_))) => {
                tracing::warn!(%error, "a browser did not come up, and is started once more");
                before(deadline, &self.limits, self.start_once(launch, files)).await
            }
            started => started,
        }
    }

    async fn start_once(&self, launch: &Launch, files: Option<LocalFiles>) -> Result<Ready, PageError> {
        let launch = launch.clone();
        let started = tokio::task::spawn_blocking(move || launch.start()).await.map_err(io::Error::other);
        let started = started.and_then(|started| started).map_err(PageError::NotStarted)?;
        let browser = started.browser;
        let open = async {
            let proxy = Proxy::start(started.listener, self.connector.clone(), files, &self.limits)?;
            started.devtools.set_nonblocking(true)?;
            let devtools = UnixStream::from_std(started.devtools)?;
            let tab = tab_setup::open(devtools, &self.limits, &self.bot.user_agent, &proxy.password).await?;
            Ok((proxy, tab))
        };
        match open.await {
            Ok((proxy, tab)) => Ok(Ready { browser, tab, proxy }),
            Err(error) => Err(with_exit_reason(error, browser.close().await, &self.limits)),
        }
    }

    /// Captures a page into a file, and calls `on_progress` after each step.
    ///
    /// # Errors
    /// The page could not be captured.
    pub async fn capture(
        &self,
        source: &SourceUrl,
        mut on_progress: impl FnMut(PageProgress),
    ) -> Result<CapturedPage, PageError> {
        on_progress(PageProgress::Loading);
        let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(&self.folder)?);
        let page = self.open(source).await?;
        let (size, title, url) = (page.size(), page.title().cloned(), page.url().to_owned());
        page.write_screenshot(&mut file, on_progress).await?;
        let mut file = file.into_std().await;
        file.seek(SeekFrom::Start(0))?;
        Ok(CapturedPage { file, size, title, url })
    }
}
