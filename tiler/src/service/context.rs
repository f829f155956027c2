//! The service's settings, and the state that its jobs share: clients, the pipeline, and this tiler's load.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use edgezoom_content::protocol::{Backlog, Capacity, TilerId};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::edge_client::EdgeClient;
use super::metrics::{Load, Metrics};
use super::queue_client::QueueClient;
use crate::pipeline::{Pipeline, PipelineSettings};
use crate::renderer::RenderOptions;
use crate::s3::{S3Settings, S3Store};
use crate::secret::Secret;

/// The settings of the service. The command line provides their values.
#[derive(Clone, Debug)]
pub struct Settings {
    /// URL of the Worker, for the calls under `/internal/`.
    pub edge_url: Url,
    /// Bearer token for these calls.
    pub tiler_token: Secret,
    /// URL of the queue, to which `/messages/pull` and `/messages/ack` are appended.
    pub queue_url: Url,
    /// Bearer token for the queue.
    pub queue_token: Secret,
    /// Object store for pyramids.
    pub store: S3Settings,
    /// Address for `/health`, `/ready` and `/metrics`.
    pub listen: SocketAddr,
    /// Maximum number of concurrent conversions. Each has a renderer process of its own.
    pub jobs: NonZeroUsize,
    /// Time without a job after which the service ends; `None` if it never does.
    pub exit_when_idle: Option<Duration>,
    /// Pause after a pull without messages, while few enough tilers share the account's calls.
    pub poll: Duration,
    /// Number of API calls that all tilers of the account may make together in 5 minutes; 0 for no limit.
    pub api_calls: u32,
    /// Time that running jobs have to finish after a shutdown began, before they are handed back.
    pub drain: Duration,
    /// Settings of the conversions.
    pub pipeline: PipelineSettings,
    /// Options of the pyramids.
    pub render: RenderOptions,
}

/// State that all jobs of the service share.
pub(super) struct ServiceContext {
    pub settings: Settings,
    /// Identifies this tiler.
    pub tiler: TilerId,
    pub queue: QueueClient,
    pub edge: EdgeClient,
    pub store: S3Store,
    pub pipeline: Pipeline,
    /// One permit per job: for a renderer process with up to
    /// [`Limits::renderer_memory`](crate::limits::Limits::renderer_memory), and a source on disk. A job holds its
    /// permit until it has cleaned up.
    pub slots: Arc<Semaphore>,
    /// Number of permits in addition, lent by jobs that wait ([`super::lending`]).
    pub lent: AtomicUsize,
    pub backlog: LatestBacklog,
    pub metrics: Metrics,
    pub pulls: PullMonitor,
    pub fleet: Fleet,
    /// Cancelled when the service stops pulling. Running jobs continue.
    pub stopping: CancellationToken,
    /// Cancelled when running jobs are handed back.
    pub shutdown: CancellationToken,
}

impl ServiceContext {
    pub(super) async fn new(settings: Settings, stopping: CancellationToken) -> reqwest::Result<Self> {
        let pipeline = Pipeline::new(settings.pipeline.clone());
        pipeline.prepare().await?;
        let tiler = TilerId(fastrand::u32(..));
        Ok(Self {
            tiler,
            queue: QueueClient::new(settings.queue_url.clone(), settings.queue_token.clone())?,
            edge: EdgeClient::new(settings.edge_url.clone(), settings.tiler_token.clone())?,
            store: S3Store::new(&settings.store),
            pipeline,
            slots: Arc::new(Semaphore::new(settings.jobs.get())),
            lent: AtomicUsize::new(0),
            backlog: LatestBacklog::new(tiler, settings.jobs),
            metrics: Metrics::new(),
            pulls: PullMonitor::default(),
            fleet: Fleet::default(),
            stopping,
            shutdown: CancellationToken::new(),
            settings,
        })
    }

    /// Returns the load of this tiler and of the queue.
    pub(super) fn load(&self) -> Load {
        let queued = self.backlog.subscribe().borrow().messages;
        Load { running: self.running(), slots: self.capacity(), queued, tilers: self.fleet.tilers() }
    }

    /// Returns the number of running jobs.
    pub(super) fn running(&self) -> usize {
        (self.capacity() + self.lent.load(Relaxed)).saturating_sub(self.slots.available_permits())
    }

    /// Returns the maximum number of concurrent jobs.
    pub(super) fn capacity(&self) -> usize {
        self.settings.jobs.get()
    }
}

/// The length of the queue at the last pull, and the capacity of this tiler.
pub(super) struct LatestBacklog(watch::Sender<Backlog>);

impl LatestBacklog {
    pub(super) fn new(tiler: TilerId, jobs: NonZeroUsize) -> Self {
        let capacity = Capacity { tiler, slots: jobs.get().try_into().unwrap_or(u32::MAX) };
        Self(watch::Sender::new(Backlog { messages: 0, capacity, leaving: false }))
    }

    /// Sets the length of the queue.
    pub(super) fn set(&self, messages: u64) {
        self.0.send_modify(|backlog| backlog.messages = messages);
    }

    /// Sets the number of jobs that the tiler takes.
    pub(super) fn set_slots(&self, slots: usize) {
        let slots = slots.try_into().unwrap_or(u32::MAX);
        self.0.send_if_modified(|backlog| std::mem::replace(&mut backlog.capacity.slots, slots) != slots);
    }

    /// Notes that the tiler takes no more jobs.
    pub(super) fn leave(&self) {
        self.0.send_modify(|backlog| backlog.leaving = true);
    }

    /// Returns a receiver that is notified of each new length.
    pub(super) fn subscribe(&self) -> watch::Receiver<Backlog> {
        self.0.subscribe()
    }
}

/// The edge's last response to a report: the number of tilers that share the queue, and the time.
#[derive(Default)]
pub(super) struct Fleet(Mutex<Option<(u32, Instant)>>);

impl Fleet {
    /// Records a response.
    pub(super) fn answered(&self, tilers: u32, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((tilers, now));
    }

    /// Returns the number of tilers that share the queue; at least 1.
    pub(super) fn tilers(&self) -> u32 {
        self.get().map_or(1, |(tilers, _)| tilers.max(1))
    }

    /// Returns the time of the last response.
    pub(super) fn answered_at(&self) -> Option<Instant> {
        self.get().map(|(_, at)| at)
    }

    fn get(&self) -> Option<(u32, Instant)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the pull loop, shared with the endpoints.
#[derive(Default)]
pub(super) struct PullMonitor(Mutex<PullState>);

/// The state of the pull loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum PullState {
    /// The queue has not responded yet.
    #[default]
    NeverPulled,
    /// The queue last responded at this time.
    Pulled(Instant),
    /// All slots are taken, so nothing is pulled until a job ends.
    AtCapacity,
}

impl PullMonitor {
    /// Records that the queue has responded.
    pub(super) fn pulled(&self) {
        self.set(PullState::Pulled(Instant::now()));
    }

    /// Records that all slots are taken.
    pub(super) fn at_capacity(&self) {
        self.set(PullState::AtCapacity);
    }

    fn set(&self, state: PullState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    pub(super) fn get(&self) -> PullState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
