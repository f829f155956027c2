//! One claimed job: converts its source into a pyramid in the store, and reports the result to the edge.
//!
//! | [`JobResult`] | when | objects in the store |
//! |---|---|---|
//! | finished | the edge accepted the report | the pyramid stays; those of earlier attempts are deleted |
//! | failed | the source cannot be converted, for the moment or for good | deleted before the report |
//! | handed back | the service is shutting down | deleted |
//! | superseded | the edge refused a report: the attempt was over | deleted |
//! | unheard | the edge did not respond to the last report | the pyramid of a finished conversion stays, because the edge may have accepted the report; otherwise a later attempt deletes it |

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::protocol::{Claim, Outcome, Retry};
use edgezoom_content::{Attempt, Failure, FailureCode, Finished, UploadKey};
use futures::FutureExt;
use tokio::time::timeout;
use tracing::{Instrument, error, info, info_span, warn};

use super::ServiceContext;
use super::coarse::CoarseUpload;
use super::edge_client::ReportResult;
use super::metrics::{JobResult, Phase};
use super::phase_times::PhaseTimes;
use super::reporter::Reporter;
use crate::failure;
use crate::pipeline::{Origin, PipelineError, PipelineSettings, Progress};
use crate::renderer::RenderError;
use crate::s3::{Stored, Upload, UploadedFileError};

/// Time limit for the report of a job that is handed back. If it is lost, the lease expires, which has the same effect.
const HAND_BACK_TIME: Duration = Duration::from_secs(3);
/// Time limit for deleting coarse pictures.
const COARSE_TIME: Duration = Duration::from_secs(1);
/// Time that running requests to the store have to end once the job is over.
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// Time limit for deleting an attempt's objects. In a shutdown the service's own limit comes first.
const DELETE_TIME: Duration = Duration::from_secs(120);
/// Maximum number of earlier attempts whose objects are deleted.
const MAX_EARLIER_ATTEMPTS: usize = 16;

/// A running job.
struct Job<'a> {
    context: &'a ServiceContext,
    claim: &'a Claim,
    reporter: Reporter,
    upload: Upload,
    coarse: CoarseUpload,
    times: PhaseTimes,
}

/// The reason why a conversion produced no pyramid.
enum Stopped {
    Failed(Failure, Retry),
    ShuttingDown,
    /// The edge says that the attempt is over, or did not respond for a whole lease.
    Superseded,
}

/// Runs the job of `claim`, which was requested at `claimed`. Its log lines contain its id and attempt.
pub(super) async fn run(context: Arc<ServiceContext>, claim: Claim, claimed: Instant) {
    let span = info_span!("job", id = %claim.id, attempt = %claim.attempt);
    run_in_span(context, claim, claimed).instrument(span).await;
}

async fn run_in_span(context: Arc<ServiceContext>, claim: Claim, claimed: Instant) {
    info!(url = %claim.url, "job claimed");
    let reporter = Reporter::start(context.edge.clone(), claim.clone(), claimed);
    let on_stored = reporter.coarse_notes();
    let mut job = Job {
        context: &context,
        claim: &claim,
        coarse: CoarseUpload::start(context.store.clone(), claim.clone(), claimed, on_stored),
        reporter,
        upload: context.store.upload(claim.id, claim.attempt),
        times: PhaseTimes::new(Instant::now()),
    };
    let converted = job.convert().await;
    let code = if let Err(Stopped::Failed(failure, _)) = &converted { Some(failure.code) } else { None };
    let result = job.conclude(converted).await;
    job.record(result, code);
}

