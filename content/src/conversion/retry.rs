//! When a conversion is tried again: after a failed attempt, a lost lease or a lost message, and when a client asks.
//! All times and counts are fields of [`Rules`]. The tiler decides whether an error may pass, and reports that as a
//! [`Retry`].

use std::borrow::Cow;
use std::time::Duration;

use super::event::{Effect, Event, Reply};
use super::{Context, Conversion, State};
use crate::protocol::Retry;
use crate::{Attempt, Failure, FailureCode, NextTry, Timestamp, UploadKey};

/// The times and counts of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Time without a report after which a tiler's claim ends and the job is queued again. Tilers report every few
    /// seconds, so a network may be down this long, and a killed tiler delays its job this long.
    pub lease: Duration,
    /// Number of leases that may expire before the job is tried a last time, alone on its tiler: it may have been a
    /// neighbour of the job that kills tilers.
    pub leases: u32,
    /// Time after which a queued job's message counts as lost and is sent again; four times longer each time, up to 64
    /// times. A surplus message costs one refused claim.
    pub resend: Duration,
    /// Time after which a message that the queue refused, or a value that KV refused, is sent again.
    pub repeat: Duration,
    /// Pauses after attempts that failed for a passing reason. A person still looks at the page after ten seconds;
    /// after a minute a server has restarted; after more than half an hour it is not back soon. A pause that the server
    /// asks for (`Retry-After`) counts up to the longest of these.
    pub retries: Cow<'static, [Duration]>,
    /// Number of times that a job is queued again at once after its renderer was killed from outside. After that, the
    /// pauses of `retries` apply.
    pub kills: u32,
    /// Time from the end of a conversion with several attempts to its sweep: tilers that died left objects, and a tiler
    /// that was silent takes up to a lease to learn that its attempt is over.
    pub sweep: Duration,
    /// Time for which a failure stands. A request after that starts the conversion again.
    pub failed: Duration,
    /// The same for a source that exceeds a limit of the service, which costs as much each time.
    pub over_a_limit: Duration,
    /// Minimum time between two starts by clients before the date.
    pub early: Duration,
}

