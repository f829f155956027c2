//! Every failure code needs words in the viewer, an entry in the OpenAPI document, and an answer whether http in place
//! of https may help. The compiler cannot check these; this test does.

use edgezoom_content::FailureCode;

const WORDS: &str = include_str!("../../viewer/live/copy.js");
const ASSUMED: &str = include_str!("../../viewer/pages/assumed.js");
const DESCRIPTION: &str = include_str!("../../interface/openapi.json");

/// Returns the text of `copy.js` from `begin` to `end`.
fn section(begin: &str, end: &str) -> &'static str {
    let from = WORDS.find(begin).unwrap_or_else(|| panic!("copy.js has no `{begin}`"));
    let section = &WORDS[from..];
    &section[..section.find(end).unwrap()]
}

#[test]
fn the_viewer_has_words_for_every_code() {
    let words = section("const FAILURES = {", "\n};");
    for code in FailureCode::ALL {
        let name = code.name();
        let keys = [format!("\n  \"{name}\": \""), format!("\n  {name}: \"")];
        assert!(keys.iter().any(|key| words.contains(key)), "FAILURES in copy.js has no words for {name}");
    }
    assert_eq!(
        words.lines().count() - 1,
        FailureCode::ALL.len(),
        "FAILURES in copy.js has words for an unknown code"
    );
}

#[test]
fn the_openapi_document_has_every_code() {
    let description: serde_json::Value = serde_json::from_str(DESCRIPTION).unwrap();
    let described = &description["components"]["schemas"]["Failure"]["properties"]["code"]["enum"];
    let names: Vec<&str> = FailureCode::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(*described, serde_json::json!(names), "the codes in edge/interface/openapi.json");
}

/// Returns true if a server without https, or with another site there, causes this failure.
fn may_be_cured_by_http(code: FailureCode) -> bool {
    use FailureCode::{
        CorruptSource, Internal, NoSuchElement, SourceExcluded, SourceForbidden, SourceNotFound,
        SourceTooLarge, SourceUnreachable, TimedOut, TooComplex, TooManyPixels, UnsupportedFormat,
    };
    match code {
        SourceUnreachable | SourceNotFound | TimedOut => true,
        SourceForbidden | SourceExcluded | SourceTooLarge | UnsupportedFormat | CorruptSource
        | TooManyPixels | TooComplex | NoSuchElement | Internal => false,
    }
}

#[test]
fn the_share_page_tries_http_for_the_failures_that_it_may_cure() {
    let list = ASSUMED.split_once("const CURABLE = ").and_then(|(_, rest)| rest.split_once(';')).unwrap().0;
    let listed: std::collections::BTreeSet<&str> = serde_json::from_str(list).unwrap();
    let curable = FailureCode::ALL.into_iter().filter(|code| may_be_cured_by_http(*code));
    assert_eq!(listed, curable.map(FailureCode::name).collect(), "CURABLE in assumed.js");
}
