//! Admits new contents or refuses them: maintenance, the limit of each client, the queue's backlog. Contents that exist are never checked.

use worker::{Env, console_error, web_sys};

use crate::admission::policy;
use crate::config::Config;
use crate::durable::backlog;
use crate::platform::clock::now;
use crate::response::ApiError;

/// The admission check for one client.
pub struct AdmissionCheck<'a> {
    config: &'a Config,
    env: &'a Env,
    request: &'a web_sys::Request,
}

impl<'a> AdmissionCheck<'a> {
    /// The check for the client that sent the request.
    pub fn new(request: &'a web_sys::Request, config: &'a Config, env: &'a Env) -> Self {
        Self { config, env, request }
    }

    /// Admits one new content, or says why not. Where the check itself fails, the content is admitted and the failure is logged.
    pub async fn admit(&self) -> Result<(), ApiError> {
        if self.config.maintenance {
            return Err(ApiError::Maintenance);
        }
        let checked = async {
            Ok(if self.is_over_its_limit().await? {
                Err(ApiError::TooManyNew)
            } else if self.is_overloaded().await? {
                Err(ApiError::Overloaded)
            } else {
                Ok(())
            })
        };
        checked.await.unwrap_or_else(|error: worker::Error| {
            console_error!("a new content is admitted unchecked: {error}");
            Ok(())
        })
    }

    async fn is_over_its_limit(&self) -> worker::Result<bool> {
        let address = self.request.headers().get("CF-Connecting-IP").ok().flatten();
        match address.as_deref().and_then(policy::client_key) {
            Some(client) => Ok(!self.env.rate_limiter("CREATIONS")?.limit(client).await?.success),
            None => Ok(false),
        }
    }

    async fn is_overloaded(&self) -> worker::Result<bool> {
        let now = now();
        let report = backlog::last_report(self.env, now).await?;
        Ok(report.is_some_and(|report| report.exceeds(self.config.backlog_limit, now)))
    }
}
