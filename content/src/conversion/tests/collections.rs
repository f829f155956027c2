//! Contents that belong to a collection.

use super::*;
use crate::{Credits, Removal, Stated, Title};

fn member(title: &str) -> Box<Membership> {
    let rights = Some("https://creativecommons.org/publicdomain/zero/1.0/".to_owned());
    let credits = Credits::from(Stated { credit: Some("Museum".to_owned()), rights, ..Stated::default() });
    Box::new(Membership {
        collection: "drawings".parse().unwrap(),
        title: Title::of_document(title),
        alternative: Alternative::of("A bridge"),
        credits: Some(credits),
    })
}

pub(super) fn entered(title: &str, again: bool) -> Event {
    Event::Entered { id: id(), url: url(), member: member(title), again, upload: None }
}

fn story() -> Story {
    let mut story = Story { known: None, now: Timestamp(0), effects: vec![] };
    story.tell(entered("One", true));
    assert_eq!(story.effects, [Effect::Enqueue]);
    story
}

/// Returns a result with credits of its own.
fn stated() -> Outcome {
    let Outcome::Finished { mut finished } = finished() else { panic!() };
    let stated =
        Stated { creator: Some("Ann".to_owned()), credit: Some("Camera".to_owned()), ..Stated::default() };
    finished.credits = Some(Box::new(stated.into()));
    finished.title = Title::of_document("DSC_0001");
    Outcome::Finished { finished }
}

#[test]
fn the_owner_s_words_come_before_those_of_the_file() {
    let mut story = story();
    let attempt = story.claim();
    story.tell(reported(attempt, stated()));
    let content = story.content();
    let credits = content.credits().unwrap();
    let line = |line: &Option<crate::CreditLine>| line.as_ref().unwrap().as_str().to_owned();
    assert_eq!(content.title().unwrap().as_str(), "One");
    assert_eq!((line(&credits.credit), line(&credits.creator)), ("Museum".to_owned(), "Ann".to_owned()));
    assert!(credits.rights.is_some());
    assert_eq!(content.alternative_text().unwrap().as_str(), "A bridge");
    assert_eq!(story.known.unwrap().collection().map(ToString::to_string).as_deref(), Some("drawings"));
}

#[test]
fn other_words_are_recorded_and_the_same_ones_change_nothing() {
    let mut story = story();
    let attempt = story.claim();
    story.tell(reported(attempt, stated()));
    story.tell(Event::CacheWritten);
    let known = story.known.clone();
    story.tell(entered("One", false));
    assert_eq!((&story.effects, &story.known), (&vec![], &known));
    let Reply::Content(content) = story.tell(entered("Two", false)) else { panic!() };
    assert_eq!(content.title().unwrap().as_str(), "Two");
    assert_eq!(story.effects, [Effect::WriteCache { content, expires_in: None }]);
}

#[test]
fn only_a_line_that_asks_for_it_starts_a_failed_content_before_its_date() {
    let mut story = story();
    let attempt = story.claim();
    story.tell(gave_up(attempt, FailureCode::SourceNotFound, Retry::Never));
    story.tell(entered("One", false));
    assert_eq!(story.stage(), None);
    story.tell(entered("One", true));
    assert_eq!(story.stage(), Some(Stage::Queued));
}

#[test]
fn a_source_that_is_taken_down_removes_its_content_when_it_is_queued_or_ends_until_a_lift() {
    let queued = |_: &mut Story| Attempt::FIRST;
    let ready = |story: &mut Story| {
        let attempt = story.claim();
        story.tell(reported(attempt, finished()));
        attempt.next()
    };
    let failed = |story: &mut Story| {
        let attempt = story.claim();
        story.tell(gave_up(attempt, FailureCode::SourceNotFound, Retry::Never));
        attempt.next()
    };
    let restarted = |story: &mut Story| {
        let next = failed(story);
        story.tell(entered("One", true));
        next
    };
    for bring in [&queued as &dyn Fn(&mut Story) -> Attempt, &ready, &failed, &restarted] {
        let removed = |kind| {
            let removal = Removal::new(kind, "x", "1".to_owned(), "anna".to_owned());
            Event::Removed { id: id(), url: None, removal }
        };
        let recorded = |effects: &[Effect]| matches!(effects[0], Effect::RecordRemoval(_));
        let mut story = story();
        let next = bring(&mut story);
        assert_eq!(story.tell(removed(RemovalKind::TakenDown)), Reply::TakenDown("x".to_owned()));
        let sweep = Effect::Sweep { before: next, keep: None, upload: None };
        assert!(recorded(&story.effects) && story.effects[1..] == [sweep]);
        assert!(!story.known.as_ref().unwrap().has_job());
        // The log did not answer.
        story.wait(RULES.repeat);
        story.tell(Event::AlarmFired);
        assert!(story.effects.iter().any(|effect| matches!(effect, Effect::RecordRemoval(_))));
        story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
        assert_eq!(story.tell(entered("Two", true)), Reply::TakenDown("x".to_owned()));
        // The record of the finished content reaches KV late.
        story.tell(Event::CacheWritten);
        assert!(recorded(&story.effects));
        story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));

        story.tell(removed(RemovalKind::Lifted));
        story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
        story.tell(entered("One", true));
        assert_eq!((story.stage(), story.claim()), (Some(Stage::Queued), next));
        story.tell(reported(next, finished()));
        assert!(story.content().is_finished());
    }
}

