//! Takedowns, and the deletion of unused contents.

use super::*;

const REASON: &str = "Its owner asked for it.";

fn removed(kind: RemovalKind, reason: &str, action: &str) -> Event {
    let removal = Removal::new(kind, reason, action.to_owned(), "anna".to_owned());
    Event::Removed { id: id(), url: None, removal }
}

fn take_down(action: &str) -> Event {
    removed(RemovalKind::TakenDown, REASON, action)
}

fn refused() -> Reply {
    Reply::TakenDown(REASON.to_owned())
}

fn ready() -> Story {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    story.tell(Event::CacheWritten);
    story
}

/// Returns the effects of the last event, by name.
fn effects(story: &Story) -> Vec<&'static str> {
    let name = |effect: &Effect| match effect {
        Effect::Enqueue => "enqueue",
        Effect::WriteCache { .. } => "write",
        Effect::DeleteFromCache => "delete",
        Effect::DeleteUpload(_) => "delete upload",
        Effect::Sweep { keep: None, .. } => "sweep all",
        Effect::Sweep { .. } => "sweep",
        Effect::RecordRemoval(removal) => match removal.kind {
            RemovalKind::TakenDown => "record takedown",
            RemovalKind::Lifted => "record lift",
            RemovalKind::Unused | RemovalKind::Deleted => "record deletion",
        },
    };
    story.effects.iter().map(name).collect()
}

fn clients_events() -> [Event; 5] {
    let upload = "uploads/00000000000000000000000000000001".parse().unwrap();
    [
        Event::Created { id: id(), url: url(), alternative: None },
        Event::Uploaded { id: id(), url: url(), upload, owner: None, alternative: None },
        Event::Requested,
        Event::RetryAsked,
        Event::Reset,
    ]
}

#[test]
fn a_takedown_refuses_requests_at_once_and_deletes_the_objects() {
    let mut story = ready();
    assert_eq!(story.tell(take_down("1")), refused());
    assert_eq!(effects(&story), ["record takedown", "sweep all"]);
    for event in clients_events() {
        assert_eq!(story.tell(event), refused());
        assert_eq!(effects(&story), [""; 0]);
    }
    assert_eq!(story.tell(Event::Claimed(CLAIM)), Reply::Conflict);
    assert_eq!(story.known.as_ref().unwrap().content(), None);
}

#[test]
fn recording_and_sweeping_are_repeated_until_they_are_confirmed() {
    let mut story = ready();
    story.tell(take_down("1"));
    for _ in 0..3 {
        story.wait(RULES.repeat);
        story.tell(Event::AlarmFired);
        assert_eq!(effects(&story), ["sweep all", "record takedown"]);
    }
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    story.wait(RULES.repeat);
    story.tell(Event::AlarmFired);
    assert_eq!(effects(&story), ["sweep all"]);
    // Once more after a while: a tiler may have uploaded until it learned that its attempt is over.
    let before = Attempt::FIRST.next();
    story.tell(Event::Swept { before });
    assert_eq!(story.known.as_ref().unwrap().alarm(), Some(story.now + RULES.sweep));
    story.wait(RULES.sweep);
    story.tell(Event::AlarmFired);
    assert_eq!(effects(&story), ["sweep all"]);
    story.tell(Event::Swept { before });
    assert_eq!(story.known.as_ref().unwrap().alarm(), None);
    assert_eq!(story.tell(Event::Requested), refused());
}

#[test]
fn a_repeated_takedown_is_one_action() {
    let mut story = ready();
    story.tell(take_down("1"));
    let first = story.effects.clone();
    // Unconfirmed effects are repeated at once, as the same action.
    assert_eq!(story.tell(take_down("2")), refused());
    assert_eq!(story.effects, first);
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    story.tell(Event::Swept { before: Attempt::FIRST.next() });
    let known = story.known.clone();
    assert_eq!(story.tell(take_down("2")), refused());
    assert_eq!((effects(&story), &story.known), (vec![], &known));
    assert_eq!(
        story.tell(removed(RemovalKind::TakenDown, "Another reason.", "3")),
        Reply::TakenDown("Another reason.".into())
    );
    assert_eq!(effects(&story), ["record takedown"]);
}

#[test]
fn a_running_conversion_is_stopped() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(take_down("1"));
    assert!(!story.known.as_ref().unwrap().has_job());
    assert_eq!(story.report(attempt, 0.5), Reply::Conflict);
    assert_eq!(story.tell(reported(attempt, finished())), Reply::Conflict);
    assert_eq!(story.tell(gave_up(attempt, FailureCode::Internal, Retry::Elsewhere)), Reply::Conflict);
    assert_eq!(story.tell(Event::Claimed(CLAIM)), Reply::Conflict);
    assert_eq!(story.tell(Event::Requested), refused());
}

