//! Loads a page until it is ready to be captured: navigates to it, waits until its network is idle, scrolls through it
//! once so that lazy content loads, and freezes it. The limits of each step are in [`PageLimits`].

use std::time::Instant;

use edgezoom_content::{Size, Title};
use serde_json::{Value, json};

use super::document::network_error;
use super::error::PageError;
use super::html::Html;
use super::layout::{Area, PageLayout};
use super::limits::PageLimits;
use super::proxy::Proxy;
use super::tab::Tab;

/// Loads a page in a tab.
pub(super) struct PageLoader<'a> {
    pub tab: &'a mut Tab,
    pub proxy: &'a Proxy,
    pub limits: &'a PageLimits,
}

/// A loaded page that no longer changes: it loads nothing, its scripts are disabled, and its animations are paused.
#[derive(Clone, Debug)]
pub(super) struct FrozenPage {
    /// Size of its screenshot in device pixels.
    pub size: Size,
    pub title: Option<Title>,
    /// Its URL after all redirects.
    pub url: String,
    /// The part of it to capture.
    pub area: Area,
    /// Number of documents that the tab has shown, this one included.
    pub document: u32,
}

/// Maximum number of navigations by the page itself while it loads.
const MAX_NAVIGATIONS: usize = 5;

impl PageLoader<'_> {
    /// Loads the page at `source` and freezes it. Subresources that do not arrive in time are left out. `html` replaces
    /// a response that the browser would not display as a page.
    pub(super) async fn load(&mut self, source: &str, html: Option<Html>) -> Result<FrozenPage, PageError> {
        let start = Instant::now();
        let deadline = start + self.limits.settle;
        self.tab.state.expect_source(html);
        self.navigate(source, deadline).await?;
        for _ in 0..MAX_NAVIGATIONS {
            let document = self.tab.state.document_count;
            match self.load_document(start, deadline).await {
                Ok(location) if self.tab.state.document_count == document => {
                    return self.freeze(&location, document).await;
                }
                Ok(_) => {}
                // A navigation destroys the execution context of our functions. Its event arrives shortly after.
                Err(error @ PageError::Command(_)) => {
                    self.tab.wait_for_document(document, Instant::now() + self.limits.quiet).await?;
                    if self.tab.state.document_count == document {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(PageError::NeverLoaded(self.limits.settle))
    }

    /// Navigates to the page and waits until the main frame shows its document, or the browser's error page.
    async fn navigate(&mut self, source: &str, deadline: Instant) -> Result<(), PageError> {
        let count = self.tab.state.document_count;
        let navigated = self.tab.command_until("Page.navigate", json!({ "url": source }), deadline).await?;
        match navigated["errorText"].as_str() {
            Some(error @ "net::ERR_ABORTED") => Err(network_error(error)), // no document follows
            _ => self.tab.wait_for_document(count, deadline).await,
        }
    }

    /// Waits for the document in the main frame, and prepares it for the screenshot. Returns what `finish.js` returns.
    async fn load_document(&mut self, start: Instant, deadline: Instant) -> Result<Value, PageError> {
        // A third of the time is left for content that loads while the page is scrolled.
        self.tab.wait_until_idle(start + self.limits.settle * 2 / 3).await?;
        if !self.tab.state.document.parsed {
            self.tab.wait_until_idle(deadline).await?;
        }
        self.check_document()?;
        if !self.tab.state.document.parsed {
            return Err(self.incomplete_document());
        }
        self.rearrange().await?;
        let scroll = json!({
            "height": self.limits.height,
            "step": self.limits.window,
            "patience": self.limits.scroll.as_millis() as u64,
        });
        // The script ends by itself. If it does not return in time, the page is blocking it.
        let scrolled = Instant::now() + self.limits.scroll + self.limits.command;
        self.tab.call_function(include_str!("script/scroll.js"), scroll, scrolled).await?;
        self.tab.wait_until_idle(deadline.max(Instant::now() + self.limits.quiet)).await?;
        self.rearrange().await?; // content that has loaded since
        let location = self.call(include_str!("script/finish.js"), json!({ "patience": 2000 })).await?;
        self.check_document()?;
        Ok(location)
    }

    /// Hides consent banners and unfolds scrolling boxes, which make sense only in a window.
    async fn rearrange(&mut self) -> Result<(), PageError> {
        self.layout().rearrange().await
    }

    fn layout(&mut self) -> PageLayout<'_> {
        PageLayout { tab: self.tab, limits: self.limits }
    }

    /// Calls a function that has to return within the limit for commands.
    async fn call(&mut self, function: &str, argument: Value) -> Result<Value, PageError> {
        let deadline = Instant::now() + self.limits.command;
        self.tab.call_function(function, argument, deadline).await
    }

    /// Returns why the document was not parsed completely.
    fn incomplete_document(&self) -> PageError {
        if self.proxy.budget.is_spent() {
            PageError::TooMuchTraffic(self.limits.traffic)
        } else if self.tab.state.document.truncated {
            PageError::Unreachable
        } else {
            PageError::NeverLoaded(self.limits.settle)
        }
    }

    fn check_document(&self) -> Result<(), PageError> {
        let connect_error = |host: &str, port: u16| self.proxy.failures.get(host, port);
        self.tab.state.document.check(connect_error).map_err(|error| {
            if self.proxy.budget.is_spent() { PageError::TooMuchTraffic(self.limits.traffic) } else { error }
        })
    }

    /// Keeps the page from changing between strips, and measures it.
    async fn freeze(&mut self, location: &Value, document: u32) -> Result<FrozenPage, PageError> {
        self.tab.command("Page.stopLoading", json!({})).await?;
        self.tab.command("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await?;
        // Hides a banner that has appeared since. No other can appear, because only our scripts still run.
        self.layout().hide_consent_banners().await?;
        self.tab.command("Animation.enable", json!({})).await?;
        self.tab.command("Animation.setPlaybackRate", json!({ "playbackRate": 0 })).await?;
        let area = self.layout().measure().await?;
        let size = Size { width: area.width * self.limits.scale, height: area.height * self.limits.scale };
        Ok(FrozenPage {
            size,
            title: Title::of_page(location["title"].as_str().unwrap_or_default()),
            url: location["url"].as_str().unwrap_or_default().to_owned(),
            area,
            document,
        })
    }
}
