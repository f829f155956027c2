//! How much waits in the queue: told by tilers, kept by one small Durable Object for the whole service, and by each instance of
//! the Worker for a few seconds, so that creating many contents asks the object once.
//!
//! Why not KV: tilers report all the time, and KV takes one write a second and bills each; an object's memory takes thousands.

use std::cell::Cell;
use std::time::Duration;

use edgezoom_content::conversion::Timestamp;
use edgezoom_content::protocol::Backlog;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

use crate::admission::policy::Reported;
use crate::platform::bridge;
use crate::platform::clock::now;

const NAME: &str = "backlog";
const REPORTED: &str = "reported";
/// For how long an instance of the Worker goes by what it knows.
const FRESH: Duration = Duration::from_secs(5);

thread_local! {
    /// What this instance knows, and since when.
    static KNOWN: Cell<Option<(Timestamp, Option<Reported>)>> = const { Cell::new(None) };
}

/// What was last reported, if anything was.
pub async fn known(env: &Env, now: Timestamp) -> Result<Option<Reported>> {
    if let Some((since, reported)) = KNOWN.get()
        && now - since < FRESH
    {
        return Ok(reported);
    }
    let (_, kept) = bridge::tell_object(env, "BACKLOG", NAME, "/", "").await?;
    let reported = serde_json::from_str(&kept)?;
    KNOWN.set(Some((now, reported)));
    Ok(reported)
}

/// Takes what a tiler reports.
pub async fn report(backlog: Backlog, env: &Env) -> Result<()> {
    let now = now();
    let reported = Reported { backlog, at: now };
    bridge::tell_object(env, "BACKLOG", NAME, "/", &serde_json::to_string(&reported)?).await?;
    KNOWN.set(Some((now, Some(reported))));
    Ok(())
}

/// The one Durable Object that keeps the last report.
#[durable_object]
pub struct BacklogObject {
    state: State,
}

impl DurableObject for BacklogObject {
    fn new(state: State, _env: Env) -> Self {
        Self { state }
    }

    /// Takes a [`Reported`]; told nothing, gives the last one, or `null`.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let storage = self.state.storage();
        let reported = request.text().await?;
        if !reported.is_empty() {
            storage.put(REPORTED, reported).await?;
            return Response::empty();
        }
        let kept: Option<String> = storage.get(REPORTED).await?;
        Response::ok(kept.unwrap_or_else(|| "null".to_owned()))
    }
}
