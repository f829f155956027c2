//! Further attempts: without a request, and at a client's.

use proptest::prelude::*;

use super::*;

const LATER: Retry = Retry::Later { after_seconds: None };

impl Story {
    /// Claims the job and reports a failure.
    fn fail(&mut self, retry: Retry) -> Attempt {
        let attempt = self.claim();
        let report = gave_up(attempt, FailureCode::SourceUnreachable, retry);
        assert_eq!(self.tell(report), Reply::Accepted);
        attempt
    }

    /// Returns the time until the alarm.
    fn until_alarm(&self) -> Duration {
        self.known.as_ref().unwrap().alarm().unwrap() - self.now
    }

    fn next(&self) -> Option<NextTry> {
        if let Status::Processing { next, .. } = self.content().status { next } else { None }
    }
}

#[test]
fn only_the_attempt_that_is_under_way_gives_up() {
    for (code, retry) in [
        (FailureCode::SourceUnreachable, Retry::Later { after_seconds: None }),
        (FailureCode::CorruptSource, Retry::Never),
    ] {
        let mut story = Story::new();
        let first = story.claim();
        story.lose_lease();
        let second = story.claim();
        assert_eq!(story.tell(gave_up(first, code, retry)), Reply::Conflict);
        assert_eq!(story.tell(gave_up(second, code, retry)), Reply::Accepted);
        assert_eq!(story.tell(gave_up(second, code, retry)), Reply::Accepted, "reported twice");
        assert_eq!(story.tell(gave_up(first, code, retry)), Reply::Conflict, "{code:?}");
    }
}

#[test]
fn other_times_follow_from_the_lease() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let Rules { lease, resend, sweep, failed, over_a_limit, .. } = RULES;
    assert_eq!((lease, resend, sweep), (minutes(1), minutes(2), minutes(5)));
    assert_eq!((failed, over_a_limit), (minutes(10), minutes(24 * 60)));
    let Rules { lease, resend, sweep, early, .. } =
        Rules { early: minutes(7), ..RULES }.with_lease(minutes(3));
    assert_eq!((lease, resend, sweep, early), (minutes(3), minutes(6), minutes(15), minutes(7)));
}

#[test]
fn a_passing_failure_is_retried_after_10_seconds_and_1_5_and_30_minutes() {
    let mut story = Story::new();
    for (seconds, left) in [(10, 4), (60, 3), (300, 2), (1800, 1)] {
        let attempt = story.claim();
        story.report(attempt, 0.4);
        let report = gave_up(attempt, FailureCode::SourceUnreachable, LATER);
        assert_eq!(story.tell(report.clone()), Reply::Accepted);
        assert_eq!((story.stage(), story.effects.as_slice()), (Some(Stage::Waiting), [].as_slice()));
        assert_eq!(story.content().progress, 0.4.into());
        assert_eq!(story.until_alarm(), Duration::from_secs(seconds));
        let until = story.now + Duration::from_secs(seconds);
        let reason = failure(FailureCode::SourceUnreachable);
        assert_eq!(story.next(), Some(NextTry { until, left, reason }));
        assert_eq!(story.tell(report), Reply::Accepted, "reported twice");
        assert_eq!(
            story.tell(Event::Claimed(CLAIM)),
            Reply::Conflict,
            "a late message does not end the pause"
        );
        story.tell(Event::Requested);
        assert_eq!(story.stage(), Some(Stage::Waiting), "a request does not end the pause");

        story.wait(Duration::from_secs(seconds) - Duration::from_millis(1));
        story.tell(Event::AlarmFired);
        assert_eq!(story.effects, []);
        story.wait(Duration::from_millis(1));
        story.tell(Event::AlarmFired);
        assert_eq!(
            (story.stage(), story.effects.as_slice()),
            (Some(Stage::Queued), [Effect::Enqueue].as_slice())
        );
        assert_eq!(story.next(), None);
    }
    story.fail(LATER);
    assert!(matches!(story.content().status, Status::Failed { .. }));
}

#[test]
fn a_retry_of_a_client_starts_the_pauses_anew() {
    let mut story = Story::new();
    for _ in 0..2 {
        story.fail(LATER);
        story.now = story.next().unwrap().until;
        story.tell(Event::AlarmFired);
    }
    story.fail(LATER);
    assert_eq!(story.next().unwrap().left, 2);
    story.tell(Event::RetryAsked);
    assert_eq!(story.next(), None);
    story.fail(LATER);
    assert_eq!((story.next().unwrap().left, story.until_alarm()), (4, RULES.retries[0]));
}

