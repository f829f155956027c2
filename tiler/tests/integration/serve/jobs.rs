//! Tests jobs that succeed, and sources that cannot be converted.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use edgezoom_content::protocol::Outcome;
use edgezoom_content::{Attempt, ContentId, FailureCode, Progress};
use edgezoom_tiler::credentials::{Fields, SealKey};

use super::tiler::Tiler;
use super::turn::Gate;
use super::world::{Call, Object, Source, WorldState};
use super::{ID, OTHER, failure, finished, held_picture, picture, stored, world};

#[tokio::test]
async fn a_picture_becomes_a_pyramid_that_is_stored_before_it_is_reported() {
    let world = world().await;
    let gate = Gate::closed();
    world.state().sources.insert("held".into(), held_picture(&gate));
    let id = world.enqueue(ID, 1, "held");
    let tiler = Tiler::start(&world, &[]);
    world.until("the acknowledgement", |state| state.acks() == 1).await;
    gate.open();
    world.until("the end", WorldState::ended).await;
    let ended = tiler.logged("job ended").await;

    let state = world.state();
    let dzi = finished(&state).unwrap();
    assert_eq!((dzi.size.width, dzi.size.height, dzi.tile_size), (1600, 1100, 512));
    let reports = state.reports().into_iter().map(|outcome| serde_json::to_value(outcome).unwrap());
    let credits = reports.filter_map(|report| Some(report.get("finished")?["credits"].clone()));
    assert_eq!(credits.collect::<Vec<_>>(), [serde_json::json!({"creator": "Ann Bee"})]);
    let archive = Attempt::FIRST.archive_key(id);
    assert_eq!((stored(&state), state.puts), (vec![archive.as_str()], 1));
    let object = &state.objects[&archive];
    assert_eq!(object.cache_control, "public, max-age=31536000, immutable");
    assert_eq!(object.media_type, "application/zip");

    let order = [
        state.position(|call| matches!(call, Call::Claim(_))),
        state.position(|call| matches!(call, Call::Ack(_))),
        state.position(|call| *call == Call::Put(archive.clone())),
        state.position(
            |call| matches!(call, Call::Report(report) if matches!(report.outcome, Outcome::Finished { .. })),
        ),
    ];
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}: {:#?}", state.log);

    assert_eq!(ended["id"], ID);
    assert_eq!(ended["attempt"], "1");
    assert_eq!(ended["outcome"], "Finished");
    assert_eq!(ended["tiles"], dzi.tile_count());
    for phase in ["fetch_ms", "render_ms", "upload_ms", "report_ms"] {
        assert!(ended[phase].is_u64(), "{phase}: {ended}");
    }
    let log = tiler.log();
    for secret in ["tiler-token", "queue-token", "store-secret"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn progress_is_reported_at_regular_intervals_and_never_falls() {
    let world = world().await;
    let gate = Gate::closed();
    world.state().sources.insert("held".into(), held_picture(&gate));
    world.state().lease = Duration::from_secs(8); // a report every two seconds, or every second if there is progress
    let begun = Instant::now();
    world.enqueue(ID, 1, "held");
    let _tiler = Tiler::start(&world, &[]);
    world.until("two reports", |state| state.reports().len() >= 2).await;
    gate.open();
    world.until("the end", WorldState::ended).await;
    let most = 1 + begun.elapsed().as_secs() as usize;

    let state = world.state();
    let reported: Vec<_> = state
        .reports()
        .into_iter()
        .filter_map(|outcome| match outcome {
            Outcome::Progress(reported) => Some((reported.stage, reported.progress)),
            _ => None,
        })
        .collect();
    assert!(reported.len() >= 2 && reported.len() <= most, "{most}: {reported:?}");
    assert!(reported.is_sorted_by(|(s1, p1), (s2, p2)| s1 <= s2 && p1 <= p2), "{reported:?}");
    assert!(reported.iter().all(|(_, progress)| *progress < Progress::COMPLETE), "{reported:?}");
    assert!(finished(&state).is_some());
}

#[tokio::test]
async fn a_missing_source_is_reported_and_leaves_nothing() {
    let world = world().await;
    world.state().sources.insert("text".into(), Source::Bytes("Dear Sir or Madam".into()));
    world.state().sources.insert("locked".into(), Source::Status(StatusCode::FORBIDDEN));
    let tiler = Tiler::start(&world, &[]);
    for (n, (source, code)) in [
        ("missing", FailureCode::SourceNotFound),
        ("locked", FailureCode::SourceForbidden),
        ("text", FailureCode::UnsupportedFormat),
        ("web-width=390>picture", FailureCode::UnsupportedFormat),
    ]
    .into_iter()
    .enumerate()
    {
        world.state().log.clear();
        world.enqueue(ID, n as u32 + 1, source);
        world.until("the end", WorldState::ended).await;
        let (given, message) = failure(&world.state()).unwrap();
        assert_eq!(given, code, "{source}: {message}");
        assert!(!message.contains("127.0.0.1"), "{message}");
    }
    assert!(world.state().objects.is_empty());
    tiler.logged("job ended").await;
    let metrics = tiler.ask("/metrics").await.1;
    assert!(
        metrics.contains(r#"edgezoom_jobs_total{outcome="failed",code="source-not-found"} 1"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn sealed_cookies_open_a_source_behind_a_login_and_are_not_in_the_log() {
    let world = world().await;
    world.state().sources.insert("login/picture".into(), picture());
    let key = |text: &str| SealKey::of(&text.parse().unwrap()).unwrap();
    let (own, other) = ("k".repeat(32), "o".repeat(32));
    let mut fields = Fields::default();
    fields.add_cookie("session=sealed-secret").unwrap();
    let source = |key: &SealKey, url: &str| -> &'static str {
        let sealed = key.seal(&fields, &url.parse().unwrap()).unwrap();
        format!("web-sealed={sealed}>login/picture").leak()
    };
    let site = world.url("");
    let right = source(&key(&own), &site);
    let tiler = Tiler::start(&world, &[("EDGEZOOM_SEAL_KEY", &own), ("RUST_LOG", "trace")]);
    world.enqueue(ID, 1, right);
    world.until("the end", WorldState::ended).await;
    assert_eq!(finished(&world.state()).unwrap().size.width, 1600);
    tiler.logged("job ended").await;
    let claimed = tiler.logged("job claimed").await;
    assert_eq!(claimed["url"], format!("web-sealed=>{}", world.url("source/login/picture")));

    for (attempt, source) in
        (2..).zip([source(&key(&other), &site), source(&key(&own), "http://127.0.0.1:9/")])
    {
        world.state().log.clear();
        world.enqueue(ID, attempt, source);
        world.until("the end", WorldState::ended).await;
        let (code, message) = failure(&world.state()).unwrap();
        assert_eq!(
            (code, message.contains("another origin, or sealed with another key")),
            (FailureCode::SourceForbidden, true)
        );
        assert!(!world.state().log.contains(&Call::Fetch("login/picture".into())), "nothing is requested");
    }
    let log = tiler.log();
    let sealed = right.split(['=', '>']).nth(1).unwrap();
    for secret in ["sealed-secret", sealed, own.as_str()] {
        assert!(!log.contains(secret), "{log}");
    }
    drop(tiler);
    world.state().log.clear();
    let _tiler = Tiler::start(&world, &[]);
    world.enqueue(ID, 4, right);
    world.until("the end", WorldState::ended).await;
    assert!(failure(&world.state()).unwrap().1.contains("no key"));
}

#[tokio::test]
async fn only_the_objects_of_earlier_attempts_are_deleted() {
    let world = world().await;
    let id: ContentId = ID.parse().unwrap();
    let stay = [format!("{OTHER}/1.szi"), format!("{id}/4.szi"), format!("{id}/33_coarse/1.jpg")];
    let go = [format!("{id}/1.szi"), format!("{id}/1_coarse/5.jpg"), format!("{id}/2.szi")];
    let object = Object { bytes: "old".into(), media_type: String::new(), cache_control: String::new() };
    for key in stay.iter().chain(&go) {
        world.state().objects.insert(key.clone(), object.clone());
    }
    world.enqueue(ID, 3, "picture");
    let tiler = Tiler::start(&world, &[]);
    tiler.logged("job ended").await;
    let state = world.state();
    for key in &stay {
        assert!(state.objects.contains_key(key), "{key}");
    }
    for key in &go {
        assert!(!state.objects.contains_key(key), "{key}");
    }
    let reported = state.position(
        |call| matches!(call, Call::Report(report) if matches!(report.outcome, Outcome::Finished { .. })),
    );
    assert!(reported < state.position(|call| matches!(call, Call::Delete(_))), "{:#?}", state.log);
}