#[test]
fn a_url_can_be_taken_down_before_anyone_asks_for_it() {
    let removal = |kind| Removal::new(kind, REASON, "1".to_owned(), "anna".to_owned());
    let mut story = Story { known: None, now: Timestamp(0), effects: vec![] };
    let event = |kind, url| Event::Removed { id: id(), url, removal: removal(kind) };
    assert_eq!(story.tell(event(RemovalKind::TakenDown, None)), Reply::NotFound);
    assert_eq!(story.tell(event(RemovalKind::Unused, Some(url()))), Reply::NotFound);
    assert_eq!(story.known, None);
    assert_eq!(story.tell(event(RemovalKind::TakenDown, Some(url()))), refused());
    assert_eq!(story.tell(Event::Created { id: id(), url: url(), alternative: None }), refused());
    let other = SourceUrl::parse("http://example.com/b.jpg").unwrap();
    assert_eq!(
        story.tell(Event::Created { id: id(), url: other.clone(), alternative: None }),
        Reply::IdTaken
    );
    assert_eq!(story.tell(event(RemovalKind::Lifted, Some(other))), Reply::IdTaken);
}

#[test]
fn a_lifted_content_is_converted_on_request_by_a_new_attempt() {
    let mut story = ready();
    story.tell(take_down("1"));
    // The log must not lose the takedown.
    assert_eq!(story.tell(removed(RemovalKind::Lifted, "", "2")), Reply::NotYet);
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    assert_eq!(story.tell(removed(RemovalKind::Lifted, "", "2")), Reply::Accepted);
    assert_eq!(effects(&story), ["record lift"]);
    assert_eq!(story.tell(Event::Requested), Reply::NotYet);
    assert_eq!(story.tell(take_down("3")), Reply::NotYet);
    story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
    assert_eq!(story.tell(removed(RemovalKind::Lifted, "", "4")), Reply::Accepted);
    assert_eq!(effects(&story), [""; 0]);
    assert!(story.known.as_ref().unwrap().starts_again(&Event::Requested, story.now, &RULES));
    story.tell(Event::Requested);
    assert_eq!((effects(&story), story.stage()), (vec!["enqueue"], Some(Stage::Queued)));
    assert_eq!((story.content().progress, story.claim()), (Progress::NONE, Attempt::FIRST.next()));
}

#[test]
fn an_unused_content_is_deleted_and_comes_back_on_request() {
    let mut story = ready();
    let unused = || removed(RemovalKind::Unused, "", "1");
    assert_eq!(story.tell(unused()), Reply::Accepted);
    assert_eq!(effects(&story), ["record deletion", "sweep all"]);
    assert_eq!(story.tell(unused()), Reply::Accepted);
    assert_eq!(effects(&story), [""; 0]);
    // KV still has the record.
    assert_eq!(story.tell(Event::Requested), Reply::NotYet);
    story.tell(Event::RemovalRecorded(RemovalKind::Unused));
    story.tell(Event::Created { id: id(), url: url(), alternative: None });
    assert_eq!((effects(&story), story.stage()), (vec!["enqueue"], Some(Stage::Queued)));
    assert_eq!(story.tell(unused()), Reply::Conflict);
    // A takedown takes precedence.
    story.tell(take_down("2"));
    assert_eq!(story.tell(unused()), refused());
}

#[test]
fn a_deleted_file_has_to_be_uploaded_again() {
    let file = SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", "a.jpg").unwrap();
    let upload = |number: u32| format!("uploads/{number:032x}").parse().unwrap();
    let sent = |number| Event::Uploaded {
        id: id(),
        url: file.clone(),
        upload: upload(number),
        owner: None,
        alternative: None,
    };
    let mut story = Story { known: None, now: Timestamp(0), effects: vec![] };
    story.tell(sent(1));
    story.tell(take_down("1"));
    // Until the sweep is confirmed, it includes the file.
    let sweep = Effect::Sweep { before: Attempt::FIRST, keep: None, upload: Some(upload(1)) };
    assert!(story.effects.contains(&sweep));
    story.tell(Event::Swept { before: Attempt::FIRST });
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    assert_eq!(story.tell(sent(2)), refused());
    story.tell(removed(RemovalKind::Lifted, "", "2"));
    story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
    for event in [Event::Requested, Event::RetryAsked, Event::Reset] {
        assert_eq!(story.tell(event), Reply::NotFound);
    }
    story.tell(sent(3));
    assert_eq!(effects(&story), ["enqueue"]);
}

