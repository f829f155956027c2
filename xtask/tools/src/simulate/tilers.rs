//! The tilers: each pulls while it has a free slot, downloads, renders on its cores, uploads and reports. Renderings
//! share the cores evenly, and none uses more cores than it has threads.

use std::collections::BTreeMap;

use anyhow::Result;
use edgezoom_content::protocol::{AttemptProgress, ClaimRequest, Outcome, Report, Retry, TilerId};
use edgezoom_content::{
    Archive, Attempt, Dzi, Failure, FailureCode, Finished, Previews, Progress, Size, Stage, TileFormat,
    conversion,
};

use super::parameters::{API_CALL, CORES, EDGE_CALL, POLL_MS, SOURCES, THREADS, UPLOAD};
use super::world::{TilerEvent as Event, World};

/// Runs a world with `count` tilers of `slots` jobs until all contents have ended. Returns the CPU time that the tilers
/// used, in milliseconds.
pub fn run(world: &mut World, count: usize, slots: usize) -> Result<f64> {
    let mut tilers: Vec<Tiler> =
        (0..count).map(|number| Tiler { number, slots, ..Tiler::default() }).collect();
    for tiler in &mut tilers {
        let first = world.random.u64(0..=POLL_MS); // tilers do not start together
        tiler.pull_after(world, first);
    }
    while let Some((tiler, event)) = world.next()? {
        tilers[tiler].handle(world, event);
    }
    Ok(tilers.iter().map(|tiler| tiler.busy).sum())
}

/// A machine with one tiler.
#[derive(Default)]
struct Tiler {
    number: usize,
    /// EDGEZOOM_JOBS.
    slots: usize,
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
    busy: f64,
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

/// Interval between a job's reports of progress.
const REPORT_MS: u64 = 1_000;
/// Pause after a call that was over the API's rate limit.
const BACKOFF_MS: u64 = 5_000;
/// Maximum number of messages in a pull.
const BATCH: usize = 100;
/// Remaining work at which a rendering counts as done, in milliseconds.
const DONE: f64 = 0.5;

impl Tiler {
    fn handle(&mut self, world: &mut World, event: Event) {
        match event {
            Event::Pulled => self.pulled(world),
            Event::Claim { content } => self.claim(world, content),
            Event::Fetched { job } => self.fetched(world, job),
            Event::Rendered { change } => self.rendered(world, change),
            Event::Ended { job } => self.ended(world, job),
            Event::Progress { job } => self.progress(world, job),
        }
    }

    fn after(&self, world: &mut World, ms: u64, event: Event) {
        world.after_in(self.number, ms, event);
    }

    fn pull_after(&mut self, world: &mut World, ms: u64) {
        if !std::mem::replace(&mut self.is_pulling, true) {
            let ms = ms + API_CALL.millis(&mut world.random);
            self.after(world, ms, Event::Pulled);
        }
    }

    fn pulled(&mut self, world: &mut World) {
        self.is_pulling = false;
        if !world.call_api() {
            return self.pull_after(world, BACKOFF_MS);
        }
        let free = self.slots.saturating_sub(self.taken);
        let count = free.min(BATCH).min(world.queue.len());
        let messages: Vec<usize> = world.queue.drain(..count).collect();
        if messages.is_empty() {
            return self.pull_after(world, POLL_MS);
        }
        world.used.queue_operations += 2.0 * messages.len() as f64; // read and delete
        let is_acknowledged = world.call_api(); // one acknowledgement for all
        let mut slowest = 0;
        for content in messages {
            if !is_acknowledged {
                world.send_again(content); // a second claim, which is refused
            }
            self.taken += 1;
            let ms = EDGE_CALL.millis(&mut world.random);
            slowest = slowest.max(ms);
            self.after(world, ms, Event::Claim { content });
        }
        if self.taken < self.slots {
            let settled = slowest + API_CALL.millis(&mut world.random);
            self.pull_after(world, settled);
        }
    }

    fn claim(&mut self, world: &mut World, content: usize) {
        world.used.worker_requests += 1.0;
        world.used.object_requests += 1.0;
        let request = ClaimRequest { tiler: TilerId(self.number as u32), alone: self.taken == 1 };
        let conversion::Reply::Claim(claim) = world.tell(content, conversion::Event::Claimed(request)) else {
            return self.free(world); // another tiler has it, or it has ended
        };
        let now = world.now;
        world.contents[content].claimed.get_or_insert(now);
        self.next_job += 1;
        let job = self.next_job;
        self.jobs.insert(job, Job { content, attempt: claim.attempt, work: 0.0, failed: None });
        let ms = SOURCES[world.contents[content].source].fetch.millis(&mut world.random);
        self.after(world, ms, Event::Fetched { job });
        self.after(world, REPORT_MS, Event::Progress { job });
    }

