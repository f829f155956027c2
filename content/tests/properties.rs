//! Property tests of URLs, ids and progress.

use edgezoom_content::{AddressPolicy, ContentId, Progress, SourceUrl};
use proptest::prelude::*;

fn any_url() -> impl Strategy<Value = String> {
    prop_oneof![
        "[hH][tT]{2}[pP][sS]?://[a-zA-Z0-9.-]{1,20}(:[0-9]{1,5})?(/[ -~äß日\u{202e}]{0,20})?(#[!/a-z]{0,5})?",
        "https?://[ -~]{0,40}",
        "\\PC{0,40}",
        r"https?://\[[0-9a-f:.]{0,20}\]/?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn canonicalisation_is_idempotent(text in any_url()) {
        if let Ok(url) = SourceUrl::parse(&text) {
            prop_assert_eq!(SourceUrl::parse(url.as_str()), Ok(url.clone()));
            prop_assert!(url.as_str().is_ascii());
            let _ = AddressPolicy::default().admit(&url);
        }
    }

    #[test]
    fn ids_round_trip(path in "[a-z0-9]{0,20}") {
        let url = SourceUrl::parse(&format!("http://example.com/{path}")).unwrap();
        let ids: Vec<_> = ContentId::candidates(&url).collect();
        for (index, id) in ids.iter().enumerate() {
            prop_assert_eq!(id.to_string().parse(), Ok(*id));
            prop_assert_eq!(id.to_string().len(), ContentId::LENGTH);
            prop_assert!(!ids[..index].contains(id));
        }
    }

    #[test]
    fn parsed_ids_print_as_the_original_text(text in "[0-9a-zA-Z]{11}") {
        if let Ok(id) = text.parse::<ContentId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }

    #[test]
    fn progress_is_in_range_and_monotonic(a in any::<f64>(), b in any::<f64>()) {
        let (p, q) = (Progress::from(a), Progress::from(b));
        prop_assert!((0.0..=1.0).contains(&p.fraction()));
        prop_assert_eq!(Progress::from(p.fraction()), p);
        if a <= b {
            prop_assert!(p <= q);
        }
    }
}
