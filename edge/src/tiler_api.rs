//! The tilers' API, `POST /internal/…`: tilers claim jobs and report on them, and the operator resets contents, all
//! with the tilers' token. The statuses are in [`edgezoom_content::protocol`].

use edgezoom_content::ContentId;
use edgezoom_content::conversion::{Event, Reply};
use edgezoom_content::protocol::{CONTAINER_HEADER, TILERS_HEADER};
use http::StatusCode;
use worker::{Env, Request, console_error};

use crate::config::Config;
use crate::durable::backlog;
use crate::lookup::repository::Repository;
use crate::request::route::TilerCall;
use crate::response::{ApiError, CachePolicy, Response};

/// Passes a call on to the Durable Object of its content.
pub async fn handle(
    id: ContentId,
    call: TilerCall,
    mut request: Request,
    config: &Config,
    env: &Env,
) -> Response {
    if let Err(unauthorized) = authorize(&request, config) {
        return unauthorized;
    }
    let body = match request.text().await {
        Ok(body) => body,
        Err(error) => return Response::text(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let event = match event(call, &body) {
        Ok(event) => event,
        Err(error) => return Response::text(StatusCode::BAD_REQUEST, error),
    };
    match Repository::new(env, None, &|| None, "").send(id, event, None).await {
        Ok(reply) => relay(&reply),
        Err(error) => error.api_error().response(),
    }
}

/// Parses a call.
///
/// # Errors
/// The body is malformed. The text is for the tiler.
pub fn event(call: TilerCall, body: &str) -> Result<Event, String> {
    match call {
        TilerCall::Claim => {
            serde_json::from_str(body).map(Event::Claimed).map_err(|error| format!("Not a claim: {error}"))
        }
        TilerCall::Report => {
            serde_json::from_str(body).map(Event::Reported).map_err(|error| format!("Not a report: {error}"))
        }
        TilerCall::Reset => Ok(Event::Reset),
    }
}

/// Stores a report on the queue, and responds with the number of tilers.
pub async fn handle_backlog(mut request: Request, config: &Config, env: &Env) -> Response {
    if let Err(unauthorized) = authorize(&request, config) {
        return unauthorized;
    }
    let container = request.headers().get(CONTAINER_HEADER).ok().flatten().and_then(|text| text.parse().ok());
    let backlog = match request.json().await {
        Ok(backlog) => backlog,
        Err(error) => return Response::text(StatusCode::BAD_REQUEST, format!("Not a backlog: {error}")),
    };
    match backlog::report(backlog, container, env).await {
        Ok(tilers) => Response::text(StatusCode::NO_CONTENT, "").with(TILERS_HEADER, tilers.to_string()),
        Err(error) => {
            console_error!("cannot store the report on the queue: {error}");
            ApiError::Unavailable.response()
        }
    }
}

/// Checks the token (RFC 6750).
fn authorize(request: &Request, config: &Config) -> Result<(), Response> {
    let Some(token) = &config.tilers else {
        console_error!("TILER_TOKEN is not set: tilers are refused");
        let message = "The service has no token for tilers. Set TILER_TOKEN.";
        return Err(Response::text(StatusCode::SERVICE_UNAVAILABLE, message));
    };
    let authorization = request.headers().get("Authorization").ok().flatten();
    if token.authorizes(authorization.as_deref()) {
        return Ok(());
    }
    let unauthorized = Response::text(StatusCode::UNAUTHORIZED, "The token is wrong.");
    Err(unauthorized.with("WWW-Authenticate", "Bearer"))
}

/// Returns the Durable Object's reply as a response.
fn relay(reply: &Reply) -> Response {
    let json = match reply {
        Reply::Claim(claim) => serde_json::to_string(claim),
        Reply::Content(content) => serde_json::to_string(content),
        Reply::Accepted => return Response::empty(StatusCode::NO_CONTENT),
        Reply::NotFound => return Response::text(StatusCode::NOT_FOUND, "There is no such conversion."),
        Reply::Conflict => {
            let why = "The conversion waits or is finished, another attempt has the lease, or the job has to be alone on its tiler.";
            return Response::text(StatusCode::CONFLICT, why);
        }
        Reply::TakenDown(reason) => return Response::text(StatusCode::GONE, reason),
        Reply::Deleted => return Response::text(StatusCode::GONE, ""),
        Reply::Owned(_) | Reply::IdTaken | Reply::Forbidden | Reply::NotYet => {
            return ApiError::Unavailable.response();
        }
    };
    match json {
        Ok(json) => {
            Response::new(StatusCode::OK, "application/json; charset=utf-8", CachePolicy::NoStore, json)
        }
        Err(_) => ApiError::Unavailable.response(), // unreachable: contents and claims can always be serialized
    }
}
