//! Contents, queue and tilers in simulated time. What happens to a content is decided by the real state machine,
//! `content::conversion::decide`; this performs its effects, as the Durable Object does, and keeps the clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anyhow::{Context, Result};
use edgezoom_content::conversion::{Conversion, Decision, Effect, Event, Reply, decide};
use edgezoom_content::protocol::{ClaimRequest, TilerId};
use edgezoom_content::{ContentId, SourceUrl, Timestamp};

use super::cost::Use;
use super::jobs::{Job, Tiler};
use super::parameters::Parameters;
use super::queue::{Allowance, Queue};

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// The next client asks.
    Ask,
    /// The tilers tell how long the queue is.
    Backlog,
    /// A message can be pulled.
    Sent { content: usize },
    /// The alarm of a content's object, if it is still the one.
    Alarm { content: usize },
    /// KV has a content.
    Recorded { content: usize },
    /// A tiler's pull is answered. `life` tells a tiler from the one that was there before it.
    Pulled { tiler: usize, life: u32 },
    /// A claim reaches the content's object.
    Claim { tiler: usize, life: u32, content: usize },
    /// A job's source is there.
    Fetched { tiler: usize, life: u32, job: u64 },
    /// The next rendering of a tiler ends, if none was added or ended since.
    Rendered { tiler: usize, life: u32, change: u64 },
    /// A job's archive is complete.
    Uploaded { tiler: usize, life: u32, job: u64 },
    /// A job's last report reaches the content's object.
    Ended { tiler: usize, life: u32, job: u64 },
    /// A job reports its progress.
    Progress { tiler: usize, life: u32, job: u64 },
    /// A tiler dies.
    Death { tiler: usize, life: u32 },
    /// Another one begins in its place.
    Birth { tiler: usize },
}

/// A content.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// `None` when it is over, or was refused.
    pub conversion: Option<Conversion>,
    alarm: Option<Timestamp>,
    pub asked: u64,
    /// When it was first claimed.
    pub claimed: Option<u64>,
    /// When it was ready, or had failed.
    pub over: Option<u64>,
    pub ready: bool,
    /// Which kind of source, and what comes of it.
    pub source: usize,
    pub megapixels: f64,
    pub bad: bool,
}

pub(super) struct World<'a> {
    pub parameters: &'a Parameters,
    pub random: fastrand::Rng,
    pub now: u64,
    happenings: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    scheduled: u64,
    pub contents: Vec<Content>,
    pub queue: Queue,
    pub tilers: Vec<Tiler>,
    pub used: Use,
    pub api: Option<Allowance>,
    sends: Allowance,
    /// How long the queue is, as the edge knows it.
    backlog: usize,
    pub longest_queue: usize,
    pub refused: usize,
    pub calls_refused: usize,
    open: usize,
    pub asks_left: usize,
    /// Between two asks, in milliseconds, on average.
    pause: f64,
}

/// How often tilers report the length of the queue.
const BACKLOG_MS: u64 = 10_000;
/// The most that a simulation goes on after the last ask: longer than all retries.
const LONGEST_MS: u64 = 4 * 60 * 60 * 1000;
/// How many API calls are counted together.
const API_WINDOW_MS: f64 = 300_000.0;
/// How often a client looks whether its content is ready.
const CLIENT_POLL_MS: f64 = 2_000.0;

impl<'a> World<'a> {
    /// Runs `asks` asks, `rate` a minute, on so many tilers, until all contents are over.
    pub fn run(parameters: &'a Parameters, tilers: usize, rate: f64, asks: usize, seed: u64) -> Result<Self> {
        let mut world = Self {
            parameters,
            random: fastrand::Rng::with_seed(seed),
            now: 0,
            happenings: BinaryHeap::new(),
            scheduled: 0,
            contents: Vec::with_capacity(asks),
            queue: Queue::default(),
            tilers: vec![],
            used: Use::default(),
            api: parameters.platform.api_calls.map(|most| Allowance::new(most, API_WINDOW_MS)),
            sends: Allowance::new(parameters.platform.sends_per_second, 1000.0),
            backlog: 0,
            longest_queue: 0,
            refused: 0,
            calls_refused: 0,
            open: 0,
            asks_left: asks,
            pause: 60_000.0 / rate,
        };
        for tiler in 0..tilers {
            world.tilers.push(Tiler::default());
            world.begin(tiler);
        }
        world.after(BACKLOG_MS, Happening::Backlog);
        world.after(0, Happening::Ask);
        let mut end = u64::MAX;
        while world.asks_left > 0 || world.open > 0 {
            if world.asks_left == 0 && end == u64::MAX {
                end = world.now + LONGEST_MS;
            }
            let Reverse((at, _, happening)) = world.happenings.pop().context("nothing happens any more")?;
            anyhow::ensure!(at <= end, "{} contents are never over", world.open);
            world.now = at;
            world.handle(happening)?;
        }
        Ok(world)
    }

    pub(super) fn after(&mut self, ms: u64, happening: Happening) {
        self.scheduled += 1;
        self.happenings.push(Reverse((self.now + ms, self.scheduled, happening)));
    }

