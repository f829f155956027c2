//! The state machine of a conversion, as a pure function: [`decide`] takes what is known, what happened and the time, and
//! gives what is known then, what is to be done about it, and what to reply. The Durable Object of a content is its only
//! caller in the service; it keeps the [`Conversion`], performs the [`Effect`]s and sets its alarm to [`Conversion::alarm`].
//!
//! ```text
//!            Created               Claim                  Finished
//!   (nothing) ─────▶ Queued ───────────────▶ Claimed ───────────────▶ Ready
//!                     ▲  ▲  HandedBack, lease  │   │ GaveUp, or the
//!                     │  └── ran out, Reset ───┘   │ last lease ran out
//!                     └──── asked when the retry is due, Reset ──── Failed
//! ```
//!
//! What always holds, whatever is lost, doubled or late: what a client saw of the progress never falls, at most one
//! attempt is ever published, an attempt that is over stays over, and there is always an alarm or a tiler at work until the
//! conversion is finished and KV knows it.

mod timestamp;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use timestamp::Timestamp;

use crate::protocol::{Claim, Outcome, Report};
use crate::{
    Attempt, Content, ContentId, Dzi, Failure, FailureCode, Progress, SourceUrl, Stage, Status, Title,
};

/// All that is known of a conversion. What of it clients may see is its [`Conversion::content`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    id: ContentId,
    url: SourceUrl,
    /// The highest progress that any attempt reported: what clients are shown.
    shown: Progress,
    next_attempt: Attempt,
    /// How many leases ran out since somebody last asked for a fresh start.
    expired_leases: u32,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// A message in the queue says so. In case it was lost, another one is sent at `resend_at`.
    Queued { sends: u32, resend_at: Timestamp },
    /// A tiler is at work. When it is not heard of until `lease_until`, the job is queued again.
    Claimed { attempt: Attempt, lease_until: Timestamp, stage: Stage },
    /// Until KV is known to have it, it is written again at `record_at`.
    Ready {
        attempt: Attempt,
        dzi: Dzi,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
        record_at: Option<Timestamp>,
    },
    /// An ask from `retry_at` on starts anew.
    Failed { by: Option<Attempt>, failure: Failure, retry_at: Timestamp, record_at: Option<Timestamp> },
}

/// The times and counts by which [`decide`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a tiler may be silent before its job is given to another one. Tilers report every few seconds, so this is
    /// how long a network may be down, and how long a killed tiler delays its job.
    pub lease: Duration,
    /// How many leases may run out before the conversion fails: a source that takes its tiler down three times is left.
    pub leases: u32,
    /// How long a queued job waits before its message is taken for lost and sent again; four times longer each time, up
    /// to 64 times. A message too many costs one refused claim.
    pub resend: Duration,
    /// How long until a message that the queue did not take, or a record that KV did not take, is sent again.
    pub repeat: Duration,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody asks for the content by its URL.
    Created {
        /// The content's id.
        id: ContentId,
        /// The URL that was asked for.
        url: SourceUrl,
    },
    /// Somebody asks for the content by its id.
    Asked,
    /// A tiler pulled the job and wants it.
    Claim,
    /// A tiler tells what became of the attempt that it claimed.
    Reported(Report),
    /// The alarm rang: a lease ran out, or a message or a record has to be sent again.
    AlarmRang,
    /// The queue did not take the message.
    NotQueued,
    /// KV has taken the record.
    Recorded,
    /// The operator wants a content that is not ready to be tried anew at once.
    Reset,
}

/// Something to be done outside, after the new state is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send the content's job to the queue. When that fails: [`Event::NotQueued`].
    Enqueue,
    /// Write the finished content to KV, to expire after this time if there is one. When done: [`Event::Recorded`].
    Record {
        /// What to write.
        content: Content,
        /// When a failed content may be tried again. KV takes no less than a minute.
        expires_in: Option<Duration>,
    },
    /// Delete the content's record from KV.
    ForgetRecord,
}

/// What to answer whoever told of the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The content as it is now.
    Shown(Content),
    /// The claim on the job.
    Granted(Claim),
    /// The report is taken; or there is nothing to say.
    Accepted,
    /// There is no such conversion.
    Unknown,
    /// The claim or the report is refused: somebody else has the job, or it is finished.
    Refused,
    /// The id belongs to another URL.
    Taken,
}

