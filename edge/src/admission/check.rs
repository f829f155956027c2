//! Admits new contents or refuses them: maintenance, the limit of each client, the queue's backlog. The Durable Object
//! of a content asks when it would create the content, so contents that exist are never checked and their clients are
//! not counted.

use futures::future::join;
use worker::{Env, Result, console_error};

use crate::admission::policy::AdmissionError;
use crate::config::Config;
use crate::durable::backlog;
use crate::platform::clock::now;

/// Admits one new content of a client, or says why not. Where a part of the check fails, the failure is logged and that
/// part admits.
pub async fn admit(
    client: Option<&str>,
    config: &Config,
    env: &Env,
) -> std::result::Result<(), AdmissionError> {
    if config.maintenance {
        return Err(AdmissionError::Maintenance);
    }
    let (over_its_limit, overloaded) = join(is_over_its_limit(client, env), is_overloaded(config, env)).await;
    if or_admitted(over_its_limit) {
        return Err(AdmissionError::TooManyNew);
    }
    if or_admitted(overloaded) {
        return Err(AdmissionError::Overloaded);
    }
    Ok(())
}

async fn is_over_its_limit(client: Option<&str>, env: &Env) -> Result<bool> {
    match client {
        Some(client) => Ok(!env.rate_limiter("CREATIONS")?.limit(client.to_owned()).await?.success),
        None => Ok(false),
    }
}

async fn is_overloaded(config: &Config, env: &Env) -> Result<bool> {
    let now = now();
    let report = backlog::last_report(env, now).await?;
    Ok(report.is_some_and(|report| report.exceeds(config.backlog_limit, now)))
}

fn or_admitted(refused: Result<bool>) -> bool {
    refused.unwrap_or_else(|error| {
        console_error!("a part of the admission check failed: {error}");
        false
    })
}
