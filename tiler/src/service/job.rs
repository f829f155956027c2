//! One claimed job, from its source to the report of what became of it: fetch, render in a process of its own, put the
//! tiles into the store as they come, the descriptor last, and tell the edge.
//!
//! A job ends in one of five ways (see [`Ended`]), and leaves nothing in the store in any of them but the first:
//! finished, and then the leftovers of earlier attempts are deleted; failed, and the edge is told why after what it wrote is
//! deleted; handed back, because this tiler shuts down; superseded, because the edge says that the attempt is over;
//! unheard, when the edge did not answer to the end. In that last case it may have taken the report, so the
//! pyramid stays: a later attempt deletes it if it was not.

use std::fs::File;
use std::num::NonZeroU32;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgezoom_content::protocol::{Claim, Outcome};
use edgezoom_content::{Attempt, Dzi, Failure, FailureCode, SourceUrl, Title};
use futures::FutureExt;
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::Workshop;
use super::failure;
use super::metrics::{Ended, Phase};
use super::progress::Standing;
use super::reporter::{Farewell, Reporter};
use crate::browser::{Capturing, Html, OpenPage, PageError};
use crate::fetch::FetchError;
use crate::renderer::{Output, RenderOptions, Renderer};
use crate::s3::{StoreError, Stored, Upload};

/// How long what is under way to the store may take to settle once the job is over.
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// How long a job may take to delete what it wrote. In a shutdown the service's own bound comes first.
const CLEANING_TIME: Duration = Duration::from_secs(120);
/// How many of the attempts before are looked at for leftovers. Each cleans up after itself unless it was killed, so
/// there is rarely one.
const EARLIER_ATTEMPTS: usize = 16;
/// How long handing back may take: the lease does the same a little later.
const HAND_BACK_TIME: Duration = Duration::from_secs(3);

/// How often a page that loads is looked at.
const GLANCE: Duration = Duration::from_millis(200);

/// How the work on a job came to an end.
enum End {
    Rendered(Dzi, Option<Title>),
    Failed(Failure),
    ShuttingDown,
    Over,
}

/// How long the phases took that were completed.
#[derive(Default)]
struct Times {
    fetch: Option<Duration>,
    render: Option<Duration>,
    upload: Option<Duration>,
    report: Option<Duration>,
}

/// Does the job of `claim`, which was asked for at `claimed`.
pub(super) async fn run(workshop: Arc<Workshop>, claim: Claim, claimed: Instant) {
    let mut reporter = Reporter::start(workshop.edge.clone(), claim.clone(), claimed);
    let mut upload = workshop.store.upload(claim.id, claim.attempt, workshop.uploads);
    let mut times = Times::default();

    let work = work(&workshop, &claim, &reporter, &mut upload, &mut times);
    let end = tokio::select! {
        biased;
        () = reporter.over() => End::Over,
        () = workshop.shutdown.cancelled() => End::ShuttingDown,
        // A bug costs this conversion, not the others.
        result = AssertUnwindSafe(work).catch_unwind() => match result {
            Ok(Ok((dzi, title))) => End::Rendered(dzi, title),
            Ok(Err(failure)) => End::Failed(failure),
            Err(_) => End::Failed(failure::panicked()),
        },
    };
    let code = if let End::Failed(failure) = &end { Some(failure.code) } else { None };
    let ended = conclude(&workshop, &claim, &mut reporter, &mut upload, &mut times, end).await;
    log(&workshop, &claim, ended, code, &times, upload.stored());
}

