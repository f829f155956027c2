//! The pull loop: pulls as many messages as there are free slots, claims each at the edge, starts a job for each claim that
//! is granted, and settles the messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::protocol::Claim;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::api_client::CallError;
use super::backoff::Backoff;
use super::queue_client::{Batch, Message, Settlement};
use super::{ServiceContext, job};

/// The pauses after failed calls, to the queue and to the edge alike: while the edge is away every message is given back,
/// and a queue discards a message that was delivered too often.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), max: Duration::from_secs(30) };

/// The longest pause that a `Retry-After` can bring about.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// When a message is delivered again whose claim the edge did not answer.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// How long a call may still take when the service shuts down. Messages that come with its answer are given back at once,
/// instead of being invisible until their visibility timeout is over.
const LAST_CALL_TIME: Duration = Duration::from_secs(1);

/// What came of the claim for a message.
enum ClaimResult {
    /// The job is to be started. With the time of the request.
    Granted(Claim, Instant),
    /// There is nothing to convert, now or later.
    NotNeeded,
    /// The edge did not answer.
    Unanswered(CallError),
    /// The service shuts down.
    ShuttingDown,
}

/// Pulls and starts jobs until the service shuts down and every job has ended.
pub(super) async fn run(context: Arc<ServiceContext>) {
    let mut jobs = JoinSet::new();
    let mut failures = 0;
    while let Some(free) = free_slots(&context).await {
        log_finished(&mut jobs);
        let pause = match pull_once(&context, free, &mut jobs).await {
            Ok(messages) => {
                failures = 0;
                if messages == 0 { context.poll_interval } else { Duration::ZERO }
            }
            Err(error) => {
                failures += 1;
                let retry_after = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
                BACKOFF.after(failures, fastrand::f64()).max(retry_after)
            }
        };
        tokio::select! {
            () = context.shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    while let Some(ended) = jobs.join_next().await {
        log_panic(ended);
    }
}

/// Waits until there is a free slot, and gives the number of them; `None` when the service shuts down.
async fn free_slots(context: &ServiceContext) -> Option<usize> {
    if context.slots.available_permits() == 0 {
        context.pulls.at_capacity();
    }
    tokio::select! {
        biased;
        () = context.shutdown.cancelled() => None,
        // Only this loop takes slots, so this one is still free when it is needed.
        slot = context.slots.acquire() => slot.ok().map(drop),
    }?;
    Some(context.slots.available_permits())
}

/// Pulls once, claims the messages, starts jobs, and settles the messages. Gives the number of messages.
async fn pull_once(
    context: &Arc<ServiceContext>,
    free: usize,
    jobs: &mut JoinSet<()>,
) -> Result<usize, CallError> {
    let Some(batch) = unless_late(&context.shutdown, context.queue.pull(free)).await else {
        return Ok(0);
    };
    let Batch { messages, backlog } = batch.inspect_err(|error| {
        context.metrics.pull_errors.inc();
        warn!(%error, "the queue cannot be pulled from");
    })?;
    context.pulls.pulled();
    if let Some(messages) = backlog {
        context.backlog.set(messages);
    }

    let count = messages.len();
    let mut settlement = Settlement::default();
    let mut unanswered = None;
    let mut claims: FuturesUnordered<_> = messages
        .into_iter()
        .map(async |message| {
            let result = claim(context, &message).await;
            (message.lease, result)
        })
        .collect();
    while let Some((lease, result)) = claims.next().await {
        match result {
            ClaimResult::Granted(claim, requested) => {
                start(context, claim, requested, jobs);
                settlement.ack(lease);
            }
            ClaimResult::NotNeeded => settlement.ack(lease),
            ClaimResult::Unanswered(error) => {
                settlement.retry(lease, RETRY_DELAY);
                unanswered = Some(error);
            }
            ClaimResult::ShuttingDown => settlement.retry(lease, Duration::ZERO),
        }
    }
    if !settlement.is_empty()
        && let Err(error) = context.queue.settle(&settlement).await
    {
        // The messages are delivered again, and the edge refuses their claims.
        warn!(%error, "messages could not be settled");
    }
    unanswered.map_or(Ok(count), Err)
}

/// Starts a job in a slot.
fn start(context: &Arc<ServiceContext>, claim: Claim, requested: Instant, jobs: &mut JoinSet<()>) {
    // `None` only when the queue gives more messages than requested. Then there is one job more than slots.
    let slot = Arc::clone(&context.slots).try_acquire_owned().ok();
    let context = Arc::clone(context);
    jobs.spawn(async move {
        let _slot = slot;
        job::run(context, claim, requested).await;
    });
}

async fn claim(context: &ServiceContext, message: &Message) -> ClaimResult {
    let job = match &message.job {
        Ok(job) => job,
        Err(beginning) => {
            context.metrics.foreign_messages.inc();
            warn!(message = beginning, "a message in the queue is no job");
            return ClaimResult::NotNeeded;
        }
    };
    if context.shutdown.is_cancelled() {
        return ClaimResult::ShuttingDown;
    }
    let requested = Instant::now();
    match unless_late(&context.shutdown, context.edge.claim(job.id)).await {
        Some(Ok(Some(claim))) => ClaimResult::Granted(claim, requested),
        Some(Ok(None)) => {
            context.metrics.claims_refused.inc();
            debug!(id = %job.id, "nothing to do: claimed or finished already");
            ClaimResult::NotNeeded
        }
        Some(Err(error)) => {
            warn!(id = %job.id, %error, "the edge cannot be asked for a claim");
            ClaimResult::Unanswered(error)
        }
        None => ClaimResult::ShuttingDown,
    }
}

/// The result of a call; `None` when the call takes longer than [`LAST_CALL_TIME`] after a shutdown began.
async fn unless_late<T>(shutdown: &CancellationToken, call: impl Future<Output = T>) -> Option<T> {
    let too_late = async {
        shutdown.cancelled().await;
        tokio::time::sleep(LAST_CALL_TIME).await;
    };
    tokio::select! {
        result = call => Some(result),
        () = too_late => None,
    }
}

/// Removes the jobs that have ended.
fn log_finished(jobs: &mut JoinSet<()>) {
    while let Some(ended) = jobs.try_join_next() {
        log_panic(ended);
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(%error, "a job died; its lease will run out");
    }
}
