//! The rules one by one; all of them at once in `histories`.

mod histories;

use std::time::Duration;

use super::*;
use crate::{Size, TileFormat};

const RULES: Rules = Rules {
    lease: Duration::from_secs(60),
    leases: 3,
    resend: Duration::from_secs(120),
    repeat: Duration::from_secs(10),
};
const HOUR: u64 = 3_600_000;

fn url() -> SourceUrl {
    SourceUrl::parse("http://example.com/a.jpg").unwrap()
}

fn id() -> ContentId {
    ContentId::candidates(&url()).next().unwrap()
}

fn dzi() -> Dzi {
    let size = Size { width: 800, height: 600 };
    Dzi { size, tile_size: 510, tile_overlap: 1, tile_format: TileFormat::Jpg }
}

fn finished() -> Outcome {
    Outcome::Finished { dzi: dzi(), title: Title::of_page("A page"), archive: None }
}

fn failure(code: FailureCode) -> Failure {
    Failure::new(code, "It did not work.")
}

fn reported(attempt: Attempt, outcome: Outcome) -> Event {
    Event::Reported(Report { attempt, outcome })
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
        story.tell(Event::Created { id: id(), url: url() });
        story
    }

    fn tell(&mut self, event: Event) -> Reply {
        let decision = decide(self.known.take(), event, self.now, &RULES);
        self.known = decision.after;
        self.effects = decision.effects;
        decision.reply
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn claim(&mut self) -> Attempt {
        match self.tell(Event::Claimed) {
            Reply::Claim(claim) => claim.attempt,
            other => panic!("no claim but {other:?}"),
        }
    }

    fn content(&self) -> Content {
        self.known.as_ref().unwrap().content()
    }

    fn report(&mut self, attempt: Attempt, progress: f64) -> Reply {
        self.tell(reported(attempt, Outcome::Progress { stage: Stage::Rendering, progress: progress.into() }))
    }
}

#[test]
fn a_new_url_is_queued_once() {
    let mut story = Story::new();
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.content().status, Status::Processing { stage: Stage::Queued });
    assert_eq!(story.tell(Event::Created { id: id(), url: url() }), Reply::Content(story.content()));
    assert_eq!(story.effects, []);
}

#[test]
fn an_id_that_another_url_has_is_taken() {
    let other = SourceUrl::parse("http://example.com/b.jpg").unwrap();
    assert_eq!(Story::new().tell(Event::Created { id: id(), url: other }), Reply::IdTaken);
}

#[test]
fn what_was_never_asked_for_is_unknown() {
    for event in [Event::Requested, Event::Claimed, Event::Reset, Event::AlarmFired] {
        let decision = decide(None, event, Timestamp(0), &RULES);
        assert_eq!(decision, Decision { after: None, effects: vec![], reply: Reply::NotFound });
    }
}

#[test]
fn a_second_claim_is_refused_while_the_lease_runs() {
    let mut story = Story::new();
    story.claim();
    story.wait(RULES.lease - Duration::from_millis(1));
    assert_eq!(story.tell(Event::Claimed), Reply::Conflict);
}

#[test]
fn a_claim_after_the_lease_is_granted_though_the_alarm_is_late() {
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
fn a_lease_that_ran_out_queues_the_job_again_and_ends_the_attempt() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.wait(RULES.lease);
    story.tell(Event::AlarmFired);
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.report(attempt, 0.5), Reply::Conflict);
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Conflict);
}

#[test]
fn the_third_lease_that_runs_out_fails_the_conversion() {
    let mut story = Story::new();
    for _ in 0..3 {
        story.claim();
        story.wait(RULES.lease);
        story.tell(Event::AlarmFired);
    }
    assert!(
        matches!(story.content().status, Status::Failed { failure } if failure.code == FailureCode::Internal)
    );
    assert!(matches!(story.effects[..], [Effect::WriteCache { expires_in: Some(_), .. }]));
}

#[test]
fn handing_back_does_not_count_as_an_attempt_that_failed() {
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
fn a_report_that_comes_twice_is_accepted_twice_and_applied_once() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Accepted);
    assert_eq!(story.effects, []);

    let mut story = Story::new();
    let attempt = story.claim();
    let gave_up = reported(attempt, Outcome::GaveUp { failure: failure(FailureCode::CorruptSource) });
    story.tell(gave_up.clone());
    assert_eq!(story.tell(gave_up), Reply::Accepted);
    assert_eq!(story.effects, []);
}

#[test]
fn a_failure_is_answered_until_its_retry_is_due() {
    for (code, hours) in [(FailureCode::SourceUnreachable, 1), (FailureCode::CorruptSource, 24)] {
        let mut story = Story::new();
        let attempt = story.claim();
        story.report(attempt, 0.4);
        story.tell(reported(attempt, Outcome::GaveUp { failure: failure(code) }));
        story.now = Timestamp(hours * HOUR - 1);
        story.tell(Event::Requested);
        assert_eq!(story.content().status, Status::Failed { failure: failure(code) });
        story.now = Timestamp(hours * HOUR);
        story.tell(Event::Requested);
        assert_eq!(story.effects, [Effect::Enqueue]);
        assert_eq!(story.content().status, Status::Processing { stage: Stage::Queued });
        assert_eq!(story.content().progress, 0.4.into());
        assert_eq!(story.claim(), attempt.next());
    }
}

#[test]
fn a_lost_message_is_sent_again_ever_more_rarely() {
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
fn a_message_that_the_queue_did_not_take_is_sent_again_soon() {
    let mut story = Story::new();
    story.tell(Event::EnqueueFailed);
    story.wait(RULES.repeat);
    story.tell(Event::AlarmFired);
    assert_eq!(story.effects, [Effect::Enqueue]);
}

#[test]
fn a_reset_tries_anew_whatever_is_not_ready() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(Event::Reset);
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.report(attempt, 0.5), Reply::Conflict);

    let attempt = story.claim();
    story.tell(reported(attempt, Outcome::GaveUp { failure: failure(FailureCode::CorruptSource) }));
    story.tell(Event::Reset);
    assert_eq!(story.effects, [Effect::DeleteFromCache, Effect::Enqueue]);

    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    let ready = story.content();
    assert_eq!(story.tell(Event::Reset), Reply::Content(ready));
    assert_eq!(story.effects, []);
}

#[test]
fn what_is_kept_reads_back_as_it_was() {
    let mut story = Story::new();
    story.claim();
    let text = serde_json::to_string(story.known.as_ref().unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Conversion>(&text).unwrap(), story.known.unwrap());
}
