//! Calls to the Worker. All are idempotent, so they are repeated after a missing response or a transient failure. A
//! command on many contents is paced, and shows its progress in a terminal.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, bail};
use edgezoom_tiler::fetch::is_transient_status;
use edgezoom_tiler::http_client;
use edgezoom_tiler::secret::Secret;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use tokio::time::{Interval, MissedTickBehavior, interval};
use url::Url;

/// Client of the Worker's admin API.
pub(super) struct Calls {
    client: Client,
    base: String,
    token: Secret,
    who: Option<String>,
}

/// Time limit of a call, which may handle a hundred contents.
const CALL_TIME: Duration = Duration::from_secs(60);
/// Pauses before a call is repeated, in milliseconds.
const PAUSES: [u64; 4] = [300, 1000, 3000, 10_000];

impl Calls {
    pub(super) fn new(edge: &Url, token: Secret, who: Option<String>) -> anyhow::Result<Self> {
        let client = http_client::builder().timeout(CALL_TIME).build()?;
        let base = format!("{}/internal/admin", edge.as_str().trim_end_matches('/'));
        Ok(Self { client, base, token, who })
    }

    /// Makes a call and returns the response.
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
                // Waiting does not help if the Worker has no token or refuses the call.
                Ok((status, text)) if !is_transient_status(status.as_u16()) || text.contains("no token") => {
                    bail!("{}", text.trim());
                }
                Ok((status, text)) => format!("{status}: {}", text.trim()),
                Err(error) => format!("no response: {error:#}"),
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

/// Pace of a command on many contents.
pub(super) struct Pace {
    /// Maximum number of contents per second.
    pub(super) rate: NonZeroU32,
    pub(super) shows_bar: bool,
}

impl Pace {
    /// Returns an interval for handling `contents_a_tick` contents per tick.
    pub(super) fn ticks(&self, contents_a_tick: u32) -> Interval {
        // A rate of billions would give a period of zero, which panics.
        let period =
            (Duration::from_secs(1) * contents_a_tick / self.rate.get()).max(Duration::from_nanos(1));
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// Returns the number of contents per call: at most the work of one second.
    pub(super) fn batch(&self) -> u32 {
        self.rate.get().min(100)
    }

    /// Creates a progress bar and shows it at once.
    pub(super) fn bar(&self, contents: u64) -> anyhow::Result<ProgressBar> {
        let rate = self.rate;
        let style = ProgressStyle::with_template("{bar:40} {pos} of {len}, {left} left")?;
        let style = style.with_key("left", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let (done, all) = (state.pos(), state.len().unwrap_or_default());
            let _ = write!(out, "{:#}", HumanDuration(left(rate, done, all, state.elapsed())));
        });
        Ok(self.shown(
            ProgressBar::with_draw_target(Some(contents), ProgressDrawTarget::hidden()).with_style(style),
        ))
    }

    /// Creates a counter for an unknown number of contents.
    pub(super) fn count(&self) -> anyhow::Result<ProgressBar> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Ok(self.shown(bar.with_style(ProgressStyle::with_template("{pos} checked, {elapsed}")?)))
    }

    fn shown(&self, bar: ProgressBar) -> ProgressBar {
        if self.shows_bar {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.tick();
        }
        bar
    }
}

/// Estimates the remaining time from the rate, or from the pace so far if that is slower. indicatif's own estimate
/// ignores the pauses between calls.
fn left(rate: NonZeroU32, done: u64, all: u64, elapsed: Duration) -> Duration {
    let paced = f64::from(rate.get()).recip();
    let seen = if done == 0 { 0.0 } else { elapsed.as_secs_f64() / done as f64 };
    Duration::try_from_secs_f64(paced.max(seen) * all.saturating_sub(done) as f64).unwrap_or(Duration::MAX)
}
