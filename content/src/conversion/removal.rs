//! What removes a content, and what lets it come back. The order is fixed: the state first, from which moment on every
//! request is refused; then KV and the operator's log, and the objects in the store, each again and again until it is
//! confirmed.

use super::event::{Effect, Reply};
use super::rules::Rules;
use super::{Conversion, Decision, State};
use crate::{ContentId, Progress, Removal, RemovalKind, SourceUrl, Timestamp};

impl Conversion {
    /// A content that is taken down before a client has asked for it.
    pub(super) fn create_removed(
        id: ContentId,
        url: SourceUrl,
        removal: Removal,
        now: Timestamp,
        rules: &Rules,
    ) -> Decision {
        if removal.kind != RemovalKind::TakenDown {
            return Decision { after: None, effects: vec![], reply: Reply::NotFound };
        }
        let Decision { after, .. } = Self::create(id, url, None, now, rules);
        let mut effects = vec![];
        let (after, reply) = match after {
            Some(mut conversion) => {
                conversion.history.clear();
                let reply = conversion.remove(removal, now, rules, &mut effects);
                conversion.note(now);
                (Some(conversion), reply)
            }
            None => (None, Reply::NotFound),
        };
        Decision { after, effects, reply }
    }

    /// Takes the content down, lifts that, or deletes what is not used. Repeated, it changes nothing.
    pub(super) fn remove(
        &mut self,
        removal: Removal,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        use RemovalKind::{Lifted, TakenDown, Unused};
        if let State::Removed { removal: known, record_at, sweep_again } = &mut self.state {
            return match (known.kind, removal.kind) {
                // Told twice: what is not confirmed is done once more now.
                (TakenDown, TakenDown) if known.reason == removal.reason => {
                    let (is_recorded, is_swept) = (record_at.is_none(), !*sweep_again);
                    if !is_recorded {
                        self.record(now, rules, effects);
                    }
                    if !is_swept {
                        self.sweep_all(now, rules, effects);
                    }
                    self.reply()
                }
                (TakenDown, Unused) => self.reply(),
                (Lifted | Unused, Lifted | Unused) => Reply::Accepted,
                // What the log does not have yet must not be forgotten.
                (TakenDown | Lifted, _) if record_at.is_some() => Reply::NotYet,
                (TakenDown, _) => {
                    *known = removal;
                    self.record(now, rules, effects);
                    self.reply_to_operator()
                }
                (Lifted | Unused, TakenDown) => self.remove_now(removal, now, rules, effects),
            };
        }
        match (removal.kind, &self.state) {
            (Lifted, _) => Reply::Accepted,
            (TakenDown, _) | (Unused, State::Ready { .. } | State::Failed { .. }) => {
                self.remove_now(removal, now, rules, effects)
            }
            (Unused, _) => Reply::Conflict,
        }
    }

    fn remove_now(
        &mut self,
        removal: Removal,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        self.state = State::Removed { removal, record_at: None, sweep_again: true };
        self.shown = Progress::NONE; // what comes back begins anew
        self.record(now, rules, effects);
        self.sweep_all(now, rules, effects);
        self.reply_to_operator()
    }

    /// Has all objects deleted; again in a while, unless that is confirmed.
    fn sweep_all(&mut self, now: Timestamp, rules: &Rules, effects: &mut Vec<Effect>) {
        self.sweep_at = Some(now + rules.repeat);
        effects.push(Effect::Sweep { before: self.next_attempt, keep: None, upload: self.upload });
    }

    /// KV and the log have a removal.
    pub(super) fn handle_recorded(
        &mut self,
        kind: RemovalKind,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        match &mut self.state {
            State::Removed { removal, record_at, .. } if removal.kind == kind => *record_at = None,
            // What KV has now is out of date.
            State::Removed { .. } | State::Ready { .. } | State::Failed { .. } => {
                self.record(now, rules, effects);
            }
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } => {
                effects.push(Effect::DeleteFromCache);
            }
        }
    }

    /// All objects of attempts that are over are deleted.
    pub(super) fn handle_swept(&mut self, now: Timestamp, rules: &Rules) {
        self.sweep_at = None;
        if let State::Removed { sweep_again, .. } = &mut self.state {
            self.upload = None;
            self.sweep_at = std::mem::take(sweep_again).then(|| now + rules.sweep);
        }
    }

    /// Whether no request brings the content back: it is taken down, or its removal is not recorded yet.
    pub(super) fn is_withheld(&self) -> bool {
        match &self.state {
            State::Removed { removal, record_at, .. } => {
                removal.kind == RemovalKind::TakenDown || record_at.is_some()
            }
            _ => false,
        }
    }

    /// The content, or why there is none.
    pub(super) fn reply(&self) -> Reply {
        match (self.content(), &self.state) {
            (Some(content), _) => Reply::Content(content),
            (None, State::Removed { removal, .. }) if removal.kind == RemovalKind::TakenDown => {
                Reply::TakenDown(removal.reason.clone())
            }
            (None, _) if self.is_withheld() => Reply::NotYet,
            (None, _) => Reply::NotFound, // a file that would have to be sent again
        }
    }

    fn reply_to_operator(&self) -> Reply {
        match self.reply() {
            taken_down @ Reply::TakenDown(_) => taken_down,
            _ => Reply::Accepted,
        }
    }
}