#[test]
fn an_operator_can_set_any_number_of_pauses() {
    let retries = [7, 9].map(Duration::from_secs).to_vec().into();
    let rules = Rules { retries, ..Rules::DEFAULT };
    let mut known = None;
    let mut tell = |event, seconds: u64| {
        let decision = decide(known.take(), event, Timestamp(seconds * 1000), &rules);
        known = decision.after;
        (known.as_ref().unwrap().content().unwrap().status, decision.reply)
    };
    tell(Event::Created { id: id(), url: url(), alternative: None }, 0);
    for (asked, until, left) in [(0, 7, 2), (7, 16, 1)] {
        let (_, Reply::Claim(claim)) = tell(Event::Claimed(CLAIM), asked) else { panic!("at {asked} s") };
        let (status, _) = tell(gave_up(claim.attempt, FailureCode::TimedOut, LATER), asked);
        let Status::Processing { next: Some(next), .. } = status else { panic!("{status:?}") };
        assert_eq!((next.until, next.left), (Timestamp(until * 1000), left));
    }
    let (_, Reply::Claim(claim)) = tell(Event::Claimed(CLAIM), 16) else { panic!() };
    let (status, _) = tell(gave_up(claim.attempt, FailureCode::TimedOut, LATER), 16);
    assert!(matches!(status, Status::Failed { .. }));
}

#[test]
fn a_claim_after_the_pause_is_granted_even_if_the_alarm_is_late() {
    let mut story = Story::new();
    let first = story.fail(LATER);
    story.wait(RULES.retries[0]);
    assert_eq!(story.claim(), first.next());
    assert_eq!(story.effects, []);
}

#[test]
fn the_pause_that_a_server_asks_for_counts_within_bounds() {
    for (wish, seconds) in [(0, 10), (9, 10), (90, 90), (1800, 1800), (u32::MAX, 1800)] {
        let mut story = Story::new();
        story.fail(Retry::Later { after_seconds: Some(wish) });
        assert_eq!(story.until_alarm(), Duration::from_secs(seconds), "{wish}");
    }
}

#[test]
fn a_permanent_failure_fails_at_once() {
    let mut story = Story::new();
    story.fail(Retry::Never);
    assert!(matches!(story.content().status, Status::Failed { .. }));
}

#[test]
fn a_killed_renderer_is_followed_by_two_attempts_elsewhere() {
    let mut story = Story::new();
    assert_eq!(story.known.as_ref().unwrap().job(), Job { id: id(), alone: false, avoid: None });
    for tiler in [7, 8] {
        let attempt = story.claim_as(ClaimRequest { tiler: TilerId(tiler), alone: false });
        story.tell(gave_up(attempt, FailureCode::Internal, Retry::Elsewhere));
        assert_eq!(
            (story.stage(), story.effects.as_slice()),
            (Some(Stage::Queued), [Effect::Enqueue].as_slice())
        );
        let job = story.known.as_ref().unwrap().job();
        assert_eq!(job, Job { id: id(), alone: false, avoid: Some(TilerId(tiler)) });
    }
    for pause in RULES.retries.iter().copied() {
        story.fail(Retry::Elsewhere);
        assert_eq!((story.stage(), story.until_alarm()), (Some(Stage::Waiting), pause));
        story.wait(pause);
        story.tell(Event::AlarmFired);
    }
    story.fail(Retry::Elsewhere);
    assert!(matches!(story.content().status, Status::Failed { .. }));
}

#[test]
fn objects_of_dead_tilers_are_swept_some_time_after_the_end() {
    let mut alone = Story::new();
    let attempt = alone.claim();
    alone.tell(reported(attempt, finished()));
    alone.tell(Event::CacheWritten);
    assert_eq!(alone.known.as_ref().unwrap().alarm(), None, "there was one attempt");

    let mut story = Story::new();
    story.claim();
    story.lose_lease();
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    story.tell(Event::CacheWritten);
    assert_eq!(story.until_alarm(), RULES.sweep);
    story.wait(RULES.sweep);
    let sweep = [Effect::Sweep { before: attempt.next(), keep: Some(attempt), upload: None }];
    for _ in 0..3 {
        story.tell(Event::AlarmFired);
        assert_eq!(story.effects, sweep, "repeated until it is confirmed");
        assert_eq!(story.until_alarm(), RULES.repeat);
        story.wait(RULES.repeat);
    }
    story.tell(Event::Swept { before: attempt });
    assert!(story.known.as_ref().unwrap().alarm().is_some(), "another sweep was confirmed");
    story.tell(Event::Swept { before: attempt.next() });
    assert_eq!(story.known.as_ref().unwrap().alarm(), None);
}

