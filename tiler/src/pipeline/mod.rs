//! From a source to a pyramid: the one path that `tiler serve` and `tiler convert` share.
//!
//! ```text
//! URL ─ download ─┬─ picture, document ───────────────┬─ renderer process ─ sink
//! file ───────────┴─ HTML ─ browser ─ screenshots ────┘
//!                            └─ a page that goes on to a picture or document: download that
//! ```
//!
//! A picture whose format gives its rows in order is rendered while it is downloaded ([`early`]).
//! [`Pipeline::convert`] walks it. Where the tiles go is up to a [`TileSink`], and how far the conversion has come is
//! passed to a closure as [`Progress`]. The pipeline knows nothing of queues, leases, reports or progress bars.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use edgezoom_content::{AddressPolicy, Dzi, SourceUrl, Title, Warning};
use tokio::sync::OnceCell;

use crate::bot::BotSettings;
use crate::browser::{PageLimits, PageSettings, Pages};
use crate::fetch::Fetcher;
use crate::limits::Limits;
use crate::renderer::RenderOptions;

mod download;
mod early;
mod error;
mod progress;
mod render;
mod sink;
mod source;

pub use error::{PipelineError, SetupError, SinkError};
pub use progress::{Progress, SourceKind};
pub use sink::TileSink;

/// What a pipeline is made from.
#[derive(Clone, Debug)]
pub struct PipelineSettings {
    /// The addresses that sources may be downloaded from, and that web pages may connect to.
    pub policy: AddressPolicy,
    /// The browser for web pages. `None`: the first of the usual ones.
    pub browser: Option<PathBuf>,
    /// What a web page may cost.
    pub page_limits: PageLimits,
    /// The directory for sources and browser profiles during a conversion.
    pub temporary: PathBuf,
    /// What a conversion may cost.
    pub limits: Limits,
    /// How it behaves towards the servers of sources.
    pub bot: BotSettings,
}

/// Converts sources. A program needs only one.
pub struct Pipeline {
    settings: PipelineSettings,
    // Set up when first needed: to convert a local picture takes neither an HTTP client nor a browser.
    fetcher: OnceCell<Arc<Fetcher>>,
    pages: OnceCell<Pages>,
}

/// Where a source is.
#[derive(Debug)]
pub enum Origin {
    /// On the web.
    Url(SourceUrl),
    /// In a local file.
    File(PathBuf),
    /// In a file that a client has sent, positioned at its start.
    Upload(File),
}

/// A finished conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The pyramid in the sink.
    pub dzi: Dzi,
    /// The title of a web page.
    pub title: Option<Title>,
    /// What is missing of a source that is damaged.
    pub warning: Option<Warning>,
}

impl Pipeline {
    /// A pipeline with these settings. Does nothing yet.
    #[must_use]
    pub fn new(settings: PipelineSettings) -> Self {
        Self { settings, fetcher: OnceCell::new(), pages: OnceCell::new() }
    }

    /// Sets up the HTTP client and looks for the browser, so that a service learns at its start what is missing.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub async fn prepare(&self) -> Result<(), SetupError> {
        self.fetcher().await?;
        self.pages().await;
        Ok(())
    }

    /// Converts a source into a pyramid in `sink`. The future may be dropped at any point: that ends the renderer process
    /// and the browser, and leaves the sink as it is.
    ///
    /// # Errors
    /// Why there is no pyramid. The sink may have received tiles.
    pub async fn convert(
        &self,
        origin: Origin,
        options: &RenderOptions,
        sink: &mut impl TileSink,
        mut on_progress: impl FnMut(Progress) + Send,
    ) -> Result<Converted, PipelineError> {
        let mut source = self.open_source(origin, &mut on_progress).await?;
        on_progress(Progress::Opened(source.kind));
        let title = source.title.take();
        let mut options = *options;
        options.drawing.page = options.drawing.page.or(source.document_page);
        let (dzi, damage) = self.render_source(source, &options, sink, &mut on_progress).await?;
        on_progress(Progress::Rendered);
        sink.publish(&dzi, |missing, of| on_progress(Progress::Publishing { missing, of })).await?;
        on_progress(Progress::Published);
        let warning = damage.and_then(|damage| Warning::of_text(&damage.to_string()));
        Ok(Converted { dzi, title, warning })
    }

    async fn fetcher(&self) -> Result<&Arc<Fetcher>, SetupError> {
        let PipelineSettings { policy, limits, temporary, bot, .. } = &self.settings;
        self.fetcher
            .get_or_try_init(async || {
                Fetcher::of_bot(policy.clone(), limits.clone(), temporary.clone(), bot.clone())
                    .map(Arc::new)
                    .map_err(SetupError::HttpClient)
            })
            .await
    }

    async fn pages(&self) -> &Pages {
        let PipelineSettings { policy, browser, page_limits, temporary, bot, .. } = &self.settings;
        self.pages
            .get_or_init(async || {
                let settings = PageSettings {
                    browser: browser.clone(),
                    limits: page_limits.clone(),
                    bot: bot.clone(),
                    ..PageSettings::new(policy.clone(), temporary.clone())
                };
                Pages::new(settings)
            })
            .await
    }
}
