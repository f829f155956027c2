//! Turns, shares, tile limits, and restarts.

use std::collections::VecDeque;

use edgezoom_content::SourceUrl;
use edgezoom_content::protocol::{Backlog, Capacity};

use super::*;

mod batches;

const START: Timestamp = Timestamp(1_000_000_000);
const MANY: Shares = Shares {
    backlog: 100,
    slots_percent: 75,
    tiles_a_day: 1_000_000,
    all_tiles_a_day: u64::MAX,
    host_jobs: 1000,
};

fn after(seconds: u64) -> Timestamp {
    START + Duration::from_secs(seconds)
}

fn id(name: &str) -> ContentId {
    let url = SourceUrl::parse(&format!("http://example.com/{name}")).unwrap();
    ContentId::candidates(&url).next().unwrap()
}

/// Returns the job `name` of a client, with a source on a host of its own.
fn asked(party: &str, name: &str) -> Asked {
    asked_at(party, name, &format!("{name}.example"))
}

fn asked_at(party: &str, name: &str, host: &str) -> Asked {
    let job = Job { id: id(name), alone: false, avoid: None };
    Asked { job, party: party.to_owned(), host: host.to_owned() }
}

fn tilers(slots: &[u32]) -> Scheduler {
    let mut scheduler = Scheduler::default();
    for (number, slots) in (0..).zip(slots) {
        let capacity = Capacity { tiler: TilerId(number), slots: *slots };
        scheduler
            .report(BacklogReport { backlog: Backlog { messages: 0, capacity, leaving: false }, at: START });
    }
    scheduler
}

/// Admits a job and returns its turn.
fn admit(scheduler: &mut Scheduler, asked: Asked, shares: &Shares) -> Result<Turn, AdmissionError> {
    let id = asked.job.id;
    scheduler.admit(asked, START, shares)?;
    Ok(scheduler.turns(id, START, shares).0)
}

/// Admits up to `jobs` jobs of a client. Returns their number, and why no more were admitted.
fn flood(
    scheduler: &mut Scheduler,
    party: &str,
    jobs: usize,
    shares: &Shares,
) -> (usize, Option<AdmissionError>) {
    for number in 0..jobs {
        if let Err(error) = admit(scheduler, asked(party, &format!("{party}-{number}")), shares) {
            return (number, Some(error));
        }
    }
    (jobs, None)
}

/// Returns the numbers of a client's waiting and sent jobs.
fn of(scheduler: &Scheduler, party: &str) -> (usize, usize) {
    let own = scheduler.jobs.values().filter(|entry| entry.party == party);
    let (sent, waiting): (Vec<_>, Vec<_>) = own.partition(|entry| entry.sent_at.is_some());
    (waiting.len(), sent.len())
}

fn ids(jobs: &[Job]) -> Vec<ContentId> {
    jobs.iter().map(|job| job.id).collect()
}

#[test]
fn tilers_count_for_two_minutes_after_their_reports() {
    let mut scheduler = tilers(&[2, 2, 4]);
    assert_eq!(scheduler.tilers(after(119)), 3);
    let capacity = Capacity { tiler: TilerId(1), slots: 2 };
    scheduler
        .report(BacklogReport { backlog: Backlog { messages: 0, capacity, leaving: false }, at: after(60) });
    assert_eq!((scheduler.tilers(after(119)), scheduler.tilers(after(120))), (3, 1));
}

#[test]
fn a_second_client_always_finds_a_free_slot() {
    for slots in [&[2][..], &[1, 1], &[4], &[2, 2, 16]] {
        let mut scheduler = tilers(slots);
        flood(&mut scheduler, "a", 40, &MANY);
        assert_eq!(admit(&mut scheduler, asked("b", "b"), &MANY), Ok(Turn::Now), "{slots:?}");
    }
}

#[test]
fn twenty_thousand_jobs_of_one_client_do_not_delay_another_one() {
    let mut scheduler = tilers(&[2]);
    let shares = Shares::default();
    let asks = (0..20_000).map(|number| admit(&mut scheduler, asked("a", &number.to_string()), &shares));
    assert_eq!(asks.filter(Result::is_ok).count(), 5_000, "its tiles of the day");
    for number in 0..100 {
        let name = format!("b{number}");
        assert_eq!(admit(&mut scheduler, asked("b", &name), &shares), Ok(Turn::Now), "{number}");
        scheduler.end(id(&name), End::Made(0), START);
        scheduler.due(START, &shares);
    }
}

