//! What all jobs of the service share: its clients, its pipeline, and its counts.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use edgezoom_content::protocol::TilerId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::edge_client::EdgeClient;
use super::error::ServeError;
use super::latest_backlog::LatestBacklog;
use super::metrics::{Load, Metrics};
use super::pull_monitor::PullMonitor;
use super::queue_client::QueueClient;
use super::settings::Settings;
use crate::pipeline::{Pipeline, PipelineSettings};
use crate::renderer::RenderOptions;
use crate::s3::{Layout, S3Store};

/// What all jobs of the service share.
pub(super) struct ServiceContext {
    /// Which tiler this is.
    pub tiler: TilerId,
    pub queue: QueueClient,
    pub edge: EdgeClient,
    pub store: S3Store,
    pub pipeline: Pipeline,
    pub render: RenderOptions,
    /// How pyramids are stored.
    pub layout: Layout,
    /// The tiles of a job that are sent to the store at once.
    pub uploads: NonZeroUsize,
    /// The pause after a pull that gave no message.
    pub poll_interval: Duration,
    /// A permit for each job: for a renderer process with up to
    /// [`Limits::renderer_memory`](crate::limits::Limits::renderer_memory), and a source on disk. A job holds its permit
    /// until it has cleaned up.
    pub slots: Arc<Semaphore>,
    /// The permits in all.
    pub capacity: usize,
    pub backlog: LatestBacklog,
    pub metrics: Metrics,
    pub pulls: PullMonitor,
    pub shutdown: CancellationToken,
}

impl ServiceContext {
    pub(super) async fn new(settings: Settings, shutdown: CancellationToken) -> Result<Self, ServeError> {
        let pipeline = Pipeline::new(PipelineSettings {
            policy: settings.policy,
            browser: settings.browser,
            page_limits: settings.page_limits,
            temporary: settings.temporary,
            limits: settings.limits,
        });
        pipeline.prepare().await?;
        Ok(Self {
            tiler: TilerId(fastrand::u32(..)),
            queue: QueueClient::new(settings.queue_url, settings.queue_token)?,
            edge: EdgeClient::new(settings.edge_url, settings.tiler_token)?,
            store: S3Store::new(&settings.store),
            pipeline,
            render: settings.render,
            layout: settings.layout,
            uploads: settings.uploads,
            poll_interval: settings.poll,
            slots: Arc::new(Semaphore::new(settings.jobs.get())),
            capacity: settings.jobs.get(),
            backlog: LatestBacklog::default(),
            metrics: Metrics::new(),
            pulls: PullMonitor::default(),
            shutdown,
        })
    }

    /// How much there is to do.
    pub(super) fn load(&self) -> Load {
        let queued = self.backlog.subscribe().borrow().messages;
        Load { running: self.running(), slots: self.capacity, queued }
    }

    /// The number of jobs under way.
    pub(super) fn running(&self) -> usize {
        self.capacity - self.slots.available_permits()
    }
}
