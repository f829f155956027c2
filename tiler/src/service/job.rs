//! One claimed job: converts its source into a pyramid in the store, and reports the result to the edge.
//!
//! | [`JobResult`] | when | objects in the store |
//! |---|---|---|
//! | finished | the edge has accepted the report | the pyramid; those of earlier attempts are deleted |
//! | failed | the source cannot be converted, now or ever | deleted before the report |
//! | handed back | the service shuts down | deleted |
//! | superseded | the edge refuses a report: the attempt is over | deleted |
//! | unheard | the edge has not answered the last report | the pyramid of a finished conversion stays, because the edge may have accepted it; if not, a later attempt deletes it |

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::protocol::{Claim, Outcome, Retry};
use edgezoom_content::{Failure, FailureCode, Finished, UploadKey};
use futures::FutureExt;
use tracing::{Instrument, error, info, info_span};

use super::coarse::CoarseUpload;
use super::edge_client::ReportResult;
use super::metrics::{JobResult, Phase};
use super::phase_times::PhaseTimes;
use super::reporter::Reporter;
use super::{ServiceContext, cleanup};
use crate::fetch::Received;
use crate::pipeline::{Converted, Origin, PipelineError, Progress};
use crate::renderer::RenderError;
use crate::s3::{Stored, Upload, UploadedFileError};
use crate::{failure, retry};

/// How long handing back may take. After that the lease runs out and has the same effect.
const HAND_BACK_TIME: Duration = Duration::from_secs(3);

/// How long deleting coarse pictures may take.
const COARSE_TIME: Duration = Duration::from_secs(1);

/// A job on its way.
struct Job<'a> {
    context: &'a ServiceContext,
    claim: &'a Claim,
    reporter: Reporter,
    upload: Upload,
    coarse: CoarseUpload,
    times: PhaseTimes,
}

/// Why a conversion gave nothing to publish.
enum Stopped {
    Failed(Failure, Retry),
    ShuttingDown,
    /// The edge says that the attempt is over, or did not answer for a whole lease.
    Superseded,
}

/// Does the job of `claim`, which was requested at `claimed`. Every line that is logged meanwhile has its id and attempt.
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
        upload: context.store.upload(claim.id, claim.attempt, context.layout, context.uploads),
        times: PhaseTimes::new(Instant::now()),
    };
    let converted = job.convert().await;
    let code = if let Err(Stopped::Failed(failure, _)) = &converted { Some(failure.code) } else { None };
    let result = job.conclude(converted).await;
    job.record(result, code);
}

impl Job<'_> {
    /// Converts the source, unless the service shuts down or the attempt is over before.
    async fn convert(&mut self) -> Result<Converted, Stopped> {
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
            context.pipeline.convert(origin, &context.render, upload, on_progress).await
        };
        tokio::select! {
            biased;
            () = reporter.superseded() => Err(Stopped::Superseded),
            () = context.shutdown.cancelled() => Err(Stopped::ShuttingDown),
            // A panic ends this job and not the others.
            converted = AssertUnwindSafe(converted).catch_unwind() => match converted {
                Ok(Ok(converted)) => Ok(converted),
                Ok(Err(error)) => {
                    log(&error);
                    if let PipelineError::Render(error) = &error
                        && let Some(cause) = error.cause_of_death()
                    {
                        context.metrics.renderer_died(cause);
                    }
                    let retry = retry::after(&error);
                    Err(Stopped::Failed(error.into(), retry))
                }
                Err(_) => Err(Stopped::Failed(failure::of_panic(), Retry::Never)),
            },
        }
    }

    /// Reports the result, and deletes what is not to stay in the store.
    async fn conclude(&mut self, converted: Result<Converted, Stopped>) -> JobResult {
        let Self { context, claim, reporter, upload, coarse, times } = self;
        // Before the report, as nothing follows that would delete them.
        coarse.ended(COARSE_TIME).await;
        match converted {
            Ok(Converted { dzi, title, warning }) => {
                let (archive, previews) = (upload.archive(), upload.previews());
                let outcome = Outcome::Finished(Finished { dzi, title, warning, archive, previews });
                match reporter.conclude(outcome, claim.lease()).await {
                    ReportResult::Accepted => {
                        times.reported(Instant::now());
                        // Only now, because an attempt whose report is refused must not delete the others' objects.
                        cleanup::delete_earlier(context, claim).await;
                        JobResult::Finished
                    }
                    ReportResult::Refused => {
                        cleanup::delete_own(context, claim, upload).await;
                        JobResult::Superseded
                    }
                    ReportResult::Unanswered => JobResult::Unheard,
                }
            }
            Err(Stopped::Failed(failure, retry)) => {
                cleanup::delete_own(context, claim, upload).await;
                match reporter.conclude(Outcome::GaveUp { failure, retry }, claim.lease()).await {
                    ReportResult::Accepted => JobResult::Failed,
                    ReportResult::Refused => JobResult::Superseded,
                    ReportResult::Unanswered => JobResult::Unheard,
                }
            }
            Err(Stopped::ShuttingDown) => {
                // Both at once, as there is little time. The next attempt has other keys, so they cannot meet.
                let report = reporter.conclude(Outcome::HandedBack, HAND_BACK_TIME);
                let ((), _) = tokio::join!(cleanup::delete_own(context, claim, upload), report);
                JobResult::HandedBack
            }
            Err(Stopped::Superseded) => {
                cleanup::delete_own(context, claim, upload).await;
                JobResult::Superseded
            }
        }
    }

    /// Counts the job and writes its line to the log.
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

/// Fetches a file that a client has sent.
async fn fetch_upload(
    context: &ServiceContext,
    key: UploadKey,
    on_progress: &mut impl FnMut(Progress),
) -> Result<File, UploadedFileError> {
    let mut length = 0;
    let on_bytes = |bytes, announced| {
        length = bytes;
        on_progress(Progress::Downloading(Received { bytes, announced }));
    };
    let file = context.store.fetch_upload(key, &context.temporary, context.file_limits, on_bytes).await?;
    on_progress(Progress::Downloaded { bytes: length });
    Ok(file)
}

/// Logs an error whose cause clients do not see.
fn log(error: &PipelineError) {
    match error {
        PipelineError::Sink(error) => error!(%error, "the store does not take the pyramid"),
        PipelineError::Setup(error) => error!(%error, "the pipeline cannot be set up"),
        PipelineError::Render(RenderError::NotStarted(error)) => {
            error!(%error, "a renderer process cannot be started");
        }
        PipelineError::File(error) => error!(%error, "a source's file cannot be read"),
        PipelineError::Upload(UploadedFileError::Store(error)) => {
            error!(%error, "the store does not send the file");
        }
        PipelineError::Upload(_)
        | PipelineError::Fetch(_)
        | PipelineError::Page(_)
        | PipelineError::Render(_) => {}
    }
}
