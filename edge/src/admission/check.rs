//! Lets new contents in or keeps them out: maintenance, a limit for each client, and the queue's backlog. Only who would create
//! a content comes here; what is known is answered as ever.

use worker::{Env, console_error, web_sys};

use crate::admission::policy;
use crate::config::Config;
use crate::durable::backlog;
use crate::platform::clock::now;
use crate::response::Refusal;

/// The gate, as one client comes to it.
pub struct Gate<'a> {
    config: &'a Config,
    env: &'a Env,
    request: &'a web_sys::Request,
}

impl<'a> Gate<'a> {
    /// The gate for whoever sent the request.
    pub fn new(request: &'a web_sys::Request, config: &'a Config, env: &'a Env) -> Self {
        Self { config, env, request }
    }

    /// Lets one new content in, or says why not. Where the means to tell fail, it is let in, and the operator is told.
    pub async fn admit(&self) -> Result<(), Refusal> {
        if self.config.maintenance {
            return Err(Refusal::Maintenance);
        }
        let checked = async {
            Ok(if self.is_over_its_limit().await? {
                Err(Refusal::TooManyNew)
            } else if self.is_overloaded().await? {
                Err(Refusal::Overloaded)
            } else {
                Ok(())
            })
        };
        checked.await.unwrap_or_else(|error: worker::Error| {
            console_error!("a new content is let in unchecked: {error}");
            Ok(())
        })
    }

    async fn is_over_its_limit(&self) -> worker::Result<bool> {
        let address = self.request.headers().get("CF-Connecting-IP").ok().flatten();
        match address.as_deref().and_then(policy::client) {
            Some(client) => Ok(!self.env.rate_limiter("CREATIONS")?.limit(client).await?.success),
            None => Ok(false),
        }
    }

    async fn is_overloaded(&self) -> worker::Result<bool> {
        let now = now();
        let reported = backlog::known(self.env, now).await?;
        Ok(reported.is_some_and(|reported| reported.is_past(self.config.backlog_limit, now)))
    }
}
