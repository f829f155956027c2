use std::collections::BTreeMap;

use super::*;

const LIMITS: ContainerLimits = ContainerLimits {
    containers: 2,
    a_day: Duration::from_secs(24 * 60 * 60),
    lease: Duration::from_secs(60),
};
const SILENCE: Duration = Duration::from_secs(120);
/// A second before noon of some day.
const NOON: Timestamp = Timestamp(20_000 * DAY + DAY / 2 - 1000);

fn after(seconds: u64) -> Timestamp {
    NOON + Duration::from_secs(seconds)
}

fn start(container: u32, start: u64) -> Start {
    Start { container, start }
}

#[test]
fn without_jobs_nothing_starts_and_nothing_is_to_be_done_later() {
    let mut fleet = Fleet::default();
    for minute in 0..60 {
        assert_eq!(fleet.orders(0, &LIMITS, after(minute * 60)), []);
        assert_eq!(fleet.alarm(0, &LIMITS, after(minute * 60)), None);
    }
    assert_eq!(fleet.take_events(), []);
}

#[test]
fn the_first_job_starts_a_container_at_once_and_its_tiler_leaves_when_idle() {
    let mut fleet = Fleet::default();
    assert_eq!(fleet.orders(1, &LIMITS, after(0)), [Order::Start(start(0, 1))]);
    assert_eq!(fleet.orders(1, &LIMITS, after(1)), []);
    fleet.report(start(0, 1), 8, 1, after(4));
    assert_eq!(fleet.orders(1, &LIMITS, after(4)), []);
    assert_eq!(fleet.alarm(1, &LIMITS, after(4)), Some(after(4) + SILENCE));
    // It says goodbye. What counts as a job still has ended without a message, as the queue is empty.
    fleet.report(start(0, 1), 0, 0, after(70));
    assert_eq!(fleet.orders(1, &LIMITS, after(70)), []);
    fleet.end(start(0, 1), after(71));
    assert_eq!(fleet.orders(1, &LIMITS, after(71)), []);
    assert_eq!(fleet.alarm(1, &LIMITS, after(71)), None);
    let took = |seconds| Duration::from_secs(seconds);
    assert_eq!(fleet.take_events(), [Event::Started, Event::Reported(took(4)), Event::Ended(took(71))]);
    fleet.called();
    assert_eq!(fleet.orders(2, &LIMITS, after(80)), [Order::Start(start(0, 2))]);
}

#[test]
fn a_job_that_is_sent_while_the_last_tiler_leaves_starts_another_one() {
    let mut fleet = Fleet::default();
    fleet.orders(1, &LIMITS, after(0));
    fleet.report(start(0, 1), 8, 1, after(4));
    fleet.called();
    fleet.report(start(0, 1), 0, 1, after(70)); // the queue has it
    assert_eq!(fleet.orders(1, &LIMITS, after(70)), [Order::Start(start(1, 2))]);
    // With one container at most, when that has ended.
    let one = ContainerLimits { containers: 1, ..LIMITS };
    let mut fleet = Fleet::default();
    fleet.orders(1, &one, after(0));
    fleet.report(start(0, 1), 8, 1, after(4));
    fleet.report(start(0, 1), 0, 1, after(70));
    assert_eq!(fleet.orders(1, &one, after(70)), []);
    fleet.end(start(0, 1), after(71));
    assert_eq!(fleet.orders(1, &one, after(71)), [Order::Start(start(0, 2))]);
}

#[test]
fn a_second_container_starts_after_seconds_of_more_jobs_than_slots() {
    let mut fleet = Fleet::default();
    fleet.orders(3, &LIMITS, after(0));
    fleet.report(start(0, 1), 8, 0, after(4));
    assert_eq!(fleet.orders(8, &LIMITS, after(10)), []);
    assert_eq!(fleet.orders(9, &LIMITS, after(20)), []);
    assert_eq!(fleet.alarm(9, &LIMITS, after(20)), Some(after(25)));
    assert_eq!(fleet.orders(8, &LIMITS, after(24)), [], "for a moment only");
    assert_eq!(fleet.orders(9, &LIMITS, after(30)), []);
    assert_eq!(fleet.orders(9, &LIMITS, after(35)), [Order::Start(start(1, 2))]);
    assert_eq!(fleet.orders(90, &LIMITS, after(50)), [], "it starts");
    fleet.report(start(1, 2), 8, 0, after(50));
    assert_eq!(fleet.orders(90, &LIMITS, after(60)), [], "no more are allowed");
}

