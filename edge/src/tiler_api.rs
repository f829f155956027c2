//! The tilers' API, `POST /internal/…`: tilers claim jobs and report on them, and the operator resets contents, all
//! with the tilers' token. The statuses are in [`edgezoom_content::protocol`].

use edgezoom_content::ContentId;
use edgezoom_content::protocol::TILERS_HEADER;
use http::StatusCode;
use worker::{Env, Request, console_error};

use crate::config::Config;
use crate::content::repository::Repository;
use crate::durable::backlog;
use crate::durable::messages::Message;
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
    let message = match call {
        TilerCall::Claim => Message::Claim(&body),
        TilerCall::Report => Message::Report(&body),
        TilerCall::Reset => Message::Reset,
    };
    match Repository::new(env, None, &|| None).send(id, message).await {
        Ok((status, reply)) => relay(status, reply),
        Err(error) => error.api_error().response(),
    }
}

/// Stores a report on the queue, and responds with the number of tilers.
pub async fn handle_backlog(mut request: Request, config: &Config, env: &Env) -> Response {
    if let Err(unauthorized) = authorize(&request, config) {
        return unauthorized;
    }
    let backlog = match request.json().await {
        Ok(backlog) => backlog,
        Err(error) => return Response::text(StatusCode::BAD_REQUEST, format!("Not a backlog: {error}")),
    };
    match backlog::report(backlog, env).await {
        Ok(tilers) => Response::text(StatusCode::NO_CONTENT, "").with(TILERS_HEADER, tilers),
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
fn relay(status: u16, reply: String) -> Response {
    match StatusCode::from_u16(status) {
        Ok(StatusCode::OK) => {
            Response::new(StatusCode::OK, "application/json; charset=utf-8", CachePolicy::NoStore, reply)
        }
        Ok(StatusCode::NO_CONTENT) => Response::empty(StatusCode::NO_CONTENT),
        Ok(status) if status.is_client_error() => Response::text(status, reply),
        _ => ApiError::Unavailable.response(),
    }
}
