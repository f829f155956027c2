//! Tilers in simulated time: each pulls, acknowledges what it gets and learns from the edge how many there are, as the
//! service does. What they call is counted over every five minutes.

use std::collections::{HashMap, VecDeque};

use super::*;

/// The most tilers that [`CallPace`] is made for.
const MOST_TILERS: usize = 100;
const LIMIT: usize = 1200;
const POLL: Duration = Duration::from_secs(1);
/// How long the edge counts a tiler after its report.
const COUNTED: Duration = Duration::from_secs(120);

struct Tiler {
    begins: Duration,
    ends: Duration,
    pace: CallPace,
    known: u32,
    pull_at: Duration,
    report_at: Duration,
    reports: u32,
}

/// How often the queue gives messages.
#[derive(Clone, Copy, Debug)]
enum Load {
    Idle,
    /// At each pull, and the next one would follow at once.
    Flooded,
    Half,
}

/// The most calls in any five minutes, and how many pulls were made in the last five.
fn simulate(lives: &[(u64, u64)], load: Load, minutes: u64) -> (usize, usize) {
    let start = Instant::now();
    let mut random = fastrand::Rng::with_seed(7);
    let mut tilers: Vec<Tiler> = lives
        .iter()
        .map(|&(begins, ends)| {
            let begins = Duration::from_millis(begins);
            let pace = CallPace::new(LIMIT as u32, start + begins);
            let ends = Duration::from_millis(ends);
            Tiler { begins, ends, pace, known: 1, pull_at: begins, report_at: begins, reports: 0 }
        })
        .collect();
    let mut counted: HashMap<usize, Duration> = HashMap::new();
    let mut calls = VecDeque::new();
    let (mut most, mut pulls) = (0, 0);
    for tick in 0..minutes * 60 * 20 {
        let now = Duration::from_millis(tick * 50);
        let is_last = now + WINDOW >= Duration::from_secs(minutes * 60);
        for (number, tiler) in tilers.iter_mut().enumerate() {
            if now < tiler.begins || now >= tiler.ends {
                continue;
            }
            if now >= tiler.pull_at && start + now >= tiler.pace.next_pull(tiler.known, start + now) {
                calls.push_back(now);
                pulls += usize::from(is_last);
                tiler.pace.spend(tiler.known, start + now);
                let has_message = match load {
                    Load::Idle => false,
                    Load::Flooded => true,
                    Load::Half => random.bool(),
                };
                if has_message {
                    calls.push_back(now); // the acknowledgement
                    tiler.pace.spend(tiler.known, start + now);
                    tiler.pull_at = now + Duration::from_millis(50);
                } else {
                    tiler.pull_at = now + tiler.pace.idle_pause(tiler.known, POLL, random.f64());
                }
            }
            if now >= tiler.report_at && now > tiler.begins {
                counted.insert(number, now);
                counted.retain(|_, at| now - *at < COUNTED);
                tiler.known = counted.len() as u32;
                tiler.reports += 1;
                tiler.report_at = now + crate::service::backlog::pause_after(tiler.reports);
            }
        }
        while calls.front().is_some_and(|at| *at + WINDOW <= now) {
            calls.pop_front();
        }
        most = most.max(calls.len());
    }
    (most, pulls)
}

const LONG: u64 = u64::MAX;

#[test]
fn the_limit_holds_for_any_number_of_tilers_that_begin_together() {
    for tilers in [1, 2, 3, 7, 20, 50, MOST_TILERS] {
        for load in [Load::Idle, Load::Half, Load::Flooded] {
            let (most, pulls) = simulate(&vec![(0, LONG); tilers], load, 12);
            assert!(most <= LIMIT, "{tilers} tilers, {load:?}: {most} calls");
            assert!(pulls >= 280, "{tilers} tilers, {load:?}: {pulls} pulls in five minutes are too few");
        }
    }
}

#[test]
fn the_limit_holds_while_tilers_come_and_go() {
    let mut lives = vec![(0, LONG); 3]; // with all their bursts to spend when the others begin
    lives.extend((0..MOST_TILERS as u64 - 3).map(|number| (420_000 + number * 200, LONG)));
    for load in [Load::Idle, Load::Half, Load::Flooded] {
        let (most, _) = simulate(&lives, load, 20);
        assert!(most <= LIMIT, "{load:?}: {most} calls");
    }
    // All are replaced, ten at a time: those that have gone count for two minutes more.
    let replaced = (0..50).flat_map(|n| {
        let at = 400_000 + n / 10 * 10_000;
        [(0, at), (at, LONG)]
    });
    let (most, _) = simulate(&replaced.collect::<Vec<_>>(), Load::Half, 15);
    assert!(most <= LIMIT, "{most} calls");
}

#[test]
fn one_tiler_looks_as_often_as_it_is_told_and_may_spend_what_it_saved() {
    let now = Instant::now();
    let mut pace = CallPace::new(1200, now);
    assert_eq!(pace.idle_pause(1, POLL, 0.5), POLL);
    let later = now + Duration::from_secs(600);
    for _ in 0..200 {
        assert_eq!(pace.next_pull(1, later), later, "a burst");
        pace.spend(1, later);
    }
    assert!(pace.next_pull(1, later) > later);
    assert!(pace.next_pull(100, later) > later + Duration::from_secs(30), "others have come");
}

#[test]
fn without_a_limit_nothing_is_waited_for() {
    let now = Instant::now();
    let mut pace = CallPace::new(0, now);
    for _ in 0..10_000 {
        pace.spend(1000, now);
    }
    assert_eq!((pace.next_pull(1000, now), pace.idle_pause(1000, POLL, 1.0)), (now, POLL));
}
