//! Clients, contents and their Durable Objects, KV, and the queue, in simulated time. The real state machine,
//! `content::conversion::decide`, decides what happens to a content; this carries out its effects, as the Durable Object does. It hands
//! the events of tilers to its caller, and knows nothing else of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use anyhow::{Context, Result, ensure};
use edgezoom_content::conversion::{self, Conversion, Decision, Effect, Reply, Rules, decide};
use edgezoom_content::{ContentId, SourceUrl, Timestamp};

use super::cost::Use;
use super::parameters::{BACKLOG_LIMIT, KV_WRITE, Parameters, SEND, SENDS_A_SECOND, SOURCES, exponential};

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The next client makes a request.
    Request,
    /// The tilers report the length of the queue.
    Backlog,
    /// A content's message can be pulled.
    Sent(usize),
    /// The alarm of a content's object, unless it was changed meanwhile.
    Alarm(usize),
    /// KV has stored a content.
    Recorded(usize),
    Tiler(TilerEvent),
}

/// Something that happens to a tiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TilerEvent {
    pub tiler: usize,
    /// Number of the tiler's restarts when this was scheduled.
    pub life: u32,
    pub what: What,
}

/// What happens to a tiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
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

/// A content that was requested.
#[derive(Debug, Default)]
pub struct Content {
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

/// Everything but the tilers.
pub struct World {
    pub random: fastrand::Rng,
    /// Milliseconds since the start.
    pub now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    pub contents: Vec<Content>,
    pub queue: Queue,
    pub longest_queue: usize,
    pub used: Use,
    /// The API's rate limit, if it counts pulls.
    pub api: Option<Allowance>,
    sends: Allowance,
    lost_messages: f64,
    failed_writes: f64,
    /// Length of the queue as the edge knows it.
    backlog: usize,
    /// Requests that got 503.
    pub rejected: usize,
    /// Calls over the rate limits of queue and API.
    pub calls_refused: usize,
    /// Contents that have not ended.
    open: usize,
    requests_left: usize,
    /// Time of the last request so far.
    last_request: u64,
    /// Mean time between two requests in milliseconds.
    pause: f64,
    rules: Rules,
}

/// Interval between the tilers' reports of the queue's length.
const BACKLOG_MS: u64 = 10_000;
/// Maximum time after the last request: longer than all retries.
const LONGEST_MS: u64 = 4 * 60 * 60 * 1000;
/// Period of the API's rate limit.
const API_WINDOW_MS: f64 = 300_000.0;
/// Interval between a client's polls.
const CLIENT_POLL_MS: f64 = 2_000.0;

impl World {
    /// Returns a world in which clients make `requests` requests for new contents, `rate` a minute. They begin with [`Self::open`].
    pub fn new(parameters: &Parameters, rate: f64, requests: usize, seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            contents: Vec::with_capacity(requests),
            queue: Queue::default(),
            longest_queue: 0,
            used: Use::default(),
            api: parameters.api_calls.map(|most| Allowance::new(most, API_WINDOW_MS)),
            sends: Allowance::new(SENDS_A_SECOND, 1000.0),
            lost_messages: parameters.lost_messages,
            failed_writes: parameters.failed_writes,
            backlog: 0,
            rejected: 0,
            calls_refused: 0,
            open: 0,
            requests_left: requests,
            last_request: 0,
            pause: 60_000.0 / rate,
            rules: Rules::default(),
        }
    }

    /// Schedules the first events.
    pub fn open(&mut self) {
        self.after(BACKLOG_MS, Event::Backlog);
        self.after(0, Event::Request);
    }

