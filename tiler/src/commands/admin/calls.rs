//! The calls of the Worker. Each may be repeated, so each is, when there is no answer or a passing failure.

use std::time::Duration;

use anyhow::{Context, bail};
use edgezoom_tiler::http_client;
use edgezoom_tiler::secret::Secret;
use reqwest::{Client, StatusCode};
use serde_json::Value;
use url::Url;

/// Calls the operator's interface of a Worker.
pub(super) struct Calls {
    client: Client,
    base: String,
    token: Secret,
    who: Option<String>,
}

/// A call may handle a hundred contents.
const CALL_TIME: Duration = Duration::from_secs(60);
/// The pauses before a call is repeated, in milliseconds.
const PAUSES: [u64; 4] = [300, 1000, 3000, 10_000];

impl Calls {
    pub(super) fn new(edge: &Url, token: Secret, who: Option<String>) -> anyhow::Result<Self> {
        let client = http_client::builder().timeout(CALL_TIME).build()?;
        let base = format!("{}/internal/admin", edge.as_str().trim_end_matches('/'));
        Ok(Self { client, base, token, who })
    }

    /// Makes a call, and gives the answer.
    pub(super) async fn call(&self, name: &str, mut body: Value) -> anyhow::Result<Value> {
        if let (Some(who), Some(body)) = (&self.who, body.as_object_mut()) {
            body.insert("as".to_owned(), who.as_str().into());
        }
        let mut pauses = PAUSES.into_iter();
        loop {
            let failed = match self.once(name, &body).await {
                Ok((status, text)) if status.is_success() => {
                    return serde_json::from_str(&text).with_context(|| format!("{name}: not JSON: {text}"));
                }
                // The Worker has no token, or refuses: waiting does not help.
                Ok((status, text)) if !status.is_server_error() || text.contains("no token") => {
                    bail!("{}", text.trim());
                }
                Ok((status, text)) => format!("{status}: {}", text.trim()),
                Err(error) => format!("no answer: {error:#}"),
            };
            match pauses.next() {
                Some(pause) => tokio::time::sleep(Duration::from_millis(pause)).await,
                None => bail!("{name}: {failed}"),
            }
        }
    }

    async fn once(&self, name: &str, body: &Value) -> anyhow::Result<(StatusCode, String)> {
        let request = self.client.post(format!("{}/{name}", self.base)).bearer_auth(self.token.reveal());
        let response = request.json(body).send().await?;
        Ok((response.status(), response.text().await?))
    }
}
