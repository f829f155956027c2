//! Decides which of the operator's containers run a tiler: none without work, one with the first job, and one more
//! while there have been more jobs than slots for some seconds. One starts at a time: Cloudflare's were seen to hang when
//! several did. One that does not report is destroyed, and another one starts; after failures with growing pauses.
//!
//! Pure: the object with the queue (`durable/backlog.rs`) tells it what happens and does what it orders.

use std::num::ParseIntError;
use std::str::FromStr;
use std::time::Duration;

use edgezoom_content::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::ContainerLimits;

/// All containers that exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    containers: Vec<Container>,
    /// Number of starts since the service began.
    starts: u64,
    /// Number of starts in a row after which no tiler reported.
    failed: u32,
    /// Time before which nothing starts.
    rests_until: Timestamp,
    /// Time since which there have been more jobs than slots.
    short_since: Option<Timestamp>,
    /// True if the last tiler left because the queue was empty, until the next job is sent. Jobs that count until then
    /// have ended without a message, or wait for their leases to end.
    is_idle: bool,
    /// Day (UTC) of `used`, counted from the Unix epoch.
    day: u64,
    /// Time that the containers which have ended ran that day, in milliseconds.
    used: u64,
    /// True if it is known that the day's time is used up.
    is_spent: bool,
    /// Events since the last call of [`Fleet::take_events`].
    #[serde(skip)]
    events: Vec<Event>,
}

/// One start of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Start {
    /// Number of the container, from 0.
    pub container: u32,
    /// Number of the start, which no other has.
    pub start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Container {
    start: Start,
    since: Timestamp,
    state: State,
    /// Time of the last report, or of the order to destroy it. Only its minute is stored, because reports are frequent.
    #[serde(skip)]
    heard: Timestamp,
    minute: u64,
    /// Time at which it is destroyed even if it reports: it was told to end, or has said that it does.
    #[serde(default)]
    ends_by: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Its tiler has not reported yet.
    Starting,
    /// Its tiler takes jobs, as many at once as this number.
    Serving(u32),
    /// Its tiler takes no jobs, and ends when those that it has are done.
    Leaving,
    /// It was silent, and is being destroyed.
    Destroyed,
}

/// An order for a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Start(Start),
    /// Let it finish its jobs: the day's time is used up.
    Stop(Start),
    Destroy(Start),
}

/// An event, which is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Started,
    /// The first report came this long after the start.
    Reported(Duration),
    /// It ended without a report, never reported, or has been silent for too long.
    Hung,
    /// It ran for this time.
    Ended(Duration),
    /// The day's time is used up.
    Spent,
}

/// A container, for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    container: u32,
    state: &'static str,
    seconds: u64,
}

/// The text that names a start is `<container>/<start>`.
impl FromStr for Start {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let (container, start) = text.split_once('/').unwrap_or((text, ""));
        Ok(Self { container: container.parse()?, start: start.parse()? })
    }
}

/// The fleet, for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    containers: Vec<Shown>,
    starts: u64,
    /// Number of starts in a row after which no tiler reported.
    failed: u32,
    used_seconds: u64,
    allowed_seconds: u64,
}

/// Time for which there must be more jobs than slots before another container starts.
const SHORT: Duration = Duration::from_secs(5);
/// Time in which a container that should end finishes its jobs: a little more than Cloudflare gives it.
const FAREWELL: Duration = Duration::from_secs(15 * 60);
/// Maximum number of slots that a tiler may report: four for each core.
pub const MAX_SLOTS: u32 = 16;
/// Pause after the second failed start in a row. It doubles with each one.
const FIRST_REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(600);
const MINUTE: u64 = 60 * 1000;
const DAY: u64 = 24 * 60 * 60 * 1000;

impl Fleet {
    /// Continues after the object was evicted from memory: the last report came in the stored minute.
    #[must_use]
    pub fn restored(mut self) -> Self {
        for container in &mut self.containers {
            container.heard = match container.state {
                State::Starting => container.since,
                State::Serving(_) | State::Leaving | State::Destroyed => {
                    Timestamp((container.minute + 1) * MINUTE)
                }
            };
        }
        self
    }

    /// Notes that a job was enqueued.
    pub fn called(&mut self) {
        self.is_idle = false;
    }