const UPLOAD: [&str; 2] =
    ["uploads/00000000000000000000000000000001", "uploads/00000000000000000000000000000002"];

fn key(text: &str) -> DeletionKeyHash {
    DeletionKey::new(text).hash()
}

fn file_of(owner: &str, upload: &str) -> Event {
    let url = SourceUrl::of_file("f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", owner).unwrap();
    Event::Uploaded {
        id: id(),
        url,
        upload: upload.parse().unwrap(),
        owner: Some(key(owner)),
        alternative: None,
    }
}

fn uploaded() -> Story {
    let mut story = Story { known: None, now: Timestamp(0), effects: vec![] };
    assert!(matches!(story.tell(file_of("anna", UPLOAD[0])), Reply::Owned(_)));
    story
}

#[test]
fn only_the_uploader_deletes_a_content_in_any_state_and_for_good() {
    let queued = |_: &mut Story| {};
    let claimed = |story: &mut Story| {
        story.claim();
    };
    let ready = |story: &mut Story| {
        let attempt = story.claim();
        story.tell(reported(attempt, finished()));
        story.tell(Event::CacheWritten);
    };
    let failed = |story: &mut Story| {
        let attempt = story.claim();
        story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
    };
    let unused = |story: &mut Story| {
        ready(story);
        story.tell(removed(RemovalKind::Unused, "", "1"));
        story.tell(Event::RemovalRecorded(RemovalKind::Unused));
    };
    for bring in [&queued as &dyn Fn(&mut Story), &claimed, &ready, &failed, &unused] {
        let mut story = uploaded();
        bring(&mut story);
        let before = story.known.clone();
        assert_eq!(story.tell(Event::DeletionAsked(key("ben"))), Reply::Forbidden);
        assert_eq!((&story.known, effects(&story)), (&before, vec![]));

        assert_eq!(story.tell(Event::DeletionAsked(key("anna"))), Reply::Accepted);
        assert_eq!(effects(&story), ["record deletion", "sweep all"]);
        assert_eq!(story.known.as_ref().unwrap().url().file_name(), None, "the name is deleted too");
        // The same call again repeats what is not confirmed.
        assert_eq!(story.tell(Event::DeletionAsked(key("anna"))), Reply::Accepted);
        assert_eq!(effects(&story), ["record deletion", "sweep all"]);
        for _ in 0..2 {
            for event in [Event::Requested, Event::RetryAsked, Event::Reset] {
                assert_eq!(story.tell(event), Reply::Deleted);
                assert_eq!(effects(&story), [""; 0]);
            }
            assert_eq!(story.tell(Event::DeletionAsked(key("ben"))), Reply::Forbidden);
            assert_eq!(story.tell(Event::Claimed(CLAIM)), Reply::Conflict);
            assert_eq!(story.tell(file_of("ben", UPLOAD[1])), Reply::IdTaken, "another id has to be taken");
            story.tell(Event::RemovalRecorded(RemovalKind::Deleted));
            story.tell(Event::Swept { before: story.known.as_ref().unwrap().next_attempt });
            for kind in [RemovalKind::Lifted, RemovalKind::Unused] {
                assert_eq!(story.tell(removed(kind, "", "2")), Reply::Accepted);
                assert_eq!(effects(&story), [""; 0]);
            }
        }
    }
}

#[test]
fn the_sweep_of_a_deletion_includes_the_uploaded_file() {
    let mut story = uploaded();
    story.tell(Event::DeletionAsked(key("anna")));
    let upload = UPLOAD[0].parse().ok();
    assert!(story.effects.contains(&Effect::Sweep { before: Attempt::FIRST, keep: None, upload }));
}

#[test]
fn a_content_without_an_uploader_is_not_deleted_by_any_key() {
    assert_eq!(ready().tell(Event::DeletionAsked(key("anna"))), Reply::Forbidden);
    let decision = decide(None, Event::DeletionAsked(key("anna")), Timestamp(0), &RULES);
    assert_eq!((decision.after, decision.reply), (None, Reply::NotFound));
}