impl Job<'_> {
    /// Converts the source, unless the service shuts down or the attempt ends first.
    async fn convert(&mut self) -> Result<Finished, Stopped> {
        let Self { context, claim, reporter, upload, coarse, times } = self;
        let mut on_progress = |progress: Progress| {
            times.note(&progress, Instant::now());
            match &progress {
                Progress::Downloaded { bytes } => drop(context.metrics.fetched_bytes.inc_by(*bytes)),
                Progress::Coarse(jpeg) => coarse.offer(jpeg.clone(), reporter.done()),
                Progress::Rendered => coarse.end(),
                _ => {}
            }
            reporter.note(progress.into());
        };
        let converted = async {
            let origin = match claim.upload {
                Some(key) => Origin::Upload(fetch_upload(context, key, &mut on_progress).await?),
                None => Origin::Url(claim.url.clone()),
            };
            let mut render = context.settings.render;
            render.drawing.vectors &= claim.url.has_vectors();
            let converted = context.pipeline.convert(origin, &render, upload, on_progress).await?;
            Ok(converted.finished())
        };
        tokio::select! {
            biased;
            () = reporter.superseded() => Err(Stopped::Superseded),
            () = context.shutdown.cancelled() => Err(Stopped::ShuttingDown),
            // A panic ends this job and not the others.
            converted = AssertUnwindSafe(converted).catch_unwind() => match converted {
                Ok(Ok(finished)) => Ok(finished),
                Ok(Err(error)) => {
                    log(&error);
                    if let PipelineError::Render(error) = &error
                        && let Some(cause) = error.cause_of_death()
                    {
                        context.metrics.renderer_died(cause);
                    }
                    let (failure, retry) = failure::of_attempt(&error);
                    Err(Stopped::Failed(failure, retry))
                }
                Err(_) => {
                    let (failure, retry) = failure::of_panic();
                    Err(Stopped::Failed(failure, retry))
                }
            },
        }
    }

    /// Reports the result, and deletes the objects that must not stay in the store.
    async fn conclude(&mut self, converted: Result<Finished, Stopped>) -> JobResult {
        let lease = self.claim.lease();
        // Before the report, because nothing after it would delete them.
        self.coarse.ended(COARSE_TIME).await;
        match converted {
            Ok(finished) => {
                match self.reporter.conclude(Outcome::Finished { finished }, lease).await {
                    ReportResult::Accepted => {
                        self.times.reported(Instant::now());
                        // Not earlier: an attempt whose report is refused must not delete the others' objects.
                        self.delete_earlier().await;
                        JobResult::Finished
                    }
                    ReportResult::Refused => {
                        self.delete_own().await;
                        JobResult::Superseded
                    }
                    ReportResult::Unanswered => JobResult::Unheard,
                }
            }
            Err(Stopped::Failed(failure, retry)) => {
                self.delete_own().await;
                match self.reporter.conclude(Outcome::GaveUp { failure, retry }, lease).await {
                    ReportResult::Accepted => JobResult::Failed,
                    ReportResult::Refused => JobResult::Superseded,
                    ReportResult::Unanswered => JobResult::Unheard,
                }
            }
            Err(Stopped::ShuttingDown) => {
                let Self { context, claim, reporter, upload, .. } = self;
                // Concurrently, as time is short. The next attempt has other keys, so they do not conflict.
                let report = reporter.conclude(Outcome::HandedBack, HAND_BACK_TIME);
                let ((), _) = tokio::join!(delete_own(context, claim, upload), report);
                JobResult::HandedBack
            }
            Err(Stopped::Superseded) => {
                self.delete_own().await;
                JobResult::Superseded
            }
        }
    }

    async fn delete_own(&mut self) {
        delete_own(self.context, self.claim, &mut self.upload).await;
    }

    /// Deletes the objects of earlier attempts, the latest first, until the service shuts down. A failed attempt
    /// deletes its own objects, so there are some only if a tiler was killed.
    async fn delete_earlier(&self) {
        let mut earlier: Vec<Attempt> = self.claim.attempt.earlier().collect();
        earlier.reverse();
        for attempt in earlier.into_iter().take(MAX_EARLIER_ATTEMPTS) {
            tokio::select! {
                () = delete_attempt(self.context, self.claim, attempt) => {}
                () = self.context.shutdown.cancelled() => return,
            }
        }
    }

    /// Counts and logs the job.
    fn record(&self, result: JobResult, code: Option<FailureCode>) {
        let Stored { tiles, bytes } = self.upload.stored();
        let metrics = &self.context.metrics;
        metrics.job_ended(result, code);
        metrics.uploaded_tiles.inc_by(tiles);
        metrics.uploaded_bytes.inc_by(bytes);
        for phase in Phase::ALL {
            if let Some(time) = self.times.of(phase) {
                metrics.phase_took(phase, self.times.kind(), time);
            }
        }
        let ms = |phase| self.times.of(phase).map(|time| time.as_millis() as u64);
        info!(
            outcome = ?result,
            code = code.map(FailureCode::name),
            kind = self.times.kind().map(tracing::field::debug),
            fetch_ms = ms(Phase::Fetch),
            render_ms = ms(Phase::Render),
            upload_ms = ms(Phase::Upload),
            report_ms = ms(Phase::Report),
            tiles,
            bytes,
            url = %self.claim.url,
            "job ended",
        );
    }
}

/// Stops a job's upload and deletes its objects.
async fn delete_own(context: &ServiceContext, claim: &Claim, upload: &mut Upload) {
    upload.abandon(SETTLE_TIME).await;
    delete_attempt(context, claim, claim.attempt).await;
}

/// Deletes an attempt's objects. If that fails, they stay until a later attempt finishes; no URL leads to them.
async fn delete_attempt(context: &ServiceContext, claim: &Claim, attempt: Attempt) {
    match timeout(DELETE_TIME, context.store.delete_attempt(claim.id, attempt)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!(of = %attempt, %error, "an attempt's objects remain in the store"),
        Err(_) => {
            warn!(of = %attempt, "an attempt's objects remain in the store: deleting them took too long")
        }
    }
}

/// Fetches an uploaded file.
async fn fetch_upload(
    context: &ServiceContext,
    key: UploadKey,
    on_progress: &mut impl FnMut(Progress),
) -> Result<File, UploadedFileError> {
    let mut length = 0;
    let on_bytes = |bytes, announced| {
        length = bytes;
        on_progress(Progress::Downloading { bytes, announced });
    };
    let PipelineSettings { temporary, limits, .. } = &context.settings.pipeline;
    let file = context.store.fetch_upload(key, temporary, limits, on_bytes).await?;
    on_progress(Progress::Downloaded { bytes: length });
    Ok(file)
}

/// Logs an error whose cause clients do not see.
fn log(error: &PipelineError) {
    match error {
        PipelineError::Sink(error) => error!(%error, "cannot store the pyramid"),
        PipelineError::HttpClient(error) => error!(%error, "cannot create an HTTP client"),
        PipelineError::Render(RenderError::NotStarted(error)) => {
            error!(%error, "cannot start a renderer process");
        }
        PipelineError::File(error) => error!(%error, "cannot read a source's file"),
        PipelineError::Upload(UploadedFileError::Store(error)) => {
            error!(%error, "cannot fetch an uploaded file from the store");
        }
        PipelineError::Upload(_)
        | PipelineError::Fetch(_)
        | PipelineError::Page(_)
        | PipelineError::Render(_)
        | PipelineError::Sealed(_) => {}
    }
}