/// The work itself. It may be dropped at any point: the renderer is killed then, the upload is the caller's.
async fn work(
    workshop: &Workshop,
    claim: &Claim,
    reporter: &Reporter,
    upload: &mut Upload,
    times: &mut Times,
) -> Result<(Dzi, Option<Title>), Failure> {
    let Source { file, page, title, url } = source(workshop, claim, reporter, times).await?;
    let begun = Instant::now();
    let on_rows = if page.is_some() { Standing::rendering_page } else { Standing::rendering };
    reporter.note(on_rows(0.0));
    let on_rows = |rows| reporter.note(on_rows(rows));
    let dzi = match (render(workshop, claim, url.page(), on_rows, upload, file).await, page) {
        (Err(failure), Some(page)) => return Err(page.explain(failure).await),
        (result, _) => result?,
    };
    times.render = Some(begun.elapsed());

    let begun = Instant::now();
    let on_settled = |missing, of| reporter.note(Standing::publishing(missing, of));
    upload.finish(&dzi, on_settled).await.map_err(|error| not_stored(claim, error))?;
    times.upload = Some(begun.elapsed());
    Ok((dzi, title))
}

/// What the renderer reads.
struct Source {
    /// The download itself or, if that is a web page, its picture while it is taken.
    file: File,
    /// The page whose picture it is.
    page: Option<Capturing>,
    /// The page's title.
    title: Option<Title>,
    /// What was asked for; its fragment may name a page of a document, whatever redirects led to.
    url: SourceUrl,
}

/// Gets what the renderer reads. A page that goes on to a picture or document counts as a redirect to it.
async fn source(
    workshop: &Workshop,
    claim: &Claim,
    reporter: &Reporter,
    times: &mut Times,
) -> Result<Source, Failure> {
    let begun = Instant::now();
    let (mut url, mut redirects) = (claim.url.clone(), 0);
    loop {
        let on_bytes = |received| reporter.note(Standing::downloading(received));
        let mut fetched = workshop.fetcher.fetch_after(redirects, &url, on_bytes).await?;
        workshop.metrics.fetched_bytes.inc_by(fetched.length);
        times.fetch = Some(begun.elapsed());
        let html = Html::recognise(&mut fetched.file, fetched.content_type.as_deref());
        let Some(html) = html.map_err(FetchError::File)? else {
            return Ok(Source { file: fetched.file, page: None, title: None, url });
        };
        let page = match open(workshop, reporter, &url, html).await {
            Err(PageError::LeadsTo(lead)) => {
                (url, redirects) = (lead, fetched.redirects + 1);
                continue;
            }
            opened => opened?,
        };
        let title = page.title().cloned();
        let (file, capturing) = page.stream().map_err(PageError::File)?;
        return Ok(Source { file, page: Some(capturing), title, url });
    }
}

/// Opens a page, and tells that it loads.
async fn open(
    workshop: &Workshop,
    reporter: &Reporter,
    url: &SourceUrl,
    html: Html,
) -> Result<OpenPage, PageError> {
    let begun = Instant::now();
    let mut opening = pin!(workshop.pages.open_fetched(url, html));
    loop {
        match timeout(GLANCE, &mut opening).await {
            Ok(opened) => return opened,
            Err(_) => reporter.note(Standing::loading_page(begun.elapsed())),
        }
    }
}

/// Renders the source in a process of its own, and puts the tiles into the store as they come.
async fn render(
    workshop: &Workshop,
    claim: &Claim,
    page: Option<NonZeroU32>,
    on_rows: impl Fn(f64),
    upload: &mut Upload,
    source: File,
) -> Result<Dzi, Failure> {
    let options = RenderOptions { page, ..workshop.render };
    let mut renderer = Renderer::start(source, &options, &workshop.limits).map_err(failure::not_started)?;
    let mut begun_dzi = None;
    loop {
        match renderer.next().await? {
            Output::Begun(dzi) => begun_dzi = Some(dzi),
            Output::Progress(rows) => on_rows(rows),
            Output::Tile(tile) => {
                let dzi = begun_dzi.as_ref().ok_or_else(failure::out_of_order)?;
                upload.put_tile(dzi, tile).await.map_err(|error| not_stored(claim, error))?;
            }
            Output::Finished(dzi) => return Ok(dzi),
        }
    }
}

