//! The length of the queue's backlog: reported by tilers, kept by one small Durable Object for the whole service, and
//! by each instance of the Worker for a few seconds, so that creating many contents asks the object once.
//!
//! KV would not do: tilers report every few seconds, and KV takes one write a second for a key and bills each.

use std::cell::Cell;
use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

use crate::admission::policy::BacklogReport;
use crate::platform::bridge;
use crate::platform::clock::now;

const NAME: &str = "backlog";
const REPORT: &str = "reported";
/// How long an instance of the Worker uses its copy.
const FRESH: Duration = Duration::from_secs(5);

thread_local! {
    /// This instance's copy of the last report, and when it was read.
    static COPY: Cell<Option<(Timestamp, Option<BacklogReport>)>> = const { Cell::new(None) };
}

/// The last report, if a tiler has reported yet.
pub async fn last_report(env: &Env, now: Timestamp) -> Result<Option<BacklogReport>> {
    if let Some((since, report)) = COPY.get()
        && now - since < FRESH
    {
        return Ok(report);
    }
    let (_, stored) = bridge::call_object(env, "BACKLOG", NAME, "/", "").await?;
    let report = serde_json::from_str(&stored)?;
    COPY.set(Some((now, report)));
    Ok(report)
}

/// Stores a tiler's report.
pub async fn report(backlog: Backlog, env: &Env) -> Result<()> {
    let now = now();
    let report = BacklogReport { backlog, at: now };
    bridge::call_object(env, "BACKLOG", NAME, "/", &serde_json::to_string(&report)?).await?;
    COPY.set(Some((now, Some(report))));
    Ok(())
}

/// The one Durable Object that stores the last report.
#[durable_object]
pub struct BacklogObject {
    state: State,
}

impl DurableObject for BacklogObject {
    fn new(state: State, _env: Env) -> Self {
        Self { state }
    }

    /// Stores a [`BacklogReport`]; a request without a body gets the last one, or `null`.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let storage = self.state.storage();
        let report = request.text().await?;
        if !report.is_empty() {
            storage.put(REPORT, report).await?;
            return Response::empty();
        }
        let stored: Option<String> = storage.get(REPORT).await?;
        Response::ok(stored.unwrap_or_else(|| "null".to_owned()))
    }
}
