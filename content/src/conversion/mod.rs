//! The state machine of a conversion, as a pure function: [`decide`] takes the state, an event and the time, and
//! returns the new state, the effects to perform and the reply. In the service, only the Durable Object of a content
//! calls it; the object stores the [`Conversion`], performs the [`Effect`]s and sets its alarm to
//! [`Conversion::alarm`].
//!
//! ```text
//!            Created              Claimed                 Finished
//!   (nothing) ─────▶ Queued ───────────────▶ Claimed ───────────────▶ Ready
//!                    ▲ ▲ ▲  HandedBack, lease  │ │ │ GaveUp, or the
//!                    │ │ └── expired, Reset ───┘ │ │ last lease expired
//!                    │ └── pause over ── Waiting ┘ ▼
//!                    └── Requested when due, RetryAsked, Reset ── Failed
//! ```
//!
//! The operator can take a content down in every state, and delete an unused one that is `Ready` or `Failed`; the
//! uploader of a file can delete its content in every state. All lead to `Removed` (`removal.rs`), and from there a
//! request leads to `Queued`, once a takedown is lifted, and unless the uploader has deleted it.
//!
//! `retry.rs` decides when a conversion is tried again: after an attempt that failed for a passing reason, whose
//! renderer was killed, or whose tiler died; and when clients ask.
//!
//! These invariants hold even if messages are lost, doubled or late: the progress that clients see never falls, at most
//! one attempt is ever published, an attempt that is over stays over, and an alarm is set until the conversion is
//! finished and KV has it.

mod attempts;
mod event;
mod history;
mod removal;
mod retry;

pub use event::{Effect, Event, Reply};
pub use history::{Change, Step};
pub use retry::Rules;

use serde::{Deserialize, Serialize};

pub use crate::Timestamp;
use crate::protocol::{Job, TilerId};
use crate::{
    Alternative, Attempt, Coarse, CoarseNumber, CollectionName, Content, ContentId, DeletionKeyHash, Failure,
    Finished, Membership, NextTry, Progress, Removal, RemovalKind, SourceUrl, Stage, Status, UploadKey,
};

/// The state of a conversion, which the Durable Object stores as JSON. Clients see its [`Conversion::content`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    id: ContentId,
    url: SourceUrl,
    /// Alternative text of the picture, from the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alternative: Option<Alternative>,
    /// Collection that the content belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member: Option<Box<Membership>>,
    /// Highest progress that any attempt reported, which clients see.
    shown: Progress,
    next_attempt: Attempt,
    /// Number of expired leases since the conversion was created or started over.
    expired_leases: u32,
    /// Number of pauses of [`Rules::retries`] used since then.
    retries: u32,
    /// Number of renderers killed from outside since then.
    kills: u32,
    /// Tiler of the last killed renderer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    avoid: Option<TilerId>,
    /// True if the next attempt has to be alone on its tiler.
    alone: bool,
    /// Hash of the key of the client that uploaded the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<DeletionKeyHash>,
    /// Key of the uploaded file, until the conversion has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload: Option<UploadKey>,
    /// Key of the latest file of the content's collection, which stays when the file is deleted: its message may come again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entered: Option<UploadKey>,
    /// Time of the last start by a client before its date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_early_at: Option<Timestamp>,
    /// Time to delete the objects of earlier attempts, once the conversion has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep_at: Option<Timestamp>,
    times: history::Times,
    history: String,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// The job is in the queue. At `resend_at` its message counts as lost and is sent again.
    Queued { sends: u32, resend_at: Timestamp },
    /// A tiler is at work. Without a report until `lease_until`, the job is queued again.
    Claimed {
        attempt: Attempt,
        lease_until: Timestamp,
        stage: Stage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coarse: Option<CoarseNumber>,
        tiler: TilerId,
    },
    /// The attempt `by` failed for a passing reason. The job is queued again at `next.until`.
    Waiting {
        by: Attempt,
        #[serde(flatten)]
        next: NextTry,
    },
    /// The pyramid is published. Until KV has the record, it is written again at `record_at`.
    Ready {
        attempt: Attempt,
        #[serde(flatten)]
        finished: Finished,
        record_at: Option<Timestamp>,
    },
    /// A request from `retry_at` on starts over.
    Failed { by: Option<Attempt>, failure: Failure, retry_at: Timestamp, record_at: Option<Timestamp> },
    /// The objects are deleted or about to be. Until KV and the operator's log have the removal, it is recorded again
    /// at `record_at`.
    Removed {
        removal: Removal,
        record_at: Option<Timestamp>,
        /// True if the store is swept once more: a tiler may upload until it learns that its attempt is over.
        sweep_again: bool,
        /// True if the uploader had deleted the content before the operator took it down.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        was_deleted: bool,
    },
}

