//! The simulation itself: the same again from its seed, held to what was measured, and able to say that it is not enough.

use std::time::Duration;

use super::local::Compared;
use super::*;

#[test]
fn a_seed_gives_the_same_course_again() {
    let course = |seed| format!("{:?}", simulate(&Parameters::deployed(), 2, 60.0, seed).unwrap());
    assert_eq!(course(7), course(7));
    assert_ne!(course(7), course(8));
}

#[test]
fn half_of_the_tilers_that_are_enough_are_too_few() {
    let parameters = Parameters::deployed();
    let found = enough(&parameters, 2_000.0, 5.0, 1).unwrap();
    assert!(found.wait.most <= 5.0 && found.refused == 0 && found.busy < 1.0, "{found:?}");
    let half = simulate(&parameters, found.tilers / 2, 2_000.0, 1).unwrap();
    assert!(half.wait.most > 30.0, "{half:?}");
}

#[test]
fn every_content_is_over_although_tilers_die_and_messages_and_values_are_lost() {
    let mut parameters = Parameters::deployed();
    parameters.tiler.life = Some(Duration::from_secs(60));
    parameters.platform.lost_per_million = 50_000.0;
    parameters.platform.kv_failures_per_million = 200_000.0;
    let world = World::run(&parameters, 4, 120.0, 1_000, 3).unwrap();
    assert_eq!(world.contents.iter().filter(|content| content.over.is_some()).count(), 1_000);
}

#[test]
fn a_rate_of_calls_that_the_api_refuses_is_seen() {
    let mut parameters = Parameters::deployed();
    parameters.platform.api_calls = Some(1_200.0);
    parameters.tiler.jobs = 2;
    let outcome = simulate(&parameters, 40, 600.0, 1).unwrap();
    assert!(outcome.calls_refused > 0.1, "{outcome:?}");
}

/// Two slots on two cores: a picture of 400 ms of processor time takes 200 ms alone, and two at once 400 ms, so a burst is done
/// at one in 200 ms and what lies between two jobs. One that keeps a single core busy takes a third more time when both are, if
/// two do no more than 1.5 times as much as one. Asks are handled one after the other before that, on one of the cores.
#[test]
fn a_burst_is_foretold_from_conversions_one_at_a_time() {
    let measured = |cpu: f64, pace: f64, together: f64, ask: f64| {
        let course = |ready: Vec<f64>| {
            let claimed = vec![0.06; ready.len()];
            serde_json::json!({ "claimed": claimed, "ready": ready, "elsewhere": 0.0 })
        };
        // A content's time begins when its ask is handled.
        let burst = (1..=30).map(|number| 0.1 + (pace - ask / 2000.0) * f64::from(number)).collect();
        let round = serde_json::json!({ "alone": course(vec![0.264; 5]), "burst": course(burst) });
        serde_json::from_value(serde_json::json!({
            "cores": 2.0, "together": together, "jobs": 2, "pollMs": 100, "megapixels": 6.0, "apiCallMs": 4.0,
            "edgeCallMs": 4.0, "askMs": ask, "askCpuMs": ask, "cpuMs": cpu + ask, "idle": 0.0,
            "rounds": [round, round, round],
        }))
        .unwrap()
    };
    let rows = |cpu, pace, together, ask| local::rows(&measured(cpu, pace, together, ask)).unwrap();
    let is_near = |rows: &[Compared]| rows.iter().map(Compared::is_near).collect::<Vec<_>>();
    for (cpu, pace, together, ask) in [
        (400.0, 0.215, 1.0, 0.0),
        (400.0, 0.215, 0.75, 0.0),
        (200.0, 0.148, 0.75, 0.0),
        (400.0, 0.22, 1.0, 20.0),
    ] {
        let rows = rows(cpu, pace, together, ask);
        assert_eq!(is_near(&rows), [true; 4], "{rows:?}");
    }
    assert_eq!(is_near(&rows(400.0, 0.4, 1.0, 0.0)), [true, false, false, false]);
    assert!(!is_near(&rows(200.0, 0.215, 0.75, 0.0))[3], "as slow as one that takes both cores");
}
