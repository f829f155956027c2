//! Waiting until a part answers.

use std::time::Duration;

use anyhow::{Result, bail};

/// How long a part has until it must answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a GET of `url` is answered well. The token is shown to whoever wants one.
pub async fn answers(url: String, token: &str) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
    let asking = async {
        loop {
            match client.get(&url).bearer_auth(token).send().await {
                Ok(answer) if answer.status().is_success() => return,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    if tokio::time::timeout(PATIENCE, asking).await.is_err() {
        bail!("{url} did not answer within {} s", PATIENCE.as_secs());
    }
    Ok(())
}