#[test]
fn failing_attempts_use_up_the_day_too() {
    let mut scheduler = tilers(&[8]);
    let shares = Shares { tiles_a_day: 40_000, ..MANY };
    let mut attempts = 0;
    let refused = loop {
        let name = attempts.to_string();
        match admit(&mut scheduler, asked("a", &name), &shares) {
            Ok(_) => scheduler.end(id(&name), End::Failed, START),
            Err(error) => break error,
        }
        attempts += 1;
    };
    assert_eq!((attempts, refused), (1000, AdmissionError::TooManyTiles));
    // A job that ends before its turn was no attempt.
    let mut scheduler = tilers(&[1]);
    for name in ["b0", "b1", "b2"] {
        admit(&mut scheduler, asked("b", name), &MANY).unwrap();
    }
    assert_eq!(of(&scheduler, "b"), (2, 1));
    scheduler.end(id("b2"), End::Made(0), START);
    assert_eq!(scheduler.tiles.get("b"), None);
    scheduler.end(id("b0"), End::Made(0), START);
    assert_eq!(scheduler.tiles.get("b"), Some(&40));
}

#[test]
fn a_lost_attempt_counts_what_it_reported_and_its_job_goes_on() {
    let mut scheduler = tilers(&[4]);
    admit(&mut scheduler, asked("a", "a"), &MANY).unwrap();
    scheduler.end(id("a"), End::Lost, START);
    assert_eq!((scheduler.tiles["a"], of(&scheduler, "a")), (40, (0, 1)), "a claim before a late alarm");
    scheduler.note_size(id("a"), 900);
    scheduler.end(id("a"), End::Lost, START);
    let mut scheduler = reopened(&mut scheduler, &mut BTreeMap::new());
    assert_eq!(admit(&mut scheduler, asked("a", "a"), &MANY), Ok(Turn::Now), "it is queued again");
    scheduler.end(id("a"), End::Made(900), START);
    assert_eq!((scheduler.tiles["a"], of(&scheduler, "a")), (40 + 900 + 900, (0, 0)));
}

#[test]
fn a_single_client_gets_its_share_of_the_slots() {
    let mut scheduler = tilers(&[4, 4]);
    let shares = Shares { slots_percent: 100, ..MANY };
    let turns = |scheduler: &mut Scheduler, shares| {
        let turns = (0..20).map(|number| admit(scheduler, asked("a", &number.to_string()), shares));
        turns.filter(|turn| *turn == Ok(Turn::Now)).count()
    };
    assert_eq!(turns(&mut scheduler, &MANY), 6, "three quarters of eight");
    assert_eq!(turns(&mut tilers(&[4, 4]), &shares), 11, "and a quarter more waits in the queue");
    assert_eq!(turns(&mut tilers(&[1]), &MANY), 1);
    assert_eq!(turns(&mut Scheduler::default(), &MANY), 12, "no tiler has reported");
}

#[test]
fn clients_take_turns() {
    let mut scheduler = tilers(&[1]);
    let shares = Shares { slots_percent: 100, ..MANY };
    for (party, name) in
        [("a", "a0"), ("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b0"), ("b", "b1"), ("c", "c0")]
    {
        admit(&mut scheduler, asked(party, name), &shares).unwrap();
    }
    let mut order = vec![];
    // Two jobs are sent, because a tiler has one slot and pulls one more job.
    let mut sent = VecDeque::from([id("a0"), id("a1")]);
    while let Some(ended) = sent.pop_front() {
        scheduler.end(ended, End::Made(0), START);
        let due = ids(&scheduler.due(START, &shares));
        order.extend(due.iter().copied());
        sent.extend(due);
    }
    assert_eq!(order, ["b0", "c0", "a2", "b1", "a3"].map(id)); // when a2 has its turn, b0 was sent after a1
}

