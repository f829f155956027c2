//! `tiler serve`: pulls jobs from the queue, converts their sources, and reports to the edge.
//!
//! A message is acknowledged as soon as its claim is granted, minutes before its job is done. The queue could hide the
//! message for that long, but the content's Durable Object knows more: every report renews the lease that it granted,
//! and its alarm queues the job again if the reports stop. So a killed tiler costs the time of one lease, and no tiler
//! needs to renew a message's visibility. The edge refuses the claim of a message that is delivered twice or late.
//!
//! | file | purpose |
//! |---|---|
//! | [`pull_loop`], [`call_pace`] | pulls messages for free slots, claims them, starts jobs, settles the messages |
//! | [`job`], [`coarse`] | converts the source of one claimed job; deletes its objects if it fails |
//! | [`reporter`], [`job_progress`] | reports progress and the result to the edge, which renews the lease |
//! | [`phase_times`], [`metrics`] | measures jobs |
//! | [`lending`] | lends the slots of web pages that wait to other jobs |
//! | [`backlog`] | reports the length of the queue to the edge, which counts the tilers |
//! | [`edge_client`], [`queue_client`], [`api_client`] | make HTTP calls to the edge and the queue |
//! | [`health`] | serves `/health`, `/ready` and `/metrics` |
//! | [`context`] | the settings, and what all jobs share |

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

mod api_client;
mod backlog;
mod call_pace;
mod coarse;
mod context;
mod edge_client;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod health;
mod job;
mod job_progress;
mod lending;
mod metrics;
mod phase_times;
mod pull_loop;
mod queue_client;
mod reporter;

use context::ServiceContext;
pub use context::Settings;
pub(crate) use metrics::MEDIA_TYPE as OPEN_METRICS;

/// The reason why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address for health and metrics cannot be bound.
    #[error("EDGEZOOM_LISTEN: cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error of the operating system.
        reason: io::Error,
    },
    /// An HTTP client cannot be created.
    #[error("cannot create an HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// Time limit for handing back jobs. The edge queues the others again when their leases expire.
const SHUTDOWN_TIME: Duration = Duration::from_secs(6);

/// Serves until `stopping` is cancelled, or there has been no job for the time of [`Settings::exit_when_idle`]. Then it
/// stops pulling, and running jobs have the time of [`Settings::drain`] to finish. The remaining ones are handed back,
/// which takes a few seconds.
///
/// # Errors
/// The service cannot start. Once it runs, only `stopping` ends it.
pub async fn run(settings: Settings, stopping: CancellationToken) -> Result<(), ServeError> {
    let (address, drain) = (settings.listen, settings.drain);
    let listener =
        TcpListener::bind(address).await.map_err(|reason| ServeError::Listen { address, reason })?;
    let context = Arc::new(ServiceContext::new(settings, stopping.clone()).await?);
    info!(listen = %listener.local_addr().unwrap_or(address), jobs = context.capacity(), "tiler serves");

    let health = tokio::spawn(health::serve(listener, Arc::clone(&context)));
    let backlog_context = Arc::clone(&context);
    let backlog = tokio::spawn(async move { backlog::keep_reporting(&backlog_context).await });
    let lending_context = Arc::clone(&context);
    let lending = tokio::spawn(async move { lending::lend(&lending_context).await });
    let hand_back = context.shutdown.clone();
    let out_of_time = async {
        stopping.cancelled().await;
        info!(running = context.running(), "shutting down");
        context.backlog.leave();
        tokio::time::sleep(drain).await;
        hand_back.cancel();
        tokio::time::sleep(SHUTDOWN_TIME).await;
    };
    tokio::select! {
        () = pull_loop::run(Arc::clone(&context)) => info!("shut down"),
        () = out_of_time => warn!("some jobs were not handed back in time; their leases will expire"),
    }
    health.abort();
    backlog.abort();
    lending.abort();
    backlog::say_goodbye(&context).await;
    Ok(())
}
