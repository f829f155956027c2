//! Waiting until a part answers.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a part has until it must answer well.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between asks: at first, and at most. What answers badly logs each ask.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Waits until a GET of `url` succeeds. Each request carries the token; parts that need none ignore it.
pub async fn answers(url: String, token: &str) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
    let started = Instant::now();
    let [mut pause, most] = PAUSE;
    loop {
        let answer = match client.get(&url).bearer_auth(token).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => {
                pause = most.min(pause * 2);
                format!("answers {}", answer.status())
            }
            Err(_) => "does not answer".to_owned(),
        };
        if started.elapsed() > PATIENCE {
            bail!("{url} {answer} after {} s", PATIENCE.as_secs());
        }
        tokio::time::sleep(pause).await;
    }
}
