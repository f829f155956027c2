//! Converts a source into a pyramid. `tiler serve` and `tiler convert` share this one path:
//!
//! ```text
//! URL ─ download ─┬─ picture, document ───────────────┬─ renderer process ─ sink
//! file ───────────┴─ HTML ─ browser ─ screenshots ────┘
//!                            └─ a page that navigates to a picture or document: download that
//! ```
//! The description of a picture, which IIIF viewers open, leads to a download, too, or to several of [tiles](stitching).
//!
//! [`unpacking`] removes what a server or a person has packed the source in. [`source`] opens it; [`render`] renders it, while it is still being downloaded if its format permits that.
//! Tiles go to a [`TileSink`], and a closure receives the [`Progress`]. The pipeline does not know queues, leases,
//! reports or progress bars.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use edgezoom_content::{AddressPolicy, Damage, Dzi, Finished, Scale, Size, SourceUrl};
use tokio::sync::{OnceCell, watch};

use crate::bot::BotSettings;
use crate::browser::{PageError, PageLimits, PageSettings, Pages};
use crate::credentials::Access;
use crate::fetch::Fetcher;
use crate::limits::Limits;
use crate::renderer::{Built, Labels, RenderOptions};
use crate::s3::{Places, TileSink};

mod download;
mod error;
mod render;
mod source;
mod stitching;
mod unpacking;

pub use error::PipelineError;
pub use stitching::StitchSettings;

/// Settings of a pipeline.
#[derive(Clone, Debug)]
pub struct PipelineSettings {
    /// Addresses that sources may be downloaded from and web pages may connect to.
    pub policy: AddressPolicy,
    /// Browser for web pages; `None` selects the first common one that is installed.
    pub browser: Option<PathBuf>,
    /// Limits of a web page.
    pub page_limits: PageLimits,
    /// Directory for temporary source files (unlinked) and browser profiles.
    pub temporary: PathBuf,
    /// Limits of a conversion.
    pub limits: Limits,
    /// Behaviour towards the servers of sources.
    pub bot: BotSettings,
    /// Hosts whose tiles may be put together, and the pause between requests for them.
    pub stitching: StitchSettings,
    /// Headers and cookies for the origins of sources.
    pub access: Access,
}

/// Converts sources. A process needs only one.
pub struct Pipeline {
    settings: PipelineSettings,
    // Created on first use: converting a local picture needs neither an HTTP client nor a browser.
    fetcher: OnceCell<Arc<Fetcher>>,
    pages: OnceCell<Pages>,
}

/// Location of a source.
#[derive(Debug)]
pub enum Origin {
    /// URL on the web.
    Url(SourceUrl),
    /// Path of a local file.
    File(PathBuf),
    /// Uploaded file, positioned at its start.
    Upload(File),
}

/// Kind of a source, as far as it determines how long the conversion takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// It has pixels of its own.
    Picture,
    /// A PDF or SVG.
    Document,
    /// A web page, which a browser renders.
    Page,
}

/// Progress of a conversion. While a picture is rendered during its download, both kinds of progress alternate. If the
/// source changes meanwhile, rendering starts over. A web page that navigates to a picture or document goes back from
/// loading to downloading, and a description begins another download.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// More of the source has arrived.
    Downloading {
        /// Bytes received so far.
        bytes: u64,
        /// Length that the server announced, if any.
        announced: Option<u64>,
    },
    /// The download is complete.
    Downloaded {
        /// Size of the source.
        bytes: u64,
    },
    /// The kind of source is known, and rendering is about to start.
    Opened(SourceKind),
    /// The browser has been loading the web page for this time.
    LoadingPage(Duration),
    /// The picture's size is known, and with it the number of tiles; or the tiles turn out to be large.
    Sized {
        /// Number of tiles of the pyramid, or a multiple if they count as more.
        tiles: u64,
    },
    /// The renderer is running.
    Rendering {
        /// Share of the picture's rows that have been read, from 0 to 1.
        rows: f64,
        /// True if the picture is a web page that is being captured at the same time.
        is_web_page: bool,
    },
    /// A small JPEG of the picture as far as it has been read. Not all conversions provide one.
    Coarse(Bytes),
    /// The renderer has produced all tiles.
    Rendered,
    /// The sink is storing the last tiles.
    Publishing {
        /// Tiles that are not stored yet.
        missing: usize,
        /// Tiles that were not stored when rendering ended.
        of: usize,
    },
    /// The pyramid is complete in the sink.
    Published,
}

