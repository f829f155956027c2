//! The pull loop: pulls as many messages as there are free slots, claims their jobs at the edge, starts the granted
//! ones, and settles the messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::ContentId;
use edgezoom_content::protocol::{Claim, ClaimRequest, Job, TilerId};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use super::api_client::CallError;
use super::call_pace::CallPace;
use super::queue_client::{Batch, Message, Settlement};
use super::{ServiceContext, job};
use crate::http_client::Backoff;

/// Pauses after failed calls to the queue or the edge. While the edge is out of reach every message is given back, and
/// the queue discards a message that was delivered too often.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), max: Duration::from_secs(30) };

/// Longest pause that a `Retry-After` can cause.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Delay until a message is delivered again because the edge did not respond to its claim.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Delay until a message is delivered again that another tiler should take.
const LEAVE_DELAY: Duration = Duration::from_secs(1);

/// Time that a running call may still take when the service shuts down. Messages in its response are given back at
/// once; otherwise no tiler would see them until their visibility timeout expires.
const LAST_CALL_TIME: Duration = Duration::from_secs(1);

/// Result of the claim for a message.
enum ClaimResult {
    /// The job can start. Contains the time of the request.
    Granted(Claim, Instant),
    /// The job must be claimed when no other job is running.
    Alone(ContentId),
    /// Another tiler should take the job.
    LeftToOthers,
    /// There is nothing to convert.
    NotNeeded,
    /// The edge did not respond.
    Unanswered(CallError),
    /// The service is shutting down.
    ShuttingDown,
}

/// Decision about a pulled job, before it is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intake {
    /// Claim it and start it beside other jobs.
    Begin,
    /// Start it when all other jobs have ended, and pull nothing else until it has ended.
    BeginAlone,
    /// Give it back for another tiler.
    LeaveToOthers,
}

impl Intake {
    /// Decides about a job from its number of deliveries. If a job that `tiler` should leave to others comes back, no
    /// other tiler wants it.
    fn of(job: &Job, deliveries: u32, tiler: TilerId) -> Self {
        if job.avoid == Some(tiler) && deliveries <= 1 {
            Self::LeaveToOthers
        } else if job.alone {
            Self::BeginAlone
        } else {
            Self::Begin
        }
    }
}

