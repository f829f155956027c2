//! Looks a content up for pages.

use edgezoom_content::{Content, ContentId, Timestamp};
use http::StatusCode;

use super::content::{by_id, find};
use crate::config::{Addresses, Config};
use crate::content::repository::Repository;
use crate::content::response::ContentResponse;
use crate::pages as page;
use crate::platform::clock::now;
use crate::request::route::HomeForm;
use crate::response::{ApiError, CachePolicy, Response};

/// The home page; when its form was sent, a redirect to the share page of the source.
pub async fn home(
    form: Option<&HomeForm>,
    config: &Config,
    addresses: &Addresses,
    repository: &Repository<'_>,
) -> Response {
    let home = |failed| page::home(failed, config.notice.as_deref(), config.uploads.as_ref(), addresses);
    let Some(HomeForm { text, key }) = form else {
        return home(None);
    };
    match find(key, false, repository).await {
        ContentResponse::Moved(found) | ContentResponse::Found(found) => {
            let empty = String::new();
            Response::new(StatusCode::FOUND, "text/plain; charset=utf-8", CachePolicy::NoStore, empty)
                .with("Location", addresses.share(found.id()))
        }
        ContentResponse::Failed(error) => error.add_retry_after(home(Some((text, &error)))),
    }
}

/// A page that shows a content.
pub async fn picture(
    id: ContentId,
    page: fn(&Content, &Addresses, Timestamp) -> Response,
    addresses: &Addresses,
    repository: &Repository<'_>,
) -> Response {
    match by_id(id, repository).await {
        Ok(content) => page(&content, addresses, now()),
        Err(ApiError::NoSuchContent) => page::not_found(addresses),
        Err(error) => page::unavailable(&error, addresses),
    }
}
