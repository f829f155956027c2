//! What others ask a conversion: its content, its job, its alarm.

use super::{Conversion, State};
use crate::protocol::Job;
use crate::{Coarse, Content, SourceUrl, Stage, Status, Timestamp};

impl Conversion {
    /// Whether its job is in the queue or waits for its turn, or a tiler has it.
    #[must_use]
    pub fn has_job(&self) -> bool {
        matches!(self.state, State::Queued { .. } | State::Claimed { .. })
    }

    /// Whether its job is in the queue or waits for its turn.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        matches!(self.state, State::Queued { .. })
    }

    /// The URL of its source.
    #[must_use]
    pub fn url(&self) -> &SourceUrl {
        &self.url
    }

    /// The message for the queue.
    #[must_use]
    pub fn job(&self) -> Job {
        Job { id: self.id, alone: self.alone, avoid: self.avoid }
    }

    /// When [`Event::AlarmFired`](super::Event::AlarmFired) is due; `None` when nothing is left to do.
    #[must_use]
    pub fn alarm(&self) -> Option<Timestamp> {
        self.state.alarm().into_iter().chain(self.sweep_at).min()
    }

    /// The content as clients see it; `None` of one that is removed.
    #[must_use]
    pub fn content(&self) -> Option<Content> {
        let status = match &self.state {
            State::Queued { .. } => Status::Processing { stage: Stage::Queued, coarse: None },
            State::Claimed { attempt, stage, coarse, .. } => Status::Processing {
                stage: *stage,
                coarse: coarse.map(|number| Coarse { attempt: *attempt, number }),
            },
            State::Waiting { .. } => Status::Processing { stage: Stage::Waiting, coarse: None },
            State::Ready { attempt, dzi, title, warning, archive, previews, .. } => Status::Ready {
                attempt: *attempt,
                dzi: *dzi,
                title: title.clone(),
                warning: warning.clone(),
                archive: *archive,
                previews: *previews,
            },
            State::Failed { failure, retry_at, .. } => {
                Status::Failed { failure: failure.clone(), retry_at: *retry_at }
            }
            State::Removed { .. } => return None,
        };
        Some(Content { id: self.id, url: self.url.clone(), progress: self.shown, status })
    }
}

impl State {
    /// When something is due that follows from the state.
    pub(super) fn alarm(&self) -> Option<Timestamp> {
        match *self {
            Self::Queued { resend_at, .. } => Some(resend_at),
            Self::Claimed { lease_until, .. } => Some(lease_until),
            Self::Waiting { until, .. } => Some(until),
            Self::Ready { record_at, .. }
            | Self::Failed { record_at, .. }
            | Self::Removed { record_at, .. } => record_at,
        }
    }
}