#[test]
fn retention_spares_a_collection_and_its_owner_removes_for_good() {
    let mut story = story();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    let removal = |kind| {
        let removal = Removal::new(kind, "", "1".to_owned(), "anna".to_owned());
        Event::Removed { id: id(), url: None, removal }
    };
    assert_eq!(story.tell(removal(RemovalKind::Unused)), Reply::Conflict);
    assert!(story.content().is_finished());
    assert_eq!(story.tell(removal(RemovalKind::Deleted)), Reply::Accepted);
    story.tell(Event::RemovalRecorded(RemovalKind::Deleted));
    for event in [entered("One", true), Event::Requested, Event::RetryAsked, Event::Reset] {
        assert_eq!(story.tell(event), Reply::Deleted);
    }
}

#[test]
fn a_content_of_another_url_keeps_its_id() {
    let mut story = story();
    let url = SourceUrl::parse("http://example.com/b.jpg").unwrap();
    let event = Event::Entered { id: id(), url, member: member("One"), again: true, upload: None };
    assert_eq!(story.tell(event), Reply::IdTaken);
}

const ONE: &str = "uploads/00000000000000000000000000000001";
const TWO: &str = "uploads/00000000000000000000000000000002";

/// Returns the message with a file that is stored under a key.
fn with_file(key: &str) -> Event {
    let url = SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "a.jpg").unwrap();
    let upload = Some(key.parse().unwrap());
    Event::Entered { id: id(), url, member: member("One"), again: true, upload }
}

fn deleted(key: &str) -> Effect {
    Effect::DeleteUpload(key.parse().unwrap())
}

/// Returns the story of a file, and its first attempt.
fn file() -> (Story, Attempt) {
    let mut story = Story { known: None, now: Timestamp(0), effects: vec![] };
    assert!(matches!(story.tell(with_file(ONE)), Reply::Content(_)), "nobody gets a deletion key");
    let Reply::Claim(claim) = story.tell(Event::Claimed(CLAIM)) else { panic!() };
    assert_eq!(claim.upload, Some(ONE.parse().unwrap()));
    (story, claim.attempt)
}

#[test]
fn a_file_of_a_collection_is_deleted_when_its_conversion_ends_and_a_late_message_starts_nothing() {
    for end in
        [finished(), Outcome::GaveUp { failure: failure(FailureCode::CorruptSource), retry: Retry::Never }]
    {
        let (mut story, attempt) = file();
        story.tell(with_file(ONE));
        assert_eq!(story.effects, [], "the same message again");
        story.tell(reported(attempt, end));
        assert!(story.effects.contains(&deleted(ONE)));
        story.wait(RULES.failed);
        story.tell(with_file(ONE));
        assert_eq!((&story.effects, story.stage()), (&vec![], None));
    }
}

#[test]
fn only_a_failed_file_is_replaced_by_another() {
    let (mut story, attempt) = file();
    story.tell(with_file(TWO));
    assert_eq!(story.effects, [deleted(TWO)]);
    story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
    let Event::Entered { id, url, member, .. } = with_file(ONE) else { unreachable!() };
    story.tell(Event::Entered { id, url, member, again: true, upload: None });
    assert_eq!(story.stage(), None, "nothing is left to convert");
    story.tell(with_file(ONE));
    assert_eq!(story.stage(), Some(Stage::Queued));
    let Reply::Claim(claim) = story.tell(Event::Claimed(CLAIM)) else { panic!() };
    assert_eq!(claim.upload, Some(ONE.parse().unwrap()));
}

#[test]
fn a_file_of_a_content_that_is_taken_down_is_deleted() {
    let (mut story, _) = file();
    let removal = |kind| {
        let removal = Removal::new(kind, "x", "1".to_owned(), "anna".to_owned());
        Event::Removed { id: id(), url: None, removal }
    };
    story.tell(removal(RemovalKind::TakenDown));
    let swept = |effect: &Effect| matches!(effect, Effect::Sweep { upload: Some(_), .. });
    assert!(story.effects.iter().any(swept));
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    assert_eq!(story.tell(with_file(TWO)), Reply::TakenDown("x".to_owned()));
    assert_eq!(story.effects, [deleted(TWO)]);
    story.tell(removal(RemovalKind::Lifted));
    assert_eq!(story.tell(with_file(TWO)), Reply::NotYet);
    assert_eq!(story.effects, [], "the message comes again");
    story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
    story.tell(with_file(TWO));
    assert_eq!(story.stage(), Some(Stage::Queued));
}
