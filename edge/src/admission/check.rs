//! Admits new contents or refuses them: maintenance, signatures, the limits of each client, its share of the queue, the
//! backlog. The Durable Object of a content asks when it would create the content or start it anew, so contents that exist
//! are never checked and their clients are not counted.

use std::cell::Cell;

use worker::{Env, Result, console_error};

use super::allowance::Allowance;
use super::client::{Client, RateLimit};
use super::policy::AdmissionError;
use super::scheduler::{Asked, Turn};
use crate::config::Config;
use crate::durable::backlog;
use crate::platform::clock::now;

thread_local! {
    /// What this instance of the Worker still admits while admission cannot be checked.
    static UNCHECKED: Cell<Allowance> = const { Cell::new(Allowance::NEW) };
}

/// Admits one job of a client and says when its turn is, or says why it is refused. `asked` makes the job of a client's
/// party. Where a part of the check fails, the failure is logged, and a few are admitted in its stead.
pub async fn admit(
    client: Option<&Client>,
    asked: impl FnOnce(String) -> Asked,
    config: &Config,
    env: &Env,
) -> std::result::Result<Turn, AdmissionError> {
    admit_client(client, config, env).await?;
    admit_job(client, asked, config, env).await
}

/// Admits a client, and counts it, before the rest is known of what it asks for.
pub async fn admit_client(
    client: Option<&Client>,
    config: &Config,
    env: &Env,
) -> std::result::Result<(), AdmissionError> {
    if config.maintenance {
        return Err(AdmissionError::Maintenance);
    }
    if config.signing.is_some() && !client.is_some_and(Client::is_signed) {
        return Err(AdmissionError::NotSigned);
    }
    // The limiters first: they are near, and one client's flood ends at them.
    for limit in client.map(Client::rate_limits).unwrap_or_default() {
        if or_few(is_over(limit, env).await, false)? {
            return Err(AdmissionError::TooManyNew);
        }
    }
    Ok(())
}

/// Admits one job of a client that is admitted, as [`admit`] does.
pub async fn admit_job(
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

/// The result of a part of the check; `unchecked` for a few contents when that part failed.
fn or_few<T>(result: Result<T>, unchecked: T) -> std::result::Result<T, AdmissionError> {
    result.or_else(|error| {
        console_error!("a part of the admission check failed: {error}");
        let mut allowance = UNCHECKED.get();
        let is_admitted = allowance.take(now());
        UNCHECKED.set(allowance);
        if is_admitted { Ok(unchecked) } else { Err(AdmissionError::Overloaded) }
    })
}