#[test]
fn one_container_starts_at_a_time() {
    let three = ContainerLimits { containers: 3, ..LIMITS };
    let mut fleet = Fleet::default();
    let orders: Vec<_> = (0..50).flat_map(|second| fleet.orders(100, &three, after(second))).collect();
    assert_eq!(orders, [Order::Start(start(0, 1))]);
    fleet.report(start(0, 1), 8, 0, after(50));
    assert_eq!(fleet.orders(100, &three, after(50)), [Order::Start(start(1, 2))], "jobs have waited long");
}

#[test]
fn a_start_that_never_reports_is_destroyed_and_repeated_with_growing_pauses() {
    let mut fleet = Fleet::default();
    assert_eq!(fleet.orders(1, &LIMITS, after(0)), [Order::Start(start(0, 1))]);
    assert_eq!(fleet.alarm(1, &LIMITS, after(0)), Some(after(60)));
    assert_eq!(fleet.orders(1, &LIMITS, after(60)), [Order::Destroy(start(0, 1)), Order::Start(start(1, 2))]);
    fleet.report(start(0, 1), 8, 1, after(61)); // too late
    fleet.end(start(0, 1), after(62));
    assert_eq!(fleet.orders(1, &LIMITS, after(120)), [Order::Destroy(start(1, 2))]);
    fleet.end(start(1, 2), after(121));
    assert_eq!(fleet.orders(1, &LIMITS, after(149)), []);
    assert_eq!(fleet.alarm(1, &LIMITS, after(149)), Some(after(150)));
    assert_eq!(fleet.orders(1, &LIMITS, after(150)), [Order::Start(start(0, 3))]);
    // Some end before they report, too.
    let mut at = 151;
    for failed in 4.. {
        fleet.end(start(0, failed - 1), after(at));
        let rest = (fleet.rests_until - after(at)).as_secs();
        assert_eq!(rest, (60 << (failed - 4).min(10)).min(600));
        assert_eq!(fleet.orders(1, &LIMITS, after(at + rest - 1)), []);
        at += rest;
        assert_eq!(fleet.orders(1, &LIMITS, after(at)), [Order::Start(start(0, failed))]);
        if failed == 12 {
            break;
        }
    }
    // The first report forgives all.
    fleet.report(start(0, 12), 8, 1, after(at + 5));
    fleet.end(start(0, 12), after(at + 6));
    assert_eq!(fleet.orders(1, &LIMITS, after(at + 6)), [Order::Start(start(0, 13))]);
    let hung = fleet.take_events().iter().filter(|event| **event == Event::Hung).count();
    assert_eq!(hung, 2 + 9, "two were silent, and nine ended before they reported");
}

#[test]
fn a_silent_tiler_is_destroyed_again_and_again_until_it_has_ended() {
    let mut fleet = Fleet::default();
    fleet.orders(1, &LIMITS, after(0));
    fleet.report(start(0, 1), 8, 0, after(3));
    assert_eq!(fleet.orders(0, &LIMITS, after(122)), []);
    assert_eq!(fleet.orders(0, &LIMITS, after(123)), [Order::Destroy(start(0, 1))]);
    assert_eq!(fleet.orders(0, &LIMITS, after(182)), []);
    assert_eq!(fleet.orders(0, &LIMITS, after(183)), [Order::Destroy(start(0, 1))]);
    fleet.end(start(0, 1), after(184));
    assert_eq!(fleet.alarm(0, &LIMITS, after(184)), None);
}

#[test]
fn what_does_not_report_is_destroyed_although_the_object_is_away_whenever_nothing_happens() {
    let again = |fleet: &Fleet| -> Fleet {
        serde_json::from_str::<Fleet>(&serde_json::to_string(fleet).unwrap()).unwrap().restored()
    };
    let mut fleet = Fleet::default();
    fleet.orders(1, &LIMITS, after(0));
    let mut fleet = again(&fleet);
    assert_eq!(fleet.alarm(1, &LIMITS, after(0)), Some(after(60)));
    fleet = again(&fleet);
    assert_eq!(fleet.orders(1, &LIMITS, after(60)), [Order::Destroy(start(0, 1)), Order::Start(start(1, 2))]);
    fleet.end(start(0, 1), after(61));
    fleet.report(start(1, 2), 8, 0, after(65));
    fleet.report(start(1, 2), 8, 0, after(75));
    let mut at = after(75);
    // Each alarm finds the object evicted.
    let destroyed = loop {
        at = fleet.alarm(1, &LIMITS, at).unwrap();
        fleet = again(&fleet);
        let orders = fleet.orders(0, &LIMITS, at);
        if orders == [Order::Destroy(start(1, 2))] {
            break at;
        }
    };
    assert!(destroyed - after(75) <= SILENCE + Duration::from_secs(60), "{destroyed:?}");
}

