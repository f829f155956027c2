//! The state machine of a conversion, as a pure function: [`decide`] takes the state, an event and the time, and gives
//! the new state, the effects to perform and the reply. The Durable Object of a content is its only caller in the
//! service; it stores the [`Conversion`], performs the [`Effect`]s and sets its alarm to [`Conversion::alarm`].
//!
//! ```text
//!            Created              Claimed                 Finished
//!   (nothing) ─────▶ Queued ───────────────▶ Claimed ───────────────▶ Ready
//!                    ▲ ▲ ▲  HandedBack, lease  │ │ │ GaveUp, or the
//!                    │ │ └── expired, Reset ───┘ │ │ last lease expired
//!                    │ └──── the date ── Waiting ┘ ▼
//!                    └── Requested when due, RetryAsked, Reset ── Failed
//! ```
//!
//! From every state the operator can take the content down, and from `Ready` and `Failed` it can be deleted because it is
//! not used: both lead to `Removed` (`removal.rs`), and from there to `Queued` by a request, once a takedown is lifted.
//!
//! An attempt that fails for a reason that may pass leads to `Waiting`, as long as [`Rules::retries`] has another pause.
//! One whose renderer was killed from outside is queued at once, twice ([`Rules::kills`]), before it waits. A conversion that has lost
//! [`Rules::leases`] leases is tried once more by a tiler that does nothing else.
//!
//! These hold even when messages are lost, doubled or late: the progress that clients see never falls, at most one
//! attempt is ever published, an attempt that is over stays over, and until the conversion is finished and KV has it,
//! an alarm is set.

mod attempts;
mod change;
mod event;
mod history;
mod queries;
mod removal;
mod restart;
mod rules;

pub use change::{Change, Step};
pub use event::{Effect, Event, Reply};
pub use rules::Rules;

use serde::{Deserialize, Serialize};

pub use crate::Timestamp;
use crate::protocol::TilerId;
use crate::{
    Archive, Attempt, CoarseNumber, ContentId, Dzi, Failure, FailureCode, Previews, Progress, Removal,
    SourceUrl, Stage, Title, UploadKey, Warning,
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
    /// How many of [`Rules::retries`] are used up since then.
    #[serde(default)]
    retries: u32,
    /// How many renderers something outside has killed since then.
    #[serde(default)]
    kills: u32,
    /// The tiler of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    avoid: Option<TilerId>,
    /// Whether the next attempt has to be alone on its tiler.
    #[serde(default)]
    alone: bool,
    /// Where the file lies that a client has sent, until the conversion has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload: Option<UploadKey>,
    /// When a client last started the conversion early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_early_at: Option<Timestamp>,
    /// When the objects of earlier attempts are deleted, once the conversion has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep_at: Option<Timestamp>,
    /// When it was asked for and came into its state, for [`Change`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<change::Times>,
    /// Its last states, for the operator.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    history: String,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// The job is in the queue. In case the message was lost, another one is sent at `resend_at`.
    Queued { sends: u32, resend_at: Timestamp },
    /// A tiler is at work. Without a report until `lease_until`, the job is queued again.
    Claimed {
        attempt: Attempt,
        lease_until: Timestamp,
        stage: Stage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coarse: Option<CoarseNumber>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tiler: Option<TilerId>,
    },
    /// The attempt `by` failed for a reason that may pass. The job is queued again at `until`.
    Waiting { by: Attempt, until: Timestamp },
    /// Until KV has it, it is written again at `record_at`.
    Ready {
        attempt: Attempt,
        dzi: Dzi,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<Warning>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archive: Option<Archive>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previews: Option<Previews>,
        record_at: Option<Timestamp>,
    },
    /// A request from `retry_at` on starts over.
    Failed { by: Option<Attempt>, failure: Failure, retry_at: Timestamp, record_at: Option<Timestamp> },
    /// The objects are deleted, or about to be. Until KV and the operator's log have it, it is recorded again at
    /// `record_at`.
    Removed {
        removal: Removal,
        record_at: Option<Timestamp>,
        /// Whether the store is swept once more: a tiler may upload until it learns that its attempt is over.
        sweep_again: bool,
    },
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
    let known = before.as_ref().map(|before| (before.step(), before.times));
    let mut decision = follow(before, event, now, rules);
    if let Some(after) = &mut decision.after
        && known.is_none_or(|(step, _)| step != after.step())
    {
        after.times = Some(change::Times::after(known, now));
    }
    decision
}

/// What follows, without the times of states.
fn follow(before: Option<Conversion>, event: Event, now: Timestamp, rules: &Rules) -> Decision {
    let Some(mut conversion) = before else {
        return match event {
            Event::Created { id, url } => Conversion::create(id, url, None, now, rules),
            Event::Uploaded { id, url, upload } => Conversion::create(id, url, Some(upload), now, rules),
            Event::Removed { id, url: Some(url), removal } => {
                Conversion::create_removed(id, url, removal, now, rules)
            }
            _ => Decision { after: None, effects: vec![], reply: Reply::NotFound },
        };
    };
    let mut effects = vec![];
    let reply = conversion.apply(event, now, rules, &mut effects);
    conversion.note(now);
    Decision { after: Some(conversion), effects, reply }
}

