//! Collections beside people.

use super::*;

#[test]
fn a_collection_leaves_two_slots_and_comes_after_all_others() {
    for (slots, sent) in [(1, 1), (2, 1), (4, 2), (16, 12)] {
        let mut scheduler = tilers(&[slots]);
        flood(&mut scheduler, "%drawings", 30, &MANY);
        flood(&mut scheduler, "%maps", 30, &MANY);
        let of_both = of(&scheduler, "%drawings").1 + of(&scheduler, "%maps").1;
        assert_eq!(of_both, sent, "{slots} slots");
        for person in ["a", "b"].iter().take((slots as usize).saturating_sub(1)) {
            assert_eq!(admit(&mut scheduler, asked(person, person), &MANY), Ok(Turn::Now), "{slots} slots");
        }
        // A person who waits is served before any collection.
        flood(&mut scheduler, "c", 40, &MANY);
        let next = scheduler.jobs.values().find(|entry| entry.sent_at.is_some() && is_batch(&entry.party));
        let id = next.unwrap().job.id;
        scheduler.end(id, End::Made(0), START);
        let due = scheduler.due(START, &MANY);
        assert!(due.iter().all(|job| scheduler.jobs[&job.id].party == "c"), "{slots} slots");
    }
}

#[test]
fn a_collection_has_no_limit_of_tiles_but_the_service_s_and_leaves_hosts_to_others() {
    let mut scheduler = tilers(&[64]);
    let shares = Shares { tiles_a_day: 100, host_jobs: 16, ..MANY };
    for number in 0..20 {
        let asked = asked_at("%drawings", &number.to_string(), "museum.example");
        admit(&mut scheduler, asked, &shares).unwrap();
    }
    assert_eq!(of(&scheduler, "%drawings"), (8, 12), "a quarter of the host's places is left");
    let spent = Shares { all_tiles_a_day: 100, ..shares };
    assert_eq!(admit(&mut scheduler, asked("%drawings", "x"), &spent), Err(AdmissionError::SpentToday));
}

/// Collections have as much to convert as the service admits, by pictures that take as long as a person's.
#[test]
fn a_person_s_pictures_are_as_fast_beside_batches_as_alone() {
    for slots in [3, 4, 8, 16] {
        let (alone, _) = hour_of_a_third(slots, &[], 10);
        let (beside, sent) = hour_of_a_third(slots, &[("%drawings", 0), ("%maps", 60)], 10);
        assert_eq!((alone, beside), (10, 10), "{slots} slots");
        assert!(
            sent > 120 + 200 * (slots * 3 / 4).min(slots - 2),
            "the batches go on: {sent} jobs, {slots} slots"
        );
    }
}
