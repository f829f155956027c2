//! Each rule on its own. `histories` tests all of them together under random events.

mod changes;
mod collections;
mod histories;
mod records;
mod removals;
mod retries;
mod uploads;

use std::time::Duration;

use super::*;
use crate::protocol::{AttemptProgress, ClaimRequest, Outcome, Report, Retry};
use crate::{Archive, DeletionKey, Dzi, FailureCode, Previews, Size, TileFormat};

const RULES: Rules = Rules::DEFAULT;
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// The claim of a tiler that has other jobs.
const CLAIM: ClaimRequest = ClaimRequest { tiler: TilerId(7), alone: false };
/// The claim of a tiler that has none.
const CLAIM_ALONE: ClaimRequest = ClaimRequest { alone: true, ..CLAIM };

fn url() -> SourceUrl {
    SourceUrl::parse("http://example.com/a.jpg").unwrap()
}

fn id() -> ContentId {
    ContentId::candidates(&url()).next().unwrap()
}

fn finished() -> Outcome {
    let size = Size { width: 800, height: 600 };
    let dzi = Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg };
    Outcome::Finished { finished: Finished::new(dzi, Archive::default(), Previews::default()) }
}

fn failure(code: FailureCode) -> Failure {
    Failure::new(code, "It did not work.")
}

fn reported(attempt: Attempt, outcome: Outcome) -> Event {
    Event::Reported(Report { attempt, outcome })
}

fn gave_up(attempt: Attempt, code: FailureCode, retry: Retry) -> Event {
    reported(attempt, Outcome::GaveUp { failure: failure(code), retry })
}

/// A conversion, its clock, and the effects of the last event.
#[derive(Clone)]
struct Story {
    known: Option<Conversion>,
    now: Timestamp,
    effects: Vec<Effect>,
}

impl Story {
    fn new() -> Self {
        let mut story = Self { known: None, now: Timestamp(0), effects: vec![] };
        story.tell(Event::Created { id: id(), url: url(), alternative: None });
        story
    }

    /// Handles an event. Whether a client's event starts the conversion again is known before: its admission depends on it.
    fn tell(&mut self, event: Event) -> Reply {
        let starts_again = self.known.as_ref().map(|known| known.starts_again(&event, self.now, &RULES));
        let is_asked = matches!(
            event,
            Event::Created { .. }
                | Event::Entered { .. }
                | Event::Uploaded { .. }
                | Event::Requested
                | Event::RetryAsked
        );
        let told = format!("{event:?} at {:?}: {:?}", self.now, self.known);
        let again = event.is_idempotent().then(|| event.clone());
        let decision = decide(self.known.take(), event, self.now, &RULES);
        if let Some(event) = again {
            let repeated = decide(decision.after.clone(), event, self.now, &RULES);
            assert!(repeated.after == decision.after && repeated.reply == decision.reply, "twice: {told}");
        }
        if let Some(starts_again) = starts_again {
            assert_eq!(is_asked && decision.effects.contains(&Effect::Enqueue), starts_again, "{told}");
        }
        self.known = decision.after;
        self.effects = decision.effects;
        decision.reply
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn claim(&mut self) -> Attempt {
        self.claim_as(CLAIM)
    }

    fn claim_as(&mut self, request: ClaimRequest) -> Attempt {
        match self.tell(Event::Claimed(request)) {
            Reply::Claim(claim) => claim.attempt,
            other => panic!("no claim but {other:?}"),
        }
    }

    /// The tiler of the attempt dies, and its lease expires.
    fn lose_lease(&mut self) {
        self.wait(RULES.lease);
        self.tell(Event::AlarmFired);
    }

    fn stage(&self) -> Option<Stage> {
        if let Status::Processing { stage, .. } = self.content().status { Some(stage) } else { None }
    }

    fn content(&self) -> Content {
        self.known.as_ref().unwrap().content().unwrap()
    }

    fn report(&mut self, attempt: Attempt, progress: f64) -> Reply {
        self.tell(reported(
            attempt,
            Outcome::Progress(AttemptProgress::of(Stage::Rendering, progress.into())),
        ))
    }
}

#[test]
fn a_job_waits_until_it_is_claimed_and_is_one_until_it_ends() {
    let mut story = Story::new();
    let job = |story: &Story| {
        let conversion = story.known.as_ref().unwrap();
        (conversion.has_job(), conversion.is_queued(), story.content().status.finished().is_some())
    };
    assert_eq!(job(&story), (true, true, false));
    let attempt = story.claim();
    assert_eq!(job(&story), (true, false, false));
    story.tell(reported(attempt, finished()));
    assert_eq!(job(&story), (false, false, true));
}

#[test]
fn a_new_url_is_queued_once() {
    let mut story = Story::new();
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.content().status, Status::processing(Stage::Queued));
    assert_eq!(
        story.tell(Event::Created { id: id(), url: url(), alternative: None }),
        Reply::Content(story.content())
    );
    assert_eq!(story.effects, []);
}