/// What [`decide`] decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is known from now on; `None` when there is still nothing.
    pub after: Option<Conversion>,
    /// What to do once that is kept.
    pub effects: Vec<Effect>,
    /// What to answer.
    pub reply: Reply,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            leases: 3,
            resend: Duration::from_secs(120),
            repeat: Duration::from_secs(10),
        }
    }
}

/// Decides what follows from `event` for the conversion of which `before` is known.
#[must_use]
pub fn decide(before: Option<Conversion>, event: Event, now: Timestamp, rules: &Rules) -> Decision {
    let Some(mut conversion) = before else {
        return match event {
            Event::Created { id, url } => Conversion::begin(id, url, now, rules),
            _ => Decision { after: None, effects: vec![], reply: Reply::Unknown },
        };
    };
    let mut effects = vec![];
    let reply = conversion.apply(event, now, rules, &mut effects);
    Decision { after: Some(conversion), effects, reply }
}

impl Conversion {
    fn begin(id: ContentId, url: SourceUrl, now: Timestamp, rules: &Rules) -> Decision {
        let state = State::Queued { sends: 1, resend_at: now + rules.resend };
        let conversion =
            Self { id, url, shown: Progress::NONE, next_attempt: Attempt::FIRST, expired_leases: 0, state };
        let reply = Reply::Shown(conversion.content());
        Decision { after: Some(conversion), effects: vec![Effect::Enqueue], reply }
    }

    fn apply(&mut self, event: Event, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) -> Reply {
        match event {
            Event::Created { url, .. } if url != self.url => Reply::Taken,
            Event::Created { .. } | Event::Asked => {
                if matches!(self.state, State::Failed { retry_at, .. } if retry_at <= now) {
                    self.start_over(now, rules, effects);
                }
                Reply::Shown(self.content())
            }
            Event::Claim => self.claim(now, rules, effects),
            Event::Reported(Report { attempt, outcome }) => self.hear(attempt, outcome, now, rules, effects),
            Event::AlarmRang => {
                self.catch_up(now, rules, effects);
                Reply::Accepted
            }
            Event::NotQueued => {
                if let State::Queued { resend_at, .. } = &mut self.state {
                    *resend_at = now + rules.repeat;
                }
                Reply::Accepted
            }
            Event::Recorded => {
                if let State::Ready { record_at, .. } | State::Failed { record_at, .. } = &mut self.state {
                    *record_at = None;
                }
                Reply::Accepted
            }
            Event::Reset => {
                match self.state {
                    State::Ready { .. } => {} // ready is for good: caches everywhere have it
                    State::Failed { .. } => {
                        effects.push(Effect::ForgetRecord);
                        self.start_over(now, rules, effects);
                    }
                    State::Queued { .. } | State::Claimed { .. } => self.start_over(now, rules, effects),
                }
                Reply::Shown(self.content())
            }
        }
    }

    fn claim(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) -> Reply {
        if matches!(self.state, State::Claimed { .. }) {
            self.catch_up(now, rules, effects); // the alarm may be late
            effects.retain(|effect| *effect != Effect::Enqueue); // whoever claims is the one to be queued for
        }
        if !matches!(self.state, State::Queued { .. }) {
            return Reply::Refused;
        }
        let attempt = self.next_attempt;
        self.next_attempt = attempt.next();
        self.state = State::Claimed { attempt, lease_until: now + rules.lease, stage: Stage::Downloading };
        let lease_ms = rules.lease.as_millis() as u64;
        Reply::Granted(Claim { id: self.id, url: self.url.clone(), attempt, lease_ms })
    }

    fn hear(
        &mut self,
        attempt: Attempt,
        outcome: Outcome,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match outcome {
            Outcome::Progress { stage, progress } => self.progress(attempt, stage, progress, now, rules),
            Outcome::Finished { dzi, title } => self.finish(attempt, (dzi, title), now, rules, effects),
            Outcome::GaveUp { failure } => self.give_up(attempt, failure, now, rules, effects),
            Outcome::HandedBack if self.has_claim(attempt) => {
                self.enqueue(now, rules, effects);
                Reply::Accepted
            }
            Outcome::HandedBack => Reply::Refused,
        }
    }

