//! All invariants under random histories, in which messages are lost, doubled and late. Some contents belong to a collection,
//! whose messages edit them or start them again.

use proptest::prelude::*;

use super::collections::entered;
use super::*;
use crate::Content;
use crate::protocol::Job;

/// The whole service in miniature: one conversion, its queue, KV, and tilers that crash, stall and report too late.
struct World {
    story: Story,
    messages: Vec<Job>,
    /// Attempts that any tiler has ever claimed.
    attempts: Vec<Attempt>,
    record: Option<Content>,
    /// True if KV has a takedown instead of the record.
    is_refused: bool,
    /// The operator's log, each action once.
    log: Vec<(RemovalKind, String)>,
    /// Number of the operator's actions.
    actions: usize,
    published: Vec<Attempt>,
    /// Attempts that have objects in the store.
    stored: Vec<Attempt>,
    highest: Progress,
    /// True if the content belongs to a collection.
    is_entry: bool,
    /// True if the operator has taken the source down, in collections.
    is_source_down: bool,
}

/// A random event. Numbers select one of the attempts so far.
#[derive(Clone, Debug)]
enum Chance {
    Ask,
    Enter { title: &'static str, again: bool, up: bool },
    Pull { keep_message: bool, lose_answer: bool },
    LoseMessage,
    Report(usize, f64),
    Finish(usize),
    GiveUp(usize, Retry),
    AskForRetry,
    HandBack(usize),
    Wait(u64),
    Alarm,
    AlarmWhileAllIsDown,
    Reset,
    Remove { kind: RemovalKind, up: bool },
    TakeSourceDown { up: bool },
    LiftSource,
}

impl World {
    fn new(is_entry: bool) -> Self {
        let mut world = Self {
            story: Story { known: None, now: Timestamp(0), effects: vec![] },
            messages: vec![],
            attempts: vec![],
            record: None,
            is_refused: false,
            log: vec![],
            actions: 0,
            published: vec![],
            stored: vec![],
            highest: Progress::NONE,
            is_entry,
            is_source_down: false,
        };
        let created = Event::Created { id: id(), url: url(), alternative: None };
        world.tell(if is_entry { entered("One", true) } else { created }, true);
        world
    }

    /// Handles an event and performs the effects. If `up` is false, queue and KV refuse everything.
    fn tell(&mut self, event: Event, up: bool) -> Reply {
        let was_taken_down = self.is_taken_down();
        let is_of_operator = matches!(event, Event::Removed { .. });
        let was_removed = self.story.known.as_ref().is_some_and(|known| known.content().is_none());
        let reply = self.story.tell(event);
        if was_taken_down && !is_of_operator {
            assert!(!matches!(reply, Reply::Content(_) | Reply::Claim(_)), "served: {reply:?}");
        }
        if !was_removed && self.story.known.as_ref().is_some_and(|known| known.content().is_none()) {
            self.highest = Progress::NONE;
            self.published = vec![];
        }
        for effect in std::mem::take(&mut self.story.effects) {
            match effect {
                // The object of a collection's content asks before it sends the job or writes the record.
                Effect::Enqueue | Effect::WriteCache { .. } if up && self.is_entry && self.is_source_down => {
                    self.remove(RemovalKind::TakenDown, true);
                }
                Effect::Enqueue if up => self.messages.push(self.story.known.as_ref().unwrap().job()),
                Effect::Enqueue => drop(self.story.tell(Event::EnqueueFailed)),
                Effect::WriteCache { content, .. } if up => {
                    if let Status::Ready { attempt, .. } = content.status {
                        self.published.push(attempt);
                    }
                    self.record = Some(content);
                    self.is_refused = false;
                    self.story.tell(Event::CacheWritten);
                    assert_eq!(self.story.effects, [], "a record written at once is not out of date");
                }
                Effect::WriteCache { .. } => {}
                Effect::DeleteFromCache => {
                    self.record = None;
                    self.is_refused = false;
                }
                Effect::RecordRemoval(removal) if up => {
                    let entry = (removal.kind, removal.action);
                    if !self.log.contains(&entry) {
                        self.log.push(entry);
                    }
                    self.record = None;
                    self.is_refused = removal.kind == RemovalKind::TakenDown;
                    self.story.tell(Event::RemovalRecorded(removal.kind));
                    assert_eq!(self.story.effects, [], "a record written at once is not out of date");
                }
                Effect::RecordRemoval(_) => {}
                Effect::DeleteUpload(_) => panic!("there is no uploaded file"),
                Effect::Sweep { before, keep, .. } if up => {
                    self.stored.retain(|attempt| *attempt >= before || Some(*attempt) == keep);
                    self.story.tell(Event::Swept { before });
                }
                Effect::Sweep { .. } => {}
            }
        }
        let Some(content) = self.story.known.as_ref().and_then(Conversion::content) else { return reply };
        let progress = content.progress;
        assert!(progress >= self.highest, "progress fell from {:?} to {progress:?}", self.highest);
        self.highest = progress;
        if let Status::Processing { stage, next, .. } = content.status {
            assert_eq!(next.is_some(), stage == Stage::Waiting, "only a pause has a next attempt");
            let left = next.map_or(1, |next| next.left as usize);
            assert!((1..=RULES.retries.len()).contains(&left), "{left} attempts are left");
        }
        assert!(self.published.iter().all(|attempt| *attempt == self.published[0]), "published twice");
        reply
    }

