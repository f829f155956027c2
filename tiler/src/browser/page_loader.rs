//! Loads a page until it is ready to be captured: navigates to it, lets the first seconds of its clock pass, scrolls
//! through it once so that lazy content loads, waits until it has come to rest, and freezes it. The limits of each step
//! are in [`PageLimits`].

use std::time::Duration;

use edgezoom_content::capture::Wait;
use edgezoom_content::{Size, Title};
use edgezoom_text::Text;
use serde_json::{Value, json};

use super::document::network_error;
use super::error::PageError;
use super::fair_clock::FairInstant;
use super::html::Html;
use super::layout::{Area, PageLayout};
use super::limits::PageLimits;
use super::proxy::Proxy;
use super::tab::Tab;
use super::text;

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
    /// The words on it, if they are wanted.
    pub text: Option<Text>,
    /// The part of it to capture.
    pub area: Area,
    /// Number of documents that the tab has shown, this one included.
    pub document: u32,
}

/// Maximum number of navigations by the page itself while it loads.
const MAX_NAVIGATIONS: usize = 5;

/// Least and most time of the page's clock at a stop of scrolling. Scripts wait up to 0.4 s for scrolling to pause, and
/// observers up to 0.8 s for content to stay in view.
const STOP: [Duration; 2] = [Duration::from_millis(450), Duration::from_millis(900)];

/// Number of stops half a window apart from which a page is long: fewer frames are waited for at each.
const LONG: u32 = 20;
/// Part of the time for scrolling that such stops of a long page may take. Otherwise they are a whole window apart.
const SHARE_OF_LONG: u32 = 5;

/// Time of the page's clock after it was scrolled back to its top.
const RETURN: Duration = Duration::from_secs(1);

/// Time of the page's clock between two looks for an element that is waited for. As with other steps, below half a second.
const LOOK: Duration = Duration::from_millis(400);

/// Time for fonts and pictures that have arrived to be decoded.
const DECODE: Duration = Duration::from_secs(2);