/// A finished conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted<P> {
    /// Description of the picture.
    pub dzi: Dzi,
    /// Title and credits.
    pub labels: Labels,
    /// The part that a damaged source lacks.
    pub damage: Option<Damage>,
    /// Physical size of a pixel.
    pub scale: Option<Scale>,
    /// Value that the sink returned.
    pub published: P,
}

impl Converted<Places> {
    /// Returns the result as it is reported.
    #[must_use]
    pub fn finished(self) -> Finished {
        let Self { dzi, labels, damage, scale, published } = self;
        let Places { archive, previews, text, vectors } = published;
        let Labels { title, credits } = labels;
        Finished { dzi, title, credits, damage, scale, text, vectors, archive, previews }
    }
}

impl Pipeline {
    /// Creates a pipeline. Does nothing else yet.
    #[must_use]
    pub fn new(settings: PipelineSettings) -> Self {
        Self { settings, fetcher: OnceCell::new(), pages: OnceCell::new() }
    }

    /// Creates the HTTP client and looks for the browser, so that a service fails at startup if something is missing.
    ///
    /// # Errors
    /// The HTTP client cannot be created.
    pub async fn prepare(&self) -> reqwest::Result<()> {
        self.fetcher().await?;
        self.pages().await;
        Ok(())
    }

    /// Returns a receiver of the number of conversions that wait because the maximum number of web pages is open.
    pub async fn waiting_pages(&self) -> watch::Receiver<usize> {
        self.pages().await.waiting()
    }

    /// Converts a source into a pyramid in `sink`. Dropping the future at any point ends the renderer process and the
    /// browser, and leaves the sink as it is.
    ///
    /// # Errors
    /// The source could not be converted. The sink may have received tiles.
    pub async fn convert<S: TileSink>(
        &self,
        origin: Origin,
        options: &RenderOptions,
        sink: &mut S,
        mut on_progress: impl FnMut(Progress) + Send,
    ) -> Result<Converted<S::Published>, PipelineError> {
        let has_options = matches!(&origin, Origin::Url(url) if url.capture().needs_page());
        let mut source = self.open_source(origin, options.drawing.page, &mut on_progress).await?;
        if has_options && source.kind != SourceKind::Page {
            return Err(PageError::OptionsWithoutPage.into());
        }
        on_progress(Progress::Opened(source.kind));
        let (mut labels, stated) = (std::mem::take(&mut source.labels), source.stated);
        let described = labels.credits.take().unwrap_or_default();
        let mut options = *options;
        options.drawing.page = source.document_page;
        let mut built = self.render(source, &options, sink, &mut labels, &mut on_progress).await?;
        labels.credits = described.or(*labels.credits.take().unwrap_or_default()).some().map(Box::new);
        built.damage = built.damage.or_else(|| smaller(built.dzi.size, stated?));
        on_progress(Progress::Rendered);
        let on_stored = |missing, of| on_progress(Progress::Publishing { missing, of });
        let published = sink.publish(&built, &labels, on_stored).await?;
        on_progress(Progress::Published);
        let Built { dzi, damage, scale } = built;
        Ok(Converted { dzi, labels, damage, scale, published })
    }

    async fn fetcher(&self) -> reqwest::Result<&Arc<Fetcher>> {
        let PipelineSettings { policy, limits, temporary, bot, .. } = &self.settings;
        self.fetcher
            .get_or_try_init(async || {
                Fetcher::new(policy.clone(), limits.clone(), temporary.clone(), bot.clone()).map(Arc::new)
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

/// Returns what a picture lacks of the size that its description states. It may be turned.
fn smaller(shown: Size, stated: Size) -> Option<Damage> {
    let side = |size: Size| size.width.max(size.height);
    (side(shown) < side(stated)).then_some(Damage::Smaller(side(stated)))
}
