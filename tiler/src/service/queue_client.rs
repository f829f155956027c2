//! Calls to the queue, by Cloudflare's pull API:
//! <https://developers.cloudflare.com/queues/configuration/pull-consumers/>.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use edgezoom_content::protocol::Job;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::api_client::{ApiClient, CallError, excerpt};
use crate::secret::Secret;

/// Client of the queue of jobs.
#[derive(Clone)]
pub(super) struct QueueClient(ApiClient);

/// The messages of one pull.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub messages: Vec<Message>,
    /// Number of messages in the queue including these, if the queue reports it.
    pub backlog: Option<u64>,
}

/// A pulled message. Other tilers do not see it until it is settled or its visibility timeout expires.
#[derive(Debug, PartialEq)]
pub(super) struct Message {
    pub lease: Lease,
    /// Number of deliveries including this one.
    pub attempts: u32,
    /// Time at which it was sent, if the queue reports it.
    pub sent: Option<SystemTime>,
    /// The job, or the beginning of a body that is not a job.
    pub job: Result<Job, String>,
}

/// The `lease_id` of a message, which identifies this delivery.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Lease(String);

/// Messages to acknowledge, and messages to deliver again.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Settlement {
    acks: Vec<Ack>,
    retries: Vec<Retry>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Ack {
    lease_id: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Retry {
    lease_id: String,
    delay_seconds: u64,
}

#[derive(Serialize)]
struct Pull {
    batch_size: usize,
    visibility_timeout_ms: u64,
}

#[derive(Deserialize)]
struct Envelope {
    success: bool,
    #[serde(default)]
    errors: Value,
    result: Option<PullResult>,
}

#[derive(Default, Deserialize)]
struct PullResult {
    #[serde(default)]
    messages: Vec<Delivery>,
    message_backlog_count: Option<u64>,
}

#[derive(Deserialize)]
struct Delivery {
    body: Value,
    lease_id: Lease,
    #[serde(default = "many")]
    attempts: u32,
    timestamp_ms: Option<u64>,
}

/// Default of `attempts`: if the queue does not count, assume that it has delivered the message before.
fn many() -> u32 {
    u32::MAX
}

/// Time for which other tilers do not see a message. It is settled milliseconds later, once the edge has responded to
/// the claim.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of messages that Cloudflare returns in one pull.
const MAX_BATCH: usize = 100;

impl QueueClient {
    pub(super) fn new(base: Url, token: Secret) -> reqwest::Result<Self> {
        ApiClient::new(base, token).map(Self)
    }

    /// Pulls at most `max` messages.
    pub(super) async fn pull(&self, max: usize) -> Result<Batch, CallError> {
        let pull = Pull {
            batch_size: max.min(MAX_BATCH),
            visibility_timeout_ms: VISIBILITY_TIMEOUT.as_millis() as u64,
        };
        let response = self.0.post("/messages/pull", &pull).await?;
        if !response.status().is_success() {
            return Err(CallError::from_response(response).await);
        }
        let text = response.text().await.map_err(CallError::Unanswered)?;
        parse_batch(&text)
    }

    /// Acknowledges messages and requests redeliveries.
    pub(super) async fn settle(&self, settlement: &Settlement) -> Result<(), CallError> {
        let response = self.0.post("/messages/ack", settlement).await?;
        if response.status().is_success() { Ok(()) } else { Err(CallError::from_response(response).await) }
    }
}

impl Settlement {
    /// Adds an acknowledgement, upon which the queue deletes the message.
    pub(super) fn ack(&mut self, lease: Lease) {
        self.acks.push(Ack { lease_id: lease.0 });
    }

    /// Adds a request to deliver the message again after `delay`.
    pub(super) fn retry(&mut self, lease: Lease, delay: Duration) {
        self.retries.push(Retry { lease_id: lease.0, delay_seconds: delay.as_secs() });
    }

    /// Returns true if there is no message to settle.
    pub(super) fn is_empty(&self) -> bool {
        self.acks.is_empty() && self.retries.is_empty()
    }
}

/// Parses the response to a pull.
pub(super) fn parse_batch(text: &str) -> Result<Batch, CallError> {
    let envelope: Envelope =
        serde_json::from_str(text).map_err(|error| CallError::Malformed(error.to_string()))?;
    if !envelope.success {
        return Err(CallError::Malformed(excerpt(&envelope.errors.to_string())));
    }
    let result = envelope.result.unwrap_or_default();
    let read = |Delivery { body, lease_id, attempts, timestamp_ms }| {
        let sent = timestamp_ms.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
        Message { lease: lease_id, attempts, sent, job: parse_job(&body) }
    };
    let messages = result.messages.into_iter().map(read).collect();
    Ok(Batch { messages, backlog: result.message_backlog_count })
}

/// Parses a message's body. Cloudflare's documentation shows it plain in one place and base64-encoded in another.
fn parse_job(body: &Value) -> Result<Job, String> {
    let job = match body {
        Value::String(text) => {
            let decoded = BASE64_STANDARD.decode(text).unwrap_or_else(|_| text.clone().into_bytes());
            serde_json::from_slice(&decoded).ok()
        }
        plain => Job::deserialize(plain).ok(),
    };
    job.ok_or_else(|| excerpt(&body.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(bodies: &[Value]) -> String {
        let messages: Vec<_> = bodies
            .iter()
            .enumerate()
            .map(|(n, body)| {
                serde_json::json!({
                    "body": body, "id": "b01b", "timestamp_ms": 1_710_950_954_154_u64, "attempts": 1,
                    "metadata": { "CF-sourceMessageSource": "worker", "CF-Content-Type": "json" },
                    "lease_id": format!("lease {n}"),
                })
            })
            .collect();
        serde_json::json!({ "success": true, "errors": [], "messages": [], "result": {
            "message_backlog_count": 9, "messages": messages } })
        .to_string()
    }

    #[test]
    fn a_job_may_be_json_a_string_or_base64() {
        let text = r#"{"id":"6qy4OXfXSid"}"#;
        let bodies = [serde_json::from_str(text).unwrap(), text.into(), BASE64_STANDARD.encode(text).into()];
        let job = Job { id: "6qy4OXfXSid".parse().unwrap(), alone: false, avoid: None };
        let Batch { messages, backlog } = parse_batch(&batch(&bodies)).unwrap();
        assert_eq!((messages.len(), backlog), (3, Some(9)));
        for (n, message) in messages.into_iter().enumerate() {
            let sent = Some(UNIX_EPOCH + Duration::from_millis(1_710_950_954_154));
            assert_eq!(
                message,
                Message { lease: Lease(format!("lease {n}")), attempts: 1, sent, job: Ok(job) }
            );
        }
    }

    #[test]
    fn a_message_that_is_not_a_job_does_not_affect_its_neighbours() {
        let bodies = [
            serde_json::json!({ "id": "too short" }),
            Value::Null,
            "not JSON".into(),
            BASE64_STANDARD.encode([0xff; 300]).into(),
            serde_json::json!({ "id": "6qy4OXfXSid", "more": 1 }),
        ];
        let jobs: Vec<_> =
            parse_batch(&batch(&bodies)).unwrap().messages.into_iter().map(|message| message.job).collect();
        assert!(jobs[..4].iter().all(Result::is_err), "{jobs:?}");
        assert!(jobs[4].is_ok());
        assert!(jobs[3].as_ref().unwrap_err().len() <= 200);
    }

    #[test]
    fn a_response_that_is_not_a_batch_is_an_error() {
        assert!(parse_batch("<html>").is_err());
        let refused =
            parse_batch(r#"{"success":false,"errors":[{"code":7003,"message":"No route"}],"result":null}"#);
        assert!(refused.unwrap_err().to_string().contains("No route"));
        let nothing = r#"{"success":true,"errors":[],"messages":[],"result":{}}"#;
        assert_eq!(parse_batch(nothing).unwrap(), Batch::default());
    }

    #[test]
    fn a_settlement_has_the_format_that_the_queue_expects() {
        let mut settlement = Settlement::default();
        assert!(settlement.is_empty());
        settlement.ack(Lease("a".into()));
        settlement.retry(Lease("b".into()), Duration::from_secs(5));
        assert_eq!(
            serde_json::to_string(&settlement).unwrap(),
            r#"{"acks":[{"lease_id":"a"}],"retries":[{"lease_id":"b","delay_seconds":5}]}"#
        );
    }
}