impl PageLoader<'_> {
    /// Loads the page at `source` and freezes it. Subresources that do not arrive in time are left out. `html` replaces
    /// a response that the browser would not display as a page.
    pub(super) async fn load(&mut self, source: &str, html: Option<Html>) -> Result<FrozenPage, PageError> {
        let start = self.tab.now();
        let deadline = start + self.limits.settle;
        self.tab.state.expect_source(html);
        self.tab.state.credentials = self.limits.credentials.clone();
        self.navigate(source, deadline).await?;
        for _ in 0..MAX_NAVIGATIONS {
            let document = self.tab.state.document_count;
            match self.load_document(start, deadline).await {
                Ok(Some(location)) if self.tab.state.document_count == document => {
                    return self.freeze(&location, document).await;
                }
                Ok(_) => {}
                // A navigation destroys the execution context of our functions. Its event arrives shortly after.
                Err(error @ PageError::Command(_)) => {
                    let soon = self.tab.now() + self.limits.quiet;
                    self.tab.wait_for_document(document, soon).await?;
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
    async fn navigate(&mut self, source: &str, deadline: FairInstant) -> Result<(), PageError> {
        let count = self.tab.state.document_count;
        let navigated = self.tab.command_until("Page.navigate", json!({ "url": source }), deadline).await?;
        match navigated["errorText"].as_str() {
            Some(error @ "net::ERR_ABORTED") => Err(network_error(error)), // no document follows
            _ => self.tab.wait_for_document(count, deadline).await,
        }
    }

    /// Waits for the document in the main frame, and prepares it for the screenshot. Returns what `finish.js` returns,
    /// or `None` if the page has navigated to another document.
    async fn load_document(
        &mut self,
        start: FairInstant,
        deadline: FairInstant,
    ) -> Result<Option<Value>, PageError> {
        let document = self.tab.state.document_count;
        // A third of the time is left for content that loads while the page is scrolled.
        let loaded = start + self.limits.settle * 2 / 3;
        self.tab.wait_until_loaded(loaded).await?;
        if !self.tab.state.document.parsed {
            self.tab.wait_until_loaded(deadline).await?;
        }
        self.check_document()?;
        if !self.tab.state.document.parsed {
            return Err(self.incomplete_document());
        }
        let deadline = deadline.max(self.tab.now() + self.limits.quiet);
        self.tab.settle(self.limits.virtual_time, self.limits.rest, loaded.min(deadline)).await?;
        if let Some(Wait::Element(selector)) = self.limits.capture.wait() {
            self.wait_for(selector, deadline).await?;
        }
        if self.tab.state.document_count != document {
            return Ok(None);
        }
        self.tab.stay().await?;
        self.rearrange().await?;
        self.scroll().await?;
        let deadline = deadline.max(self.tab.now() + self.limits.quiet);
        self.tab.settle(RETURN, self.limits.rest / 2, deadline).await?;
        self.rearrange().await?; // content that has loaded since
        let decoded = self.tab.now() + DECODE;
        self.tab.call_within(include_str!("script/decode.js"), json!({}), decoded).await?;
        let location = self.tab.call(include_str!("script/finish.js"), json!({})).await?;
        self.check_document()?;
        Ok(Some(location))
    }

    /// Lets time pass on the page's clock until an element matches, and for the window to come to rest then. Returns as
    /// soon as the page shows another document.
    async fn wait_for(&mut self, selector: &str, deadline: FairInstant) -> Result<(), PageError> {
        let document = self.tab.state.document_count;
        let mut left = self.limits.appear;
        while self.tab.state.document_count == document {
            if self.layout().find(selector, "wait", "web-wait").await?.is_some() {
                return self.tab.settle(LOOK, self.limits.rest / 2, deadline).await;
            }
            if left.is_zero() || self.tab.now() >= deadline {
                return Err(PageError::NoElement("web-wait"));
            }
            left = left.saturating_sub(LOOK);
            self.tab.pass_time(LOOK, deadline).await?;
            self.tab.next_frame().await?;
        }
        Ok(())
    }

    /// Scrolls through the page once and back to its top. Stops half a window apart, so that each element is in view as
    /// a whole at one of them, or a whole window where the time does not suffice.
    async fn scroll(&mut self) -> Result<(), PageError> {
        let window = self.limits.window;
        let end = self.tab.now() + self.limits.scroll;
        let (mut time, mut rest) = (self.limits.scroll_time, self.limits.scroll / 2);
        let (mut top, mut is_long) = (0, false);
        loop {
            let began = self.tab.now();
            let mut bottom = self.scroll_to(top).await?;
            self.tab.next_frame().await?;
            let stops = bottom.saturating_sub(top).div_ceil(window / 2) + 1;
            is_long |= stops > LONG;
            let stop = (time / stops).clamp(STOP[0], STOP[1]);
            time = time.saturating_sub(stop);
            // What is loaded at a stop may arrive later, except at the end, which it may move.
            if top < bottom {
                self.tab.pass_time_anyway(stop).await?;
            } else {
                self.tab.pass_time(stop, end).await?;
            }
            let patience = rest.min(self.limits.rest / 2);
            rest = rest.saturating_sub(self.tab.rest(patience, is_long).await?);
            if top >= bottom {
                bottom = self.scroll_to(top).await?;
            }
            let now = self.tab.now();
            if top >= bottom || now >= end {
                break;
            }
            let share = if is_long { SHARE_OF_LONG } else { 1 };
            let is_slow = now.since(began) * stops > end.since(now) / share;
            top = bottom.min(top + if is_slow { window } else { window / 2 });
        }
        self.scroll_to(0).await.map(drop)
    }

    /// Scrolls to `top`, or to the end of the page. Returns the position of that end.
    async fn scroll_to(&mut self, top: u32) -> Result<u32, PageError> {
        let arguments = json!({ "top": top, "height": self.limits.height });
        let bottom = self.tab.call(include_str!("script/scroll.js"), arguments).await?;
        Ok(bottom.as_f64().unwrap_or_default().ceil() as u32)
    }

    /// Hides consent banners and what the request names, and unfolds scrolling boxes, which make sense only in a window.
    async fn rearrange(&mut self) -> Result<(), PageError> {
        self.layout().rearrange().await
    }

    fn layout(&mut self) -> PageLayout<'_> {
        PageLayout { tab: self.tab, limits: self.limits }
    }

    /// Returns why the document was not parsed completely.
    fn incomplete_document(&self) -> PageError {
        if self.proxy.budget.is_spent() {
            self.too_much_traffic()
        } else if self.tab.state.document.truncated {
            PageError::Unreachable
        } else {
            PageError::NeverLoaded(self.limits.settle)
        }
    }

    fn check_document(&self) -> Result<(), PageError> {
        let connect_error = |host: &str, port: u16| self.proxy.failures.get(host, port);
        self.tab
            .state
            .document
            .check(connect_error)
            .map_err(|error| if self.proxy.budget.is_spent() { self.too_much_traffic() } else { error })
    }

    fn too_much_traffic(&self) -> PageError {
        PageError::TooMuchTraffic { all: self.limits.traffic, sent: self.limits.sent }
    }

    /// Keeps the page from changing between strips, and measures it.
    async fn freeze(&mut self, location: &Value, document: u32) -> Result<FrozenPage, PageError> {
        self.tab.command("Page.stopScreencast", json!({})).await?;
        self.tab.command("Page.stopLoading", json!({})).await?;
        self.tab.command("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await?;
        // Hides a banner that has appeared since. No other can appear, because only our scripts still run.
        self.layout().hide().await?;
        self.tab.command("Animation.enable", json!({})).await?;
        self.tab.command("Animation.setPlaybackRate", json!({ "playbackRate": 0 })).await?;
        let area = self.layout().measure().await?;
        let size = Size { width: area.width * self.limits.scale, height: area.height * self.limits.scale };
        let corner = (f64::from(area.left) - f64::from(area.origin), f64::from(area.top));
        let scale = self.limits.scale.into();
        let text = text::read(&mut self.layout(), size, corner, scale).await;
        Ok(FrozenPage {
            size,
            text,
            title: Title::of_document(location["title"].as_str().unwrap_or_default()),
            url: location["url"].as_str().unwrap_or_default().to_owned(),
            area,
            document,
        })
    }
}