/// The result of [`decide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// New state; `None` if the conversion still does not exist.
    pub after: Option<Conversion>,
    /// Effects to perform once the state is stored.
    pub effects: Vec<Effect>,
    /// Reply to the sender.
    pub reply: Reply,
}

/// The inputs of a transition, and the effects that it collects.
struct Context<'a> {
    now: Timestamp,
    rules: &'a Rules,
    effects: Vec<Effect>,
}

/// Decides what follows from `event` for a conversion in the state `before`.
#[must_use]
pub fn decide(before: Option<Conversion>, event: Event, now: Timestamp, rules: &Rules) -> Decision {
    let known = before.as_ref().map(|before| (before.step(), before.times));
    let mut context = Context { now, rules, effects: vec![] };
    let (mut after, reply) = match before {
        Some(mut conversion) => {
            let reply = conversion.apply(event, &mut context);
            (Some(conversion), reply)
        }
        None => Conversion::create(event, &mut context),
    };
    if let Some(after) = &mut after {
        after.note(known, now);
    }
    Decision { after, effects: context.effects, reply }
}

impl Conversion {
    /// Returns the conversion that begins with an event, if the event can begin one.
    fn create(event: Event, context: &mut Context<'_>) -> (Option<Self>, Reply) {
        let (mut member, mut entered) = (None, None);
        let (id, url, alternative, file, removal) = match event {
            Event::Created { id, url, alternative } => (id, url, alternative, None, None),
            Event::Entered { id, url, member: of, upload, .. } => {
                (member, entered) = (Some(of), upload);
                (id, url, None, upload.map(|upload| (upload, None)), None)
            }
            Event::Uploaded { id, url, upload, owner, alternative } => {
                (id, url, alternative, Some((upload, owner)), None)
            }
            Event::Removed { id, url: Some(url), removal } if removal.kind == RemovalKind::TakenDown => {
                (id, url, None, None, Some(removal))
            }
            _ => return (None, Reply::NotFound),
        };
        let mut conversion = Self {
            id,
            url,
            alternative,
            member,
            shown: Progress::NONE,
            next_attempt: Attempt::FIRST,
            expired_leases: 0,
            retries: 0,
            kills: 0,
            avoid: None,
            alone: false,
            owner: file.and_then(|(_, owner)| owner),
            upload: file.map(|(upload, _)| upload),
            entered,
            started_early_at: None,
            sweep_at: None,
            times: history::Times::beginning(context.now),
            history: String::new(),
            state: State::Queued { sends: 1, resend_at: context.now + context.rules.resend },
        };
        let reply = match removal {
            Some(removal) => conversion.remove(removal, context),
            None => {
                context.effects.push(Effect::Enqueue);
                conversion.reply_to_uploader()
            }
        };
        (Some(conversion), reply)
    }

