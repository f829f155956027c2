//! Looks a content up for pages.

use edgezoom_content::{Content, ContentId};
use http::StatusCode;

use super::content::by_id;
use crate::admission::check::Gate;
use crate::config::Addresses;
use crate::content::repository::Contents;
use crate::pages as page;
use crate::request::object_key::ObjectKey;
use crate::request::route::Entry;
use crate::response::{Answer, Keep, Refusal, plain};

/// The tile that holds a small picture of the whole content.
pub async fn preview(id: ContentId, contents: &Contents<'_>) -> Result<ObjectKey, Answer> {
    match by_id(id, contents).await {
        Ok(content) => page::preview_key(&content).ok_or_else(plain::nothing),
        Err(Refusal::NoSuchContent) => Err(plain::nothing()),
        Err(refusal) => Err(refusal.answer()),
    }
}

/// The home page; or, when a source was entered, on to its share page.
pub async fn home(
    entry: Option<&Entry>,
    addresses: &Addresses,
    gate: &Gate<'_>,
    contents: &Contents<'_>,
) -> Answer {
    let Some(Entry { text, source }) = entry else {
        return page::home(None, addresses);
    };
    let url = match source {
        Ok(url) => url,
        Err(refusal) => return page::home(Some((text, *refusal)), addresses),
    };
    match contents.of_source(url, gate).await {
        Ok(known) => Answer::new(StatusCode::FOUND, "text/plain; charset=utf-8", Keep::Never, String::new())
            .with("Location", addresses.share(known.id())),
        Err(error) => {
            let refusal = error.refusal();
            refusal.say_when(page::home(Some((text, refusal)), addresses))
        }
    }
}

/// A page that shows a content.
pub async fn picture(
    id: ContentId,
    page: fn(&Content, &Addresses) -> Answer,
    addresses: &Addresses,
    contents: &Contents<'_>,
) -> Answer {
    match by_id(id, contents).await {
        Ok(content) => page(&content, addresses),
        Err(Refusal::NoSuchContent) => page::nothing(addresses),
        Err(refusal) => page::unavailable(refusal, addresses),
    }
}