#[test]
fn one_client_gets_half_of_the_queue() {
    let mut scheduler = tilers(&[2]);
    let (admitted, error) = flood(&mut scheduler, "a", 200, &MANY);
    assert_eq!((admitted, error), (52, Some(AdmissionError::TooManyWaiting))); // one is sent
    let (admitted, error) = flood(&mut scheduler, "b", 200, &MANY);
    assert_eq!((admitted, error), (26, Some(AdmissionError::TooManyWaiting))); // half of what is left, and one is sent
    assert!(admit(&mut scheduler, asked("c", "c"), &MANY).is_ok());
    assert_eq!(admit(&mut scheduler, asked("a", "more"), &MANY), Err(AdmissionError::TooManyWaiting));
}

#[test]
fn nothing_is_admitted_beyond_the_maximum() {
    let mut scheduler = tilers(&[2]);
    scheduler.report(BacklogReport {
        backlog: Backlog {
            messages: 101,
            capacity: Capacity { tiler: TilerId(0), slots: 2 },
            leaving: false,
        },
        at: START,
    });
    assert_eq!(admit(&mut scheduler, asked("a", "a"), &MANY), Err(AdmissionError::Overloaded));
    let shares = Shares { backlog: 101, ..MANY };
    assert_eq!(admit(&mut scheduler, asked("a", "a"), &shares), Ok(Turn::Now));
}

#[test]
fn the_jobs_sent_for_one_host_have_a_limit() {
    let shares = Shares { host_jobs: 2, ..MANY };
    let mut scheduler = tilers(&[16]);
    let turns: Vec<_> = (0..5)
        .map(|number| {
            let asked = asked_at(&format!("client{number}"), &number.to_string(), "museum.example");
            admit(&mut scheduler, asked, &shares).unwrap()
        })
        .collect();
    assert_eq!(turns, [Turn::Now, Turn::Now, Turn::Later, Turn::Later, Turn::Later]);
    // A job for another host does not wait.
    assert_eq!(admit(&mut scheduler, asked("client2", "elsewhere"), &shares), Ok(Turn::Now));
    scheduler.end(id("0"), End::Made(0), START);
    assert_eq!(ids(&scheduler.due(START, &shares)), [id("3")], "whose client has nothing else under way");
    scheduler.end(id("3"), End::Made(0), START);
    assert_eq!(ids(&scheduler.due(START, &shares)).len(), 1);
}

#[test]
fn a_client_leaves_a_quarter_of_a_hosts_places_to_others() {
    let shares = Shares { host_jobs: 8, ..MANY };
    let mut scheduler = tilers(&[64]);
    let mut turns = |party: &str, jobs: u32| -> Vec<_> {
        let names = (0..jobs).map(|number| format!("{party}-{number}"));
        names
            .map(|name| admit(&mut scheduler, asked_at(party, &name, "archive.example"), &shares).unwrap())
            .collect()
    };
    assert_eq!(turns("a", 7), [vec![Turn::Now; 6], vec![Turn::Later]].concat());
    assert_eq!(turns("b", 3), [Turn::Now, Turn::Now, Turn::Later]);
    scheduler.end(id("a-0"), End::Made(0), START);
    assert_eq!(ids(&scheduler.due(START, &shares)), [id("b-2")], "whose client has fewer under way");
    scheduler.end(id("b-0"), End::Made(0), START);
    assert_eq!(ids(&scheduler.due(START, &shares)), [id("a-6")]);
    let (mut small, shares) = (tilers(&[64]), Shares { host_jobs: 1, ..MANY });
    assert_eq!(admit(&mut small, asked_at("a", "only", "archive.example"), &shares), Ok(Turn::Now));
}

#[test]
fn a_client_has_a_tile_limit_per_day() {
    let shares = Shares { tiles_a_day: 1000, ..MANY };
    let mut scheduler = tilers(&[4]);
    assert_eq!(admit(&mut scheduler, asked("a", "first"), &shares), Ok(Turn::Now));
    scheduler.end(id("first"), End::Made(500), START);
    // Each job that has not ended counts as 200 tiles.
    assert_eq!(flood(&mut scheduler, "a", 9, &shares), (3, Some(AdmissionError::TooManyTiles)));
    for number in 0..3 {
        scheduler.end(id(&format!("a-{number}")), End::Made(100), START);
    }
    assert_eq!(admit(&mut scheduler, asked("a", "giant"), &shares), Ok(Turn::Now));
    scheduler.end(id("giant"), End::Made(1_000_000), START);
    assert_eq!(admit(&mut scheduler, asked("a", "more"), &shares), Err(AdmissionError::TooManyTiles));
    assert!(admit(&mut scheduler, asked("b", "more"), &shares).is_ok());
    let mut restored = reopened(&mut scheduler, &mut BTreeMap::new());
    assert_eq!(admit(&mut restored, asked("a", "still"), &shares), Err(AdmissionError::TooManyTiles));
    assert_eq!(restored.admit(asked("a", "tomorrow"), after(86_400), &shares), Ok(()));
}

