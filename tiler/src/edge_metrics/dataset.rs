//! Queries data points by the SQL API of Cloudflare's Analytics Engine:
//! <https://developers.cloudflare.com/analytics/analytics-engine/sql-api/>. `measure` in `edge/src/platform/bridge.js`
//! defines the columns.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use crate::http_client;
use crate::secret::Secret;

/// Client of one dataset.
pub(super) struct Dataset {
    client: Client,
    url: Url,
    token: Secret,
    name: String,
}

/// All data points with the same labels.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Row {
    /// Kind of data point.
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
    /// Number of data points.
    #[serde(deserialize_with = "number")]
    pub count: f64,
    /// Sum of their seconds.
    #[serde(deserialize_with = "number")]
    pub seconds: f64,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

/// The reason why a query failed.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The name would change the meaning of the query.
    #[error("`{0}` is not the name of a dataset: use letters, digits and underscores")]
    Name(String),
    /// There is no HTTP client, or no response.
    #[error("the SQL API does not respond: {0}")]
    Unanswered(#[from] reqwest::Error),
    /// The response has an error status.
    #[error("the SQL API responds with {0}: {1}")]
    Answered(StatusCode, String),
}

const CALL_TIME: Duration = Duration::from_secs(20);
/// Number of characters of a response that are logged.
const MESSAGE_LENGTH: usize = 200;

impl Dataset {
    pub(super) fn new(url: Url, token: Secret, name: String) -> Result<Self, QueryError> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(QueryError::Name(name));
        }
        Ok(Self { client: http_client::builder().timeout(CALL_TIME).build()?, url, token, name })
    }

    /// Returns the data points written from `from` until before `until`, in seconds since the Unix epoch. The engine
    /// may store only a sample of many data points, so each row has a weight.
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

/// Parses a number. ClickHouse, which writes this JSON, writes large ones as strings.
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
    fn numbers_may_be_strings() {
        let row = |count: &str| {
            let row = r#"{"blob1":"request","blob2":"v1","blob3":"200","blob4":"kv","blob5":"","seconds":0,"count":"#;
            serde_json::from_str::<Row>(&format!("{row}{count}}}")).map(|row| row.count).ok()
        };
        assert_eq!([row("7"), row("\"7\""), row("0.5")], [Some(7.0), Some(7.0), Some(0.5)]);
        assert_eq!([row("\"\""), row("null"), row("\"inf\"")], [None; 3]);
    }

    #[test]
    fn a_name_that_changes_the_query_is_refused() {
        let new = |name: &str| {
            let url = Url::parse("http://127.0.0.1:1/").unwrap();
            Dataset::new(url, "token".parse().unwrap(), name.to_owned()).is_ok()
        };
        assert!(new("edgezoom_staging"));
        assert!(!new("") && !new("a b") && !new("a;b") && !new("edgezoom-staging"));
    }
}