#[test]
fn when_the_days_time_is_used_up_tilers_finish_and_start_again_after_midnight() {
    let hour = ContainerLimits { a_day: Duration::from_secs(3600), ..LIMITS };
    let mut fleet = Fleet::default();
    fleet.orders(1, &hour, after(0));
    fleet.report(start(0, 1), 8, 1, after(3));
    assert!(!fleet.is_spent(&hour, after(3599)));
    fleet.report(start(0, 1), 8, 1, after(3590));
    assert_eq!(fleet.alarm(1, &hour, after(3590)), Some(after(3600)));
    assert_eq!(fleet.orders(1, &hour, after(3600)), [Order::Stop(start(0, 1))]);
    assert!(fleet.is_spent(&hour, after(3600)));
    fleet.report(start(0, 1), 0, 1, after(3610));
    fleet.end(start(0, 1), after(3660));
    assert_eq!(fleet.overview(&hour, after(3660)).used_seconds, 3660);
    assert_eq!(fleet.orders(9, &hour, after(3700)), []);
    let midnight = Timestamp(20_001 * DAY);
    assert_eq!(fleet.alarm(9, &hour, after(3700)), Some(midnight));
    assert!(!fleet.is_spent(&hour, midnight));
    assert_eq!(fleet.orders(9, &hour, midnight), [Order::Start(start(0, 2))]);
    let spent = fleet.take_events().iter().filter(|event| **event == Event::Spent).count();
    assert_eq!(spent, 1);
    // A container that began the day before counts from midnight.
    let mut fleet = Fleet::default();
    let evening = Timestamp(20_001 * DAY - 60_000);
    fleet.orders(1, &hour, evening);
    fleet.report(start(0, 1), 8, 1, evening);
    fleet.orders(1, &hour, midnight);
    assert_eq!(fleet.overview(&hour, midnight + Duration::from_secs(30)).used_seconds, 30);
}

#[test]
fn a_tiler_that_should_end_is_told_again_and_destroyed_although_it_reports() {
    let hour = ContainerLimits { a_day: Duration::from_secs(3600), ..LIMITS };
    let it = start(0, 1);
    // One does not hear the order, and one that hears it does not end.
    for slots in [8, 0] {
        let mut fleet = Fleet::default();
        fleet.orders(1, &hour, after(0));
        fleet.report(it, 8, 1, after(4));
        fleet.report(it, 8, 1, after(3595));
        let mut orders = vec![];
        for second in (3600..7200).step_by(10) {
            orders.extend(fleet.orders(1, &hour, after(second)).into_iter().map(|order| (second, order)));
            fleet.report(it, slots, 1, after(second + 5));
        }
        let stops = if slots == 0 { 1 } else { 90 };
        let (told, destroyed) = orders.split_at(stops);
        assert!(told.iter().all(|(_, order)| *order == Order::Stop(it)), "{orders:?}");
        assert_eq!(destroyed[0], (3600 + 15 * 60, Order::Destroy(it)), "{orders:?}");
    }
}

#[test]
fn a_tiler_that_takes_leave_and_goes_on_reporting_is_destroyed() {
    let mut fleet = Fleet::default();
    fleet.orders(1, &LIMITS, after(0));
    fleet.report(start(0, 1), 8, 1, after(4));
    for second in (10..2000).step_by(10) {
        fleet.report(start(0, 1), 0, 0, after(second));
        match fleet.orders(0, &LIMITS, after(second)).as_slice() {
            [] => {}
            orders => return assert_eq!((second, orders), (910, &[Order::Destroy(start(0, 1))][..])),
        }
    }
    panic!("it is never destroyed");
}

