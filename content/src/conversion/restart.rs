//! When a conversion starts anew: what a client asks for, and whether there is something to convert.

use super::event::{Effect, Event};
use super::rules::Rules;
use super::{Conversion, State};
use crate::{Timestamp, UploadKey};

impl Conversion {
    /// Takes a file where it is needed: only a conversion that failed has none.
    pub(super) fn take_upload(
        &mut self,
        upload: UploadKey,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        if self.upload == Some(upload) {
            return; // it has been told already
        }
        if !self.needs_upload(now, rules) {
            effects.push(Effect::DeleteUpload(upload));
            return;
        }
        self.upload = Some(upload);
        self.started_early_at = Some(now);
        self.start_over(now, rules, effects);
    }

    fn needs_upload(&self, now: Timestamp, rules: &Rules) -> bool {
        match self.state {
            State::Failed { retry_at, .. } => retry_at <= now || self.may_start_early(now, rules),
            State::Removed { .. } => !self.is_withheld(),
            _ => false,
        }
    }

    /// Whether there is something to convert: a file that was sent is deleted when its conversion has ended.
    pub(super) fn has_source(&self) -> bool {
        let is_kept = self.upload.is_some() && !matches!(self.state, State::Removed { .. });
        is_kept || !self.url.is_file()
    }

    /// Whether an event of a client would start the conversion anew.
    #[must_use]
    pub fn starts_anew(&self, event: &Event, now: Timestamp, rules: &Rules) -> bool {
        match event {
            Event::Created { url, .. } => url.identity() == self.url.identity() && self.is_due_again(now),
            Event::Uploaded { url, upload, .. } => {
                let is_new = url.identity() == self.url.identity() && self.upload != Some(*upload);
                is_new && self.needs_upload(now, rules)
            }
            Event::Requested => self.is_due_again(now),
            Event::RetryAsked => self.is_due_again(now) || self.starts_early(now, rules),
            _ => false,
        }
    }

    pub(super) fn is_due_again(&self, now: Timestamp) -> bool {
        let is_due = match self.state {
            State::Failed { retry_at, .. } => retry_at <= now,
            State::Removed { .. } => !self.is_withheld(),
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } | State::Ready { .. } => {
                false
            }
        };
        is_due && self.has_source()
    }

    /// Whether [`Event::RetryAsked`] would start the conversion now, before its date.
    pub(super) fn starts_early(&self, now: Timestamp, rules: &Rules) -> bool {
        let is_before_its_date = match self.state {
            State::Failed { retry_at, .. } => now < retry_at,
            State::Waiting { .. } => true,
            State::Queued { .. } | State::Claimed { .. } | State::Ready { .. } | State::Removed { .. } => {
                false
            }
        };
        is_before_its_date && self.has_source() && self.may_start_early(now, rules)
    }

    /// Whether the last start before its date is long enough ago.
    fn may_start_early(&self, now: Timestamp, rules: &Rules) -> bool {
        self.started_early_at.is_none_or(|at| now - at >= rules.early)
    }
}
