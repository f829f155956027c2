//! What tilers and the operator say, `POST /internal/…`, with the tilers' token. The protocol's table of
//! statuses is in [`edgezoom_content::protocol`].

use edgezoom_content::ContentId;
use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::protocol::{Outcome, Report};
use http::StatusCode;
use serde::Serialize;
use worker::{Env, Request, console_error};

use crate::answer::{Answer, Keep, Refusal};
use crate::backlog;
use crate::config::Config;
use crate::contents::Contents;
use crate::router::Internal;

/// Hears what is said of a content.
pub async fn hear(
    id: ContentId,
    said: Internal,
    request: &mut Request,
    config: &Config,
    env: &Env,
) -> Answer {
    if let Err(refused) = admit(request, config) {
        return refused;
    }
    let event = match said {
        Internal::Claim => Event::Claim,
        Internal::Reset => Event::Reset,
        Internal::Report => match request.json().await {
            Ok(report) => event(report),
            Err(error) => return Answer::text(StatusCode::BAD_REQUEST, format!("Not a report: {error}")),
        },
    };
    match Contents::of(env).tell(id, &event).await {
        Ok(reply) => answer(reply),
        Err(error) => error.refusal().answer(),
    }
}

/// Hears how much waits in the queue.
pub async fn hear_backlog(request: &mut Request, config: &Config, env: &Env) -> Answer {
    if let Err(refused) = admit(request, config) {
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

fn event(Report { attempt, outcome }: Report) -> Event {
    match outcome {
        Outcome::Progress { stage, progress } => Event::Progress { attempt, stage, progress },
        Outcome::Finished { dzi } => Event::Finished { attempt, dzi },
        Outcome::GaveUp { failure } => Event::GaveUp { attempt, failure },
        Outcome::HandedBack => Event::HandedBack { attempt },
    }
}

fn answer(reply: Reply) -> Answer {
    match reply {
        Reply::Granted(claim) => json(&claim),
        Reply::Shown(content) => json(&content),
        Reply::Accepted => Answer::empty(StatusCode::NO_CONTENT),
        Reply::Unknown => Answer::text(StatusCode::NOT_FOUND, "There is no such conversion."),
        Reply::Refused | Reply::Taken => {
            Answer::text(StatusCode::CONFLICT, "Somebody else has it, or it is finished.")
        }
    }
}

fn json<T: Serialize>(value: &T) -> Answer {
    match serde_json::to_string(value) {
        Ok(body) => Answer::new(StatusCode::OK, "application/json; charset=utf-8", Keep::Never, body),
        Err(error) => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
