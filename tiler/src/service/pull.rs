//! The pull loop: asks the queue for as many jobs as there are free places, claims each at the edge, and starts what it
//! was granted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::protocol::Claim;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::backoff::Backoff;
use super::call::CallError;
use super::queue::{Message, Pulled, Settlement};
use super::{Workshop, job};

/// Pulls failing calls apart, to the queue and to the edge alike: without the edge every message pulled is handed back, and
/// a queue gives a message up that comes back too often.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), most: Duration::from_secs(30) };

/// How long the other side is left alone at most, however long it asks for.
const LONGEST_REST: Duration = Duration::from_secs(300);

/// A message whose claim the edge did not answer is for whoever pulls a little later.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// How long an answer on its way may still take when the service shuts down: messages that come with it are handed back
/// at once, instead of being invisible until the queue misses them.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// What came of a message.
enum Claimed {
    /// There is a job to do.
    Granted(Claim, Instant),
    /// Nothing is to be done for it, now or later.
    Done,
    /// The edge did not answer.
    Unanswered(CallError),
    /// The service shuts down.
    TooLate,
}

/// Pulls and works until the service shuts down and every job has come to an end.
pub(super) async fn run(workshop: Arc<Workshop>) {
    let mut jobs = JoinSet::new();
    let mut failures = 0;
    while let Some(free) = free_places(&workshop).await {
        reap(&mut jobs);
        let pause = match round(&workshop, free, &mut jobs).await {
            Ok(pulled) => {
                failures = 0;
                if pulled == 0 { workshop.poll } else { Duration::ZERO }
            }
            Err(error) => {
                failures += 1;
                let asked = error.retry_after().unwrap_or_default().min(LONGEST_REST);
                BACKOFF.after(failures, fastrand::f64()).max(asked)
            }
        };
        tokio::select! {
            () = workshop.shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    while let Some(ended) = jobs.join_next().await {
        note_end(ended);
    }
}

/// Waits until there is a free place, and tells how many there are; `None` when the service shuts down.
async fn free_places(workshop: &Workshop) -> Option<usize> {
    if workshop.places.available_permits() == 0 {
        workshop.pulse.full();
    }
    tokio::select! {
        biased;
        () = workshop.shutdown.cancelled() => None,
        // Nobody else takes places, so this one is still free when it is needed.
        place = workshop.places.acquire() => place.ok().map(drop),
    }?;
    Some(workshop.places.available_permits())
}

/// Pulls once, claims what came, starts what was granted and settles the messages. Tells how many messages came.
async fn round(workshop: &Arc<Workshop>, free: usize, jobs: &mut JoinSet<()>) -> Result<usize, CallError> {
    let Some(pulled) = last_answer(&workshop.shutdown, workshop.queue.pull(free)).await else {
        return Ok(0);
    };
    let Pulled { messages, backlog } = pulled.inspect_err(|error| {
        workshop.metrics.pull_errors.inc();
        warn!(%error, "the queue cannot be pulled from");
    })?;
    workshop.pulse.pulled();
    if let Some(waiting) = backlog {
        workshop.backlog.note(waiting);
    }

    let count = messages.len();
    let mut settlement = Settlement::default();
    let mut unanswered = None;
    let mut claims: FuturesUnordered<_> = messages
        .into_iter()
        .map(async |message| {
            let claimed = claim(workshop, &message).await;
            (message.lease, claimed)
        })
        .collect();
    while let Some((lease, claimed)) = claims.next().await {
        match claimed {
            Claimed::Granted(claim, at) => {
                // `None` only if the queue gives more than it was asked for, which makes us busier than we like.
                let place = Arc::clone(&workshop.places).try_acquire_owned().ok();
                let workshop = Arc::clone(workshop);
                jobs.spawn(async move {
                    let _place = place;
                    job::run(workshop, claim, at).await;
                });
                settlement.ack(lease);
            }
            Claimed::Done => settlement.ack(lease),
            Claimed::Unanswered(error) => {
                settlement.retry(lease, RETRY_DELAY);
                unanswered = Some(error);
            }
            Claimed::TooLate => settlement.retry(lease, Duration::ZERO),
        }
    }
    if !settlement.is_empty()
        && let Err(error) = workshop.queue.settle(&settlement).await
    {
        // They come again, and the edge refuses the claims.
        warn!(%error, "messages could not be settled");
    }
    unanswered.map_or(Ok(count), Err)
}

async fn claim(workshop: &Workshop, message: &Message) -> Claimed {
    let job = match &message.job {
        Ok(job) => job,
        Err(beginning) => {
            workshop.metrics.foreign_messages.inc();
            warn!(message = beginning, "a message in the queue is no job");
            return Claimed::Done;
        }
    };
    if workshop.shutdown.is_cancelled() {
        return Claimed::TooLate;
    }
    let at = Instant::now();
    match last_answer(&workshop.shutdown, workshop.edge.claim(job.id)).await {
        Some(Ok(Some(claim))) => Claimed::Granted(claim, at),
        Some(Ok(None)) => {
            workshop.metrics.claims_refused.inc();
            debug!(id = %job.id, "nothing to do: claimed or finished already");
            Claimed::Done
        }
        Some(Err(error)) => {
            warn!(id = %job.id, %error, "the edge cannot be asked for a claim");
            Claimed::Unanswered(error)
        }
        None => Claimed::TooLate,
    }
}

/// The answer to a call; `None` when it takes too long in a shutdown.
async fn last_answer<T>(shutdown: &CancellationToken, call: impl Future<Output = T>) -> Option<T> {
    let too_late = async {
        shutdown.cancelled().await;
        tokio::time::sleep(LAST_ANSWER).await;
    };
    tokio::select! {
        answer = call => Some(answer),
        () = too_late => None,
    }
}

fn reap(jobs: &mut JoinSet<()>) {
    while let Some(ended) = jobs.try_join_next() {
        note_end(ended);
    }
}

fn note_end(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        error!(%error, "a job died; its lease will run out");
    }
}