#[test]
fn a_client_with_a_key_has_all_slots_and_no_tile_limit() {
    let shares = Shares { tiles_a_day: 0, ..MANY };
    let mut scheduler = tilers(&[4]);
    let (admitted, _) = flood(&mut scheduler, "@shop", 20, &shares);
    assert_eq!((admitted, of(&scheduler, "@shop")), (20, (14, 6)));
}

#[test]
fn a_second_client_with_a_shorter_line_brings_a_waiting_job_forward() {
    let mut scheduler = tilers(&[2]);
    flood(&mut scheduler, "a", 10, &MANY);
    let last = asked("b", "a-9");
    scheduler.enqueue(last.clone());
    assert_eq!(scheduler.turns(last.job.id, START, &MANY).0, Turn::Now);
    // A client with an equally long line does not.
    flood(&mut scheduler, "b", 20, &MANY);
    scheduler.enqueue(asked("b", "a-8"));
    assert_eq!(scheduler.jobs[&id("a-8")].party, "a");
}

#[test]
fn a_job_that_the_queue_refused_is_next_again() {
    let mut scheduler = tilers(&[2]);
    flood(&mut scheduler, "a", 3, &MANY);
    scheduler.end(id("a-0"), End::Made(0), START);
    assert_eq!(ids(&scheduler.due(START, &MANY)), [id("a-1")]);
    scheduler.not_sent(id("a-1"));
    assert_eq!(ids(&scheduler.due(START, &MANY)), [id("a-1")]);
}

#[test]
fn a_job_without_a_message_about_its_end_counts_for_two_hours() {
    let mut scheduler = tilers(&[2]);
    flood(&mut scheduler, "a", 2, &MANY);
    for seconds in [7_200, 7_260] {
        let capacity = Capacity { tiler: TilerId(0), slots: 2 };
        scheduler.report(BacklogReport {
            backlog: Backlog { messages: 0, capacity, leaving: false },
            at: after(seconds),
        });
        // Once a minute.
        let due = ids(&scheduler.due(after(seconds), &MANY));
        assert_eq!(due, if seconds == 7_200 { vec![] } else { vec![id("a-1")] });
    }
}

#[test]
fn the_day_of_a_client_ends_at_midnight() {
    let shares = Shares { tiles_a_day: 100, ..MANY };
    let mut scheduler = tilers(&[4]);
    let midnight = Timestamp(20_000 * 86_400_000);
    let before = Timestamp(midnight.0 - 1);
    let last = asked("a", "last");
    scheduler.admit(last.clone(), before, &shares).unwrap();
    scheduler.turns(last.job.id, before, &shares);
    scheduler.end(last.job.id, End::Made(100), before);
    assert_eq!(scheduler.admit(asked("a", "more"), before, &shares), Err(AdmissionError::TooManyTiles));
    let morning = Timestamp(midnight.0 - 86_400_000);
    assert_eq!(scheduler.admit(asked("a", "more"), morning, &shares), Err(AdmissionError::TooManyTiles));
    assert_eq!(scheduler.admit(asked("a", "more"), midnight, &shares), Ok(()));
}

#[test]
fn stored_rows_do_not_replace_what_is_known_or_what_is_newer() {
    let mut scheduler = tilers(&[2]);
    scheduler.enqueue(asked("a", "a"));
    let rows: Vec<_> =
        scheduler.take_changes().into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    scheduler.due(START, &MANY);
    scheduler.restore(rows);
    assert_eq!(of(&scheduler, "a"), (0, 1));
    let tiles = |day: u64, tiles: u64| (format!("tiles/{day}/a"), tiles.to_string());
    scheduler.restore([tiles(90, 7), tiles(89, 9)]);
    assert_eq!((scheduler.day, scheduler.tiles.get("a")), (90, Some(&7)));
}

