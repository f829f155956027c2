//! The tilers: each pulls while it has a free slot, downloads, renders on its cores, uploads and reports. Renderings share the
//! cores evenly, and none uses more of them than it has threads.

use edgezoom_content::conversion::Event;
use edgezoom_content::protocol::{Outcome, Report, Retry};
use edgezoom_content::{Dzi, Failure, FailureCode, Progress, Size, Stage, TileFormat};

use super::jobs::{Job, Tiler};
use super::world::{Happening, World};

/// Between two reports of a job's progress.
const REPORT_MS: u64 = 1_000;
/// When a call is made again that the API refused for its rate.
const BACKOFF_MS: u64 = 5_000;
/// When a message comes back that needs a tiler without other jobs.
const LEAVE_MS: u64 = 1_000;
/// When a message comes back that was not acknowledged.
const VISIBILITY_MS: u64 = 60_000;
/// Messages in a pull, at most.
const BATCH: usize = 100;
/// What is left of a rendering when it counts as done, in milliseconds.
const DONE: f64 = 0.5;

impl World<'_> {
    /// A tiler starts.
    pub(super) fn begin(&mut self, number: usize) {
        let tiler = &mut self.tilers[number];
        let life = tiler.life + 1;
        *tiler =
            Tiler { life, is_alive: true, rendered_until: self.now, busy: tiler.busy, ..Tiler::default() };
        if let Some(mean) = self.parameters.tiler.life {
            let ms = -(mean.as_millis() as f64) * (1.0 - self.random.f64()).ln();
            self.after(ms as u64, Happening::Death { tiler: number, life });
        }
        let first = self.random.u64(0..=self.parameters.tiler.poll_ms); // they do not all start at once
        self.pull_after(number, first);
    }

    pub(super) fn die(&mut self, number: usize, life: u32) {
        if self.tilers[number].life == life {
            let tiler = &mut self.tilers[number];
            (tiler.is_alive, tiler.life) = (false, life + 1);
            self.after(self.parameters.tiler.restart.as_millis() as u64, Happening::Birth { tiler: number });
        }
    }

    fn lives(&self, number: usize, life: u32) -> bool {
        self.tilers[number].life == life && self.tilers[number].is_alive
    }

    fn pull_after(&mut self, number: usize, ms: u64) {
        let tiler = &mut self.tilers[number];
        if !tiler.is_pulling {
            tiler.is_pulling = true;
            let life = tiler.life;
            let ms = ms + self.parameters.platform.api_call.millis(&mut self.random);
            self.after(ms, Happening::Pulled { tiler: number, life });
        }
    }

    pub(super) fn pulled(&mut self, number: usize, life: u32) {
        if !self.lives(number, life) {
            return;
        }
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
        self.used.queue_operations += 2.0 * messages.len() as f64; // read, and deleted
        self.used.api_calls += 1.0; // acknowledged together
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
            self.after(ms, Happening::Claim { tiler: number, life, content });
        }
        if self.tilers[number].taken < self.parameters.tiler.jobs {
            let settled = slowest + self.parameters.platform.api_call.millis(&mut self.random);
            self.pull_after(number, settled);
        }
    }

    pub(super) fn claim(&mut self, number: usize, life: u32, content: usize) {
        if !self.lives(number, life) {
            // The message was not acknowledged: it comes back.
            return self.queue.add_later(content, self.now + VISIBILITY_MS);
        }
        let is_alone = self.tilers[number].taken == 1;
        let needs_to_be = self.contents[content].conversion.as_ref().is_some_and(|known| known.job().alone);
        if needs_to_be && !is_alone {
            self.queue.add_later(content, self.now + LEAVE_MS);
            return self.free(number);
        }
        let Some(job) = self.claimed(content, number, is_alone) else { return self.free(number) };
        let tiler = &mut self.tilers[number];
        tiler.next_job += 1;
        let job_number = tiler.next_job;
        tiler.jobs.insert(job_number, job);
        let source = &self.parameters.sources[self.contents[content].source];
        let ms = source.fetch.millis(&mut self.random);
        self.after(ms, Happening::Fetched { tiler: number, life, job: job_number });
        self.after(REPORT_MS, Happening::Progress { tiler: number, life, job: job_number });
    }

    fn free(&mut self, number: usize) {
        self.tilers[number].taken -= 1;
        self.pull_after(number, 0);
    }

    pub(super) fn fetched(&mut self, number: usize, life: u32, job: u64) {
        if !self.lives(number, life) {
            return;
        }
        self.bring_up_to_date(number);
        let chance = self.random.f64();
        let Some(found) = self.tilers[number].jobs.get_mut(&job) else { return };
        let content = &self.contents[found.content];
        let source = &self.parameters.sources[content.source];
        found.failed = if content.bad {
            Some(Retry::Never)
        } else if chance < source.busy {
            Some(Retry::Later { after_seconds: None })
        } else {
            None
        };
        if found.failed.is_some() {
            return self.uploaded(number, life, job);
        }
        found.work = source.cpu + source.cpu_per_megapixel * content.megapixels;
        self.next_rendered(number);
    }

    /// Gives each rendering the processor time since the last time.
    fn bring_up_to_date(&mut self, number: usize) {
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

    /// How many cores each rendering has. A Worker on the same machine takes its own.
    fn speed(&self, number: usize) -> f64 {
        let renderings = self.tilers[number].jobs.values().filter(|job| job.work > 0.0).count();
        let (machine, platform) = (&self.parameters.tiler, &self.parameters.platform);
        let taken = if self.asks_left > 0 { platform.ask_cores } else { 0.0 };
        let cores = (machine.cores - taken).max(machine.cores / 4.0);
        machine.threads.min(cores / renderings.max(1) as f64)
    }

    /// The Worker has had the last ask: renderings go on with all cores.
    pub(super) fn asks_end(&mut self) {
        if self.parameters.platform.ask_cores > 0.0 {
            for number in 0..self.tilers.len() {
                self.bring_up_to_date(number);
            }
            self.asks_left = 0;
            for number in 0..self.tilers.len() {
                self.next_rendered(number);
            }
            self.asks_left = 1;
        }
    }

    fn next_rendered(&mut self, number: usize) {
        let speed = self.speed(number);
        let tiler = &mut self.tilers[number];
        tiler.change += 1;
        let works = tiler.jobs.values().map(|job| job.work).filter(|work| *work > 0.0);
        let Some(least) = works.min_by(f64::total_cmp) else { return };
        let (life, change) = (tiler.life, tiler.change);
        self.after((least / speed).ceil() as u64, Happening::Rendered { tiler: number, life, change });
    }

    pub(super) fn rendered(&mut self, number: usize, life: u32, change: u64) {
        if !self.lives(number, life) || self.tilers[number].change != change {
            return;
        }
        self.bring_up_to_date(number);
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
            self.used.bucket_writes += content.megapixels / 30.0 + 3.0; // docs/operations/guide.md
            self.used.megapixels += content.megapixels;
            let ms = upload.millis(&mut self.random);
            self.after(ms, Happening::Uploaded { tiler: number, life, job });
        }
        self.next_rendered(number);
    }

    pub(super) fn uploaded(&mut self, number: usize, life: u32, job: u64) {
        if self.lives(number, life) {
            let ms = self.parameters.platform.edge_call.millis(&mut self.random);
            self.after(ms, Happening::Ended { tiler: number, life, job });
        }
    }

    pub(super) fn ended(&mut self, number: usize, life: u32, job: u64) {
        if !self.lives(number, life) {
            return;
        }
        let Some(Job { content, attempt, failed, .. }) = self.tilers[number].jobs.remove(&job) else {
            return;
        };
        let outcome = match failed {
            Some(retry) => {
                let code = if retry == Retry::Never {
                    FailureCode::SourceNotFound
                } else {
                    FailureCode::SourceUnreachable
                };
                Outcome::GaveUp { failure: Failure::new(code, "simulated"), retry }
            }
            None => {
                self.contents[content].ready = true;
                Outcome::Finished { dzi: DZI, title: None, warning: None, archive: None, previews: None }
            }
        };
        self.used.worker_requests += 1.0;
        self.used.object_requests += 1.0;
        self.tell(content, Event::Reported(Report { attempt, outcome }));
        self.free(number);
    }

    pub(super) fn progress(&mut self, number: usize, life: u32, job: u64) {
        if !self.lives(number, life) {
            return;
        }
        let Some(Job { content, attempt, .. }) = self.tilers[number].jobs.get(&job).copied() else { return };
        self.used.worker_requests += 1.0;
        self.used.object_requests += 1.0;
        let outcome =
            Outcome::Progress { stage: Stage::Rendering, progress: Progress::from(0.5), coarse: None };
        self.tell(content, Event::Reported(Report { attempt, outcome }));
        self.after(REPORT_MS, Happening::Progress { tiler: number, life, job });
    }
}

/// What is reported does not matter here.
const DZI: Dzi = Dzi {
    size: Size { width: 4000, height: 3000 },
    tile_size: 510,
    tile_overlap: 1,
    tile_format: TileFormat::Jpg,
};