impl Conversion {
    fn create(
        id: ContentId,
        url: SourceUrl,
        upload: Option<UploadKey>,
        now: Timestamp,
        rules: &Rules,
    ) -> Decision {
        let state = State::Queued { sends: 1, resend_at: now + rules.resend };
        let mut conversion = Self {
            id,
            url,
            shown: Progress::NONE,
            next_attempt: Attempt::FIRST,
            expired_leases: 0,
            retries: 0,
            kills: 0,
            avoid: None,
            alone: false,
            upload,
            started_early_at: None,
            sweep_at: None,
            times: None,
            history: String::new(),
            state,
        };
        conversion.note(now);
        let reply = conversion.reply();
        Decision { after: Some(conversion), effects: vec![Effect::Enqueue], reply }
    }

    fn apply(&mut self, event: Event, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) -> Reply {
        match event {
            Event::Created { url, .. } | Event::Uploaded { url, .. }
                if url.identity() != self.url.identity() =>
            {
                Reply::IdTaken
            }
            Event::Removed { url: Some(url), .. } if url.identity() != self.url.identity() => Reply::IdTaken,
            Event::Removed { removal, .. } => self.remove(removal, now, rules, effects),
            Event::RemovalRecorded(kind) => {
                self.handle_recorded(kind, now, rules, effects);
                Reply::Accepted
            }
            Event::Created { .. }
            | Event::Uploaded { .. }
            | Event::Requested
            | Event::RetryAsked
            | Event::Reset
                if self.is_withheld() =>
            {
                self.reply()
            }
            Event::Uploaded { upload, .. } => {
                self.take_upload(upload, now, rules, effects);
                self.reply()
            }
            Event::Created { .. } | Event::Requested => {
                if self.is_due_again(now) {
                    self.start_over(now, rules, effects);
                }
                self.reply()
            }
            Event::RetryAsked => {
                if self.starts_early(now, rules) {
                    self.started_early_at = Some(now);
                    self.start_over(now, rules, effects);
                }
                self.apply(Event::Requested, now, rules, effects)
            }
            Event::Claimed(request) => self.claim(request, now, rules, effects),
            Event::Reported(report) => self.handle_report(report, now, rules, effects),
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
                match &mut self.state {
                    State::Ready { record_at, .. } | State::Failed { record_at, .. } => *record_at = None,
                    // It was started over while its failure was on the way to KV.
                    State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } => {
                        effects.push(Effect::DeleteFromCache);
                    }
                    // It was removed meanwhile, and what KV has now is out of date.
                    State::Removed { .. } => self.record(now, rules, effects),
                }
                Reply::Accepted
            }
            Event::Swept { before } => {
                if before == self.next_attempt {
                    self.handle_swept(now, rules);
                }
                Reply::Accepted
            }
            Event::Reset => {
                // Caches everywhere have a ready content.
                if !matches!(self.state, State::Ready { .. }) && self.has_source() {
                    self.start_over(now, rules, effects);
                }
                self.reply()
            }
        }
    }

    /// Does what is due.
    fn handle_alarm(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        if self.sweep_at.is_some_and(|at| at <= now) {
            self.sweep_at = Some(now + rules.repeat);
            let keep = if let State::Ready { attempt, .. } = self.state { Some(attempt) } else { None };
            effects.push(Effect::Sweep { before: self.next_attempt, keep, upload: self.upload });
        }
        if self.state.alarm().is_none_or(|due| due > now) {
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
                if self.alone {
                    let message = format!(
                        "The conversion was begun {} times and never finished, the last time with nothing beside it.",
                        self.expired_leases
                    );
                    self.fail(None, Failure::new(FailureCode::Internal, message), now, rules, effects);
                } else {
                    self.alone = self.expired_leases >= rules.leases;
                    self.enqueue(now, rules, effects);
                }
            }
            State::Waiting { .. } => self.enqueue(now, rules, effects),
            State::Ready { .. } | State::Failed { .. } | State::Removed { .. } => {
                self.record(now, rules, effects);
            }
        }
    }

    /// Has the end of the conversion, or its removal, written to KV; again in a while, unless that is confirmed.
    fn record(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        let again = Some(now + rules.repeat);
        let expires_in = match &mut self.state {
            State::Ready { record_at, .. } => {
                *record_at = again;
                None
            }
            State::Failed { record_at, retry_at, .. } => {
                *record_at = again;
                Some(*retry_at - now)
            }
            State::Removed { record_at, removal, .. } => {
                *record_at = again;
                effects.push(Effect::RecordRemoval(removal.clone()));
                return;
            }
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } => return,
        };
        effects.extend(self.content().map(|content| Effect::WriteCache { content, expires_in }));
    }

    fn start_over(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        if matches!(self.state, State::Failed { retry_at, .. } if now < retry_at) {
            effects.push(Effect::DeleteFromCache);
        }
        (self.expired_leases, self.retries, self.kills) = (0, 0, 0);
        (self.avoid, self.alone) = (None, false);
        self.enqueue(now, rules, effects);
    }

    fn enqueue(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        self.state = State::Queued { sends: 1, resend_at: now + rules.resend };
        self.sweep_at = None;
        effects.push(Effect::Enqueue);
    }

    /// Where there was another attempt, a tiler may have died and left objects.
    fn sweep_later(&mut self, now: Timestamp, rules: &Rules) {
        self.sweep_at = (self.next_attempt > Attempt::FIRST.next()).then(|| now + rules.sweep);
    }

    fn fail(
        &mut self,
        by: Option<Attempt>,
        failure: Failure,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        effects.extend(self.upload.take().map(Effect::DeleteUpload));
        let retry_after = rules.retry_after(failure.code);
        self.sweep_later(now, rules);
        self.state = State::Failed { by, failure, retry_at: now + retry_after, record_at: None };
        self.record(now, rules, effects);
    }
}

#[cfg(test)]
mod tests;