#[test]
fn a_waiting_job_keeps_its_place_and_gets_its_latest_wish() {
    let mut scheduler = tilers(&[2]);
    flood(&mut scheduler, "a", 4, &MANY);
    flood(&mut scheduler, "b", 3, &MANY);
    let (of_a, of_b) = (of(&scheduler, "a").0, of(&scheduler, "b").0);
    assert_eq!(of_a, of_b + 1, "one shorter is not short enough");
    scheduler.enqueue(asked("b", "a-3"));
    assert_eq!(scheduler.jobs[&id("a-3")].party, "a");
    let mut alone = asked("a", "a-3");
    alone.job.alone = true;
    scheduler.enqueue(alone.clone());
    assert_eq!((scheduler.jobs[&id("a-3")].job, of(&scheduler, "a").0), (alone.job, of_a));
}

#[test]
fn a_silent_tiler_has_no_slots() {
    let mut scheduler = tilers(&[2, 50]);
    flood(&mut scheduler, "a", 80, &MANY);
    let sent = of(&scheduler, "a").1;
    assert_eq!(sent, 39);
    let capacity = Capacity { tiler: TilerId(0), slots: 2 };
    scheduler
        .report(BacklogReport { backlog: Backlog { messages: 0, capacity, leaving: false }, at: after(100) });
    scheduler.end(id("a-0"), End::Made(0), after(150));
    assert_eq!(scheduler.due(after(150), &MANY), [], "the other jobs have not ended");
}

fn restored(rows: impl IntoIterator<Item = (String, String)>) -> Scheduler {
    let mut scheduler = Scheduler::default();
    scheduler.restore(rows);
    scheduler
}

/// Adds the scheduler's changes to `stored`, and returns the scheduler that is restored from that.
fn reopened(scheduler: &mut Scheduler, stored: &mut BTreeMap<String, String>) -> Scheduler {
    for (key, value) in scheduler.take_changes() {
        match value {
            Some(value) => stored.insert(key, value),
            None => stored.remove(&key),
        };
    }
    restored(stored.clone())
}

#[test]
fn a_restart_changes_nothing() {
    let mut stored = BTreeMap::new();
    let mut kept = tilers(&[4]);
    let mut reborn = tilers(&[4]);
    for step in 0..60 {
        reborn = reopened(&mut reborn, &mut stored);
        for scheduler in [&mut kept, &mut reborn] {
            let party = ["a", "b", "a", "c", "a"][step % 5];
            let _ = admit(scheduler, asked(party, &step.to_string()), &MANY);
            if step % 3 == 0 {
                scheduler.end(id(&(step / 3).to_string()), End::Made(7), START);
            }
        }
        for party in ["a", "b", "c"] {
            let of =
                |scheduler: &Scheduler| (scheduler.lines.waiting_of(party), scheduler.lines.tiles_of(party));
            assert_eq!(of(&kept), of(&reborn), "{party} after {step}");
        }
        assert_eq!(kept.tiles, reborn.tiles);
    }
    for number in 0..60 {
        kept.end(id(&number.to_string()), End::Made(0), START);
        reborn.end(id(&number.to_string()), End::Made(0), START);
    }
    reopened(&mut reborn, &mut stored);
    assert!(stored.keys().all(|key| !key.starts_with("job/")), "{stored:?}");
    assert_eq!((kept.lines.waiting(), kept.jobs.len()), (0, 0));
}

#[test]
fn rows_of_other_versions_are_ignored() {
    let rows = [("backlog", "{}"), ("job/x", "{}"), ("tiles/x", "7"), ("tiles/7/", "-1"), ("tiler/1", "[]")];
    let mut scheduler = restored(rows.map(|(key, value)| (key.to_owned(), value.to_owned())));
    assert!(scheduler.take_changes().is_empty());
    assert_eq!(scheduler.last_report(), None);
}

