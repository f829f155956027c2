//! The stream of a content's events.

use std::borrow::Cow;

use edgezoom_content::ContentId;
use http::Method;
use worker::{Headers, Result};

use super::Outgoing;
use super::content::current_by_id;
use crate::config::Addresses;
use crate::content::events;
use crate::content::repository::Repository;
use crate::platform::clock::now;
use crate::response::ApiError;

/// The events of a content. The Durable Object is subscribed to only for a `GET` of a content that is not finished.
pub async fn stream(
    id: ContentId,
    method: &Method,
    last_event_id: Option<&str>,
    addresses: &Addresses,
    repository: &Repository<'_>,
) -> Result<Outgoing> {
    let content = match current_by_id(id, repository).await {
        Ok(content) => content,
        Err(error) => return Ok(Outgoing::Buffered(error.response())),
    };
    if content.is_finished() {
        return Ok(Outgoing::Buffered(events::finished(&content, last_event_id, addresses, now())));
    }
    if method == Method::HEAD {
        return Ok(Outgoing::Buffered(events::head()));
    }
    Ok(match repository.subscribe(id, addresses).await {
        Ok(Some(body)) => {
            let headers = headers(events::head().headers)?;
            Outgoing::Streamed(worker::Response::builder().with_headers(headers).body(body))
        }
        Ok(None) => Outgoing::Buffered(ApiError::Unavailable.response()),
        Err(error) => Outgoing::Buffered(error.api_error().response()),
    })
}

fn headers(own: Vec<(&'static str, Cow<'static, str>)>) -> Result<Headers> {
    let headers = Headers::new();
    for (name, value) in own {
        headers.set(name, &value)?;
    }
    Ok(headers)
}
