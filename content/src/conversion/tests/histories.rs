//! All rules at once, under random histories of what is lost, doubled and late.

use proptest::prelude::*;

use std::time::Duration;

use super::*;

/// A whole service in miniature: one conversion, its queue, KV, and tilers that crash, sleep and speak too late.
struct World {
    story: Story,
    messages: Vec<Job>,
    /// Attempts that some tiler believes to have, dead and sleeping ones too.
    attempts: Vec<Attempt>,
    record: Option<Content>,
    published: Vec<Attempt>,
    /// The attempts that have objects in the store.
    stored: Vec<Attempt>,
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
    GiveUp(usize, Retry),
    AskForRetry,
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
            messages: vec![],
            attempts: vec![],
            record: None,
            published: vec![],
            stored: vec![],
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
                Effect::Enqueue if up => self.messages.push(self.story.known.as_ref().unwrap().job()),
                Effect::Enqueue => drop(self.story.tell(Event::EnqueueFailed)),
                Effect::WriteCache { content, .. } if up => {
                    if let Status::Ready { attempt, .. } = content.status {
                        self.published.push(attempt);
                    }
                    self.record = Some(content);
                    self.story.tell(Event::CacheWritten);
                    assert_eq!(self.story.effects, [], "written at once, it is not out of date");
                }
                Effect::WriteCache { .. } => {}
                Effect::DeleteFromCache => self.record = None,
                Effect::DeleteUpload(_) => panic!("no file was sent"),
                Effect::Sweep { before, keep } if up => {
                    self.stored.retain(|attempt| *attempt >= before || Some(*attempt) == keep);
                    self.story.tell(Event::Swept { before });
                }
                Effect::Sweep { .. } => {}
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
            Chance::Ask => drop(self.tell(Event::Requested, true)),
            Chance::Pull { keep_message, lose_answer } => {
                if let Some(job) = self.messages.first().copied() {
                    if !keep_message {
                        self.messages.remove(0);
                    }
                    if let Reply::Claim(claim) = self.tell(claim_of(job), true)
                        && !lose_answer
                    {
                        assert!(!self.attempts.contains(&claim.attempt), "an attempt was given twice");
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
                        reported(
                            attempt,
                            Outcome::Progress { stage: Stage::Rendering, progress, coarse: None },
                        ),
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
        }
    }

    /// From here on all goes well and the tilers that were are dead: alarms ring when due, and the tiler that pulls a message
    /// and gets the claim finishes.
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

/// The claim of a tiler for a job that it pulled.
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
        world.stored.retain(|attempt| !world.published.contains(attempt));
        prop_assert_eq!(world.stored, vec![], "objects are left");
    }
}