#[test]
fn pictures_of_twenty_gigapixels_count_as_soon_as_their_size_is_known() {
    let mut scheduler = tilers(&[16]);
    let shares = Shares { tiles_a_day: 300_000, ..Shares::default() };
    let (admitted, _) = flood(&mut scheduler, "a", 1_000, &shares);
    assert_eq!(admitted, 1_000);
    let sent = |scheduler: &mut Scheduler| scheduler.due(START, &shares).len();
    for number in 0..12 {
        scheduler.note_size(id(&format!("a-{number}")), 100_000);
    }
    assert_eq!(admit(&mut scheduler, asked("a", "more"), &shares), Err(AdmissionError::TooManyTiles));
    for number in 0..12 {
        scheduler.end(id(&format!("a-{number}")), End::Made(100_000), START);
        assert_eq!(sent(&mut scheduler), 0, "its budget is used up by the jobs that were sent");
    }
    assert_eq!(admit(&mut scheduler, asked("b", "b"), &shares), Ok(Turn::Now), "others do not wait");
    let tomorrow = Timestamp((START.0 / DAY + 1) * DAY);
    assert!(!scheduler.due(tomorrow, &shares).is_empty(), "the rest is made the next day");
}

#[test]
fn pictures_that_fail_at_their_end_count_too() {
    let mut scheduler = tilers(&[4]);
    let shares = Shares { tiles_a_day: 100_000, ..MANY };
    admit(&mut scheduler, asked("a", "a"), &shares).unwrap();
    scheduler.note_size(id("a"), 100_000);
    scheduler.end(id("a"), End::Failed, START);
    assert_eq!(admit(&mut scheduler, asked("a", "b"), &shares), Err(AdmissionError::TooManyTiles));
}

#[test]
fn two_clients_who_ask_for_a_waiting_job_store_nothing() {
    let mut scheduler = tilers(&[1]);
    flood(&mut scheduler, "a", 10, &MANY);
    flood(&mut scheduler, "b", 10, &MANY);
    scheduler.take_changes();
    for party in ["b", "a", "b", "a"] {
        scheduler.enqueue(asked(party, "a-9"));
        assert_eq!(scheduler.take_changes(), BTreeMap::new());
    }
}

#[test]
fn many_clients_who_wait_for_one_host_do_not_stop_the_others() {
    let mut scheduler = tilers(&[100]);
    let shares = Shares { host_jobs: 1, backlog: 100_000, ..MANY };
    for number in 0..3_000 {
        admit(&mut scheduler, asked_at(&format!("a{number}"), &format!("a{number}"), "busy"), &shares)
            .unwrap();
    }
    scheduler.enqueue(asked("b", "b"));
    let mut messages = 0;
    while !ids(&scheduler.due(START, &shares)).contains(&id("b")) {
        messages += 1;
    }
    assert!(messages <= 6, "it got its turn after {messages} messages");
}

/// If a message looked at every waiting job, this would take minutes. The object handles some hundred messages a
/// second.
#[test]
fn a_hundred_thousand_waiting_jobs_do_not_slow_down_a_message() {
    const JOBS: u32 = 100_000;
    let shares = Shares { backlog: u64::from(JOBS) * 4, host_jobs: 16, ..Shares::default() };
    let job = |number: u32| {
        let job = Job { id: format!("{number:011}").parse().unwrap(), alone: false, avoid: None };
        let party = format!("2001:db8:{:x}", number % 50_000);
        Asked { job, party, host: format!("{}.example", number % 1000) }
    };
    let mut scheduler = tilers(&[16]);
    for number in 0..JOBS {
        scheduler.enqueue(job(number));
    }
    scheduler.take_changes();
    let mut sent = VecDeque::from(ids(&scheduler.due(START, &shares)));
    let before = scheduler.lines.waiting();
    let started = std::time::Instant::now();
    let rounds = 10_000;
    for number in 0..rounds {
        let asked = job(JOBS + number);
        scheduler.admit(asked.clone(), START, &shares).unwrap();
        scheduler.enqueue(asked);
        scheduler.end(sent.pop_front().unwrap(), End::Made(100), START);
        sent.extend(ids(&scheduler.due(START, &shares)));
    }
    assert_eq!(scheduler.lines.waiting(), before);
    println!("{:?} a message", started.elapsed() / rounds);
}