/// Pulls and starts jobs until the service shuts down, then waits for all jobs to end.
pub(super) async fn run(context: Arc<ServiceContext>) {
    let mut jobs = JoinSet::new();
    let mut pace = CallPace::new(context.settings.api_calls, Instant::now());
    let mut failures = 0;
    let mut busy_at = Instant::now();
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
        if !jobs.is_empty() {
            busy_at = now;
        } else if context.settings.exit_when_idle.is_some_and(|idle| now - busy_at >= idle) {
            info!("there has been no job for a while");
            context.stopping.cancel();
            break;
        }
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

/// Waits for a free slot and returns the number of free slots; `None` if the service shuts down.
async fn free_slots(context: &ServiceContext) -> Option<usize> {
    if context.slots.available_permits() == 0 {
        context.pulls.at_capacity();
    }
    tokio::select! {
        biased;
        () = context.stopping.cancelled() => None,
        slot = context.slots.acquire() => slot.ok().map(drop),
    }?;
    // A lent slot may be taken back at this moment; then one job more than slots is running.
    Some(context.slots.available_permits().max(1))
}

/// Pulls once, claims the jobs, starts them, and settles the messages. Returns the pause before the next pull.
async fn pull_once(
    context: &Arc<ServiceContext>,
    free: usize,
    pace: &mut CallPace,
    jobs: &mut JoinSet<()>,
) -> Result<Duration, CallError> {
    pace.spend(context.fleet.tilers(), Instant::now());
    let Some(batch) = unless_late(&context.stopping, context.queue.pull(free)).await else {
        return Ok(context.settings.poll);
    };
    let Batch { messages, backlog } = batch.inspect_err(|error| {
        context.metrics.pull_errors.inc();
        warn!(%error, "cannot pull from the queue");
    })?;
    context.pulls.pulled();
    if let Some(messages) = backlog {
        context.backlog.set(messages);
    }

    let mut pause = if messages.is_empty() {
        pace.idle_pause(context.fleet.tilers(), context.settings.poll, fastrand::f64())
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
                // `None` only if the queue returns more messages than requested. Then one job more than slots is
                // running.
                let slot = Arc::clone(&context.slots).try_acquire_owned().ok();
                start(context, claim, requested, slot, jobs);
                settlement.ack(lease);
            }
            ClaimResult::Alone(id) => {
                // If this tiler dies before it has the claim, the edge sends the message again.
                alone.push(id);
                settlement.ack(lease);
            }
            ClaimResult::LeftToOthers => {
                settlement.retry(lease, LEAVE_DELAY);
                pause = LEAVE_DELAY * 2 + context.settings.poll * 2; // so that other tilers pull first
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
        // At once, even if too many calls were made: otherwise the messages would be delivered again, which costs more.
        pace.spend(context.fleet.tilers(), Instant::now());
        if let Err(error) = context.queue.settle(&settlement).await {
            // They are delivered again, and the edge will refuse their claims.
            warn!(%error, "cannot settle messages");
        }
    }
    for id in alone {
        start_alone(context, id, jobs).await;
    }
    unanswered.map_or(Ok(pause), Err)
}

/// Waits until all jobs have ended, then starts a job that occupies all slots, so that nothing else is pulled
/// meanwhile.
async fn start_alone(context: &Arc<ServiceContext>, id: ContentId, jobs: &mut JoinSet<()>) {
    context.pulls.at_capacity();
    let all = u32::try_from(context.capacity()).unwrap_or(u32::MAX);
    let slots = tokio::select! {
        () = context.stopping.cancelled() => return,
        slots = Arc::clone(&context.slots).acquire_many_owned(all) => slots.ok(),
    };
    if let ClaimResult::Granted(claim, requested) = claim(context, id, true).await {
        start(context, claim, requested, slots, jobs);
    }
}

/// Starts a job that occupies its slots until it ends.
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
            warn!(message = beginning, "a message in the queue is not a job");
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
    let request = ClaimRequest { tiler: context.tiler, alone };
    let requested = Instant::now();
    match unless_late(&context.stopping, context.edge.claim(id, &request)).await {
        Some(Ok(Some(claim))) => ClaimResult::Granted(claim, requested),
        Some(Ok(None)) => {
            context.metrics.claims_refused.inc();
            debug!(%id, "nothing to do: already claimed or finished");
            ClaimResult::NotNeeded
        }
        Some(Err(error)) => {
            warn!(%id, %error, "cannot claim a job at the edge");
            ClaimResult::Unanswered(error)
        }
        None => ClaimResult::ShuttingDown,
    }
}

/// Returns the result of a call; `None` if it takes longer than [`LAST_CALL_TIME`] after a shutdown began.
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

/// Removes finished jobs.
fn log_finished(jobs: &mut JoinSet<()>) {
    while let Some(ended) = jobs.try_join_next() {
        log_panic(ended);
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        error!(%error, "a job died; its lease will expire");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_left_to_others_once() {
        let (me, other) = (TilerId(1), TilerId(2));
        let job = |alone, avoid| Job { id: "6qy4OXfXSid".parse().unwrap(), alone, avoid };
        for (job, deliveries, intake) in [
            (job(false, None), 1, Intake::Begin),
            (job(false, None), 9, Intake::Begin),
            (job(true, None), 1, Intake::BeginAlone),
            (job(false, Some(me)), 1, Intake::LeaveToOthers),
            (job(false, Some(me)), 2, Intake::Begin),
            (job(true, Some(me)), 1, Intake::LeaveToOthers),
            (job(true, Some(me)), 2, Intake::BeginAlone),
            (job(false, Some(other)), 1, Intake::Begin),
        ] {
            assert_eq!(Intake::of(&job, deliveries, me), intake, "{job:?} {deliveries}");
        }
    }
}