#[test]
fn the_client_whose_file_is_converted_owns_the_content() {
    let mut story = uploaded();
    assert!(matches!(story.tell(file_of("ben", UPLOAD[1])), Reply::Content(_)), "it exists");
    assert_eq!(story.tell(Event::DeletionAsked(key("ben"))), Reply::Forbidden);
    let attempt = story.claim();
    story.tell(gave_up(attempt, FailureCode::CorruptSource, Retry::Never));
    let Reply::Owned(content) = story.tell(file_of("ben", UPLOAD[1])) else { panic!() };
    assert_eq!(content.title().map(|title| title.to_string()).as_deref(), Some("ben"));
    assert_eq!(story.tell(Event::DeletionAsked(key("anna"))), Reply::Forbidden);
    assert_eq!(story.tell(Event::DeletionAsked(key("ben"))), Reply::Accepted);
}

#[test]
fn the_title_that_a_file_states_comes_before_its_name() {
    let mut story = uploaded();
    let attempt = story.claim();
    let Outcome::Finished { finished } = finished() else { panic!() };
    let finished = Finished { title: crate::Title::of_document("Old town"), ..finished };
    let title = |reply| match reply {
        Reply::Content(content) => content.title().map(|title| title.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(title(story.tell(Event::Requested)).as_deref(), Some("anna"));
    story.tell(reported(attempt, Outcome::Finished { finished }));
    assert_eq!(title(story.tell(Event::Requested)).as_deref(), Some("Old town"));
}

#[test]
fn a_client_whose_response_was_lost_gets_another_key() {
    let mut story = uploaded();
    let Event::Uploaded { id, url, upload, .. } = file_of("anna", UPLOAD[0]) else { panic!() };
    let again = Event::Uploaded { id, url, upload, owner: Some(key("second")), alternative: None };
    assert!(matches!(story.tell(again), Reply::Owned(_)));
    assert_eq!(story.tell(Event::DeletionAsked(key("anna"))), Reply::Forbidden);
    assert_eq!(story.tell(Event::DeletionAsked(key("second"))), Reply::Accepted);
}

#[test]
fn takedowns_and_deletions_do_not_undo_each_other() {
    let mut story = uploaded();
    story.tell(take_down("1"));
    assert_eq!(story.tell(Event::DeletionAsked(key("anna"))), refused());
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    assert_eq!(story.tell(Event::DeletionAsked(key("anna"))), refused());

    let mut story = uploaded();
    story.tell(Event::DeletionAsked(key("anna")));
    assert_eq!(story.tell(take_down("1")), Reply::NotYet, "the log must not lose the deletion");
    story.tell(Event::RemovalRecorded(RemovalKind::Deleted));
    assert_eq!(story.tell(take_down("1")), refused());
    assert_eq!(effects(&story), ["record takedown"]);
    assert_eq!(story.tell(file_of("ben", UPLOAD[1])), refused(), "the bytes are refused");
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    assert_eq!(story.tell(removed(RemovalKind::Lifted, "", "2")), Reply::Accepted);
    assert_eq!(effects(&story), ["record deletion"]);
    story.tell(Event::RemovalRecorded(RemovalKind::Deleted));
    assert_eq!(story.tell(file_of("ben", UPLOAD[1])), Reply::IdTaken, "it stays deleted");
}

#[test]
fn a_late_record_does_not_outlive_a_removal() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    story.tell(take_down("1"));
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    // The content's own record reaches KV last.
    story.tell(Event::CacheWritten);
    assert_eq!(effects(&story), ["record takedown"]);
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    story.tell(removed(RemovalKind::Lifted, "", "2"));
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    assert_eq!(effects(&story), ["record lift"]);
    story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
    story.tell(Event::Requested);
    story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
    assert_eq!(effects(&story), ["delete"]);
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
    assert_eq!(effects(&story), ["write"]);
}

#[test]
fn the_history_keeps_the_last_20_states() {
    let mut story = Story::new();
    let attempt = story.claim();
    story.tell(gave_up(attempt, FailureCode::SourceNotFound, Retry::Never));
    story.tell(take_down("1"));
    let states = |story: &Story| -> Vec<String> {
        let history = story.known.as_ref().unwrap().history();
        history.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    };
    assert_eq!(states(&story), ["queued", "claimed 1", "failed source-not-found", "taken-down"]);
    story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    for number in 0..30 {
        story.tell(removed(RemovalKind::Lifted, "", &format!("l{number}")));
        story.tell(Event::RemovalRecorded(RemovalKind::Lifted));
        story.tell(take_down(&format!("t{number}")));
        story.tell(Event::RemovalRecorded(RemovalKind::TakenDown));
    }
    let kept = states(&story);
    assert_eq!((kept.len(), kept.last().map(String::as_str)), (20, Some("taken-down")));
}
