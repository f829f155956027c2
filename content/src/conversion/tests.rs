//! The rules one by one, then all of them at once under random histories.

use proptest::prelude::*;

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
    Outcome::Finished { dzi: dzi(), title: Title::of_page("A page") }
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
        match self.tell(Event::Claim) {
            Reply::Granted(claim) => claim.attempt,
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
    assert_eq!(story.tell(Event::Created { id: id(), url: url() }), Reply::Shown(story.content()));
    assert_eq!(story.effects, []);
}

#[test]
fn an_id_that_another_url_has_is_taken() {
    let other = SourceUrl::parse("http://example.com/b.jpg").unwrap();
    assert_eq!(Story::new().tell(Event::Created { id: id(), url: other }), Reply::Taken);
}

#[test]
fn what_was_never_asked_for_is_unknown() {
    for event in [Event::Asked, Event::Claim, Event::Reset, Event::AlarmRang] {
        let decision = decide(None, event, Timestamp(0), &RULES);
        assert_eq!(decision, Decision { after: None, effects: vec![], reply: Reply::Unknown });
    }
}

#[test]
fn a_second_claim_is_refused_while_the_lease_runs() {
    let mut story = Story::new();
    story.claim();
    story.wait(RULES.lease - Duration::from_millis(1));
    assert_eq!(story.tell(Event::Claim), Reply::Refused);
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
    story.tell(Event::AlarmRang);
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.report(attempt, 0.5), Reply::Refused);
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Refused);
}

#[test]
fn the_third_lease_that_runs_out_fails_the_conversion() {
    let mut story = Story::new();
    for _ in 0..3 {
        story.claim();
        story.wait(RULES.lease);
        story.tell(Event::AlarmRang);
    }
    assert!(
        matches!(story.content().status, Status::Failed { failure } if failure.code == FailureCode::Internal)
    );
    assert!(matches!(story.effects[..], [Effect::Record { expires_in: Some(_), .. }]));
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
    story.tell(Event::AlarmRang);
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
    let record = Effect::Record { content: story.content(), expires_in: None };
    assert_eq!(story.effects, std::slice::from_ref(&record));
    story.wait(RULES.repeat);
    story.tell(Event::AlarmRang);
    assert_eq!(story.effects, [record]);
    story.tell(Event::Recorded);
    assert_eq!(story.known.as_ref().unwrap().alarm(), None);
}

#[test]
fn what_is_told_twice_is_accepted_twice_and_done_once() {
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
        story.tell(Event::Asked);
        assert_eq!(story.content().status, Status::Failed { failure: failure(code) });
        story.now = Timestamp(hours * HOUR);
        story.tell(Event::Asked);
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
        story.tell(Event::AlarmRang);
        assert_eq!(story.effects, []);
        story.wait(Duration::from_millis(1));
        story.tell(Event::AlarmRang);
        assert_eq!(story.effects, [Effect::Enqueue]);
    }
}

#[test]
fn a_message_that_the_queue_did_not_take_is_sent_again_soon() {
    let mut story = Story::new();
    story.tell(Event::NotQueued);
    story.wait(RULES.repeat);
    story.tell(Event::AlarmRang);
    assert_eq!(story.effects, [Effect::Enqueue]);
}

#[test]
fn a_reset_tries_anew_whatever_is_not_ready() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(Event::Reset);
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(story.report(attempt, 0.5), Reply::Refused);

    let attempt = story.claim();
    story.tell(reported(attempt, Outcome::GaveUp { failure: failure(FailureCode::CorruptSource) }));
    story.tell(Event::Reset);
    assert_eq!(story.effects, [Effect::ForgetRecord, Effect::Enqueue]);

    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    let ready = story.content();
    assert_eq!(story.tell(Event::Reset), Reply::Shown(ready));
    assert_eq!(story.effects, []);
}

#[test]
fn what_is_kept_reads_back_as_it_was() {
    let mut story = Story::new();
    story.claim();
    let text = serde_json::to_string(story.known.as_ref().unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Conversion>(&text).unwrap(), story.known.unwrap());
}

/// A whole service in miniature: one conversion, its queue, KV, and tilers that crash, sleep and speak too late.
struct World {
    story: Story,
    messages: usize,
    /// Attempts that some tiler believes to have, dead and sleeping ones too.
    attempts: Vec<Attempt>,
    record: Option<Content>,
    published: Vec<Attempt>,
    highest: Progress,
}

