//! Removes a content, and lets it come back. The order is fixed: first the state, which refuses every request from then
//! on; then KV, the operator's log and the objects in the store, each repeated until it is confirmed.

use super::event::{Effect, Reply};
use super::{Context, Conversion, State};
use crate::{DeletionKeyHash, Progress, Removal, RemovalKind, SourceUrl};

/// Author of a deletion in the operator's log.
const UPLOADER: &str = "uploader";

impl Conversion {
    /// Deletes the content for good if the key is the uploader's. Idempotent.
    pub(super) fn delete(&mut self, key: DeletionKeyHash, context: &mut Context<'_>) -> Reply {
        if self.owner != Some(key) {
            return Reply::Forbidden;
        }
        let action = format!("delete {} {}", self.id, context.now.0);
        self.remove(Removal::new(RemovalKind::Deleted, "", action, UPLOADER.to_owned()), context)
    }

    /// Takes the content down, lifts a takedown, or deletes the content. Idempotent.
    pub(super) fn remove(&mut self, removal: Removal, context: &mut Context<'_>) -> Reply {
        use RemovalKind::{Deleted, Lifted, TakenDown, Unused};
        if let State::Removed { removal: known, record_at, sweep_again, was_deleted } = &mut self.state {
            return match (known.kind, removal.kind) {
                // The same call again: what is not confirmed yet is repeated now.
                (TakenDown, TakenDown) | (Deleted, Deleted) if known.reason == removal.reason => {
                    let (is_recorded, is_swept) = (record_at.is_none(), !*sweep_again);
                    if !is_recorded {
                        self.record(context);
                    }
                    if !is_swept {
                        self.sweep_all(context);
                    }
                    self.reply_to_remover()
                }
                (TakenDown, Unused | Deleted) => self.reply(),
                (Lifted | Unused | Deleted, Lifted | Unused) => Reply::Accepted,
                // Replacing a removal that the log does not have yet would lose it.
                (TakenDown | Lifted | Deleted, _) if record_at.is_some() => Reply::NotYet,
                (TakenDown | Deleted, kind) => {
                    *was_deleted |= known.kind == Deleted;
                    // A content that its uploader has deleted does not come back when a takedown is lifted.
                    let kind = if *was_deleted && kind == Lifted { Deleted } else { kind };
                    *known = Removal { kind, ..removal };
                    self.record(context);
                    self.reply_to_remover()
                }
                (Lifted | Unused, TakenDown | Deleted) => self.remove_now(removal, context),
            };
        }
        match (removal.kind, &self.state) {
            (Lifted, _) => Reply::Accepted,
            (Unused, _) if self.member.is_some() => Reply::Conflict, // its owner keeps it
            (TakenDown | Deleted, _) | (Unused, State::Ready { .. } | State::Failed { .. }) => {
                self.remove_now(removal, context)
            }
            (Unused, _) => Reply::Conflict,
        }
    }

    fn remove_now(&mut self, removal: Removal, context: &mut Context<'_>) -> Reply {
        if removal.kind == RemovalKind::Deleted {
            self.url = self.url.without_name(); // which may say something about the uploader
        }
        self.state = State::Removed { removal, record_at: None, sweep_again: true, was_deleted: false };
        self.shown = Progress::NONE; // if it comes back, it begins again
        self.record(context);
        self.sweep_all(context);
        self.reply_to_remover()
    }

    /// Has all objects deleted; again after a while, unless that is confirmed.
    fn sweep_all(&mut self, context: &mut Context<'_>) {
        self.sweep_at = Some(context.now + context.rules.repeat);
        context.effects.push(Effect::Sweep { before: self.next_attempt, keep: None, upload: self.upload });
    }

    /// Handles the confirmation that KV and the log have a removal.
    pub(super) fn handle_recorded(&mut self, kind: RemovalKind, context: &mut Context<'_>) {
        match &mut self.state {
            State::Removed { removal, record_at, .. } if removal.kind == kind => *record_at = None,
            // The record in KV is out of date.
            State::Removed { .. } | State::Ready { .. } | State::Failed { .. } => self.record(context),
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } => {
                context.effects.push(Effect::DeleteFromCache);
            }
        }
    }

    /// Handles the confirmation that the objects of all attempts that are over are deleted.
    pub(super) fn handle_swept(&mut self, context: &Context<'_>) {
        self.sweep_at = None;
        if let State::Removed { sweep_again, .. } = &mut self.state {
            self.upload = None;
            self.sweep_at = std::mem::take(sweep_again).then(|| context.now + context.rules.sweep);
        }
    }

    /// Drops the name of a file that was uploaded under another one, too: one client's words are no title of another's
    /// upload.
    pub(super) fn share_name(&mut self, url: &SourceUrl, context: &mut Context<'_>) {
        if self.url != *url && self.url != self.url.without_name() {
            self.url = self.url.without_name();
            self.record(context);
        }
    }

    /// Returns true if no request brings the content back: it is taken down or deleted by its uploader, or its removal
    /// is not recorded yet.
    pub(super) fn is_withheld(&self) -> bool {
        match &self.state {
            State::Removed { removal, record_at, .. } => {
                removal.kind == RemovalKind::TakenDown || self.is_deleted() || record_at.is_some()
            }
            _ => false,
        }
    }

    /// Returns true if the uploader has deleted the content.
    pub(super) fn is_deleted(&self) -> bool {
        matches!(&self.state, State::Removed { removal, .. } if removal.kind == RemovalKind::Deleted)
    }

    /// Returns the content for the client whose file is converted.
    pub(super) fn reply_to_uploader(&self) -> Reply {
        match self.reply() {
            Reply::Content(content) if self.owner.is_some() => Reply::Owned(content),
            other => other,
        }
    }

    /// Returns the content, or why there is none.
    pub(super) fn reply(&self) -> Reply {
        match (self.content(), &self.state) {
            (Some(content), _) => Reply::Content(content),
            (None, State::Removed { removal, .. }) if removal.kind == RemovalKind::TakenDown => {
                Reply::TakenDown(removal.reason.clone())
            }
            (None, _) if self.is_deleted() => Reply::Deleted,
            (None, _) if self.is_withheld() => Reply::NotYet,
            (None, _) => Reply::NotFound, // a file, which has to be uploaded again
        }
    }

    fn reply_to_remover(&self) -> Reply {
        match self.reply() {
            taken_down @ Reply::TakenDown(_) => taken_down,
            _ => Reply::Accepted,
        }
    }
}