impl Rules {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        lease: Duration::from_secs(60),
        leases: 3,
        resend: Duration::from_secs(2 * 60),
        repeat: Duration::from_secs(10),
        retries: Cow::Borrowed(&[
            Duration::from_secs(10),
            Duration::from_secs(60),
            Duration::from_secs(5 * 60),
            Duration::from_secs(30 * 60),
        ]),
        kills: 2,
        sweep: Duration::from_secs(5 * 60),
        failed: Duration::from_secs(10 * 60),
        over_a_limit: Duration::from_secs(24 * 60 * 60),
        early: Duration::from_secs(60),
    };

    /// Returns the rules with another lease, and with the times that follow from it.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, resend: lease * 2, sweep: lease * 5, ..self }
    }

    /// Returns the time until a message that was sent `sends` times is sent again.
    pub(super) fn resend_after(&self, sends: u32) -> Duration {
        self.resend * 4_u32.pow(sends.min(3))
    }

    /// Returns the pause after a failed attempt; `None` if no other attempt follows.
    fn pause(&self, retry: Retry, retries: u32) -> Option<Duration> {
        let pause = *self.retries.get(retries as usize)?;
        match retry {
            Retry::Never => None,
            Retry::Elsewhere => Some(pause),
            Retry::Later { after_seconds } => {
                let asked = Duration::from_secs(after_seconds.unwrap_or_default().into());
                let longest = self.retries.iter().copied().max().unwrap_or_default();
                Some(asked.min(longest).max(pause))
            }
        }
    }

    fn retry_after(&self, code: FailureCode) -> Duration {
        if code.is_over_a_limit() { self.over_a_limit } else { self.failed }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Conversion {
    /// Handles the report that an attempt failed.
    pub(super) fn give_up(
        &mut self,
        by: Attempt,
        failure: Failure,
        retry: Retry,
        context: &mut Context<'_>,
    ) -> Reply {
        match self.state {
            State::Claimed { attempt, tiler, .. } if attempt == by => {
                if retry == Retry::Elsewhere && self.kills < context.rules.kills {
                    self.kills += 1;
                    self.avoid = Some(tiler);
                    self.enqueue(context);
                } else if let Some(pause) = context.rules.pause(retry, self.retries) {
                    let left = context.rules.retries.len() as u32 - self.retries;
                    self.retries += 1;
                    let next = NextTry { until: context.now + pause, left, reason: failure };
                    self.state = State::Waiting { by, next };
                } else {
                    self.fail(Some(by), failure, context);
                }
                Reply::Accepted
            }
            State::Waiting { by: attempt, .. } if attempt == by => Reply::Accepted, // reported twice
            State::Failed { by: attempt, .. } if attempt == Some(by) => Reply::Accepted, // reported twice
            _ => Reply::Conflict,
        }
    }

    /// Handles the end of a lease without a report.
    pub(super) fn lose_lease(&mut self, context: &mut Context<'_>) {
        self.expired_leases += 1;
        if self.alone {
            let message = format!(
                "The conversion was started {} times and never finished, the last time alone on its tiler.",
                self.expired_leases
            );
            self.fail(None, Failure::new(FailureCode::Internal, message), context);
        } else {
            self.alone = self.expired_leases >= context.rules.leases;
            self.enqueue(context);
        }
    }

    fn fail(&mut self, by: Option<Attempt>, failure: Failure, context: &mut Context<'_>) {
        context.effects.extend(self.upload.take().map(Effect::DeleteUpload));
        self.sweep_later(context);
        let retry_at = context.now + context.rules.retry_after(failure.code);
        self.state = State::Failed { by, failure, retry_at, record_at: None };
        self.record(context);
    }

    /// Starts the conversion again, with all counts at zero.
    pub(super) fn start_over(&mut self, context: &mut Context<'_>) {
        if matches!(self.state, State::Failed { retry_at, .. } if context.now < retry_at) {
            context.effects.push(Effect::DeleteFromCache);
        }
        self.expired_leases = 0;
        self.retries = 0;
        self.kills = 0;
        self.avoid = None;
        self.alone = false;
        self.enqueue(context);
    }

    /// Takes an uploaded file and starts over if the conversion needs one; otherwise has the file deleted. Returns true
    /// if it takes the file.
    pub(super) fn takes_upload(&mut self, upload: UploadKey, context: &mut Context<'_>) -> bool {
        if self.upload == Some(upload) {
            return true; // the same message again
        }
        if !self.needs_upload(context.now, context.rules) {
            context.effects.push(Effect::DeleteUpload(upload));
            return false;
        }
        self.upload = Some(upload);
        self.started_early_at = Some(context.now);
        self.start_over(context);
        true
    }

    fn needs_upload(&self, now: Timestamp, rules: &Rules) -> bool {
        match self.state {
            State::Failed { retry_at, .. } => retry_at <= now || self.may_start_early(now, rules),
            State::Removed { .. } => !self.is_withheld(),
            _ => false,
        }
    }

    /// Returns true if there is something to convert: an uploaded file is deleted when its conversion has ended.
    pub(super) fn has_source(&self) -> bool {
        let is_kept = self.upload.is_some() && !matches!(self.state, State::Removed { .. });
        is_kept || !self.url.is_file()
    }

    /// Returns true if a client's event would start the conversion again.
    #[must_use]
    pub fn starts_again(&self, event: &Event, now: Timestamp, rules: &Rules) -> bool {
        match event {
            Event::Created { url, .. } => url.identity() == self.url.identity() && self.is_due_again(now),
            Event::Uploaded { url, upload, .. } => {
                let is_new = url.identity() == self.url.identity() && self.upload != Some(*upload);
                is_new && self.needs_upload(now, rules)
            }
            Event::Entered { url, again, upload, .. } => {
                url.identity() == self.url.identity() && self.enters_again(*upload, *again, now)
            }
            Event::Requested => self.is_due_again(now),
            Event::RetryAsked => self.is_due_again(now) || self.starts_early(now, rules),
            _ => false,
        }
    }

    /// Returns true if the message of its collection would start the conversion again.
    pub(super) fn enters_again(&self, upload: Option<UploadKey>, again: bool, now: Timestamp) -> bool {
        self.is_over(again, now) && (self.new_file(upload).is_some() || self.has_source())
    }

    /// Returns the file of a message of the content's collection, unless the message has come before.
    pub(super) fn new_file(&self, upload: Option<UploadKey>) -> Option<UploadKey> {
        upload.filter(|upload| self.entered != Some(*upload))
    }

    /// Returns true if any request would start the conversion again.
    pub(super) fn is_due_again(&self, now: Timestamp) -> bool {
        self.is_over(false, now) && self.has_source()
    }

    /// Returns true if the conversion has failed and its date has come, or `again` asks before that, or if a removal is
    /// over.
    fn is_over(&self, again: bool, now: Timestamp) -> bool {
        match self.state {
            State::Failed { retry_at, .. } => again || retry_at <= now,
            State::Removed { .. } => !self.is_withheld(),
            State::Queued { .. } | State::Claimed { .. } | State::Waiting { .. } | State::Ready { .. } => {
                false
            }
        }
    }

    /// Returns true if [`Event::RetryAsked`] would start the conversion before its date.
    pub(super) fn starts_early(&self, now: Timestamp, rules: &Rules) -> bool {
        let is_early = match self.state {
            State::Failed { retry_at, .. } => now < retry_at,
            State::Waiting { .. } => true,
            State::Queued { .. } | State::Claimed { .. } | State::Ready { .. } | State::Removed { .. } => {
                false
            }
        };
        is_early && self.has_source() && self.may_start_early(now, rules)
    }

    fn may_start_early(&self, now: Timestamp, rules: &Rules) -> bool {
        self.started_early_at.is_none_or(|at| now - at >= rules.early)
    }
}
