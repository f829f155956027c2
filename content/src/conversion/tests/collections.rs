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
    Event::Entered { id: id(), url: url(), member: member(title), again }
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
    let event = Event::Entered { id: id(), url, member: member("One"), again: true };
    assert_eq!(story.tell(event), Reply::IdTaken);
}
