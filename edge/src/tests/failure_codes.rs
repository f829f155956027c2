//! Every failure code needs words in the viewer and an entry in the OpenAPI document. The compiler cannot check these;
//! this test does.

use edgezoom_content::FailureCode;

const WORDS: &str = include_str!("../../viewer/live/words.js");
const DESCRIPTION: &str = include_str!("../../interface/openapi.json");

/// Returns the text of `words.js` from `begin` to `end`.
fn section(begin: &str, end: &str) -> &'static str {
    let from = WORDS.find(begin).unwrap_or_else(|| panic!("words.js has no `{begin}`"));
    let section = &WORDS[from..];
    &section[..section.find(end).unwrap()]
}

#[test]
fn the_viewer_has_words_for_every_code() {
    let words = section("const FAILURES = {", "\n};");
    for code in FailureCode::ALL {
        let name = code.name();
        let keys = [format!("\n  \"{name}\": \""), format!("\n  {name}: \"")];
        assert!(keys.iter().any(|key| words.contains(key)), "FAILURES in words.js has no words for {name}");
    }
    assert_eq!(
        words.lines().count() - 1,
        FailureCode::ALL.len(),
        "FAILURES in words.js has words for an unknown code"
    );
}

#[test]
fn the_openapi_document_has_every_code() {
    let description: serde_json::Value = serde_json::from_str(DESCRIPTION).unwrap();
    let described = &description["components"]["schemas"]["Failure"]["properties"]["code"]["enum"];
    let names: Vec<&str> = FailureCode::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(*described, serde_json::json!(names), "the codes in edge/interface/openapi.json");
}
