use super::*;

const NOW: Timestamp = Timestamp(20_000 * 24 * 60 * 60 * 1000);

fn asked(renderings: &mut Renderings, party: &str, now: Timestamp) -> Request {
    match renderings.take(party, 100, now) {
        Turn::Ask(request) => request,
        other => panic!("{other:?}"),
    }
}

fn block(granted: u64, made: &[(&str, u64)]) -> Option<Block> {
    Some(Block { granted, made: made.iter().map(|(party, number)| ((*party).to_owned(), *number)).collect() })
}

#[test]
fn blocks_double_until_the_day_is_used_up() {
    let mut renderings = Renderings::default();
    let mut taken = 0;
    for (wanted, granted) in [(8, 8), (16, 16), (32, 32), (64, 44)] {
        let request = asked(&mut renderings, "", NOW);
        assert_eq!((request.day, request.wanted), (20_000, wanted));
        renderings.answer(request, block(granted, &[]));
        taken += granted;
        for _ in 0..granted {
            assert_eq!(renderings.take("", 100, NOW), Turn::Taken);
        }
    }
    assert_eq!((taken, renderings.take("", 100, NOW)), (100, Turn::UsedUp));
    let tomorrow = NOW.next_midnight();
    assert_eq!(asked(&mut renderings, "", tomorrow).wanted, FIRST, "a new day");
}

#[test]
fn a_client_has_a_tenth_of_the_day_and_those_of_other_isolates_count() {
    let mut renderings = Renderings::default();
    let request = asked(&mut renderings, "203.0.113.7", NOW);
    renderings.answer(request, block(8, &[]));
    for _ in 0..8 {
        assert_eq!(renderings.take("203.0.113.7", 100, NOW), Turn::Taken);
    }
    let request = asked(&mut renderings, "203.0.113.7", NOW);
    assert_eq!(request.used["203.0.113.7"], 8);
    renderings.answer(request, block(16, &[("203.0.113.7", 10)]));
    assert_eq!(renderings.take("203.0.113.7", 100, NOW), Turn::UsedUp);
    for party in ["203.0.113.8", "@shop", ""] {
        assert_eq!(renderings.take(party, 100, NOW), Turn::Taken, "{party}");
    }
}

#[test]
fn one_request_asks_and_a_lost_message_is_sent_again_with_its_counts() {
    let mut renderings = Renderings::default();
    let request = asked(&mut renderings, "", NOW);
    renderings.answer(request, block(1, &[]));
    renderings.is_used_up = false;
    assert_eq!(renderings.take("203.0.113.7", 100, NOW), Turn::Taken);
    let first = asked(&mut renderings, "", NOW);
    assert_eq!(renderings.take("", 100, NOW), Turn::Wait);
    renderings.answer(first, None);
    assert_eq!(asked(&mut renderings, "", NOW).used["203.0.113.7"], 1);
    asked(&mut renderings, "", NOW + ASKING);
}