    fn apply(&mut self, event: Event, context: &mut Context<'_>) -> Reply {
        match event {
            Event::Created { url, .. }
            | Event::Entered { url, .. }
            | Event::Uploaded { url, .. }
            | Event::Removed { url: Some(url), .. }
                if url.identity() != self.url.identity() =>
            {
                Reply::IdTaken
            }
            Event::Uploaded { .. } if self.is_deleted() => Reply::IdTaken,
            Event::DeletionAsked(key) => self.delete(key, context),
            Event::Removed { removal, .. } => self.remove(removal, context),
            Event::RemovalRecorded(kind) => {
                self.handle_recorded(kind, context);
                Reply::Accepted
            }
            Event::Created { .. }
            | Event::Entered { .. }
            | Event::Uploaded { .. }
            | Event::Requested
            | Event::RetryAsked
            | Event::Reset
                if self.is_withheld() =>
            {
                let reply = self.reply();
                // The collection sends the message again if the removal is not recorded yet.
                if let (Event::Entered { upload: Some(upload), .. }, true) = (event, reply != Reply::NotYet) {
                    context.effects.push(Effect::DeleteUpload(upload));
                }
                reply
            }
            Event::Entered { member, again, upload, .. } => self.enter(member, upload, again, context),
            Event::Uploaded { url, upload, owner, .. } => self.handle_upload(url, upload, owner, context),
            Event::Created { .. } | Event::Requested => {
                if self.is_due_again(context.now) {
                    self.start_over(context);
                }
                self.reply()
            }
            Event::RetryAsked => {
                if self.starts_early(context.now, context.rules) {
                    self.started_early_at = Some(context.now);
                    self.start_over(context);
                }
                self.apply(Event::Requested, context)
            }
            Event::Claimed(request) => self.claim(request, context),
            Event::Reported(report) => self.handle_report(report, context),
            Event::AlarmFired => {
                self.handle_alarm(context);
                Reply::Accepted
            }
            Event::EnqueueFailed => {
                if let State::Queued { resend_at, .. } = &mut self.state {
                    *resend_at = context.now + context.rules.repeat;
                }
                Reply::Accepted
            }
            Event::CacheWritten => {
                self.handle_cache_written(context);
                Reply::Accepted
            }
            Event::Swept { before } => {
                if before == self.next_attempt {
                    self.handle_swept(context);
                }
                Reply::Accepted
            }
            Event::Reset => {
                // Caches everywhere hold a ready content.
                if !matches!(self.state, State::Ready { .. }) && self.has_source() {
                    self.start_over(context);
                }
                self.reply()
            }
        }
    }

    fn handle_upload(
        &mut self,
        url: SourceUrl,
        upload: UploadKey,
        owner: Option<DeletionKeyHash>,
        context: &mut Context<'_>,
    ) -> Reply {
        if !self.takes_upload(upload, context) {
            self.share_name(&url, context);
            return self.reply();
        }
        // The content belongs to the client whose file is converted.
        self.url = url;
        self.owner = owner;
        self.reply_to_uploader()
    }

    /// Handles the message of the content's collection. Another file than the one before is taken if it starts the
    /// conversion again; otherwise it is deleted.
    fn enter(
        &mut self,
        member: Box<Membership>,
        upload: Option<UploadKey>,
        again: bool,
        context: &mut Context<'_>,
    ) -> Reply {
        let is_known = self.member.as_ref() == Some(&member);
        self.member = Some(member);
        let starts = self.enters_again(upload, again, context.now);
        if let Some(new) = self.new_file(upload) {
            self.entered = Some(new);
            if starts {
                self.upload = Some(new);
            } else {
                context.effects.push(Effect::DeleteUpload(new));
            }
        }
        if starts {
            self.start_over(context);
        } else if !is_known {
            self.record(context);
        }
        self.reply()
    }

