//! Clients, contents and their Durable Objects, KV, and the queue, in simulated time. The real state machine, `content::conversion::decide`,
//! decides what happens to a content; this carries out its effects, as the Durable Object does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use anyhow::{Context, Result, ensure};
use edgezoom_content::conversion::{self, Conversion, Decision, Effect, Reply, decide};
use edgezoom_content::{ContentId, SourceUrl, Timestamp};

use super::cost::Use;
use super::parameters::Parameters;
use super::tilers::{Tiler, TilerEvent};

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The next client makes a request.
    Request,
    /// The tilers report the length of the queue.
    Backlog,
    /// A content's message can be pulled.
    Sent { content: usize },
    /// The alarm of a content's object, unless it was changed meanwhile.
    Alarm { content: usize },
    /// KV has stored a content.
    Recorded { content: usize },
    /// Something happens to a tiler. `life` counts its restarts.
    Tiler { tiler: usize, life: u32, event: TilerEvent },
}

#[derive(Debug, Default)]
pub(super) struct Content {
    /// `None` once the content has ended, or if it was rejected.
    pub conversion: Option<Conversion>,
    alarm: Option<Timestamp>,
    pub requested: u64,
    /// Time of the first claim.
    pub claimed: Option<u64>,
    /// Time at which it became ready or failed.
    pub ended: Option<u64>,
    pub ready: bool,
    /// Index of its kind of source.
    pub source: usize,
    pub megapixels: f64,
    /// True if it cannot be converted.
    pub bad: bool,
}

pub(super) struct World<'a> {
    pub parameters: &'a Parameters,
    pub random: fastrand::Rng,
    /// Milliseconds since the start.
    pub now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    pub contents: Vec<Content>,
    pub queue: Queue,
    pub tilers: Vec<Tiler>,
    pub used: Use,
    pub api: Option<Allowance>,
    sends: Allowance,
    /// Length of the queue as the edge knows it.
    backlog: usize,
    pub longest_queue: usize,
    /// Requests that got 503.
    pub rejected: usize,
    /// Calls over the rate limits of queue and API.
    pub calls_refused: usize,
    /// Contents that have not ended.
    open: usize,
    pub requests_left: usize,
    /// Mean time between two requests in milliseconds.
    pause: f64,
}

/// Interval between the tilers' reports of the queue's length.
const BACKLOG_MS: u64 = 10_000;
/// Maximum time after the last request: longer than all retries.
const LONGEST_MS: u64 = 4 * 60 * 60 * 1000;
/// Period of the API's rate limit.
const API_WINDOW_MS: f64 = 300_000.0;
/// Interval between a client's polls.
const CLIENT_POLL_MS: f64 = 2_000.0;

impl<'a> World<'a> {
    /// Runs `requests` requests for new contents, `rate` a minute, until all contents have ended.
    pub fn run(
        parameters: &'a Parameters,
        tilers: usize,
        rate: f64,
        requests: usize,
        seed: u64,
    ) -> Result<Self> {
        let mut world = Self {
            parameters,
            random: fastrand::Rng::with_seed(seed),
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            contents: Vec::with_capacity(requests),
            queue: Queue::default(),
            tilers: vec![],
            used: Use::default(),
            api: parameters.platform.api_calls.map(|most| Allowance::new(most, API_WINDOW_MS)),
            sends: Allowance::new(parameters.platform.sends_per_second, 1000.0),
            backlog: 0,
            longest_queue: 0,
            rejected: 0,
            calls_refused: 0,
            open: 0,
            requests_left: requests,
            pause: 60_000.0 / rate,
        };
        for tiler in 0..tilers {
            world.tilers.push(Tiler::default());
            world.start_tiler(tiler);
        }
        world.after(BACKLOG_MS, Event::Backlog);
        world.after(0, Event::Request);
        let mut end = u64::MAX;
        while world.requests_left > 0 || world.open > 0 {
            if world.requests_left == 0 && end == u64::MAX {
                end = world.now + LONGEST_MS;
            }
            let Reverse((at, _, event)) = world.events.pop().context("no event is left")?;
            ensure!(at <= end, "{} contents never end", world.open);
            world.now = at;
            world.handle(event)?;
        }
        Ok(world)
    }

