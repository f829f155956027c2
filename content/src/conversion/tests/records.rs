//! Stored records and messages, as literal JSON: they are read, and written back byte for byte.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

/// Asserts that `json` is read as a `T` and written back unchanged.
fn assert_round_trip<T: DeserializeOwned + Serialize>(json: &str) {
    let value: T = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(serde_json::to_string(&value).unwrap(), json);
}

/// The members of a finished conversion, with and without the optional ones.
const FINISHED: [&str; 2] = [
    r#""dzi":{"width":800,"height":600,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"},"archive":{"indexOffset":9,"indexLength":8},"previews":{"large":{"offset":1,"length":2},"thumbnail":{"offset":3,"length":4}}"#,
    r#""dzi":{"width":800,"height":600,"tileSize":510,"tileOverlap":1,"tileFormat":"jpg"},"title":"A page","damage":{"from-row":{"row":5,"rows":600}},"archive":{"indexOffset":8589934592,"indexLength":99},"previews":{"large":{"offset":8589934592,"length":7},"thumbnail":{"offset":9,"length":8}}"#,
];

#[test]
fn a_finished_conversion_has_the_same_members_in_each_record() {
    for members in FINISHED {
        assert_round_trip::<Report>(&format!(r#"{{"attempt":1,"outcome":{{"finished":{{{members}}}}}}}"#));
        assert_round_trip::<Content>(&format!(
            r#"{{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","progress":1.0,"status":{{"ready":{{"attempt":1,{members}}}}}}}"#
        ));
        for record_at in ["null", "10000"] {
            assert_round_trip::<Conversion>(&format!(
                r#"{{"id":"6qy4OXfXSid","url":"http://example.com/a.jpg","shown":1.0,"next_attempt":2,"expired_leases":0,"retries":0,"kills":0,"alone":false,"times":{{"asked":0,"since":0}},"history":"0 queued\n0 claimed 1\n0 ready 1\n","state":{{"ready":{{"attempt":1,{members},"record_at":{record_at}}}}}}}"#
            ));
        }
    }
}

#[test]
fn a_record_is_read_back_as_it_was_written() {
    let mut story = Story::new();
    let attempt = story.claim();
    let mut waiting = story.clone();
    waiting.tell(gave_up(attempt, FailureCode::TimedOut, Retry::Later { after_seconds: None }));
    for story in [story, waiting] {
        let text = serde_json::to_string(story.known.as_ref().unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Conversion>(&text).unwrap(), story.known.unwrap());
    }
}
