//! The state machine of a conversion, as a pure function: [`decide`] takes the state, an event and the time, and gives
//! the new state, the effects to perform and the reply. The Durable Object of a content is its only caller in the
//! service; it stores the [`Conversion`], performs the [`Effect`]s and sets its alarm to [`Conversion::alarm`].
//!
//! ```text
//!            Created              Claimed                 Finished
//!   (nothing) ─────▶ Queued ───────────────▶ Claimed ───────────────▶ Ready
//!                     ▲  ▲  HandedBack, lease  │   │ GaveUp, or the
//!                     │  └── expired, Reset ───┘   │ last lease expired
//!                     └── Requested when the retry is due, Reset ── Failed
//! ```
//!
//! These hold even when messages are lost, doubled or late: the progress that clients see never falls, at most one
//! attempt is ever published, an attempt that is over stays over, and until the conversion is finished and KV has it,
//! an alarm is set.

mod event;
mod rules;
mod timestamp;

pub use event::{Effect, Event, Reply};
pub use rules::Rules;
pub use timestamp::Timestamp;

use serde::{Deserialize, Serialize};

use crate::protocol::{Claim, Outcome, Report};
use crate::{
    Archive, Attempt, Content, ContentId, Dzi, Failure, FailureCode, Progress, SourceUrl, Stage, Status,
    Title,
};

/// The state of a conversion. Clients see its [`Conversion::content`]. Its fields are what the Durable Object stores as
/// JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    id: ContentId,
    url: SourceUrl,
    /// The highest progress that any attempt reported, which clients see.
    shown: Progress,
    next_attempt: Attempt,
    /// How many leases expired since the conversion was created or started over.
    expired_leases: u32,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// The job is in the queue. In case the message was lost, another one is sent at `resend_at`.
    Queued { sends: u32, resend_at: Timestamp },
    /// A tiler is at work. Without a report until `lease_until`, the job is queued again.
    Claimed { attempt: Attempt, lease_until: Timestamp, stage: Stage },
    /// Until KV has it, it is written again at `record_at`.
    Ready {
        attempt: Attempt,
        dzi: Dzi,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archive: Option<Archive>,
        record_at: Option<Timestamp>,
    },
    /// A request from `retry_at` on starts over.
    Failed { by: Option<Attempt>, failure: Failure, retry_at: Timestamp, record_at: Option<Timestamp> },
}

/// The result of [`decide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The new state; `None` when the conversion still does not exist.
    pub after: Option<Conversion>,
    /// What to do once the state is stored.
    pub effects: Vec<Effect>,
    /// The reply to the sender.
    pub reply: Reply,
}

/// Decides what follows from `event` for a conversion in the state `before`.
#[must_use]
pub fn decide(before: Option<Conversion>, event: Event, now: Timestamp, rules: &Rules) -> Decision {
    let Some(mut conversion) = before else {
        return match event {
            Event::Created { id, url } => Conversion::create(id, url, now, rules),
            _ => Decision { after: None, effects: vec![], reply: Reply::NotFound },
        };
    };
    let mut effects = vec![];
    let reply = conversion.apply(event, now, rules, &mut effects);
    Decision { after: Some(conversion), effects, reply }
}

impl Conversion {
    fn create(id: ContentId, url: SourceUrl, now: Timestamp, rules: &Rules) -> Decision {
        let state = State::Queued { sends: 1, resend_at: now + rules.resend };
        let conversion =
            Self { id, url, shown: Progress::NONE, next_attempt: Attempt::FIRST, expired_leases: 0, state };
        let reply = Reply::Content(conversion.content());
        Decision { after: Some(conversion), effects: vec![Effect::Enqueue], reply }
    }

    fn apply(&mut self, event: Event, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) -> Reply {
        match event {
            Event::Created { url, .. } if url != self.url => Reply::IdTaken,
            Event::Created { .. } | Event::Requested => {
                if matches!(self.state, State::Failed { retry_at, .. } if retry_at <= now) {
                    self.start_over(now, rules, effects);
                }
                Reply::Content(self.content())
            }
            Event::Claimed => self.claim(now, rules, effects),
            Event::Reported(Report { attempt, outcome }) => {
                self.handle_report(attempt, outcome, now, rules, effects)
            }
            Event::AlarmFired => {
                self.handle_alarm(now, rules, effects);
                Reply::Accepted
            }
            Event::EnqueueFailed => {
                if let State::Queued { resend_at, .. } = &mut self.state {
                    *resend_at = now + rules.repeat;
                }
                Reply::Accepted
            }
            Event::CacheWritten => {
                if let State::Ready { record_at, .. } | State::Failed { record_at, .. } = &mut self.state {
                    *record_at = None;
                }
                Reply::Accepted
            }
            Event::Reset => {
                match self.state {
                    State::Ready { .. } => {} // caches everywhere have a ready content
                    State::Failed { .. } => {
                        effects.push(Effect::DeleteFromCache);
                        self.start_over(now, rules, effects);
                    }
                    State::Queued { .. } | State::Claimed { .. } => self.start_over(now, rules, effects),
                }
                Reply::Content(self.content())
            }
        }
    }

