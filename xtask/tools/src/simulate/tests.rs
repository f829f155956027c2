use std::time::Duration;

use super::local::Compared;
use super::*;

#[test]
fn a_seed_determines_the_outcome() {
    let course = |seed| format!("{:?}", simulate(&Parameters::deployed(), 2, 60.0, seed).unwrap());
    assert_eq!(course(7), course(7));
    assert_ne!(course(7), course(8));
}

#[test]
fn half_of_a_sufficient_number_of_tilers_is_insufficient() {
    let parameters = Parameters::deployed();
    let found = sufficient(&parameters, 2_000.0, 5.0, 1).unwrap();
    assert!(found.wait.p95 <= 5.0 && found.rejected == 0 && found.busy < 1.0, "{found:?}");
    let half = simulate(&parameters, found.tilers / 2, 2_000.0, 1).unwrap();
    assert!(half.wait.p95 > 30.0, "{half:?}");
}

#[test]
fn every_content_ends_although_tilers_die_and_messages_and_values_are_lost() {
    let mut parameters = Parameters::deployed();
    parameters.tiler.life = Some(Duration::from_secs(60));
    parameters.platform.lost_per_million = 50_000.0;
    parameters.platform.kv_failures_per_million = 200_000.0;
    let world = World::run(&parameters, 4, 120.0, 1_000, 3).unwrap();
    assert_eq!(world.contents.iter().filter(|content| content.ended.is_some()).count(), 1_000);
}

#[test]
fn refused_api_calls_are_counted() {
    let mut parameters = Parameters::deployed();
    parameters.platform.api_calls = Some(1_200.0);
    parameters.tiler.jobs = 2;
    let outcome = simulate(&parameters, 40, 600.0, 1).unwrap();
    assert!(outcome.calls_refused > 0.1, "{outcome:?}");
}

/// Two slots on two cores: a picture of 400 ms of CPU time takes 200 ms alone and 400 ms beside another, so a burst finishes one in 200 ms
/// plus the gap between jobs. One that uses a single core takes a third longer when both are busy, if two cores do 1.5 times the work of one.
/// Requests are handled before that, one after the other on one core.
#[test]
fn a_burst_is_predicted_from_conversions_one_at_a_time() {
    let measured = |cpu: f64, pace: f64, together: f64, ask: f64| {
        let course = |ready: Vec<f64>| {
            let claimed = vec![0.06; ready.len()];
            serde_json::json!({ "claimed": claimed, "ready": ready, "elsewhere": 0.0 })
        };
        // A content's time starts when its request is handled.
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
    assert!(!is_near(&rows(200.0, 0.215, 0.75, 0.0))[3], "a job on one core is faster than one on both");
}