    /// Schedules an event.
    pub(super) fn after(&mut self, ms: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((self.now + ms, self.scheduled, event)));
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Request => return self.request(),
            Event::Backlog => {
                self.backlog = self.queue.len();
                self.after(BACKLOG_MS, Event::Backlog);
            }
            Event::Sent { content } => {
                self.queue.add(content);
                self.longest_queue = self.longest_queue.max(self.queue.len());
            }
            Event::Alarm { content } => {
                if self.contents[content].alarm == Some(Timestamp(self.now)) {
                    self.used.object_requests += 1.0;
                    self.tell(content, conversion::Event::AlarmFired);
                }
            }
            Event::Recorded { content } => drop(self.tell(content, conversion::Event::CacheWritten)),
            Event::Tiler { tiler, life, event } => self.handle_tiler(tiler, life, event),
        }
        Ok(())
    }

    /// A client requests a new content.
    fn request(&mut self) -> Result<()> {
        if self.requests_left == 1 {
            self.requests_end();
        }
        self.requests_left -= 1;
        if self.requests_left > 0 {
            let pause = -self.pause * (1.0 - self.random.f64()).ln(); // a Poisson process
            self.after(pause.max(self.parameters.platform.request).round() as u64, Event::Request);
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
        let megapixels = kind.size.sample(&mut self.random);
        self.contents.push(Content { requested: self.now, source, megapixels, bad, ..Content::default() });
        self.used.worker_requests += 1.0;
        self.used.kv_reads += 1.0;
        self.used.object_requests += 1.0;
        if self.backlog > self.parameters.platform.backlog_limit {
            self.rejected += 1;
            return Ok(());
        }
        self.open += 1;
        let url = SourceUrl::parse(&format!("https://example.com/{number}"))?;
        let id = ContentId::candidates(&url).next().context("a URL without an id")?;
        self.tell(number, conversion::Event::Created { id, url });
        Ok(())
    }

    /// Sends an event to a content's object and carries out the effects.
    pub(super) fn tell(&mut self, content: usize, event: conversion::Event) -> Reply {
        let known = &mut self.contents[content];
        if known.ended.is_some() && known.conversion.is_none() {
            return Reply::Conflict; // its state was dropped here; the real object would also refuse
        }
        let Decision { after, effects, reply } =
            decide(known.conversion.take(), event, Timestamp(self.now), &self.parameters.rules);
        self.used.rows_written += 2.0; // state and alarm
        let alarm = after.as_ref().and_then(Conversion::alarm);
        let finished =
            after.as_ref().and_then(Conversion::content).is_some_and(|content| content.is_finished());
        if finished && known.ended.is_none() {
            known.ended = Some(self.now);
            self.open -= 1;
            let polls = (self.now - known.requested) as f64 / CLIENT_POLL_MS;
            self.used.worker_requests += 1.0 + polls;
            self.used.object_requests += polls;
            self.used.kv_reads += 1.0 + polls;
        }
        // Nothing happens any more to a content that is recorded.
        known.conversion = after.filter(|_| !(finished && alarm.is_none()));
        if known.alarm != alarm {
            known.alarm = alarm;
            if let Some(Timestamp(at)) = alarm {
                self.after(at.saturating_sub(self.now), Event::Alarm { content });
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
                    self.tell(content, conversion::Event::EnqueueFailed);
                    return;
                }
                let ms = platform.send.millis(&mut self.random);
                self.used.queue_operations += 1.0;
                self.used.object_ms += ms as f64;
                if chance >= platform.lost_per_million {
                    self.after(ms, Event::Sent { content });
                }
            }
            Effect::WriteCache { .. } => {
                let ms = platform.kv_write.millis(&mut self.random);
                self.used.kv_writes += 1.0;
                self.used.object_requests += 1.0; // the index of all contents: a row and its index entry
                self.used.rows_written += 2.0;
                self.used.object_ms += ms as f64;
                if chance >= platform.kv_failures_per_million {
                    self.after(ms, Event::Recorded { content });
                }
            }
            Effect::DeleteFromCache => self.used.kv_writes += 1.0,
            Effect::RecordRemoval(_) => {} // no operator removes anything here
            Effect::DeleteUpload(_) => {}  // no load has uploads, and R2 does not bill deletions
            Effect::Sweep { before, .. } => {
                self.tell(content, conversion::Event::Swept { before: *before });
            }
        }
    }
}

/// A rate limit: a number of calls at once, refilled continuously.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    most: f64,
    per_ms: f64,
    left: f64,
    at: u64,
}

impl Allowance {
    /// Allows `most` calls in `ms` milliseconds.
    fn new(most: f64, ms: f64) -> Self {
        Self { most, per_ms: most / ms, left: most, at: 0 }
    }

    /// Takes a call. Returns false if none is left.
    pub fn take(&mut self, now: u64) -> bool {
        self.left = (self.left + (now - self.at) as f64 * self.per_ms).min(self.most);
        self.at = now;
        let granted = self.left >= 1.0;
        if granted {
            self.left -= 1.0;
        }
        granted
    }
}

/// The queue: messages in order, each the number of its content.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<usize>,
    /// Invisible messages, by the time at which they reappear.
    later: BTreeMap<(u64, u64), usize>,
    count: u64,
}

impl Queue {
    fn add(&mut self, content: usize) {
        self.ready.push_back(content);
    }

    /// Adds a message that is invisible until `at`.
    pub fn add_later(&mut self, content: usize, at: u64) {
        self.count += 1;
        self.later.insert((at, self.count), content);
    }

    /// Takes at most `most` messages.
    pub fn pull(&mut self, most: usize, now: u64) -> Vec<usize> {
        while let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            self.ready.push_back(entry.remove());
        }
        self.ready.drain(..most.min(self.ready.len())).collect()
    }

    fn len(&self) -> usize {
        self.ready.len() + self.later.len()
    }
}