    fn handle(&mut self, happening: Happening) -> Result<()> {
        match happening {
            Happening::Ask => return self.ask(),
            Happening::Backlog => {
                self.backlog = self.queue.len();
                self.after(BACKLOG_MS, Happening::Backlog);
            }
            Happening::Sent { content } => {
                self.queue.add(content);
                self.longest_queue = self.longest_queue.max(self.queue.len());
            }
            Happening::Alarm { content } => {
                if self.contents[content].alarm == Some(Timestamp(self.now)) {
                    self.used.object_requests += 1.0;
                    self.tell(content, Event::AlarmFired);
                }
            }
            Happening::Recorded { content } => drop(self.tell(content, Event::CacheWritten)),
            Happening::Pulled { tiler, life } => self.pulled(tiler, life),
            Happening::Claim { tiler, life, content } => self.claim(tiler, life, content),
            Happening::Fetched { tiler, life, job } => self.fetched(tiler, life, job),
            Happening::Rendered { tiler, life, change } => self.rendered(tiler, life, change),
            Happening::Uploaded { tiler, life, job } => self.uploaded(tiler, life, job),
            Happening::Ended { tiler, life, job } => self.ended(tiler, life, job),
            Happening::Progress { tiler, life, job } => self.progress(tiler, life, job),
            Happening::Death { tiler, life } => self.die(tiler, life),
            Happening::Birth { tiler } => self.begin(tiler),
        }
        Ok(())
    }

    /// A client asks for a URL that is not known yet.
    fn ask(&mut self) -> Result<()> {
        if self.asks_left == 1 {
            self.asks_end();
        }
        self.asks_left -= 1;
        if self.asks_left > 0 {
            let pause = -self.pause * (1.0 - self.random.f64()).ln(); // as independent clients come
            self.after(pause.max(self.parameters.platform.ask).round() as u64, Happening::Ask);
        }
        let number = self.contents.len();
        let (source, mut left) = (&self.parameters.sources, self.random.f64());
        let source = source.iter().position(|kind| {
            left -= kind.share;
            left < 0.0
        });
        let source = source.unwrap_or(0);
        let kind = &self.parameters.sources[source];
        let bad = self.random.f64() < kind.bad;
        let megapixels = kind.size.draw(&mut self.random);
        self.contents.push(Content { asked: self.now, source, megapixels, bad, ..Content::default() });
        self.used.worker_requests += 1.0;
        self.used.kv_reads += 1.0;
        self.used.object_requests += 1.0;
        if self.backlog > self.parameters.platform.backlog_limit {
            self.refused += 1;
            return Ok(());
        }
        self.open += 1;
        let url = SourceUrl::parse(&format!("https://example.com/{number}"))?;
        let id = ContentId::candidates(&url).next().context("a URL without an id")?;
        self.tell(number, Event::Created { id, url });
        Ok(())
    }

    /// Tells a content's object what happened, and performs what follows.
    pub(super) fn tell(&mut self, content: usize, event: Event) -> Reply {
        let known = &mut self.contents[content];
        if known.over.is_some() && known.conversion.is_none() {
            return Reply::Conflict; // forgotten here; the real one is ready, and refuses the claim
        }
        let Decision { after, effects, reply } =
            decide(known.conversion.take(), event, Timestamp(self.now), &self.parameters.rules);
        self.used.rows_written += 2.0; // the state, and the alarm
        let alarm = after.as_ref().and_then(Conversion::alarm);
        let finished =
            after.as_ref().and_then(Conversion::content).is_some_and(|content| content.is_finished());
        let was_over = known.over.is_some();
        if finished && !was_over {
            known.over = Some(self.now);
            self.open -= 1;
            let waited = (self.now - known.asked) as f64;
            self.used.worker_requests += 1.0 + waited / CLIENT_POLL_MS;
            self.used.object_requests += waited / CLIENT_POLL_MS;
            self.used.kv_reads += 1.0 + waited / CLIENT_POLL_MS;
        }
        // A content that is over and recorded is left alone.
        known.conversion = after.filter(|_| !(finished && alarm.is_none()));
        if known.alarm != alarm {
            known.alarm = alarm;
            if let Some(Timestamp(at)) = alarm {
                self.after(at.saturating_sub(self.now), Happening::Alarm { content });
            }
        }
        for effect in effects {
            self.perform(content, &effect);
        }
        reply
    }

    fn perform(&mut self, content: usize, effect: &Effect) {
        let platform = &self.parameters.platform;
        let chance = self.random.f64() * 1e6;
        match effect {
            Effect::Enqueue => {
                if !self.sends.take(self.now) {
                    self.calls_refused += 1;
                    self.tell(content, Event::EnqueueFailed);
                    return;
                }
                let ms = platform.send.millis(&mut self.random);
                self.used.queue_operations += 1.0;
                self.used.object_ms += ms as f64;
                if chance >= platform.lost_per_million {
                    self.after(ms, Happening::Sent { content });
                }
            }
            Effect::WriteCache { .. } => {
                let ms = platform.kv_write.millis(&mut self.random);
                self.used.kv_writes += 1.0;
                self.used.object_requests += 1.0; // the index of all contents: a row, and its entry in an index of it
                self.used.rows_written += 2.0;
                self.used.object_ms += ms as f64;
                if chance >= platform.kv_failures_per_million {
                    self.after(ms, Happening::Recorded { content });
                }
            }
            Effect::DeleteFromCache => self.used.kv_writes += 1.0,
            Effect::RecordRemoval(_) => {} // no operator removes anything here
            Effect::DeleteUpload(_) => {}  // no load has files; R2 counts no deletions
            Effect::Sweep { before, .. } => {
                self.tell(content, Event::Swept { before: *before });
            }
        }
    }

    /// A tiler's claim, as the content's object decides it. `None`: the job is another one's, or over.
    pub(super) fn claimed(&mut self, content: usize, tiler: usize, alone: bool) -> Option<Job> {
        self.used.worker_requests += 1.0;
        self.used.object_requests += 1.0;
        let request = ClaimRequest { tiler: Some(TilerId(tiler as u32)), alone };
        let Reply::Claim(claim) = self.tell(content, Event::Claimed(request)) else { return None };
        self.contents[content].claimed.get_or_insert(self.now);
        Some(Job { content, attempt: claim.attempt, work: 0.0, failed: None })
    }
}
