//! The tilers: each pulls while it has a free slot, downloads, renders on its cores, uploads and reports. Renderings share the cores evenly,
//! and none uses more cores than it has threads.

use std::collections::BTreeMap;

use edgezoom_content::protocol::{ClaimRequest, Outcome, Report, Retry, TilerId};
use edgezoom_content::{
    Archive, Attempt, Dzi, Failure, FailureCode, Finished, Previews, Progress, Size, Stage, TileFormat,
    conversion,
};

use super::world::{Event, World};

/// An event of a tiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TilerEvent {
    /// A pull is answered.
    Pulled,
    /// A claim reaches the content's object.
    Claim { content: usize },
    /// A job's source has arrived.
    Fetched { job: u64 },
    /// The next rendering ends, unless one was added or ended since this change.
    Rendered { change: u64 },
    /// A job's archive is complete.
    Uploaded { job: u64 },
    /// A job's last report reaches the content's object.
    Ended { job: u64 },
    /// A job reports progress.
    Progress { job: u64 },
    /// The tiler dies.
    Death,
    /// It is replaced.
    Restart,
}

/// A running job.
#[derive(Clone, Copy, Debug)]
struct Job {
    content: usize,
    attempt: Attempt,
    /// Remaining CPU time in milliseconds; 0 while it does not render.
    work: f64,
    failed: Option<Retry>,
}

#[derive(Debug, Default)]
pub(super) struct Tiler {
    life: u32,
    /// Slots in use, by jobs and claims.
    taken: usize,
    /// True if a pull is running or scheduled.
    is_pulling: bool,
    jobs: BTreeMap<u64, Job>,
    next_job: u64,
    /// Time up to which the work of its renderings is computed.
    rendered_until: u64,
    /// Number of changes to the set of renderings.
    change: u64,
    /// CPU time used, in milliseconds.
    pub busy: f64,
}

/// Interval between a job's reports of progress.
const REPORT_MS: u64 = 1_000;
/// Pause after a call that was over the API's rate limit.
const BACKOFF_MS: u64 = 5_000;
/// Time after which a message reappears that needs a tiler without other jobs.
const LEAVE_MS: u64 = 1_000;
/// Time after which a message reappears that was not acknowledged.
const VISIBILITY_MS: u64 = 60_000;
/// Maximum number of messages in a pull.
const BATCH: usize = 100;
/// Remaining work at which a rendering counts as done, in milliseconds.
const DONE: f64 = 0.5;