    /// Frees a slot.
    fn free(&mut self, world: &mut World) {
        self.taken -= 1;
        self.pull_after(world, 0);
    }

    fn fetched(&mut self, world: &mut World, job: u64) {
        self.render(world.now);
        let chance = world.random.f64();
        let Some(found) = self.jobs.get_mut(&job) else { return };
        let content = &world.contents[found.content];
        let source = &SOURCES[content.source];
        if content.bad || chance < source.busy {
            let retry = if content.bad { Retry::Never } else { Retry::Later { after_seconds: None } };
            found.failed = Some(retry);
            return self.end_after(world, 0, job);
        }
        found.work = source.cpu + source.cpu_per_megapixel * content.megapixels;
        self.schedule_rendered(world);
    }

    /// Advances all renderings to now.
    fn render(&mut self, now: u64) {
        let speed = self.speed();
        let passed = (now - self.rendered_until) as f64;
        self.rendered_until = now;
        for job in self.jobs.values_mut().filter(|job| job.work > 0.0) {
            let done = (passed * speed).min(job.work);
            self.busy += done;
            job.work = (job.work - done).max(f64::MIN_POSITIVE);
        }
    }

    /// Returns the number of cores for each rendering.
    fn speed(&self) -> f64 {
        let renderings = self.jobs.values().filter(|job| job.work > 0.0).count();
        THREADS.min(CORES / renderings.max(1) as f64)
    }

    fn schedule_rendered(&mut self, world: &mut World) {
        self.change += 1;
        let works = self.jobs.values().map(|job| job.work).filter(|work| *work > 0.0);
        if let Some(least) = works.min_by(f64::total_cmp) {
            let ms = (least / self.speed()).ceil() as u64;
            self.after(world, ms, Event::Rendered { change: self.change });
        }
    }

    fn rendered(&mut self, world: &mut World, change: u64) {
        if self.change != change {
            return;
        }
        self.render(world.now);
        let mut done = vec![];
        for (job, found) in &mut self.jobs {
            if found.work > 0.0 && found.work <= DONE {
                found.work = 0.0;
                done.push((*job, found.content));
            }
        }
        for (job, content) in done {
            let megapixels = world.contents[content].megapixels;
            world.used.bucket_writes += megapixels / 38.0 + 3.0; // docs/operations/guide.md
            world.used.megapixels += megapixels;
            let ms = UPLOAD.millis(&mut world.random);
            self.end_after(world, ms, job);
        }
        self.schedule_rendered(world);
    }

    /// Schedules a job's last report.
    fn end_after(&self, world: &mut World, ms: u64, job: u64) {
        let ms = ms + EDGE_CALL.millis(&mut world.random);
        self.after(world, ms, Event::Ended { job });
    }

    fn ended(&mut self, world: &mut World, job: u64) {
        let Some(Job { content, attempt, failed, .. }) = self.jobs.remove(&job) else { return };
        let outcome = match failed {
            Some(retry) => {
                let code = match retry {
                    Retry::Never => FailureCode::SourceNotFound,
                    _ => FailureCode::SourceUnreachable,
                };
                Outcome::GaveUp { failure: Failure::new(code, "simulated"), retry }
            }
            None => {
                world.contents[content].ready = true;
                Outcome::Finished(Finished::new(DZI, Archive::default(), Previews::default()))
            }
        };
        report(world, content, Report { attempt, outcome });
        self.free(world);
    }

    fn progress(&mut self, world: &mut World, job: u64) {
        let Some(Job { content, attempt, .. }) = self.jobs.get(&job).copied() else { return };
        let outcome = Outcome::Progress(AttemptProgress::of(Stage::Rendering, Progress::from(0.5)));
        report(world, content, Report { attempt, outcome });
        self.after(world, REPORT_MS, Event::Progress { job });
    }
}

fn report(world: &mut World, content: usize, report: Report) {
    world.used.worker_requests += 1.0;
    world.used.object_requests += 1.0;
    world.tell(content, conversion::Event::Reported(report));
}

/// Every pyramid's descriptor: it does not matter here.
const DZI: Dzi = Dzi {
    size: Size { width: 4000, height: 3000 },
    tile_size: 510,
    tile_overlap: 1,
    tile_format: TileFormat::Jpg,
};