#[test]
fn after_three_lost_leases_the_job_is_tried_once_more_alone() {
    let mut story = Story::new();
    for _ in 0..3 {
        assert!(!story.known.as_ref().unwrap().job().alone);
        story.claim();
        story.lose_lease();
        assert_eq!(story.effects, [Effect::Enqueue]);
    }
    assert!(story.known.as_ref().unwrap().job().alone);
    assert_eq!(
        story.tell(Event::Claimed(CLAIM)),
        Reply::Conflict,
        "an earlier message, at a tiler with other jobs"
    );
    let attempt = story.claim_as(CLAIM_ALONE);
    assert_eq!(story.tell(reported(attempt, Outcome::HandedBack)), Reply::Accepted);
    assert!(story.known.as_ref().unwrap().job().alone, "a shutdown does not count");

    let mut innocent = story.clone();
    let attempt = innocent.claim_as(CLAIM_ALONE);
    innocent.tell(reported(attempt, finished()));
    assert!(matches!(innocent.content().status, Status::Ready { .. }));

    story.claim_as(CLAIM_ALONE);
    story.lose_lease();
    assert!(
        matches!(story.content().status, Status::Failed { failure, .. } if failure.code == FailureCode::Internal)
    );
    assert!(matches!(story.effects[..], [Effect::WriteCache { expires_in: Some(_), .. }]));
}

#[test]
fn a_late_alarm_that_makes_the_job_alone_queues_it() {
    let mut story = Story::new();
    for _ in 0..2 {
        story.claim();
        story.lose_lease();
    }
    story.claim();
    story.wait(RULES.lease);
    assert_eq!(story.tell(Event::Claimed(CLAIM)), Reply::Conflict);
    assert_eq!(story.effects, [Effect::Enqueue]);
}

#[test]
fn a_client_can_start_a_failed_or_waiting_content_once_a_minute() {
    for retry in [Retry::Never, LATER] {
        let mut story = Story::new();
        story.fail(retry);
        let was_failed = story.content().is_finished();
        story.tell(Event::RetryAsked);
        assert_eq!(story.stage(), Some(Stage::Queued));
        let expected: &[Effect] =
            if was_failed { &[Effect::DeleteFromCache, Effect::Enqueue] } else { &[Effect::Enqueue] };
        assert_eq!(story.effects, expected);

        story.fail(retry);
        story.wait(RULES.early - Duration::from_millis(1));
        let before = story.content();
        assert_eq!(story.tell(Event::RetryAsked), Reply::Content(before));
        story.wait(Duration::from_millis(1));
        story.tell(Event::RetryAsked);
        assert_eq!(story.stage(), Some(Stage::Queued));
    }
}

#[test]
fn a_retry_does_not_touch_contents_that_are_ready_or_under_way() {
    let mut story = Story::new();
    story.tell(Event::RetryAsked);
    assert_eq!(story.effects, []);
    let attempt = story.claim();
    story.tell(Event::RetryAsked);
    assert_eq!(story.report(attempt, 0.5), Reply::Accepted);
    story.tell(reported(attempt, finished()));
    let ready = story.content();
    assert_eq!(story.tell(Event::RetryAsked), Reply::Content(ready));
}

#[test]
fn a_late_failure_record_is_deleted_from_kv() {
    let mut story = Story::new();
    story.fail(Retry::Never);
    story.tell(Event::RetryAsked);
    story.tell(Event::CacheWritten);
    assert_eq!(story.effects, [Effect::DeleteFromCache]);
}

proptest! {
    /// A conversion without requests ends after the number of attempts that the rules permit.
    #[test]
    fn attempts_without_requests_are_bounded(
        ends in prop::collection::vec(
            prop_oneof![Just(None), Just(Some(LATER)), Just(Some(Retry::Elsewhere))], 0..40)
    ) {
        let mut story = Story::new();
        let mut attempts = 0;
        for end in ends {
            if story.content().is_finished() {
                break;
            }
            let attempt = story.claim_as(CLAIM_ALONE);
            attempts += 1;
            match end {
                Some(retry) => drop(story.tell(gave_up(attempt, FailureCode::Internal, retry))),
                None => story.lose_lease(),
            }
            if story.stage() == Some(Stage::Waiting) {
                story.now = story.next().unwrap().until;
                story.tell(Event::AlarmFired);
            }
        }
        let most = 1 + RULES.leases as usize + RULES.retries.len() + RULES.kills as usize;
        prop_assert!(attempts <= most, "{attempts} attempts");
    }
}

#[test]
fn streams_are_open_while_a_tiler_works_or_a_client_has_just_asked() {
    let until = |story: &Story| story.known.as_ref().unwrap().followed_until();
    let mut story = Story::new();
    assert_eq!(until(&story), Some(Timestamp(10_000)));
    story.wait(Duration::from_secs(3));
    let attempt = story.claim();
    assert_eq!(until(&story), Some(story.now + RULES.lease));
    story.tell(gave_up(attempt, FailureCode::SourceUnreachable, Retry::Later { after_seconds: None }));
    assert_eq!(until(&story), None);
    story.wait(RULES.retries[0]);
    story.tell(Event::AlarmFired);
    assert!(until(&story).unwrap() < story.now, "an attempt that follows is no new request");
    let attempt = story.claim();
    story.tell(reported(attempt, finished()));
    assert_eq!(until(&story), None);
}
