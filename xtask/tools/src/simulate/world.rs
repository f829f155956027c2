//! Clients, contents and their Durable Objects, KV, and the queue, in simulated time. The real state machine,
//! `content::conversion::decide`, decides what happens to a content; this carries out its effects, as the Durable
//! Object does. It hands the events of tilers to its caller, and knows nothing else of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use anyhow::{Context, Result, ensure};
use edgezoom_content::conversion::{self, Conversion, Decision, Effect, Reply, Rules, decide};
use edgezoom_content::{ContentId, SourceUrl, Timestamp};

use super::cost::Use;
use super::parameters::{API_CALLS, KV_WRITE, SEND, SOURCES};

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The next client makes a request.
    Request,
    /// A content's message can be pulled.
    Sent(usize),
    /// The alarm of a content's object, unless it was changed meanwhile.
    Alarm(usize),
    /// KV has stored a content.
    Recorded(usize),
    Tiler(usize, TilerEvent),
}

/// Something that happens to a tiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TilerEvent {
    /// A pull is answered.
    Pulled,
    /// A claim reaches the content's object.
    Claim { content: usize },
    /// A job's source has arrived.
    Fetched { job: u64 },
    /// The next rendering ends, unless one was added or ended since this change.
    Rendered { change: u64 },
    /// A job's last report reaches the content's object.
    Ended { job: u64 },
    /// A job reports progress.
    Progress { job: u64 },
}

/// A content that was requested.
#[derive(Debug, Default)]
pub struct Content {
    /// `None` once the content has ended.
    conversion: Option<Conversion>,
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
    /// Messages, each the number of its content.
    pub queue: VecDeque<usize>,
    pub longest_queue: usize,
    pub used: Use,
    /// The API's rate limit, if it counts pulls.
    api: Option<Allowance>,
    /// API calls over the rate limit.
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

/// Maximum time after the last request: longer than all retries.
const LONGEST_MS: u64 = 4 * 60 * 60 * 1000;
/// Time after which a message reappears that was not acknowledged.
const VISIBILITY_MS: u64 = 60_000;
/// Interval between a client's polls.
const CLIENT_POLL_MS: f64 = 2_000.0;

impl World {
    /// Returns a world in which clients make `requests` requests for new contents, `rate` a minute. With `api_limit`,
    /// pulls count as API calls.
    pub fn new(rate: f64, requests: usize, api_limit: bool, seed: u64) -> Self {
        let mut world = Self {
            random: fastrand::Rng::with_seed(seed),
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            contents: Vec::with_capacity(requests),
            queue: VecDeque::new(),
            longest_queue: 0,
            used: Use::default(),
            api: api_limit.then_some(Allowance { left: API_CALLS, at: 0 }),
            calls_refused: 0,
            open: 0,
            requests_left: requests,
            last_request: 0,
            pause: 60_000.0 / rate,
            rules: Rules::default(),
        };
        world.after(0, Event::Request);
        world
    }

    /// Lets time pass until something happens to a tiler, and returns that; `None` once all contents have ended.
    pub fn next(&mut self) -> Result<Option<(usize, TilerEvent)>> {
        while self.requests_left > 0 || self.open > 0 {
            let Reverse((at, _, event)) = self.events.pop().context("no event is left")?;
            let is_late = self.requests_left == 0 && at > self.last_request + LONGEST_MS;
            ensure!(!is_late, "{} contents never end", self.open);
            self.now = at;
            match event {
                Event::Request => self.request()?,
                Event::Sent(content) => {
                    self.queue.push_back(content);
                    self.longest_queue = self.longest_queue.max(self.queue.len());
                }
                Event::Alarm(content) if self.contents[content].alarm == Some(Timestamp(self.now)) => {
                    self.used.object_requests += 1.0;
                    self.tell(content, conversion::Event::AlarmFired);
                }
                Event::Alarm(_) => {}
                Event::Recorded(content) => drop(self.tell(content, conversion::Event::CacheWritten)),
                Event::Tiler(tiler, event) => return Ok(Some((tiler, event))),
            }
        }
        Ok(None)
    }

    fn after(&mut self, ms: u64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((self.now + ms, self.scheduled, event)));
    }

    /// Makes a message reappear, because it was not acknowledged.
    pub fn send_again(&mut self, content: usize) {
        self.after(VISIBILITY_MS, Event::Sent(content));
    }

    /// Schedules an event of a tiler.
    pub fn after_in(&mut self, tiler: usize, ms: u64, event: TilerEvent) {
        self.after(ms, Event::Tiler(tiler, event));
    }

    /// Counts a call of the API. Returns false if it is over the rate limit.
    pub fn call_api(&mut self) -> bool {
        self.used.api_calls += 1.0;
        let is_allowed = self.api.as_mut().is_none_or(|allowance| allowance.take(self.now));
        self.calls_refused += usize::from(!is_allowed);
        is_allowed
    }

    /// A client requests a new content.
    fn request(&mut self) -> Result<()> {
        self.last_request = self.now;
        self.requests_left -= 1;
        if self.requests_left > 0 {
            let pause = -self.pause * (1.0 - self.random.f64()).ln(); // a Poisson process
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
        self.open += 1;
        let url = SourceUrl::parse(&format!("https://example.com/{number}"))?;
        let id = ContentId::candidates(&url).next().context("a URL without an id")?;
        self.tell(number, conversion::Event::Created { id, url, alternative: None });
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
        match effect {
            Effect::Enqueue => {
                let ms = SEND.millis(&mut self.random);
                self.used.queue_operations += 1.0;
                self.used.object_ms += ms as f64;
                self.after(ms, Event::Sent(content));
            }
            Effect::WriteCache { .. } => {
                let ms = KV_WRITE.millis(&mut self.random);
                self.used.kv_writes += 1.0;
                self.used.object_requests += 1.0; // the index of all contents: a row and its index entry
                self.used.rows_written += 2.0;
                self.used.object_ms += ms as f64;
                self.after(ms, Event::Recorded(content));
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

/// The API's rate limit: a number of calls at once, refilled continuously.
#[derive(Clone, Debug)]
struct Allowance {
    left: f64,
    /// Time at which these were left.
    at: u64,
}

impl Allowance {
    /// Takes a call. Returns false if none is left.
    fn take(&mut self, now: u64) -> bool {
        let refilled = (now - self.at) as f64 * API_CALLS / 300_000.0;
        self.left = (self.left + refilled).min(API_CALLS);
        self.at = now;
        let is_granted = self.left >= 1.0;
        if is_granted {
            self.left -= 1.0;
        }
        is_granted
    }
}