    /// Notes a report of the tiler in a container with the number of its slots; 0 if it takes no more jobs. `queued` is
    /// the number of messages in the queue.
    pub fn report(&mut self, of: Start, slots: u32, queued: u64, now: Timestamp) {
        let is_spent = self.is_spent;
        let Some(container) = self.known(of) else { return };
        let first = container.state == State::Starting;
        let since = container.since;
        container.hear(now);
        match container.state {
            State::Destroyed => return,
            _ if slots == 0 => container.leave(now),
            State::Leaving if !is_spent => {}
            // If it still takes jobs, it has not heard the order, which is repeated.
            State::Starting | State::Serving(_) | State::Leaving => {
                container.state = State::Serving(slots.min(MAX_SLOTS));
            }
        }
        if first {
            self.failed = 0;
            self.events.push(Event::Reported(now - since));
        }
        if slots == 0 {
            self.is_idle = queued == 0;
        }
    }

    /// Notes that a container has ended.
    pub fn end(&mut self, of: Start, now: Timestamp) {
        self.begin_day(now);
        let Some(container) = self.known(of).copied() else { return };
        self.containers.retain(|container| container.start != of);
        let today = now - container.since.max(Timestamp(self.day * DAY));
        self.used += today.as_millis() as u64;
        self.events.push(Event::Ended(now - container.since));
        if container.state == State::Starting {
            self.events.push(Event::Hung);
            self.note_failure(now);
        }
    }

    /// Returns what is to be done. `jobs` is the number of jobs that have not ended.
    pub fn orders(&mut self, jobs: u64, limits: &ContainerLimits, now: Timestamp) -> Vec<Order> {
        self.begin_day(now);
        let is_spent = self.used(now) >= limits.a_day;
        if is_spent && !std::mem::replace(&mut self.is_spent, true) {
            self.events.push(Event::Spent);
        }
        let mut orders = vec![];
        let mut failures = 0;
        for container in &mut self.containers {
            let start = container.start;
            match container.state {
                _ if now < container.deadline(limits.lease) => {
                    match container.state {
                        State::Serving(_) if is_spent => {
                            container.leave(now);
                            orders.push(Order::Stop(start));
                        }
                        State::Serving(_) => container.ends_by = None,
                        State::Starting | State::Leaving | State::Destroyed => {}
                    }
                    continue;
                }
                State::Starting => failures += 1,
                State::Serving(_) | State::Leaving | State::Destroyed => {}
            }
            if container.state != State::Destroyed {
                self.events.push(Event::Hung);
            }
            container.state = State::Destroyed;
            container.hear(now);
            orders.push(Order::Destroy(start));
        }
        for _ in 0..failures {
            self.note_failure(now);
        }
        let is_wanted = self.wants_more(jobs, now);
        if is_wanted
            && !is_spent
            && now >= self.rests_until
            && let Some(number) = (0..limits.containers)
                .find(|number| self.containers.iter().all(|one| one.start.container != *number))
        {
            self.starts += 1;
            let start = Start { container: number, start: self.starts };
            self.containers.push(Container {
                start,
                since: now,
                state: State::Starting,
                heard: now,
                minute: 0,
                ends_by: None,
            });
            self.short_since = None;
            self.events.push(Event::Started);
            orders.push(Order::Start(start));
        }
        orders
    }

    /// Returns the time of the next call of [`Fleet::orders`] that may be needed, if nothing else happens.
    pub fn alarm(&self, jobs: u64, limits: &ContainerLimits, now: Timestamp) -> Option<Timestamp> {
        let is_spent = self.is_spent;
        let deadlines = self.containers.iter().map(|container| container.deadline(limits.lease));
        let spent_at = (!self.containers.is_empty() && !is_spent).then(|| {
            let left = limits.a_day.saturating_sub(self.used(now)) / self.containers.len() as u32;
            now + left
        });
        let midnight = now.next_midnight();
        let next_start = match self.short_since {
            _ if jobs == 0 || self.is_idle => None,
            _ if is_spent => Some(midnight),
            _ if !self.is_serving() => Some(self.rests_until),
            short_since => short_since.map(|since| (since + SHORT).max(self.rests_until)),
        };
        let can_start = self.containers.len() < limits.containers as usize && !self.is_starting();
        let next_start = next_start.filter(|_| can_start);
        let soonest = now + Duration::from_secs(1); // what is due already was done
        deadlines.chain(spent_at).chain(next_start).min().map(|at| at.max(soonest))
    }