#[test]
fn an_id_belongs_to_one_url() {
    let other = SourceUrl::parse("http://example.com/b.jpg").unwrap();
    assert_eq!(Story::new().tell(Event::Created { id: id(), url: other, alternative: None }), Reply::IdTaken);
}

#[test]
fn only_a_request_by_url_creates_a_conversion() {
    for event in [Event::Requested, Event::RetryAsked, Event::Claimed(CLAIM), Event::Reset, Event::AlarmFired]
    {
        let decision = decide(None, event, Timestamp(0), &RULES);
        assert_eq!(decision, Decision { after: None, effects: vec![], reply: Reply::NotFound });
    }
}

#[test]
fn a_second_claim_is_refused_while_the_lease_runs() {
    let mut story = Story::new();
    story.claim();
    story.wait(RULES.lease - Duration::from_millis(1));
    assert_eq!(story.tell(Event::Claimed(CLAIM)), Reply::Conflict);
}

#[test]
fn a_claim_after_the_lease_is_granted_even_if_the_alarm_is_late() {
    let mut story = Story::new();
    let first = story.claim();
    story.wait(RULES.lease);
    assert_eq!(story.claim(), first.next());
    assert_eq!(story.effects, []);
}

#[test]
fn a_report_renews_the_lease() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.wait(RULES.lease / 2);
    story.report(attempt, 0.1);
    assert_eq!(story.known.as_ref().unwrap().alarm(), Some(story.now + RULES.lease));
}

#[test]
fn an_expired_lease_queues_the_job_again_and_ends_the_attempt() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.wait(RULES.lease);
    story.tell(Event::AlarmFired);
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.report(attempt, 0.5), Reply::Conflict);
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Conflict);
}

#[test]
fn reports_on_an_earlier_attempt_are_refused_and_change_nothing() {
    let mut story = Story::new();
    let first = story.claim();
    story.lose_lease();
    let second = story.claim();
    let progress =
        |attempt| reported(attempt, Outcome::Progress(AttemptProgress::of(Stage::Rendering, 0.9.into())));
    let late = [progress(first), reported(first, finished()), reported(first, Outcome::HandedBack)];
    for event in late.clone() {
        let before = story.known.clone();
        story.wait(RULES.lease / 9);
        assert_eq!(story.tell(event.clone()), Reply::Conflict, "{event:?}");
        assert_eq!(story.known, before, "{event:?}");
    }
    assert_eq!(story.tell(reported(second, finished())), Reply::Accepted);
    for event in late {
        assert_eq!(story.tell(event.clone()), Reply::Conflict, "{event:?}");
    }
}

#[test]
fn handing_back_does_not_count_as_a_failed_attempt() {
    let mut story = Story::new();
    for _ in 0..10 {
        let attempt = story.claim();
        assert_eq!(story.tell(reported(attempt, Outcome::HandedBack)), Reply::Accepted);
        assert_eq!(story.effects, [Effect::Enqueue]);
    }
}

#[test]
fn progress_never_falls_over_attempts_and_reaches_1_only_when_ready() {
    let mut story = Story::new();
    let first = story.claim();
    story.report(first, 0.7);
    story.report(first, 0.3);
    assert_eq!(story.content().progress, 0.7.into());
    story.wait(RULES.lease);
    story.tell(Event::AlarmFired);
    let second = story.claim();
    story.report(second, 0.1);
    assert_eq!(story.content().progress, 0.7.into());
    story.report(second, 1.0);
    assert_eq!(story.content().progress, Progress::NEARLY);
    story.tell(reported(second, finished()));
    assert_eq!(story.content().progress, Progress::COMPLETE);
}

#[test]
fn a_ready_content_is_recorded_until_kv_has_it() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    let record = Effect::WriteCache { content: story.content(), expires_in: None };
    assert_eq!(story.effects, std::slice::from_ref(&record));
    story.wait(RULES.repeat);
    story.tell(Event::AlarmFired);
    assert_eq!(story.effects, [record]);
    story.tell(Event::CacheWritten);
    assert_eq!(story.known.as_ref().unwrap().alarm(), None);
}