    fn is_taken_down(&self) -> bool {
        let known = self.story.known.as_ref();
        known.is_some_and(|known| known.is_withheld())
    }

    fn happen(&mut self, chance: Chance) {
        let attempt = |of: usize| self.attempts.get(of % self.attempts.len().max(1)).copied();
        match chance {
            Chance::Ask => drop(self.tell(Event::Requested, true)),
            Chance::Enter { title, again, up } if self.is_entry => drop(self.tell(entered(title, again), up)),
            Chance::Enter { .. } => {}
            Chance::Pull { keep_message, lose_answer } => {
                if let Some(job) = self.messages.first().copied() {
                    if !keep_message {
                        self.messages.remove(0);
                    }
                    if let Reply::Claim(claim) = self.tell(claim_of(job), true)
                        && !lose_answer
                    {
                        assert!(!self.attempts.contains(&claim.attempt), "an attempt was claimed twice");
                        self.attempts.push(claim.attempt);
                        self.stored.push(claim.attempt);
                    }
                }
            }
            Chance::LoseMessage => drop(self.messages.pop()),
            Chance::AskForRetry => drop(self.tell(Event::RetryAsked, true)),
            Chance::Report(of, progress) => {
                if let Some(attempt) = attempt(of) {
                    let progress = progress.into();
                    self.tell(
                        reported(attempt, Outcome::Progress(AttemptProgress::of(Stage::Rendering, progress))),
                        true,
                    );
                }
            }
            Chance::Finish(of) => {
                if let Some(attempt) = attempt(of) {
                    self.tell(reported(attempt, finished()), true);
                }
            }
            Chance::GiveUp(of, retry) => {
                if let Some(attempt) = attempt(of) {
                    self.stored.retain(|of| *of != attempt || self.published.contains(of));
                    self.tell(gave_up(attempt, FailureCode::SourceUnreachable, retry), true);
                }
            }
            Chance::HandBack(of) => {
                if let Some(attempt) = attempt(of) {
                    self.tell(reported(attempt, Outcome::HandedBack), true);
                }
            }
            Chance::Wait(ms) => self.story.wait(Duration::from_millis(ms)),
            Chance::Alarm => drop(self.tell(Event::AlarmFired, true)),
            Chance::AlarmWhileAllIsDown => drop(self.tell(Event::AlarmFired, false)),
            Chance::Reset => drop(self.tell(Event::Reset, true)),
            Chance::Remove { kind, up } => self.remove(kind, up),
            // The index has what KV has.
            Chance::TakeSourceDown { up } => {
                self.is_source_down = true;
                if self.record.is_some() {
                    self.remove(RemovalKind::TakenDown, up);
                }
            }
            Chance::LiftSource => self.is_source_down = false,
        }
    }

