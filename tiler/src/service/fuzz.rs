//! Fuzz target for the responses of the queue and the edge. The test below runs it briefly on mutated seeds, and a
//! program in `tests/fuzz/` runs it under libFuzzer.

use edgezoom_content::protocol::Claim;

use super::queue_client::parse_batch;

/// Parses a batch of the queue and the edge's response to a claim.
///
/// # Panics
/// A claim changes when it is written and parsed again.
pub fn answers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = parse_batch(&text);
    if let Ok(claim) = serde_json::from_str::<Claim>(&text) {
        let written = serde_json::to_string(&claim).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Claim>(&written).ok(), Some(claim));
    }
}

#[cfg(test)]
mod tests {
    use edgezoom_fuzzing::{Target, hunt};

    use super::*;

    #[test]
    fn any_response_is_parsed_or_refused() {
        hunt(&[Target {
            name: "answers",
            run: answers,
            seeds: &[
                b"{\"success\":true,\"errors\":[],\"result\":{\"message_backlog_count\":9,\"messages\":[{\
                    \"body\":\"{\\\"id\\\":\\\"6qy4OXfXSid\\\"}\",\"attempts\":1,\"timestamp_ms\":18446744\
                    073709551615,\"lease_id\":\"a\"}]}}",
                b"{\"success\":true,\"result\":{\"messages\":[{\"body\":\"eyJpZCI6IjZxeTRPWGZYU2lkIn0=\",\
                    \"attempts\":1,\"lease_id\":\"a\"}]}}",
                br#"{"success":false,"errors":[{"code":1}]}"#,
                br#"{"attempt":1,"url":"http://example.com/","leaseMs":60000}"#,
            ],
        }]);
    }
}
