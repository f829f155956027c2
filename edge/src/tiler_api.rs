//! What tilers and the operator say, `POST /internal/…`, with the tilers' token. The protocol's table of
//! statuses is in [`edgezoom_content::protocol`].

use edgezoom_content::ContentId;
use http::StatusCode;
use worker::{Env, Request, console_error};

use crate::config::Config;
use crate::content::repository::Contents;
use crate::durable::backlog;
use crate::durable::messages::Said;
use crate::request::route::Internal;
use crate::response::{Answer, Keep, Refusal};

/// Hears what is said of a content.
pub async fn hear(id: ContentId, said: Internal, mut request: Request, config: &Config, env: &Env) -> Answer {
    if let Err(refused) = admit(&request, config) {
        return refused;
    }
    let reported = match request.text().await {
        Ok(reported) => reported,
        Err(error) => return Answer::text(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let said = match said {
        Internal::Claim => Said::Claim,
        Internal::Report => Said::Report(&reported),
        Internal::Reset => Said::Reset,
    };
    match Contents::of(env, None).tell(id, said).await {
        Ok((status, reply)) => answer(status, reply),
        Err(error) => error.refusal().answer(),
    }
}

/// Hears how much waits in the queue.
pub async fn hear_backlog(mut request: Request, config: &Config, env: &Env) -> Answer {
    if let Err(refused) = admit(&request, config) {
        return refused;
    }
    let backlog = match request.json().await {
        Ok(backlog) => backlog,
        Err(error) => return Answer::text(StatusCode::BAD_REQUEST, format!("Not a backlog: {error}")),
    };
    match backlog::report(backlog, env).await {
        Ok(()) => Answer::text(StatusCode::NO_CONTENT, ""),
        Err(error) => {
            console_error!("the backlog is not kept: {error}");
            Refusal::Unavailable.answer()
        }
    }
}

/// Lets in who shows the token.
fn admit(request: &Request, config: &Config) -> Result<(), Answer> {
    let Some(token) = &config.tilers else {
        console_error!("tilers are not let in: TILER_TOKEN is not set");
        return Err(Answer::text(StatusCode::SERVICE_UNAVAILABLE, "Tilers are not let in yet."));
    };
    let authorization = request.headers().get("Authorization").ok().flatten();
    if token.admits(authorization.as_deref()) {
        return Ok(());
    }
    let refused = Answer::text(StatusCode::UNAUTHORIZED, "The token is wrong.");
    Err(refused.with("WWW-Authenticate", "Bearer"))
}

/// The object's reply, passed on.
fn answer(status: u16, reply: String) -> Answer {
    match StatusCode::from_u16(status) {
        Ok(StatusCode::OK) => {
            Answer::new(StatusCode::OK, "application/json; charset=utf-8", Keep::Never, reply)
        }
        Ok(StatusCode::NO_CONTENT) => Answer::empty(StatusCode::NO_CONTENT),
        Ok(status) if status.is_client_error() => Answer::text(status, reply),
        _ => Refusal::Unavailable.answer(),
    }
}