    fn remove(&mut self, kind: RemovalKind, up: bool) {
        self.actions += 1;
        // Takedowns have one reason, so that a second takedown is a repetition.
        let removal = Removal::new(kind, "why", self.actions.to_string(), "operator".to_owned());
        self.tell(Event::Removed { id: id(), url: None, removal }, up);
    }

    /// Lets everything go well from now on, with new tilers: alarms fire when due, and each claimed job is finished.
    fn settle(&mut self) {
        for _ in 0..100 {
            if !self.messages.is_empty() {
                let job = self.messages.remove(0);
                if let Reply::Claim(claim) = self.tell(claim_of(job), true) {
                    self.stored.push(claim.attempt);
                    self.tell(reported(claim.attempt, finished()), true);
                }
            } else if let Some(due) = self.story.known.as_ref().unwrap().alarm() {
                self.story.now = self.story.now.max(due);
                self.tell(Event::AlarmFired, true);
            }
        }
    }
}

/// Returns a tiler's claim for a job that it pulled.
fn claim_of(job: Job) -> Event {
    Event::Claimed(ClaimRequest { alone: job.alone, ..CLAIM })
}

fn retry() -> impl Strategy<Value = Retry> {
    prop_oneof![
        Just(Retry::Never),
        prop::option::of(0..10_000_u32).prop_map(|after_seconds| Retry::Later { after_seconds }),
        Just(Retry::Elsewhere),
    ]
}

fn chance() -> impl Strategy<Value = Chance> {
    prop_oneof![
        2 => Just(Chance::Ask),
        2 => (prop::sample::select(vec!["One", "Two"]), any::<bool>(), any::<bool>())
            .prop_map(|(title, again, up)| Chance::Enter { title, again, up }),
        6 => (any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(keep_message, lose_answer)| Chance::Pull { keep_message, lose_answer }),
        1 => Just(Chance::LoseMessage),
        6 => (0..8_usize, -0.5..1.5).prop_map(|(of, progress)| Chance::Report(of, progress)),
        2 => (0..8_usize).prop_map(Chance::Finish),
        2 => (0..8_usize, retry()).prop_map(|(of, retry)| Chance::GiveUp(of, retry)),
        1 => Just(Chance::AskForRetry),
        1 => (0..8_usize).prop_map(Chance::HandBack),
        3 => prop_oneof![0..100_000_u64, Just(HOUR), Just(24 * HOUR)].prop_map(Chance::Wait),
        3 => Just(Chance::Alarm),
        1 => Just(Chance::AlarmWhileAllIsDown),
        1 => Just(Chance::Reset),
        1 => (prop_oneof![Just(RemovalKind::TakenDown), Just(RemovalKind::Lifted), Just(RemovalKind::Unused)], any::<bool>())
            .prop_map(|(kind, up)| Chance::Remove { kind, up }),
        1 => any::<bool>().prop_map(|up| Chance::TakeSourceDown { up }),
        1 => Just(Chance::LiftSource),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_history_makes_progress_fall_publishes_twice_or_loses_a_conversion(
        is_entry in any::<bool>(), history in prop::collection::vec(chance(), 0..60)
    ) {
        let mut world = World::new(is_entry);
        for chance in history {
            world.happen(chance);
        }
        world.settle();
        let known = world.story.known.clone().unwrap();
        prop_assert_eq!(known.alarm(), None);
        prop_assert!(known.content().is_none_or(|content| content.is_finished()), "lost: {:?}", known);
        prop_assert_eq!(world.is_refused, world.is_taken_down());
        prop_assert_eq!(world.record, known.content());
        let is_down = world.is_entry && world.is_source_down;
        prop_assert!(!is_down || known.content().is_none(), "shown: {:?}", known);
        // No takedown or lift is lost in the log: each is recorded before the next, so they alternate.
        let kinds: Vec<_> = world.log.iter().map(|(kind, _)| *kind).filter(|kind| *kind != RemovalKind::Unused).collect();
        prop_assert!(kinds.windows(2).all(|two| two[0] != two[1]), "{kinds:?}");
        prop_assert!(kinds.first().is_none_or(|first| *first == RemovalKind::TakenDown));
        world.stored.retain(|attempt| !world.published.contains(attempt));
        prop_assert_eq!(world.stored, vec![], "objects are left");
    }
}
