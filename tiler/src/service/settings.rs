//! The settings of the service. The command line gives them their values.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use edgezoom_content::AddressPolicy;
use url::Url;

use crate::bot::BotSettings;
use crate::browser::PageLimits;
use crate::limits::Limits;
use crate::renderer::RenderOptions;
use crate::s3::{Layout, S3Settings};
use crate::secret::Secret;

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Worker's address, for the calls under `/internal/`.
    pub edge_url: Url,
    /// The bearer token for these calls.
    pub tiler_token: Secret,
    /// The queue's address, to which `/messages/pull` and `/messages/ack` are added.
    pub queue_url: Url,
    /// The bearer token for the queue.
    pub queue_token: Secret,
    /// The store for pyramids.
    pub store: S3Settings,
    /// The addresses that sources may be downloaded from.
    pub policy: AddressPolicy,
    /// The address for `/health`, `/ready` and `/metrics`.
    pub listen: SocketAddr,
    /// The conversions at once. Each has a renderer process of its own.
    pub jobs: NonZeroUsize,
    /// The pause after a pull that gave no message, while few enough tilers share the account's calls.
    pub poll: Duration,
    /// The calls of the account's API in 5 minutes that all its tilers may make together; 0: as many as they like.
    pub api_calls: u32,
    /// How long jobs may go on after the shutdown began, before they are handed back.
    pub drain: Duration,
    /// How pyramids are stored.
    pub layout: Layout,
    /// The tiles of a conversion that are sent to the store at once, at most.
    pub uploads: NonZeroUsize,
    /// The browser for web pages. `None`: the first of the usual ones.
    pub browser: Option<PathBuf>,
    /// How it behaves towards the servers of sources.
    pub bot: BotSettings,
    /// What a web page may cost.
    pub page_limits: PageLimits,
    /// The directory for sources during their conversion.
    pub temporary: PathBuf,
    /// What a conversion may cost.
    pub limits: Limits,
    /// How pyramids are rendered.
    pub render: RenderOptions,
}
