//! The stream of a content's events.

use std::borrow::Cow;

use edgezoom_content::ContentId;
use http::Method;
use worker::{Headers, Response, Result};

use super::Answered;
use super::content::by_id;
use crate::config::Addresses;
use crate::content::events;
use crate::content::repository::Contents;
use crate::response::Refusal;

/// A content as it changes. One that is finished needs no object, and who only asks whether there is one holds none.
pub async fn stream(
    id: ContentId,
    method: &Method,
    last: Option<&str>,
    addresses: &Addresses,
    contents: &Contents<'_>,
) -> Result<Answered> {
    let content = match by_id(id, contents).await {
        Ok(content) => content,
        Err(refusal) => return Ok(Answered::Whole(refusal.answer())),
    };
    if content.is_finished() {
        return Ok(Answered::Whole(events::finished(&content, last, addresses)));
    }
    if method == Method::HEAD {
        return Ok(Answered::Whole(events::begun()));
    }
    Ok(match contents.stream(id, addresses).await {
        Ok(Some(body)) => {
            let begun = events::begun();
            Answered::Streamed(Response::builder().with_headers(headers(begun.headers)?).body(body))
        }
        Ok(None) => Answered::Whole(Refusal::Unavailable.answer()),
        Err(error) => Answered::Whole(error.refusal().answer()),
    })
}

fn headers(own: Vec<(&'static str, Cow<'static, str>)>) -> Result<Headers> {
    let headers = Headers::new();
    for (name, value) in own {
        headers.set(name, &value)?;
    }
    Ok(headers)
}