#[test]
fn no_tiler_reports_more_slots_than_a_machine_can_have() {
    let mut fleet = Fleet::default();
    fleet.orders(1, &LIMITS, after(0));
    fleet.report(start(0, 1), u32::MAX, 1, after(4));
    fleet.orders(50, &LIMITS, after(10));
    assert_eq!(fleet.orders(50, &LIMITS, after(20)), [Order::Start(start(1, 2))]);
}

#[test]
fn it_survives_in_the_storage() {
    let mut fleet = Fleet::default();
    fleet.orders(1, &LIMITS, after(0));
    fleet.report(start(0, 1), 8, 1, after(3));
    fleet.take_events();
    let stored = serde_json::to_string(&fleet).unwrap();
    assert_eq!(serde_json::from_str::<Fleet>(&stored).unwrap().containers[0].state, State::Serving(8));
    fleet.report(start(0, 1), 8, 1, after(13));
    assert_eq!(serde_json::to_string(&fleet).unwrap(), stored, "a report is not worth a row");
}

/// Simulates days of jobs that come and go, with tilers that hang, are killed or leave, and orders and messages that
/// get lost. Whatever happens, the limits hold, and jobs are served in the end.
#[test]
fn limits_hold_and_jobs_are_served_whatever_happens() {
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let limits = ContainerLimits {
            containers: random.u32(1..4),
            a_day: Duration::from_secs(random.u64(1..12) * 3600),
            ..LIMITS
        };
        let mut fleet = Fleet::default();
        // Containers that run, with the time of their tiler's first report, and of its last job.
        let mut running: BTreeMap<Start, (u64, u64)> = BTreeMap::new();
        let (mut jobs, mut ran_today, mut waits, mut starts) = (0_u64, 0_u64, 0_u64, 0);
        let mut day = after(0).0 / DAY;
        for second in 0..100_000_u64 {
            let now = after(second);
            if now.0 / DAY != day {
                (day, ran_today) = (now.0 / DAY, 0);
            }
            let quiet = (second / 10_000) % 3 == 2;
            if !quiet && random.u32(0..200) == 0 {
                jobs += random.u64(1..20);
                fleet.called();
            }
            ran_today += running.len() as u64;
            for (of, (reports_at, idle_since)) in running.clone() {
                if second < reports_at {
                    continue;
                }
                let done = random.u64(0..3).min(jobs);
                jobs -= done;
                if done > 0 {
                    running.insert(of, (reports_at, second));
                }
                if random.u32(0..20_000) == 0 {
                    running.insert(of, (u64::MAX, second)); // hangs
                } else if random.u32(0..5_000) == 0 || second > idle_since.max(reports_at) + 60 {
                    if second > idle_since.max(reports_at) + 60 {
                        fleet.report(of, 0, jobs, now);
                    }
                    running.remove(&of);
                    if random.u32(0..10) > 0 {
                        fleet.end(of, now);
                    }
                } else if second % 10 == 0 {
                    fleet.report(of, 8, jobs, now);
                }
            }
            for order in fleet.orders(jobs, &limits, now) {
                match order {
                    Order::Start(of) => {
                        starts += 1;
                        assert!(jobs > 0 && !fleet.is_spent(&limits, now), "seed {seed}");
                        if random.u32(0..10) > 0 {
                            let reports_at = if random.u32(0..10) == 0 { u64::MAX } else { second + 4 };
                            running.insert(of, (reports_at, second));
                        }
                    }
                    Order::Stop(of) => {
                        running.remove(&of);
                        fleet.end(of, now);
                    }
                    Order::Destroy(of) => {
                        running.remove(&of);
                        if random.u32(0..10) > 0 {
                            fleet.end(of, now);
                        }
                    }
                }
            }
            assert!(fleet.containers.len() <= limits.containers as usize, "seed {seed}");
            assert!(running.len() <= limits.containers as usize, "seed {seed}: {running:?} in {second}");
            let starting = fleet.containers.iter().filter(|one| one.state == State::Starting).count();
            assert!(starting <= 1, "seed {seed}");
            let most = limits.a_day.as_secs() + u64::from(limits.containers) * 120;
            assert!(ran_today <= most, "seed {seed}: {ran_today} s of {most}");
            waits = if jobs == 0 || fleet.is_spent(&limits, now) { 0 } else { waits + 1 };
            assert!(waits < 7200, "seed {seed}: jobs wait in {second}: {fleet:?}");
        }
        assert!(starts > 10, "seed {seed}");
    }
}