    fn claim(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) -> Reply {
        if matches!(self.state, State::Claimed { .. }) {
            self.handle_alarm(now, rules, effects); // the alarm may be late
            effects.retain(|effect| *effect != Effect::Enqueue); // this claim takes the job
        }
        if !matches!(self.state, State::Queued { .. }) {
            return Reply::Conflict;
        }
        let attempt = self.next_attempt;
        self.next_attempt = attempt.next();
        self.state = State::Claimed { attempt, lease_until: now + rules.lease, stage: Stage::Downloading };
        let lease_ms = rules.lease.as_millis() as u64;
        Reply::Claim(Claim { id: self.id, url: self.url.clone(), attempt, lease_ms })
    }

    fn handle_report(
        &mut self,
        attempt: Attempt,
        outcome: Outcome,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match outcome {
            Outcome::Progress { stage, progress } => self.progress(attempt, stage, progress, now, rules),
            Outcome::Finished { dzi, title, archive } => {
                self.finish(attempt, (dzi, title, archive), now, rules, effects)
            }
            Outcome::GaveUp { failure } => self.give_up(attempt, failure, now, rules, effects),
            Outcome::HandedBack if self.has_claim(attempt) => {
                self.enqueue(now, rules, effects);
                Reply::Accepted
            }
            Outcome::HandedBack => Reply::Conflict,
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
            _ => Reply::Conflict,
        }
    }

    fn finish(
        &mut self,
        by: Attempt,
        (dzi, title, archive): (Dzi, Option<Title>, Option<Archive>),
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match self.state {
            State::Claimed { attempt, .. } if attempt == by => {
                self.shown = Progress::COMPLETE;
                let record_at = Some(now + rules.repeat);
                self.state = State::Ready { attempt, dzi, title, archive, record_at };
                effects.push(Effect::WriteCache { content: self.content(), expires_in: None });
                Reply::Accepted
            }
            State::Ready { attempt, .. } if attempt == by => Reply::Accepted, // reported twice
            _ => Reply::Conflict,
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
            State::Failed { by: attempt, .. } if attempt == Some(by) => Reply::Accepted, // reported twice
            _ => Reply::Conflict,
        }
    }

    /// Does what is due.
    fn handle_alarm(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
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
                effects.push(Effect::WriteCache { content: self.content(), expires_in: None });
            }
            State::Failed { record_at, retry_at, .. } => {
                *record_at = Some(now + rules.repeat);
                let expires_in = Some(*retry_at - now);
                effects.push(Effect::WriteCache { content: self.content(), expires_in });
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
        effects.push(Effect::WriteCache { content: self.content(), expires_in: Some(retry_after) });
    }

    fn has_claim(&self, by: Attempt) -> bool {
        matches!(self.state, State::Claimed { attempt, .. } if attempt == by)
    }

    /// When [`Event::AlarmFired`] is due; `None` when nothing is left to do.
    #[must_use]
    pub fn alarm(&self) -> Option<Timestamp> {
        match self.state {
            State::Queued { resend_at, .. } => Some(resend_at),
            State::Claimed { lease_until, .. } => Some(lease_until),
            State::Ready { record_at, .. } | State::Failed { record_at, .. } => record_at,
        }
    }

    /// The content as clients see it.
    #[must_use]
    pub fn content(&self) -> Content {
        let status = match &self.state {
            State::Queued { .. } => Status::Processing { stage: Stage::Queued },
            State::Claimed { stage, .. } => Status::Processing { stage: *stage },
            State::Ready { attempt, dzi, title, archive, .. } => {
                Status::Ready { attempt: *attempt, dzi: *dzi, title: title.clone(), archive: *archive }
            }
            State::Failed { failure, .. } => Status::Failed { failure: failure.clone() },
        };
        Content { id: self.id, url: self.url.clone(), progress: self.shown, status }
    }
}

#[cfg(test)]
mod tests;