async fn conclude(
    workshop: &Workshop,
    claim: &Claim,
    reporter: &mut Reporter,
    upload: &mut Upload,
    times: &mut Times,
    end: End,
) -> Ended {
    let until_lease_ends = claim.lease();
    match end {
        End::Rendered(dzi, title) => {
            let begun = Instant::now();
            match reporter.conclude(Outcome::Finished { dzi, title }, until_lease_ends).await {
                Farewell::Taken => {
                    times.report = Some(begun.elapsed());
                    // Now, not before: it costs no one's waiting, and what was refused must not delete anything.
                    delete_leftovers(workshop, claim).await;
                    Ended::Finished
                }
                Farewell::Refused => {
                    delete_own(workshop, claim, upload).await;
                    Ended::Superseded
                }
                Farewell::Unknown => Ended::Unheard,
            }
        }
        End::Failed(failure) => {
            delete_own(workshop, claim, upload).await;
            match reporter.conclude(Outcome::GaveUp { failure }, until_lease_ends).await {
                Farewell::Taken => Ended::Failed,
                Farewell::Refused => Ended::Superseded,
                Farewell::Unknown => Ended::Unheard,
            }
        }
        End::ShuttingDown => {
            // At once, as there is little time. The next attempt writes elsewhere, so the two cannot meet.
            let tell = reporter.conclude(Outcome::HandedBack, HAND_BACK_TIME);
            let ((), _) = tokio::join!(delete_own(workshop, claim, upload), tell);
            Ended::HandedBack
        }
        End::Over => {
            delete_own(workshop, claim, upload).await;
            Ended::Superseded
        }
    }
}

async fn delete_own(workshop: &Workshop, claim: &Claim, upload: &mut Upload) {
    upload.abandon(SETTLE_TIME).await;
    delete(workshop, claim, claim.attempt).await;
}

/// Deletes what earlier attempts left, as far as there is time.
async fn delete_leftovers(workshop: &Workshop, claim: &Claim) {
    let mut earlier: Vec<Attempt> = claim.attempt.earlier().collect();
    earlier.reverse();
    for attempt in earlier.into_iter().take(EARLIER_ATTEMPTS) {
        tokio::select! {
            () = delete(workshop, claim, attempt) => {}
            () = workshop.shutdown.cancelled() => return,
        }
    }
}

/// Deletes an attempt's objects. When that fails, they stay until a later attempt finishes; nobody ever sees them.
async fn delete(workshop: &Workshop, claim: &Claim, attempt: Attempt) {
    let id = claim.id;
    match timeout(CLEANING_TIME, workshop.store.delete_attempt(id, attempt)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => warn!(%id, %attempt, %error, "an attempt's objects are left in the store"),
        Err(_) => warn!(%id, %attempt, "an attempt's objects are left in the store: deleting took too long"),
    }
}

fn not_stored(claim: &Claim, error: StoreError) -> Failure {
    error!(id = %claim.id, attempt = %claim.attempt, %error, "the store does not take the pyramid");
    error.into()
}

fn log(
    workshop: &Workshop,
    claim: &Claim,
    ended: Ended,
    code: Option<FailureCode>,
    times: &Times,
    stored: Stored,
) {
    let metrics = &workshop.metrics;
    metrics.job_ended(ended, code);
    metrics.uploaded_tiles.inc_by(stored.tiles);
    metrics.uploaded_bytes.inc_by(stored.bytes);
    let phases = [
        (Phase::Fetch, times.fetch),
        (Phase::Render, times.render),
        (Phase::Upload, times.upload),
        (Phase::Report, times.report),
    ];
    for (phase, time) in phases {
        if let Some(time) = time {
            metrics.phase_took(phase, time);
        }
    }
    let ms = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
    info!(
        id = %claim.id,
        attempt = %claim.attempt,
        outcome = ?ended,
        code = code.map(tracing::field::debug),
        fetch_ms = ms(times.fetch),
        render_ms = ms(times.render),
        upload_ms = ms(times.upload),
        report_ms = ms(times.report),
        tiles = stored.tiles,
        bytes = stored.bytes,
        url = %claim.url,
        "job ended",
    );
}
