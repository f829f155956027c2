//! From a URL to strips: open the page, let it come to rest, scroll through it once, hold it still, and take its picture
//! from top to bottom. The order of things is here; what a page may cost is in [`PageLimits`].
//!
//! Headers that stay in view while scrolling need no care: each strip is captured from the page scrolled to its top,
//! beyond the edge of its window, so they are where they are on arrival, once.

use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use edgezoom_content::{Size, Title};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::error::PageError;
use super::html_sniffing::Html;
use super::limits::PageLimits;
use super::proxy::traffic_budget::Ledger;
use super::tab::Tab;
use super::{document_check, screenshot_writer};

/// A page in a tab, from the navigation to the last strip.
pub(super) struct Camera {
    tab: Tab,
    ledger: Arc<Ledger>,
    limits: PageLimits,
}

/// A page that is at rest.
#[derive(Clone, Debug)]
pub(super) struct Still {
    /// In device pixels.
    pub size: Size,
    pub title: Option<Title>,
    /// Where the page was in the end.
    pub url: String,
    /// Its height in CSS pixels.
    height: u32,
    /// Which of the tab's documents it is.
    document: u32,
}

/// How many times a page may move on to another one while it comes to rest.
const MOVES: usize = 5;

impl Camera {
    pub(super) fn new(tab: Tab, ledger: Arc<Ledger>, limits: &PageLimits) -> Self {
        Self { tab, ledger, limits: limits.clone() }
    }

