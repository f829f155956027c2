//! What the service has to be told. Where the values come from is the command line's business.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use edgezoom_content::AddressPolicy;
use url::Url;

use crate::browser::PageLimits;
use crate::limits::Limits;
use crate::renderer::RenderOptions;
use crate::s3::S3Settings;
use crate::secret::Secret;

/// What the service has to be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Worker's address, for its internal calls.
    pub edge_url: Url,
    /// The bearer token for them.
    pub tiler_token: Secret,
    /// The queue's address, to which `/messages/pull` and `/messages/ack` are added.
    pub queue_url: Url,
    /// The bearer token for it.
    pub queue_token: Secret,
    /// Where pyramids are put.
    pub store: S3Settings,
    /// Which addresses sources may be downloaded from.
    pub policy: AddressPolicy,
    /// Where health and metrics are answered.
    pub listen: SocketAddr,
    /// How many conversions are done at once. Each has a renderer process of its own.
    pub jobs: NonZeroUsize,
    /// How long to wait before an empty queue is asked again. Cloudflare counts each ask among the 1,200 calls that an
    /// account has in 5 minutes: at a second, a tiler takes a quarter of them.
    pub poll: Duration,
    /// How many tiles of a conversion are under way to the store at once.
    pub uploads: NonZeroUsize,
    /// The browser for web pages. `None` looks for the usual ones.
    pub browser: Option<PathBuf>,
    /// What a web page may cost.
    pub page_limits: PageLimits,
    /// Where sources are kept while they are converted.
    pub temporary: PathBuf,
    /// What a conversion may take.
    pub limits: Limits,
    /// How pyramids are made.
    pub render: RenderOptions,
}
