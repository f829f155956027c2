//! The tilers: each pulls while it has a free slot, downloads, renders on its cores, uploads and reports. Renderings share the cores
//! evenly, and none uses more cores than it has threads.

use std::collections::BTreeMap;

use anyhow::Result;
use edgezoom_content::protocol::{AttemptProgress, ClaimRequest, Outcome, Report, Retry, TilerId};
use edgezoom_content::{
    Archive, Attempt, Dzi, Failure, FailureCode, Finished, Previews, Progress, Size, Stage, TileFormat,
    conversion,
};

use super::parameters::{
    API_CALL, EDGE_CALL, POLL_MS, Parameters, RESTART_MS, SOURCES, THREADS, UPLOAD, exponential,
};
use super::world::{TilerEvent, What, World};

/// Runs a world with `count` tilers until all contents have ended. Returns the CPU time that the tilers used, in milliseconds.
pub fn run(world: &mut World, parameters: &Parameters, count: usize) -> Result<f64> {
    let mut tilers: Vec<Tiler> = (0..count).map(|number| Tiler::new(number, parameters)).collect();
    tilers.iter_mut().for_each(|tiler| tiler.start(world));
    world.open();
    while let Some(TilerEvent { tiler, life, what }) = world.next()? {
        tilers[tiler].handle(world, life, what);
    }
    Ok(tilers.iter().map(|tiler| tiler.busy).sum())
}

/// A machine with one tiler.
struct Tiler<'a> {
    number: usize,
    parameters: &'a Parameters,
    /// Number of its restarts.
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
/// Time after which a message reappears that needs a tiler without other jobs.
const LEAVE_MS: u64 = 1_000;
/// Time after which a message reappears that was not acknowledged.
const VISIBILITY_MS: u64 = 60_000;
/// Maximum number of messages in a pull.
const BATCH: usize = 100;
/// Remaining work at which a rendering counts as done, in milliseconds.
const DONE: f64 = 0.5;

impl<'a> Tiler<'a> {
    fn new(number: usize, parameters: &'a Parameters) -> Self {
        Self {
            number,
            parameters,
            life: 0,
            taken: 0,
            is_pulling: false,
            jobs: BTreeMap::new(),
            next_job: 0,
            rendered_until: 0,
            change: 0,
            busy: 0.0,
        }
    }

    /// Begins a life without jobs.
    fn start(&mut self, world: &mut World) {
        let (life, busy) = (self.life + 1, self.busy);
        *self = Self { life, busy, rendered_until: world.now, ..Self::new(self.number, self.parameters) };
        let death = exponential(self.parameters.life, &mut world.random);
        self.after(world, death as u64, What::Death);
        let first = world.random.u64(0..=POLL_MS); // tilers do not start together
        self.pull_after(world, first);
    }

    /// Schedules an event of this life.
    fn after(&self, world: &mut World, ms: u64, what: What) {
        world.after_in(ms, TilerEvent { tiler: self.number, life: self.life, what });
    }

    fn handle(&mut self, world: &mut World, life: u32, what: What) {
        if self.life != life {
            if let What::Claim { content } = what {
                world.queue.add_later(content, world.now + VISIBILITY_MS); // the message was not acknowledged
            }
            return;
        }
        match what {
            What::Pulled => self.pulled(world),
            What::Claim { content } => self.claim(world, content),
            What::Fetched { job } => self.fetched(world, job),
            What::Rendered { change } => self.rendered(world, change),
            What::Uploaded { job } => self.uploaded(world, job),
            What::Ended { job } => self.ended(world, job),
            What::Progress { job } => self.progress(world, job),
            What::Death => {
                self.life += 1;
                self.after(world, RESTART_MS, What::Restart);
            }
            What::Restart => self.start(world),
        }
    }

    fn pull_after(&mut self, world: &mut World, ms: u64) {
        if !std::mem::replace(&mut self.is_pulling, true) {
            let ms = ms + API_CALL.millis(&mut world.random);
            self.after(world, ms, What::Pulled);
        }
    }

    fn pulled(&mut self, world: &mut World) {
        self.is_pulling = false;
        if !call_api(world) {
            return self.pull_after(world, BACKOFF_MS);
        }
        let free = self.parameters.jobs.saturating_sub(self.taken);
        let messages = world.queue.pull(free.min(BATCH), world.now);
        if messages.is_empty() {
            return self.pull_after(world, POLL_MS);
        }
        world.used.queue_operations += 2.0 * messages.len() as f64; // read and delete
        let is_acknowledged = call_api(world); // one acknowledgement for all
        let mut slowest = 0;
        for content in messages {
            if !is_acknowledged {
                world.queue.add_later(content, world.now + VISIBILITY_MS); // a second claim, which is refused
            }
            self.taken += 1;
            let ms = EDGE_CALL.millis(&mut world.random);
            slowest = slowest.max(ms);
            self.after(world, ms, What::Claim { content });
        }
        if self.taken < self.parameters.jobs {
            let settled = slowest + API_CALL.millis(&mut world.random);
            self.pull_after(world, settled);
        }
    }

    fn claim(&mut self, world: &mut World, content: usize) {
        let alone = self.taken == 1;
        let must_be_alone =
            world.contents[content].conversion.as_ref().is_some_and(|known| known.job().alone);
        if must_be_alone && !alone {
            world.queue.add_later(content, world.now + LEAVE_MS);
            return self.free(world);
        }
        world.used.worker_requests += 1.0;
        world.used.object_requests += 1.0;
        let request = ClaimRequest { tiler: TilerId(self.number as u32), alone };
        let conversion::Reply::Claim(claim) = world.tell(content, conversion::Event::Claimed(request)) else {
            return self.free(world); // another tiler has it, or it has ended
        };
        let now = world.now;
        world.contents[content].claimed.get_or_insert(now);
        self.next_job += 1;
        let job = self.next_job;
        self.jobs.insert(job, Job { content, attempt: claim.attempt, work: 0.0, failed: None });
        let ms = SOURCES[world.contents[content].source].fetch.millis(&mut world.random);
        self.after(world, ms, What::Fetched { job });
        self.after(world, REPORT_MS, What::Progress { job });
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
            return self.uploaded(world, job);
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
        THREADS.min(self.parameters.cores / renderings.max(1) as f64)
    }

    fn schedule_rendered(&mut self, world: &mut World) {
        self.change += 1;
        let works = self.jobs.values().map(|job| job.work).filter(|work| *work > 0.0);
        if let Some(least) = works.min_by(f64::total_cmp) {
            let ms = (least / self.speed()).ceil() as u64;
            self.after(world, ms, What::Rendered { change: self.change });
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
            self.after(world, ms, What::Uploaded { job });
        }
        self.schedule_rendered(world);
    }

    fn uploaded(&mut self, world: &mut World, job: u64) {
        let ms = EDGE_CALL.millis(&mut world.random);
        self.after(world, ms, What::Ended { job });
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
        self.after(world, REPORT_MS, What::Progress { job });
    }
}

/// Counts a call of the API. Returns false if it is over the rate limit.
fn call_api(world: &mut World) -> bool {
    let now = world.now;
    world.used.api_calls += 1.0;
    let is_allowed = world.api.as_mut().is_none_or(|allowance| allowance.take(now));
    world.calls_refused += usize::from(!is_allowed);
    is_allowed
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