    /// Opens a page and waits until it is at rest. What has not come when its time is over is left out. `html` is shown if
    /// the browser would take what it gets for something else than a page.
    pub(super) async fn settle(&mut self, source: &str, html: Option<Html>) -> Result<Still, PageError> {
        let begun = Instant::now();
        let end = begun + self.limits.settle;
        self.tab.watch.expect(html);
        self.navigate(source, end).await?;
        for _ in 0..MOVES {
            let document = self.tab.watch.documents;
            match self.settle_document(begun, end).await {
                Ok(seen) if self.tab.watch.documents == document => return self.hold(&seen, document).await,
                Ok(_) => {}
                // A page that moves on takes our functions with it, and tells of it a little later.
                Err(error @ PageError::Command(_)) => {
                    self.tab.arrival(document, Instant::now() + self.limits.quiet).await?;
                    if self.tab.watch.documents == document {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(PageError::NeverLoaded(self.limits.settle))
    }

    /// Goes to the page and waits until the main frame shows something of it, be it the browser's error page.
    async fn navigate(&mut self, source: &str, end: Instant) -> Result<(), PageError> {
        let before = self.tab.watch.documents;
        let answer = self.tab.ask_until("Page.navigate", json!({ "url": source }), end).await?;
        match answer["errorText"].as_str() {
            Some(error @ "net::ERR_ABORTED") => Err(document_check::of_error(error)), // nothing will be shown
            _ => self.tab.arrival(before, end).await,
        }
    }

    /// Loads, scrolls through and finishes what the main frame shows now.
    async fn settle_document(&mut self, begun: Instant, end: Instant) -> Result<Value, PageError> {
        // A third of the time is kept for what only comes when it is scrolled to.
        self.tab.rest(begun + self.limits.settle * 2 / 3).await?;
        if !self.tab.watch.document.parsed {
            self.tab.rest(end).await?;
        }
        self.judge()?;
        if !self.tab.watch.document.parsed {
            return Err(self.judge_time());
        }
        self.smooth().await?;
        let scroll = json!({
            "height": self.limits.height,
            "step": self.limits.window,
            "patience": self.limits.scroll.as_millis() as u64,
        });
        // Scrolling ends by itself; a page that keeps it from ending does not rest.
        let until = Instant::now() + self.limits.scroll + self.limits.answer;
        self.tab.run(include_str!("script/scroll.js"), scroll, until).await?;
        self.tab.rest(end.max(Instant::now() + self.limits.quiet)).await?;
        self.smooth().await?; // what came meanwhile
        let until = Instant::now() + self.limits.answer;
        let seen = self.tab.run(include_str!("script/finish.js"), json!({ "patience": 2000 }), until).await?;
        self.judge()?;
        Ok(seen)
    }

    /// Takes out of the way what is for a reader at a window only: questions about cookies, and boxes that scroll.
    async fn smooth(&mut self) -> Result<(), PageError> {
        let until = Instant::now() + self.limits.answer;
        self.tab.run(include_str!("script/consent.js"), json!({}), until).await?;
        let unfold = json!({ "height": self.limits.height });
        self.tab.run(include_str!("script/unfold.js"), unfold, until).await?;
        Ok(())
    }

    /// Why a page's own HTML did not come to its end.
    fn judge_time(&self) -> PageError {
        if self.ledger.is_spent() {
            PageError::TooMuchTraffic(self.limits.traffic)
        } else if self.tab.watch.document.broken {
            PageError::Unreachable
        } else {
            PageError::NeverLoaded(self.limits.settle)
        }
    }

    fn judge(&self) -> Result<(), PageError> {
        let closed = |host: &str, port: u16| self.ledger.closed(host, port);
        document_check::on(&self.tab.watch.document, closed).map_err(|error| {
            if self.ledger.is_spent() { PageError::TooMuchTraffic(self.limits.traffic) } else { error }
        })
    }

    /// Keeps the page from changing between one strip and the next, and measures it.
    async fn hold(&mut self, seen: &Value, document: u32) -> Result<Still, PageError> {
        self.tab.ask("Page.stopLoading", json!({})).await?;
        self.tab.ask("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await?;
        self.tab.ask("Animation.enable", json!({})).await?;
        self.tab.ask("Animation.setPlaybackRate", json!({ "playbackRate": 0 })).await?;
        let metrics = self.tab.ask("Page.getLayoutMetrics", json!({})).await?;
        let height = metrics["cssContentSize"]["height"].as_f64().unwrap_or_default().ceil() as u32;
        let height = height.clamp(1, self.limits.height);
        let size = Size { width: self.limits.width * self.limits.scale, height: height * self.limits.scale };
        Ok(Still {
            size,
            title: Title::of_page(seen["title"].as_str().unwrap_or_default()),
            url: seen["url"].as_str().unwrap_or_default().to_owned(),
            height,
            document,
        })
    }

    /// Captures the page strip by strip into `out`, and tells `on_strip` how many of how many are written.
    pub(super) async fn capture(
        &mut self,
        still: &Still,
        out: &mut (impl AsyncWrite + Unpin),
        mut on_strip: impl FnMut(u32, u32),
    ) -> Result<(), PageError> {
        screenshot_writer::begin(out, still.size).await?;
        let height = self.limits.strip_height();
        let strips = still.height.div_ceil(height);
        for strip in 0..strips {
            let top = strip * height;
            let png = self.strip(top, height.min(still.height - top)).await?;
            if self.tab.watch.documents != still.document {
                return Err(PageError::NeverLoaded(self.limits.settle));
            }
            screenshot_writer::push(out, &png).await?;
            on_strip(strip + 1, strips);
        }
        out.flush().await?;
        Ok(())
    }

    async fn strip(&mut self, top: u32, height: u32) -> Result<Vec<u8>, PageError> {
        let capture = json!({
            "format": "png",
            "optimizeForSpeed": true, // twice as many bytes, which nobody keeps
            "captureBeyondViewport": true,
            "clip": { "x": 0, "y": top, "width": self.limits.width, "height": height, "scale": 1 },
        });
        let captured = self.tab.ask("Page.captureScreenshot", capture).await?;
        let png = captured["data"].as_str().and_then(|data| BASE64_STANDARD.decode(data).ok());
        png.ok_or_else(|| PageError::Command("Page.captureScreenshot: no picture".to_owned()))
    }
}