    fn progress(
        &mut self,
        by: Attempt,
        stage: Stage,
        progress: Progress,
        now: Timestamp,
        rules: &Rules,
    ) -> Reply {
        match &mut self.state {
            State::Claimed { attempt, lease_until, stage: shown } if *attempt == by => {
                *lease_until = now + rules.lease;
                *shown = stage.max(*shown);
                self.shown = self.shown.max(progress.min(Progress::NEARLY));
                Reply::Accepted
            }
            _ => Reply::Refused,
        }
    }

    fn finish(
        &mut self,
        by: Attempt,
        (dzi, title): (Dzi, Option<Title>),
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match self.state {
            State::Claimed { attempt, .. } if attempt == by => {
                self.shown = Progress::COMPLETE;
                self.state = State::Ready { attempt, dzi, title, record_at: Some(now + rules.repeat) };
                effects.push(Effect::Record { content: self.content(), expires_in: None });
                Reply::Accepted
            }
            State::Ready { attempt, .. } if attempt == by => Reply::Accepted, // told twice
            _ => Reply::Refused,
        }
    }

    fn give_up(
        &mut self,
        by: Attempt,
        failure: Failure,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match self.state {
            State::Claimed { attempt, .. } if attempt == by => {
                self.fail(Some(by), failure, now, rules, effects);
                Reply::Accepted
            }
            State::Failed { by: attempt, .. } if attempt == Some(by) => Reply::Accepted, // told twice
            _ => Reply::Refused,
        }
    }

    /// Does what is due by the clock.
    fn catch_up(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        if self.alarm().is_none_or(|due| due > now) {
            return;
        }
        match &mut self.state {
            State::Queued { sends, resend_at } => {
                *resend_at = now + rules.resend * 4_u32.pow((*sends).min(3));
                *sends += 1;
                effects.push(Effect::Enqueue);
            }
            State::Claimed { .. } => {
                self.expired_leases += 1;
                if self.expired_leases < rules.leases {
                    self.enqueue(now, rules, effects);
                } else {
                    let message =
                        format!("The conversion was begun {} times and never finished.", self.expired_leases);
                    self.fail(None, Failure::new(FailureCode::Internal, message), now, rules, effects);
                }
            }
            State::Ready { record_at, .. } => {
                *record_at = Some(now + rules.repeat);
                effects.push(Effect::Record { content: self.content(), expires_in: None });
            }
            State::Failed { record_at, retry_at, .. } => {
                *record_at = Some(now + rules.repeat);
                let expires_in = Some(*retry_at - now);
                effects.push(Effect::Record { content: self.content(), expires_in });
            }
        }
    }

    fn start_over(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        self.expired_leases = 0;
        self.enqueue(now, rules, effects);
    }

    fn enqueue(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        self.state = State::Queued { sends: 1, resend_at: now + rules.resend };
        effects.push(Effect::Enqueue);
    }

    fn fail(
        &mut self,
        by: Option<Attempt>,
        failure: Failure,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let retry_after = failure.code.retry_after();
        let record_at = Some(now + rules.repeat);
        self.state = State::Failed { by, failure, retry_at: now + retry_after, record_at };
        effects.push(Effect::Record { content: self.content(), expires_in: Some(retry_after) });
    }

    fn has_claim(&self, by: Attempt) -> bool {
        matches!(self.state, State::Claimed { attempt, .. } if attempt == by)
    }

    /// When [`Event::AlarmRang`] is due; `None` when nothing is left to be done.
    #[must_use]
    pub fn alarm(&self) -> Option<Timestamp> {
        match self.state {
            State::Queued { resend_at, .. } => Some(resend_at),
            State::Claimed { lease_until, .. } => Some(lease_until),
            State::Ready { record_at, .. } | State::Failed { record_at, .. } => record_at,
        }
    }

    /// What clients may see.
    #[must_use]
    pub fn content(&self) -> Content {
        let status = match &self.state {
            State::Queued { .. } => Status::Processing { stage: Stage::Queued },
            State::Claimed { stage, .. } => Status::Processing { stage: *stage },
            State::Ready { attempt, dzi, title, .. } => {
                Status::Ready { attempt: *attempt, dzi: *dzi, title: title.clone() }
            }
            State::Failed { failure, .. } => Status::Failed { failure: failure.clone() },
        };
        Content { id: self.id, url: self.url.clone(), progress: self.shown, status }
    }
}

#[cfg(test)]
mod tests;
