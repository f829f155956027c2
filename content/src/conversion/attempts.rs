//! The tilers' part of a conversion: they claim it and report on the attempt that they claimed.

use super::event::{Effect, Reply};
use super::{Context, Conversion, State};
use crate::protocol::{Claim, ClaimRequest, Outcome, Report};
use crate::{Attempt, Finished, Progress, Stage};

impl Conversion {
    pub(super) fn claim(&mut self, request: ClaimRequest, context: &mut Context<'_>) -> Reply {
        if matches!(self.state, State::Claimed { .. } | State::Waiting { .. }) {
            self.handle_alarm(context); // the alarm may be late
        }
        // A message from before the job had to be alone may still arrive.
        let is_fit = request.alone || !self.alone;
        if !matches!(self.state, State::Queued { .. }) || !is_fit {
            return Reply::Conflict;
        }
        context.effects.retain(|effect| *effect != Effect::Enqueue); // this claim takes the job
        let attempt = self.next_attempt;
        self.next_attempt = attempt.next();
        self.state = State::Claimed {
            attempt,
            lease_until: context.now + context.rules.lease,
            stage: Stage::Downloading,
            coarse: None,
            tiler: request.tiler,
        };
        let lease_ms = context.rules.lease.as_millis() as u64;
        Reply::Claim(Claim { id: self.id, url: self.url.clone(), upload: self.upload, attempt, lease_ms })
    }

    pub(super) fn handle_report(&mut self, report: Report, context: &mut Context<'_>) -> Reply {
        let by = report.attempt;
        match report.outcome {
            Outcome::Progress(reported) => match &mut self.state {
                State::Claimed { attempt, lease_until, stage, coarse, .. } if *attempt == by => {
                    *lease_until = context.now + context.rules.lease;
                    *stage = reported.stage.max(*stage);
                    *coarse = reported.coarse.max(*coarse);
                    self.shown = self.shown.max(reported.progress.min(Progress::NEARLY));
                    Reply::Accepted
                }
                _ => Reply::Conflict,
            },
            Outcome::Finished { finished } => self.finish(by, finished, context),
            Outcome::GaveUp { failure, retry } => self.give_up(by, failure, retry, context),
            Outcome::HandedBack => match self.state {
                State::Claimed { attempt, .. } if attempt == by => {
                    self.enqueue(context);
                    Reply::Accepted
                }
                _ => Reply::Conflict,
            },
        }
    }

    fn finish(&mut self, by: Attempt, finished: Finished, context: &mut Context<'_>) -> Reply {
        match self.state {
            State::Claimed { attempt, .. } if attempt == by => {
                self.shown = Progress::COMPLETE;
                self.sweep_later(context);
                self.state = State::Ready { attempt, finished, record_at: None };
                self.record(context);
                context.effects.extend(self.upload.take().map(Effect::DeleteUpload));
                Reply::Accepted
            }
            State::Ready { attempt, .. } if attempt == by => Reply::Accepted, // reported twice
            _ => Reply::Conflict,
        }
    }
}
