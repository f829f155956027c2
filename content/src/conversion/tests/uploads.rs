//! Uploaded files: each is one content, and is deleted when the conversion has ended.

use super::*;

const ONE: &str = "uploads/00000000000000000000000000000001";
const TWO: &str = "uploads/00000000000000000000000000000002";

fn file(name: &str) -> SourceUrl {
    SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", name).unwrap()
}

fn uploaded(name: &str, key: &str) -> Event {
    Event::Uploaded {
        id: id(),
        url: file(name),
        upload: key.parse().unwrap(),
        owner: None,
        alternative: None,
    }
}

fn deleted(key: &str) -> Effect {
    Effect::DeleteUpload(key.parse().unwrap())
}

fn sent() -> Story {
    let mut story = Story { known: None, now: Timestamp(0), effects: vec![] };
    let Reply::Content(content) = story.tell(uploaded("a.jpg", ONE)) else { panic!() };
    assert_eq!(content.url.file_name().as_deref(), Some("a.jpg"));
    assert_eq!(story.effects, [Effect::Enqueue]);
    story
}

fn claimed_key(story: &mut Story) -> (Attempt, Option<UploadKey>) {
    match story.tell(Event::Claimed(CLAIM)) {
        Reply::Claim(claim) => (claim.attempt, claim.upload),
        other => panic!("no claim but {other:?}"),
    }
}

#[test]
fn only_a_file_that_is_kept_or_comes_again_is_converted_again() {
    let starts_again =
        |story: &Story, event: &Event| story.known.as_ref().unwrap().starts_again(event, story.now, &RULES);
    let mut story = sent();
    let attempt = story.claim();
    story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
    story.wait(RULES.failed);
    assert!(starts_again(&story, &uploaded("a.jpg", TWO)));
    let other = SourceUrl::of_file("AAAAZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "a.jpg").unwrap();
    let Event::Uploaded { id, upload, owner, alternative, .. } = uploaded("a.jpg", TWO) else { panic!() };
    let other = Event::Uploaded { id, url: other, upload, owner, alternative };
    assert!(!starts_again(&story, &other));
    assert_eq!(story.tell(other), Reply::IdTaken);

    // A file that waits for another attempt is kept.
    let mut story = sent();
    let attempt = story.claim();
    story.tell(gave_up(attempt, FailureCode::Internal, Retry::Later { after_seconds: None }));
    assert!(starts_again(&story, &Event::RetryAsked));
}

#[test]
fn a_file_is_converted_and_then_deleted() {
    let mut story = sent();
    let (attempt, upload) = claimed_key(&mut story);
    assert_eq!(upload, ONE.parse().ok());
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Accepted);
    assert!(story.effects.contains(&deleted(ONE)));
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Accepted);
    assert!(story.effects.is_empty(), "once");
}

#[test]
fn a_file_that_was_uploaded_under_two_names_has_none() {
    let mut story = sent();
    let (attempt, _) = claimed_key(&mut story);
    story.tell(reported(attempt, finished()));
    story.tell(Event::CacheWritten);
    story.tell(uploaded("a.jpg", TWO));
    assert_eq!(story.known.as_ref().unwrap().url(), &file("a.jpg"));
    story.tell(uploaded("b.jpg", TWO));
    assert_eq!(story.known.as_ref().unwrap().url(), &file(""));
    assert!(
        story.effects.iter().any(|effect| matches!(effect, Effect::WriteCache { .. })),
        "{:?}",
        story.effects
    );
    story.tell(Event::CacheWritten);
    story.tell(uploaded("c.jpg", TWO));
    assert_eq!(story.effects, [deleted(TWO)]);
}

#[test]
fn the_same_file_uploaded_again_is_the_same_content_and_is_deleted() {
    let mut story = sent();
    let same = |story: &mut Story| {
        let Reply::Content(content) = story.tell(uploaded("other name.jpg", TWO)) else { panic!() };
        let name = content.url.file_name();
        assert_eq!((name, &story.effects), (None, &vec![deleted(TWO)]), "without the other's name");
    };
    same(&mut story);
    let (attempt, _) = claimed_key(&mut story);
    same(&mut story);
    story.tell(reported(attempt, finished()));
    same(&mut story);
    let other = SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGA", "a.jpg").unwrap();
    let other = Event::Uploaded {
        id: id(),
        url: other,
        upload: TWO.parse().unwrap(),
        owner: None,
        alternative: None,
    };
    assert_eq!(story.tell(other), Reply::IdTaken);
}

#[test]
fn a_repeated_message_does_not_delete_the_file() {
    let mut story = sent();
    story.tell(uploaded("a.jpg", ONE));
    assert!(story.effects.is_empty(), "it is needed");
    let (attempt, upload) = claimed_key(&mut story);
    story.tell(uploaded("a.jpg", ONE));
    assert!(story.effects.is_empty() && upload == ONE.parse().ok());
    story.tell(reported(attempt, finished()));
    assert!(story.effects.contains(&deleted(ONE)));
}

#[test]
fn a_file_whose_conversion_failed_is_deleted_and_has_to_be_uploaded_again() {
    let mut story = sent();
    let (attempt, _) = claimed_key(&mut story);
    story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
    assert!(story.effects.contains(&deleted(ONE)));
    story.wait(RULES.failed);
    for event in [Event::Requested, Event::RetryAsked, Event::Reset] {
        let Reply::Content(content) = story.tell(event) else { panic!() };
        assert!(matches!(content.status, Status::Failed { .. }), "there is nothing to convert");
        assert!(story.effects.is_empty());
    }
    story.tell(uploaded("a.jpg", TWO));
    assert_eq!(story.effects, [Effect::Enqueue]);
    assert_eq!(claimed_key(&mut story).1, TWO.parse().ok());
}

#[test]
fn repeated_uploads_of_a_file_start_one_conversion_a_minute() {
    let mut story = sent();
    for key in [ONE, TWO] {
        let (attempt, _) = claimed_key(&mut story);
        story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
        story.tell(uploaded("a.jpg", if key == ONE { TWO } else { ONE }));
        let is_started = story.effects.contains(&Effect::Enqueue);
        assert_eq!(is_started, key == ONE);
    }
    assert_eq!(story.effects, [deleted(ONE)]);
}

#[test]
fn a_file_stays_until_the_last_attempt_has_ended() {
    let mut story = sent();
    let (attempt, _) = claimed_key(&mut story);
    story.tell(gave_up(attempt, FailureCode::Internal, Retry::Later { after_seconds: None }));
    assert!(story.effects.is_empty());
    story.wait(RULES.retries[0]);
    story.tell(Event::AlarmFired);
    assert_eq!(claimed_key(&mut story).1, ONE.parse().ok());
    story.lose_lease();
    assert_eq!(claimed_key(&mut story).1, ONE.parse().ok());
}