/// Two clients ask for as much as they may, 120 contents a minute each of pictures that take ten minutes, for an hour.
/// The second one begins when the first one has all that it may have. A third one asks for a picture of ten seconds
/// every half minute. The tilers take jobs in the order of the queue.
#[test]
fn two_clients_that_do_their_worst_for_an_hour_hardly_delay_a_third() {
    for (slots, later) in [(3, 0), (3, 300), (4, 0), (4, 300), (8, 300), (16, 0), (16, 300)] {
        let (longest, sent) = hour_of_a_third(slots, &[("x", 0), ("y", later)], 600);
        assert!(longest <= 20, "{longest} s instead of 10, {slots} slots, {later} s later");
        assert!(sent <= 120 + slots * 6 + 8, "{sent} messages in the queue");
    }
}

/// Simulates an hour in which others flood the service from a second on, by jobs that take `takes` seconds, and a third
/// client asks for a picture of ten seconds every half minute. Returns the longest time in which such a picture was ready,
/// in seconds, and the number of jobs sent.
fn hour_of_a_third(slots: usize, others: &[(&str, u64)], takes: u64) -> (u64, usize) {
    let shares = Shares::default();
    let mut scheduler = tilers(&[slots as u32]);
    let (mut queue, mut running) = (VecDeque::new(), vec![]);
    let (mut asked_at, mut longest, mut pictures, mut sent) = (HashMap::new(), 0, 0, 0);
    for second in 0..3600_u64 {
        let now = after(second);
        let capacity = Capacity { tiler: TilerId(0), slots: slots as u32 };
        let messages = queue.len() as u64;
        scheduler.report(BacklogReport { backlog: Backlog { messages, capacity, leaving: false }, at: now });
        let mut due = scheduler.due(now, &shares);
        let attackers = others.iter().filter(|(_, from)| second >= *from);
        let attacks = attackers
            .flat_map(|(party, _)| [0, 1].map(|number| (*party, format!("{party}{second}-{number}"))));
        let third = (second % 30 == 0).then(|| ("third", format!("third{second}")));
        for (party, name) in attacks.chain(third) {
            // A full line is the attacker's own.
            if scheduler.admit(asked(party, &name), now, &shares).is_ok() {
                let (turn, others) = scheduler.turns(id(&name), now, &shares);
                due.extend(others);
                if turn == Turn::Now {
                    due.push(Job { id: id(&name), alone: false, avoid: None });
                }
                if party == "third" {
                    asked_at.insert(id(&name), second);
                }
            }
        }
        sent += due.len();
        queue.extend(ids(&due));
        while running.len() < slots && !queue.is_empty() {
            let job = queue.pop_front().unwrap();
            let takes = if asked_at.contains_key(&job) { 10 } else { takes };
            running.push((job, second + takes));
        }
        for (job, _) in running.extract_if(.., |(_, until)| *until <= second) {
            scheduler.end(job, End::Made(1000), now);
            if let Some(at) = asked_at.remove(&job) {
                longest = longest.max(second - at);
                pictures += 1;
            }
        }
    }
    assert_eq!(pictures, 120, "each of the third client's pictures is ready");
    (longest, sent)
}

#[test]
fn a_day_has_tiles_for_all_clients_together() {
    let shares = Shares { all_tiles_a_day: 500, ..MANY };
    let mut scheduler = Scheduler::default();
    for number in 0..3 {
        // Each counts two hundred.
        assert_eq!(
            scheduler.admit(asked(&format!("client {number}"), &number.to_string()), START, &shares),
            Ok(())
        );
    }
    let refused = Err(AdmissionError::SpentToday);
    assert_eq!(scheduler.admit(asked("another", "3"), START, &shares), refused);
    // The third would exceed the day's tiles only when it begins: it is sent. It turns out to be large.
    assert_eq!(scheduler.due(START, &shares).len(), 3);
    for number in 0..3 {
        scheduler.end(id(&number.to_string()), End::Made(170), START);
    }
    assert_eq!(scheduler.admit(asked("another", "3"), START, &shares), refused);
    // A job that waits when they are used up waits for the next day, as it is stored.
    scheduler.enqueue(asked("another", "4"));
    assert_eq!(scheduler.due(START, &shares), []);
    let mut restored = Scheduler::default();
    let rows = scheduler.take_changes().into_iter().filter_map(|(key, value)| Some((key, value?)));
    restored.restore(rows);
    assert_eq!(restored.due(START, &shares), []);
    assert_eq!(restored.jobs(), (1, 1));
    assert_eq!(restored.due(after(24 * 60 * 60), &shares).len(), 1);
}