#[test]
fn a_repeated_report_is_accepted_and_changes_nothing() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Accepted);
    assert_eq!(story.effects, []);

    let mut story = Story::new();
    let attempt = story.claim();
    let report = gave_up(attempt, FailureCode::CorruptSource, Retry::Never);
    story.tell(report.clone());
    assert_eq!(story.tell(report), Reply::Accepted);
    assert_eq!(story.effects, []);
}

#[test]
fn a_failure_stands_until_its_retry_is_due() {
    for (code, minutes) in [
        (FailureCode::SourceNotFound, 10),
        (FailureCode::SourceForbidden, 10),
        (FailureCode::CorruptSource, 10),
        (FailureCode::SourceUnreachable, 10),
        (FailureCode::TooManyPixels, 24 * 60),
    ] {
        let mut story = Story::new();
        let attempt = story.claim();
        story.report(attempt, 0.4);
        story.tell(gave_up(attempt, code, Retry::Never));
        let retry_at = Timestamp(minutes * MINUTE);
        let content = story.content();
        assert_eq!(content.status, Status::Failed { failure: failure(code), retry_at });
        assert_eq!(story.effects, [Effect::WriteCache { content, expires_in: Some(retry_at - story.now) }]);
        story.now = Timestamp(minutes * MINUTE - 1);
        story.tell(Event::Requested);
        assert!(story.content().is_finished());
        story.now = retry_at;
        story.tell(Event::Requested);
        assert_eq!(story.effects, [Effect::Enqueue]);
        assert_eq!(story.content().status, Status::processing(Stage::Queued));
        assert_eq!(story.content().progress, 0.4.into());
        assert_eq!(story.claim(), attempt.next());
    }
}

#[test]
fn a_lost_message_is_sent_again_after_growing_pauses() {
    let mut story = Story::new();
    for factor in [1, 4, 16, 64, 64] {
        story.wait(RULES.resend * factor - Duration::from_millis(1));
        story.tell(Event::AlarmFired);
        assert_eq!(story.effects, []);
        story.wait(Duration::from_millis(1));
        story.tell(Event::AlarmFired);
        assert_eq!(story.effects, [Effect::Enqueue]);
    }
}

#[test]
fn a_message_that_the_queue_refused_is_sent_again_soon() {
    let mut story = Story::new();
    story.tell(Event::EnqueueFailed);
    story.wait(RULES.repeat);
    story.tell(Event::AlarmFired);
    assert_eq!(story.effects, [Effect::Enqueue]);
}

#[test]
fn a_reset_starts_everything_again_that_is_not_ready() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(Event::Reset);
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.report(attempt, 0.5), Reply::Conflict);

    let attempt = story.claim();
    story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
    story.tell(Event::Reset);
    assert_eq!(story.effects, [Effect::DeleteFromCache, Effect::Enqueue]);

    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    let ready = story.content();
    assert_eq!(story.tell(Event::Reset), Reply::Content(ready));
    assert_eq!(story.effects, []);
}

#[test]
fn clients_see_the_latest_coarse_picture_of_the_current_attempt() {
    let mut story = Story::new();
    let first = story.claim();
    let mut numbers = CoarseNumber::all();
    let progress = |attempt, coarse| {
        reported(
            attempt,
            Outcome::Progress(AttemptProgress {
                coarse,
                ..AttemptProgress::of(Stage::Rendering, 0.5.into())
            }),
        )
    };
    let (one, two) = (numbers.next(), numbers.next());
    let shown = |story: &Story| match story.content().status {
        Status::Processing { coarse, .. } => coarse,
        _ => None,
    };
    story.tell(progress(first, None));
    assert_eq!(shown(&story), None);
    story.tell(progress(first, two));
    story.tell(progress(first, one)); // late
    story.tell(progress(first, None));
    assert_eq!(shown(&story), two.map(|number| Coarse { attempt: first, number }));
    story.lose_lease();
    assert_eq!(shown(&story), None);
    let second = story.claim();
    story.tell(progress(first, two));
    assert_eq!(shown(&story), None, "the attempt is over");
    story.tell(progress(second, one));
    assert_eq!(shown(&story), one.map(|number| Coarse { attempt: second, number }));
}
