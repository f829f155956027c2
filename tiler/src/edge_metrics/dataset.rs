//! Asks for data points by the SQL API of Cloudflare's Analytics Engine:
//! <https://developers.cloudflare.com/analytics/analytics-engine/sql-api/>. What the columns mean, `measure` in
//! `edge/src/platform/bridge.js` says.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use crate::http_client;
use crate::secret::Secret;

/// A dataset.
pub(super) struct Dataset {
    client: Client,
    url: Url,
    token: Secret,
    name: String,
}

/// Data points with the same labels.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Row {
    /// What was counted.
    #[serde(rename = "blob1")]
    pub what: String,
    #[serde(rename = "blob2")]
    pub first: String,
    #[serde(rename = "blob3")]
    pub second: String,
    #[serde(rename = "blob4")]
    pub third: String,
    #[serde(rename = "blob5")]
    pub fourth: String,
    /// How many there were.
    #[serde(deserialize_with = "number")]
    pub count: f64,
    /// What their second figures come to.
    #[serde(deserialize_with = "number")]
    pub seconds: f64,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

/// Why the dataset cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A name that SQL would read as something else.
    #[error("`{0}` cannot be the name of a dataset: it has to be of letters, digits and underscores")]
    Name(String),
    /// There is no HTTP client, or no answer.
    #[error("the SQL API does not answer: {0}")]
    Unanswered(#[from] reqwest::Error),
    /// The answer has an error's status.
    #[error("the SQL API answers {0}: {1}")]
    Answered(StatusCode, String),
}

const CALL_TIME: Duration = Duration::from_secs(20);
/// The characters of an answer that are kept for the log.
const MESSAGE_LENGTH: usize = 200;

impl Dataset {
    pub(super) fn new(url: Url, token: Secret, name: String) -> Result<Self, QueryError> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(QueryError::Name(name));
        }
        Ok(Self { client: http_client::builder().timeout(CALL_TIME).build()?, url, token, name })
    }

    /// What was written from one second on and before the other one, in seconds since the Unix epoch. The engine may keep a
    /// part of many data points only: each row says how many it stands for.
    pub(super) async fn between(&self, from: u64, until: u64) -> Result<Vec<Row>, QueryError> {
        let labels = "blob1, blob2, blob3, blob4, blob5";
        let sql = format!(
            "SELECT {labels}, SUM(_sample_interval * double1) AS count, SUM(_sample_interval * double2) AS seconds \
             FROM {} WHERE timestamp >= toDateTime({from}) AND timestamp < toDateTime({until}) \
             GROUP BY {labels} FORMAT JSON",
            self.name
        );
        let request = self.client.post(self.url.clone()).bearer_auth(self.token.reveal()).body(sql);
        let response = request.send().await?;
        let status = response.status();
        if !status.is_success() {
            let text = response.text().await.unwrap_or_default();
            return Err(QueryError::Answered(status, text.trim().chars().take(MESSAGE_LENGTH).collect()));
        }
        Ok(response.json::<Answer>().await?.data)
    }
}

/// A number. ClickHouse, whose JSON this is, writes large ones as texts.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite()).ok_or_else(|| serde::de::Error::custom("not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_texts() {
        let row = |count: &str| {
            let row = r#"{"blob1":"request","blob2":"v1","blob3":"200","blob4":"kv","blob5":"","seconds":0,"count":"#;
            serde_json::from_str::<Row>(&format!("{row}{count}}}")).map(|row| row.count).ok()
        };
        assert_eq!([row("7"), row("\"7\""), row("0.5")], [Some(7.0), Some(7.0), Some(0.5)]);
        assert_eq!([row("\"\""), row("null"), row("\"inf\"")], [None; 3]);
    }

    #[test]
    fn a_name_cannot_be_a_query() {
        let new = |name: &str| {
            let url = Url::parse("http://127.0.0.1:1/").unwrap();
            Dataset::new(url, "token".parse().unwrap(), name.to_owned()).is_ok()
        };
        assert!(new("edgezoom_staging"));
        assert!(!new("") && !new("a b") && !new("a;b") && !new("edgezoom-staging"));
    }
}
