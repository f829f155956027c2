//! The pull loop: pulls as many messages as there are free slots, claims each at the edge, starts a job for each claim that
//! is granted, and settles the messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::ContentId;
use edgezoom_content::protocol::{Claim, ClaimRequest};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::api_client::CallError;
use super::call_pace::CallPace;
use super::intake::Intake;
use super::queue_client::{Batch, Message, Settlement};
use super::{ServiceContext, job};
use crate::backoff::Backoff;

/// The pauses after failed calls, to the queue and to the edge alike: while the edge is away every message is given back,
/// and a queue discards a message that was delivered too often.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), max: Duration::from_secs(30) };

/// The longest pause that a `Retry-After` can bring about.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// When a message is delivered again whose claim the edge did not answer.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// When a message is delivered again that another tiler should take.
const LEAVE_DELAY: Duration = Duration::from_secs(1);

/// How long a call may still take when the service shuts down. Messages that come with its answer are given back at once,
/// instead of being invisible until their visibility timeout is over.
const LAST_CALL_TIME: Duration = Duration::from_secs(1);

/// What came of the claim for a message.
enum ClaimResult {
    /// The job is to be started. With the time of the request.
    Granted(Claim, Instant),
    /// The job is to be claimed when it can be alone.
    Alone(ContentId),
    /// Another tiler should take the job.
    LeftToOthers,
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
    let mut pace = CallPace::new(context.api_calls, Instant::now());
    let mut failures = 0;
    while let Some(free) = free_slots(&context).await {
        log_finished(&mut jobs);
        let pause = match pull_once(&context, free, &mut pace, &mut jobs).await {
            Ok(pause) => {
                failures = 0;
                pause
            }
            Err(error) => {
                failures += 1;
                let retry_after = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
                BACKOFF.after(failures, fastrand::f64()).max(retry_after)
            }
        };
        let now = Instant::now();
        let next = pace.next_pull(context.fleet.tilers(), now).max(now + pause);
        tokio::select! {
            () = context.stopping.cancelled() => {}
            () = tokio::time::sleep_until(next.into()) => {}
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
        () = context.stopping.cancelled() => None,
        // Only this loop takes slots, so this one is still free when it is needed.
        slot = context.slots.acquire() => slot.ok().map(drop),
    }?;
    Some(context.slots.available_permits())
}

/// Pulls once, claims the messages, starts jobs, and settles the messages. Gives the pause before the next pull.
async fn pull_once(
    context: &Arc<ServiceContext>,
    free: usize,
    pace: &mut CallPace,
    jobs: &mut JoinSet<()>,
) -> Result<Duration, CallError> {
    pace.spend(context.fleet.tilers(), Instant::now());
    let Some(batch) = unless_late(&context.stopping, context.queue.pull(free)).await else {
        return Ok(context.poll_interval);
    };
    let Batch { messages, backlog } = batch.inspect_err(|error| {
        context.metrics.pull_errors.inc();
        warn!(%error, "the queue cannot be pulled from");
    })?;
    context.pulls.pulled();
    if let Some(messages) = backlog {
        context.backlog.set(messages);
    }

    let mut pause = if messages.is_empty() {
        pace.idle_pause(context.fleet.tilers(), context.poll_interval, fastrand::f64())
    } else {
        Duration::ZERO
    };
    let mut settlement = Settlement::default();
    let mut unanswered = None;
    let mut alone = vec![];
    let mut claims: FuturesUnordered<_> = messages
        .into_iter()
        .map(async |message| {
            let result = take_in(context, &message).await;
            if let (ClaimResult::Granted(..), Some(sent)) = (&result, message.sent) {
                context.metrics.claimed_after(sent.elapsed().unwrap_or_default());
            }
            (message.lease, result)
        })
        .collect();
    while let Some((lease, result)) = claims.next().await {
        match result {
            ClaimResult::Granted(claim, requested) => {
                // `None` only when the queue gives more messages than requested. Then there is one job more than slots.
                let slot = Arc::clone(&context.slots).try_acquire_owned().ok();
                start(context, claim, requested, slot, jobs);
                settlement.ack(lease);
            }
            ClaimResult::Alone(id) => {
                // Should this tiler die before it has the claim, the edge sends the message again.
                alone.push(id);
                settlement.ack(lease);
            }
            ClaimResult::LeftToOthers => {
                settlement.retry(lease, LEAVE_DELAY);
                pause = LEAVE_DELAY * 2 + context.poll_interval * 2; // others come first
            }
            ClaimResult::NotNeeded => settlement.ack(lease),
            ClaimResult::Unanswered(error) => {
                settlement.retry(lease, RETRY_DELAY);
                unanswered = Some(error);
            }
            ClaimResult::ShuttingDown => settlement.retry(lease, Duration::ZERO),
        }
    }
    if !settlement.is_empty() {
        // Not later, even if too many calls were made: the messages would be delivered again, which costs more of them.
        pace.spend(context.fleet.tilers(), Instant::now());
        if let Err(error) = context.queue.settle(&settlement).await {
            // The messages are delivered again, and the edge refuses their claims.
            warn!(%error, "messages could not be settled");
        }
    }
    for id in alone {
        start_alone(context, id, jobs).await;
    }
    unanswered.map_or(Ok(pause), Err)
}

/// Waits until all jobs have ended, and starts a job that has all slots: so nothing else is pulled until it has ended.
async fn start_alone(context: &Arc<ServiceContext>, id: ContentId, jobs: &mut JoinSet<()>) {
    context.pulls.at_capacity();
    let all = u32::try_from(context.capacity).unwrap_or(u32::MAX);
    let slots = tokio::select! {
        () = context.stopping.cancelled() => return,
        slots = Arc::clone(&context.slots).acquire_many_owned(all) => slots.ok(),
    };
    if let ClaimResult::Granted(claim, requested) = claim(context, id, true).await {
        start(context, claim, requested, slots, jobs);
    }
}

/// Starts a job in its slots.
fn start(
    context: &Arc<ServiceContext>,
    claim: Claim,
    requested: Instant,
    slots: Option<OwnedSemaphorePermit>,
    jobs: &mut JoinSet<()>,
) {
    let context = Arc::clone(context);
    jobs.spawn(async move {
        let _slots = slots;
        job::run(context, claim, requested).await;
    });
}

async fn take_in(context: &ServiceContext, message: &Message) -> ClaimResult {
    let job = match &message.job {
        Ok(job) => job,
        Err(beginning) => {
            context.metrics.foreign_messages.inc();
            warn!(message = beginning, "a message in the queue is no job");
            return ClaimResult::NotNeeded;
        }
    };
    if context.stopping.is_cancelled() {
        return ClaimResult::ShuttingDown;
    }
    match Intake::of(job, message.attempts, context.tiler) {
        Intake::Begin => claim(context, job.id, false).await,
        Intake::BeginAlone => ClaimResult::Alone(job.id),
        Intake::LeaveToOthers => ClaimResult::LeftToOthers,
    }
}

async fn claim(context: &ServiceContext, id: ContentId, alone: bool) -> ClaimResult {
    let request = ClaimRequest { tiler: Some(context.tiler), alone };
    let requested = Instant::now();
    match unless_late(&context.stopping, context.edge.claim(id, &request)).await {
        Some(Ok(Some(claim))) => ClaimResult::Granted(claim, requested),
        Some(Ok(None)) => {
            context.metrics.claims_refused.inc();
            debug!(%id, "nothing to do: claimed or finished already");
            ClaimResult::NotNeeded
        }
        Some(Err(error)) => {
            warn!(%id, %error, "the edge cannot be asked for a claim");
            ClaimResult::Unanswered(error)
        }
        None => ClaimResult::ShuttingDown,
    }
}

/// The result of a call; `None` when the call takes longer than [`LAST_CALL_TIME`] after a shutdown began.
async fn unless_late<T>(stopping: &CancellationToken, call: impl Future<Output = T>) -> Option<T> {
    let too_late = async {
        stopping.cancelled().await;
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
