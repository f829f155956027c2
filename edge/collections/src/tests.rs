//! The effects of lines, answers and messages of contents.

use std::collections::HashMap;

use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::{
    AddressPolicy, CollectionName, Content, ContentId, DeletionKey, EntryState, Failure, FailureCode,
    Progress, SourceUrl, Stage, Status, Timestamp,
};
use proptest::prelude::*;

use crate::entry::{FILES, Note, NotedEnd, Row, Sent};
use crate::line::{Line, MAX_BYTES, Name, Refusal};
use crate::notices::{Due, Notices};
use crate::refill::{ON_ONE_HOST, UNDER_WAY, refill};
use crate::settings::{CollectionError, Put, Settings};

const NOW: Timestamp = Timestamp(1_000_000);
const LATER: Timestamp = Timestamp(2_000_000);
const BY: &str = "http://creativecommons.org/licenses/by/4.0/";

fn parse(text: &str) -> Result<Line, Refusal> {
    Line::parse(text, &AddressPolicy::default())
}

fn id(generation: u8) -> ContentId {
    ContentId::in_collection(&SourceUrl::parse("https://a.example/1.jpg").unwrap(), "secret", generation)
}

fn line(rest: &str) -> Line {
    parse(&format!(r#"{{"url":"https://a.example/1.jpg"{rest}}}"#)).unwrap()
}

fn sent(row: Option<&Row>, line: &Line) -> Result<Sent, Refusal> {
    Row::sent(row.cloned(), line, (id(0), Some(id(1))), 7, LATER)
}

/// Returns the row after a line.
fn after(row: Option<&Row>, rest: &str) -> Row {
    match sent(row, &line(rest)) {
        Ok(Sent::Changed(row)) => Row { shown: false, ..*row },
        other => panic!("{rest}: {other:?}"),
    }
}

fn settings() -> Settings {
    let json = r#"{"title":"Drawings","credit":"Museum","rights":"https://creativecommons.org/licenses/by/4.0/deed.de"}"#;
    parsed(json).unwrap()
}

fn parsed(json: &str) -> Result<Settings, CollectionError> {
    Settings::parse(
        json,
        "drawings".parse().unwrap(),
        "secret".to_owned(),
        DeletionKey::new("key").hash(),
        &AddressPolicy::default(),
    )
}

fn content(status: Status) -> Result<Reply, String> {
    let url = SourceUrl::parse("https://a.example/1.jpg").unwrap();
    let content = Content { id: id(0), url, alternative: None, progress: Progress::NONE, status };
    Ok(Reply::Content(content))
}

fn processing(stage: Stage) -> Result<Reply, String> {
    content(Status::processing(stage))
}

fn failure() -> Failure {
    Failure::new(FailureCode::SourceNotFound, "There is nothing at the URL (404).")
}

fn note(at: u64, end: NotedEnd) -> Note {
    Note { id: id(0), at: Timestamp(at), end }
}

/// Returns the row of a content in a state.
fn row(state: EntryState) -> Row {
    let new = after(None, r#","title":"One""#);
    let at = |end| new.clone().noted(&note(5, end), NOW).unwrap();
    let row = match state {
        EntryState::Waiting => new,
        EntryState::Converting => new.clone().answered(&new, &processing(Stage::Queued), NOW).0,
        EntryState::Ready => at(NotedEnd::Ready),
        EntryState::Failed => at(NotedEnd::Failed(failure())),
        EntryState::Removed => at(NotedEnd::Removed),
        EntryState::TakenDown => at(NotedEnd::TakenDown),
    };
    assert_eq!(row.state, state);
    Row { shown: false, ..row }
}

#[test]
fn states_have_the_names_that_requests_use() {
    let script = include_str!("../../src/collections/object.js");
    let names = EntryState::ALL.map(|state| format!("\"{}\"", state.name()));
    assert!(script.contains(&format!("const STATES = [{}];", names.join(", "))));
}

#[test]
fn a_line_is_refused_with_its_reason() {
    let long = format!(r#"{{"url":"https://a.example/","title":"{}"}}"#, "x".repeat(MAX_BYTES));
    for (text, code) in [
        ("", "json"),
        ("[]", "json"),
        (r#"{"url":7}"#, "json"),
        (r#"{"url":"https://a.example/1.jpg","retry":"yes"}"#, "json"),
        (r#"{"url":"https://a.example/1.jpg"} {}"#, "json"),
        (r#"{"url":"https://a.example/1.jpg","tittle":"x"}"#, "member"),
        (r#"{"url":"https://a.example/1.jpg","refresh":true}"#, "member"),
        (&long, "too-long"),
        (r#"{"url":"ftp://a.example/1.jpg"}"#, "url"),
        (r#"{"url":"https://nowhere/1.jpg"}"#, "url"),
        (r#"{"url":"http://127.0.0.1/1.jpg"}"#, "url"),
        (r#"{"url":"http://169.254.169.254/latest"}"#, "url"),
        (r#"{"url":"ni:///sha-256;short"}"#, "url"),
        (r#"{"url":"https://a.example/","options":"web-width=1"}"#, "url"),
        (&format!(r#"{{"url":"https://a.example/","options":"web-sealed=ez1-{}"}}"#, "s".repeat(60)), "url"),
        (r#"{"id":"../../../etc"}"#, "id"),
        (r#"{"title":"x"}"#, "name"),
        (r#"{"url":"https://a.example/1.jpg","id":"6qy4OXfXSid"}"#, "name"),
        (r#"{"url":null,"id":null}"#, "name"),
    ] {
        let refusal = parse(text).unwrap_err();
        assert_eq!(refusal.code(), code, "{text}");
        assert!(refusal.to_string().chars().count() < 400, "{text}");
    }
    let hostile = format!(r#"{{"\u202e<script>{}":1}}"#, "x".repeat(9000));
    let message = parse(&hostile).unwrap_err().to_string();
    assert!(message.len() < 400 && !message.contains('\u{202e}'), "{message}");
}

#[test]
fn a_line_names_its_entry_and_says_what_to_do() {
    let options = parse(r#"{"url":"https://a.example/","options":"web-width=390","remove":true}"#).unwrap();
    let Name::Url(url) = &options.name else { panic!() };
    assert_eq!((url.options(), options.remove, options.retry), ("web-width=390", true, false));
    let by_id = parse(r#"{"id":"6qy4OXfXSid","title":null,"alt":"A"}"#).unwrap();
    assert_eq!(by_id.name, Name::Id("6qy4OXfXSid".parse().unwrap()));
    assert_eq!((by_id.words.title.as_deref(), by_id.words.alt.as_deref()), (Some(""), Some("A")));
    assert_eq!(by_id.words.credit, None);
}

#[test]
fn the_same_line_again_changes_nothing_in_any_state() {
    let same = line(r#","title":"One""#);
    for state in [EntryState::Waiting, EntryState::Converting, EntryState::Ready, EntryState::Failed] {
        assert_eq!(sent(Some(&row(state)), &same), Ok(Sent::Same), "{state:?}");
        assert_eq!(sent(Some(&row(state)), &line("")), Ok(Sent::Same), "{state:?}");
    }
    assert_eq!(sent(Some(&row(EntryState::TakenDown)), &same), Err(Refusal::TakenDown));
    assert_eq!(sent(Some(&row(EntryState::Removed)), &same), Ok(Sent::Next(id(1))));
    let words = r#","credit":"x","rights":"All rights reserved","alt":"y""#;
    let new = after(None, words);
    assert_eq!(sent(Some(&new), &line(words)), Ok(Sent::Same));
    let rights = after(None, r#","rights":"All rights reserved""#);
    assert_eq!(sent(Some(&rights), &line(r#","rights":"All rights reserved""#)), Ok(Sent::Same));
}

#[test]
fn words_are_cleaned_kept_and_cleared() {
    let hostile =
        r#","title":"\u202egpj.exe\n\u0000","alt":" a  b ","credit":"<b>","rights":"javascript:alert(1)""#;
    let json = serde_json::to_string(&after(None, hostile).entry).unwrap();
    assert_eq!(
        json,
        r#"{"url":"https://a.example/1.jpg","at":2000000,"title":"gpj.exe","alt":"a b","credit":"<b>"}"#
    );
    let rights = after(None, &format!(r#","rights":"{BY}","title":"One""#));
    let kept = after(Some(&rights), r#","alt":"A","title":null"#);
    let json = serde_json::to_string(&kept.entry).unwrap();
    assert_eq!(
        json,
        format!(r#"{{"url":"https://a.example/1.jpg","at":2000000,"alt":"A","rights":"{BY}"}}"#)
    );
    assert_eq!(after(Some(&kept), r#","rights":"","alt":"""#).entry, after(None, "").entry);
}

#[test]
fn an_edit_reaches_a_content_that_exists() {
    for (state, due) in [
        (EntryState::Waiting, None),
        (EntryState::Ready, Some(LATER)),
        (EntryState::Failed, Some(LATER)),
        (EntryState::Converting, Some(LATER)),
    ] {
        let edited = after(Some(&row(state)), r#","title":"Two""#);
        assert_eq!((edited.state, edited.due), (state, due));
    }
}

#[test]
fn a_retry_is_for_failed_entries() {
    for state in [EntryState::Waiting, EntryState::Converting, EntryState::Ready] {
        assert_eq!(sent(Some(&row(state)), &line(r#","retry":true"#)), Ok(Sent::Same), "{state:?}");
    }
    let again = after(Some(&row(EntryState::Failed)), r#","retry":true"#);
    assert_eq!((again.state, again.due), (EntryState::Waiting, None));
    let Some(Event::Entered { again, .. }) = again.event(&settings(), NOW) else { panic!() };
    assert!(again);
}

#[test]
fn a_removed_entry_is_told_and_its_url_may_be_added_as_another() {
    for state in [EntryState::Converting, EntryState::Ready, EntryState::Failed] {
        let removed = after(Some(&row(state)), r#","remove":true"#);
        assert_eq!((removed.state, removed.due), (EntryState::Removed, Some(LATER)));
        assert!(matches!(removed.event(&settings(), NOW), Some(Event::Removed { url: None, .. })));
        assert_eq!(sent(Some(&removed), &line(r#","remove":true"#)), Ok(Sent::Next(id(1))));
        let by_id = |rest: &str| parse(&format!(r#"{{"id":"{}"{rest}}}"#, id(0))).unwrap();
        assert_eq!(sent(Some(&removed), &by_id(r#","remove":true"#)), Ok(Sent::Same));
        assert_eq!(sent(Some(&removed), &by_id("")), Err(Refusal::Unknown));
    }
    let never_asked = after(Some(&row(EntryState::Waiting)), r#","remove":true"#);
    assert_eq!((never_asked.state, never_asked.due), (EntryState::Removed, None));
    assert_eq!(sent(None, &line(r#","remove":true"#)), Ok(Sent::Same));
    assert_eq!(sent(None, &parse(r#"{"id":"6qy4OXfXSid"}"#).unwrap()), Err(Refusal::Unknown));
    assert_eq!(Row::sent(None, &line(""), (id(0), None), 1_000_000, NOW), Err(Refusal::Full));
}

const FILE: &str =
    r#"{"url":"ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk?name=%3Cold%3E%20town.jpg""#;

/// Returns the line of a file with the key of its bytes, if they came with it.
fn file(rest: &str, upload: Option<&str>) -> Line {
    let upload = upload.map(|digit| format!("uploads/{}", digit.repeat(32)).parse().unwrap());
    Line { upload, ..parse(&format!("{FILE}{rest}}}")).unwrap() }
}

#[test]
fn a_file_is_an_entry_once_its_bytes_are_there() {
    assert_eq!(sent(None, &file("", None)), Err(Refusal::File));
    let Ok(Sent::Changed(new)) = sent(None, &file("", Some("1"))) else { panic!() };
    assert_eq!((new.entry.label().as_str(), new.host.as_str()), ("<old> town", FILES));
    assert!(!serde_json::to_string(&new.entry).unwrap().contains("uploads/"), "the journal has no key");
    assert_eq!(sent(Some(&new), &file("", None)), Ok(Sent::Same));
    assert_eq!(sent(Some(&new), &file("", Some("2"))), Ok(Sent::Same));
    let Some(Event::Entered { url, upload, .. }) = new.event(&settings(), NOW) else { panic!() };
    assert_eq!((url.file_name().as_deref(), upload), (Some("<old> town.jpg"), new.upload));
    // It is kept until it has ended.
    let converting = new.clone().answered(&new, &processing(Stage::Queued), NOW).0;
    assert_eq!(converting.upload, new.upload);
    let failed = converting.noted(&note(5, NotedEnd::Failed(failure())), NOW).unwrap();
    assert_eq!((failed.state, failed.upload), (EntryState::Failed, None));
    assert_eq!(sent(Some(&failed), &file("", None)), Ok(Sent::Same));
    assert_eq!(sent(Some(&failed), &file(r#","retry":true"#, None)), Err(Refusal::File));
    let Ok(Sent::Changed(again)) = sent(Some(&failed), &file(r#","retry":true"#, Some("2"))) else {
        panic!()
    };
    assert_eq!((again.state, again.upload.is_some()), (EntryState::Waiting, true));
}

#[test]
fn a_file_that_is_removed_before_its_turn_is_deleted() {
    let Ok(Sent::Changed(new)) = sent(None, &file("", Some("1"))) else { panic!() };
    let Ok(Sent::Changed(removed)) = sent(Some(&new), &file(r#","remove":true"#, None)) else { panic!() };
    assert_eq!((removed.due, removed.upload), (Some(LATER), new.upload));
    let later = removed.clone().answered(&removed, &Ok(Reply::NotYet), NOW).0;
    assert_eq!(later.upload, new.upload);
    let gone = removed.clone().answered(&removed, &Ok(Reply::NotFound), NOW).0;
    assert_eq!((gone.due, gone.upload), (None, None));
}

#[test]
fn a_content_that_answers_moves_its_entry() {
    let waiting = row(EntryState::Waiting);
    for (answer, state, busy) in [
        (processing(Stage::Queued), EntryState::Converting, true),
        (processing(Stage::Waiting), EntryState::Converting, false),
        (content(Status::Failed { failure: failure(), retry_at: NOW }), EntryState::Failed, false),
        (Ok(Reply::TakenDown("x".to_owned())), EntryState::TakenDown, false),
        (Ok(Reply::Deleted), EntryState::Removed, false),
        (Ok(Reply::IdTaken), EntryState::Failed, false),
        (Ok(Reply::NotYet), EntryState::Waiting, false),
        (Err("overloaded".to_owned()), EntryState::Waiting, false),
    ] {
        let (row, pause) = waiting.clone().answered(&waiting, &answer, NOW);
        assert_eq!((row.state, row.busy), (state, busy), "{answer:?}");
        assert_eq!(pause, answer.is_err());
        assert_eq!(
            row.due.is_some(),
            state == EntryState::Converting || answer == Ok(Reply::NotYet),
            "{answer:?}"
        );
    }
}

#[test]
fn an_entry_whose_repeated_message_is_refused_waits_for_its_turn() {
    let unreached = Row { due: Some(NOW), ..row(EntryState::Waiting) };
    let (row, pause) = unreached.clone().answered(&unreached, &Err("overloaded".to_owned()), NOW);
    assert_eq!((row.state, row.due, pause), (EntryState::Waiting, None, true));
}

#[test]
fn what_happens_while_an_answer_is_on_its_way_is_not_lost() {
    let waiting = row(EntryState::Waiting);
    // The end came first.
    let ready = waiting.clone().noted(&note(5, NotedEnd::Ready), NOW).unwrap();
    assert_eq!(ready.answered(&waiting, &processing(Stage::Queued), NOW).0.state, EntryState::Ready);
    // It was edited.
    let edited = after(Some(&waiting), r#","title":"Two""#);
    assert_eq!(edited.answered(&waiting, &processing(Stage::Queued), NOW).0.due, Some(NOW));
    let ready = after(Some(&row(EntryState::Ready)), r#","title":"Two""#);
    assert_eq!(ready.noted(&note(6, NotedEnd::Ready), LATER).unwrap().due, Some(LATER));
    // It was removed, before the content was created.
    let removed = after(Some(&waiting), r#","remove":true"#);
    let again = removed.answered(&waiting, &processing(Stage::Queued), NOW).0;
    assert_eq!((again.state, again.due), (EntryState::Removed, Some(NOW)));
    for (answer, is_due) in
        [(Ok(Reply::Accepted), false), (Ok(Reply::NotFound), false), (Ok(Reply::NotYet), true)]
    {
        assert_eq!(again.clone().answered(&again, &answer, NOW).0.due.is_some(), is_due, "{answer:?}");
    }
    assert_eq!(again.noted(&note(7, NotedEnd::Ready), LATER).unwrap().due, Some(LATER));
}

#[test]
fn late_and_doubled_messages_change_nothing() {
    let failed = row(EntryState::Failed);
    let doubled = failed.clone().noted(&note(5, NotedEnd::Failed(failure())), LATER).unwrap();
    assert_eq!(doubled, failed);
    assert_eq!(failed.clone().noted(&note(4, NotedEnd::Ready), LATER), None);
    assert_eq!(failed.clone().noted(&note(4, NotedEnd::Removed), LATER), None);
    let repeated = failed.clone().noted(&note(6, NotedEnd::Failed(failure())), LATER).unwrap();
    assert!(!repeated.shown, "{repeated:?}");
    let lifted = row(EntryState::TakenDown).noted(&note(6, NotedEnd::Lifted), LATER).unwrap();
    assert_eq!((lifted.state, lifted.shown), (EntryState::Waiting, true));
}

#[test]
fn an_entry_s_credits_come_before_the_collection_s() {
    let credits = |row: &Row| {
        let Some(Event::Entered { member, .. }) = row.event(&settings(), NOW) else { panic!() };
        serde_json::to_string(&member.credits).unwrap()
    };
    assert_eq!(credits(&after(None, "")), format!(r#"{{"credit":"Museum","rights":"{BY}"}}"#));
    assert_eq!(credits(&after(None, r#","credit":"Ann""#)), format!(r#"{{"credit":"Ann","rights":"{BY}"}}"#));
}

#[test]
fn only_those_who_may_begin_a_collection_and_only_its_owner_changes_it() {
    let key = |text: &str| DeletionKey::new(text).hash();
    let put = |owner: &str, may_begin, has_key| {
        let settings = Settings { owner: key(owner), title: None, secret: "other".to_owned(), ..settings() };
        Put { settings, may_begin, has_key }
    };
    assert_eq!(Settings::put(None, put("a", false, false)), Err(CollectionError::NoKey));
    assert_eq!(Settings::put(None, put("a", false, true)), Err(CollectionError::WrongKey));
    let known = Settings::put(None, put("a", true, false)).unwrap();
    assert_eq!(known.secret, "other");
    let known = Settings { secret: "secret".to_owned(), ..known };
    for may_begin in [false, true] {
        let refused = |put| Settings::put(Some(known.clone()), put).unwrap_err();
        assert_eq!(refused(put("b", may_begin, true)), CollectionError::WrongKey);
        assert_eq!(refused(put("a", may_begin, false)), CollectionError::NoKey);
        let changed = Settings::put(Some(known.clone()), put("a", may_begin, true)).unwrap();
        assert_eq!(changed.secret, "secret");
    }
    let leaving = Settings { leaves: true, ..known };
    assert_eq!(Settings::put(Some(leaving.clone()), put("a", true, true)), Err(CollectionError::Leaves));
    assert_eq!(leaving.admit(key("b")), Err(CollectionError::WrongKey));
}

#[test]
fn settings_are_cleaned_and_unknown_ones_refused() {
    for text in ["", "[]", r#"{"keep":true}"#, r#"{"title":7}"#] {
        assert!(matches!(parsed(text), Err(CollectionError::Settings(_))), "{text}");
    }
    let words = parsed(r#"{"title":" A\nB ","rights":"All rights reserved"}"#).unwrap();
    assert_eq!(words.title.as_ref().unwrap().as_str(), "A B");
    assert_eq!((words.credit.as_ref().unwrap().as_str(), words.rights), ("All rights reserved", None));
}

#[test]
fn notices_go_to_addresses_that_sources_may_have() {
    let notify = |url: &str, networks: &str| {
        let (name, policy) = ("drawings".parse().unwrap(), AddressPolicy::allowing(networks).unwrap());
        let json = serde_json::json!({ "notify": url }).to_string();
        Settings::parse(&json, name, "secret".to_owned(), DeletionKey::new("key").hash(), &policy)
    };
    assert!(notify("https://cms.museum.example/hook", "").unwrap().notify.is_some());
    assert!(notify("http://127.0.0.1:8080/hook", "127.0.0.0/8").unwrap().notify.is_some());
    for url in [
        "http://cms.museum.example/hook",
        "https://127.0.0.1/",
        "https://user:pass@a.example/",
        "ftp://a.example/",
        "",
    ] {
        assert!(matches!(notify(url, ""), Err(CollectionError::Settings(_))), "{url}");
    }
}

#[test]
fn a_notice_is_repeated_for_days_and_then_they_are_off() {
    let name: CollectionName = "drawings".parse().unwrap();
    let url = SourceUrl::parse("https://cms.museum.example/hook").unwrap();
    let (mut notices, mut now) = (Notices::new(url, 7), NOW);
    assert_eq!(notices.due(&name, 7, now), None);
    let ids: Vec<_> = (8_u64..)
        .map_while(|last| {
            // Changes go on while the receiver fails, and the notice stays the same.
            if let Some(Due::At(at)) = notices.due(&name, last, now) {
                now = at;
            }
            let Some(Due::Now(notice)) = notices.due(&name, last, now) else { return None };
            notices = notice.notices.answered(500, now);
            Some(notice.id)
        })
        .collect();
    assert_eq!((ids.len(), notices.off, notices.after), (10, true, 7));
    assert!(ids.iter().all(|id| id == "drawings.8"), "{ids:?}");
    let hours = (now - NOW).as_secs() / 3600;
    assert_eq!(hours, 75, "the standard's pauses");
}

#[test]
fn a_delivered_notice_is_followed_by_one_of_all_later_changes() {
    let name: CollectionName = "drawings".parse().unwrap();
    let url = SourceUrl::parse("https://cms.museum.example/hook").unwrap();
    let notices = Notices::new(url, 0);
    let Some(Due::Now(first)) = notices.due(&name, 3, NOW) else { panic!() };
    let failed = first.notices.answered(0, NOW);
    let again = Timestamp(NOW.0 + 5000);
    let Some(Due::Now(repeated)) = failed.due(&name, 9, again) else { panic!() };
    assert_eq!((repeated.id, repeated.data.after, repeated.data.last), ("drawings.3".to_owned(), 0, 3));
    let delivered = repeated.notices.answered(204, again);
    assert_eq!(
        delivered.due(&name, 9, again),
        Some(Due::At(Timestamp(again.0 + 5000))),
        "one in five seconds"
    );
    let Some(Due::Now(next)) = delivered.due(&name, 12, LATER) else { panic!() };
    assert_eq!((next.data.after, next.data.last, next.notices.failures), (3, 12, 0));
    assert!(next.notices.answered(410, LATER).off);
}

#[test]
fn hosts_share_the_places_in_turn() {
    let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let take = |busy: &[(&str, usize)], names: &[&str]| {
        let busy = busy.iter().map(|(host, number)| ((*host).to_owned(), *number)).collect();
        refill(&busy, &hosts(names)).into_iter().map(|(_, take)| take).collect::<Vec<_>>()
    };
    assert_eq!(take(&[], &["a"]), [16]);
    assert_eq!(take(&[], &["a", "b", "c", "d", "e"]), [13, 13, 13, 13, 12]);
    assert_eq!(take(&[("a", 16)], &["a", "b"]), [16], "a is busy");
    assert_eq!(take(&[], &["a", FILES]), [16, 48], "files have no host");
    assert_eq!(take(&[("z", 63)], &["a", "b"]), [1]);
    assert_eq!(take(&[("z", 64)], &["a"]), [0_usize; 0]);
}

proptest! {
    #[test]
    fn no_more_are_under_way_than_may_be(busy in prop::collection::vec(0..20_usize, 0..8), count in 0..80_usize) {
        let names: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let busy: HashMap<String, usize> = names.iter().cloned().zip(busy).collect();
        let known: usize = busy.values().sum();
        let takes = refill(&busy, &names);
        let taken: usize = takes.iter().map(|(_, take)| take).sum();
        prop_assert!(taken <= UNDER_WAY.saturating_sub(known));
        for (host, take) in &takes {
            prop_assert!(*take > 0 && busy.get(host).unwrap_or(&0) + take <= ON_ONE_HOST);
        }
        let is_idle = |host: &String| !takes.iter().any(|(taken, _)| taken == host);
        let has_room = |host: &&String| busy.get(*host).is_none_or(|number| *number < ON_ONE_HOST);
        if taken < UNDER_WAY.saturating_sub(known) {
            prop_assert!(!names.iter().filter(has_room).any(is_idle), "a host waits while there is room");
        }
    }

    #[test]
    fn a_line_is_read_or_refused_and_idempotent(text in ".{0,200}", title in ".{0,400}", rights in ".{0,60}") {
        let _ = parse(&text);
        let json = serde_json::json!({ "url": "https://a.example/1.jpg", "title": title, "rights": rights, "alt": text });
        let line = parse(&json.to_string()).unwrap();
        let Ok(Sent::Changed(row)) = sent(None, &line) else { panic!() };
        let row = Row { shown: false, ..*row };
        prop_assert_eq!(sent(Some(&row), &line), Ok(Sent::Same));
        let stored = serde_json::to_string(&row).unwrap();
        prop_assert_eq!(serde_json::from_str::<Row>(&stored).unwrap(), row);
    }
}