/// One thing that may happen. Numbers choose among the attempts there have been.
#[derive(Clone, Debug)]
enum Chance {
    Ask,
    Pull { keep_message: bool, lose_answer: bool },
    LoseMessage,
    Report(usize, f64),
    Finish(usize),
    GiveUp(usize, bool),
    HandBack(usize),
    Wait(u64),
    Alarm,
    AlarmWhileAllIsDown,
    Reset,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            story: Story { known: None, now: Timestamp(0), effects: vec![] },
            messages: 0,
            attempts: vec![],
            record: None,
            published: vec![],
            highest: Progress::NONE,
        };
        world.tell(Event::Created { id: id(), url: url() }, true);
        world
    }

    /// Tells the conversion of an event and performs the effects; when `up` is false, queue and KV take nothing.
    fn tell(&mut self, event: Event, up: bool) -> Reply {
        let reply = self.story.tell(event);
        for effect in std::mem::take(&mut self.story.effects) {
            match effect {
                Effect::Enqueue if up => self.messages += 1,
                Effect::Enqueue => drop(self.story.tell(Event::NotQueued)),
                Effect::Record { content, .. } if up => {
                    if let Status::Ready { attempt, .. } = content.status {
                        self.published.push(attempt);
                    }
                    self.record = Some(content);
                    self.story.tell(Event::Recorded);
                }
                Effect::Record { .. } => {}
                Effect::ForgetRecord => self.record = None,
            }
        }
        let progress = self.story.content().progress;
        assert!(progress >= self.highest, "progress fell from {:?} to {progress:?}", self.highest);
        self.highest = progress;
        assert!(self.published.iter().all(|attempt| *attempt == self.published[0]), "published twice");
        reply
    }

    fn happen(&mut self, chance: Chance) {
        let attempt = |of: usize| self.attempts.get(of % self.attempts.len().max(1)).copied();
        match chance {
            Chance::Ask => drop(self.tell(Event::Asked, true)),
            Chance::Pull { keep_message, lose_answer } => {
                if self.messages > 0 {
                    self.messages -= usize::from(!keep_message);
                    if let Reply::Granted(claim) = self.tell(Event::Claim, true)
                        && !lose_answer
                    {
                        assert!(!self.attempts.contains(&claim.attempt), "an attempt was given twice");
                        self.attempts.push(claim.attempt);
                    }
                }
            }
            Chance::LoseMessage => self.messages = self.messages.saturating_sub(1),
            Chance::Report(of, progress) => {
                if let Some(attempt) = attempt(of) {
                    let progress = progress.into();
                    self.tell(
                        reported(attempt, Outcome::Progress { stage: Stage::Rendering, progress }),
                        true,
                    );
                }
            }
            Chance::Finish(of) => {
                if let Some(attempt) = attempt(of) {
                    self.tell(reported(attempt, finished()), true);
                }
            }
            Chance::GiveUp(of, transient) => {
                if let Some(attempt) = attempt(of) {
                    let code = if transient { FailureCode::TimedOut } else { FailureCode::UnsupportedFormat };
                    self.tell(reported(attempt, Outcome::GaveUp { failure: failure(code) }), true);
                }
            }
            Chance::HandBack(of) => {
                if let Some(attempt) = attempt(of) {
                    self.tell(reported(attempt, Outcome::HandedBack), true);
                }
            }
            Chance::Wait(ms) => self.story.wait(Duration::from_millis(ms)),
            Chance::Alarm => drop(self.tell(Event::AlarmRang, true)),
            Chance::AlarmWhileAllIsDown => drop(self.tell(Event::AlarmRang, false)),
            Chance::Reset => drop(self.tell(Event::Reset, true)),
        }
    }

    /// From here on all goes well and the tilers that were are dead: alarms ring when due, and whoever pulls a message
    /// and gets the claim finishes.
    fn settle(&mut self) {
        for _ in 0..20 {
            if self.messages > 0 {
                self.messages -= 1;
                if let Reply::Granted(claim) = self.tell(Event::Claim, true) {
                    self.tell(reported(claim.attempt, finished()), true);
                }
            } else if let Some(due) = self.story.known.as_ref().unwrap().alarm() {
                self.story.now = self.story.now.max(due);
                self.tell(Event::AlarmRang, true);
            }
        }
    }
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        2 => Just(Chance::Ask),
        6 => (any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(keep_message, lose_answer)| Chance::Pull { keep_message, lose_answer }),
        1 => Just(Chance::LoseMessage),
        6 => (0..8_usize, -0.5..1.5).prop_map(|(of, progress)| Chance::Report(of, progress)),
        2 => (0..8_usize).prop_map(Chance::Finish),
        2 => (0..8_usize, any::<bool>()).prop_map(|(of, transient)| Chance::GiveUp(of, transient)),
        1 => (0..8_usize).prop_map(Chance::HandBack),
        3 => prop_oneof![0..100_000_u64, Just(HOUR), Just(24 * HOUR)].prop_map(Chance::Wait),
        3 => Just(Chance::Alarm),
        1 => Just(Chance::AlarmWhileAllIsDown),
        1 => Just(Chance::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_history_makes_progress_fall_publishes_twice_or_loses_a_conversion(
        history in prop::collection::vec(chance(), 0..60)
    ) {
        let mut world = World::new();
        for chance in history {
            world.happen(chance);
        }
        world.settle();
        let content = world.story.content();
        prop_assert!(content.is_finished(), "lost: {:?}", world.story.known);
        prop_assert_eq!(world.story.known.as_ref().unwrap().alarm(), None);
        prop_assert_eq!(world.record, Some(content));
    }
}
