//! Admits new contents or refuses them by the rules in `admission`, with what the platform counts. The Durable Object of
//! a content asks when it would create the content or start it again, so requests for contents that exist are neither
//! checked nor counted.

use std::cell::Cell;

use worker::{Env, Result, console_error};

use super::backlog;
use crate::admission::client::{CREATIONS, Client, RENDERINGS, RateLimit};
use crate::admission::policy::{AdmissionError, Allowance, admit_kind};
use crate::admission::scheduler::{Asked, Turn};
use crate::config::Config;
use crate::platform::isolate::now;
use crate::response::ApiError;

thread_local! {
    /// Contents that this isolate may still admit unchecked.
    static UNCHECKED: Cell<Allowance> = const { Cell::new(Allowance::NEW) };
}

/// Admits a job of a client and returns its turn, or refuses it. `asked` makes the job of a client's party. If a part
/// of the check fails, the failure is logged, and a few jobs are admitted unchecked.
pub(crate) async fn admit(
    client: Option<&Client>,
    asked: impl FnOnce(String) -> Asked,
    config: &Config,
    env: &Env,
) -> std::result::Result<Turn, AdmissionError> {
    admit_client(client, config, env).await?;
    admit_job(client, asked, config, env).await
}

/// Admits and counts a client, before its source is known.
pub(crate) async fn admit_client(
    client: Option<&Client>,
    config: &Config,
    env: &Env,
) -> std::result::Result<(), AdmissionError> {
    admit_kind(client, config)?;
    // Before a job, because the limiters are near and stop a flood of one client.
    admit_rate(client, env).await
}

/// Admits and counts a client by its rate alone.
pub(crate) async fn admit_rate(
    client: Option<&Client>,
    env: &Env,
) -> std::result::Result<(), AdmissionError> {
    for limit in client.map(|client| client.rate_limits(CREATIONS)).unwrap_or_default() {
        if or_few(is_over(limit, env).await, false)? {
            return Err(AdmissionError::TooManyNew);
        }
    }
    Ok(())
}

/// Admits and counts a search for words by its client's rate. It takes less time than a rendering, and counts as one.
pub(crate) async fn admit_search(client: Option<&Client>, env: &Env) -> std::result::Result<(), ApiError> {
    for limit in client.map(|client| client.rate_limits(RENDERINGS)).unwrap_or_default() {
        if is_over(limit, env).await.map_err(uncounted)? {
            return Err(ApiError::TooManyRegions);
        }
    }
    Ok(())
}

pub(crate) fn uncounted(error: worker::Error) -> ApiError {
    console_error!("cannot count a rendering or search: {error}");
    ApiError::Unavailable
}

/// Admits a job of a client that is already admitted, and returns its turn.
pub(crate) async fn admit_job(
    client: Option<&Client>,
    asked: impl FnOnce(String) -> Asked,
    config: &Config,
    env: &Env,
) -> std::result::Result<Turn, AdmissionError> {
    let Some(client) = client else {
        let overloaded = or_few(is_overloaded(config, env).await, false)?;
        return if overloaded { Err(AdmissionError::Overloaded) } else { Ok(Turn::Now) };
    };
    or_few(backlog::admit(asked(client.party()), env).await, Ok(Turn::Now))?
}

async fn is_over(limit: RateLimit, env: &Env) -> Result<bool> {
    Ok(!env.rate_limiter(limit.binding)?.limit(limit.key).await?.success)
}

async fn is_overloaded(config: &Config, env: &Env) -> Result<bool> {
    let now = now();
    let report = backlog::last_report(env, now).await?;
    Ok(report.is_some_and(|report| report.exceeds(config.shares.backlog, now)))
}

/// Returns the result of a part of the check. If that part failed, a few contents get `unchecked`.
fn or_few<T>(result: Result<T>, unchecked: T) -> std::result::Result<T, AdmissionError> {
    result.or_else(|error| {
        console_error!("part of the admission check failed: {error}");
        let mut allowance = UNCHECKED.get();
        let is_admitted = allowance.take(now());
        UNCHECKED.set(allowance);
        if is_admitted { Ok(unchecked) } else { Err(AdmissionError::Overloaded) }
    })
}
