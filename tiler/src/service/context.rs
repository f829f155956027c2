//! What all jobs of the service share: its clients, its pipeline, and its counts.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use edgezoom_content::protocol::{Capacity, TilerId};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::edge_client::EdgeClient;
use super::error::ServeError;
use super::fleet::Fleet;
use super::latest_backlog::LatestBacklog;
use super::metrics::{Load, Metrics};
use super::pull_monitor::PullMonitor;
use super::queue_client::QueueClient;
use super::settings::Settings;
use crate::pipeline::{Pipeline, PipelineSettings};
use crate::renderer::RenderOptions;
use crate::s3::{Layout, S3Store, UploadedFileLimits};

/// What all jobs of the service share.
pub(super) struct ServiceContext {
    /// Which tiler this is.
    pub tiler: TilerId,
    pub queue: QueueClient,
    pub edge: EdgeClient,
    pub store: S3Store,
    pub pipeline: Pipeline,
    pub render: RenderOptions,
    /// Where files that clients have sent lie while they are converted, and what they may cost.
    pub temporary: PathBuf,
    pub file_limits: UploadedFileLimits,
    /// How pyramids are stored.
    pub layout: Layout,
    /// The tiles of a job that are sent to the store at once.
    pub uploads: NonZeroUsize,
    /// The pause after a pull that gave no message, and the calls that all tilers may make.
    pub poll_interval: Duration,
    pub api_calls: u32,
    /// A permit for each job: for a renderer process with up to
    /// [`Limits::renderer_memory`](crate::limits::Limits::renderer_memory), and a source on disk. A job holds its permit
    /// until it has cleaned up.
    pub slots: Arc<Semaphore>,
    /// The permits in all.
    pub capacity: usize,
    pub backlog: LatestBacklog,
    pub metrics: Metrics,
    pub pulls: PullMonitor,
    pub fleet: Fleet,
    /// Nothing more is pulled; what runs goes on.
    pub stopping: CancellationToken,
    /// What runs is handed back.
    pub shutdown: CancellationToken,
}

impl ServiceContext {
    pub(super) async fn new(settings: Settings, stopping: CancellationToken) -> Result<Self, ServeError> {
        let temporary = settings.temporary.clone();
        let file_limits =
            UploadedFileLimits { bytes: settings.limits.source_bytes, stall: settings.limits.stall };
        let pipeline = Pipeline::new(PipelineSettings {
            policy: settings.policy,
            browser: settings.browser,
            page_limits: settings.page_limits,
            temporary: settings.temporary,
            limits: settings.limits,
            bot: settings.bot,
        });
        pipeline.prepare().await?;
        let tiler = TilerId(fastrand::u32(..));
        let slots = settings.jobs.get();
        let capacity = Capacity { tiler, slots: slots.try_into().unwrap_or(u32::MAX) };
        Ok(Self {
            tiler,
            queue: QueueClient::new(settings.queue_url, settings.queue_token)?,
            edge: EdgeClient::new(settings.edge_url, settings.tiler_token)?,
            store: S3Store::new(&settings.store),
            pipeline,
            render: settings.render,
            temporary,
            file_limits,
            layout: settings.layout,
            uploads: settings.uploads,
            poll_interval: settings.poll,
            api_calls: settings.api_calls,
            slots: Arc::new(Semaphore::new(slots)),
            capacity: slots,
            backlog: LatestBacklog::new(capacity),
            metrics: Metrics::new(),
            pulls: PullMonitor::default(),
            fleet: Fleet::default(),
            stopping,
            shutdown: CancellationToken::new(),
        })
    }

    /// How much there is to do.
    pub(super) fn load(&self) -> Load {
        let queued = self.backlog.subscribe().borrow().messages;
        Load { running: self.running(), slots: self.capacity, queued, tilers: self.fleet.tilers() }
    }

    /// The number of jobs under way.
    pub(super) fn running(&self) -> usize {
        self.capacity - self.slots.available_permits()
    }
}