    /// Returns true if new contents would wait until tomorrow.
    pub fn is_spent(&self, limits: &ContainerLimits, now: Timestamp) -> bool {
        now.day() == self.day && self.used(now) >= limits.a_day
    }

    /// Returns the events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Returns the fleet for the operator.
    pub fn overview(&self, limits: &ContainerLimits, now: Timestamp) -> Overview {
        let shown = self.containers.iter().map(|container| Shown {
            container: container.start.container,
            state: container.state.name(),
            seconds: (now - container.since).as_secs(),
        });
        let used = if now.day() == self.day { self.used(now) } else { Duration::ZERO };
        Overview {
            containers: shown.collect(),
            starts: self.starts,
            failed: self.failed,
            used_seconds: used.as_secs(),
            allowed_seconds: limits.a_day.as_secs(),
        }
    }

    fn known(&mut self, of: Start) -> Option<&mut Container> {
        self.containers.iter_mut().find(|container| container.start == of)
    }

    fn is_starting(&self) -> bool {
        self.containers.iter().any(|container| container.state == State::Starting)
    }

    fn is_serving(&self) -> bool {
        self.containers.iter().any(|container| matches!(container.state, State::Serving(_)))
    }

    /// Returns true if another container should start.
    fn wants_more(&mut self, jobs: u64, now: Timestamp) -> bool {
        let slots: u64 = self.containers.iter().map(|container| container.state.slots()).sum();
        self.short_since = (jobs > slots).then(|| self.short_since.unwrap_or(now));
        let is_short = self.short_since.is_some_and(|since| now - since >= SHORT || !self.is_serving());
        is_short && !self.is_idle && !self.is_starting()
    }

    fn note_failure(&mut self, now: Timestamp) {
        self.failed += 1;
        if self.failed > 1 {
            let rest = FIRST_REST * 2_u32.saturating_pow((self.failed - 2).min(10));
            self.rests_until = now + rest.min(LONGEST_REST);
        }
    }

    /// Returns the time that containers ran this day.
    fn used(&self, now: Timestamp) -> Duration {
        let midnight = Timestamp(self.day * DAY);
        let running: Duration =
            self.containers.iter().map(|container| now - container.since.max(midnight)).sum();
        running + Duration::from_millis(self.used)
    }

    fn begin_day(&mut self, now: Timestamp) {
        let day = now.day();
        if day != self.day {
            (self.day, self.used, self.is_spent) = (day, 0, false);
        }
    }
}

impl Event {
    /// Returns the name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Reported(_) => "reported",
            Self::Hung => "hung",
            Self::Ended(_) => "ended",
            Self::Spent => "spent",
        }
    }

    /// Returns the time that belongs to it: to start, or to run.
    pub fn time(&self) -> Duration {
        match self {
            Self::Reported(time) | Self::Ended(time) => *time,
            Self::Started | Self::Hung | Self::Spent => Duration::ZERO,
        }
    }
}

impl Container {
    fn hear(&mut self, now: Timestamp) {
        (self.heard, self.minute) = (now, now.0 / MINUTE);
    }

    fn leave(&mut self, now: Timestamp) {
        self.state = State::Leaving;
        self.ends_by.get_or_insert(now + FAREWELL);
    }

    /// Returns the time at which it is destroyed, or the order is repeated, unless it reports before.
    fn deadline(&self, lease: Duration) -> Timestamp {
        let patience = match self.state {
            State::Starting | State::Destroyed => lease,
            // Reports come every ten seconds, and every forty without work.
            State::Serving(_) | State::Leaving => lease * 2,
        };
        let silent = self.heard + patience;
        let ends_by = self.ends_by.filter(|_| self.state != State::Destroyed);
        ends_by.map_or(silent, |ends_by| ends_by.min(silent))
    }
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving(_) => "serving",
            Self::Leaving => "leaving",
            Self::Destroyed => "destroyed",
        }
    }

    fn slots(self) -> u64 {
        if let Self::Serving(slots) = self { slots.into() } else { 0 }
    }
}

#[cfg(test)]
mod tests;
