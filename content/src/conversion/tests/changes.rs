//! The measured times: of each state, and since the content was asked for.

use super::*;

/// Returns the change that an event makes, some seconds after the one before: from, to, and both times.
fn change(story: &mut Story, seconds: u64, event: Event) -> Option<(&'static str, &'static str, f64, f64)> {
    story.wait(Duration::from_secs(seconds));
    let before = story.known.clone();
    story.tell(event);
    Change::between(before.as_ref(), story.known.as_ref().unwrap(), story.now)
        .map(|change| (change.from, change.to.name, change.seconds, change.since_asked))
}

#[test]
fn a_change_has_the_time_in_the_state_before_and_since_the_request() {
    let mut story = Story { known: None, now: Timestamp(5_000), effects: vec![] };
    let created = Event::Created { id: id(), url: url(), alternative: None };
    assert_eq!(change(&mut story, 0, created), Some(("none", "queued", 0.0, 0.0)));
    assert_eq!(change(&mut story, 3, Event::Claimed(CLAIM)), Some(("queued", "claimed", 3.0, 3.0)));
    let progress = Outcome::Progress(AttemptProgress::of(Stage::Rendering, Progress::from(0.5)));
    assert_eq!(change(&mut story, 1, reported(Attempt::FIRST, progress)), None, "progress is not a change");

    let mut other = story.clone();
    let ready = reported(Attempt::FIRST, finished());
    assert_eq!(change(&mut other, 6, ready), Some(("claimed", "ready", 7.0, 10.0)));

    let later = Retry::Later { after_seconds: None };
    let unreachable = gave_up(Attempt::FIRST, FailureCode::SourceUnreachable, later);
    assert_eq!(change(&mut story, 6, unreachable), Some(("claimed", "waiting", 7.0, 10.0)));
    let again = change(&mut story, 60, Event::AlarmFired);
    assert_eq!(again, Some(("waiting", "queued", 60.0, 70.0)), "the request is the same");
    change(&mut story, 1, Event::Claimed(CLAIM));
    let corrupt = gave_up(Attempt::FIRST.next(), FailureCode::CorruptSource, Retry::Never);
    assert_eq!(change(&mut story, 1, corrupt), Some(("claimed", "failed", 1.0, 72.0)));
    let code = story.known.as_ref().unwrap().step().code;
    assert_eq!(code, Some(FailureCode::CorruptSource));
    let requested = change(&mut story, 600, Event::Requested);
    assert_eq!(requested, Some(("failed", "queued", 600.0, 0.0)), "it is a new request");
}