    fn handle_cache_written(&mut self, context: &mut Context<'_>) {
        match &mut self.state {
            State::Ready { record_at, .. } | State::Failed { record_at, .. } => *record_at = None,
            // It was started over while its failure was on the way to KV.
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } => {
                context.effects.push(Effect::DeleteFromCache);
            }
            // The content was removed in the meantime, so the record in KV is out of date.
            State::Removed { .. } => self.record(context),
        }
    }

    /// Does everything that is due.
    fn handle_alarm(&mut self, context: &mut Context<'_>) {
        if self.sweep_at.is_some_and(|at| at <= context.now) {
            self.sweep_at = Some(context.now + context.rules.repeat);
            let keep = if let State::Ready { attempt, .. } = self.state { Some(attempt) } else { None };
            context.effects.push(Effect::Sweep { before: self.next_attempt, keep, upload: self.upload });
        }
        if self.state.alarm().is_none_or(|due| due > context.now) {
            return;
        }
        match &mut self.state {
            State::Queued { sends, resend_at } => {
                *resend_at = context.now + context.rules.resend_after(*sends);
                *sends += 1;
                context.effects.push(Effect::Enqueue);
            }
            State::Claimed { .. } => self.lose_lease(context),
            State::Waiting { .. } => self.enqueue(context),
            State::Ready { .. } | State::Failed { .. } | State::Removed { .. } => self.record(context),
        }
    }

    /// Has the end of the conversion, or its removal, written to KV; again after a while, unless that is confirmed.
    fn record(&mut self, context: &mut Context<'_>) {
        let again = Some(context.now + context.rules.repeat);
        let expires_in = match &mut self.state {
            State::Ready { record_at, .. } => {
                *record_at = again;
                None
            }
            State::Failed { record_at, retry_at, .. } => {
                *record_at = again;
                Some(*retry_at - context.now)
            }
            State::Removed { record_at, removal, .. } => {
                *record_at = again;
                context.effects.push(Effect::RecordRemoval(removal.clone()));
                return;
            }
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } => return,
        };
        context.effects.extend(self.content().map(|content| Effect::WriteCache { content, expires_in }));
    }

    fn enqueue(&mut self, context: &mut Context<'_>) {
        self.state = State::Queued { sends: 1, resend_at: context.now + context.rules.resend };
        self.sweep_at = None;
        context.effects.push(Effect::Enqueue);
    }

    /// Schedules a sweep if there was an earlier attempt: its tiler may have died and left objects.
    fn sweep_later(&mut self, context: &Context<'_>) {
        self.sweep_at =
            (self.next_attempt > Attempt::FIRST.next()).then(|| context.now + context.rules.sweep);
    }

    /// Returns true if the job is in the queue, waits for its turn, or is claimed.
    #[must_use]
    pub fn has_job(&self) -> bool {
        matches!(self.state, State::Queued { .. } | State::Claimed { .. })
    }

    /// Returns true if the job is in the queue or waits for its turn.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        matches!(self.state, State::Queued { .. })
    }

    /// Returns the URL of the source.
    #[must_use]
    pub fn url(&self) -> &SourceUrl {
        &self.url
    }

    /// Returns the collection that the content belongs to.
    #[must_use]
    pub fn collection(&self) -> Option<&CollectionName> {
        self.member.as_ref().map(|member| &member.collection)
    }

    /// Returns the message for the queue.
    #[must_use]
    pub fn job(&self) -> Job {
        Job { id: self.id, alone: self.alone, avoid: self.avoid }
    }

    /// Returns the time at which [`Event::AlarmFired`] is due; `None` if nothing is left to do.
    #[must_use]
    pub fn alarm(&self) -> Option<Timestamp> {
        self.state.alarm().into_iter().chain(self.sweep_at).min()
    }

    /// Returns the time until which clients may follow the content's changes by a stream, which keeps its object in
    /// memory: the end of a tiler's lease, or some seconds after a client has asked for the content. So the number of
    /// streams does not grow with the queue.
    #[must_use]
    pub fn followed_until(&self) -> Option<Timestamp> {
        match self.state {
            State::Claimed { lease_until, .. } => Some(lease_until),
            State::Queued { .. } => Some(self.times.followed_until()),
            _ => None,
        }
    }

    /// Returns the content as clients see it; `None` if it is removed.
    #[must_use]
    pub fn content(&self) -> Option<Content> {
        let status = match &self.state {
            State::Queued { .. } => Status::processing(Stage::Queued),
            State::Claimed { attempt, stage, coarse, .. } => Status::Processing {
                stage: *stage,
                coarse: coarse.map(|number| Coarse { attempt: *attempt, number }),
                next: None,
            },
            State::Waiting { next, .. } => {
                Status::Processing { stage: Stage::Waiting, coarse: None, next: Some(next.clone()) }
            }
            State::Ready { attempt, finished, .. } => {
                let mut finished = finished.clone();
                if let Some(member) = &self.member {
                    member.describe(&mut finished);
                }
                Status::Ready { attempt: *attempt, finished }
            }
            State::Failed { failure, retry_at, .. } => {
                Status::Failed { failure: failure.clone(), retry_at: *retry_at }
            }
            State::Removed { .. } => return None,
        };
        let own = self.member.as_ref().and_then(|member| member.alternative.clone());
        let (url, alternative) = (self.url.clone(), own.or_else(|| self.alternative.clone()));
        Some(Content { id: self.id, url, alternative, progress: self.shown, status })
    }
}

impl State {
    /// Returns the time at which the state itself has something to do.
    fn alarm(&self) -> Option<Timestamp> {
        match self {
            Self::Queued { resend_at, .. } => Some(*resend_at),
            Self::Claimed { lease_until, .. } => Some(*lease_until),
            Self::Waiting { next, .. } => Some(next.until),
            Self::Ready { record_at, .. }
            | Self::Failed { record_at, .. }
            | Self::Removed { record_at, .. } => *record_at,
        }
    }
}

#[cfg(test)]
mod tests;