    /// Lets time pass until something happens to a tiler, and returns that; `None` once all contents have ended.
    pub fn next(&mut self) -> Result<Option<TilerEvent>> {
        while self.requests_left > 0 || self.open > 0 {
            let Reverse((at, _, event)) = self.events.pop().context("no event is left")?;
            let is_late = self.requests_left == 0 && at > self.last_request + LONGEST_MS;
            ensure!(!is_late, "{} contents never end", self.open);
            self.now = at;
            match event {
                Event::Request => self.request()?,
                Event::Backlog => {
                    self.backlog = self.queue.len();
                    self.after(BACKLOG_MS, Event::Backlog);
                }
                Event::Sent(content) => {
                    self.queue.ready.push_back(content);
                    self.longest_queue = self.longest_queue.max(self.queue.len());
                }
                Event::Alarm(content) if self.contents[content].alarm == Some(Timestamp(self.now)) => {
                    self.used.object_requests += 1.0;
                    self.tell(content, conversion::Event::AlarmFired);
                }
                Event::Alarm(_) => {}
                Event::Recorded(content) => drop(self.tell(content, conversion::Event::CacheWritten)),
                Event::Tiler(event) => return Ok(Some(event)),
            }
        }
        Ok(None)
    }

    fn after(&mut self, ms: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((self.now + ms, self.scheduled, event)));
    }

    /// Schedules an event of a tiler.
    pub fn after_in(&mut self, ms: u64, event: TilerEvent) {
        self.after(ms, Event::Tiler(event));
    }

    /// A client requests a new content.
    fn request(&mut self) -> Result<()> {
        self.last_request = self.now;
        self.requests_left -= 1;
        if self.requests_left > 0 {
            let pause = exponential(self.pause, &mut self.random);
            self.after(pause.round() as u64, Event::Request);
        }
        let number = self.contents.len();
        let mut left = self.random.f64();
        let source = SOURCES.iter().position(|kind| {
            left -= kind.share;
            left < 0.0
        });
        let source = source.unwrap_or(0);
        let bad = self.random.f64() < SOURCES[source].bad;
        let megapixels = SOURCES[source].size.sample(&mut self.random);
        self.contents.push(Content { requested: self.now, source, megapixels, bad, ..Content::default() });
        self.used.worker_requests += 1.0;
        self.used.kv_reads += 1.0;
        self.used.object_requests += 1.0;
        if self.backlog > BACKLOG_LIMIT {
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
    pub fn tell(&mut self, content: usize, event: conversion::Event) -> Reply {
        let known = &mut self.contents[content];
        if known.ended.is_some() && known.conversion.is_none() {
            return Reply::Conflict; // its state was dropped here; the real object would also refuse
        }
        let Decision { after, effects, reply } =
            decide(known.conversion.take(), event, Timestamp(self.now), &self.rules);
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
                self.after(at.saturating_sub(self.now), Event::Alarm(content));
            }
        }
        for effect in effects {
            self.perform(content, &effect);
        }
        reply
    }

    fn perform(&mut self, content: usize, effect: &Effect) {
        let chance = self.random.f64() * 1e6;
        match effect {
            Effect::Enqueue => {
                if !self.sends.take(self.now) {
                    self.calls_refused += 1;
                    self.tell(content, conversion::Event::EnqueueFailed);
                    return;
                }
                let ms = SEND.millis(&mut self.random);
                self.used.queue_operations += 1.0;
                self.used.object_ms += ms as f64;
                if chance >= self.lost_messages {
                    self.after(ms, Event::Sent(content));
                }
            }
            Effect::WriteCache { .. } => {
                let ms = KV_WRITE.millis(&mut self.random);
                self.used.kv_writes += 1.0;
                self.used.object_requests += 1.0; // the index of all contents: a row and its index entry
                self.used.rows_written += 2.0;
                self.used.object_ms += ms as f64;
                if chance >= self.failed_writes {
                    self.after(ms, Event::Recorded(content));
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
pub struct Allowance {
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
pub struct Queue {
    ready: VecDeque<usize>,
    /// Invisible messages, by the time at which they reappear.
    later: BTreeMap<(u64, u64), usize>,
    count: u64,
}

impl Queue {
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
