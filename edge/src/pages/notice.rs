//! Pages with a message only: 404, 410 and 503.

use http::StatusCode;

use super::{Frames, Page, home_address, icon};
use crate::config::Addresses;
use crate::response::escape;
use crate::response::{ApiError, CachePolicy, Response};

/// 404.
#[must_use]
pub fn not_found(addresses: &Addresses) -> Response {
    notice(StatusCode::NOT_FOUND, "Not found", "There is no picture at this address.", addresses)
}

/// 410 or 503.
#[must_use]
pub fn unavailable(error: &ApiError, addresses: &Addresses) -> Response {
    let title = if let ApiError::TakenDown(_) = error { "Taken down" } else { "Not now" };
    error.add_retry_after(notice(error.status(), title, &error.to_string(), addresses))
}

fn notice(status: StatusCode, title: &str, text: &str, addresses: &Addresses) -> Response {
    let body = format!(
        include_str!("../../viewer/pages/notice.html"),
        home = home_address(addresses),
        icon = icon(addresses),
        title = escape::html(title),
        text = escape::html(text),
    );
    let head = "<meta name=\"robots\" content=\"noindex\">\n".to_owned();
    let title = format!("{title} – Edgezoom");
    Page { status, cache: CachePolicy::NoStore, title: &title, head, body, frames: Frames::None }
        .response(addresses)
}