impl World<'_> {
    pub(super) fn start_tiler(&mut self, number: usize) {
        let tiler = &mut self.tilers[number];
        let life = tiler.life + 1;
        *tiler = Tiler { life, rendered_until: self.now, busy: tiler.busy, ..Tiler::default() };
        if let Some(mean) = self.parameters.tiler.life {
            let ms = -(mean.as_millis() as f64) * (1.0 - self.random.f64()).ln();
            self.after_in(number, ms as u64, TilerEvent::Death);
        }
        let first = self.random.u64(0..=self.parameters.tiler.poll_ms); // tilers do not start together
        self.pull_after(number, first);
    }

    /// Schedules an event of a tiler's current life.
    fn after_in(&mut self, number: usize, ms: u64, event: TilerEvent) {
        self.after(ms, Event::Tiler { tiler: number, life: self.tilers[number].life, event });
    }

    pub(super) fn handle_tiler(&mut self, number: usize, life: u32, event: TilerEvent) {
        if self.tilers[number].life != life {
            if let TilerEvent::Claim { content } = event {
                self.queue.add_later(content, self.now + VISIBILITY_MS); // the message was not acknowledged
            }
            return;
        }
        match event {
            TilerEvent::Pulled => self.pulled(number),
            TilerEvent::Claim { content } => self.claim(number, content),
            TilerEvent::Fetched { job } => self.fetched(number, job),
            TilerEvent::Rendered { change } => self.rendered(number, change),
            TilerEvent::Uploaded { job } => self.uploaded(number, job),
            TilerEvent::Ended { job } => self.ended(number, job),
            TilerEvent::Progress { job } => self.progress(number, job),
            TilerEvent::Death => {
                self.tilers[number].life += 1;
                let ms = self.parameters.tiler.restart.as_millis() as u64;
                self.after_in(number, ms, TilerEvent::Restart);
            }
            TilerEvent::Restart => self.start_tiler(number),
        }
    }

    fn pull_after(&mut self, number: usize, ms: u64) {
        if !std::mem::replace(&mut self.tilers[number].is_pulling, true) {
            let ms = ms + self.parameters.platform.api_call.millis(&mut self.random);
            self.after_in(number, ms, TilerEvent::Pulled);
        }
    }

    fn pulled(&mut self, number: usize) {
        self.tilers[number].is_pulling = false;
        self.used.api_calls += 1.0;
        let now = self.now;
        if self.api.as_mut().is_some_and(|allowance| !allowance.take(now)) {
            self.calls_refused += 1;
            return self.pull_after(number, BACKOFF_MS);
        }
        let free = self.parameters.tiler.jobs.saturating_sub(self.tilers[number].taken);
        let messages = self.queue.pull(free.min(BATCH), now);
        if messages.is_empty() {
            return self.pull_after(number, self.parameters.tiler.poll_ms);
        }
        self.used.queue_operations += 2.0 * messages.len() as f64; // read and delete
        self.used.api_calls += 1.0; // one acknowledgement for all
        let is_acknowledged = self.api.as_mut().is_none_or(|allowance| allowance.take(now));
        self.calls_refused += usize::from(!is_acknowledged);
        let mut slowest = 0;
        for content in messages {
            if !is_acknowledged {
                self.queue.add_later(content, now + VISIBILITY_MS); // a second claim, which is refused
            }
            self.tilers[number].taken += 1;
            let ms = self.parameters.platform.edge_call.millis(&mut self.random);
            slowest = slowest.max(ms);
            self.after_in(number, ms, TilerEvent::Claim { content });
        }
        if self.tilers[number].taken < self.parameters.tiler.jobs {
            let settled = slowest + self.parameters.platform.api_call.millis(&mut self.random);
            self.pull_after(number, settled);
        }
    }

    fn claim(&mut self, number: usize, content: usize) {
        let alone = self.tilers[number].taken == 1;
        let must_be_alone = self.contents[content].conversion.as_ref().is_some_and(|known| known.job().alone);
        if must_be_alone && !alone {
            self.queue.add_later(content, self.now + LEAVE_MS);
            return self.free(number);
        }
        self.used.worker_requests += 1.0;
        self.used.object_requests += 1.0;
        let request = ClaimRequest { tiler: TilerId(number as u32), alone };
        let conversion::Reply::Claim(claim) = self.tell(content, conversion::Event::Claimed(request)) else {
            return self.free(number); // another tiler has it, or it has ended
        };
        self.contents[content].claimed.get_or_insert(self.now);
        let tiler = &mut self.tilers[number];
        tiler.next_job += 1;
        let job = tiler.next_job;
        tiler.jobs.insert(job, Job { content, attempt: claim.attempt, work: 0.0, failed: None });
        let source = &self.parameters.sources[self.contents[content].source];
        let ms = source.fetch.millis(&mut self.random);
        self.after_in(number, ms, TilerEvent::Fetched { job });
        self.after_in(number, REPORT_MS, TilerEvent::Progress { job });
    }

    /// Frees a slot.
    fn free(&mut self, number: usize) {
        self.tilers[number].taken -= 1;
        self.pull_after(number, 0);
    }

    fn fetched(&mut self, number: usize, job: u64) {
        self.render(number);
        let chance = self.random.f64();
        let Some(found) = self.tilers[number].jobs.get_mut(&job) else { return };
        let content = &self.contents[found.content];
        let source = &self.parameters.sources[content.source];
        if content.bad || chance < source.busy {
            let retry = if content.bad { Retry::Never } else { Retry::Later { after_seconds: None } };
            found.failed = Some(retry);
            return self.uploaded(number, job);
        }
        found.work = source.cpu + source.cpu_per_megapixel * content.megapixels;
        self.schedule_rendered(number);
    }

    /// Advances all renderings of a tiler to now.
    fn render(&mut self, number: usize) {
        let speed = self.speed(number);
        let tiler = &mut self.tilers[number];
        let passed = (self.now - tiler.rendered_until) as f64;
        tiler.rendered_until = self.now;
        for job in tiler.jobs.values_mut().filter(|job| job.work > 0.0) {
            let done = (passed * speed).min(job.work);
            tiler.busy += done;
            job.work = (job.work - done).max(f64::MIN_POSITIVE);
        }
    }

    /// Returns the number of cores for each rendering. A Worker on the same machine takes its share first.
    fn speed(&self, number: usize) -> f64 {
        let renderings = self.tilers[number].jobs.values().filter(|job| job.work > 0.0).count();
        let (machine, platform) = (&self.parameters.tiler, &self.parameters.platform);
        let taken = if self.requests_left > 0 { platform.request_cores } else { 0.0 };
        let cores = (machine.cores - taken).max(machine.cores / 4.0);
        machine.threads.min(cores / renderings.max(1) as f64)
    }

    /// Gives renderings all cores when the Worker has handled the last request.
    pub(super) fn requests_end(&mut self) {
        if self.parameters.platform.request_cores > 0.0 {
            (0..self.tilers.len()).for_each(|number| self.render(number));
            let left = std::mem::take(&mut self.requests_left);
            (0..self.tilers.len()).for_each(|number| self.schedule_rendered(number));
            self.requests_left = left;
        }
    }

    fn schedule_rendered(&mut self, number: usize) {
        let speed = self.speed(number);
        let tiler = &mut self.tilers[number];
        tiler.change += 1;
        let works = tiler.jobs.values().map(|job| job.work).filter(|work| *work > 0.0);
        let Some(least) = works.min_by(f64::total_cmp) else { return };
        let change = tiler.change;
        self.after_in(number, (least / speed).ceil() as u64, TilerEvent::Rendered { change });
    }

    fn rendered(&mut self, number: usize, change: u64) {
        if self.tilers[number].change != change {
            return;
        }
        self.render(number);
        let mut done = vec![];
        for (job, found) in &mut self.tilers[number].jobs {
            if found.work > 0.0 && found.work <= DONE {
                found.work = 0.0;
                done.push((*job, found.content));
            }
        }
        for (job, content) in done {
            let content = &self.contents[content];
            let upload = self.parameters.sources[content.source].upload;
            self.used.bucket_writes += content.megapixels / 38.0 + 3.0; // docs/operations/guide.md
            self.used.megapixels += content.megapixels;
            let ms = upload.millis(&mut self.random);
            self.after_in(number, ms, TilerEvent::Uploaded { job });
        }
        self.schedule_rendered(number);
    }

    fn uploaded(&mut self, number: usize, job: u64) {
        let ms = self.parameters.platform.edge_call.millis(&mut self.random);
        self.after_in(number, ms, TilerEvent::Ended { job });
    }

    fn ended(&mut self, number: usize, job: u64) {
        let Some(Job { content, attempt, failed, .. }) = self.tilers[number].jobs.remove(&job) else {
            return;
        };
        let outcome = match failed {
            Some(retry) => {
                let code = match retry {
                    Retry::Never => FailureCode::SourceNotFound,
                    _ => FailureCode::SourceUnreachable,
                };
                Outcome::GaveUp { failure: Failure::new(code, "simulated"), retry }
            }
            None => {
                self.contents[content].ready = true;
                Outcome::Finished(Finished::new(DZI, Archive::default(), Previews::default()))
            }
        };
        self.report(content, Report { attempt, outcome });
        self.free(number);
    }

    fn progress(&mut self, number: usize, job: u64) {
        let Some(Job { content, attempt, .. }) = self.tilers[number].jobs.get(&job).copied() else { return };
        let outcome = Outcome::Progress {
            stage: Stage::Rendering,
            progress: Progress::from(0.5),
            coarse: None,
            tiles: None,
        };
        self.report(content, Report { attempt, outcome });
        self.after_in(number, REPORT_MS, TilerEvent::Progress { job });
    }

    fn report(&mut self, content: usize, report: Report) {
        self.used.worker_requests += 1.0;
        self.used.object_requests += 1.0;
        self.tell(content, conversion::Event::Reported(report));
    }
}

/// Every pyramid's descriptor: it does not matter here.
const DZI: Dzi = Dzi {
    size: Size { width: 4000, height: 3000 },
    tile_size: 510,
    tile_overlap: 1,
    tile_format: TileFormat::Jpg,
};
