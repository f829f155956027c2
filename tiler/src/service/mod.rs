//! `tiler serve`: pulls jobs from the queue, converts their sources, and reports to the edge.
//!
//! A message is acknowledged as soon as its claim is granted, minutes before its job is done. The queue could keep the
//! message invisible for that long, but the content's Durable Object knows more: it has the lease, which every report
//! renews, and its alarm queues the job again when the reports stop. So a tiler that is killed costs the time of a lease,
//! and the tiler need not renew the message's visibility. A message that is pulled twice or late is refused at the claim.
//!
//! | file | what it does |
//! |---|---|
//! | [`pull_loop`], [`intake`], [`call_pace`] | pulls messages for free slots, claims them, starts jobs, settles the messages |
//! | [`job`], [`cleanup`] | one claimed job from its source to its last report; deletes its objects when it fails |
//! | [`reporter`], [`report_interval`] | reports progress and the result to the edge, which renews the lease |
//! | [`job_progress`] | progress of all steps as one figure |
//! | [`phase_times`], [`metrics`] | what is measured of a job |
//! | [`backlog`], [`latest_backlog`], [`fleet`] | reports the length of the queue to the edge, which counts the tilers |
//! | [`edge_client`], [`queue_client`], [`api_client`] | HTTP calls to the edge and the queue |
//! | [`health`], [`pull_monitor`], [`readiness`] | answers `/health`, `/ready` and `/metrics` |

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

mod api_client;
mod backlog;
mod call_pace;
mod cleanup;
mod coarse;
mod context;
mod edge_client;
mod error;
mod fleet;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod health;
mod intake;
mod job;
mod job_progress;
mod latest_backlog;
mod metrics;
mod phase_times;
mod pull_loop;
mod pull_monitor;
mod queue_client;
mod readiness;
mod report_interval;
mod reporter;
mod settings;

use context::ServiceContext;
pub use error::ServeError;
pub use settings::Settings;

/// How long handing back may take. Jobs that are not handed back by then are queued again when their leases run out.
const SHUTDOWN_TIME: Duration = Duration::from_secs(6);

/// Serves until `stopping` is cancelled. Then nothing more is pulled, and jobs under way may end for as long as
/// [`Settings::drain`] says. What is left of them is handed back, which takes a few seconds.
///
/// # Errors
/// The service cannot start. Once it runs, only `stopping` ends it.
pub async fn run(settings: Settings, stopping: CancellationToken) -> Result<(), ServeError> {
    let (address, drain) = (settings.listen, settings.drain);
    let listener =
        TcpListener::bind(address).await.map_err(|reason| ServeError::Listen { address, reason })?;
    let context = Arc::new(ServiceContext::new(settings, stopping.clone()).await?);
    info!(listen = %listener.local_addr().unwrap_or(address), jobs = context.capacity, "tiler serves");

    let health = tokio::spawn(health::serve(listener, Arc::clone(&context)));
    let backlog_context = Arc::clone(&context);
    let backlog = tokio::spawn(async move { backlog::keep_reporting(&backlog_context).await });
    let hand_back = context.shutdown.clone();
    let out_of_time = async {
        stopping.cancelled().await;
        info!(running = context.running(), "shutting down");
        tokio::time::sleep(drain).await;
        hand_back.cancel();
        tokio::time::sleep(SHUTDOWN_TIME).await;
    };
    tokio::select! {
        () = pull_loop::run(Arc::clone(&context)) => info!("shut down"),
        () = out_of_time => warn!("some jobs were not handed back in time; their leases will run out"),
    }
    health.abort();
    backlog.abort();
    Ok(())
}
