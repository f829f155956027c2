//! `tiler serve`: pulls jobs from the queue, converts their sources, and tells the edge what became of them.
//!
//! A message is acknowledged as soon as its claim is granted, minutes before its job is done. The queue could keep it
//! invisible that long, but it would know nothing that the edge does not know better: the content's Durable Object has the
//! lease, renewed by every report, and its alarm queues the job again when we fall silent. So a tiler that is killed costs
//! a lease's time, and no message has to be guarded. What is pulled twice or late is refused at the claim.
//!
//! | file | what it does |
//! |---|---|
//! | [`pull`] | the loop: free places, pull, claim, start, settle |
//! | [`job`] | one claimed job from its source to its end |
//! | [`reporter`] | keeps the lease and tells the edge |
//! | [`progress`], [`backoff`], [`failure`] | what is decided: progress, pauses, failure codes. Pure |
//! | [`backlog`] | tells the edge how much waits |
//! | [`edge`], [`queue`], [`call`] | the other sides |
//! | [`health`], [`metrics`] | for whoever watches |

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::browser::{PageSettings, Pages};
use crate::fetch::Fetcher;
use crate::limits::Limits;
use crate::renderer::RenderOptions;
use crate::s3::S3Store;

mod backlog;
mod backoff;
mod call;
mod edge;
mod failure;
mod health;
mod job;
mod metrics;
mod progress;
mod pull;
mod queue;
mod reporter;
mod settings;

pub use settings::Settings;

/// The service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address for health and metrics is not to be had.
    #[error("EDGEZOOM_LISTEN: cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        reason: io::Error,
    },
    /// No HTTP client can be set up.
    #[error("no HTTP client can be set up: {0}")]
    Client(#[from] reqwest::Error),
    /// The path of the running program is not known, so browsers for web pages could not be kept.
    #[error("the program's own path is not known: {0}")]
    OwnPath(#[from] io::Error),
}

/// What all jobs share.
struct Workshop {
    queue: queue::Queue,
    edge: edge::Edge,
    store: S3Store,
    fetcher: Fetcher,
    pages: Pages,
    limits: Limits,
    render: RenderOptions,
    uploads: NonZeroUsize,
    poll: Duration,
    /// One permit is one conversion: a renderer process with up to [`Limits::renderer_memory`], and a source on disk. A
    /// job holds its permit until it has cleaned up.
    places: Arc<Semaphore>,
    capacity: usize,
    backlog: backlog::Latest,
    metrics: metrics::Metrics,
    pulse: health::Pulse,
    shutdown: CancellationToken,
}

/// How long everything may take to come to an end when the service shuts down. What is not done then is left to the leases.
const WINDING_UP: Duration = Duration::from_secs(6);

/// Serves until `shutdown` is cancelled. Jobs under way are handed back then, and all is over within seconds.
///
/// # Errors
/// It could not start. Once it runs, nothing ends it but `shutdown`.
pub async fn run(settings: Settings, shutdown: CancellationToken) -> Result<(), ServeError> {
    let address = settings.listen;
    let listener =
        TcpListener::bind(address).await.map_err(|reason| ServeError::Listen { address, reason })?;
    let workshop = Arc::new(Workshop::new(settings, shutdown.clone())?);
    info!(listen = %listener.local_addr().unwrap_or(address), jobs = workshop.capacity, "tiler serves");

    let watch = tokio::spawn(health::serve(listener, Arc::clone(&workshop)));
    let telling = Arc::clone(&workshop);
    let telling = tokio::spawn(async move { backlog::keep_telling(&telling).await });
    let out_of_time = async {
        shutdown.cancelled().await;
        info!("shutting down");
        tokio::time::sleep(WINDING_UP).await;
    };
    tokio::select! {
        () = pull::run(workshop) => info!("shut down"),
        () = out_of_time => warn!("not everything came to an end in time; leases will run out"),
    }
    watch.abort();
    telling.abort();
    Ok(())
}

impl Workshop {
    fn new(settings: Settings, shutdown: CancellationToken) -> Result<Self, ServeError> {
        Ok(Self {
            queue: queue::Queue::new(settings.queue_url, settings.queue_token)?,
            edge: edge::Edge::new(settings.edge_url, settings.tiler_token)?,
            store: S3Store::new(&settings.store),
            pages: Pages::new(PageSettings {
                browser: settings.browser,
                limits: settings.page_limits,
                ..PageSettings::new(settings.policy.clone(), settings.temporary.clone())
            })?,
            fetcher: Fetcher::new(settings.policy, settings.limits.clone(), settings.temporary)?,
            limits: settings.limits,
            render: settings.render,
            uploads: settings.uploads,
            poll: settings.poll,
            places: Arc::new(Semaphore::new(settings.jobs.get())),
            capacity: settings.jobs.get(),
            backlog: backlog::Latest::default(),
            metrics: metrics::Metrics::new(),
            pulse: health::Pulse::default(),
            shutdown,
        })
    }

    /// How many jobs are under way.
    fn running(&self) -> usize {
        self.capacity - self.places.available_permits()
    }
}
