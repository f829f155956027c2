//! What tilers do to a conversion: they claim it, and report on the attempt that they claimed.

use std::time::Duration;

use super::event::{Effect, Reply};
use super::rules::Rules;
use super::{Conversion, State};
use crate::protocol::{Claim, ClaimRequest, Outcome, Report, Retry};
use crate::{
    Archive, Attempt, CoarseNumber, Dzi, Failure, Previews, Progress, Stage, Timestamp, Title, Warning,
};

impl Conversion {
    pub(super) fn claim(
        &mut self,
        request: ClaimRequest,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        if matches!(self.state, State::Claimed { .. } | State::Waiting { .. }) {
            self.handle_alarm(now, rules, effects); // the alarm may be late
        }
        // A message that was sent before the job had to be alone may still come.
        let is_fit = request.alone || !self.alone;
        if !matches!(self.state, State::Queued { .. }) || !is_fit {
            return Reply::Conflict;
        }
        effects.retain(|effect| *effect != Effect::Enqueue); // this claim takes the job
        let attempt = self.next_attempt;
        self.next_attempt = attempt.next();
        let (lease_until, stage) = (now + rules.lease, Stage::Downloading);
        self.state = State::Claimed { attempt, lease_until, stage, coarse: None, tiler: request.tiler };
        let lease_ms = rules.lease.as_millis() as u64;
        let upload = self.upload;
        Reply::Claim(Claim { id: self.id, url: self.url.clone(), upload, attempt, lease_ms })
    }

    pub(super) fn handle_report(
        &mut self,
        Report { attempt, outcome }: Report,
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match outcome {
            Outcome::Progress { stage, progress, coarse } => {
                self.progress(attempt, (stage, progress, coarse), now, rules)
            }
            Outcome::Finished { dzi, title, warning, archive, previews } => {
                self.finish(attempt, (dzi, title, warning, archive, previews), now, rules, effects)
            }
            Outcome::GaveUp { failure, retry } => {
                self.give_up(attempt, (failure, retry), now, rules, effects)
            }
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
        (stage, progress, coarse): (Stage, Progress, Option<CoarseNumber>),
        now: Timestamp,
        rules: &Rules,
    ) -> Reply {
        match &mut self.state {
            State::Claimed { attempt, lease_until, stage: shown, coarse: latest, .. } if *attempt == by => {
                *lease_until = now + rules.lease;
                *shown = stage.max(*shown);
                *latest = coarse.max(*latest);
                self.shown = self.shown.max(progress.min(Progress::NEARLY));
                Reply::Accepted
            }
            _ => Reply::Conflict,
        }
    }

    fn finish(
        &mut self,
        by: Attempt,
        (dzi, title, warning, archive, previews): (
            Dzi,
            Option<Title>,
            Option<Warning>,
            Option<Archive>,
            Option<Previews>,
        ),
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match self.state {
            State::Claimed { attempt, .. } if attempt == by => {
                self.shown = Progress::COMPLETE;
                self.sweep_later(now, rules);
                self.state =
                    State::Ready { attempt, dzi, title, warning, archive, previews, record_at: None };
                self.record(now, rules, effects);
                effects.extend(self.upload.take().map(Effect::DeleteUpload));
                Reply::Accepted
            }
            State::Ready { attempt, .. } if attempt == by => Reply::Accepted, // reported twice
            _ => Reply::Conflict,
        }
    }

    fn give_up(
        &mut self,
        by: Attempt,
        (failure, retry): (Failure, Retry),
        now: Timestamp,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match self.state {
            State::Claimed { attempt, tiler, .. } if attempt == by => {
                let pause = rules.retries.get(self.retries as usize);
                match (retry, pause) {
                    (Retry::Later { after_seconds }, Some(pause)) => {
                        let wish = Duration::from_secs(after_seconds.unwrap_or_default().into());
                        let longest = rules.retries.into_iter().max().unwrap_or_default();
                        self.retries += 1;
                        self.state = State::Waiting { by, until: now + wish.min(longest).max(*pause) };
                    }
                    (Retry::Elsewhere, _) if self.kills < rules.kills => {
                        self.kills += 1;
                        self.avoid = tiler;
                        self.enqueue(now, rules, effects);
                    }
                    (Retry::Elsewhere, Some(pause)) => {
                        self.retries += 1;
                        self.state = State::Waiting { by, until: now + *pause };
                    }
                    _ => self.fail(Some(by), failure, now, rules, effects),
                }
                Reply::Accepted
            }
            State::Waiting { by: attempt, .. } if attempt == by => Reply::Accepted, // reported twice
            State::Failed { by: attempt, .. } if attempt == Some(by) => Reply::Accepted, // reported twice
            _ => Reply::Conflict,
        }
    }

    fn has_claim(&self, by: Attempt) -> bool {
        matches!(self.state, State::Claimed { attempt, .. } if attempt == by)
    }
}
